#!/usr/bin/env bash
# Dashboards and Prometheus rules without Grafana: types and lint, promtool on every query, then all of them against a real Prometheus
# that scrapes a replay, through a restart of the exporter.
. "${BASH_SOURCE%/*}/lib.bash"

dashboards=$SOURCE_DIR/dashboards
check=$dashboards/check
for tool in node promtool prometheus prometheus-node-exporter python3 curl; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
[ -d "$check/node_modules" ] || skip "npm's packages are not installed: bash .ci/deps-dashboards.sh"

# ---- files ----

quiet() { # command...: ends with 0 and prints nothing but what promtool says when all is well
	"$@" >"$work/out" 2>&1 || fail "$*: $(head -40 "$work/out")"
}
# eventually COMMAND...: likewise, tried again. A machine that stands still misses scrapes, and for the minute after that there is no data.
looks() { "$@" >"$work/out" 2>&1; }
eventually() { until_true 60 looks "$@" || fail "$*: $(head -40 "$work/out")"; }
quiet node "$dashboards/source/build.mjs" --check
quiet node "$check/external.mjs"
quiet node "$check/schema.mjs" "$work"
quiet node "$check/lint.mjs" "$SOURCE_DIR/config/METRICS.md" "$dashboards/prometheus/rules.yml" "$work/panels.yml"
cat "$work/out"
quiet promtool check rules "$work/panels.yml"
quiet promtool check rules --lint=all --lint-fatal "$dashboards"/prometheus/{rules,alerts}.yml
quiet promtool test rules "$dashboards"/prometheus/*_test.yml
for alert in $(sed -n 's/.*- alert: //p' "$dashboards/prometheus/alerts.yml"); do
	says "alertname: $alert$" <"$dashboards/prometheus/alerts_test.yml" || fail "no test makes $alert fire"
done
for config in "$dashboards"/prometheus/scrape/*.yml; do
	quiet promtool check config --lint=all "$config"
done
echo "ok: files"

# ---- against a real Prometheus ----

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
# The host and the process page show processor time, whose collector is off by default, in open rows: on here.
start_exporter --replay.file="$work/sample.etl" --collector.cpu # as fast as possible: it stands still soon
still_url=$url
finished() { curl -fsS "$still_url/metrics" | says '^etw_replay_finished 1$'; }
until_true 60 finished || fail "the replay does not finish"
# Every collector that has histograms.
collectors=(--collector.{cpu,dns,dotnet,file_latency,http,interrupt,minifilter,registry,sched,tcp})
start_exporter --replay.file="$work/sample.etl" "${collectors[@]}" --replay.loop --replay.speed=1
cat >"$work/prometheus.yml" <<-YAML
	global: { scrape_interval: 1s, scrape_timeout: 900ms, evaluation_interval: 1s }
	rule_files: [ "$work/rules.yml", "$work/alerts.yml" ]
	scrape_configs:
	  - job_name: etw
	    static_configs: [ { targets: [ "${url#http://}" ] } ]
	  - job_name: still
	    static_configs: [ { targets: [ "${still_url#http://}" ] } ]
	  # What any Prometheus scrapes besides. No panel may show it.
	  - job_name: prometheus
	    file_sd_configs: [ { files: [ "$work/prometheus.json" ] } ]
	  - job_name: node
	    file_sd_configs: [ { files: [ "$work/node.json" ] } ]
	  # A page of windows_exporter, of the host of the first job.
	  - job_name: windows
	    file_sd_configs: [ { files: [ "$work/windows.json" ] } ]
YAML
mkdir "$work/windows"
cat >"$work/windows/metrics" <<-'PAGE'
	windows_memory_available_bytes 4e9
	windows_logical_disk_free_bytes{volume="C:"} 2e10
	windows_logical_disk_size_bytes{volume="C:"} 1e11
	windows_service_state{name="spooler",state="running"} 0
	windows_service_state{name="w3svc",state="running"} 1
	windows_service_start_mode{name="spooler",start_mode="auto"} 1
	windows_service_start_mode{name="w3svc",start_mode="auto"} 1
	windows_system_boot_time_timestamp 1.7e9
PAGE
python3 -u -m http.server 0 --bind 127.0.0.1 --directory "$work/windows" </dev/null >"$work/windows.log" 2>&1 &
windows_listens() { windows_port=$(sed -n 's/.* port \([0-9]*\) .*/\1/p' "$work/windows.log" | head -1); [ -n "$windows_port" ]; }
until_true 30 windows_listens || fail "the page of windows_exporter is not served: $(cat "$work/windows.log")"
echo "[ { \"targets\": [ \"127.0.0.1:$windows_port\" ], \"labels\": { \"instance\": \"${url#http://}\" } } ]" >"$work/windows.json"
sed 's/interval: 1m/interval: 1s/' "$dashboards/prometheus/rules.yml" >"$work/rules.yml"
# One alert more, which fires at once: the list of alerts shows it.
sed 's/^groups:/&\n  - name: test\n    rules: [ { alert: EtwTest, expr: "etw_session_up == 1", labels: { severity: info } } ]/' \
	"$dashboards/prometheus/alerts.yml" >"$work/alerts.yml"
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:0 \
	</dev/null >"$work/prometheus.log" 2>&1 &
