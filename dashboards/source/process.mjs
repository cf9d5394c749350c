import { at, dashboard, grown, grownOf, grownSince, hostPage, instant, ofFiles, ofProcess, optIn, processOn, quantile, quantiles, query, rate, row, stat, table, timeseries } from './lib.mjs';

// Of the process that is chosen; `by` are labels, none for one series.
const its = (metric, by, legend, ...matchers) => query(rate(metric, by, ofProcess, ...matchers), legend);
// For bars, one for each interval of $__rate_interval.
const increases = (metric, by, legend) => query(`${grownSince('$__rate_interval', metric, by, ofProcess)} > 0`, legend);
// On every host of the job.
const everywhere = (...matchers) => `{${['cluster=~"$cluster"', 'job=~"$job"', ofProcess, ...matchers].join(', ')}}`;
const gauge = (metric, by, legend) => query(`sum by (${by}) (${metric}${at(ofProcess)})`, legend);
const now = (metric) => instant(`sum(${metric}${at(ofProcess)})`);
const inRange = (metric, ...matchers) => instant(`sum(${grown(metric, 'job', ofProcess, ...matchers)})`);
const countInRange = (metric, ...matchers) => instant(`round(sum(${grown(metric, 'job', ofProcess, ...matchers)})) or on () vector(0)`);
const figure = { width: 6, height: 3 }, quarter = { width: 6, height: 8 }, third = { width: 8, height: 8 }, half = { width: 12, height: 8 };

const samples = 'etw_process_cpu_samples_total', allSamples = (by, range) => `(sum by (${by}) (rate(etw_provider_events_total${at('event="PerfInfo/SampleProf"')}[${range}])) > 0)`;

