import { alertList, at, bars, both, dashboard, grownCount, hostPage, instant, linkTo, query, row, stat, table, timeseries } from './lib.mjs';

const up = `up${at()}`;
// Rates from the recording rules, which have few series for each host: sums of the families themselves would read hundreds of series for
// each of thousands of hosts. `increase5m` is the growth of 5 minutes.
const recorded = (name, by, ...matchers) => `sum by (${by}) (${name}${at(...matchers)})`;
const meanOf = name => `sum by (instance) (avg_over_time(${name}${at()}[$__range]))`;
const topRecorded = (name, by, legend, divisor = '', ...matchers) => [query(`${recorded(name, by, ...matchers)}${divisor} and on (${by}) topk($topn, sum by (${by}) (sum_over_time(${name}${at(...matchers)}[$__range] @ end())))`, legend)];
const written = 'instance:etw_file_written_bytes:increase5m', events = 'instance:etw_events:rate5m';
const host = '__data.fields.instance';
const wide = { width: 8, height: 3 };
const links = [...hostPage(`\${${host}}`, host), ...linkTo(`Process I/O on \${${host}}`, 'etw-process-io', 'instance', host), ...linkTo(`Exporter health on \${${host}}`, 'etw-health', 'instance', host)];

export default dashboard({
	uid: 'etw-fleet',
	description: 'All hosts on one page: which hosts answer, which lose events, and which write most. Needs the recording rules.',
	use: ['topn'],
	rows: [
		row('Now',
			stat('Hosts up', 'Hosts that answered the last scrape.', 'short', instant(`sum(${up})`), wide),
			stat('Hosts down', 'Hosts that did not answer the last scrape.', 'short', instant(`count(${up} == 0) or on () vector(0)`), { steps: [[1, 'red']], ...wide }),
			stat('Sessions down', 'Sessions from which no consumer reads. Replays that have ended are not counted.', 'short',
				instant(`count(etw_session_up${at()} == 0 unless on (cluster, job, instance, session) etw_session_info{kind="replay"}) or on () vector(0)`), { steps: [[1, 'red']], ...wide }),
			stat('Event rate', 'Events per second of all hosts; mean of 5 minutes.', 'suffix:ev/s', query(`sum(${events}${at()})`), wide),
			stat('Events lost', 'Events lost in the time range, as Windows reports them.', 'short', instant(`round(sum(increase(etw_session_events_lost_total${at()}[$__range])))`), { steps: [[1, 'red']], ...wide }),
			stat('Series', 'Series of all hosts: what the fleet costs Prometheus.', 'short', instant(`sum(etw_exporter_series${at()})`), wide)),
		row('Alerts', alertList()),
		row('Hosts',
			table('Hosts', 'One line for each host. The links keep the time range. Written/s: bytes that programs write to files. Unattributed: share of events whose process is not known. Busy: share of one processor that the consumer thread uses.', { instance: 'Host' }, [
				['Up', `max by (instance) (${up})`, 'short', { width: 50 }],
				['Events/s', meanOf(events), 'short', { width: 78 }],
				['Lost', `round(sum by (instance) (increase(etw_session_events_lost_total${at()}[$__range])))`, 'short', { width: 60, steps: [[1, 'red']] }],
				['Restarts', `round(sum by (instance) (increase(etw_session_restarts_total${at()}[$__range])))`, 'short', { width: 76, steps: [[1, 'orange']] }],
				['Busy', `max by (instance) (rate(etw_consumer_busy_seconds_total${at()}[$__range]))`, 'percentunit', { width: 70, decimals: 1, steps: [[0.5, 'orange'], [0.8, 'red']] }],
				['Unattributed', meanOf('instance:etw_events_unattributed:ratio5m'), 'percentunit', { width: 106, decimals: 1, steps: [[0.05, 'orange']] }],
				['Crashes', grownCount('etw_process_exits_total', 'instance', 'result="crash"'), 'short', { width: 74, steps: [[1, 'orange']] }],
				['Written/s', `${meanOf(written)} / 300 or 0 * max by (instance) (${up})`, 'binBps', { width: 120, bar: true, filled: true }],
				['Series', `sum by (instance) (etw_exporter_series${at()})`, 'short', { width: 68 }],
			], { links: { instance: links }, sortBy: 'Written/s', height: 12 })),
		row('Comparison',
			timeseries('Written to files by host', 'Bytes a second that programs wrote to files, cached or not; mean of 5 minutes. Paging I/O is not included.', 'binBps', topRecorded(written, 'instance', '{{instance}}', ' / 300')),
			timeseries('Events by host', 'Events a second of all providers; mean of 5 minutes.', 'suffix:ev/s', topRecorded(events, 'instance', '{{instance}}')),
			timeseries('Slowest disks', '99th percentile of reads and writes over 5 minutes, from the recording rules.', 's',
				[query(`topk($topn, max by (instance, disk) (instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m${at('operation=~"read|write"')}))`, '{{instance}} disk {{disk}}')]),
			timeseries('Network traffic by host', 'TCP and UDP payload, sent and received; mean of 5 minutes.', 'binBps', [
				query(`topk($topn, sum by (instance) ${both(`instance_process:etw_network_sent_bytes:increase5m${at()}`, `instance_process:etw_network_received_bytes:increase5m${at()}`)} / 300)`, '{{instance}}')]),
			timeseries('Written to files by process, all hosts', 'Processes with the same name on different hosts count together; mean of 5 minutes.', 'binBps', topRecorded('instance_process:etw_file_written_bytes:increase5m', 'process', '{{process}}', ' / 300'), { stack: true }),
			bars('Hosts by exporter version', 'Number of hosts that run each version.', 'short', [instant(`count by (version) (etw_exporter_build_info${at()})`, '{{version}}')])),
	],
});
