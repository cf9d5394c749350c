// What a panel says when it has no data: which events it shows, and which collector, kernel flags or providers deliver them. Whether none
// happened or none were recorded cannot be seen there, so the text names both.
//
// Rows in the order in which they are tried; lint.mjs compares the families with config/METRICS.md.
const kernel = flags => `kernel flag${flags.includes(',') ? 's' : ''} ${flags}`;
const collectors = [
	['file', /^etw_file_written_/, 'writes to files', kernel('FILE_IO_INIT')],
	['file', /^etw_file_read_/, 'reads of files', kernel('FILE_IO_INIT')],
	['file', /^etw_file_paging_/, 'paging I/O of files', kernel('FILE_IO_INIT')],
	['file', /^etw_file_filter_/, 'I/O of minifilters', kernel('FILE_IO_INIT')],
	['file', /^etw_file_operations_/, 'file operations', kernel('FILE_IO_INIT')],
	['file_errors', /^etw_file_operation_errors_/, 'failed file operations', kernel('FILE_IO, FILE_IO_INIT')],
	['file_groups', /^etw_file_group_/, 'file operations in a path group', kernel('FILE_IO_INIT')],
	['file_latency', /^etw_file_(process_|volume_)?operation_duration_/, 'completed file operations', kernel('FILE_IO, FILE_IO_INIT')],
	['file_top', /^etw_file_top_/, 'file writes in the last minute', kernel('FILE_IO_INIT')],
	['disk_cause', /^etw_disk_caused_/, 'disk events', kernel('DISK_IO, FILE_IO_INIT, VAMAP')],
	['disk', /^etw_disk_/, 'disk events', kernel('DISK_IO')],
	['memory', /^etw_memory_hard_/, 'hard page faults', kernel('MEMORY_HARD_FAULTS')],
	['page_faults', /^etw_memory_page_/, 'page faults', kernel('MEMORY_PAGE_FAULTS')],
	['virtual_alloc', /^etw_memory_virtual_/, 'allocations of address space', kernel('VIRTUAL_ALLOC')],
	['tcp', /^etw_tcp_(connect_duration|process)_/, 'outbound TCP connections', 'provider Microsoft-Windows-TCPIP'],
	['tcp', /^etw_tcp_connection_/, 'ends of TCP connections', 'provider Microsoft-Windows-TCPIP'],
	['tcp_peers', /^etw_tcp_peer_/, 'TCP events', kernel('NETWORK_TCPIP')],
	['smb_server', /^etw_smb_server_/, 'requests of SMB clients', 'provider Microsoft-Windows-SMBServer'],
	['defender', /^etw_defender_/, 'scans', 'provider Microsoft-Antimalware-Engine'],
	['powershell', /^etw_powershell_/, 'script blocks', 'provider Microsoft-Windows-PowerShell or PowerShellCore'],
	['storport', /^etw_storport_/, 'requests to storage devices', 'provider Microsoft-Windows-StorPort'],
	['network', /^etw_network_/, 'network events', kernel('NETWORK_TCPIP')],
	['network', /^etw_tcp_connections_/, 'new TCP connections', kernel('NETWORK_TCPIP')],
	['network', /^etw_tcp_disconnects_/, 'ends of TCP connections', kernel('NETWORK_TCPIP')],
	['network', /^etw_tcp_retransmits_/, 'retransmitted TCP segments', kernel('NETWORK_TCPIP')],
	['network', /^etw_tcp_/, 'such TCP events', kernel('NETWORK_TCPIP')],
	['dns', /^etw_dns_/, 'DNS queries', 'provider Microsoft-Windows-DNS-Client'],
	['http', /^etw_http_/, 'HTTP.sys requests', 'provider Microsoft-Windows-HttpService'],
	['cpu', /^etw_process_cpu_samples_/, 'CPU samples', kernel('PROFILE')],
	['sched', /^etw_(process_cpu_seconds|thread_(context|process_context|process_waits|ready|waits))_/, 'context switches', kernel('CSWITCH, DISPATCHER')],
	['image', /^etw_(image|driver|process_image)_/, 'image loads', kernel('IMAGE_LOAD')],
	['process_info', /^etw_process_info/, 'running processes', kernel('PROCESS')],
	['process', /^etw_(process|thread)_/, 'such process events', kernel('PROCESS, THREAD')],
	['minifilter', /^etw_minifilter_/, 'calls of minifilters', 'kernel groups FLT_IO, FLT_FASTIO, FLT_IO_FAILURE'],
	['interrupt', /^etw_(dpc|isr)_/, 'DPCs or ISRs', kernel('DPC, INTERRUPT')],
	['registry', /^etw_registry_/, 'registry operations', kernel('REGISTRY')],
	['dotnet_counters', /^etw_dotnet_(runtime|kestrel|hosting|sqlclient)_/, 'such counters of .NET', 'EventCounters of .NET Core 3.1 and later'],
	['dotnet', /^etw_dotnet_/, 'such .NET events', 'provider Microsoft-Windows-DotNETRuntime'],
	['payload', /^etw_event_payload_/, 'events', 'any provider'],
	['events', /^etw_(provider_)?events_total$/, 'events', 'any provider'],
];

// Recorded series (instance_process:FAMILY:increase5m) need the rules besides.
const familyOf = expr => expr.match(/(?:\w+:)?(etw_\w+)/)?.[1] ?? '';

// The text for a panel whose first query is `expr`; undefined for families of the exporter itself.
export function emptyText(expr) {
	const recorded = /\w:etw_/.test(expr), family = familyOf(expr) + (recorded ? '_total' : '');
	const [name, , what, needs] = collectors.find(([, families]) => families.test(family)) ?? [];

	if (!name) return undefined;
	return `No ${what} in this selection: none happened, or nothing counts them. That needs the collector "${name}" (${needs})${recorded ? ' and the recording rules' : ''}.`;
}
