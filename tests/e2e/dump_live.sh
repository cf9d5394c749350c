#!/usr/bin/env bash
# etwtool dump of live sessions: on a system without event tracing it says so; on the fake ETW it prints the events of providers and of
# a configuration as they come, until Ctrl-C or a time, with the filters of a recording, and reports what was lost at the end. However it
# ends, no session is left behind, which etwtool_on_fake says.
. "${BASH_SOURCE%/*}/lib.bash"

# What the machine does before the events of a provider: two seconds of it are enough, because each run plays them again.
"$MAKE_SAMPLE" "$work/minute.etl" >/dev/null
"$ETWTOOL" relog "$work/minute.etl" -o "$work/sample.etl" --to 2 >/dev/null
load='{10adf00d-10ad-10ad-0102-030405060708}' # Contoso-Load: events of level 4 and keyword 0x1 with a number, without an id
described='{10adf00d-10ad-10ad-0102-030405060709}' # Contoso-Described: an event 7 of the same level and keyword
cat >"$work/config.yaml" <<-YAML
	sessions:
	  etw_exporter: { providers: [ '$load' ] }
	  second: { logger: user, providers: [ '$described' ] }
YAML

# ---- misuse ----

expect_exit 2 'name a recording; without one, --provider NAME or --config\.file FILE follows live sessions' "$ETWTOOL" dump
expect_exit 2 'which provider\?' "$ETWTOOL" dump --session mine
for option in --session=mine --duration=1s "--config.file=$work/config.yaml" --collector.disk; do
	expect_exit 2 "${option%%[.=]*}.* is for live sessions, and .*sample.etl is a recording" "$ETWTOOL" dump "$option" "$work/sample.etl"
done
for option in --from=1 --to=1 --stacks --format=csv --format=text --pointer-size=4; do
	expect_exit 2 "${option%%=*}.* is for recordings, not for live sessions" "$ETWTOOL" dump "$option" --provider "$load"
done
expect_exit 2 '\-\-provider selects events by one name here' "$ETWTOOL" dump --provider a --provider b "$work/sample.etl"
expect_exit 2 '\-\-provider selects events by one name here' "$ETWTOOL" dump --provider a --provider b --config "$work/config.yaml"
expect_exit 2 '\-\-session names the session of --provider' "$ETWTOOL" dump --session mine --config "$work/config.yaml"
expect_exit 2 'collectors are those of --config\.file' "$ETWTOOL" dump --collector.disk --provider "$load"
expect_exit 2 '\-\-duration takes' "$ETWTOOL" dump --duration 0s --provider "$load"
expect_exit 2 'a:256.*level' "$ETWTOOL" dump --provider a:256
expect_exit 2 '\-\-provider dns: a provider is given twice' "$ETWTOOL" dump --provider DNS:4 --provider dns
expect_exit 1 'name a recording: only Windows has event tracing' "$ETWTOOL" dump --provider "$load"
expect_exit 1 'name a recording: only Windows has event tracing' "$ETWTOOL" dump --config.file "$work/config.yaml"

expect_exit 2 "no provider called 'Contoso-Describd' is registered; did you mean 'Contoso-Described'\?" \
	"$ETWTOOL_ON_FAKE" dump --provider Contoso-Describd
expect_exit 1 'session mine: .*: run as administrator, or as a member of Performance Log Users' \
	env FAKE_NO_RIGHTS=1 "$ETWTOOL_ON_FAKE" dump --session mine --provider "$load"
expect_exit 1 'the session "mine" runs already: ' env FAKE_OTHER_SESSION=Mine "$ETWTOOL_ON_FAKE" dump --session mine --provider "$load"
expect_exit 1 'the session "second-dump" runs already: ' \
	env FAKE_OTHER_SESSION=second-dump "$ETWTOOL_ON_FAKE" dump --config "$work/config.yaml"

# ---- runs ----

