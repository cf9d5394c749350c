// Made by dashboards/source/build.mjs for ../mixin.libsonnet: the shipped values of its _config, and rules and alerts for values c.
{
config:: {
  "selector": "job=\"etw\"",
  "labels": "cluster, job, instance",
  "runbookBase": "https://example.org/etw_exporter/docs/runbooks.md",
  "grafanaUrl": "http://localhost:3000",
  "restartsIn30m": 3,
  "lagSeconds": 15,
  "busyRatio": 0.8,
  "unattributedRatio": 0.05,
  "decodeErrorRatio": 0.01,
  "canaryLossRatio": 0.05,
  "certificateDays": 7,
  "longDpcsIn5m": 10,
  "diskSlowSeconds": 0.5,
  "crashesIn5m": 2,
  "writtenGiBPerHour": 50,
  "diskWrittenGiBPerHour": 50
},
rules(c):: {
"groups": [
{
"name": "etw_file",
"interval": "1m",
"rules": [
{
"record": "instance_process:etw_file_written_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_file_written_bytes_total{volume!~\"pipe|mailslot\"} unless etw_file_written_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_file_written_bytes_total{volume!~\"pipe|mailslot\"}[5m])\n)",
},
{
"record": "instance_process:etw_file_read_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_file_read_bytes_total{volume!~\"pipe|mailslot\"} unless etw_file_read_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_file_read_bytes_total{volume!~\"pipe|mailslot\"}[5m])\n)",
},
{
"record": "instance_process:etw_file_paging_written_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_file_paging_written_bytes_total unless etw_file_paging_written_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_file_paging_written_bytes_total[5m])\n)",
},
{
"record": "instance_process:etw_file_paging_read_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_file_paging_read_bytes_total unless etw_file_paging_read_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_file_paging_read_bytes_total[5m])\n)",
},
{
"record": "instance_process_operation:etw_file_operations:increase5m",
"expr": "sum by (" + c.labels + ", process, operation) (\n  ((etw_file_operations_total unless etw_file_operations_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_file_operations_total[5m])\n)",
},
],
},
{
"name": "etw_disk",
"interval": "1m",
"rules": [
{
"record": "instance_process_disk:etw_disk_process_written_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process, disk) (\n  ((etw_disk_process_written_bytes_total unless etw_disk_process_written_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_disk_process_written_bytes_total[5m])\n)",
},
{
"record": "instance_process_disk:etw_disk_process_read_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process, disk) (\n  ((etw_disk_process_read_bytes_total unless etw_disk_process_read_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_disk_process_read_bytes_total[5m])\n)",
},
{
"record": "instance_process:etw_disk_process_io_seconds:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_disk_process_io_seconds_total unless etw_disk_process_io_seconds_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_disk_process_io_seconds_total[5m])\n)",
},
],
},
{
"name": "etw_network",
"interval": "1m",
"rules": [
{
"record": "instance_process:etw_network_sent_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_network_sent_bytes_total unless etw_network_sent_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_network_sent_bytes_total[5m])\n)",
},
{
"record": "instance_process:etw_network_received_bytes:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_network_received_bytes_total unless etw_network_received_bytes_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_network_received_bytes_total[5m])\n)",
},
{
"record": "instance_process_direction:etw_tcp_connections:increase5m",
"expr": "sum by (" + c.labels + ", process, direction) (\n  ((etw_tcp_connections_total unless etw_tcp_connections_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_tcp_connections_total[5m])\n)",
},
{
"record": "instance_process:etw_tcp_retransmits:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_tcp_retransmits_total unless etw_tcp_retransmits_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_tcp_retransmits_total[5m])\n)",
},
],
},
{
"name": "etw_process",
"interval": "1m",
"rules": [
{
"record": "instance_process:etw_process_starts:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_process_starts_total unless etw_process_starts_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_process_starts_total[5m])\n)",
},
{
"record": "instance_process_result:etw_process_exits:increase5m",
"expr": "sum by (" + c.labels + ", process, result) (\n  ((etw_process_exits_total unless etw_process_exits_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_process_exits_total[5m])\n)",
},
{
"record": "instance_process:etw_memory_hard_faults:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_memory_hard_faults_total unless etw_memory_hard_faults_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_memory_hard_faults_total[5m])\n)",
},
{
"record": "instance_process:etw_events:increase5m",
"expr": "sum by (" + c.labels + ", process) (\n  ((etw_events_total unless etw_events_total offset 5m)\n    and on (" + c.labels + ") (up offset 5m == 1))\n  or increase(etw_events_total[5m])\n)",
},
],
},
{
"name": "etw_health",
"interval": "1m",
"rules": [
{
"record": "instance:etw_file_written_bytes:increase5m",
"expr": "sum by (" + c.labels + ") (instance_process:etw_file_written_bytes:increase5m)",
},
{
"record": "instance:etw_events:rate5m",
"expr": "sum by (" + c.labels + ") (rate(etw_events_total[5m]))",
},
{
"record": "instance_session:etw_session_lost:increase5m",
"expr": "sum by (" + c.labels + ", session) (increase(etw_session_events_lost_total[5m]))\n  + sum by (" + c.labels + ", session) (increase(etw_session_realtime_buffers_lost_total[5m]))\n  + sum by (" + c.labels + ", session) (increase(etw_session_log_buffers_lost_total[5m]))",
},
{
"record": "instance_session:etw_consumer_busy:ratio5m",
"expr": "sum by (" + c.labels + ", session) (rate(etw_consumer_busy_seconds_total[5m]))",
},
{
"record": "instance:etw_events_unattributed:ratio5m",
"expr": "(sum by (" + c.labels + ") (rate(etw_events_total{process=\"_unknown\"}[5m]))\n  or 0 * sum by (" + c.labels + ") (rate(etw_events_total[5m])))\n  / (sum by (" + c.labels + ") (rate(etw_events_total[5m])) > 0)",
},
{
"record": "instance:etw_decode_errors:ratio5m",
"expr": "sum by (" + c.labels + ") (rate(etw_consumer_records_total{outcome=\"undecodable\"}[5m]))\n  / (sum by (" + c.labels + ") (rate(etw_consumer_records_total[5m])) > 0)",
},
{
"record": "instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m",
"expr": "histogram_quantile(0.99, sum by (" + c.labels + ", disk, operation) (\n  rate(etw_disk_operation_duration_seconds[5m])\n))\nor\nhistogram_quantile(0.99, sum by (" + c.labels + ", disk, operation, le) (\n  rate(etw_disk_operation_duration_seconds_bucket[5m])\n))",
},
],
},
],
},
alerts(c):: {
"groups": [
{
"name": "etw_exporter",
"rules": [
{
"alert": "EtwTargetDown",
"expr": "up{" + c.selector + "} == 0",
"for": "5m",
"labels": {
"severity": "critical",
},
"annotations": {
"summary": "etw_exporter on {{ $labels.instance }} does not answer",
"description": "Prometheus has not scraped it for 5 minutes. There are no figures of that host since then.",
"runbook": "On the host: `sc query etw_exporter`, then the Application event log, source etw_exporter, which says why it ended. Try http://localhost:9189/-/healthy there; if that answers, look at the firewall rule and the listen address.",
"runbook_url": c.runbookBase + "#etwtargetdown",
"dashboard": c.grafanaUrl + "/d/etw-fleet?viewPanel=144974",
},
},
{
"alert": "EtwNoTarget",
"expr": "absent(up{" + c.selector + "})",
"for": "10m",
"labels": {
"severity": "critical",
},
"annotations": {
"summary": "Prometheus scrapes no etw_exporter",
"description": "No target matches {" + c.selector + "}. All other alerts of etw_exporter are silent, whatever happens.",
"runbook": "Status, then Targets and Service Discovery, in Prometheus: is the job there, is the file of targets there and not empty? A job of another name needs another `selector` in the alerts.",
"runbook_url": c.runbookBase + "#etwnotarget",
"dashboard": c.grafanaUrl + "/d/etw-fleet?viewPanel=760264",
},
},
{
"alert": "EtwExporterRestarts",
"expr": "changes(process_start_time_seconds{" + c.selector + "}[30m]) > " + c.restartsIn30m,
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "etw_exporter on {{ $labels.instance }} was started {{ $value }} times in 30 minutes",
"description": "Between two starts nothing is counted.",
"runbook": "Application event log, source etw_exporter: each start and each reason to end is a line there. Run `etw_exporter --check-config` with the service's configuration.",
"runbook_url": c.runbookBase + "#etwexporterrestarts",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=919418&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwMemoryLosses",
"expr": "increase(etw_exporter_memory_losses_total{" + c.selector + "}[15m]) > 0",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "etw_exporter on {{ $labels.instance }} lacked memory {{ $value | printf \"%.0f\" }} times in 15 minutes",
"description": "Events, names or labels are missing in its figures, and no other counter says which.",
"runbook": "Compare `process_resident_memory_bytes` with what the machine, the service or the container may use. Lower `limits` or `recorder.memory`, or turn off collectors; then restart the exporter, so that its names are complete again.",
"runbook_url": c.runbookBase + "#etwmemorylosses",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=700779&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwConfigReloadFailed",
"expr": "max by (" + c.labels + ") (etw_exporter_config_last_reload_successful) == 0",
"for": "5m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "etw_exporter on {{ $labels.instance }} refuses its changed configuration",
"description": "The exporter continues with the earlier configuration, and a restart would fail.",
"runbook": "The log of the exporter names file, line and mistake, and `etw_exporter --check-config --config.file=FILE` too. Mend the file and reload.",
"runbook_url": c.runbookBase + "#etwconfigreloadfailed",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=551810&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwWebCertificateEnds",
"expr": "min by (" + c.labels + ") (etw_exporter_tls_certificate_not_after_timestamp_seconds) - time() < " + c.certificateDays + " * 86400",
"for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "The certificate of {{ $labels.instance }} ends in {{ $value | humanizeDuration }}",
"description": "When it has ended, Prometheus can no longer scrape the exporter.",
"runbook": "Replace `cert_file` and `key_file` of the web configuration; the exporter takes them within seconds, without a restart.",
"runbook_url": c.runbookBase + "#etwwebcertificateends",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=945257&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwWebConfigBroken",
"expr": "max by (" + c.labels + ") (etw_exporter_web_config_last_reload_successful) == 0",
"for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "The web configuration of {{ $labels.instance }} cannot be used",
"description": "The exporter continues with the earlier certificate, authorities and users.",
"runbook": "The log of the exporter says what is wrong, and `etw_exporter --check-config --web.config.file=FILE` too. Replace a certificate together with its key.",
"runbook_url": c.runbookBase + "#etwwebconfigbroken",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=475287&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwRecordingFailed",
"expr": "sum by (" + c.labels + ") (increase(etw_exporter_recorder_recordings_total{result=\"failed\"}[1h])) > 0",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "The flight recorder on {{ $labels.instance }} cannot write its recordings",
"description": "Recordings that failed in the last hour: {{ $value | printf \"%.0f\" }}. What happened before an alert is not kept.",
"runbook": "The exporter's log says why: most often the disk of `recorder.dir` has less free than twice `recorder.memory`, or the account may not write there.",
"runbook_url": c.runbookBase + "#etwrecordingfailed",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=415419&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwRecordingDiskLow",
"expr": "etw_exporter_recorder_disk_free_bytes < 2 * etw_exporter_recorder_disk_needed_bytes",
"for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "The disk for recordings on {{ $labels.instance }} has {{ $value | humanize1024 }}B left",
"description": "When it has less free than twice `recorder.memory`, the flight recorder writes nothing.",
"runbook": "Free space on the disk of `recorder.dir`, lower `recorder.keep`, or choose another folder.",
"runbook_url": c.runbookBase + "#etwrecordingdisklow",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=352922&var-instance={{ $labels.instance | urlquery }}",
},
},
],
},
{
"name": "etw_sessions",
"rules": [
{
"alert": "EtwSessionDown",
"expr": "etw_session_up == 0 unless on (" + c.labels + ", session) etw_session_info{kind=\"replay\"}",
"for": "2m",
"labels": {
"severity": "critical",
},
"annotations": {
"summary": "Session {{ $labels.session }} on {{ $labels.instance }} is not consumed",
"description": "Events of this session are neither counted nor known to be lost.",
"runbook": "The exporter's log says what Windows answered. Another program may own the NT Kernel Logger (`logman query -ets` lists sessions), all system loggers may be taken (`kernel_events: off` in the configuration does without one), or the account has lost its rights.",
"runbook_url": c.runbookBase + "#etwsessiondown",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=866035&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwSessionFlapping",
"expr": "sum by (" + c.labels + ", session) (increase(etw_session_restarts_total[15m])) > 3",
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "Session {{ $labels.session }} on {{ $labels.instance }} was started again {{ $value | printf \"%.0f\" }} times in 15 minutes",
"description": "Another program or an administrator stops or changes it; events between stop and start are lost without a count.",
"runbook": "`etw_session_restarts_total` by reason: stopped and stolen are other programs (look for profilers and endpoint protection that start the same session), flags_changed: the exporter restored what another program had changed; error: see its log.",
"runbook_url": c.runbookBase + "#etwsessionflapping",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=864632&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwEventsLost",
"expr": "instance_session:etw_session_lost:increase5m > 0",
"for": "5m",
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "Session {{ $labels.session }} on {{ $labels.instance }} loses events",
"description": "Windows reports {{ $value | humanize }} events and buffers lost in 5 minutes. All figures of this host are lower bounds meanwhile.",
"runbook": "Is the consumer busy (`etw_consumer_busy_seconds_total` near 1 a second)? Turn off collectors that you do not look at, or drop events with `filters`. If it is idle, bursts do not fit the buffers: raise `buffers` of the session.",
"runbook_url": c.runbookBase + "#etweventslost",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=151172&var-instance={{ $labels.instance | urlquery }}",
"recording": "{{ with printf \"etw_exporter_recorder_last_recording_info{instance='%s'} and on (" + c.labels + ") time() - etw_exporter_recorder_last_recording_timestamp_seconds < 3600\" $labels.instance | query -}} etwtool report {{ . | first | label \"file\" }}, in the folder `recorder.dir` of {{ $labels.instance }} {{- else }}none{{ end }}",
},
},
{
"alert": "EtwCanarySilent",
"expr": "sum by (" + c.labels + ", session) (increase(etw_session_canary_sent_total[5m])) > 0\n  unless sum by (" + c.labels + ", session) (increase(etw_session_canary_received_total[5m])) > 0",
"for": "5m",
"labels": {
"severity": "critical",
},
"annotations": {
"summary": "Session {{ $labels.session }} on {{ $labels.instance }} delivers nothing",
"description": "The exporter's own events went in and none came back, although Windows says that the session runs.",
"runbook": "Restart the service. If it comes back, note the Windows build and what other tracing programs run, and report it.",
"runbook_url": c.runbookBase + "#etwcanarysilent",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=532552&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwCanaryLoss",
"expr": "1 - sum by (" + c.labels + ", session) (increase(etw_session_canary_received_total[15m]))\n  / (sum by (" + c.labels + ", session) (increase(etw_session_canary_sent_total[15m])) > 0) > " + c.canaryLossRatio,
"for": "15m",
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "Session {{ $labels.session }} on {{ $labels.instance }} loses {{ $value | humanizePercentage }} of the test events",
"description": "Compare with EtwEventsLost; if that is silent, Windows loses events without reporting it.",
"runbook": "As for EtwEventsLost.",
"runbook_url": c.runbookBase + "#etwcanaryloss",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=532552&var-instance={{ $labels.instance | urlquery }}",
},
},
],
},
{
"name": "etw_consumer",
"rules": [
{
"alert": "EtwConsumerSaturated",
"expr": "instance_session:etw_consumer_busy:ratio5m > " + c.busyRatio,
"for": "10m",
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "The consumer of {{ $labels.session }} on {{ $labels.instance }} is {{ $value | humanizePercentage }} busy",
"description": "One thread consumes a session. Near 100 % the buffers fill and events are lost.",
"runbook": "`topk(10, rate(etw_provider_events_total[5m]))` shows the most frequent events (scrape/fleet.yml drops this metric; the page of the host has it). Turn off that collector, drop the event with `filters`, or move a noisy provider to a session of its own.",
"runbook_url": c.runbookBase + "#etwconsumersaturated",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=980233&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwConsumerLags",
"expr": "max by (" + c.labels + ", session) (etw_consumer_lag_seconds) > " + c.lagSeconds + " unless on (" + c.labels + ", session) etw_session_info{kind=\"replay\"}",
"for": "10m",
"keep_firing_for": "10m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "Session {{ $labels.session }} on {{ $labels.instance }} is {{ $value | humanizeDuration }} behind",
"description": "Events are counted that much later than they happened. When the buffers are full, events are lost.",
"runbook": "As for EtwConsumerSaturated. If the consumer is idle, something holds the process up: a debugger, lack of memory, a virtual machine that was suspended.",
"runbook_url": c.runbookBase + "#etwconsumerlags",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=81767&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwUnattributed",
"expr": "instance:etw_events_unattributed:ratio5m > " + c.unattributedRatio,
"for": "30m",
"keep_firing_for": "15m",
"labels": {
"severity": "info",
},
"annotations": {
"summary": "{{ $value | humanizePercentage }} of the events on {{ $labels.instance }} belong to a process without a known name",
"description": "Sums are right, but that share is missing in figures by process.",
"runbook": "Normal in the first minutes. Later: lost process events (EtwEventsLost), or tables that are too small (`etw_state_evictions_total`, then raise `limits`).",
"runbook_url": c.runbookBase + "#etwunattributed",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=108480&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwDecodeErrors",
"expr": "instance:etw_decode_errors:ratio5m > " + c.decodeErrorRatio,
"for": "15m",
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "{{ $value | humanizePercentage }} of the events on {{ $labels.instance }} cannot be decoded",
"description": "They count in the totals of events and are missing in every other family.",
"runbook": "`topk(5, rate(etw_decode_errors_total[5m]))` names provider and reason. A new Windows build may have changed a layout: record a minute (`wpr`), run `etwtool summary` on it and report it.",
"runbook_url": c.runbookBase + "#etwdecodeerrors",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=308662&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwSeriesOverflow",
"expr": "sum by (" + c.labels + ", metric) (\n  (etw_exporter_series_overflow_total unless etw_exporter_series_overflow_total offset 30m)\n  or increase(etw_exporter_series_overflow_total[30m])\n) > 0",
"for": "15m",
"labels": {
"severity": "info",
},
"annotations": {
"summary": "{{ $labels.metric }} on {{ $labels.instance }} is at its limit of series",
"description": "New label sets are counted under _other. Sums stay right.",
"runbook": "`topk(20, count by (process) ({__name__=\"...\"}))` shows what fills the family. Raise `limits.series_per_family`, or keep short-lived names out with `filters`.",
"runbook_url": c.runbookBase + "#etwseriesoverflow",
"dashboard": c.grafanaUrl + "/d/etw-health?viewPanel=537842&var-instance={{ $labels.instance | urlquery }}",
},
},
],
},
{
"name": "etw_host",
"rules": [
{
"alert": "EtwDpcLong",
"expr": "sum by (" + c.labels + ", driver) (\n  histogram_count(increase(etw_dpc_duration_seconds[5m])) * (1 - histogram_fraction(0, 0.001024, increase(etw_dpc_duration_seconds[5m])))\n  or increase(etw_dpc_duration_seconds_count[5m]) - ignoring (le) increase(etw_dpc_duration_seconds_bucket{le=\"0.001024\"}[5m])\n) > " + c.longDpcsIn5m,
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "{{ $labels.driver }} on {{ $labels.instance }} ran {{ $value | printf \"%.0f\" }} DPCs of over 1 ms in 5 minutes",
"description": "While a DPC runs, no thread runs on that processor. Sound, network and response times suffer.",
"runbook": "Update or replace the driver; look at its device's interrupt moderation.",
"runbook_url": c.runbookBase + "#etwdpclong",
"dashboard": c.grafanaUrl + "/d/etw-scheduler?viewPanel=745632&var-instance={{ $labels.instance | urlquery }}",
},
},
{
"alert": "EtwDiskSlow",
"expr": "instance_disk_operation:etw_disk_operation_duration_seconds:p99_5m{operation=~\"read|write\"} > " + c.diskSlowSeconds,
"for": "10m",
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "Disk {{ $labels.disk }} on {{ $labels.instance }}: 1 % of {{ $labels.operation }}s take over {{ $value | humanizeDuration }}",
"description": "The time counts from issue to completion and includes queueing.",
"runbook": "`topk(5, rate(etw_disk_process_io_seconds_total[5m]))` shows who waits and who fills the queue; then the dashboard Disk.",
"runbook_url": c.runbookBase + "#etwdiskslow",
"dashboard": c.grafanaUrl + "/d/etw-disk?viewPanel=966306&var-instance={{ $labels.instance | urlquery }}&var-disk={{ $labels.disk | urlquery }}",
},
},
{
"alert": "EtwCrashLoop",
"expr": "sum by (" + c.labels + ", process) (\n  instance_process_result:etw_process_exits:increase5m{result=\"crash\"}\n) > " + c.crashesIn5m,
"for": "10m",
"keep_firing_for": "15m",
"labels": {
"severity": "warning",
},
"annotations": {
"summary": "{{ $labels.process }} on {{ $labels.instance }} keeps crashing",
"description": "It crashed {{ $value | printf \"%.0f\" }} times in 5 minutes, and this has gone on for 10 minutes.",
"runbook": "Application event log, source Application Error, names the faulting module.",
"runbook_url": c.runbookBase + "#etwcrashloop",
"dashboard": c.grafanaUrl + "/d/etw-process?viewPanel=771580&var-instance={{ $labels.instance | urlquery }}&var-process={{ $labels.process | urlquery }}",
},
},
{
"alert": "EtwWritesMuch",
"expr": "sum by (" + c.labels + ", process) (\n  sum_over_time(instance_process:etw_file_written_bytes:increase5m[59m:5m])\n) > " + c.writtenGiBPerHour + " * 2^30",
"labels": {
"severity": "info",
},
"annotations": {
"summary": "{{ $labels.process }} on {{ $labels.instance }} wrote {{ $value | humanize1024 }}B to files within an hour",
"description": "Bytes that the program wrote, cached or not; the limit is " + c.writtenGiBPerHour + " GiB.",
"runbook": "The dashboard Process I/O shows when and to which volume. Which files: turn on `file_groups` or `file_top`, or record a minute and run `etwtool stats`.",
"runbook_url": c.runbookBase + "#etwwritesmuch",
"dashboard": c.grafanaUrl + "/d/etw-process?viewPanel=807900&var-instance={{ $labels.instance | urlquery }}&var-process={{ $labels.process | urlquery }}",
},
},
{
"alert": "EtwWearsOutDisk",
"expr": "sum by (" + c.labels + ", process, disk) (\n  increase(etw_disk_caused_written_bytes_total[1h])\n) > " + c.diskWrittenGiBPerHour + " * 2^30",
"labels": {
"severity": "info",
},
"annotations": {
"summary": "{{ $labels.process }} on {{ $labels.instance }} made disk {{ $labels.disk }} write {{ $value | humanize1024 }}B within an hour",
"description": "Bytes that reached the disk, directly or through the file cache; the limit is " + c.diskWrittenGiBPerHour + " GiB.",
"runbook": "The dashboard Disk, row \"Who makes the disk busy\", shows since when, how, and what a year of it means for an SSD. Which files: turn on `file_groups` or `file_top`.",
"runbook_url": c.runbookBase + "#etwwearsoutdisk",
"dashboard": c.grafanaUrl + "/d/etw-disk?viewPanel=269651&var-instance={{ $labels.instance | urlquery }}&var-disk={{ $labels.disk | urlquery }}",
},
},
],
},
],
},
}
