#!/usr/bin/env bash
# Builds the exporter and replays a recording in a loop, at recorded speed: FILE.etl, else a sample made on the spot.
# usage: exporter/run.sh [FILE.etl [exporter arguments…]]
set -euo pipefail

if [[ ${1:-} == -h || ${1:-} == --help ]]; then
	echo "usage: bash exporter/run.sh [FILE.etl [exporter arguments...]]"
	exit 0
fi
if [[ $# -gt 0 && $1 != -* ]]; then
	[ -f "$1" ] || { echo "run.sh: $1: no such file" >&2; exit 1; }
	recording=$(realpath "$1")
	shift
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash .ci/deps-debian.sh
cmake --preset release
cmake --build --preset release
if [ -z "${recording:-}" ]; then
	recording=$PWD/build/sample.etl
	build/release/make_sample "$recording"
fi
echo
echo "Replaying $recording. Look at http://localhost:9189/metrics; Ctrl-C ends."
exec build/release/etw_exporter --replay.file="$recording" --replay.loop --replay.speed=1 "$@"
