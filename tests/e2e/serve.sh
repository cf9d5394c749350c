#!/usr/bin/env bash
# The program as it runs for an operator: ready, scraped by a real Prometheus, moving, stopped by a signal.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=5
until_true 30 curl -fsS "$url/-/ready" || fail "never ready"
curl -fsS "$url/-/healthy" >/dev/null || fail "not healthy"
curl -fsS "$url/" | grep -q '/metrics' || fail "the landing page does not name /metrics"

# etw_file_written_bytes_total of all processes
written() {
	curl -fsS "$url/metrics" |
		awk '{ split($1, part, "{") } part[1] == "etw_file_written_bytes_total" { s += $NF } END { printf "%d\n", s }'
}
first=$(written)
moved() { [ "$(written)" -gt "$first" ]; }
until_true 30 moved || fail "etw_file_written_bytes_total stands still at $first"
curl -fsS "$url/metrics" >"$work/page"
grep -q '^etw_session_up{session="sample.etl"} 1$' "$work/page" || fail "the session is not up"

if command -v prometheus >/dev/null; then
	start_prometheus
	has() { query "$1" | grep -q '"value":\['; }
	until_true 30 has 'up{job="etw"} == 1' || fail "Prometheus cannot scrape: $(tail -3 "$work/prometheus.log")"
	until_true 60 has 'sum by (process) (rate(etw_file_written_bytes_total[10s])) > 0' || fail "no rate by process"
	until_true 60 has 'sum(rate(etw_events_total[10s])) > 0' || fail "no rate of events"
	echo "ok: Prometheus sees rates by process"
else
	echo "Prometheus is not installed: its part is left out"
fi

kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM: $(tail -3 "$work/log")"
grep -q 'Stopping' "$work/log" || fail "no word at the end"

# A port that is taken: one line, exit 1.
start_exporter --replay.file="$work/sample.etl"
expect_exit 1 "${url##*:}" "$ETW_EXPORTER" --replay.file="$work/sample.etl" --web.listen-address="127.0.0.1:${url##*:}"
finished() { curl -fsS "$url/metrics" | grep -q '^etw_replay_finished 1$'; }
until_true 60 finished || fail "the replay does not finish"
kill -INT "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGINT"
