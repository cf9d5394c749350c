// The recording rules, in the groups of prometheus/rules.yml. A rule with `what` stands in the table of README.md.
//
// A new series (there now, absent 5 minutes ago, while the exporter was there already) counts with its whole value, any other by increase().
const grown = (what, family, labels = '', matchers = '') => {
	const level = ['instance', ...labels.split(', ').filter(Boolean)].join('_'), series = `${family}_total`;

	return {
		record: `${level}:${family}:increase5m`, what,
		expr: `sum by (<labels>${labels && `, ${labels}`}) (\n  ((${series}${matchers} unless ${series} offset 5m)\n    and on (<labels>) (up offset 5m == 1))\n  or increase(${series}${matchers}[5m])\n)`,
	};
};
const ofFiles = '{volume!~"pipe|mailslot"}';
const sum = (labels, expr) => `sum by (<labels>${labels && `, ${labels}`}) (${expr})`;
const p99 = series => `histogram_quantile(0.99, sum by (<labels>, disk, operation${series.endsWith('_bucket') ? ', le' : ''}) (\n  rate(${series}[5m])\n))`;

export const rules = [
	{
		name: 'etw_file',
		rules: [
			grown('bytes written to files', 'etw_file_written_bytes', 'process', ofFiles),
			grown('bytes read from files', 'etw_file_read_bytes', 'process', ofFiles),
			grown('bytes paged out', 'etw_file_paging_written_bytes', 'process'),
			grown('bytes paged in', 'etw_file_paging_read_bytes', 'process'),
			grown('file operations', 'etw_file_operations', 'process, operation'),
		],
	},
	{
		name: 'etw_disk',
		rules: [
			grown('bytes written to disks', 'etw_disk_process_written_bytes', 'process, disk'),
			grown('bytes read from disks', 'etw_disk_process_read_bytes', 'process, disk'),
			grown('seconds of disk operations', 'etw_disk_process_io_seconds', 'process'),
		],
	},
	{
		name: 'etw_network',
		rules: [
			grown('bytes sent', 'etw_network_sent_bytes', 'process'),
			grown('bytes received', 'etw_network_received_bytes', 'process'),
			grown('TCP connections', 'etw_tcp_connections', 'process, direction'),
			grown('TCP segments retransmitted', 'etw_tcp_retransmits', 'process'),
		],
	},
	{
		name: 'etw_process',
		rules: [
			grown('starts', 'etw_process_starts', 'process'),
			grown('exits', 'etw_process_exits', 'process, result'),
			grown('hard page faults', 'etw_memory_hard_faults', 'process'),
			grown('events', 'etw_events', 'process'),
		],
	},
	{
		name: 'etw_health',
		comment: 'For alerts and the fleet: one or a few series a host.',
		rules: [
			{ record: 'instance:etw_file_written_bytes:increase5m', what: 'bytes written to files, of all processes', expr: sum('', 'instance_process:etw_file_written_bytes:increase5m') },
			{ record: 'instance:etw_events:rate5m', what: 'events a second', expr: sum('', 'rate(etw_events_total[5m])') },
			{
				record: 'instance_session:etw_session_lost:increase5m', what: 'events and buffers lost',
				expr: ['events', 'realtime_buffers', 'log_buffers'].map(lost => sum('session', `increase(etw_session_${lost}_lost_total[5m])`)).join('\n  + '),
			},
			{ record: 'instance_session:etw_consumer_busy:ratio5m', what: 'share of one processor that the consumer uses', expr: sum('session', 'rate(etw_consumer_busy_seconds_total[5m])') },
			{
				record: 'instance:etw_events_unattributed:ratio5m', what: 'share of the events whose process is not known',
				expr: `(${sum('', 'rate(etw_events_total{process="_unknown"}[5m])')}\n  or 0 * ${sum('', 'rate(etw_events_total[5m])')})\n  / (${sum('', 'rate(etw_events_total[5m])')} > 0)`,
			},
			{
				record: 'instance:etw_decode_errors:ratio5m', what: 'share of the records that cannot be decoded',
				expr: `${sum('', 'rate(etw_consumer_records_total{outcome="undecodable"}[5m])')}\n  / (${sum('', 'rate(etw_consumer_records_total[5m])')} > 0)`,
			},
			{
				record: 'instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m', what: '99th percentile of the response time of a disk, of native or classic histograms',
				expr: `${p99('etw_disk_operation_duration_seconds')}\nor\n${p99('etw_disk_operation_duration_seconds_bucket')}`,
			},
		],
	},
];
