#!/usr/bin/env bash
# The flight recorder: what a recording holds, event for event; requests, rules, limits; and on the fake ETW from a rule to a file.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
mkdir "$work/rec"
config() { printf 'recorder: { dir: rec, memory: 4MiB, interval: %s%s }\n' "$1" "$2" >"$work/config.yaml"; } # INTERVAL REST
post() { status=$(curl -sS -o "$work/answer" -w '%{http_code}' -X POST "$url/-/record"); }
recordings() { find "$work/rec" -name '*.etl' | sort; }
end_exporter() { kill "$exporter_pid" && wait "$exporter_pid" || true; }
metric() { curl -fsS "$url/metrics" | awk -v name="$1" '$1 == name { print $2 }'; }
# dumped FILE: all its events, as text; made once.
dumped() {
	local to=$work/${1##*/}.text

	[ -e "$to" ] || "$ETWTOOL" dump --format text "$1" >"$to" || fail "no dump of $1"
	cat "$to"
}
# The events of a recording, without what earlier events contribute, sorted by time and processor.
events() { dumped "$1" | sed 's/  |  .*//' | tail -n "${2:-+1}" | LC_ALL=C sort -s -k1,1 -k3,3; }
of_log() { sed -n "s/.*Recording was written.* $1=\([0-9]*\).*/\1/p" "$work/log" | tail -1; }

# Without a recorder there is none, and nothing about it on the page.
start_exporter --replay.file="$work/sample.etl" --web.enable-lifecycle
post && [ "$status" = 501 ] || fail "a program without a recorder answers $status"
curl -fsS "$url/metrics" | says etw_exporter_recorder && fail "a recorder that is off is on the page"
end_exporter

# Mistakes are found at the start.
printf 'recorder: { dir: nowhere }\n' >"$work/config.yaml"
"$ETW_EXPORTER" --config.file="$work/config.yaml" --replay.file="$work/sample.etl" --web.listen-address=127.0.0.1:0 \
	2>"$work/log" && fail "a folder that does not exist is accepted"
says "nowhere' is not a folder" <"$work/log" || fail "no word about the folder: $(cat "$work/log")"
config 1s ', on: [{ series: "etw_x{process=a}", above: 1 }]'
expect_exit 2 'config.yaml:1:.*expected a value in quotes before "a}"' "$ETW_EXPORTER" --config.file="$work/config.yaml" --check-config

# A recording of the newest events, one by one.
config 1h ''
: >"$work/rec/etw_exporter-20200101T000000.000Z.etl.0123456789abcdef.partial" # of a program that was killed while it wrote
start_exporter --config.file="$work/config.yaml" --replay.file="$work/sample.etl"
post && [ "$status" = 403 ] || fail "without --web.enable-lifecycle: $status"
end_exporter
start_exporter --config.file="$work/config.yaml" --replay.file="$work/sample.etl" --web.enable-lifecycle
until_true 60 grep -q 'Replay finished' "$work/log" || fail "no end of the replay"
post && [ "$status" = 200 ] || fail "no recording: $(cat "$work/answer" "$work/log")"
file=$(cat "$work/answer")
[ "$file" = "$(recordings)" ] || fail "the answer is $file, and there is $(recordings)"
[ "$(stat -c %a "$file")" = 600 ] || fail "others may read the recording"
[ "$(find "$work/rec" -type f | wc -l)" = 1 ] || fail "a partial recording stays: $(ls "$work/rec")"
count=$(of_log events)
[ "$(of_log lost)" = 0 ] || fail "events are missing although the replay was over"
events "$work/sample.etl" -"$count" >"$work/expected"
events "$file" -"$count" >"$work/got"
cmp "$work/expected" "$work/got" || fail "not the newest $count events: $(diff "$work/expected" "$work/got" | head -5)"
[ "$(metric etw_exporter_recorder_disk_needed_bytes)" = 8388608 ] || fail "a recording does not need twice the memory free"
free_is_known() { [ "$(metric etw_exporter_recorder_disk_free_bytes | cut -d. -f1)" -gt 8388608 ]; }
until_true 10 free_is_known || fail "nothing is known of the disk: $(metric etw_exporter_recorder_disk_free_bytes)"
# Three quarters of the memory hold events, seven eighths of them are shown, and a block of 128 KiB may be nearly empty.
bytes=$(wc -c <"$file")
[ "$count" -gt 10000 ] && [ "$bytes" -gt 1000000 ] || fail "only $count events in $bytes bytes"
[ "$(metric etw_exporter_recorder_records_total)" = "$(($(metric etw_exporter_recorder_records_overwritten_total) + count))" ] ||
	fail "the counters disagree with $count events"

# Before them stands what existed: processes and files have their names from the first event on.
names() { dumped "$1" | tail -n -"$count" | LC_ALL=C sort -s -k1,1 -k3,3 | awk '{ print $1, $3, $4, $5, $6 }'; }
names "$work/sample.etl" >"$work/expected"
names "$file" >"$work/got"
cmp "$work/expected" "$work/got" || fail "events of other processes: $(diff "$work/expected" "$work/got" | head -5)"
paths() { dumped "$1" | tail -n -"$count" | grep -o 'FileIo/[RW].*Path="[^"]*"' | LC_ALL=C sort; }
paths "$work/sample.etl" >"$work/expected"
paths "$file" >"$work/got"
[ -s "$work/expected" ] || fail "no event has a path"
cmp "$work/expected" "$work/got" || fail "other paths: $(diff "$work/expected" "$work/got" | head -5)"
# A rundown is no event that happened: nothing starts at the first moment.
dumped "$file" | head -n -"$count" | says -E '(Process|Thread)/Start|Image/Load|FileCreate' &&
	fail "the rundown contains starts"

# A second one is too soon.
post && [ "$status" = 429 ] && grep -q 'too recent' "$work/answer" || fail "two recordings in an hour: $status"
[ "$(metric 'etw_exporter_recorder_recordings_total{result="refused"}')" = 1 ] || fail "the refusal is not counted"
[ "$(metric 'etw_exporter_recorder_recordings_total{result="written"}')" = 1 ] || fail "the recording is not counted"
curl -fsS "$url/metrics" >"$work/page"
says -F "etw_exporter_recorder_last_recording_info{file=\"${file##*/}\",reason=\"a request to /-/record\"} 1" <"$work/page" ||
	fail "no name of the recording for alerts: $(grep last_recording "$work/page")"
# A storm of requests, as Alertmanager sends them: each is answered, and the disk has one recording.
cat >"$work/alert.json" <<-'JSON'
	{ "version": "4", "status": "firing", "receiver": "record", "groupLabels": { "alertname": "EtwLatencyHigh" },
	  "alerts": [ { "status": "firing", "labels": { "alertname": "EtwLatencyHigh", "instance": "server:9189" } } ] }
JSON
seq 40 | xargs -P 8 -I N curl -sS -o /dev/null -w '%{http_code}\n' -H 'Content-Type: application/json' --data "@$work/alert.json" \
	"$url/-/record" >"$work/statuses"
[ "$(grep -c '^429$' "$work/statuses")" = 40 ] || fail "a storm of requests: $(sort "$work/statuses" | uniq -c)"
[ "$(metric 'etw_exporter_recorder_recordings_total{result="refused"}')" -ge 2 ] || fail "the refusals of the storm are not counted"
[ "$(find "$work/rec" -type f | wc -l)" = 1 ] || fail "the storm left files: $(ls "$work/rec")"
status=$(curl -sS -o "$work/answer" -w '%{http_code}' "$url/-/record")
[ "$status" = 405 ] || fail "GET is answered with $status"
# A reload does not change the recorder, and says so.
config 2h ''
kill -HUP "$exporter_pid"
until_true 60 grep -q 'Setting needs a restart.*setting=recorder' "$work/log" || fail "the reload says nothing: $(cat "$work/log")"
end_exporter

# The newest two stay; files that the recorder did not write stay too. The clock was set back: the new ones stay all the same.
rm "$work/rec"/*
config 1s ', keep: 2'
others="etw_exporter-incident.etl etw_exporter-20200101T000000.000Z-copy.etl etw_exporter-20200101T000000.000Z.etl.0123456789abcdef.partial.txt"
(cd "$work/rec" && touch $others etw_exporter-20990101T000000.000Z.etl etw_exporter-20990102T000000.000Z.etl)
start_exporter --config.file="$work/config.yaml" --replay.file="$work/sample.etl" --web.enable-lifecycle
until_true 60 grep -q 'Replay finished' "$work/log" || fail "no end of the replay"
for _ in 1 2 3; do
	written() { post && [ "$status" = 200 ]; }
	until_true 60 written || fail "no further recording: $(cat "$work/answer")"
	last=$(cat "$work/answer")
done
[ -s "$last" ] || fail "the recording was removed because its time is the earliest: $(recordings)"
(cd "$work/rec" && ls $others >/dev/null) || fail "files of others were removed"
(cd "$work/rec" && rm $others)
[ "$(recordings | wc -l)" = 2 ] || fail "not two recordings: $(recordings)"
[ "$(curl -fsS "$url/metrics" | grep -c '^etw_exporter_recorder_last_recording_info')" = 1 ] || fail "not one last recording"
# After a failure the next attempt comes five seconds later, and a request in between is told why.
mv "$work/rec" "$work/away"
told() { post && [ "$status" = 429 ] && says 'the last recording failed; the next one may begin in [1-5] s$' <"$work/answer"; }
until_true 60 told || fail "after a failure: $status: $(cat "$work/answer")"
mv "$work/away" "$work/rec"
end_exporter

# Filters: the events of some providers and processes, and what names them.
rm "$work/rec"/*
config 1s ", providers: ['Windows Kernel'], processes: ['SQLSERV*']"
start_exporter --config.file="$work/config.yaml" --replay.file="$work/sample.etl" --web.enable-lifecycle
until_true 60 grep -q 'Replay finished' "$work/log" || fail "no end of the replay"
post && [ "$status" = 200 ] || fail "no recording: $(cat "$work/answer")"
dumped "$(cat "$work/answer")" | grep -vE 'EventTrace|Process/|Thread/(Start|Stop|DC)|Image/|FileIo/(Name|File)|Sys(tem)?Config|MetaData' >"$work/got"
says sqlservr <"$work/got" || fail "no event of the process"
awk '$4 != "sqlservr"' "$work/got" | says . && fail "events of others: $(awk '$4 != "sqlservr"' "$work/got" | head -3)"
end_exporter

# A rule, of a replay that goes on and on.
rm "$work/rec"/*
config 1s ", on: [{ series: 'etw_file_written_bytes_total{process=\"sqlservr\"}', above: 1, for: 1s }]"
start_exporter --config.file="$work/config.yaml" --replay.file="$work/sample.etl" --replay.loop --replay.speed=20
until_true 60 grep -q 'Recording was written' "$work/log" || fail "the rule did not fire: $(cat "$work/log")"
grep -q 'reason="etw_file_written_bytes_total' "$work/log" || fail "the reason is missing: $(cat "$work/log")"
"$ETWTOOL" summary "$(recordings | head -1)" >/dev/null || fail "the recording is damaged"
end_exporter

# A live session on the fake ETW: a rule fires while events come as fast as the session takes them; then all is quiet.
rm "$work/rec"/*
ETW_EXPORTER=$EXPORTER_ON_FAKE
cat >"$work/config.yaml" <<-'YAML'
	recorder: { dir: rec, memory: 4MiB, interval: 1s, on: [{ series: 'etw_consumer_events_total{provider="Contoso-Load"}', above: 100 }] }
	sessions: { etw_exporter: { providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] } }
YAML
cp "$work/config.yaml" "$work/whole.yaml"
printf 'recorder: { dir: rec, memory: 4MiB }\nsessions:\n' >"$work/config.yaml"
printf '  %s: { logger: user, providers: [a-provider] }\n' one two three >>"$work/config.yaml"
"$ETW_EXPORTER" --config.file="$work/config.yaml" --web.listen-address=127.0.0.1:0 </dev/null >/dev/null 2>"$work/log" &&
	fail "4 MiB are enough for four sessions"
says 'bytes are too few for 4 sessions' <"$work/log" || fail "no word about the memory: $(cat "$work/log")"
mv "$work/whole.yaml" "$work/config.yaml"
mkfifo "$work/commands"
exec 3<>"$work/commands"
exporter_input=$work/commands
start_exporter --config.file="$work/config.yaml" --web.enable-lifecycle
up() { [ "$(metric 'etw_session_up{session="etw_exporter"}')" = 1 ]; }
until_true 60 up || fail "the session is not up"
echo "flood $work/sample.etl 3" >&3
until_true 60 grep -q 'Recording was written' "$work/log" || fail "the rule did not fire: $(cat "$work/log")"
until_true 120 grep -q '"phase":"flood"' "$work/stdout" || fail "no end of the flood"
for file in $(recordings | head -1); do
	"$ETWTOOL" summary "$file" >/dev/null || fail "the recording of the rule is damaged"
	dumped "$file" | says 'Contoso-Load' || fail "no event of the provider in $file"
done
written() { post && [ "$status" = 200 ]; }
until_true 60 written || fail "no recording of the quiet session: $(cat "$work/answer")"
file=$(cat "$work/answer")
[ "$(of_log lost)" = 0 ] || fail "events are missing although the session was quiet"
# The provider numbers its events: none is missing, up to the last.
dumped "$file" | sed -n 's/.*Contoso-Load.* value=\([0-9]*\).*/\1/p' | sort -n >"$work/values"
[ "$(wc -l <"$work/values")" -gt 100 ] || fail "only $(wc -l <"$work/values") events of the provider"
[ "$(($(tail -1 "$work/values") - $(head -1 "$work/values") + 1))" = "$(sort -u "$work/values" | wc -l)" ] ||
	fail "the events of the provider have gaps"
dumped "$file" | head -n -"$(of_log events)" | says 'Process/DCStart' || fail "no rundown of processes"
kill -KILL "$exporter_pid" && wait "$exporter_pid" || true

# Without kernel events, a process that started after the exporter has its name, also when its start is no longer in the window.
rm "$work/rec"/*
cat >"$work/config.yaml" <<-'YAML'
	kernel_events: off
	recorder: { dir: rec, memory: 4MiB, interval: 1s }
	sessions: { one: { logger: user, providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] } }
YAML
end_signal=KILL # asked to end, it waits for the end of its input
start_exporter --config.file="$work/config.yaml" --web.enable-lifecycle
echo 'start \Device\HarddiskVolume3\late.exe 4712' >&3
for _ in 1 2 3; do
	echo "burst $work/sample.etl 20000" >&3
done
bursts() { [ "$(grep -c '"phase":"burst"' "$work/stdout")" = 3 ]; }
until_true 120 bursts || fail "no end of the bursts"
until_true 60 written || fail "no recording without kernel events: $(cat "$work/answer")"
dumped "$(cat "$work/answer")" >"$work/got"
says 'Process/Start' <"$work/got" && fail "the start is still in the window"
[ "$(grep -c ' late .*Contoso-Load' "$work/got")" -gt 100 ] || fail "the process has no name: $(grep Contoso-Load "$work/got" | tail -2)"
echo "ok: recordings of replays and of a live session"
