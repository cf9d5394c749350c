#!/usr/bin/env bash
# etwtool record: on a system without event tracing it says so; on the fake ETW it writes the events of several sessions into one
# recording, in order, with what existed before, until Ctrl-C, a time or a size; or the last ones of a ring.
source "$(dirname "$0")/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl"
if is_slow; then # each run plays it
	mv "$work/sample.etl" "$work/minute.etl"
	"$ETWTOOL" relog "$work/minute.etl" -o "$work/sample.etl" --to 5 >/dev/null
fi
expect_exit 2 'name the file to write: OUT.etl$' "$ETWTOOL" record
expect_exit 2 '--ring limits the recording' "$ETWTOOL" record --ring 4MiB --size 1MiB "$work/a.etl"
for option in --duration=0s --duration=soon --size=1 --size=1KiB --ring=1MiB; do
	expect_exit 2 "${option%%=*} takes" "$ETWTOOL" record "$option" "$work/a.etl"
done
[ -e "$work/a.etl" ] && fail "bad usage leaves a file"
expect_exit 1 'only Windows has event tracing' "$ETWTOOL" record "$work/a.etl"
[ -e "$work/a.etl" ] && fail "a system without event tracing leaves a file"

mkfifo "$work/commands"
exec 3<>"$work/commands"
cat >"$work/config.yaml" <<-'YAML'
	sessions:
	  etw_exporter: { providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] }
	  second: { logger: user, providers: [ '{10adf00d-10ad-10ad-0102-030405060709}' ] }
YAML
expect_exit 1 'nowhere/a.etl: .*' "$ETWTOOL_ON_FAKE" record --config "$work/config.yaml" "$work/nowhere/a.etl"
echo 'sessions: 5' >"$work/wrong.yaml"
expect_exit 2 'wrong.yaml:1' "$ETWTOOL_ON_FAKE" record --config "$work/wrong.yaml" "$work/b.etl"

# start_record ARGUMENTS...: etwtool record, with the machine's events from file descriptor 3.
start_record() {
	: >"$work/stdout" # what the run before has said is no answer of this one, which begins later
	"$ETWTOOL_ON_FAKE" record --config.file="$work/config.yaml" "$@" <"$work/commands" >"$work/stdout" 2>"$work/log" &
	record_pid=$!
}
# emit flood SECONDS: as fast as the sessions take events. emit burst COUNT: so many events of the provider, once the sample was played.
emit() {
	echo "$1 $work/sample.etl $2" >&3
	until_true 120 grep -q "\"phase\":\"$1\"" "$work/stdout" || fail "no end of the $1: $(cat "$work/log")"
}
# of_result EXPRESSION: a number of the line about the recording.
of_result() { sed -nE "s/.*\.etl: $1.*/\1/p" "$work/stdout"; }
# end_record STATUS: waits for its end.
end_record() {
	local got=0

	echo quit >&3
	wait "$record_pid" || got=$?
	[ "$got" = "$1" ] || fail "exit $got: $(cat "$work/log" "$work/stdout")"
}
# no_gaps FILE [COUNT]: the provider numbers its events: all are in order, and none is missing from the first to the last, or to number
# COUNT of them.
no_gaps() {
	"$ETWTOOL" dump --format text "$1" | sed -n 's/.*Contoso-Load.* value=\([0-9]*\).*/\1/p' >"$work/values"
	sort -n -u "$work/values" >"$work/sorted"
	cmp -s "$work/values" "$work/sorted" || fail "the events of $1 are not in order: $(diff "$work/values" "$work/sorted" | head -3)"
	sed -n "1,${2:-\$}p" "$work/values" >"$work/sorted"
	[ "$(($(tail -1 "$work/sorted") - $(head -1 "$work/sorted") + 1))" = "$(wc -l <"$work/sorted")" ] || fail "events of $1 are missing"
}

# of_machine: the number of events that the machine gave the session, which lost none.
of_machine() { sed -n 's/.*"session":"etw_exporter-record".*"emitted":\([0-9]*\),"lost":0}.*/\1/p' "$work/stdout"; }

# Until Ctrl-C: all events, whose number the machine knows. They are fewer than the rings hold, so that a slow disk costs none.
count=300000
! is_slow || count=30000
# Another 584 years would also end it: nanoseconds that 64 bits cannot count.
start_record --duration 18446744073710ms "$work/whole.etl"
emit burst $count
kill -INT "$record_pid"
end_record 0
emitted=$(of_machine)
[ "${emitted:-0}" -gt $count ] || fail "too few events were emitted: $(cat "$work/stdout")"
says -E "whole.etl: [0-9]+ events in [0-9.]+ s, .* 0 events lost" <"$work/stdout" || fail "no result: $(cat "$work/stdout")"
case $(uname) in Linux) [ "$(stat -c %a "$work/whole.etl")" = 600 ] || fail "others may read the recording" ;; esac
no_gaps "$work/whole.etl"
[ "$(head -1 "$work/values")" = 1 ] || fail "the first event is missing"
"$ETWTOOL" summary "$work/whole.etl" >"$work/summary"
"$ETWTOOL" dump --format text "$work/whole.etl" >"$work/dump"
says 'Process/DCStart' <"$work/dump" || fail "no rundown of processes"
# What the sample holds of the classes that the session has enabled is there as often as it was played.
events=$(of_result '([0-9]+) events')
[ "$events" -ge "$emitted" ] || fail "$events events, although $emitted were emitted"
"$ETW_EXPORTER" --once --replay.file="$work/whole.etl" --config.file="$work/config.yaml" >"$work/page" 2>"$work/log" ||
	fail "no replay: $(cat "$work/log")"
