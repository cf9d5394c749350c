#!/usr/bin/env bash
# Every command of both programs, with a full disk behind standard output, with a closed one, and with one allocation that
# fails: it is never ended by a signal, and it either prints what it should or ends with status 1 and says why.
# NO_MEMORY_POINTS: how many allocations of each command are tried, 24 without it.
. "${BASH_SOURCE%/*}/lib.bash"

[ -e "${FAILING_MALLOC_LIBRARY:-}" ] || skip "no library to preload"
points=${NO_MEMORY_POINTS:-24}
small="$work/small"
"$MAKE_HOSTILE" "$small"
recording=$small/every-class.etl

printf '%s\n' 'path_groups: [ { name: logs, match: [ C:/logs/** ] } ]' 'limits: { series: 1000 }' >"$work/config.yaml"

# What a run of the exporter says about itself is another each time.
settled() { grep -v '^process_\|^etw_consumer_busy_seconds\|^etw_consumer_lag\|^etw_exporter_config_\|^etw_exporter_scrape' "$1" || true; }

# The complaint about the run that has just ended, if any; expects status in $status.
check() { # WHAT WORD
	[ "$status" -lt 126 ] || fail "$1: ended by signal $((status - 128)): $(cat "$work/err")"
	[ "$status" -le 1 ] || fail "$1: exit $status: $(cat "$work/err")"
	if [ "$status" = 1 ]; then
		grep -qi "$2" "$work/err" || fail "$1: exit 1, and no word about it: $(cat "$work/err")"
	elif [ -e "$work/out" ]; then
		cmp -s <(settled "$work/out") "$work/reference" ||
			fail "$1: exit 0 with another output: $(diff <(settled "$work/out") "$work/reference" | head -5)"
	fi
}

try() {
	local count n step total=0

	FAILING_MALLOC_COUNT=$work/count LD_PRELOAD=$FAILING_MALLOC_LIBRARY "$@" >"$work/out" 2>"$work/err" </dev/null ||
		fail "$*: $(cat "$work/err")"
	settled "$work/out" >"$work/reference"
	count=$(cat "$work/count")
	step=$(((count + points - 1) / points))
	for ((n = 1; n <= count; n += n < points / 2 ? 1 : step)); do
		status=0
		FAILING_MALLOC=$n LD_PRELOAD=$FAILING_MALLOC_LIBRARY "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
		check "$* (allocation $n of $count fails)" memory
		total=$((total + 1))
	done
	rm -f "$work/out"
	echo "$total of $count: ${*:1:3}"
	status=0
	"$@" >/dev/full 2>"$work/err" </dev/null || status=$?
	[ "$status" = 1 ] || fail "$*: a full disk: exit $status"
	check "$* >/dev/full" 'standard output\|could not be written'
	status=0
	"$@" >&- 2>"$work/err" </dev/null || status=$?
	[ "$status" = 1 ] || fail "$*: standard output is closed: exit $status"
	check "$* >&-" 'standard output\|could not be written'
}

try "$ETWTOOL" summary "$recording"
try "$ETWTOOL" stats "$recording"
try "$ETWTOOL" providers "$recording"
try "$ETWTOOL" fields "$recording" DiskIo/Read
try "$ETWTOOL" dump "$recording"
try "$ETWTOOL" dump "$recording" --format csv --where 'Process ne x'
try "$ETWTOOL" dump "$recording" --format text
try "$ETWTOOL" check config "$work/config.yaml" --with "$recording"
try "$ETWTOOL" doctor "$recording" --config "$work/config.yaml"
try "$ETWTOOL" doctor "$work/config.yaml" --profile "$work/profile.wprp"
try "$ETWTOOL" diff "$recording" "$recording" --config "$work/config.yaml" --all \
	--fail-if 'sum(etw_disk_read_bytes_total{disk!="x",disk=~".*"}) < 0'
try "$ETWTOOL" diff "$recording" "$recording" --config "$work/config.yaml" --all --format json
try "$ETWTOOL" diff "$recording" "$recording" --config "$work/config.yaml" --all --format csv
try "$ETWTOOL" metrics
try "$ETWTOOL" --help
try "$ETWTOOL" --version
try "$ETWTOOL" backfill "$recording" --step 1h
try "$ETWTOOL" top "$recording" --speed 0 --batch
try "$ETWTOOL" report "$recording" -o -
try "$ETW_EXPORTER" --help
try "$ETW_EXPORTER" --version
try "$ETW_EXPORTER" --check-config --config.file="$work/config.yaml"
try "$ETW_EXPORTER" --once --replay.file="$recording" --config.file="$work/config.yaml"
