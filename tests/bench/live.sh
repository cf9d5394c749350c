#!/usr/bin/env bash
# What an event of a live session costs, by collector, and what share of a processor the exporter takes at several rates of events. The live
# code runs as it ships; in place of Windows stands tests/fake_etw, without a copy of its own (tests/bench/bench_live.c, tests/fake_etw/kept.c).
# Instructions, counted by callgrind, hardly differ from run to run; compare times of one run only.
# usage: bash tests/bench/live.sh [--rounds N] [--seconds N] [--times] [--beside BUILD]... [RECORDING...]
# --rounds: for each collector (7). --seconds: for each rate (20; 0: no rates). --times: no instructions, which take minutes.
# --beside: the rates of another build, too, in turn with those of this one.
# RECORDING: whose events they are; the sample if there is none. BUILD_DIR in the environment: another build than build/release; a Windows
# build runs under Wine, without instructions.
set -euo pipefail
shopt -s inherit_errexit # a program that fails ends the whole

cd "$(dirname "${BASH_SOURCE[0]}")/../.."
build=${BUILD_DIR:-build/release} rounds=7 seconds=20 runner=() exe='' beside=()
if [ -f "$build/etw_bench.exe" ]; then
	exe=.exe runner=("${WINE64:-/usr/lib/wine/wine64}")
fi
count_instructions=
if [ -z "$exe" ] && command -v valgrind >/dev/null; then
	count_instructions=yes
fi
while [[ ${1-} == --* ]]; do
	case $1 in
	--rounds) rounds=$2 && shift ;;
	--seconds) seconds=$2 && shift ;;
	--times) count_instructions= ;;
	--beside) beside+=("$2") && shift ;;
	*) sed -n '/^# usage/s/^# //p' "${BASH_SOURCE[0]}" >&2 && exit 2 ;;
	esac
	shift
done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The instructions of each row in turn, a record: the warm-up round counts too.
instructions() { # recording, records
	valgrind --tool=callgrind --toggle-collect=bench_live_deliver --dump-after=bench_live_row --callgrind-out-file="$work/counts" \
		"$build/etw_bench" live "$1" 1 >/dev/null 2>&1
	for ((row = 1; ; row++)); do
		[ -f "$work/counts.$row" ] || break
		awk -v records="$2" '$1 == "totals:" { printf "%.0f\n", $2 / records / 2 }' "$work/counts.$row"
	done
}

table() { # recording
	local records

	"${runner[@]}" "$build/etw_bench$exe" live "$1" "$rounds" | tr -d '\r' >"$work/times"
	records=$(awk '$1 == "live.none.records" { printf "%d", $2 }' "$work/times")
	printf '%s: %s records\n%-14s %13s %17s %20s %14s\n' "$(basename "$1")" "$records" collectors 'ns a record' '(least, most)' \
		'instructions a record' 'counted, %'
	if [ -n "$count_instructions" ]; then
		instructions "$1" "$records" >"$work/instructions"
	else
		awk '/\.counted / { print "-" }' "$work/times" >"$work/instructions"
	fi
	awk -v instructions="$work/instructions" '
		$1 ~ /\.records$/ { next }
		$1 ~ /\.counted$/ {
			getline count <instructions
			printf "%-14s %13.1f %17s %20s %14.1f\n", name, ns, "(" least ", " most ")", count, $2
			next
		}
		{ name = substr($1, 6); ns = $2; least = $5; most = $7 }' "$work/times"
}

# The whole program of a build, with the default collectors and without scrapes, is given so many events a second; one line of JSON.
paced() { # build, recording, events a second
	local pid

	rm -f "$work/commands"
	mkfifo "$work/commands"
	"${runner[@]}" "$1/tests/exporter_on_fake$exe" --web.listen-address=127.0.0.1:0 <"$work/commands" >"$work/paced" 2>"$work/log" &
	pid=$!
	exec 3>"$work/commands"
	until grep -q 'msg="*Listening' "$work/log"; do
		kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2 && exit 1; }
		sleep 0.1
	done
	echo "pace $2 $3 $seconds" >&3
	echo quit >&3
	exec 3>&-
	until [ "$(wc -l <"$work/paced")" -gt 0 ]; do
		kill -0 "$pid" 2>/dev/null || { cat "$work/log" >&2 && exit 1; }
		sleep 0.2
	done
	kill -INT "$pid"
	wait "$pid" || true
	tr -d '\r' <"$work/paced"
}

# Several builds in turn, so that what else the machine does meets all of them. 0 events a second is what the program takes when
# nothing happens.
rates() { # recording
	local rate measured

	printf '\n%12s %16s %22s %28s  %s\n' 'events/s' 'delivered/s' '% of a processor' '% of it in the consumer' build
	for rate in 0 10000 100000 1000000; do
		for measured in "${beside[@]}" "$build"; do
			paced "$measured" "$1" "$rate" | python3 -c '
import json, sys
row = json.loads(sys.stdin.readline())
print("%12d %16.0f %22.2f %28.0f  %s" % (row["asked"], row["delivered"] / row["seconds"], 100 * row["cpu_seconds"] / row["seconds"],
                                         100 * row["consumer_cpu_seconds"] / max(row["cpu_seconds"], 1e-9), sys.argv[1]))' "$measured"
		done
	done
}

if [ $# -eq 0 ]; then
	"${runner[@]}" "$build/make_sample$exe" "$work/sample.etl" >/dev/null
	set -- "$work/sample.etl"
fi
for recording in "$@"; do
	table "$recording"
	echo
done
[ "$seconds" = 0 ] || rates "$1"
