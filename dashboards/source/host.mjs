import { alertList, at, closed, dashboard, grown, grownCount, instant, ofFiles, quantile, query, rate, rateOfBoth, row, stat, table, timeseries, topRates, topRatesAndRest, topRatesOfBoth, windows } from './lib.mjs';

const sum = (metric, ...matchers) => rate(metric, '', ...matchers);
const most = (metric, ...matchers) => rate(metric, 'process', ...matchers);
// Both rows of tiles are of the same moment, the end of the time range, so that the tiles of a column agree.
const total = (title, description, unit, expr, options) => stat(title, description, unit, instant(expr), { height: 3, ...options });
// The process that does most of it; while none does anything "nothing now", and the reason only where the family is absent.
const busiest = (title, description, unit, expr, options) =>
	stat(title, description, unit, instant(`topk(1, ${expr} > 0) or on () label_replace(0 * sum(${expr}), "process", "nothing now", "", "")`, '{{process}}'), { height: 3, named: true, ...options });

// Samples are taken of idle processors as well, so the samples of processes are a share of all of them.
const samples = 'etw_process_cpu_samples_total', allSamples = sum('etw_provider_events_total', 'event="PerfInfo/SampleProf"');
const cpuOff = 'no CPU samples';
const names = 'process!~"_.*"'; // of programs
// The sum of two figures of a process that may have only one of them.
const eitherOf = (one, other) => `(${one} + ${other}) or ${one} or ${other}`;
const diskBytes = ['etw_disk_read_bytes_total', 'etw_disk_written_bytes_total'];
const diskProcessBytes = ['etw_disk_process_read_bytes_total', 'etw_disk_process_written_bytes_total'];
const networkBytes = ['etw_network_sent_bytes_total', 'etw_network_received_bytes_total'];
const failed = (title, description, expr, options) => stat(title, description, 'short', instant(expr), { height: 3, decimals: 0, ...options });
const third = { width: 8, height: 9 };

