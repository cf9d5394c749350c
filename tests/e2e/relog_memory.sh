#!/usr/bin/env bash
# etwtool relog: its memory does not grow with the recording, except for what docs/relog.md says. By default with 128 MiB; with
# LONG_TESTS=1 with 10 GiB, or as much as the disk has room for.
. "${BASH_SOURCE%/*}/lib.bash"

large=$((128 << 20))
if is_long; then
	free=$(($(df --output=avail -B1 "$work" | tail -n 1) / 4))
	large=$((10 << 30))
	[ "$large" -lt "$free" ] || large=$free
fi
small=$((16 << 20))
# What a sanitizer keeps of freed memory is not ours.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=1:malloc_context_size=0

"$MAKE_SAMPLE" --plain-size=$small "$work/small.etl" >/dev/null
"$MAKE_SAMPLE" --plain-size=$large "$work/large.etl" >/dev/null
large=$(stat -c %s "$work/large.etl")
# An eighth, because every part has what describes others in the whole recording, here a hundredth of it.
for options in "" --compress --drop-stacks "--split $((large >> 23))MiB" "--process svchost" "--set DiskIo/Read.TransferSize=512"; do
	# shellcheck disable=SC2086
	for of in small large; do
		declare "$of"_peak="$(peak "$ETWTOOL" relog "$work/$of.etl" -o "$work/out.etl" $options)"
		[ -n "$options" ] || cmp "$work/$of.etl" "$work/out.etl" || fail "not the same bytes"
		rm -f "$work"/out*.etl
	done
	# A bit for each record, and 112 bytes for each buffer, if anything.
	most=$((small_peak + (8 << 20) + large / 200))
	# shellcheck disable=SC2154
	[ "$large_peak" -le "$most" ] || fail "relog $options: $large_peak bytes for a recording of $large, $small_peak for one of $small"
	echo "ok: relog $options: $((small_peak >> 10)) KiB, of $((large >> 20)) MiB $((large_peak >> 10)) KiB"
done
