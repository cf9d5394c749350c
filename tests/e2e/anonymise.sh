#!/usr/bin/env bash
# etwtool relog --anonymise: no name of a recording is left in any encoding, it decodes as before and has the same sums; keys; what
# other options of relog do with it; what is reported. LONG_TESTS=1: the large ones, too, which takes a minute more.
. "${BASH_SOURCE%/*}/lib.bash"

words=$SOURCE_DIR/etwtool/relog/well_known_names.txt
relog() { "$ETWTOOL" relog "$@" >"$work/relog.out" 2>"$work/relog.err" || fail "relog $*: exit $?: $(cat "$work/relog.err")"; }
compare() { # original, anonymised
	python3 "$SOURCE_DIR/tests/e2e/anonymised.py" "$ETWTOOL" "$ETW_EXPORTER" "$words" "$1" "$2" >"$work/compared" ||
		fail "$(basename "$1"): $(head -5 "$work/compared")"
}

for file in $(recordings); do
	name=$(basename "$file")
	if ! is_long && [ "$(stat -c %s "$file")" -gt 4000000 ] && [ "$name" != sample.etl ]; then
		echo "left out: $name, which LONG_TESTS=1 tries"
		continue
	fi
	relog "$file" --plain -o "$work/plain.etl"
	relog "$file" --plain --anonymise -o "$work/nameless.etl"
	grep -Eq '^[0-9]+ records changed; replaced:$' "$work/relog.err" || fail "$name: no report: $(cat "$work/relog.err")"
	compare "$work/plain.etl" "$work/nameless.etl"
	echo "ok: $name: $(cat "$work/compared")"
done

sample=$work/sample.etl
dump() { "$ETWTOOL" dump "$@" | sed '1s/"\(LogFileMode\|BuffersWritten\)": [0-9]*//g'; }

# A key gives the same names again, also to another recording of the same machine; without one they differ each time.
head -c 32 /dev/urandom >"$work/key"
relog "$sample" --anonymise --key "$work/key" -o "$work/a.etl"
relog "$sample" --anonymise --key "$work/key" --compress -o "$work/b.etl"
relog "$sample" --anonymise -o "$work/c.etl"
dump "$work/a.etl" >"$work/a"
dump "$work/b.etl" >"$work/b"
dump "$work/c.etl" >"$work/c"
cmp "$work/a" "$work/b" || fail "one key, different names"
! cmp -s "$work/a" "$work/c" || fail "no key, the same names"
printf %15s x >"$work/short"
expect_exit 2 'short: a key has at least 16 bytes, this one has 15' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --anonymise --key "$work/short"
expect_exit 1 'none: .*No such file' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --anonymise --key "$work/none"
expect_exit 2 '--key is of no use without --anonymise' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --key "$work/key"
expect_exit 2 '--keep-undescribed is of no use without --anonymise' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --keep-undescribed

# Filters see the names of the original, and their result has none.
relog "$sample" --process sqlservr --plain -o "$work/plain.etl"
relog "$sample" --process sqlservr --plain --anonymise -o "$work/nameless.etl"
compare "$work/plain.etl" "$work/nameless.etl"
# Parts, too; together they are the whole.
mkdir "$work/parts"
relog "$sample" --anonymise --key "$work/key" --split 20s -o "$work/parts/p.etl"
[ "$(find "$work/parts" -name 'p_0000??.etl' | wc -l)" -ge 3 ] || fail "--split: $(ls "$work/parts")"
[ "$(find "$work/parts" -not -name 'p_0000??.etl' -type f)" = "" ] || fail "left over: $(ls "$work/parts")"
relog "$work/parts"/*.etl -o "$work/merged.etl"
for file in a merged; do
	"$ETWTOOL" dump "$work/$file.etl" --format text | sed '/EventTrace\/Header/d' | sort >"$work/$file.text"
done
cmp "$work/a.text" "$work/merged.text" || fail "parts: $(diff "$work/a.text" "$work/merged.text" | head -4)"

# Payloads without a layout go, unless they are asked for.
if [ -e "$traces/gcevents.etl" ]; then
	undescribed() { "$ETWTOOL" dump --builtin "$1" | python3 -c 'import json, sys
print(sum("fields" not in e and e["len"] > 0 for e in map(json.loads, sys.stdin)))'; }
	relog "$traces/gcevents.etl" --anonymise -o "$work/x.etl"
	count=$(undescribed "$traces/gcevents.etl")
	[ "$count" -gt 0 ] || fail "gcevents.etl has layouts of all events"
	grep -q "^$count payloads dropped" "$work/relog.err" || fail "$count payloads: $(cat "$work/relog.err")"
	[ "$(undescribed "$work/x.etl")" = 0 ] || fail "payloads without a layout are left"
	relog "$traces/gcevents.etl" --anonymise --keep-undescribed -o "$work/x.etl"
	[ "$(undescribed "$work/x.etl")" = "$count" ] || fail "--keep-undescribed: $(undescribed "$work/x.etl") of $count"
	grep -q "^$count payloads kept" "$work/relog.err" || fail "$count payloads: $(cat "$work/relog.err")"
fi
