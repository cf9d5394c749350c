#!/usr/bin/env bash
# etw_exporter --replay.from and --replay.to: what is counted is what happened between them, with the names that earlier events said.
source "$(dirname "$0")/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl"
# once ARGUMENTS...: the page of a replay.
once() { "$ETW_EXPORTER" --once --replay.file="$work/sample.etl" "$@" 2>"$work/log" || fail "$* failed: $(cat "$work/log")"; }
# written: the sum of what all disks wrote, of a page on standard input.
written() { awk '/^etw_disk_written_bytes_total/ { sum += $NF } END { printf "%d\n", sum }'; }
# dumped ARGUMENTS...: the same sum of the events themselves.
dumped() {
	"$ETWTOOL" dump --event DiskIo/Write --format jsonl "$@" "$work/sample.etl" |
		sed -n 's/.*"TransferSize": \([0-9]*\).*/\1/p' | awk '{ sum += $1 } END { printf "%d\n", sum }'
}

whole=$(once | written)
part=$(once --replay.from=10s --replay.to=20 | tee "$work/page" | written)
[ "$part" = "$(dumped --from 10s --to 20)" ] || fail "10 s to 20 s: $part bytes, the events have $(dumped --from 10s --to 20)"
[ "$part" -gt 0 ] && [ "$part" -lt "$whole" ] || fail "$part of $whole bytes"
# Two halves are the whole, and a single pass counts the same.
[ $(($(once --replay.to=30 | written) + $(once --replay.from=30 | written))) = "$whole" ] || fail "two halves are not the whole"
[ "$(once --replay.from=10 --replay.to=20 --replay.single-pass | written)" = "$part" ] || fail "a single pass differs"
# A time of the day is as good as one from the start.
filetime=$("$ETWTOOL" dump --format jsonl "$work/sample.etl" | sed -n '1s/.*"filetime": \([0-9]*\),.*/\1/p')
start=$(date -u -d "@$((filetime / 10000000 - 11644473600))" +%Y-%m-%dT%H:%M:%SZ)
[ "$(once --replay.from="$start" | written)" = "$whole" ] || fail "from the first event on: another sum"
# What started before the range has its name.
says '^etw_file_written_bytes_total{process="sqlservr"' <"$work/page" || fail "no name of a process that started before"
says '^etw_replay_finished 1' <"$work/page" || fail "the replay has not finished"

expect_exit 2 '--replay.to is not later than --replay.from' "$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --replay.from=20 --replay.to=10
expect_exit 2 '--replay.from takes a time such as' "$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --replay.from=soon
once --replay.from=2h >"$work/page"
says 'No event is between --replay.from and --replay.to.* begin=2[^ ]*Z end=2[^ ]*Z$' <"$work/log" || fail "no warning: $(cat "$work/log")"
echo "ok: a range of a recording is counted alone"
