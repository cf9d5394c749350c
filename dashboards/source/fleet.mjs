import { alertList, at, bars, dashboard, grown, grownCount, hostPage, instant, linkTo, ofFiles, query, rate, row, stat, table, timeseries, topRates, topRatesAndRest } from './lib.mjs';

const up = 'up{job=~"$job", instance=~"$instance"}';
const events = (...matchers) => `sum by (instance) (rate(etw_events_total${at(...matchers)}[$__range]))`;
const host = '__data.fields.instance';
const wide = { width: 8, height: 3 };
const links = [...hostPage(`\${${host}}`, host), ...linkTo(`Process I/O on \${${host}}`, 'etw-process-io', 'instance', host), ...linkTo(`Exporter health on \${${host}}`, 'etw-health', 'instance', host)];

export default dashboard({
	uid: 'etw-fleet',
	description: 'All hosts on one page: which hosts answer, which lose events, and which write most.',
	use: ['topn'],
	rows: [
		row('Now',
			stat('Hosts up', 'Hosts that answered the last scrape.', 'short', instant(`sum(${up})`), wide),
			stat('Hosts down', 'Hosts that did not answer the last scrape.', 'short', instant(`count(${up} == 0) or on () vector(0)`), { steps: [[1, 'red']], ...wide }),
			stat('Sessions down', 'Sessions without a running consumer. Replays that have ended are not counted.', 'short',
				instant(`count(etw_session_up${at()} == 0 unless on (job, instance, session) etw_session_info{kind="replay"}) or on () vector(0)`), { steps: [[1, 'red']], ...wide }),
			stat('Event rate', 'Events per second of all hosts.', 'suffix:ev/s', query(`sum(rate(etw_events_total${at()}[$__rate_interval]))`), wide),
			stat('Events lost', 'Events lost in the time range, as Windows reports them.', 'short', instant(`round(sum(increase(etw_session_events_lost_total${at()}[$__range])))`), { steps: [[1, 'red']], ...wide }),
			stat('Series', 'Series of all hosts: what the fleet costs Prometheus.', 'short', instant(`sum(etw_exporter_series${at()})`), wide)),
		row('Alerts', alertList()),
		row('Hosts',
			table('Hosts', 'One line for each host. The links keep the time range. Unattributed: share of events whose process is not known. Busy: share of one processor that the consumer thread uses.', { instance: 'Host' }, [
				['Up', `max by (instance) (${up})`, 'short', { width: 50 }],
				['Events/s', events(), 'short', { width: 78 }],
				['Lost', `round(sum by (instance) (increase(etw_session_events_lost_total${at()}[$__range])))`, 'short', { width: 60, steps: [[1, 'red']] }],
				['Restarts', `round(sum by (instance) (increase(etw_session_restarts_total${at()}[$__range])))`, 'short', { width: 76, steps: [[1, 'orange']] }],
				['Busy', `max by (instance) (rate(etw_consumer_busy_seconds_total${at()}[$__range]))`, 'percentunit', { width: 70, decimals: 1, steps: [[0.5, 'orange'], [0.8, 'red']] }],
				['Unattributed', `(${events('process="_unknown"')} or 0 * ${events()}) / (${events()} > 0)`, 'percentunit', { width: 106, decimals: 1, steps: [[0.05, 'orange']] }],
				['Crashes', grownCount('etw_process_exits_total', 'instance', 'result="crash"'), 'short', { width: 74, steps: [[1, 'orange']] }],
				['Written', grown('etw_file_written_bytes_total', 'instance', ofFiles), 'bytes', { width: 120, bar: true }],
				['Series', `sum by (instance) (etw_exporter_series${at()})`, 'short', { width: 68 }],
			], { links: { instance: links }, sortBy: 'Written', height: 12 })),
		row('Comparison',
			timeseries('Written to files by host', 'Bytes that programs wrote to files, cached or not. Paging I/O is not included.', 'binBps', topRates('etw_file_written_bytes_total', 'instance', '{{instance}}', ofFiles)),
			timeseries('Events by host', 'Events of all providers.', 'suffix:ev/s', topRates('etw_events_total', 'instance', '{{instance}}')),
			timeseries('Slowest disks', '99th percentile of reads and writes over 5 minutes, from the recording rules.', 's',
				[query(`topk($topn, max by (instance, disk) (instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m${at('operation=~"read|write"')}))`, '{{instance}} disk {{disk}}')]),
			timeseries('Network traffic by host', 'TCP and UDP payload, sent and received.', 'binBps', [
				query(`${rate('etw_network_sent_bytes_total', 'instance')} + ${rate('etw_network_received_bytes_total', 'instance')}`, '{{instance}}')]),
			timeseries('Written to files by process, all hosts', 'Processes with the same name on different hosts count together.', 'binBps', topRatesAndRest('etw_file_written_bytes_total', 'process', '{{process}}', ofFiles), { stack: true }),
			bars('Hosts by exporter version', 'Number of hosts that run each version.', 'short', [instant(`count by (version) (etw_exporter_build_info${at()})`, '{{version}}')])),
	],
});
