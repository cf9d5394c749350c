#!/usr/bin/env bash
# The bench of live events: a row for each collector, of the same records, and a row for each rate. What the times are depends on the machine.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
bash "$SOURCE_DIR/tests/bench/live.sh" --rounds 1 --seconds 1 --times "$work/sample.etl" >"$work/tables" 2>"$work/log" ||
	fail "live.sh: exit $?: $(cat "$work/log")"

# A number, or a dash for the instructions that were not counted.
number='[0-9]+([.][0-9]+)?'
row() { # name, share of records that are counted
	grep -E "^$1 +$number +\\($number, $number\\) +- +$2\$" "$work/tables" >/dev/null || fail "no row $1: $(cat "$work/tables")"
}

row none 0[.]0
row default "$number"
row all "$number"
for file in "$SOURCE_DIR"/config/collectors/*.yaml; do
	row "$(basename "$file" .yaml)" "$number"
done
grep -E '^(default|all|file|disk|network|process) .* 0[.]0$' "$work/tables" && fail "these count events of the sample"
for rate in 0 10000 100000 1000000; do
	grep -E "^ +$rate +$number +$number +$number +[^ ]+\$" "$work/tables" >/dev/null || fail "no row of $rate events a second: $(cat "$work/tables")"
done
# A busy machine may deliver fewer, but never more.
awk '$1 ~ /^[0-9]+$/ && NF == 5 && $2 > 1.01 * $1 { print; exit 1 }' "$work/tables" || fail "too many events"
records=$("$ETWTOOL" summary "$work/sample.etl" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"])')
kept=$(sed -n 's/^sample.etl: \([0-9]*\) records$/\1/p' "$work/tables")
# Without its header and what no session delivers.
[ "${kept:-0}" -le "$records" ] && [ "${kept:-0}" -gt $((records / 2)) ] || fail "$kept of $records records: $(cat "$work/tables")"
