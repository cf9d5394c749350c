import { at, byProcess, dashboard, heatmap, query, quantile, quantiles, rate, row, stat, table, timeseries, topRates, topRatesAndRest, grown } from './lib.mjs';

const disk = 'disk=~"$disk"';
const busy = `sum by (instance, disk) (rate(etw_disk_operation_duration_seconds_sum${at(disk)}[$__rate_interval]))`;

export default dashboard({
	uid: 'etw-disk',
	description: 'How long physical disks take, who waits for them and who fills them. Response times are in every event, not sampled.',
	use: ['process', 'disk', 'topn'],
	rows: [
		row('Response time',
			heatmap('Reads and writes by duration', 'From issue to completion, queueing included; each column is one interval.', 'etw_disk_operation_duration_seconds', { matchers: [disk, 'operation=~"read|write"'] }),
			timeseries('p50 and p99', 'By operation.', 's', quantiles('etw_disk_operation_duration_seconds', 'operation', '{{operation}}', disk)),
			timeseries('p99 by disk', 'Reads and writes.', 's', [query(quantile(0.99, 'etw_disk_operation_duration_seconds', 'instance, disk', disk, 'operation=~"read|write"'), '{{instance}} disk {{disk}}')]),
			timeseries('Requests under way', 'Sum of response times a second: by Little\'s law the mean number of requests in the queue.', 'short', [query(busy, '{{instance}} disk {{disk}}')]),
			heatmap('Flushes by duration', 'A flush waits for the disk\'s own cache.', 'etw_disk_operation_duration_seconds', { matchers: [disk, 'operation="flush"'], width: 24, height: 7, scheme: 'Purples' })),
		row('Work',
			timeseries('Operations', 'Completed transfers.', 'iops', [query(rate('etw_disk_operations_total', 'disk, operation', disk), 'disk {{disk}} {{operation}}')]),
			timeseries('Bytes', 'Reads and writes by disk.', 'binBps', [
				query(rate('etw_disk_read_bytes_total', 'disk', disk), 'disk {{disk}} read'), query(rate('etw_disk_written_bytes_total', 'disk', disk), 'disk {{disk}} written')])),
		row('Who',
			timeseries('Who waits for the disk', 'Seconds of response time a second, by the process whose thread issued the request.', 'short', topRatesAndRest('etw_disk_process_io_seconds_total', 'process', '{{process}}', byProcess), { stack: true, width: 24 }),
			timeseries('Written by process', 'Cached writes are flushed, and so counted, by System.', 'binBps', topRatesAndRest('etw_disk_process_written_bytes_total', 'process', '{{process}}', byProcess, disk), { stack: true }),
			timeseries('Read by process', 'What the cache did not hold.', 'binBps', topRatesAndRest('etw_disk_process_read_bytes_total', 'process', '{{process}}', byProcess, disk), { stack: true }),
			table('In the time range', 'By process, with what new processes began with.', { process: 'Process' }, [
				['Waited', grown('etw_disk_process_io_seconds_total', 'process', byProcess), 's', { bar: true, width: 150 }],
				['Written', grown('etw_disk_process_written_bytes_total', 'process', byProcess, disk), 'bytes'],
				['Read', grown('etw_disk_process_read_bytes_total', 'process', byProcess, disk), 'bytes'],
				['Operations', grown('etw_disk_process_operations_total', 'process', byProcess, disk), 'short'],
			]),
			timeseries('Operations by process', 'Issued by its threads.', 'iops', topRates('etw_disk_process_operations_total', 'process', '{{process}}', byProcess, disk), { width: 24 })),
		row('Hard page faults',
			timeseries('Faults that read the disk', 'A thread stands still until the page is there.', 'ops', topRates('etw_memory_hard_faults_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Bytes they read', 'By process.', 'binBps', topRates('etw_memory_hard_fault_read_bytes_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('How long they take', 'All processes.', 's', quantiles('etw_memory_hard_fault_duration_seconds', '', ''), { width: 8 })),
		row('What there is',
			table('Disks', 'As the system configuration in the trace tells.', { instance: 'Host', disk: 'Disk', model: 'Model', bytes_per_sector: 'Bytes per sector' }, [], { info: `max by (instance, disk, model, bytes_per_sector) (etw_disk_info${at(disk)})`, height: 7, widths: { model: 260 } }),
			table('Volumes', 'As the system configuration in the trace tells.', { instance: 'Host', disk: 'Disk', partition: 'Partition', volume: 'Volume', file_system: 'File system' }, [], { info: `max by (instance, disk, partition, volume, file_system) (etw_disk_volume_info${at(disk)})`, height: 7 })),
	],
});
