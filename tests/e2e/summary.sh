#!/usr/bin/env bash
# etwtool summary: options on either side of the file, a recording cut short is reported in the output and is no failure.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
"$ETWTOOL" summary "$work/sample.etl" >"$work/plain.json" || fail "summary: exit $?"
python3 -m json.tool "$work/plain.json" >/dev/null || fail "summary is not JSON"
grep -q '"file": "sample.etl"' "$work/plain.json" || fail "the file's name"
grep -q '"problems": \[\]' "$work/plain.json" || fail "a good recording has problems: $(tail -n 3 "$work/plain.json")"
for options in "--pointer-size 8" "--pointer-size=4"; do
	# shellcheck disable=SC2086 # words
	"$ETWTOOL" summary $options "$work/sample.etl" | cmp - "$work/plain.json" || fail "$options before the file"
	# shellcheck disable=SC2086
	"$ETWTOOL" summary "$work/sample.etl" $options | cmp - "$work/plain.json" || fail "$options behind the file"
done
expect_exit 2 '\-\-pointer-size takes 4 or 8, not "5"' "$ETWTOOL" summary --pointer-size 5 "$work/sample.etl"
expect_exit 2 '\-\-pointer-size needs a value: 4' "$ETWTOOL" summary "$work/sample.etl" --pointer-size

size=$(stat -c %s "$work/sample.etl")
head -c $((size - 40000)) "$work/sample.etl" >"$work/cut.etl"
"$ETWTOOL" summary "$work/cut.etl" >"$work/cut.json" || fail "a recording cut short: exit $?"
grep -q 'cut short' "$work/cut.json" || fail "a recording cut short is not reported"
