#!/usr/bin/env bash
# Measures the release build and prints one line a figure: name, value, unit. Each value is the median of several runs.
# Machines are noisy: compare figures of one run with each other, not with those of another day.
# usage: bash tests/bench/run.sh [--long] [RUNS]
# --long: also scrapes by 64 clients at once, which takes minutes, and whether scrapes of a page of a million series cost a replay at
# full speed less than 5 %; exit status 1 if they cost more.
set -euo pipefail
shopt -s inherit_errexit # a program that fails ends the whole

long=
if [ "${1:-}" = --long ]; then
	long=yes
	shift
fi

runs=${1:-5}
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
bash .ci/deps-debian.sh
bash .ci/deps-tests.sh
bash .ci/deps-more-tests.sh
cmake --preset release >/dev/null
cmake --build --preset release >/dev/null
bin=$PWD/build/release
traces=$PWD/../shared/traces
plain=build/bench/plain.etl
mkdir -p build/bench

line() { printf '%-46s %14s %s\n' "$1" "$2" "$3"; }

# Median of the seconds that a command takes, the first run (which warms the file cache) left out.
seconds() {
	local i start end
	for ((i = 0; i <= runs; i++)); do
		start=$(date +%s%N)
		"$@" >/dev/null
		end=$(date +%s%N)
		[ "$i" = 0 ] || echo $((end - start))
	done | sort -n | awk '{ v[NR] = $1 } END { printf "%.6f\n", (v[int((NR + 1) / 2)] + v[int(NR / 2) + 1]) / 2e9 }'
}

records_of() {
	"$bin/etwtool" summary "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"])'
}

replay() { # name, recording
	local records time
	records=$(records_of "$2")
	time=$(seconds "$bin/etw_exporter" --once --replay.file="$2")
	line "replay.$1.seconds" "$time" s
	line "replay.$1.rate" "$(awk -v n="$records" -v s="$time" 'BEGIN { printf "%.3f", n / s / 1e6 }')" Mrecords/s
}

# What a collector adds to the time of a processor that a replay takes, by event of the given kernel classes.
collector_cost() { # collector, recording, class...
	local events
	events=$("$bin/etwtool" summary "$2" | python3 -c 'import json, sys
print(sum(p["events"] for p in json.load(sys.stdin)["providers"].values() if p["name"] in sys.argv[1:]))' "${@:3}")
	python3 - "$runs" "$events" "$bin/etw_exporter" --once --replay.file="$2" "--collector.$1" <<-'PYTHON' | while read -r value; do line "$1.event" "$value" ns; done
		import os, statistics, subprocess, sys
		runs, events, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
		def processor_seconds(arguments):
		    process = subprocess.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
		    return os.wait4(process.pid, 0)[2].ru_utime
		pairs = [(processor_seconds(command), processor_seconds(command[:-1])) for _ in range(runs)]
		print(f"{(statistics.median(p[0] for p in pairs) - statistics.median(p[1] for p in pairs)) / events * 1e9:.0f}")
	PYTHON
}

[ "$plain" -nt "$bin/make_sample" ] || "$bin/make_sample" --plain-size=1GiB "$plain" >/dev/null
"$bin/make_sample" build/bench/sample.etl >/dev/null

startup=$(seconds "$bin/etw_exporter" --check-config)
line startup.check_config "$(awk -v s="$startup" 'BEGIN { printf "%.3f", s * 1e3 }')" ms
replay sample build/bench/sample.etl
replay plain_1GiB "$plain"
collector_cost disk_cause "$plain" FileIo DiskIo
if [ -f "$traces/net.4.5.2.x64.etl" ]; then
	replay net.4.5.2.x64 "$traces/net.4.5.2.x64.etl"
	"$bin/etw_bench" decode "$traces/net.4.5.2.x64.etl" "$runs"
fi
# A recording written again, against the same bytes read and written by dd, both without waiting for the disk.
copied=$(seconds dd if="$plain" of=build/bench/copy bs=64k status=none)
for options in "" "--compress" "--drop-stacks" "--set DiskIo/Read.TransferSize=512"; do
	# shellcheck disable=SC2086
	time=$(seconds "$bin/etwtool" relog "$plain" -o build/bench/copy $options)
	name=relog.plain_1GiB${options:+.$(sed 's/^--//; s/ .*//' <<<"$options")}
	line "$name.seconds" "$time" s
	line "$name.of_dd" "$(awk -v a="$copied" -v b="$time" 'BEGIN { printf "%.2f", a / b }')" ratio
done
rm -f build/bench/copy build/bench/ten_fields.etl build/bench/files.etl build/bench/minifilter.etl
"$bin/etw_bench" rules tests/bench/ten_fields_config.yaml build/bench/ten_fields.etl "$runs"
"$bin/etw_bench" minifilter build/bench/minifilter.etl "$runs"
"$bin/etw_bench" files build/bench/files.etl "$runs"
"$bin/etw_bench" face build/bench/sample.etl "$runs"
"$bin/etw_bench" groups "$runs"
"$bin/etw_bench" recorder build/bench/sample.etl "$runs"
"$bin/etw_bench" counter
for series in 10000 100000 1000000; do
	"$bin/etw_bench" render "$series" "$runs"
done
"$bin/etw_bench" hist 100000 "$runs"
"$bin/etw_bench" observe
"$bin/etw_bench" encode 300000 "$runs"
for series in 10000 100000 1000000; do
	for clients in 1 8 ${long:+64}; do
		"$bin/etw_bench" scrape "$series" "$runs" "$clients"
	done
done
"$bin/etw_bench" mem 1000000
if [ -n "$long" ]; then
	"$bin/etw_bench" beside_replay "$plain" 1000000 $((runs < 10 ? 10 : runs)) | tee build/bench/beside_replay
	awk '$1 == "beside_replay.each_second.ratio" && $2 < 1.05 { good++ } $1 == "beside_replay.lost" && $2 == 0 { good++ } END { exit good != 2 }' \
		build/bench/beside_replay
fi
