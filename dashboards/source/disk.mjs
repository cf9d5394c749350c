import { at, byProcess, closed, dashboard, grown, grownCount, heatmap, optIn, quantile, quantiles, query, rate, row, table, timeseries, topRates, topRatesAndRest } from './lib.mjs';

const disk = 'disk=~"$disk"';
const noInventory = 'No system configuration events in this selection. The collector "disk" learns disks and volumes from them.';
const outstanding = rate('etw_disk_operation_duration_seconds_sum', 'instance, disk', disk);

const causedWrites = 'etw_disk_caused_written_bytes_total', causedReads = 'etw_disk_caused_read_bytes_total';
// Bytes a second, as a share of the bytes that the disk is rated for, in a year. 1 TBW is 10^12 bytes.
const causedPerSecond = `sum by (process) (rate(${causedWrites}${at(byProcess, disk)}[$__range] @ end()))`;
const wear = `${causedPerSecond} * 31536000 / ($tbw * 1e12)`;

// By the process that caused it; of hosts where disk_cause is off by the one that issued it, and the legend says so.
const busiest = (caused, issued) => {
	const off = `unless on (cluster, job, instance) ${caused}${at()}`;
	const top = `topk($topn, sum by (process) (increase(${issued}${at(byProcess, disk)}[$__range] @ end()) ${off} @ end()) > 0)`;

	return [
		...topRatesAndRest(caused, 'process', '{{process}}', byProcess, disk),
		query(`sum by (process) (rate(${issued}${at(byProcess, disk)}[$__rate_interval]) ${off}) and on (process) ${top}`, '{{process}} (issued)'),
	];
};
const fallback = 'Hosts where the collector disk_cause is off show the process whose thread issued the request instead, as "(issued)".';
const noTransfers = 'No disk events in this selection. They come from the collector "disk_cause" (kernel flags DISK_IO, FILE_IO_INIT, VAMAP), or where it is off from the collector "disk".';