# new_commands: the machine reads file descriptor 3 from now on. A program that has failed leaves some of its commands unread.
new_commands() {
	rm -f "$work/commands"
	mkfifo "$work/commands"
	exec 3<>"$work/commands"
}
# start_dump ARGUMENTS...: with the machine's events.
start_dump() {
	new_commands
	: >"$work/stdout"
	"$ETWTOOL_ON_FAKE" dump "$@" <"$work/commands" >"$work/stdout" 2>"$work/log" &
	dump_pid=$!
}
# emit NAME FILE COUNT: what the machine does (exporter_on_fake.c), until the sessions have delivered it.
emit() {
	echo "$*" >&3
	until_true 120 grep -q "\"phase\":\"$1\"" "$work/stdout" || fail "no end of the $1: $(cat "$work/log")"
}
# end_dump STATUS: waits for its end. The events are in the file events.
end_dump() {
	local got=0

	echo quit >&3
	wait "$dump_pid" || got=$?
	[ "$got" = "$1" ] || fail "exit $got, expected $1: $(cat "$work/log")"
	! says 'left behind' <"$work/log" || fail "a session is left behind"
	grep -v '"phase"' "$work/stdout" >"$work/events" || true
}
# dump_burst STATUS ARGUMENTS...: process 4712 starts as contoso.exe, makes 40 events of Contoso-Load and one of Contoso-Described, and
# Ctrl-C ends the command.
dump_burst() {
	local status=$1

	shift
	start_dump "$@"
	echo 'start \Device\HarddiskVolume1\contoso.exe 4712' >&3
	emit burst "$work/sample.etl" 40
	kill -INT "$dump_pid"
	end_dump "$status"
}
# values: the numbers of the events of Contoso-Load, in one line.
values() { python3 -c 'import json, sys
print(*(json.loads(line)["fields"]["value"] for line in open(sys.argv[1]) if "Contoso-Load" in line))' "$work/events"; }
# expect_values NUMBERS: these, and no other event.
expect_values() {
	[ "$(values)" = "$*" ] || fail "events with the values $(values), expected $*"
	[ "$(wc -l <"$work/events")" = $# ] || fail "other events are shown: $(grep -v Contoso-Load "$work/events" | head -2)"
}

# All events of a provider, in order, with the bytes of the library's JSON; those that are there for names of processes are not shown.
dump_burst 0 --provider "$load"
# shellcheck disable=SC2046 # a word for each number
expect_values $(seq 40)
says '^etwtool dump: 40 events shown, none lost$' <"$work/log" || fail "no report: $(cat "$work/log")"
says '"session":"etwtool-dump-[0-9]*"' <"$work/stdout" || fail "the name of the session: $(grep phase "$work/stdout")"
printf '%s\n' "burst $work/sample.etl 40" quit | "$FOLLOW_SESSION_ON_FAKE" "$load" 40 2>"$work/err" | grep -v '"phase"' >"$work/followed" ||
	fail "follow_session: $(cat "$work/err")"
without_numbers() { sed -E 's/"i": [0-9]+/I/; s/"(ts|filetime)": [0-9]+/T/g' "$1"; }
cmp <(without_numbers "$work/followed") <(without_numbers "$work/events") || fail "the lines are not those of etw_event_json()"

# Level, ids and keywords are those of Windows' filters.
dump_burst 0 --provider "$load:3"
expect_values
says '0 events shown, none lost' <"$work/log" || fail "no report of nothing: $(cat "$work/log")"
dump_burst 0 --provider "$load:4::0x2"
expect_values
dump_burst 0 --provider "$described:4:8"
expect_values
dump_burst 0 --provider 'contoso-described:4:7,9:0x1' --provider "$load:4:1" --session mine
[ "$(wc -l <"$work/events")" = 1 ] || fail "not one event: $(cat "$work/events")"
says '"provider_name": "Contoso-Described".*"fields": {"State": 2}' <"$work/events" || fail "not described: $(cat "$work/events")"
says '"session":"mine"' <"$work/stdout" || fail "the name of the session: $(grep phase "$work/stdout")"

# The filters of recordings.
dump_burst 0 --provider "$load" --where 'value gt 38'
expect_values 39 40
dump_burst 0 --provider "$load" --provider "$described" --event work --where 'value in 3, 5'
expect_values 3 5
dump_burst 0 --provider "$load" --process 'cont*' --per-kind 2
expect_values 1 2
dump_burst 0 --provider "$load" --process 4712 --where 'Process ne other' --where 'value le 1'
expect_values 1
dump_burst 1 --provider "$load" --process contosa
expect_values
says "the sessions had no process 'contosa'; did you mean 'contoso'?" <"$work/log" || fail "no suggestion: $(cat "$work/log")"
dump_burst 1 --provider "$load" --event Worx
says "the sessions had no event 'Worx'; did you mean 'Work'?" <"$work/log" || fail "no suggestion: $(cat "$work/log")"
dump_burst 1 --provider "$load" --where 'valu eq 1'
says "the sessions had no field 'valu'; did you mean 'value'?" <"$work/log" || fail "no suggestion: $(cat "$work/log")"

# The sessions of a configuration: events of the kernel, which the collectors need, and of providers; --provider is a filter.
dump_burst 0 --config.file "$work/config.yaml"
[ "$(values)" = "$(seq -s ' ' 40)" ] || fail "values of a configuration: $(values)"
for event in '"provider_name": "DiskIo"' '"fields": {"State": 2}'; do
	says "$event" <"$work/events" || fail "no $event in a configuration's sessions"
done
python3 - "$work/events" "$work/stdout" <<'END' || fail "the events of a configuration"
import json, re, sys

events = [json.loads(line) for line in open(sys.argv[1], encoding="utf-8")]
sessions = dict(re.findall(r'"session":"([^"]*)".*"emitted":(\d+),"lost":0', open(sys.argv[2]).read()))
kernel = sum(e.get("decoded_by") == "kernel" for e in events)
names = [e for e in events if e.get("provider_name") == "Microsoft-Windows-Kernel-Process"]
print(f"{len(events)} events, {kernel} of the kernel; given to the sessions: {sessions}; {names}")
# The user session has the start of the process only for its name.
sys.exit(not set(sessions) >= {"etw_exporter-dump", "second-dump"} or kernel < 1000 or
         len(events) < sum(map(int, sessions.values())) - 1 or names != [])
END
dump_burst 0 --config "$work/config.yaml" --provider 'Contoso-L*' --where 'value eq 7'
expect_values 7
dump_burst 0 --config "$work/config.yaml" --no-collector.disk --provider Contoso-Described
[ "$(wc -l <"$work/events")" = 1 ] || fail "not one event of a filtered configuration: $(head -3 "$work/events")"

# ---- ends ----

start_dump --provider "$load" --duration 1s
end_dump 0
says '0 events shown, none lost' <"$work/log" || fail "no report after a time: $(cat "$work/log")"
start_dump --provider "$load"
emit burst "$work/sample.etl" 1
kill -TERM "$dump_pid"
end_dump 0
expect_values 1

# Losses: what Windows counts as lost is reported, and the command fails.
start_dump --provider "$load" --per-kind 1
emit overflow "$work/sample.etl" 1000
kill -INT "$dump_pid"
end_dump 1
lost=$(sed -n 's/.*"lost":\([0-9]*\)}.*/\1/p' "$work/stdout")
[ "${lost:-0}" -ge 1000 ] || fail "nothing was lost: $(cat "$work/stdout")"
says -E "^etwtool dump: [0-9]+ events? shown, $lost events lost: a faster reader helps, or more buffers" <"$work/log" ||
	fail "$lost events were lost: $(cat "$work/log")"
start_dump --provider "$load" --per-kind 1
echo "lose $work/sample.etl 3" >&3
emit burst "$work/sample.etl" 20000
kill -INT "$dump_pid"
end_dump 1
says -E '[0-9]+ events? shown, [0-9]+ events? and [1-3] buffers? with an unknown number of events lost: ' <"$work/log" ||
	fail "no report of lost buffers: $(cat "$work/log")"

# A reader who has seen enough, and no output at all: the command ends by itself, with the next event.
names=Microsoft-Windows-Kernel-Process
new_commands
(
	trap '' PIPE
	got=0
	"$ETWTOOL_ON_FAKE" dump --provider $names <"$work/commands" 2>"$work/log" || got=$?
	echo "$got" >"$work/status"
) | head -n 3 >"$work/head" &
reader_pid=$!
has_ended_by_now() {
	echo 'start contoso.exe 4712' >&3
	[ -s "$work/status" ]
}
until_true 120 has_ended_by_now || fail "a closed pipe ends nothing"
wait "$reader_pid"
[ "$(cat "$work/status" "$work/log")" = 1 ] || fail "a closed pipe: exit $(cat "$work/status"): $(cat "$work/log")"
[ "$(grep -c '"ImageName": "contoso.exe"' "$work/head")" = 3 ] || fail "the reader had $(cat "$work/head")"
printf '%s\n' 'start contoso.exe 4712' quit >"$work/start"
got=0
"$ETWTOOL_ON_FAKE" dump --provider $names <"$work/start" >&- 2>"$work/log" || got=$?
[ "$got" = 1 ] || fail "a closed standard output: exit $got: $(cat "$work/log")"
says 'standard output' <"$work/log" || fail "a closed standard output: $(cat "$work/log")"
exec 3>&-
echo "ok: live events as JSON"
