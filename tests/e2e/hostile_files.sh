#!/usr/bin/env bash
# Recordings that are valid but not plausible, through every command of both programs: they end, by themselves and not by a
# signal, and what they print is bounded and right. Under asan this finds overflows in times.
. "${BASH_SOURCE%/*}/lib.bash"

output_most=20000000 # bytes

# Runs a program on a recording; leaves what it printed in $work/out and $work/err.
run() {
	local status=0

	(ulimit -f $((output_most / 1024)) && exec timeout 1200 "$@") >"$work/out" 2>"$work/err" </dev/null || status=$?
	[ "$status" -le 1 ] || fail "$*: exit $status: $(tail -c 2000 "$work/err")"
	! grep -q 'runtime error\|Sanitizer' "$work/err" || fail "$*: $(head -c 2000 "$work/err")"
	[ "$status" = 0 ] || [ -s "$work/err" ] || fail "$*: exit $status without a message"
	[ "$(wc -c <"$work/out")" -lt "$output_most" ] || fail "$*: more than $output_most bytes"
}

"$MAKE_HOSTILE" "$work/hostile"
for recording in "$work"/hostile/*.etl; do
	name=$(basename "$recording" .etl)
	run "$ETW_EXPORTER" --once --collector.image --collector.cpu --collector.interrupt --collector.sched \
		--collector.file_top --collector.minifilter --replay.file="$recording"
	! grep -E '^[^#].* (-|.*[nN]a[nN])' "$work/out" || fail "$name: a negative value"
	mv "$work/out" "$work/page"
	mv "$work/err" "$work/said"
	commands=(summary stats doctor 'report -o -' 'dump --format text --from 5 --to 100000' 'backfill --step 1h' 'top --batch --speed 0')
	case $name in
	bomb) commands=(summary doctor 'report -o -') ;;
	span) commands+=(providers 'fields DiskIo/Read' dump 'dump --format csv --from 2024-05-14T07:00:00Z' 'dump --per-kind 1') ;;
	esac
	for command in "${commands[@]}"; do
		set -- $command
		run "$ETWTOOL" "$1" "$recording" "${@:2}"
	done
	case $name in
	span | start-max) run "$ETWTOOL" check config "$SOURCE_DIR/config/etw_exporter.yaml" --with "$recording" ;;
	bomb) run "$ETW_EXPORTER" --once --replay.single-pass --replay.file="$recording" ;;
	esac

	# The position is that of the last record, saturated, and 0 before 1970.
	case $name in
	start-min) position=0 ;;
	start-max | start-near-max | span | frequency-one) position=910692730085.4775807 ;;
	*) position= ;;
	esac
	if [ -n "$position" ]; then
		grep -q "^etw_replay_position_timestamp_seconds $position\$" "$work/page" ||
			fail "$name: $(grep '^etw_replay_position' "$work/page"), expected $position"
	fi

	# 4 million records in 90 KB: what is left out is counted, and said once.
	if [ "$name" = bomb ]; then
		! grep -q '^etw_consumer_bad_buffers_total{.*} 0$' "$work/page" || fail "bomb: no buffer was dropped"
		[ "$(grep -c 'level=warning.*damaged' "$work/said")" = 1 ] || fail "bomb: $(cat "$work/said")"
		# A dump has a warning for each, but not for any number of them: the exporter says how many there are.
		bad=$(sed -n 's/^etw_consumer_bad_buffers_total{.*} //p' "$work/page")
		run "$ETWTOOL" dump "$recording" --per-kind 1
		listed=$(grep -c 'warning: buffer' "$work/err")
		says "warning: and $((bad - listed)) more like these" <"$work/err" || fail "bomb: $bad bad buffers, $listed warnings: $(tail -1 "$work/err")"
	fi
done
