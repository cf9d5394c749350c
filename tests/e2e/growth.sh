#!/usr/bin/env bash
# How cost and memory grow with what there is many of: processes, series, files, processors, files of a recording, families of a
# configuration, sessions. Ten times as many must cost less than eleven times as much. Cost is instructions of the processor, counted
# by valgrind, and memory the largest resident size: a busy machine changes neither. What a run without any of them takes is left out
# of both. With LONG_TESTS=1: a million processes, files and names, which are ten million series; it takes two hours.
. "${BASH_SOURCE%/*}/lib.bash"

command -v valgrind >/dev/null || skip "valgrind is not installed: bash .ci/deps-more-tests.sh"

count=500 names=10000 others=50000
! is_long || count=100000 names=100000 others=100000

# Of tables nothing is dropped, so that all of them grow.
cat >"$work/all.yaml" <<-'YAML'
	limits: { series_per_family: 50000000, series: 50000000, processes: 20000000, threads: 20000000, files: 20000000, strings: 8GiB }
YAML

# instructions COMMAND...: how many it executes.
instructions() {
	valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file="$work/counts" "$@" >/dev/null 2>"$work/err" ||
		fail "$*: exit $?: $(tail -3 "$work/err")"
	awk '$1 == "summary:" { print $2 }' "$work/counts"
}

# grown WHAT UNIT COUNT NONE SMALL LARGE: what COUNT and ten times as many take, beyond what none take.
grown() {
	awk -v what="$1" -v unit="$2" -v count="$3" -v none="$4" -v small="$5" -v large="$6" 'BEGIN {
		small -= none
		large -= none
		printf "%s: %.0f %s each with %d, %.0f with %d; together %.2f times as much\n", what, small / count, unit, count,
			large / count / 10, 10 * count, large / small
		exit !(small > 0 && large / small < 11)
	}' >"$work/line" || fail "$(cat "$work/line")"
	echo "growth: $(cat "$work/line")"
}

# configuration_of COUNT: a configuration with a collector of so many families; its path is then in recording.
configuration_of() {
	recording=$work/families_$1.yaml
	echo "collector_files: [many_$1.yaml]" >"$recording"
	{
		printf 'collector: many_%d\nhelp: H.\ndefault: on\nmetrics:%s\n' "$1" "$([ "$1" -gt 0 ] || echo ' []')"
		seq -f '- { name: my_%.0f_total, type: counter, help: H., events: [{ event: Process/Start }] }' "$1"
	} >"$work/many_$1.yaml"
}

# recording_of WHAT COUNT: a recording of so many; its path, or the pattern of several files, is then in recording.
recording_of() {
	local folder=$work/set-$2

	[ "$1" != families ] || { configuration_of "$2" && return; }
	recording=$work/$1-$2.etl
	if [ "$1" != set ]; then
		[ -e "$recording" ] || "$MAKE_MANY" "$recording" "$1" "$2"
		return
	fi
	recording="$folder/p_*.etl" # of the same minute; for 0 one file
	if [ ! -d "$folder" ]; then
		mkdir "$folder"
		[ -e "$work/minute.etl" ] || "$MAKE_MANY" "$work/minute.etl" processors 1
		"$ETWTOOL" relog "$work/minute.etl" -o "$folder/p.etl" --split "$(($2 > 0 ? 60000 / $2 : 120000))ms" >/dev/null
	fi
}

# measure HOW UNIT COUNT WHAT TITLE COMMAND...: {} in the command is a recording of none, COUNT, or ten times COUNT of WHAT.
declare -A none # what a command takes without any
measure() {
	local how=$1 unit=$2 count=$3 what=$4 title=$5 number values=()

	shift 5
	for number in 0 "$count" $((10 * count)); do
		recording_of "$what" "$number"
		if [ "$number" = 0 ] && [ -n "${none[$how $*]:-}" ]; then
			values+=("${none[$how $*]}")
		else
			values+=("$("$how" "${@//\{\}/$recording}")")
		fi
	done
	none[$how $*]=${values[0]}
	grown "$title" "$unit" "$count" "${values[@]}"
}
cost() { measure instructions instructions "$@"; }
memory() { measure peak bytes "$@"; }

once=("$ETW_EXPORTER" --once "--replay.file={}" "--config.file=$work/all.yaml")
for what in names processes starts files; do
	cost "$count" "$what" "etw_exporter, $what" "${once[@]}"
done
# So many that they need much more than a start of the program, whose memory is used again.
memory "$names" names "etw_exporter, names" "${once[@]}"
memory "$others" processes "etw_exporter, processes" "${once[@]}"
memory 100000 files "etw_exporter, files" "${once[@]}"
# Tables that are full: what comes takes the place of something, or counts as _other.
cost "$count" names "etw_exporter, names beyond the limits" "$ETW_EXPORTER" --once "--replay.file={}"
cost "$count" starts "etwtool stats, starts" "$ETWTOOL" stats "{}"
cost $((count / 10)) names "etwtool report, names" "$ETWTOOL" report "{}" -o "$work/report.html"
cost "$count" names "etwtool top, names" "$ETWTOOL" top "{}" --batch --speed 0 --count 1
cost 25 processors "etw_exporter, processors" "${once[@]}"
cost 100 fields "etwtool stats, fields of events" "$ETWTOOL" stats "{}"
cost "$((count < 1000 ? 10 : 50))" set "etwtool stats, files of one recording" "$ETWTOOL" stats "{}"
cost 500 families "etw_exporter, families of a configuration" "$ETW_EXPORTER" --check-config "--config.file={}"

# memory_of_sessions COUNT: the largest resident size of an exporter on the fake ETW with so many sessions besides one.
memory_of_sessions() {
	local i

	{
		echo 'kernel_events: off'
		echo 'sessions:'
		for ((i = 0; i <= $1; i++)); do
			printf '  s%02d: { logger: user, providers: ["{%08x-0000-0000-0000-000000000000}"] }\n' "$i" $((i + 1))
		done
	} >"$work/sessions.yaml"
	ETW_EXPORTER=$EXPORTER_ON_FAKE start_exporter --config.file="$work/sessions.yaml"
	until_true 60 sessions_are_up $(($1 + 1)) || fail "$1 sessions: not all are up: $(tail -3 "$work/log")"
	resident=$(($(sed -n 's/^VmHWM:[[:space:]]*\([0-9]*\) kB/\1/p' "/proc/$exporter_pid/status") * 1024))
	echo quit >&3
	kill -INT "$exporter_pid"
	wait "$exporter_pid" || fail "$1 sessions: exit $? after SIGINT: $(tail -3 "$work/log")"
}
sessions_are_up() { [ "$(curl -fsS "$url/metrics" | grep -c '^etw_session_up{.*} 1$')" = "$1" ]; }

mkfifo "$work/commands"
exec 3<>"$work/commands"
exporter_input=$work/commands
values=()
for number in 0 6 60; do
	memory_of_sessions "$number"
	values+=("$resident")
done
grown "etw_exporter, live sessions" bytes 6 "${values[@]}"
