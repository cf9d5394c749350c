import { at, dashboard, hostPage, instant, linkTo, query, rate, row, stat, table, timeseries, topRates } from './lib.mjs';

const lost = '(sum by (instance) (increase(etw_session_events_lost_total' + at() + '[$__range])))';
const hosts = `count by (version) (etw_exporter_build_info${at()})`;
const ofHost = (title, uid) => linkTo(`${title} \${__data.fields.instance}`, uid, 'instance', '__data.fields.instance');
const thisHost = [...hostPage('${__data.fields.instance}', '__data.fields.instance'), ...ofHost('Process I/O on', 'etw-process-io'), ...ofHost('Exporter on', 'etw-health')];

export default dashboard({
	uid: 'etw-fleet',
	description: 'All hosts on one page: which answer, which lose events, which write most.',
	use: ['topn'],
	rows: [
		row('Now',
			stat('Hosts', 'Hosts that answer.', 'short', instant(`sum(up{job=~"$job", instance=~"$instance"})`)),
			stat('Silent', 'Hosts that do not answer.', 'short', instant(`count(up{job=~"$job", instance=~"$instance"} == 0) or on () vector(0)`), { steps: [[1, 'red']] }),
			stat('Down', 'Sessions that are not consumed; replays that have ended left out.', 'short',
				instant(`count(etw_session_up${at()} == 0 unless on (job, instance, session) etw_session_info{kind="replay"}) or on () vector(0)`), { steps: [[1, 'red']] }),
			stat('Events', 'A second, all hosts.', 'suffix:ev/s', query(`sum(rate(etw_events_total${at()}[$__rate_interval]))`)),
			stat('Lost', 'Events in the range that Windows says it lost.', 'short', instant(`sum(increase(etw_session_events_lost_total${at()}[$__range]))`), { steps: [[1, 'red']] }),
			stat('Series', 'Of all hosts: what the fleet costs Prometheus.', 'short', instant(`sum(etw_exporter_series${at()})`))),
		row('Hosts',
			table('Hosts', 'One line a host; the links keep the time range.', { instance: 'Host' }, [
				['Up', `max by (instance) (up{job=~"$job", instance=~"$instance"})`, 'short', { width: 50 }],
				['Events/s', `sum by (instance) (rate(etw_events_total${at()}[$__range]))`, 'short', { width: 85 }],
				['Lost', lost, 'short', { width: 70, steps: [[1, 'red']] }],
				['Restarts', `sum by (instance) (increase(etw_session_restarts_total${at()}[$__range]))`, 'short', { width: 80, steps: [[1, 'orange']] }],
				['Busy', `max by (instance) (rate(etw_consumer_busy_seconds_total${at()}[$__range]))`, 'percentunit', { width: 70, steps: [[0.5, 'orange'], [0.8, 'red']] }],
				['Nobody\'s', `(sum by (instance) (rate(etw_events_total${at('process="_unknown"')}[$__range])) or 0 * sum by (instance) (rate(etw_events_total${at()}[$__range]))) / (sum by (instance) (rate(etw_events_total${at()}[$__range])) > 0)`, 'percentunit', { width: 85, steps: [[0.05, 'orange']] }],
				['Written', `sum by (instance) (increase(etw_file_written_bytes_total${at()}[$__range]))`, 'bytes', { width: 130, bar: true }],
				['Series', `sum by (instance) (etw_exporter_series${at()})`, 'short', { width: 75 }],
			], { links: { instance: thisHost }, sortBy: 'Written', height: 12 })),
		row('Compare',
			timeseries('Written to files by host', 'By programs.', 'binBps', topRates('etw_file_written_bytes_total', 'instance', '{{instance}}')),
			timeseries('Events by host', 'All providers.', 'suffix:ev/s', topRates('etw_events_total', 'instance', '{{instance}}')),
			timeseries('Slowest disks', 'p99 of reads and writes over 5 minutes, from the recording rules.', 's',
				[query(`topk($topn, max by (instance, disk) (instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m${at('operation=~"read|write"')}))`, '{{instance}} disk {{disk}}')]),
			timeseries('Sent and received by host', 'TCP and UDP.', 'binBps', [
				query(`${rate('etw_network_sent_bytes_total', 'instance')} + ${rate('etw_network_received_bytes_total', 'instance')}`, '{{instance}}')]),
			timeseries('Writers across the fleet', 'The same name on all hosts together.', 'binBps', topRates('etw_file_written_bytes_total', 'process', '{{process}}')),
			timeseries('Versions', 'Hosts by version of the exporter.', 'short', [query(hosts, '{{version}}')], { stack: true })),
	],
});
