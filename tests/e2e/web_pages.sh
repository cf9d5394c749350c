#!/usr/bin/env bash
# The pages as an operator meets them, with curl: what a scrape chooses, the lifecycle, a reverse proxy's prefix, a real Prometheus that
# chooses a collector.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null

# get PATH [CURL-ARGUMENTS...]: the status on standard output, the body in $work/body.
get() {
	local path=$1
	shift
	curl -gsS -o "$work/body" -w '%{http_code}' "$@" "$url$path"
}
# expect STATUS PATTERN PATH [CURL-ARGUMENTS...]
expect() {
	local status=$1 pattern=$2 got
	shift 2
	got=$(get "$@")
	[ "$got" = "$status" ] || fail "$*: $got instead of $status: $(head -c 400 "$work/body")"
	grep -Eq -- "$pattern" "$work/body" || fail "$*: \"$(head -c 400 "$work/body")\" does not match $pattern"
}
names() { sed -n 's/^# TYPE \([^ ]*\).*/\1/p' "$work/body" | sort; }

start_exporter --replay.file="$work/sample.etl"
finished() { curl -fsS "$url/metrics" | says '^etw_replay_finished 1$'; }
until_true 60 finished || fail "the replay does not finish"

# ---- collect[] and exclude[] ----

# METRICS.md says which families a collector has.
documented() { sed -n "/^## \`$1\`/,/^## /s/^| \`\([a-z_0-9]*\)\`.*/\1/p" "$SOURCE_DIR/config/METRICS.md" | sort; }
expect 200 . /metrics
names >"$work/all"
: >"$work/owned"
for collector in disk events file memory network process process_memory; do
	expect 200 . "/metrics?collect[]=$collector"
	names >"$work/of_collector"
	comm -12 "$work/all" <(documented "$collector") >"$work/documented"
	cmp -s "$work/of_collector" "$work/documented" ||
		fail "collect[]=$collector: $(diff "$work/documented" "$work/of_collector")"
	[ -s "$work/of_collector" ] || fail "collect[]=$collector is empty"
	cat "$work/of_collector" >>"$work/owned"
	expect 200 . "/metrics?exclude[]=$collector"
	names >"$work/without"
	comm -23 "$work/all" "$work/documented" | cmp -s - "$work/without" || fail "exclude[]=$collector: $(diff "$work/all" "$work/without")"
done
# Each family has at least one name by which it can be chosen, and those of no collector one exactly.
for name in exporter health; do
	expect 200 . "/metrics?collect%5B%5D=$name"
	names >>"$work/owned"
done
sort -u "$work/owned" | cmp -s - "$work/all" || fail "not all families can be chosen: $(sort -u "$work/owned" | diff - "$work/all")"
[ -z "$(sort "$work/owned" | uniq -d)" ] || fail "chosen twice: $(sort "$work/owned" | uniq -d)"
expect 400 "^Unknown collector 'fiel'. Valid are: disk, events, file, memory, network, process, process_memory, exporter, health.$" '/metrics?collect[]=fiel'
expect 400 "^Collector 'cpu' is off" '/metrics?collect[]=cpu'
expect 400 'cannot be combined' '/metrics?collect[]=file&exclude[]=disk'
echo "ok: collect[] and exclude[]"

# ---- small pages ----

expect 200 "^\{\"program\": \"etw_exporter\", \"version\": \"$("$ETW_EXPORTER" --version | cut -d' ' -f2)\", " /version
expect 404 '^/version$' /nothing
expect 405 . /-/quit
expect 403 'enable-lifecycle' /-/quit -X POST
expect 403 'enable-lifecycle' /-/reload -X PUT
curl -fsS "$url/-/healthy" >/dev/null || fail "the exporter has ended"
[ "$(curl -gsS -X OPTIONS -D - "$url/metrics" | tr -d '\r' | sed -n 's/^Allow: //p')" = "GET, HEAD, OPTIONS" ] || fail "OPTIONS"
kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM"
echo "ok: small pages"

# ---- without metrics about the exporter, behind a reverse proxy, ended by a request ----

start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=1 --web.disable-exporter-metrics --web.enable-lifecycle \
	--web.external-url=https://proxy.example/etw/ --web.max-requests=3
expect 200 'href="/etw/metrics"' /etw/
expect 302 . /
expect 404 '^/etw/metrics$' /metrics
expect 200 '^# TYPE etw_session_events_lost_total counter$' /etw/metrics # what was lost is not about the exporter
names >"$work/names"
! grep -Eq '^(etw_exporter_|process_)' "$work/names" || fail "families about the exporter: $(cat "$work/names")"
expect 400 "^Collector 'exporter' is off" '/etw/metrics?collect[]=exporter'
expect 403 'another site' /etw/-/quit -X POST -H 'Origin: https://evil.example'
curl -fsS "$url/etw/-/healthy" >/dev/null || fail "a page of another site has ended the exporter"
expect 200 '^The program ends.$' /etw/-/quit -X POST -H 'Origin: https://proxy.example'
wait "$exporter_pid" || fail "exit $? after /-/quit: $(tail -3 "$work/log")"
grep -q 'msg="*Stopping.* reason="a request to /-/quit"' "$work/log" || fail "no word about the end: $(tail -3 "$work/log")"
echo "ok: prefix and lifecycle"

# ---- what cannot be ----

expect_exit 2 'etw_exporter: --web.external-url: "ftp://x" is not a URL' "$ETW_EXPORTER" --replay.file="$work/sample.etl" --web.external-url=ftp://x
expect_exit 2 'etw_exporter: --web.route-prefix: "a//b" is not' "$ETW_EXPORTER" --replay.file="$work/sample.etl" --web.route-prefix=a//b

# ---- a real Prometheus ----

command -v prometheus >/dev/null || { echo "Prometheus is not installed: its part is left out"; exit 0; }
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=5 --web.route-prefix=/etw
cat >"$work/prometheus.yml" <<-YAML
	global: { scrape_interval: 1s }
	scrape_configs:
	  - job_name: etw
	    metrics_path: /etw/metrics
	    params: { 'collect[]': [file, health] }
	    static_configs: [ { targets: [ "${url#http://}" ] } ]
YAML
prometheus --config.file="$work/prometheus.yml" --storage.tsdb.path="$work/tsdb" --web.listen-address=127.0.0.1:0 \
	</dev/null >"$work/prometheus.log" 2>&1 &
until_true 30 prometheus_listens || fail "Prometheus does not listen: $(tail -5 "$work/prometheus.log")"
has() { query "$1" | says '"value":\['; }
until_true 30 has 'up{job="etw"} == 1' || fail "Prometheus cannot scrape: $(tail -3 "$work/prometheus.log")"
until_true 30 has 'sum(etw_file_written_bytes_total) > 0' || fail "no bytes written"
has 'etw_session_up' || fail "no health"
! has 'etw_exporter_build_info' || fail "families that were not chosen"
! has 'etw_disk_operations_total' || fail "families that were not chosen"
echo "ok: Prometheus chooses collectors"
