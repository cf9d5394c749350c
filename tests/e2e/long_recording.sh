#!/usr/bin/env bash
# A long recording takes no more memory than a short one of the same processes and files, and what is counted is what was recorded.
# The recording is on no disk: long_recording.c makes it of copies of a short one while it is read. By default of 64 and 640 MB; with
# LONG_TESTS=1 of 10 and 100 GB, which takes half an hour.
. "${BASH_SOURCE%/*}/lib.bash"

[ -e "${LONG_RECORDING_LIBRARY:-}" ] || skip "no library to preload"
megabytes=64
! is_long || megabytes=10000

template=$work/long.etl
records=$("$MAKE_SAMPLE" --plain-size=4MiB "$template")
records=${records%% *}
copy=$(($(stat -c %s "$template") - 65536)) # without the first buffer
copies=$((megabytes * 1000000 / copy))
# With the tables full, all that grows is what is kept for the recording itself.
echo 'limits: { processes: 500, threads: 1000, files: 1000 }' >"$work/config.yaml"

# read_long COPIES ARGUMENT...: reads it, leaves the page in $work/page-COPIES, and prints the largest resident size.
read_long() {
	peak_output=$work/page-$1 peak env LONG_RECORDING="$template" LONG_RECORDING_COPIES="$1" LD_PRELOAD="$LONG_RECORDING_LIBRARY" \
		"$ETW_EXPORTER" --once --config.file="$work/config.yaml" --replay.file="$template" "${@:2}"
}

# check_counts COPIES: every sum over a family is that of one copy times their number. The first buffer is there once: one record.
# Left out are what the program says of itself, and durations, which reach from a time in the payload to that of the record.
check_counts() {
	python3 - "$work/page-1" "$work/page-$1" "$1" "$records" <<'END' || fail "$1 copies are counted otherwise than one, see above"
import re, sys

def sums(path):
    types, result = {}, {}
    for line in open(path, encoding="utf-8"):
        if line.startswith("# TYPE "):
            types[line.split()[2]] = line.split()[3]
        elif line[0] != "#":
            name = re.match(r"\w+", line).group()
            result[name] = result.get(name, 0) + float(line.rsplit(" ", 1)[1])
    return {name: value for name, value in result.items() if types.get(name) == "counter" and value > 0 and not
            re.match(r"process_|etw_session_|etw_state_|etw_exporter_|etw_consumer_(busy|unattributed)|.*_seconds", name)}

FIRST_BUFFER = {"etw_consumer_buffers_total", "etw_consumer_events_total", "etw_consumer_records_total", "etw_events_total",
                "etw_provider_events_total", "etw_schema_cache_lookups_total"}
one, many, copies, records = sums(sys.argv[1]), sums(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
bad = 0
for name in one.keys() | many.keys():
    header = name in FIRST_BUFFER
    if many.get(name, 0) - header != copies * (one.get(name, 0) - header):
        bad += 1
        print(f"{name}: {one.get(name)} in one copy, {many.get(name)} in {copies}")
if one["etw_consumer_records_total"] != records:
    bad += 1
    print(f"{one['etw_consumer_records_total']} records of {records}")
if len(many) < 15:
    bad += 1
    print(f"only {sorted(many)}")
sys.exit(bad != 0)
END
}

# check_memory ALLOWED ARGUMENT...: of ten times as much, a tenth more and ALLOWED bytes at most.
check_memory() {
	local small large most

	read_long 1 "${@:2}" >/dev/null
	small=$(read_long "$copies" "${@:2}")
	large=$(read_long $((10 * copies)) "${@:2}")
	most=$((small + small / 10 + $1))
	[ "$large" -le "$most" ] ||
		fail "${*:2} $large bytes for a recording of $((10 * megabytes)) MB, $small for one of $megabytes MB"
	check_counts "$copies"
	check_counts $((10 * copies))
	echo "ok: ${2:-two passes}: $((small >> 10)) KiB for $megabytes MB, $((large >> 10)) KiB for $((10 * megabytes)) MB," \
		"$((10 * copies * (records - 1) + 1)) records"
}

check_memory 0 --replay.single-pass
# The index of two passes has 48 bytes for each buffer of 64 KiB, and sorting it takes 16 more.
check_memory $((64 * 10 * copies * (copy / 65536)))
