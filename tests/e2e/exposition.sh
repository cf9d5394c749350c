#!/usr/bin/env bash
# Every recording, damaged ones too: Prometheus accepts the exposition without a word, and no record is unaccounted for.
. "${BASH_SOURCE%/*}/lib.bash"

# The sum of a family over all its labels.
sum() {
	awk -v name="$1" '{ split($1, part, "{") } part[1] == name { total += $NF } END { printf "%d\n", total }' "$work/page"
}

damaged=()
"$MAKE_SAMPLE" --plain-size=4MiB "$work/plain.etl" >/dev/null
for seed in $(if is_slow; then echo 1; else seq 8; fi); do
	damaged+=("$work/damaged_$seed.etl")
	python3 "$SOURCE_DIR/tests/e2e/damage.py" "$work/plain.etl" "$seed" >"${damaged[-1]}"
done

for file in $(recordings) "${damaged[@]}"; do
	"$ETW_EXPORTER" --once --replay.file="$file" "${all_collectors[@]}" >"$work/page" 2>"$work/err" ||
		fail "$file: $(cat "$work/err")"
	if command -v promtool >/dev/null; then
		promtool check metrics <"$work/page" >"$work/promtool" 2>&1 || fail "$file: $(head -5 "$work/promtool")"
		[ ! -s "$work/promtool" ] || fail "$file: $(head -5 "$work/promtool")"
	fi
	records=$("$ETWTOOL" summary "$file" | python3 -c 'import json, sys; print(json.load(sys.stdin)["records"])')
	for family in etw_events_total etw_provider_events_total etw_consumer_events_total etw_consumer_records_total; do
		[ "$(sum $family)" = "$records" ] || fail "$file: $family is $(sum $family), the recording has $records records"
	done
	"$ETW_EXPORTER" --once --replay.file="$file" "${all_collectors[@]}" 2>/dev/null |
		grep -vE '^(process_|etw_consumer_busy|etw_exporter_config_)' >"$work/again"
	grep -vE '^(process_|etw_consumer_busy|etw_exporter_config_)' "$work/page" | cmp -s - "$work/again" || fail "$file: a second run differs"
	echo "ok: $(basename "$file"): $records records"
done
command -v promtool >/dev/null || skip "promtool is not installed; all else holds"
