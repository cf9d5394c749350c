// The alerts, in the groups of prometheus/alerts.yml, of the table in README.md and of docs/runbooks.md.
//
// when: for those two; description: what it means for the figures; runbook: what to do, in the alert and in docs/runbooks.md; keep:
// `keep_firing_for`, for what comes and goes; panel: [dashboard, title, further variables of the link].
const host = 'etw_exporter on {{ $labels.instance }}', session = 'Session {{ $labels.session }} on {{ $labels.instance }}';
// What the flight recorder (`recorder:` of the exporter) wrote in the last hour, for any alert with the label `instance`.
const recording = `{{ with printf "etw_exporter_recorder_last_recording_info{instance='%s'} and on (<labels>) time() - etw_exporter_recorder_last_recording_timestamp_seconds < 3600" $labels.instance | query -}} etwtool report {{ . | first | label "file" }}, in the folder \`recorder.dir\` of {{ $labels.instance }} {{- else }}none{{ end }}`;
const noReplay = 'unless on (<labels>, session) etw_session_info{kind="replay"}';

export const alerts = [
	{
		name: 'etw_exporter',
		alerts: [
			{
				alert: 'EtwTargetDown', severity: 'critical', for: '5m', expr: 'up{<selector>} == 0', panel: ['etw-fleet', 'Hosts'],
				when: 'a host does not answer scrapes',
				summary: `${host} does not answer`, description: 'Prometheus has not scraped it for 5 minutes. There are no figures of that host since then.',
				runbook: 'On the host: `sc query etw_exporter`, then the Application event log, source etw_exporter, which says why it ended. Try http://localhost:9189/-/healthy there; if that answers, look at the firewall rule and the listen address.',
			},
			{
				alert: 'EtwNoTarget', severity: 'critical', for: '10m', expr: 'absent(up{<selector>})', panel: ['etw-fleet', 'Hosts up'],
				when: 'Prometheus has no host to scrape',
				summary: 'Prometheus scrapes no etw_exporter', description: 'No target matches {<selector>}. All other alerts of etw_exporter are silent, whatever happens.',
				runbook: 'Status, then Targets and Service Discovery, in Prometheus: is the job there, is the file of targets there and not empty? A job of another name needs another `selector` in the alerts.',
			},
			{
				alert: 'EtwExporterRestarts', severity: 'warning', expr: 'changes(process_start_time_seconds{<selector>}[30m]) > <restartsIn30m>', panel: ['etw-health', 'Uptime'],
				when: 'the exporter starts more than <restartsIn30m> times in 30 minutes',
				summary: `${host} was started {{ $value }} times in 30 minutes`, description: 'Between two starts nothing is counted.',
				runbook: 'Application event log, source etw_exporter: each start and each reason to end is a line there. Run `etw_exporter --check-config` with the service\'s configuration.',
			},
			{
				alert: 'EtwMemoryLosses', severity: 'warning', expr: 'increase(etw_exporter_memory_losses_total{<selector>}[15m]) > 0', panel: ['etw-health', 'Out of memory'],
				when: 'the exporter cannot get memory',
				summary: `${host} lacked memory {{ $value | printf "%.0f" }} times in 15 minutes`, description: 'Events, names or labels are missing in its figures, and no other counter says which.',
				runbook: 'Compare `process_resident_memory_bytes` with what the machine, the service or the container may use. Lower `limits` or `recorder.memory`, or turn off collectors; then restart the exporter, so that its names are complete again.',
			},
			{
				alert: 'EtwConfigReloadFailed', severity: 'warning', for: '5m', expr: 'max by (<labels>) (etw_exporter_config_last_reload_successful) == 0', panel: ['etw-health', 'Reloads'],
				when: 'a changed configuration is refused',
				summary: `${host} refuses its changed configuration`, description: 'The exporter continues with the earlier configuration, and a restart would fail.',
				runbook: 'The log of the exporter names file, line and mistake, and `etw_exporter --check-config --config.file=FILE` too. Mend the file and reload.',
			},
			{
				alert: 'EtwWebCertificateEnds', severity: 'warning', for: '15m', expr: 'min by (<labels>) (etw_exporter_tls_certificate_not_after_timestamp_seconds) - time() < <certificateDays> * 86400', panel: ['etw-health', 'Certificate is valid for'],
				when: 'the certificate of the web server ends within <certificateDays> days',
				summary: 'The certificate of {{ $labels.instance }} ends in {{ $value | humanizeDuration }}', description: 'When it has ended, Prometheus can no longer scrape the exporter.',
				runbook: 'Replace `cert_file` and `key_file` of the web configuration; the exporter takes them within seconds, without a restart.',
			},
			{
				alert: 'EtwWebConfigBroken', severity: 'warning', for: '15m', expr: 'max by (<labels>) (etw_exporter_web_config_last_reload_successful) == 0', panel: ['etw-health', 'Web configuration'],
				when: 'a changed web configuration is refused',
				summary: 'The web configuration of {{ $labels.instance }} cannot be used', description: 'The exporter continues with the earlier certificate, authorities and users.',
				runbook: 'The log of the exporter says what is wrong, and `etw_exporter --check-config --web.config.file=FILE` too. Replace a certificate together with its key.',
			},
			{
				alert: 'EtwRecordingFailed', severity: 'warning', expr: 'sum by (<labels>) (increase(etw_exporter_recorder_recordings_total{result="failed"}[1h])) > 0', panel: ['etw-health', 'Recordings of the last hour'],
				when: 'the flight recorder cannot write a recording, most often because its disk is full',
				summary: 'The flight recorder on {{ $labels.instance }} cannot write its recordings', description: 'Recordings that failed in the last hour: {{ $value | printf "%.0f" }}. What happened before an alert is not kept.',
				runbook: 'The exporter\'s log says why: most often the disk of `recorder.dir` has less free than twice `recorder.memory`, or the account may not write there.',
			},
			{
				alert: 'EtwRecordingDiskLow', severity: 'warning', for: '15m', expr: 'etw_exporter_recorder_disk_free_bytes < 2 * etw_exporter_recorder_disk_needed_bytes', panel: ['etw-health', 'Free space for recordings'],
				when: 'the disk of the flight recorder has less free than twice what a recording needs',
				summary: 'The disk for recordings on {{ $labels.instance }} has {{ $value | humanize1024 }}B left', description: 'When it has less free than twice `recorder.memory`, the flight recorder writes nothing.',
				runbook: 'Free space on the disk of `recorder.dir`, lower `recorder.keep`, or choose another folder.',
			},
		],
	},
	{
		name: 'etw_sessions',
		alerts: [
			{
				alert: 'EtwSessionDown', severity: 'critical', for: '2m', expr: `etw_session_up == 0 ${noReplay}`, panel: ['etw-health', 'Sessions up over time'],
				when: 'a session is not read',
				summary: `${session} is not consumed`, description: 'Events of this session are neither counted nor known to be lost.',
				runbook: 'The exporter\'s log says what Windows answered. Another program may own the NT Kernel Logger (`logman query -ets` lists sessions), all system loggers may be taken (`kernel_events: off` in the configuration does without one), or the account has lost its rights.',
			},
			{
				alert: 'EtwSessionFlapping', severity: 'warning', keep: '15m', expr: 'sum by (<labels>, session) (increase(etw_session_restarts_total[15m])) > 3', panel: ['etw-health', 'Restarts by reason'],
				when: 'a session is started again more than 3 times in 15 minutes',
				summary: `${session} was started again {{ $value | printf "%.0f" }} times in 15 minutes`, description: 'Another program or an administrator stops or changes it; events between stop and start are lost without a count.',
				runbook: '`etw_session_restarts_total` by reason: stopped and stolen are other programs (look for profilers and endpoint protection that start the same session), flags_changed: the exporter restored what another program had changed; error: see its log.',
			},
			{
				alert: 'EtwEventsLost', severity: 'warning', for: '5m', keep: '15m', expr: 'instance_session:etw_session_lost:increase5m > 0', panel: ['etw-health', 'Events and buffers lost'],
				when: 'a session loses events or buffers',
				summary: `${session} loses events`, description: 'Windows reports {{ $value | humanize }} events and buffers lost in 5 minutes. All figures of this host are lower bounds meanwhile.',
				runbook: 'Is the consumer busy (`etw_consumer_busy_seconds_total` near 1 a second)? Turn off collectors that you do not look at, or drop events with `filters`. If it is idle, bursts do not fit the buffers: raise `buffers` of the session.',
				recording,
			},
			{
				alert: 'EtwCanarySilent', severity: 'critical', for: '5m', panel: ['etw-health', 'Canary events sent and received'],
				expr: 'sum by (<labels>, session) (increase(etw_session_canary_sent_total[5m])) > 0\n  unless sum by (<labels>, session) (increase(etw_session_canary_received_total[5m])) > 0',
				when: 'none of the test events comes back from a session',
				summary: `${session} delivers nothing`, description: 'The exporter\'s own events went in and none came back, although Windows says that the session runs.',
				runbook: 'Restart the service. If it comes back, note the Windows build and what other tracing programs run, and report it.',
			},
			{
				alert: 'EtwCanaryLoss', severity: 'warning', for: '15m', keep: '15m', panel: ['etw-health', 'Canary events sent and received'],
				expr: '1 - sum by (<labels>, session) (increase(etw_session_canary_received_total[15m]))\n  / (sum by (<labels>, session) (increase(etw_session_canary_sent_total[15m])) > 0) > <canaryLossRatio>',
				when: 'a share above <canaryLossRatio> of the test events of a session is lost',
				summary: `${session} loses {{ $value | humanizePercentage }} of the test events`, description: 'Compare with EtwEventsLost; if that is silent, Windows loses events without reporting it.',
				runbook: 'As for EtwEventsLost.',
			},
		],
	},
	{
		name: 'etw_consumer',
		alerts: [
			{
				alert: 'EtwConsumerSaturated', severity: 'warning', for: '10m', keep: '15m', expr: 'instance_session:etw_consumer_busy:ratio5m > <busyRatio>', panel: ['etw-health', 'CPU use of consumer threads'],
				when: 'the consumer of a session uses more than <busyRatio> of one processor',
				summary: 'The consumer of {{ $labels.session }} on {{ $labels.instance }} is {{ $value | humanizePercentage }} busy', description: 'One thread consumes a session. Near 100 % the buffers fill and events are lost.',
				runbook: '`topk(10, rate(etw_provider_events_total[5m]))` shows the most frequent events (scrape/fleet.yml drops this metric; the page of the host has it). Turn off that collector, drop the event with `filters`, or move a noisy provider to a session of its own.',
			},
			{
				alert: 'EtwConsumerLags', severity: 'warning', for: '10m', keep: '10m', expr: `max by (<labels>, session) (etw_consumer_lag_seconds) > <lagSeconds> ${noReplay}`, panel: ['etw-health', 'Lag'],
				when: 'events reach the consumer more than <lagSeconds> seconds late',
				summary: `${session} is {{ $value | humanizeDuration }} behind`, description: 'Events are counted that much later than they happened. When the buffers are full, events are lost.',
				runbook: 'As for EtwConsumerSaturated. If the consumer is idle, something holds the process up: a debugger, lack of memory, a virtual machine that was suspended.',
			},
			{
				alert: 'EtwUnattributed', severity: 'info', for: '30m', keep: '15m', expr: 'instance:etw_events_unattributed:ratio5m > <unattributedRatio>', panel: ['etw-health', 'Unattributed events'],
				when: 'a share above <unattributedRatio> of the events belongs to no known process',
				summary: '{{ $value | humanizePercentage }} of the events on {{ $labels.instance }} belong to a process without a known name', description: 'Sums are right, but that share is missing in figures by process.',
				runbook: 'Normal in the first minutes. Later: lost process events (EtwEventsLost), or tables that are too small (`etw_state_evictions_total`, then raise `limits`).',
			},
			{
				alert: 'EtwDecodeErrors', severity: 'warning', for: '15m', keep: '15m', expr: 'instance:etw_decode_errors:ratio5m > <decodeErrorRatio>', panel: ['etw-health', 'Decoding errors'],
				when: 'a share above <decodeErrorRatio> of the records cannot be decoded',
				summary: '{{ $value | humanizePercentage }} of the events on {{ $labels.instance }} cannot be decoded', description: 'They count in the totals of events and are missing in every other family.',
				runbook: '`topk(5, rate(etw_decode_errors_total[5m]))` names provider and reason. A new Windows build may have changed a layout: record a minute (`wpr`), run `etwtool summary` on it and report it.',
			},
			{
				alert: 'EtwSeriesOverflow', severity: 'info', for: '15m', panel: ['etw-health', 'Events over the series limit'],
				// The series begins with its first overflow, whose value increase() would not count.
				expr: 'sum by (<labels>, metric) (\n  (etw_exporter_series_overflow_total unless etw_exporter_series_overflow_total offset 30m)\n  or increase(etw_exporter_series_overflow_total[30m])\n) > 0',
				when: 'a family has reached its limit of series',
				summary: '{{ $labels.metric }} on {{ $labels.instance }} is at its limit of series', description: 'New label sets are counted under _other. Sums stay right.',
				runbook: '`topk(20, count by (process) ({__name__="..."}))` shows what fills the family. Raise `limits.series_per_family`, or keep short-lived names out with `filters`.',
			},
		],
	},
	{
		name: 'etw_host',
		alerts: [
			{
				alert: 'EtwDpcLong', severity: 'warning', keep: '15m', panel: ['etw-scheduler', 'DPCs by duration'],
				expr: 'sum by (<labels>, driver) (\n  histogram_count(increase(etw_dpc_duration_seconds[5m])) * (1 - histogram_fraction(0, 0.001024, increase(etw_dpc_duration_seconds[5m])))\n  or increase(etw_dpc_duration_seconds_count[5m]) - ignoring (le) increase(etw_dpc_duration_seconds_bucket{le="0.001024"}[5m])\n) > <longDpcsIn5m>',
				when: 'a driver runs more than <longDpcsIn5m> DPCs of over 1 ms in 5 minutes (collector `interrupt`)',
				summary: '{{ $labels.driver }} on {{ $labels.instance }} ran {{ $value | printf "%.0f" }} DPCs of over 1 ms in 5 minutes', description: 'While a DPC runs, no thread runs on that processor. Sound, network and response times suffer.',
				runbook: 'Update or replace the driver; look at its device\'s interrupt moderation.',
			},
			{
				alert: 'EtwDiskSlow', severity: 'warning', for: '10m', keep: '15m', expr: 'instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m{operation=~"read|write"} > <diskSlowSeconds>', panel: ['etw-disk', 'p99 response time by disk', 'disk'],
				when: 'the 99th percentile of reads or writes of a disk is above <diskSlowSeconds> s',
				summary: 'Disk {{ $labels.disk }} on {{ $labels.instance }}: 1 % of {{ $labels.operation }}s take over {{ $value | humanizeDuration }}', description: 'The time counts from issue to completion and includes queueing.',
				runbook: '`topk(5, rate(etw_disk_process_io_seconds_total[5m]))` shows who waits and who fills the queue; then the dashboard Disk.',
			},
			{
				alert: 'EtwCrashLoop', severity: 'warning', for: '10m', keep: '15m', panel: ['etw-process', 'Starts and exits', 'process'],
				expr: 'sum by (<labels>, process) (\n  instance_process_result:etw_process_exits:increase5m{result="crash"}\n) > <crashesIn5m>',
				when: 'a process crashes more than <crashesIn5m> times in 5 minutes',
				summary: '{{ $labels.process }} on {{ $labels.instance }} keeps crashing', description: 'It crashed {{ $value | printf "%.0f" }} times in 5 minutes, and this has gone on for 10 minutes.',
				runbook: 'Application event log, source Application Error, names the faulting module.',
			},
			{
				alert: 'EtwWritesMuch', severity: 'info', panel: ['etw-process', 'Read and written by volume', 'process'],
				expr: 'sum by (<labels>, process) (\n  sum_over_time(instance_process:etw_file_written_bytes:increase5m[59m:5m])\n) > <writtenGiBPerHour> * 2^30',
				when: 'a process writes more than <writtenGiBPerHour> GiB to files within an hour',
				summary: '{{ $labels.process }} on {{ $labels.instance }} wrote {{ $value | humanize1024 }}B to files within an hour', description: 'Bytes that the program wrote, cached or not; the limit is <writtenGiBPerHour> GiB.',
				runbook: 'The dashboard Process I/O shows when and to which volume. Which files: turn on `file_groups` or `file_top`, or record a minute and run `etwtool stats`.',
			},
			{
				alert: 'EtwWearsOutDisk', severity: 'info', panel: ['etw-disk', 'Caused in the time range, and the wear of an SSD', 'disk'],
				expr: 'sum by (<labels>, process, disk) (\n  increase(etw_disk_caused_written_bytes_total[1h])\n) > <diskWrittenGiBPerHour> * 2^30',
				when: 'a process makes a disk write more than <diskWrittenGiBPerHour> GiB within an hour (collector `disk_cause`)',
				summary: '{{ $labels.process }} on {{ $labels.instance }} made disk {{ $labels.disk }} write {{ $value | humanize1024 }}B within an hour', description: 'Bytes that reached the disk, directly or through the file cache; the limit is <diskWrittenGiBPerHour> GiB.',
				runbook: 'The dashboard Disk, row "Who makes the disk busy", shows since when, how, and what a year of it means for an SSD. Which files: turn on `file_groups` or `file_top`.',
			},
		],
	},
];
