#!/usr/bin/env bash
# The configuration read again while the program replays: what changes, what stays, and a file with errors.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
mkdir "$work/collectors"

collector() { # NAME LABELS
	cat >"$work/collectors/mine.yaml" <<-YAML
		collector: mine
		help: Writes of programs.
		default: on
		metrics:
		  - name: my_$1_total
		    type: counter
		    help: Writes.
		    labels: { process: Process$2 }
		    events:
		      - { event: FileIo/Write }
	YAML
}
config() { printf '%s\n' "collector_files: ['collectors/*.yaml']" "$@" >"$work/config.yaml"; }

collector writes ''
config 'collectors: { network: off }'
start_exporter --config.file="$work/config.yaml" --replay.file="$work/sample.etl" --replay.loop --replay.speed=20
until_true 30 curl -fsS "$url/-/ready" || fail "never ready"

page() { curl -fsS "$url/metrics" >"$work/page"; }
# sum NAME: of a family or of all lines that begin so; "none": there is none.
sum() { page && awk -v want="$1" 'index($1, want) == 1 { s += $NF; n++ } END { print n ? s : "none" }' "$work/page"; }
has() { [ "$(sum "$1")" != none ]; }
lacks() { [ "$(sum "$1")" = none ]; }
grows() { [ "$(sum "$1")" -gt "$2" ]; }

done_reloads=0
refused=0
# reload: sends the signal and waits for the word of the log.
reloaded() { [ "$(grep -c 'msg="Configuration was reloaded"' "$work/log")" = "$done_reloads" ]; }
was_refused() { [ "$(grep -c 'msg="Configuration was not reloaded' "$work/log")" = "$refused" ]; }
reload() {
	done_reloads=$((done_reloads + 1))
	kill -HUP "$exporter_pid"
	until_true 60 reloaded || fail "not reloaded: $(tail -3 "$work/log")"
}
reload_refused() {
	refused=$((refused + 1))
	kill -HUP "$exporter_pid"
	until_true 60 was_refused || fail "not refused: $(tail -3 "$work/log")"
}

[ "$(sum 'etw_exporter_config_last_reload_successful')" = 1 ] || fail "not successful at the start"
time_of() { page && sed -n 's/^etw_exporter_config_last_reload_success_timestamp_seconds //p' "$work/page"; }
started=$(time_of)
until_true 60 grows 'my_writes_total{' 0 || fail "the collector of the start does not count"
lacks 'etw_network_' || fail "the network is switched off"

# Another collector comes, and one that was there counts on.
before=$(sum 'etw_file_written_bytes_total{')
config 'collectors: { network: on, memory: off }' 'log: { level: debug }'
reload
grows 'etw_file_written_bytes_total{' "$((before - 1))" || fail "a counter that stays fell: $before, $(sum 'etw_file_written_bytes_total{')"
until_true 60 grows 'etw_network_sent_bytes_total{' 0 || fail "a new collector does not count"
lacks 'etw_memory_hard_faults_total' || fail "a collector that is off is still shown"
[ "$(sum 'etw_exporter_collector_enabled{collector="memory"}')" = 0 ] || fail "memory is on"
until_true 60 grep -q 'level=debug' "$work/log" || fail "the level of the log did not change"

# A file with errors: all of them are logged, and nothing changes.
collector writes ', nothing: NoSuchField'
config 'collectors: { network: of }' 'limits: { series: many }' 'unknown_key: 1'
reload_refused
for place in 'config.yaml:2:' 'config.yaml:3:' 'config.yaml:4:' 'mine.yaml:'; do
	grep -q "level=error msg=\"*Configuration\"* error=.*$place" "$work/log" || fail "no word about $place: $(tail -8 "$work/log")"
done
[ "$(sum 'etw_exporter_config_last_reload_successful')" = 0 ] || fail "successful with errors"
has 'etw_network_sent_bytes_total{' || fail "the refused file changed something"
before=$(sum 'my_writes_total{')
until_true 60 grows 'my_writes_total{' "$before" || fail "the former configuration does not count"

# The collector's file changes: another family, then another set of labels, and back.
collector other ''
config 'collectors: { network: on }'
reload
[ "$(sum 'etw_exporter_config_last_reload_successful')" = 1 ] || fail "not successful after the mend"
later=$(time_of)
awk -v a="$started" -v b="$later" 'BEGIN { exit !(b > a) }' || fail "the time did not move: $started, $later"
lacks 'my_writes_total' || fail "the former family is still there"
until_true 60 grows 'my_other_total{' 0 || fail "the changed collector does not count"
collector writes ', volume: Volume'
reload
until_true 60 grows 'my_writes_total{' 0 || fail "the family with other labels does not count"
grep -q '^my_writes_total{.*volume="' "$work/page" || fail "the former labels: $(grep my_writes "$work/page" | head -2)"
collector writes ''
reload
page
grep -q '^my_writes_total{process="[^"]*"} ' "$work/page" || fail "the first labels: $(grep my_writes "$work/page" | head -2)"
grep -q '^my_writes_total{.*volume="' "$work/page" && fail "labels of two configurations on one page"
[ "$(sum 'my_writes_total{')" -ge "$before" ] || fail "the family does not go on where it was: $before"
! grep '^# TYPE' "$work/page" | sort | uniq -d | grep . || fail "a family is on the page twice"

# What needs a restart is named.
config 'web: { listen_addresses: ["127.0.0.1:9"], telemetry_path: /elsewhere }' 'process_case: lower'
reload
for setting in web.telemetry_path process_case; do
	grep -q "level=warning msg=\"Setting needs a restart.*setting=$setting\$" "$work/log" || fail "no word about $setting"
done
# The command line gives the address.
! grep -q 'setting=web.listen_addresses' "$work/log" || fail "a word about the address, which the command line gives"
page || fail "the page moved"

# By HTTP, when the server has the page: it answers when the configuration is in force, or says why not.
if grep -q -- '--web.enable-lifecycle' <("$ETW_EXPORTER" --help); then
	kill -TERM "$exporter_pid"
	wait "$exporter_pid" || fail "exit $? after SIGTERM"
	config 'collectors: { network: off }'
	start_exporter --config.file="$work/config.yaml" --replay.file="$work/sample.etl" --replay.loop --replay.speed=20 --web.enable-lifecycle
	config 'collectors: { network: on }'
	curl -fsS -X POST "$url/-/reload" >"$work/answer" || fail "the reload by HTTP: $(cat "$work/answer")"
	[ "$(sum 'etw_exporter_collector_enabled{collector="network"}')" = 1 ] || fail "the answer came before the configuration was in force"
	config 'unknown_key: 1'
	code=$(curl -sS -X POST -o "$work/answer" -w '%{http_code}' "$url/-/reload")
	[ "$code" -ge 400 ] || fail "a bad file: $code"
	grep -q 'config.yaml:2:1: ' "$work/answer" || fail "the answer does not say why: $(cat "$work/answer")"
fi

# Requests that come at the same time; then it stops as usual.
config 'collectors: { network: off }'
for _ in 1 2 3 4 5; do
	kill -HUP "$exporter_pid"
done
kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM: $(tail -3 "$work/log")"
echo "ok: $done_reloads reloads, $refused refused"
