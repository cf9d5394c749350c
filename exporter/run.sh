#!/usr/bin/env bash
# Builds the exporter and replays recordings in a loop, at recorded speed; without any it makes a sample.
set -euo pipefail

usage() {
	cat <<'END'
usage: bash exporter/run.sh [FILE.etl...] [FLAGS OF THE EXPORTER...]

Installs what the build needs (Debian, Ubuntu), builds the exporter and etwtool, and replays the recordings one after the other in a loop, at
recorded speed. Without a recording it makes a sample in build/sample.etl: one minute of a server. Serves http://localhost:9189/metrics
until Ctrl-C.

What begins with "-" and all that follows goes to the exporter, for instance:
  --web.listen-address=:9333       another port
  --replay.speed=10                ten times as fast as recorded
  --collector.cpu                  switch on a collector
build/release/etw_exporter --help lists all flags, once it is built.
END
}
die() { echo "run.sh: $*" >&2; exit 1; }

recordings=()
while [[ $# -gt 0 && $1 != -* ]]; do
	[ ! -d "$1" ] || die "$1 is a folder; name the recordings in it, such as $1/*.etl"
	[ -e "$1" ] || die "$1: no such file"
	[ -r "$1" ] || die "$1: cannot be read"
	recordings+=("--replay.file=$(realpath "$1")")
	shift
done
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
	usage
	exit 0
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash .ci/deps-debian.sh
targets=(etw_exporter etwtool)
[ ${#recordings[@]} -gt 0 ] || targets+=(make_sample)
cmake --preset release
cmake --build --preset release --target "${targets[@]}"
if [ ${#recordings[@]} -eq 0 ]; then
	build/release/make_sample build/sample.etl
	recordings=(--replay.file=build/sample.etl)
fi

# Passes the log on; behind each line that names an address, says what to open in a browser: the landing page, beside the metrics.
with_address() {
	trap '' INT TERM
	sed -u -E '/Listening/ {
		p
		s/.*address"?[:=]"?([^ ",]*):[0-9]+"?[, ]"?port"?[:=]([0-9]+)[, ]"?path"?[:=]"?([^" }]*\/)[^" }]*.*/Look at http:\/\/\1:\2\3; Ctrl-C ends./
		s#http://(0\.0\.0\.0|\[::\])?:#http://localhost:#
	}' >&2
}
exec build/release/etw_exporter "${recordings[@]}" --replay.loop --replay.speed=1 "$@" 2> >(with_address)
