#!/usr/bin/env bash
# A replay as it is watched: what a loop shows while it runs, and at its end.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
# The whole page is read before it is searched: curl fails when the reader of a pipe leaves early.
page() { curl -fsS "$url/metrics" >"$work/page" && cat "$work/page"; }
shows() { page >/dev/null && grep -Eq "$1" "$work/page"; }
stop_exporter() { kill -TERM "$exporter_pid" && wait "$exporter_pid" || fail "exit $? after SIGTERM: $(tail -3 "$work/log")"; }

# The most written files: in a loop of a short recording they are there after ten seconds of event time, and stay from one pass to the
# next.
top() { shows '^etw_file_top_written_bytes\{'; }
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=20 --collector.file_top
until_true 60 top || fail "a loop never shows the most written files"
passes() { page | awk -F'[ ]' '/^etw_replay_progress_ratio / { print $2 }'; }
last=$(passes)
began_anew() { local now; now=$(passes); awk -v a="$last" -v b="$now" 'BEGIN { exit !(b < a) }' && return 0; last=$now; return 1; }
until_true 60 began_anew || fail "the loop does not begin anew"
top || fail "the most written files are gone when a loop begins anew"
stop_exporter
"$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --collector.file_top >"$work/page" || fail "--once"
grep -q '^etw_file_top_written_bytes{' "$work/page" || fail "--once ends without the most written files"

# A person who waits for --once sees how far it is; the line is gone before the metrics come. A file or a pipe gets no such line.
if command -v python3 >/dev/null; then
	python3 - "$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --replay.speed=15 >"$work/terminal" <<-'PYTHON' || fail "--once on a terminal"
		import os, pty, sys

		pid, terminal = pty.fork()
		if pid == 0:
		    os.execv(sys.argv[1], sys.argv[1:])
		while True:
		    try:
		        piece = os.read(terminal, 65536)
		    except OSError: # Linux: the other end is closed
		        break
		    if not piece:
		        break
		    sys.stdout.buffer.write(piece)
		sys.exit(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
	PYTHON
	grep -Eq 'etw_exporter: +[0-9]+ %, [0-9]+ s' "$work/terminal" || fail "--once shows no progress on a terminal"
	tr '\r' '\n' <"$work/terminal" | awk '/^# HELP/ { metrics = 1 } metrics && / %, [0-9]+ s/ { bad = 1 } END { exit bad || !metrics }' ||
		fail "progress is mixed with the metrics"
fi
"$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --replay.speed=25 >/dev/null 2>"$work/err" || fail "--once"
[ ! -s "$work/err" ] || fail "progress is written to a file: $(cat "$work/err")"

# A page has no family that can only be false or 0: a recording has no buffers in memory, and no family has reached a limit.
for family in etw_session_buffers etw_session_buffers_free etw_session_buffers_max etw_exporter_series_overflow_total \
	etw_exporter_series_evicted_total; do
	! grep -Eq "^(# [A-Z]+ )?${family}[ {]" "$work/page" || fail "a page without a reason for $family has it"
done
grep -Eq '^etw_exporter_series [1-9][0-9]*$' "$work/page" || fail "no number of series"
echo 'limits: { series_per_family: 10 }' >"$work/few.yaml"
"$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --config.file="$work/few.yaml" >"$work/page" || fail "--once with a limit"
grep -Eq '^etw_exporter_series_overflow_total\{metric="etw_file_operations_total"\} [1-9]' "$work/page" || fail "no overflow at a limit"

# A recording that changes while it loops: counted where records are lost, in the log either way, and in a bounded number of lines.
loop() {
	cp "$work/sample.etl" "$work/loop.etl"
	start_exporter --replay.file="$work/loop.etl" --replay.loop
	until_true 60 shows '^etw_consumer_records_total\{.*outcome="counted"\} [1-9]' || fail "the loop counts nothing"
}
warns() { grep -q "level=warning .*$1" "$work/log"; }
bad() { shows '^etw_consumer_bad_(buffers|records)_total\{.*\} [1-9]'; }
loop
bad && fail "the sample is damaged"
# The same noise each time: 1 in 500 begins like a compressed buffer that the end of the file cuts, and is no more than "cut short".
python3 -c 'import random, sys; sys.stdout.buffer.write(random.Random(1).randbytes(int(sys.argv[1])))' "$(stat -c %s "$work/loop.etl")" | dd of="$work/loop.etl" conv=notrunc status=none
until_true 60 warns 'was changed while .*change="was overwritten"' || fail "noise over a recording: $(tail -5 "$work/log")"
until_true 60 warns "cut short\\|damaged" || fail "noise is not damage: $(tail -5 "$work/log")"
until_true 60 bad || fail "noise over a recording is not counted"
stop_exporter
[ "$(grep -c level=warning "$work/log")" -le 22 ] || fail "a changed recording fills the log: $(wc -l <"$work/log") lines"

loop
printf 'x' >>"$work/loop.etl"
until_true 60 warns 'change="has become longer"' || fail "a recording that grows: $(tail -5 "$work/log")"
for _ in {1..60}; do
	printf 'x' >>"$work/loop.etl"
	sleep 0.02
done
stop_exporter
[ "$(grep -c level=warning "$work/log")" -le 22 ] || fail "a growing recording fills the log: $(wc -l <"$work/log") lines"

loop
rm "$work/loop.etl"
until_true 60 warns 'change="was removed"' || fail "a recording that is removed: $(tail -5 "$work/log")"
stop_exporter

loop
truncate -s 100000 "$work/loop.etl"
failed() { grep -q 'level=error msg="Replay failed" error="[^ ]*/loop.etl: ends at .*cut short meanwhile' "$work/log"; }
until_true 60 failed || fail "a recording that is cut: $(tail -5 "$work/log")"
until_true 60 shows '^etw_session_up\{session="loop.etl"\} 0$' || fail "the session of a cut recording is up"
shows '^etw_replay_finished 0$' || fail "a replay that failed is finished"
stop_exporter