export default dashboard({
	uid: 'etw-disk',
	description: 'How long physical disks take, which processes wait for them, and which processes fill the queue. Every request is measured; nothing is sampled.',
	use: ['process', 'disk', 'topn', 'tbw'],
	rows: [
		row('Response time',
			heatmap('Reads and writes by response time', 'Time from issue to completion, including the time in the queue. Each column is one interval; brighter cells hold more requests.', 'etw_disk_operation_duration_seconds', { matchers: [disk, 'operation=~"read|write"'] }),
			timeseries('Response time by operation', 'Median (p50) and 99th percentile (p99) of all selected disks. Buckets are a factor of 2 apart.', 's', quantiles('etw_disk_operation_duration_seconds', 'operation', '{{operation}}', disk)),
			timeseries('p99 response time by disk', '99th percentile of reads and writes.', 's', [query(quantile(0.99, 'etw_disk_operation_duration_seconds', 'instance, disk', disk, 'operation=~"read|write"'), '{{instance}} disk {{disk}}')]),
			timeseries('Disk requests under way', 'Requests that are queued or in service, on average: the sum of their response times a second (Little\'s law).', 'short', [query(outstanding, '{{instance}} disk {{disk}}')]),
			heatmap('Flushes by response time', 'A flush writes the disk\'s own cache to the medium.', 'etw_disk_operation_duration_seconds', { matchers: [disk, 'operation="flush"'], width: 24, height: 7 })),
		row('Throughput',
			timeseries('Requests by disk and operation', 'Completed requests.', 'iops', [query(rate('etw_disk_operations_total', 'disk, operation', disk), 'disk {{disk}} {{operation}}')]),
			timeseries('Bytes by disk', 'Bytes read from and written to each disk.', 'binBps', [
				query(rate('etw_disk_read_bytes_total', 'disk', disk), 'disk {{disk}} read'), query(rate('etw_disk_written_bytes_total', 'disk', disk), 'disk {{disk}} written')])),
		row('By process',
			timeseries('Disk requests under way by process', 'Requests that threads of the process issued and that are not complete, on average: the sum of their response times a second.', 'short',
				topRatesAndRest('etw_disk_process_io_seconds_total', 'process', '{{process}}', byProcess), { stack: true, width: 24 }),
			timeseries('Who makes the disk write', `By the process that caused the writes, also those through the file cache. ${fallback} Cached data then counts for System, which writes it later.`, 'binBps', busiest(causedWrites, 'etw_disk_process_written_bytes_total'), { stack: true, noValue: noTransfers }),
			timeseries('Who makes the disk read', `By the process for which the disk reads, read-ahead included. ${fallback} Reads served from the cache do not reach the disk and are not counted.`, 'binBps', busiest(causedReads, 'etw_disk_process_read_bytes_total'), { stack: true, noValue: noTransfers }),
			table('Totals in the time range', 'Disk use by process, including the first values of processes that started in the time range.', { process: 'Process' }, [
				['Response time', grown('etw_disk_process_io_seconds_total', 'process', byProcess), 's', { bar: true, width: 150 }],
				['Written', grown('etw_disk_process_written_bytes_total', 'process', byProcess, disk), 'bytes'],
				['Read', grown('etw_disk_process_read_bytes_total', 'process', byProcess, disk), 'bytes'],
				['Requests', grownCount('etw_disk_process_operations_total', 'process', byProcess, disk), 'short'],
			]),
			timeseries('Requests by process', 'Completed requests by the process whose thread issued them.', 'iops', topRates('etw_disk_process_operations_total', 'process', '{{process}}', byProcess, disk), { width: 24 })),
		optIn('Who makes the disk busy', ['disk_cause'], 'Delayed writes of the file cache count for the process that wrote the data, not for System; docs/caused-writes.md has the rules.',
			timeseries('Disk writes by how they were caused', 'direct: unbuffered or written through. cached: through the file cache. mapped: pages of memory. metadata: the file system itself. unknown: no event says who caused them.', 'binBps', [query(rate(causedWrites, 'how', byProcess, disk), '{{how}}')], { stack: true }),
			timeseries('Disk reads by how they were caused', 'unknown: System read ahead, and no event says for which process.', 'binBps', [query(rate(causedReads, 'how', byProcess, disk), '{{how}}')], { stack: true }),
			table('Caused in the time range, and the wear of an SSD', 'Wear: the share of a disk\'s rated TBW (terabytes written, chosen above) that a year of such writes uses up. It is right for one disk only, so choose one above. What the drive writes on its own is not included.', { process: 'Process' }, [
				['Written', grown(causedWrites, 'process', byProcess, disk), 'bytes', { bar: true, width: 150 }],
				['Read', grown(causedReads, 'process', byProcess, disk), 'bytes'],
				['Written a day', `${causedPerSecond} * 86400`, 'bytes', { width: 120 }],
				['Wear in a year', wear, 'percentunit', { width: 125 }],
			], { width: 24 })),
		optIn('Storage devices', ['storport'], 'Events of the provider Microsoft-Windows-StorPort. Written from its manifest, not tried on Windows yet. The address of a device is port (adapter), bus, target and logical unit.',
			timeseries('p99 time in the device (upper bound)', '99th percentile, by address. With classic buckets, a factor of 4 apart, the time is up to that much shorter.', 's', [query(quantile(0.99, 'etw_storport_device_duration_seconds', 'port, bus, target, lun'), '{{port}}:{{bus}}:{{target}}:{{lun}}')], { step: true }),
			timeseries('p99 time in the drivers and the device (upper bound)', '99th percentile, by address. What is longer than in the device is time in queues of drivers.', 's', [query(quantile(0.99, 'etw_storport_request_duration_seconds', 'port, bus, target, lun'), '{{port}}:{{bus}}:{{target}}:{{lun}}')], { step: true })),
		row('Hard page faults',
			timeseries('Hard faults by process', 'Page faults that read from disk. The thread is blocked until the page is in memory.', 'suffix:faults/s', topRates('etw_memory_hard_faults_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Read by hard faults', 'Bytes that hard faults read from disk, by process.', 'binBps', topRates('etw_memory_hard_fault_read_bytes_total', 'process', '{{process}}', byProcess), { width: 8 }),
			timeseries('Duration of hard faults', 'Median and 99th percentile of all processes. Buckets are a factor of 2 apart.', 's', quantiles('etw_memory_hard_fault_duration_seconds', '', ''), { width: 8 })),
		closed('Inventory', '',
			table('Disks', 'Physical disks, from the system configuration events.', { instance: 'Host', disk: 'Disk', model: 'Model', bytes_per_sector: 'Bytes per sector' }, [],
				{ info: `max by (instance, disk, model, bytes_per_sector) (etw_disk_info${at(disk)})`, height: 6, widths: { model: 260 }, noValue: noInventory }),
			table('Volumes', 'Volumes and the disks that hold them, from the system configuration events.', { instance: 'Host', disk: 'Disk', partition: 'Partition', volume: 'Volume', file_system: 'File system' }, [],
				{ info: `max by (instance, disk, partition, volume, file_system) (etw_disk_volume_info${at(disk)})`, height: 6, noValue: noInventory })),
	],
});
