import { alertList, at, dashboard, grown, grownCount, instant, ofFiles, quantile, query, row, stat, table, timeseries, topRates, topRatesAndRest } from './lib.mjs';

const sum = (metric, ...matchers) => `sum(rate(${metric}${at(...matchers)}[$__rate_interval]))`;
const most = (metric, ...matchers) => `sum by (process) (rate(${metric}${at(...matchers)}[$__rate_interval]))`;
// The process that does most of it now.
const busiest = (title, description, unit, expr, options) => stat(title, description, unit, instant(`topk(1, ${expr} > 0)`, '{{process}}'), { height: 3, named: true, noValue: 'none', ...options });
const total = (title, description, unit, expr, options) => stat(title, description, unit, query(expr), { height: 3, ...options });

// Samples are taken of idle processors as well, so the samples of processes are a share of all of them.
const samples = 'etw_process_cpu_samples_total', allSamples = sum('etw_provider_events_total', 'event="PerfInfo/SampleProf"');
const cpuOff = 'collector "cpu" is off';
const names = 'process!~"_.*"'; // of programs
// Of two families with the same labels; a process may be in one of them only.
const mostOfBoth = (metric, other, ...matchers) => {
	const rates = [metric, other].map(one => `rate(${one}${at(...matchers)}[$__rate_interval])`);
	return `sum by (process) (${rates[0]} or label_replace(${rates[1]}, "direction", "other", "", ""))`;
};
// The sum of two figures of a process that may have only one of them.
const eitherOf = (one, other) => `(${one} + ${other}) or ${one} or ${other}`;
const diskBytes = ['etw_disk_read_bytes_total', 'etw_disk_written_bytes_total'];
const diskProcessBytes = ['etw_disk_process_read_bytes_total', 'etw_disk_process_written_bytes_total'];
const networkBytes = ['etw_network_sent_bytes_total', 'etw_network_received_bytes_total'];
const failed = (title, description, expr, options) => stat(title, description, 'short', instant(expr), { height: 3, decimals: 0, ...options });