until_true 30 prometheus_listens || fail "Prometheus does not listen: $(tail -5 "$work/prometheus.log")"
classic=$prometheus
echo "[ { \"targets\": [ \"${classic#http://}\" ] } ]" >"$work/prometheus.json"
prometheus-node-exporter --web.listen-address=127.0.0.1:0 </dev/null >"$work/node.log" 2>&1 &
node_listens() { node_address=$(sed -n 's/.*Listening on.* address=\(127[0-9.:]*\).*/\1/p' "$work/node.log"); [ -n "$node_address" ]; }
until_true 30 node_listens || fail "node_exporter does not listen: $(tail -5 "$work/node.log")"
echo "[ { \"targets\": [ \"$node_address\" ] } ]" >"$work/node.json"
# A second server, which stores native histograms instead of classic ones.
prometheus --enable-feature=native-histograms --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb-native" \
	--web.listen-address=127.0.0.1:0 </dev/null >"$work/native.log" 2>&1 &
native_listens() { native=http://$(sed -n 's/.*Listening on" address=\(127[0-9.:]*\).*/\1/p' "$work/native.log"); [ "$native" != http:// ]; }
until_true 30 native_listens || fail "Prometheus does not listen: $(tail -5 "$work/native.log")"
holds() { # query: has a result
	curl -fsS --get --data-urlencode "query=$1" "$prometheus/api/v1/query" | says '"value":\['
}
# The sample lasts a minute: once around, and into the next. A busy machine misses scrapes, which do not count.
until_true 30 holds 'up{job="etw"} == 1' || fail "Prometheus cannot scrape: $(tail -3 "$work/prometheus.log")"
until_true 150 holds 'sum_over_time(up{job="etw"}[15m]) >= 75' || fail "too few scrapes"
eventually node "$check/live.mjs" panels "$prometheus" 1 1000 "${url#http://}"
eventually node "$check/live.mjs" native "$native" "$classic" 1 1000 "${url#http://}"
for url_of in "$classic" "$native"; do
	eventually node "$check/live.mjs" rules "$url_of"
done
eventually node "$check/live.mjs" annotations "$prometheus" 60 "${url#http://}"
echo "ok: every query of every panel, annotation and rule answers, every default panel has data and none of other jobs; also with native histograms"
curl -fsS "$still_url/metrics" >"$work/page"
quiet node "$check/live.mjs" sums "$prometheus" still "$work/page"
echo "ok: sums from PromQL equal the page's"
quiet node "$check/live.mjs" counters "$prometheus" etw 3m 0
echo "ok: no counter went back, through the end of the recording and its start"

# The same address again: Prometheus sees one target restart.
long_after_the_first=$(($(date +%s) - 30)) # it has run for more than a minute
kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM"
"$ETW_EXPORTER" --web.listen-address="${url#http://}" --replay.file="$work/sample.etl" "${collectors[@]}" --replay.loop --replay.speed=1 \
	</dev/null >"$work/stdout" 2>"$work/log" &
until_true 60 holds "count_over_time((process_start_time_seconds{job=\"etw\"} >= $long_after_the_first)[10m:1s]) >= 7" ||
	fail "Prometheus did not see the restart: $(tail -3 "$work/log")"
quiet node "$check/live.mjs" counters "$prometheus" etw 10m 1
holds 'min(instance_process:etw_file_written_bytes:increase5m) >= 0' || fail "a restart made a negative increase"
echo "ok: a restart is one reset, and no rate is negative"