export default dashboard({
	uid: 'etw-host',
	hosts: 'oneInstance',
	description: 'One host on one screen: how busy its disks, network and processors are, which process is busiest, what crashed, what was lost.',
	use: ['topn'],
	rows: [
		// CPU comes last: its collector is off by default.
		row('Now, and who does most of it',
			total('File writes', 'Written to files by programs, cached or not. Paging is left out.', 'binBps', sum('etw_file_written_bytes_total', ofFiles), { decimals: 1, noValue: 'no writes' }),
			total('Disk traffic', 'Read from and written to physical disks.', 'binBps', rateOfBoth(diskBytes, ''), { decimals: 1, noValue: 'no disk I/O' }),
			stat('Disk p99', '99th percentile of the duration of reads and writes, all disks. Orange at 100 ms, red at 500 ms, where the alert EtwDiskSlow begins.', 's', query(quantile(0.99, 'etw_disk_operation_duration_seconds', '', 'operation=~"read|write"')), { steps: [[0.1, 'orange'], [0.5, 'red']], decimals: 1, height: 3 }),
			total('Network', 'Sent and received over TCP and UDP, loopback included.', 'binBps', rateOfBoth(networkBytes, ''), { decimals: 1, noValue: 'no traffic' }),
			total('Hard faults', 'Hard page faults a second: those that read the disk. The thread waits meanwhile.', 'suffix:/s', sum('etw_memory_hard_faults_total'), { steps: [[500, 'orange'], [2000, 'red']], decimals: 0 }),
			total('CPU', 'Share of the time of all processors in which a thread ran, by samples of the collector cpu, which is off by default.', 'percentunit', `${sum(samples)} / (${allSamples} > 0)`, { steps: [[0.8, 'orange'], [0.95, 'red']], decimals: 1, noValue: cpuOff }),
			busiest('Top writer', 'Bytes a second to files, cached or not.', 'binBps', most('etw_file_written_bytes_total', names, ofFiles), { decimals: 0, noValue: 'no writes' }),
			busiest('Top disk', 'Bytes a second that its threads read and write. System writes what others have written to the cache.', 'binBps', rateOfBoth(diskProcessBytes, 'process', names), { decimals: 0, noValue: 'no disk I/O' }),
			busiest('Disk waits', 'Threads of the process that wait for a disk at a time, on average: the sum of the durations of its disk operations a second.', 'short', most('etw_disk_process_io_seconds_total', names), { decimals: 2, noValue: 'no disk I/O' }),
			busiest('Top traffic', 'Bytes a second sent and received over the network, loopback included.', 'binBps', rateOfBoth(networkBytes, 'process', names), { decimals: 0, noValue: 'no traffic' }),
			busiest('Top faults', 'Hard page faults a second.', 'suffix:/s', most('etw_memory_hard_faults_total', names), { decimals: 1 }),
			busiest('Top CPU', 'Share of the time of all processors, by samples of the collector cpu.', 'percentunit', `${most(samples)} / on () group_left () (${allSamples} > 0)`, { decimals: 1, noValue: cpuOff })),
		row('What went wrong in the time range',
			failed('Crashes', 'Processes that ended with an exception code.', `round(sum(${grown('etw_process_exits_total', 'job', 'result="crash"')})) or on () vector(0)`, { steps: [[1, 'red']] }),
			failed('Error exits', 'Processes that ended with a code other than 0, without crashes. Some programs use such codes for success.', `round(sum(${grown('etw_process_exits_total', 'job', 'result="error"')})) or on () vector(0)`, { width: 5 }),
			failed('TCP failures', 'TCP connections that could not be made.', `round(sum(${grown('etw_tcp_connect_failures_total', 'job')}))`, { width: 5 }),
			failed('Events lost', 'Events that Windows lost before they were counted. All figures are lower bounds then.', `sum(increase(etw_session_events_lost_total${at()}[$__range]))`, { steps: [[1, 'red']], width: 5 }),
			failed('Sessions down', 'Sessions that nothing is read from, recordings that have ended left out.', `count(etw_session_up${at()} == 0 unless on (cluster, job, instance, session) etw_session_info{kind="replay"}) or on () vector(0)`, { steps: [[1, 'red']], width: 5 }),
			alertList({ height: 5 })),
		row('Over time',
			timeseries('Written to files by process', 'By programs, cached or not.', 'binBps', topRatesAndRest('etw_file_written_bytes_total', 'process', '{{process}}', ofFiles), { stack: true, ...third }),
			timeseries('Disk traffic', 'By physical disk.', 'binBps', [
				query(rate('etw_disk_read_bytes_total', 'disk'), 'disk {{disk}} read'),
				query(rate('etw_disk_written_bytes_total', 'disk'), 'disk {{disk}} written')], third),
			timeseries('Disk requests under way', 'Requests that are not complete, on average, by the process whose thread issued them: the sum of their response times a second.', 'short', topRatesAndRest('etw_disk_process_io_seconds_total', 'process', '{{process}}'), { stack: true, ...third }),
			timeseries('Network traffic by process', 'Sent and received, loopback included.', 'binBps', topRatesOfBoth(networkBytes, 'process', '{{process}}'), { stack: true, ...third }),
			timeseries('Hard page faults by process', 'Page faults that read the disk.', 'suffix:faults/s', topRates('etw_memory_hard_faults_total', 'process', '{{process}}'), third),
			timeseries('CPU by process', 'Share of the time of all processors, by samples. The rest up to 100 % was idle.', 'percentunit', [
				query(`${most(samples)} / on () group_left () (${allSamples} > 0) and on (process) topk($topn, sum by (process) (increase(${samples}${at()}[$__range] @ end())))`, '{{process}}')], { stack: true, ...third })),
		row('Processes',
			table('Processes in the time range', 'One line for each process. Its link leads to the page of the process. Network: sent and received. Memory: working set now.', { process: 'Process' }, [
				['Written', grown('etw_file_written_bytes_total', 'process', ofFiles), 'bytes', { bar: true, width: 100 }],
				['Read', grown('etw_file_read_bytes_total', 'process', ofFiles), 'bytes', { width: 72 }],
				['Disk wait', grown('etw_disk_process_io_seconds_total', 'process'), 's', { width: 72 }],
				['Network', eitherOf(...networkBytes.map(metric => grown(metric, 'process'))), 'bytes', { width: 72 }],
				['Hard faults', grownCount('etw_memory_hard_faults_total', 'process'), 'short', { width: 84 }],
				['Starts', grownCount('etw_process_starts_total', 'process'), 'short', { width: 50 }],
				['Crashes', grownCount('etw_process_exits_total', 'process', 'result="crash"'), 'short', { width: 64, steps: [[1, 'red']] }],
				['CPU', `sum by (process) (increase(${samples}${at()}[$__range])) / on () group_left () (sum(increase(etw_provider_events_total${at('event="PerfInfo/SampleProf"')}[$__range])) > 0)`, 'percentunit', { width: 58, decimals: 2 }],
				['Memory', `sum by (process) (etw_process_working_set_bytes${at()}) > 0`, 'bytes', { width: 74 }],
				['Running', `sum by (process) (etw_process_instances${at()})`, 'short', { width: 64 }],
			], { sortBy: 'Written', height: 14 })),
		closed('Free memory and space, services and uptime (windows_exporter)', windows.note,
			timeseries('Memory available', 'Physical memory that a program can get at once: free, zeroed and standby pages.', 'bytes', [query(windows.of('windows_memory_available_bytes', 'instance'), '{{instance}}')], { width: 12, height: 9, ...windows.empty }),
			timeseries('Free space by volume', 'Share of the volume that is free.', 'percentunit', [query(`${windows.of('windows_logical_disk_free_bytes', 'instance, volume')} / ${windows.of('windows_logical_disk_size_bytes', 'instance, volume')}`, '{{volume}}')], { max: 1, width: 12, height: 9, ...windows.empty }),
			table('Services that should run', 'Services that start automatically and do not run.', { name: 'Service' }, [
				['Running', `max by (name) (windows_service_state${windows.at('state="running"')} == 0 and on (instance, name) windows_service_start_mode${windows.at('start_mode="auto"')} == 1)`, 'short', { width: 90 }],
			], { width: 12, height: 7, noValue: 'All of them run, or windows_exporter is not scraped with this host as its instance.' }),
			timeseries('Uptime of Windows', 'Time since Windows started.', 's', [query(`time() - max by (instance) (${windows.started})`, '{{instance}}')], { width: 12, height: 7, ...windows.empty })),
	],
});