export default dashboard({
	uid: 'etw-host',
	description: 'One host on one screen: how busy its processors, disks and network are, which process is busiest, what crashed, what was lost.',
	use: ['topn'],
	rows: [
		row('Now, and who does most of it',
			total('CPU', 'Share of the time of all processors in which a thread ran, by samples.', 'percentunit', `${sum(samples)} / (${allSamples} > 0)`, { steps: [[0.8, 'orange'], [0.95, 'red']], decimals: 1, noValue: cpuOff }),
			total('Faults', 'Hard page faults: those that read the disk. The thread waits meanwhile.', 'suffix:/s', sum('etw_memory_hard_faults_total'), { steps: [[500, 'orange'], [2000, 'red']], decimals: 0 }),
			total('Writes', 'Written to files by programs, cached or not. Paging is left out.', 'binBps', sum('etw_file_written_bytes_total', ofFiles), { decimals: 1, noValue: 'no file events' }),
			total('Disks', 'Read from and written to physical disks.', 'binBps', diskBytes.map(metric => sum(metric)).join(' + '), { decimals: 1 }),
			total('Disk p99', '99th percentile of the duration of reads and writes, all disks. Orange at 50 ms, red at 100 ms, where the alert EtwDiskSlow begins.', 's', quantile(0.99, 'etw_disk_operation_duration_seconds', '', 'operation=~"read|write"'), { steps: [[0.05, 'orange'], [0.1, 'red']], decimals: 1 }),
			total('Network', 'Sent and received over TCP and UDP, loopback included.', 'binBps', networkBytes.map(metric => sum(metric)).join(' + '), { decimals: 1 }),
			busiest('Top CPU', 'Share of the time of all processors.', 'percentunit', `${most(samples)} / on () group_left () (${allSamples} > 0)`, { decimals: 1, noValue: cpuOff }),
			busiest('Top faults', 'Hard page faults a second.', 'suffix:/s', most('etw_memory_hard_faults_total', names), { decimals: 1 }),
			busiest('Top writer', 'Bytes a second to files, cached or not.', 'binBps', most('etw_file_written_bytes_total', names, ofFiles), { decimals: 0 }),
			busiest('Top disk', 'Bytes a second that its threads read and write. System writes what others have written to the cache.', 'binBps', mostOfBoth(...diskProcessBytes, names), { decimals: 0 }),
			busiest('Disk queue', 'Disk operations under way at a time, on average: the sum of their durations a second.', 'short', most('etw_disk_process_io_seconds_total', names), { decimals: 2 }),
			busiest('Top talker', 'Bytes a second sent and received over the network, loopback included.', 'binBps', mostOfBoth(...networkBytes, names), { decimals: 0 })),
		row('What went wrong in the time range',
			failed('Crashes', 'Processes that ended with an exception code.', `round(sum(${grown('etw_process_exits_total', 'job', 'result="crash"')})) or on () vector(0)`, { steps: [[1, 'red']] }),
			failed('Failures', 'Processes that ended with another code than 0, crashes left out. Some programs report success like that.', `round(sum(${grown('etw_process_exits_total', 'job', 'result="error"')})) or on () vector(0)`),
			failed('TCP fails', 'TCP connections that could not be made.', `round(sum(increase(etw_tcp_connect_failures_total${at()}[$__range])))`),
			failed('TCP resent', 'TCP segments sent again: loss on the way, or a peer that is too slow.', `round(sum(${grown('etw_tcp_retransmits_total', 'job')})) or on () vector(0)`),
			failed('Lost', 'Events that Windows lost before they were counted. All figures are lower bounds then.', `sum(increase(etw_session_events_lost_total${at()}[$__range]))`, { steps: [[1, 'red']] }),
			failed('Down', 'Sessions that nothing is read from, recordings that have ended left out.', `count(etw_session_up${at()} == 0 unless on (job, instance, session) etw_session_info{kind="replay"}) or on () vector(0)`, { steps: [[1, 'red']] }),
			alertList({ height: 5 })),
		row('Over time',
			timeseries('CPU by process', 'Share of the time of all processors, by samples. What is missing up to 100 % was idle.', 'percentunit', [
				query(`${most(samples)} / on () group_left () (${allSamples} > 0) and on (process) topk($topn, sum by (process) (increase(${samples}${at()}[$__range] @ end())))`, '{{process}}')], { stack: true, width: 8, height: 7 }),
			timeseries('Hard page faults by process', 'Page faults that read the disk.', 'suffix:faults/s', topRates('etw_memory_hard_faults_total', 'process', '{{process}}'), { width: 8, height: 7 }),
			timeseries('Written to files by process', 'By programs, cached or not.', 'binBps', topRatesAndRest('etw_file_written_bytes_total', 'process', '{{process}}', ofFiles), { stack: true, width: 8, height: 7 }),
			timeseries('Disk traffic', 'By physical disk.', 'binBps', [
				query(`sum by (disk) (rate(etw_disk_read_bytes_total${at()}[$__rate_interval]))`, 'disk {{disk}} read'),
				query(`sum by (disk) (rate(etw_disk_written_bytes_total${at()}[$__rate_interval]))`, 'disk {{disk}} written')], { width: 8, height: 7 }),
			timeseries('Disk operations under way', 'By the process whose thread waits: the sum of their durations a second.', 'short', topRatesAndRest('etw_disk_process_io_seconds_total', 'process', '{{process}}'), { stack: true, width: 8, height: 7 }),
			timeseries('Network by process', 'Sent and received, loopback included.', 'binBps', [
				query(`${mostOfBoth(...networkBytes)} and on (process) topk($topn, sum by (process) (increase(etw_network_sent_bytes_total${at()}[$__range] @ end())))`, '{{process}}')], { stack: true, width: 8, height: 7 })),
		row('Processes',
			table('Processes in the time range', 'One line for each process. Its link leads to the page of the process. Network: sent and received.', { process: 'Process' }, [
				['CPU', `sum by (process) (increase(${samples}${at()}[$__range])) / on () group_left () (sum(increase(etw_provider_events_total${at('event="PerfInfo/SampleProf"')}[$__range])) > 0)`, 'percentunit', { width: 70, decimals: 2 }],
				['Written', grown('etw_file_written_bytes_total', 'process', ofFiles), 'bytes', { bar: true, width: 118 }],
				['Read', grown('etw_file_read_bytes_total', 'process', ofFiles), 'bytes', { width: 78 }],
				['Disk wait', grown('etw_disk_process_io_seconds_total', 'process'), 's', { width: 80 }],
				['Network', eitherOf(...networkBytes.map(metric => grown(metric, 'process'))), 'bytes', { width: 80 }],
				['Page faults', grownCount('etw_memory_hard_faults_total', 'process'), 'short', { width: 90 }],
				['Starts', grownCount('etw_process_starts_total', 'process'), 'short', { width: 55 }],
				['Crashes', grownCount('etw_process_exits_total', 'process', 'result="crash"'), 'short', { width: 68, steps: [[1, 'red']] }],
				['Running', `sum by (process) (etw_process_instances${at()})`, 'short', { width: 72 }],
			], { sortBy: 'Written', height: 14 })),
	],
});
