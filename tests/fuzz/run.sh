#!/usr/bin/env bash
# Runs fuzz targets one after the other: usage: run.sh [--seconds N] [--add-totals] [--merge] [TARGET...], all without TARGET.
#
# A target (preset fuzz, which must be built) starts from tests/fuzz/corpus, from the seeds of build/release/fuzz_seeds, and from
# build/fuzz/corpus, which grows from run to run. What ends it, crashes, hangs or leaks, is kept in build/fuzz/findings.
# --add-totals: adds the executions to tests/fuzz/totals.csv. --merge: instead of fuzzing, adds inputs to tests/fuzz/corpus that reach
# what neither its inputs nor the seeds reach, the smallest first, up to CORPUS_BYTES of a target.
# The exit status is 1 after a finding.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1

CORPUS_BYTES=81920 INPUT_BYTES=8192

seconds=15 add_totals=0 merge=0 targets=()
while [ $# -gt 0 ]; do
	case $1 in
	--seconds) seconds=${2:-} && shift ;;
	--add-totals) add_totals=1 ;;
	--merge) merge=1 ;;
	-*) echo "usage: run.sh [--seconds N] [--add-totals] [--merge] [TARGET...]" >&2; exit 2 ;;
	*) targets+=("$1") ;;
	esac
	shift
done
if [ ${#targets[@]} -eq 0 ]; then
	for file in tests/fuzz/fuzz_*.c; do
		targets+=("$(basename "$file" .c)")
	done
fi

# AddressSanitizer would keep 256 MB of freed memory from being used again, and give memory back to the system. Most of the time would
# then go into page faults.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}quarantine_size_mb=16:allocator_release_to_os_interval_ms=-1

work=build/fuzz
mkdir -p $work/findings
make_seeds() {
	flock 9 # two may run at once
	[ build/release/fuzz_seeds -nt $work/seeds/made ] || return 0
	rm -rf $work/seeds
	mkdir -p $work/seeds
	build/release/fuzz_seeds $work/seeds && touch $work/seeds/made
}
make_seeds 9>$work/seeds.lock || exit 1

folders_of() { # target: the folders of its inputs, the one that grows first
	local folder

	mkdir -p "$work/corpus/$1"
	for folder in "$work/corpus/$1" "tests/fuzz/corpus/$1" "$work/seeds/$1"; do
		[ ! -d "$folder" ] || echo "$folder"
	done
}

fuzz() { # target
	local folders options=() started=$SECONDS status

	mapfile -t folders < <(folders_of "$1")
	python3 tests/fuzz/dictionary.py "$1" >"$work/$1.dict"
	[ ! -s "$work/$1.dict" ] || options=("-dict=$work/$1.dict")
	# An input takes milliseconds; a minute is not reached because the machine is busy.
	"$work/$1" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -print_final_stats=1 "${options[@]}" \
		-artifact_prefix="$work/findings/$1-" "${folders[@]}" >"$work/$1.log" 2>&1
	status=$?
	if [ "$add_totals" -eq 1 ]; then
		python3 tests/fuzz/totals.py --add "$1" "$work/$1.log" $((SECONDS - started)) $((status != 0))
	fi
	if [ "$status" -ne 0 ]; then
		tail -n 40 "$work/$1.log"
		echo "$1: see $work/$1.log; the input is in $work/findings"
		return 1
	fi
	grep -aE '^(stat::(number_of_executed_units|average_exec_per_sec|peak_rss_mb)|Done )' "$work/$1.log"
}

# Edges alone decide (-use_counters=0), because a corpus that has every number of turns of every loop would be large.
merge() { # target
	local added=0 to=tests/fuzz/corpus/$1 all=$work/merged bytes file size

	rm -rf $all
	mkdir -p $all "$to"
	find "$work/seeds/$1" "$to" -type f -exec cp -t $all {} +
	touch $work/merging
	"$work/$1" -merge=1 -use_counters=0 -use_value_profile=0 -timeout=60 -rss_limit_mb=2048 $all "$work/corpus/$1" \
		>"$work/$1.merge.log" 2>&1 || { tail -n 5 "$work/$1.merge.log"; return 1; }
	size=$(find "$to" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum + 0 }')
	while read -r bytes file; do
		if [ "$bytes" -le $INPUT_BYTES ] && [ $((size + bytes)) -le $CORPUS_BYTES ]; then
			cp "$file" "$to"
			size=$((size + bytes)) added=$((added + 1))
		fi
	done < <(find $all -type f -newer $work/merging -printf '%s %p\n' | sort -n)
	echo "$1: $added inputs added, $(find "$to" -type f | wc -l) in all, $size bytes"
}

failed=0
for target in "${targets[@]}"; do
	if [ "$merge" -eq 1 ]; then
		merge "$target" || failed=1
	else
		fuzz "$target" || failed=1
	fi
done
exit $failed
