// What a panel says when it has no data: which events it shows, and which collector, kernel flags or providers deliver them. A panel cannot
// know whether no such event happened or none was recorded, so the text names both reasons.
//
// Rows in the order in which they are tried; lint.mjs compares the families with config/METRICS.md.
const kernel = flags => `kernel flag${flags.includes(',') ? 's' : ''} ${flags}`;
// The provider that reports the same without kernel events.
const either = (flags, provider) => `${kernel(flags)}, or provider Microsoft-Windows-Kernel-${provider}`;
const collectors = [
	['file', /^etw_file_written_/, 'writes to files', either('FILE_IO_INIT', 'File')],
	['file', /^etw_file_read_/, 'reads of files', either('FILE_IO_INIT', 'File')],
	['file', /^etw_file_paging_/, 'paging I/O of files', either('FILE_IO_INIT', 'File')],
	['file', /^etw_file_filter_/, 'I/O of minifilters', kernel('FILE_IO_INIT')],
	['file', /^etw_file_operations_/, 'file operations', either('FILE_IO_INIT', 'File')],
	['file_errors', /^etw_file_operation_errors_/, 'failed file operations', either('FILE_IO, FILE_IO_INIT', 'File')],
	['file_groups', /^etw_file_group_/, 'file operations in a path group', either('FILE_IO_INIT', 'File')],
	['file_latency', /^etw_file_(process_|volume_)?operation_duration_/, 'completed file operations', either('FILE_IO, FILE_IO_INIT', 'File')],
	['file_top', /^etw_file_top_/, 'file writes in the last minute', either('FILE_IO_INIT', 'File')],
	['disk_cause', /^etw_disk_caused_/, 'disk events', kernel('DISK_IO, FILE_IO_INIT, VAMAP')],
	['disk', /^etw_disk_process_/, 'disk events of a process', kernel('DISK_IO')],
	['disk', /^etw_disk_/, 'disk events', either('DISK_IO', 'Disk')],
	['memory', /^etw_memory_hard_/, 'hard page faults', kernel('MEMORY_HARD_FAULTS')],
	['page_faults', /^etw_memory_page_/, 'page faults', kernel('MEMORY_PAGE_FAULTS')],
	['virtual_alloc', /^etw_memory_virtual_freed_/, 'releases of address space', kernel('VIRTUAL_ALLOC')],
	['virtual_alloc', /^etw_memory_virtual_/, 'allocations of address space', kernel('VIRTUAL_ALLOC')],
	['tcp', /^etw_tcp_process_connect_failures_/, 'failed TCP connections', 'provider Microsoft-Windows-TCPIP'],
	['tcp', /^etw_tcp_(connect_duration|process)_/, 'outbound TCP connections', 'provider Microsoft-Windows-TCPIP'],
	['tcp', /^etw_tcp_connection_/, 'ends of TCP connections', 'provider Microsoft-Windows-TCPIP'],
	['tcp_peers', /^etw_tcp_peer_/, 'TCP events', either('NETWORK_TCPIP', 'Network')],
	['smb_server', /^etw_smb_server_/, 'requests of SMB clients', 'provider Microsoft-Windows-SMBServer'],
	['defender', /^etw_defender_/, 'scans', 'provider Microsoft-Antimalware-Engine'],
	['powershell', /^etw_powershell_/, 'script blocks', 'provider Microsoft-Windows-PowerShell or PowerShellCore'],
	['storport', /^etw_storport_/, 'requests to storage devices', 'provider Microsoft-Windows-StorPort'],
	['network', /^etw_network_/, 'network events', either('NETWORK_TCPIP', 'Network')],
	['network', /^etw_tcp_connections_/, 'new TCP connections', either('NETWORK_TCPIP', 'Network')],
	['network', /^etw_tcp_disconnects_/, 'ends of TCP connections', either('NETWORK_TCPIP', 'Network')],
	['network', /^etw_tcp_retransmits_/, 'retransmitted TCP segments', either('NETWORK_TCPIP', 'Network')],
	['network', /^etw_tcp_/, 'such TCP events', either('NETWORK_TCPIP', 'Network')],
	['dns', /^etw_dns_(domain_)?failures_/, 'failed DNS queries', 'provider Microsoft-Windows-DNS-Client'],
	['dns', /^etw_dns_/, 'DNS queries', 'provider Microsoft-Windows-DNS-Client'],
	['http', /^etw_http_/, 'HTTP.sys requests', 'provider Microsoft-Windows-HttpService'],
	['cpu', /^etw_process_cpu_samples_/, 'CPU samples', kernel('PROFILE')],
	['sched', /^etw_(process_cpu_seconds|thread_(context|process_context|process_waits|ready|waits))_/, 'context switches', kernel('CSWITCH, DISPATCHER')],
	['image', /^etw_driver_/, 'driver loads', kernel('IMAGE_LOAD')],
	['image', /^etw_(image|process_image)_/, 'image loads', kernel('IMAGE_LOAD')],
	['process_info', /^etw_process_info/, 'running processes', either('PROCESS', 'Process')],
	['process', /^etw_(process|thread)_/, 'such process events', either('PROCESS, THREAD', 'Process')],
	['minifilter', /^etw_minifilter_failures_/, 'failed calls of minifilters', 'kernel groups FLT_IO, FLT_FASTIO, FLT_IO_FAILURE'],
	['minifilter', /^etw_minifilter_/, 'calls of minifilters', 'kernel groups FLT_IO, FLT_FASTIO, FLT_IO_FAILURE'],
	['interrupt', /^etw_(dpc|isr)_/, 'DPCs or ISRs', kernel('DPC, INTERRUPT')],
	['registry', /^etw_registry_/, 'registry operations', either('REGISTRY', 'Registry')],
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
	return `No ${what} in this selection: there were none, or nothing counts them. That needs the collector "${name}" (${needs})${recorded ? ' and the recording rules' : ''}.`;
}
