import { at, dashboard, heatmap, instant, query, rate, row, stat, table, timeseries, topRates, quantiles, closed, optIn } from './lib.mjs';

const bySession = (metric, ...matchers) => rate(metric, 'instance, session', ...matchers);
// By host and session: too long for a legend with columns.
const lines = (title, description, unit, targets, options) => timeseries(title, description, unit, targets, { legend: 'list', ...options });
const gauge = (metric, by) => `sum by (${by}) (${metric}${at()})`;

export default dashboard({
	uid: 'etw-health',
	description: 'Whether the figures can be trusted: losses, lag, what could not be decoded or attributed, and what the exporter itself costs.',
	use: ['topn'],
	rows: [
		row('Trust',
			stat('Up', 'Sessions that are consumed now.', 'short', instant(`sum(etw_session_up${at()})`)),
			stat('Lost', 'Events in the range, as Windows reports them.', 'short', instant(`sum(increase(etw_session_events_lost_total${at()}[$__range]))`), { steps: [[1, 'red']] }),
			stat('Restarts', 'Of sessions, in the range.', 'short', instant(`sum(increase(etw_session_restarts_total${at()}[$__range]))`), { steps: [[1, 'orange']] }),
			stat('Busiest', 'Consumer: share of one processor. Loss is near at 0.8.', 'percentunit', query(`max(rate(etw_consumer_busy_seconds_total${at()}[$__rate_interval]))`), { steps: [[0.5, 'orange'], [0.8, 'red']] }),
			stat('Lag', 'From event to consumer, the worst.', 's', query(`max(etw_consumer_lag_seconds${at()})`), { steps: [[5, 'orange'], [15, 'red']] }),
			stat('Garbled', 'Share of all records that could not be decoded.', 'percentunit', query(`sum(rate(etw_consumer_records_total${at('outcome="undecodable"')}[$__rate_interval])) / (sum(rate(etw_consumer_records_total${at()}[$__rate_interval])) > 0)`), { steps: [[0.001, 'orange'], [0.01, 'red']], noValue: 'no records' })),
		row('Loss',
			lines('Lost', 'Events, and whole buffers of events, as Windows counts them.', 'short', [
				query(bySession('etw_session_events_lost_total'), '{{instance}} {{session}} events'),
				query(bySession('etw_session_realtime_buffers_lost_total'), '{{instance}} {{session}} real-time buffers'),
				query(bySession('etw_session_log_buffers_lost_total'), '{{instance}} {{session}} log buffers')]),
			lines('Records about losses', 'What the trace itself says.', 'ops', [query(rate('etw_consumer_lost_notifications_total', 'instance, session, type'), '{{instance}} {{session}} {{type}}')]),
			lines('Buffers', 'Free ones are the reserve: at 0 events are lost.', 'short', [
				query(gauge('etw_session_buffers', 'instance, session'), '{{instance}} {{session}} allocated'),
				query(gauge('etw_session_buffers_free', 'instance, session'), '{{instance}} {{session}} free'),
				query(gauge('etw_session_buffers_max', 'instance, session'), '{{instance}} {{session}} most')]),
			lines('Buffers written', 'By the session, and read by the consumer.', 'ops', [
				query(bySession('etw_session_buffers_written_total'), '{{instance}} {{session}} written'), query(bySession('etw_consumer_buffers_total'), '{{instance}} {{session}} consumed')]),
			lines('Size of a buffer', 'As Windows made it.', 'bytes', [query(gauge('etw_session_buffer_size_bytes', 'instance, session'), '{{instance}} {{session}}')], { width: 8, height: 7 }),
			lines('Restarts by reason', 'Stopped and stolen are other programs.', 'short', [query(`sum by (instance, session, reason) (increase(etw_session_restarts_total${at()}[$__rate_interval]))`, '{{session}} {{reason}}')], { width: 8, height: 7 }),
			lines('Session up', '1 while it is consumed.', 'short', [query(gauge('etw_session_up', 'instance, session'), '{{instance}} {{session}}')], { width: 8, height: 7 })),
		closed('Canary (live sessions)', 'Empty for a replay. The exporter writes a few numbered events a second into each of its sessions and counts how many come back: what is missing was lost, whether Windows says so or not.',
			lines('Sent and received', 'Of each session.', 'ops', [query(bySession('etw_session_canary_sent_total'), '{{instance}} {{session}} sent'), query(bySession('etw_session_canary_received_total'), '{{instance}} {{session}} received')]),
			lines('Missing', 'Sent and not come back, in the range so far.', 'short', [query(`sum by (instance, session) (etw_session_canary_sent_total${at()}) - sum by (instance, session) (etw_session_canary_received_total${at()})`, '{{instance}} {{session}}')]),
			heatmap('Delay', 'From write to delivery: buffers, flush timer and lag together.', 'etw_session_canary_delay_seconds', { width: 24, height: 7 })),
		row('Consumer',
			lines('Busy', 'CPU time a second of each consumer thread.', 'percentunit', [query(bySession('etw_consumer_busy_seconds_total'), '{{instance}} {{session}}')], { max: 1 }),
			lines('Lag', 'Time from event to delivery.', 's', [query(`max by (instance, session) (etw_consumer_lag_seconds${at()})`, '{{instance}} {{session}}')]),
			lines('Events by provider', 'What there is most of.', 'suffix:ev/s', topRates('etw_consumer_events_total', 'provider', '{{provider}}')),
			lines('Events by kind', 'Candidates for `filters`.', 'suffix:ev/s', topRates('etw_provider_events_total', 'provider, event', '{{provider}} {{event}}')),
			lines('What became of records', 'Each record has one outcome.', 'suffix:ev/s', [query(rate('etw_consumer_records_total', 'outcome'), '{{outcome}}')], { stack: true }),
			lines('Not attributed', 'Events whose thread, process, file or disk no event had told of.', 'suffix:ev/s', [query(rate('etw_consumer_unattributed_events_total', 'reason'), '{{reason}}')]),
			lines('Bad input', 'Buffers and records that make no sense, and records too late for their place.', 'ops', [
				query(bySession('etw_consumer_bad_buffers_total'), '{{instance}} {{session}} bad buffers'), query(bySession('etw_consumer_bad_records_total'), '{{instance}} {{session}} bad records'),
				query(bySession('etw_consumer_late_records_total'), '{{instance}} {{session}} late records')]),
			lines('Decode errors', 'By provider and reason; nothing here is good.', 'ops', [query(`sum by (provider, reason) (rate(etw_decode_errors_total${at()}[$__rate_interval])) or on () vector(0)`, '{{provider}} {{reason}}')])),
		row('Memory and series',
			lines('Series', 'Label sets held, of all families together.', 'short', [query(gauge('etw_exporter_series', 'instance'), '{{instance}}')]),
			lines('Folded', 'Events counted under _other since the exporter started, by family: it is at its limit of series.', 'short', [
				query(`sum by (metric) (etw_exporter_series_overflow_total${at()}) or on () vector(0)`, '{{metric}}')]),
			lines('Tables', 'Entries of what the exporter remembers.', 'short', [query(gauge('etw_state_entries', 'table'), '{{table}}')], { width: 8 }),
			lines('Evicted from tables', 'A table was full: attribution suffers.', 'ops', [query(rate('etw_state_evictions_total', 'table'), '{{table}}')], { width: 8 }),
			lines('Pairs without their other half', 'Starts whose stop never came within the time-out, and stops without a start.', 'ops', [query(rate('etw_state_unmatched_total', 'table, side'), '{{table}} {{side}}')]),
			lines('Schemas', 'Known layouts, and look-ups by result.', 'short', [
				query(`sum(etw_schema_cache_entries${at()})`, 'known'), query(rate('etw_schema_cache_lookups_total', 'result'), '{{result}} a second')], { width: 8 })),
		row('The exporter itself',
			lines('CPU', 'Seconds a second.', 'percentunit', [query(rate('process_cpu_seconds_total', 'instance'), '{{instance}}')], { width: 8 }),
			lines('Memory', 'Resident, and address space.', 'bytes', [query(gauge('process_resident_memory_bytes', 'instance'), '{{instance}}'), query(gauge('process_virtual_memory_bytes', 'instance'), '{{instance}} virtual')], { width: 8 }),
			lines('Open handles', 'And how many there may be.', 'short', [query(gauge('process_open_fds', 'instance'), '{{instance}}'), query(gauge('process_max_fds', 'instance'), '{{instance}} most')], { width: 8 }),
			lines('Scrapes', 'By answer.', 'reqps', [query(rate('etw_exporter_scrapes_total', 'code'), '{{code}}')], { width: 8 }),
			lines('Time to render', 'p50 and p99.', 's', quantiles('etw_exporter_scrape_duration_seconds', '', ''), { width: 8 }),
			lines('Size of a page', 'Of the last scrape.', 'bytes', [query(gauge('etw_exporter_scrape_size_bytes', 'instance'), '{{instance}}')], { width: 8 }),
			table('What runs', 'Version, and when it started.', { instance: 'Host', version: 'Version', revision: 'Revision', compiler: 'Compiler', arch: 'Architecture' }, [], { info: `max by (instance, version, revision, compiler, arch) (etw_exporter_build_info${at()})`, height: 7 }),
			table('Sessions', 'Kind, clock and mode.', { instance: 'Host', session: 'Session', kind: 'Kind', clock: 'Clock', mode: 'Mode' }, [], { info: `max by (instance, session, kind, clock, mode) (etw_session_info${at()})`, height: 7 }),
			table('Collectors', 'Hosts on which each is on.', { collector: 'Collector' }, [['Hosts', `sum by (collector) (etw_exporter_collector_enabled${at()})`, 'short', { width: 90 }]], { width: 12, height: 9 }),
			lines('Since the start', 'Age of the process.', 's', [query(`time() - max by (instance) (process_start_time_seconds${at()})`, '{{instance}}')])),
		optIn('Size of events', ['payload'], 'Which provider fills the buffers.',
			timeseries('Payload by provider', 'Bytes of payload a second, headers left out.', 'binBps', topRates('etw_event_payload_bytes_total', 'provider', '{{provider}}'), { width: 24 })),
		closed('Replay', 'Empty for live sessions.',
			table('Recordings', 'What is replayed.', { instance: 'Host', file: 'File', os_build: 'Build', cpus: 'Processors' }, [], { info: `max by (instance, file, os_build, cpus) (etw_replay_info${at()})`, height: 7 }),
			lines('Progress', 'Share of the recording, and whether it has ended.', 'percentunit', [query(gauge('etw_replay_progress_ratio', 'instance'), '{{instance}}'), query(gauge('etw_replay_finished', 'instance'), '{{instance}} ended')], { max: 1, height: 7 }),
			lines('Position', 'Time of the last event, before now.', 's', [query(`time() - max by (instance) (etw_replay_position_timestamp_seconds${at()} > 0)`, '{{instance}}')], { width: 24, height: 7 })),
	],
});
