#!/usr/bin/env bash
# The program as it runs for an operator: ready, scraped by a real Prometheus, moving, stopped by a signal.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=5
until_true 30 curl -fsS "$url/-/ready" || fail "never ready"
curl -fsS "$url/-/healthy" >/dev/null || fail "not healthy"
curl -fsS "$url/" >"$work/landing" || fail "no landing page"
for part in 'href="/metrics"' "etw_exporter <span class=\"version\">$("$ETW_EXPORTER" --version | cut -d' ' -f2)<" 'Up for .*[0-9]+ ' 'Configuration: <bdi>built-in<' \
	'<bdi>sample\.etl</bdi><td>.* replaying</span><td class="n">[0-9,]+<td class="n">0 events' \
	'No event was lost' '<a href="/metrics\?collect%5B%5D=disk">disk</a><td>Requests' '<th scope="row">sched<td>CPU time' 'collectors are off<'; do
	grep -Eq "$part" "$work/landing" || fail "the landing page lacks $part: $(cat "$work/landing")"
done

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
	has() { query "$1" | says '"value":\['; }
	until_true 30 has 'up{job="etw"} == 1' || fail "Prometheus cannot scrape: $(tail -3 "$work/prometheus.log")"
	until_true 60 has 'sum by (process) (rate(etw_file_written_bytes_total[10s])) > 0' || fail "no rate by process"
	until_true 60 has 'sum(rate(etw_events_total[10s])) > 0' || fail "no rate of events"
	echo "ok: Prometheus sees rates by process"
else
	echo "Prometheus is not installed: its part is left out"
fi

# The log says who started, with what, and on what.
logs() { grep -Eq "level=$1 msg=\"$2\" $3" "$work/log" || fail "the log lacks $2, $3: $(cat "$work/log")"; }
logs info 'Starting etw_exporter' 'version=[0-9.]+ revision=[^ ]+ compiler=.* arch=[^ ]+$'
logs info Configuration 'file=built-in collectors=disk,.*,process,process_memory$'
logs info Recording "file=$work/sample.etl bytes=$(stat -c %s "$work/sample.etl") session=sample.etl$"
[ "$(sed -n 's/.* msg="*\([A-Z][a-z]*\).*/\1/p' "$work/log" | head -1)" = Starting ] || fail "the version is not the first line"

# SIGHUP does not end a program whose terminal is still there, or that has none: it reloads.
reloads() { [ "$(grep -c 'level=info msg="Configuration was reloaded" file=built-in' "$work/log")" = "$1" ]; }
kill -HUP "$exporter_pid"
until_true 30 reloads 1 || fail "no word about SIGHUP: $(tail -3 "$work/log")"
kill -HUP "$exporter_pid"
until_true 30 reloads 2 || fail "no word about the second SIGHUP: $(tail -3 "$work/log")"
curl -fsS "$url/-/healthy" >/dev/null || fail "SIGHUP ended the program"

kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM: $(tail -3 "$work/log")"
logs info Stopping 'reason=SIGTERM$'
logs info 'Replay stopped' 'records=[1-9]'

# A terminal that closes ends the program that runs in it.
if command -v python3 >/dev/null; then
	python3 - "$ETW_EXPORTER" --web.listen-address=127.0.0.1:0 --replay.file="$work/sample.etl" 2>"$work/err" <<-'PYTHON' || fail "a closed terminal: $(cat "$work/err")"
		import os, pty, sys

		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], sys.argv[1:])
		log = b''
		while b'Listening' not in log:
		    log += os.read(terminal, 4096)
		os.close(terminal)
		_, status = os.waitpid(pid, 0)
		sys.exit(os.waitstatus_to_exitcode(status))
	PYTHON
fi

# A port that is taken: one line, exit 1.
start_exporter --replay.file="$work/sample.etl"
expect_exit 1 "${url##*:}" "$ETW_EXPORTER" --replay.file="$work/sample.etl" --web.listen-address="127.0.0.1:${url##*:}"
kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM"

# Names of files are text on the landing page. Debug lines say what a scrape took.
cp "$work/sample.etl" "$work/<b>&.etl"
start_exporter --replay.file="$work/<b>&.etl" --log.level=debug
finished() { curl -fsS "$url/metrics" | says '^etw_replay_finished 1$'; }
until_true 60 finished || fail "the replay does not finish"
total() { curl -fsS "$url/metrics" | awk -v want="$1" '$1 ~ want { s += $NF } END { printf "%d", s }'; }
ended() { grep -q 'Replay finished' "$work/log"; }
until_true 30 ended || fail "no word about the end of the replay"
curl -fsS "$url/" >"$work/landing"
grep -Eq '<bdi>&lt;b&gt;&amp;\.etl</bdi><td>.* replayed</span><td' "$work/landing" || fail "a file name on the landing page: $(cat "$work/landing")"
logs debug Scrape 'client=127\.0\.0\.1 code=200 format=text encoding=identity bytes=[0-9]+ microseconds=[0-9]+$'
logs debug 'Recording was read' 'file=.* records=[0-9]+ buffers=[0-9]+$'
logs info 'Replay finished' "records=$(total '^etw_consumer_records_total[{]') counted=$(total '^etw_consumer_records_total[{].*counted') no_rule=$(total '^etw_consumer_records_total[{].*no_rule') undecoded=0 filtered=0 lost=$(total '^etw_session_events_lost_total[{]') seconds=[0-9.]+ records_per_second=[1-9]"
kill -INT "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGINT"