says '^etw_consumer_events_total{.*provider="Contoso-Load"' <"$work/page" || fail "the events are not counted"
# Another machine decodes it: events that Windows alone described, with the names of values; disks and services have names.
says 'Contoso-Described.*State=Down' <"$work/dump" || fail "the event of a manifest is not described: $(grep -i 10adf00d "$work/dump" | head -3)"
says 'PhyDisk.*Contoso Disk of a test' <"$work/dump" || fail "no name of a disk: $(grep PhyDisk "$work/dump" | head)"
says 'Services.*SubProcessTag=77.*ContosoService' <"$work/dump" || fail "no name of a service: $(grep Services "$work/dump" | head)"

# As many events as the machine can make may be more than the disk takes: each is in the recording or counted as lost, and those
# that are in it are in order.
start_record "$work/flood.etl"
emit flood 1
kill -INT "$record_pid"
end_record 0
emitted=$(of_machine)
events=$(of_result '([0-9]+) events') lost=$(of_result '.* ([0-9]+) events lost')
[ $((events + lost)) -ge "${emitted:-0}" ] || fail "$events events and $lost lost, although $emitted were emitted"
[ "$events" -gt 1000 ] || fail "only $events events"
"$ETWTOOL" dump --format text --provider Contoso-Load "$work/flood.etl" | sed 's/.* value=//' |
	awk '$1 <= last { exit 1 } { last = $1 } END { if (!last) exit 1 }' || fail "the events of the flood are not in order"
rm "$work/flood.etl"

# Events in a lost buffer are not among those that Windows counts as lost, so the buffers are reported.
start_record "$work/gaps.etl"
echo "lose $work/sample.etl 3" >&3
emit burst 20000
kill -INT "$record_pid"
end_record 0
says -E 'gaps.etl: [0-9]+ events in .*, [0-9]+ events lost' <"$work/stdout" || fail "no result: $(cat "$work/stdout")"
says -E 'warning: the sessions lost [3-6] buffers, and the events in them' <"$work/log" || fail "no warning of lost buffers: $(cat "$work/log")"
rm "$work/gaps.etl"

# Windows has no limit for the description of an event, and a record has one.
FAKE_LARGE_DESCRIPTION=1 start_record "$work/large.etl"
emit burst 1000
kill -INT "$record_pid"
end_record 0
says -F 'warning: 1 events or descriptions of events are left out: they are larger than a recording can have them' <"$work/log" ||
	fail "no warning of what was left out: $(cat "$work/log")"
rm "$work/large.etl"

# A time, and a size.
start_record --duration 1s "$work/time.etl"
end_record 0
says -E 'time.etl: [0-9]+ events' <"$work/stdout" || fail "no result: $(cat "$work/stdout")"
# The recording that is played beside the events of the provider is so small that most of the size is theirs.
"$ETWTOOL" relog "$work/sample.etl" -o "$work/small.etl" --to 0.5 >/dev/null
start_record --size 1MiB "$work/size.etl"
echo "burst $work/small.etl 300000" >&3
end_record 0
bytes=$(wc -c <"$work/size.etl")
[ "$bytes" -ge 1048576 ] || fail "only $bytes bytes"
no_gaps "$work/size.etl" 500 # the last ones came while the session was stopped, which loses events, if the machine is busy

# A ring: the last events, without a gap, and what existed before them.
start_record --ring 4MiB "$work/ring.etl"
emit flood 2
kill -INT "$record_pid"
end_record 0
no_gaps "$work/ring.etl"
bytes=$(wc -c <"$work/ring.etl")
[ "$bytes" -gt 1000000 ] && [ "$bytes" -lt 8000000 ] || fail "the ring has $bytes bytes"
"$ETWTOOL" dump --format text "$work/ring.etl" | awk 'NR <= 2000' | says 'Process/DCStart' || fail "the ring has no rundown"

# The session of another program: it has other buffers, so fewer events; it runs on, as the fake checks at the end.
cat >"$work/config.yaml" <<-'YAML'
	sessions: { theirs: { logger: attach } }
YAML
FAKE_OTHER_SESSION=theirs start_record "$work/theirs.etl"
emit burst 2000
kill -INT "$record_pid"
end_record 0
says -E 'theirs.etl: [0-9]+ events in .* 0 events lost' <"$work/stdout" || fail "no result: $(cat "$work/stdout" "$work/log")"
no_gaps "$work/theirs.etl"
"$ETWTOOL" dump --format text "$work/theirs.etl" | says 'DiskIo/Write' || fail "no kernel events of the other program's session"
exec 3>&-
echo "ok: recordings of sessions, whole and of a ring"
