#!/usr/bin/env bash
# Threads change nothing that is printed: pages, tables, lines and reports with one, and with one that reads ahead, or more that make
# lines or compress buffers. In a slow build (lib.bash) only several threads run, on the sample, and no sanitizer may complain.
. "${BASH_SOURCE%/*}/lib.bash"

# What a run says about itself is another each time.
of_itself='^(# (HELP|TYPE) )?(process_|etw_consumer_busy|etw_consumer_lag|etw_exporter_(config|scrape|http|memory))'

counts="1 2" dump_counts="2 3 8"
! is_slow || counts=2 dump_counts=3

# same NAME COMMAND...: prints the same with both, and exits alike.
same() {
	local name=$1 threads status
	shift
	for threads in $counts; do
		status=0
		"${@//THREADS/$threads}" >"$work/$threads.out" 2>"$work/$threads.err" || status=$?
		! grep -qE 'Sanitizer|runtime error' "$work/$threads.err" || fail "$name: $threads threads: $* $(head -20 "$work/$threads.err")"
		echo "exit $status" >>"$work/$threads.out"
		sed -E '/^ts=/d' "$work/$threads.err" >>"$work/$threads.out"
		grep -vE "$of_itself" "$work/$threads.out" >"$work/$threads"
	done
	is_slow || cmp -s "$work/1" "$work/2" || fail "$name: $* differs: $(diff "$work/1" "$work/2" | head -5)"
}

for recording in $(if is_slow; then recordings | head -1; else some_recordings; fi); do
	name=${recording##*/}
	same "$name" "$ETW_EXPORTER" --once --replay.threads=THREADS --replay.file="$recording" "${all_collectors[@]}"
	same "$name" "$ETW_EXPORTER" --once --replay.threads=THREADS --replay.file="$recording" --replay.single-pass
	for command in stats doctor providers "dump --csv" "top --speed 0 --batch --exact" "backfill --step 60s"; do
		# shellcheck disable=SC2086 # words
		same "$name" "$ETWTOOL" $command --threads THREADS "$recording"
	done
	same "$name" "$ETWTOOL" report --threads THREADS "$recording" -o -
	"$ETWTOOL" dump --threads 1 "$recording" >"$work/lines" 2>/dev/null
	for threads in $dump_counts; do
		"$ETWTOOL" dump --threads $threads "$recording" 2>/dev/null | cmp -s "$work/lines" - || fail "$name: other lines with $threads threads"
	done
	"$ETWTOOL" relog --threads 1 --compress -o "$work/packed" "$recording" >/dev/null 2>&1 || fail "$name: relog --compress"
	"$ETWTOOL" relog --threads 3 --compress -o - "$recording" 2>/dev/null | cmp -s "$work/packed" - ||
		fail "$name: relog --compress writes other bytes with three threads"
done
{ "$ETWTOOL" dump --threads 3 "$work/sample.etl" 2>"$work/err" || true; } | head -1 >/dev/null
[ ! -s "$work/err" ] || fail "a closed pipe: $(cat "$work/err")"
"$ETWTOOL" dump --threads 3 "$work/sample.etl" >/dev/full 2>"$work/err" && fail "a full disk"
grep -q 'etwtool dump:' "$work/err" && [ "$(wc -l <"$work/err")" = 1 ] || fail "a full disk: $(cat "$work/err")"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
same "two recordings" "$ETW_EXPORTER" --once --replay.threads=THREADS --replay.file="$work/sample.etl" --replay.file="$work/sample.etl"

# A cut recording, and one whose bytes are not there any more when they are read.
head -c 1000000 "$work/sample.etl" >"$work/cut.etl"
same "a cut recording" "$ETW_EXPORTER" --once --replay.threads=THREADS --replay.file="$work/cut.etl"
same "a cut recording" "$ETWTOOL" stats --threads THREADS "$work/cut.etl"

expect_exit 2 '\-\-threads takes .*8, not "9"' "$ETWTOOL" stats --threads 9 "$work/sample.etl"
