#!/usr/bin/env bash
# Compares what two builds of this project print for the same recordings, to prove that a change leaves behaviour alone:
#
#     bash tests/compare_builds.sh BEFORE AFTER [RECORDING.etl...]
#
# BEFORE and AFTER are build directories (build/release of two checkouts). Without recordings it takes those of
# ../shared/traces, where they are at hand, and the sample that BEFORE makes. Compared are the exposition with every shipped
# collector on, the messages beside it, all reports of etwtool on a recording, the list of metrics and the help texts.
# Prints the first differing lines of each output that differs, and exits with 1 when any does.
set -u
if [ $# -lt 2 ] || [ ! -x "$1/etw_exporter" ] || [ ! -x "$2/etw_exporter" ]; then
	echo "usage: bash tests/compare_builds.sh BEFORE AFTER [RECORDING.etl...]" >&2
	exit 2
fi
before=$1 after=$2
shift 2
root=$(cd "$(dirname "$0")/.." && pwd)
out=$(mktemp -d) || exit 1
trap 'rm -rf "$out"' EXIT
collectors=()
for file in "$root"/config/collectors/*.yaml; do
	collectors+=("--collector.$(basename "$file" .yaml)")
done
if [ $# -eq 0 ]; then
	"$before/make_sample" "$out/sample.etl" || exit 1
	set -- "$out/sample.etl"
	for file in "$root"/../shared/traces/*.etl; do
		[ -e "$file" ] && set -- "$@" "$file"
	done
fi

compared=0 different=0
compare() { # label, arguments of a program; the first is its name
	local label=$1 program=$2 build status
	shift 2
	for build in before after; do
		"${!build}/$program" "$@" >"$out/$build.text" 2>"$out/$build.messages"
		status=$?
		# What the exporter says about its own process, CPU time and build differs from run to run.
		sed -i -E '/^(etw_exporter_(build_info|config_|process_|scrape)|process_|etw_consumer_busy_seconds)/d' "$out/$build.text"
		# The time that a message begins with.
		sed -E 's/^[^ ]*(time|ts)=[^ ]+ //' "$out/$build.messages" >>"$out/$build.text"
		echo "exit status $status" >>"$out/$build.text"
	done
	compared=$((compared + 1))
	if ! cmp -s "$out/before.text" "$out/after.text"; then
		different=$((different + 1))
		echo "different: $label"
		diff "$out/before.text" "$out/after.text" | head -n 8
	fi
}

for file; do
	name=$(basename "$file")
	compare "$name: metrics" etw_exporter --replay.file="$file" --once "${collectors[@]}"
	for report in summary stats providers dump "dump --format text" "dump --format csv"; do
		# shellcheck disable=SC2086 # the words of a report are its arguments
		compare "$name: etwtool $report" etwtool $report "$file"
	done
done
compare "etwtool metrics" etwtool metrics
compare "etw_exporter --help" etw_exporter --help
compare "etwtool --help" etwtool --help
for command in summary stats providers fields dump check backfill metrics sessions; do
	compare "etwtool $command --help" etwtool "$command" --help
done
echo "$compared outputs compared, $different different"
[ "$different" -eq 0 ]