export default dashboard({
	uid: 'etw-process',
	hosts: 'oneInstance',
	description: 'Everything about one process over time: processor, memory, files, disks, network, starts and exits, .NET. All instances of a name count together, and those of all hosts that are chosen; the table Hosts has every host.',
	use: ['oneProcess'],
	rows: [
		row('Now, and in the time range',
			stat('Running instances', 'Instances that run now.', 'short', now('etw_process_instances'), { ...figure, decimals: 0 }),
			stat('Threads', 'Of all instances, now.', 'short', now('etw_process_threads'), { ...figure, decimals: 0 }),
			stat('Working set', 'Memory in RAM of all instances, now. What they share counts for each.', 'bytes', now('etw_process_working_set_bytes'), { ...figure, decimals: 1 }),
			stat('Private working set', 'Memory in RAM that only one instance uses, now.', 'bytes', now('etw_process_private_working_set_bytes'), { ...figure, decimals: 1 }),
			stat('Commit', 'Memory that Windows has promised to all instances, in RAM or in a page file, now.', 'bytes', now('etw_process_commit_bytes'), { ...figure, decimals: 1 }),
			stat('Handles', 'Open handles of all instances, now. Live sessions only.', 'short', now('etw_process_handles'), { ...figure, decimals: 0 }),
			stat('Starts', 'In the time range.', 'short', countInRange('etw_process_starts_total'), { ...figure, decimals: 0 }),
			stat('Crashes', 'Exits with an exception code in the time range.', 'short', countInRange('etw_process_exits_total', 'result="crash"'), { ...figure, decimals: 0, steps: [[1, 'red']] }),
			stat('Error exits', 'Exits with a code other than 0 in the time range, without crashes.', 'short', countInRange('etw_process_exits_total', 'result="error"'), { ...figure, decimals: 0 }),
			stat('Written', 'To files in the time range, cached or not.', 'bytes', inRange('etw_file_written_bytes_total', ofFiles), { ...figure, decimals: 1 }),
			stat('Read', 'From files in the time range, cached or not.', 'bytes', inRange('etw_file_read_bytes_total', ofFiles), { ...figure, decimals: 1 }),
			stat('Events', 'All events of this process a second, from all providers.', 'suffix:ev/s', query(`sum(rate(etw_events_total${at(ofProcess)}[$__rate_interval]))`), { ...figure, decimals: 0 })),
		row('Memory, page faults and processor',
			timeseries('Memory', 'Of all instances. Commit that rises and never falls is a leak.', 'bytes', [gauge('etw_process_commit_bytes', 'process', 'commit'), gauge('etw_process_working_set_bytes', 'process', 'working set'), gauge('etw_process_private_working_set_bytes', 'process', 'private working set')], { ...quarter, noValue: 'No figures of memory in the time range: live sessions have them, recordings only with events of the kernel group MEMINFO_WS (collector "process_memory").' }),
			timeseries('Hard page faults', 'Page faults that read the disk. The thread waits meanwhile.', 'suffix:faults/s', [its('etw_memory_hard_faults_total', 'instance', '{{instance}}')], quarter),
			timeseries('Read by hard faults', 'Bytes read by hard page faults; a part of what is paged in.', 'binBps', [its('etw_memory_hard_fault_read_bytes_total', 'instance', '{{instance}}')], quarter),
			timeseries('CPU', 'Share of the time of all processors of a host, by samples.', 'percentunit', [query(`sum by (instance) (rate(${samples}${at(ofProcess)}[$__rate_interval])) / ${allSamples('instance', '$__rate_interval')}`, '{{instance}}')], quarter)),
		row('Starts, exits and threads',
			timeseries('Starts and exits', 'In each interval. Exits by result: a crash is an exit with an exception code, an error is an exit with any other code except 0.', 'short', [
				increases('etw_process_starts_total', 'process', 'starts'), increases('etw_process_exits_total', 'result', 'exits: {{result}}')], { ...third, bars: true, colours: { starts: 'blue', 'exits: success': 'green', 'exits: error': 'orange', 'exits: crash': 'red' }, noValue: 'No start and no exit in the time range (collector "process").' }),
			timeseries('Instances and threads', 'Instances that run, and their threads.', 'short', [gauge('etw_process_instances', 'process', 'instances'), gauge('etw_process_threads', 'process', 'threads')], { ...third, decimals: 0 }),
			timeseries('Thread starts', 'Threads started in each interval. Many of them point to a program that starts a thread for each piece of work.', 'short', [increases('etw_thread_starts_total', 'instance', '{{instance}}')], { ...third, bars: true })),
		row('Files',
			timeseries('Read and written', 'Bytes that the program asked for, cached or not.', 'binBps', [its('etw_file_written_bytes_total', 'process', 'written', ofFiles), its('etw_file_read_bytes_total', 'process', 'read', ofFiles)], half),
			timeseries('Read and written by volume', 'The same by volume; also pipes and mail slots.', 'binBps', [its('etw_file_written_bytes_total', 'volume', '{{volume}} written'), its('etw_file_read_bytes_total', 'volume', '{{volume}} read')], half),
			timeseries('Operations', 'Requested, whether they succeed or not. Creates include opens.', 'ops', [its('etw_file_operations_total', 'operation', '{{operation}}')], half),
			timeseries('Paged in and out', 'Memory-mapped files and programs that are loaded.', 'binBps', [its('etw_file_paging_read_bytes_total', 'process', 'paged in'), its('etw_file_paging_written_bytes_total', 'process', 'paged out')], half)),
		row('Disks',
			timeseries('Disk traffic', 'Bytes that its threads read and wrote. What the process writes to the cache, System writes to the disk later.', 'binBps', [its('etw_disk_process_read_bytes_total', 'disk', 'disk {{disk}} read'), its('etw_disk_process_written_bytes_total', 'disk', 'disk {{disk}} written')], third),
			timeseries('Disk requests', 'Completed requests.', 'iops', [its('etw_disk_process_operations_total', 'disk, operation', 'disk {{disk}} {{operation}}')], third),
			timeseries('Disk requests under way', 'Requests that are not complete, on average: the sum of their response times a second.', 'short', [its('etw_disk_process_io_seconds_total', 'operation', '{{operation}}')], { ...third, softMax: 0.01 })),
		row('Network',
			timeseries('Sent and received', 'TCP and UDP payload, loopback included.', 'binBps', [its('etw_network_sent_bytes_total', 'protocol', '{{protocol}} sent'), its('etw_network_received_bytes_total', 'protocol', '{{protocol}} received')], third),
			timeseries('TCP connections', 'Outbound: made by the process; inbound: accepted by it.', 'suffix:conn/s', [its('etw_tcp_connections_total', 'direction', '{{direction}}'), its('etw_tcp_disconnects_total', 'process', 'closed')], third),
			timeseries('TCP retransmits', 'Segments retransmitted in each interval, after loss or because the peer answered late.', 'short', [increases('etw_tcp_retransmits_total', 'instance', '{{instance}}')], { ...third, bars: true })),
		row('Hosts and events',
			table('Hosts', 'The same process on every host, in the time range, whichever hosts are chosen above. The link shows this page for the host.', { instance: 'Host' }, [
				['Running', `sum by (instance) (etw_process_instances${everywhere()})`, 'short', { width: 80 }],
				['Starts', `round(${grownOf(`etw_process_starts_total${everywhere()}`, 'instance')})`, 'short', { width: 60 }],
				['Crashes', `round(${grownOf(`etw_process_exits_total${everywhere('result="crash"')}`, 'instance')})`, 'short', { width: 75, steps: [[1, 'red']] }],
				['Written', grownOf(`etw_file_written_bytes_total${everywhere(ofFiles)}`, 'instance'), 'bytes', { width: 80 }],
			], { height: 7, links: { instance: processOn } }),
			timeseries('Events by provider', 'Events that the process writes itself, and those that the kernel writes about it.', 'suffix:ev/s', [its('etw_events_total', 'provider', '{{provider}}')], { width: 24, height: 8 })),
		optIn('Scheduler', ['sched'], '',
			timeseries('CPU time', 'Measured exactly, from switch-in to switch-out of each thread. 1 means one whole processor.', 'suffix:cores', [its('etw_process_cpu_seconds_total', 'instance', '{{instance}}')], { ...half, softMax: 0.01 }),
			timeseries('Context switches', 'To threads of the process.', 'suffix:switches/s', [its('etw_thread_process_context_switches_total', 'instance', '{{instance}}')], half)),
		optIn('Latency and failures of file operations', ['file_latency', 'file_errors'], '',
			timeseries('p99 duration of file operations (upper bound)', '99th percentile, by operation. With classic buckets, a factor of 8 apart, the duration is up to that much shorter.', 's', [query(quantile(0.99, 'etw_file_process_operation_duration_seconds', 'operation', ofProcess), '{{operation}}')], { ...half, step: true }),
			timeseries('Failed file operations', 'By operation and status. "Not found" and "end of file" are normal answers.', 'ops', [its('etw_file_operation_errors_total', 'operation, status', '{{operation}}: {{status}}')], half)),
		optIn('Which files', ['file_top', 'file_groups'], '',
			table('Most written files of the last minute', 'Files of this process that are among the most written ones of the host. The figures are lower bounds.', { path: 'Path' }, [
				['Written', `sum by (path) (etw_file_top_written_bytes${at(ofProcess)})`, 'bytes'],
			], { height: 8 }),
			timeseries('Read and written by path group', 'The groups are those of `path_groups` in etw_exporter.yaml.', 'binBps', [its('etw_file_group_written_bytes_total', 'group', '{{group}} written'), its('etw_file_group_read_bytes_total', 'group', '{{group}} read')], { width: 24, height: 8 })),
		optIn('Page faults and address space', ['page_faults', 'virtual_alloc'], '',
			timeseries('Page faults', 'Faults of the type "hard" wait for a disk; the others do not.', 'suffix:faults/s', [its('etw_memory_page_faults_total', 'type', '{{type}}')], half),
			timeseries('Address space', 'Bytes reserved or committed, and bytes freed.', 'binBps', [its('etw_memory_virtual_allocated_bytes_total', 'process', 'allocated'), its('etw_memory_virtual_freed_bytes_total', 'process', 'freed')], half)),
		optIn('Registry and images', ['registry', 'image'], '',
			timeseries('Registry operations', 'By operation and result.', 'ops', [its('etw_registry_operations_total', 'operation, result', '{{operation}}: {{result}}')], half),
			timeseries('Image loads', 'Programs and DLLs loaded in each interval.', 'short', [increases('etw_image_loads_total', 'instance', '{{instance}}')], { ...half, bars: true }),
			table('Program files', 'What runs under this name. Other paths or checksums on some hosts are other programs, or other versions.', { path: 'Path', checksum: 'Checksum', instance: 'Host' }, [], { info: `max by (path, checksum, instance) (etw_process_image_info${at(ofProcess)})`, height: 6, widths: { checksum: 120, instance: 180 }, links: { instance: hostPage('${__data.fields.instance}', '__data.fields.instance') } })),
		optIn('Accounts', ['process_info'], '',
			table('Accounts and terminal sessions', 'The accounts that the running instances belong to. Services run in terminal session 0.', { owner: 'Account', terminal_session: 'Terminal session', instance: 'Host' }, [], { info: `max by (owner, terminal_session, instance) (etw_process_info${at(ofProcess)})`, height: 6, widths: { terminal_session: 150, instance: 180 }, links: { instance: hostPage('${__data.fields.instance}', '__data.fields.instance') } })),
		optIn('.NET', ['dotnet'], '',
			timeseries('Time in GC pauses', 'Share of time for which all threads of the process were stopped, mostly for a garbage collection.', 'percentunit', [its('etw_dotnet_gc_pause_seconds_sum', 'instance', '{{instance}}')], third),
			timeseries('p99 pause (upper bound)', '99th percentile. With classic buckets, a factor of 4 apart, the pause is up to that much shorter.', 's', [query(quantile(0.99, 'etw_dotnet_gc_pause_seconds', 'instance', ofProcess), '{{instance}}')], { ...third, step: true }),
			timeseries('Collections', 'Garbage collections in each interval, by the oldest generation that they collect.', 'short', [increases('etw_dotnet_gc_collections_total', 'generation', 'generation {{generation}}')], { ...third, bars: true }),
			timeseries('Heap', 'After the last collection, by generation. 3 holds large objects, 4 pinned ones.', 'bytes', [gauge('etw_dotnet_gc_heap_bytes', 'generation', 'generation {{generation}}')], { ...third, stack: true }),
			timeseries('Allocated', 'By objects, whether they are collected soon or not.', 'binBps', [its('etw_dotnet_allocated_bytes_total', 'instance', '{{instance}}')], third),
			timeseries('Exceptions', 'Exceptions thrown in each interval, whether caught or not.', 'short', [increases('etw_dotnet_exceptions_total', 'instance', '{{instance}}')], { ...third, bars: true }),
			timeseries('Waits for locks', 'Times a thread had to wait for a lock that another one held.', 'ops', [its('etw_dotnet_contentions_total', 'instance', '{{instance}}')], quarter),
			timeseries('Waiting threads', 'Threads that wait for a lock, on average: the sum of their waits a second.', 'short', [its('etw_dotnet_contention_seconds_total', 'instance', '{{instance}}')], { ...quarter, softMax: 0.01 }),
			timeseries('Methods compiled', 'Methods that the just-in-time compiler started to compile.', 'suffix:methods/s', [its('etw_dotnet_methods_jitted_total', 'instance', '{{instance}}')], quarter),
			timeseries('Thread pool workers', 'Worker threads that are not retired.', 'short', [gauge('etw_dotnet_threadpool_threads', 'instance', '{{instance}}')], { ...quarter, decimals: 0 })),
		optIn('PowerShell', ['powershell'], 'PowerShell reports all script blocks if script block logging is on, and suspicious ones always. Written from the manifest, not tried on Windows yet.',
			timeseries('Script blocks', 'Script blocks compiled in each interval, by owner and level. "warning": PowerShell found them suspicious.', 'short', [increases('etw_powershell_script_blocks_total', 'owner, level', '{{owner}}: {{level}}')], { width: 24, height: 8, bars: true })),
		optIn('DNS, TCP connections and HTTP', ['dns', 'tcp', 'http'], 'HTTP.sys does not say which process a request is for: those panels show all requests of the host.',
			timeseries('DNS queries', 'By type of record.', 'suffix:queries/s', [its('etw_dns_queries_total', 'type', '{{type}}')], third),
			timeseries('Failed DNS queries', 'In each interval, by status.', 'short', [increases('etw_dns_failures_total', 'status', '{{status}}')], { ...third, bars: true }),
			timeseries('Failed TCP connections', 'In each interval, by reason.', 'short', [increases('etw_tcp_process_connect_failures_total', 'reason', '{{reason}}')], { ...third, bars: true }),
			timeseries('HTTP.sys requests of the host', 'By site and status code, of all processes.', 'reqps', [query(rate('etw_http_requests_total', 'site, code'), '{{site}}: {{code}}')], { width: 24, height: 8 }),
			timeseries('Duration of HTTP.sys requests of the host', 'Median and 99th percentile by site, of all processes.', 's', quantiles('etw_http_request_duration_seconds', 'site', '{{site}}'), { width: 24, height: 8 })),
	],
});
