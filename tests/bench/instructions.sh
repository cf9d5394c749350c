#!/usr/bin/env bash
# Instructions of the processor a record, for replays of recordings (both passes, default collectors, without the start of the program and
# the thread that unpacks), and of the start itself. Unlike times they hardly differ from run to run, so that a change of 1 % is seen. Wants valgrind and the release build.
# usage: bash tests/bench/instructions.sh RECORDING...
set -euo pipefail

bin=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)/build/release
counts=$(mktemp)
trap 'rm -f "$counts"' EXIT

# Runs the exporter, and prints the instructions within the function, or all for "".
count() { # function, argument...
	valgrind --tool=callgrind --callgrind-out-file="$counts" ${1:+--toggle-collect="$1"} "$bin/etw_exporter" "${@:2}" >/dev/null 2>&1
	awk '$1 == "totals:" { print $2 }' "$counts"
}

printf '%-46s %14s instructions\n' startup.check_config "$(count "" --check-config)"
for recording in "$@"; do
	records=$("$bin/etwtool" summary "$recording" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"])')
	printf '%-46s %14s instructions a record\n' "replay.$(basename "$recording" .etl)" \
		$(($(count pipeline_run --once --replay.file="$recording") / records))
done
