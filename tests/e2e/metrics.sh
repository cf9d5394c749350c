#!/usr/bin/env bash
# config/METRICS.md is what `etwtool metrics` says, and nothing stands on a page that is not in it.
. "${BASH_SOURCE%/*}/lib.bash"

"$ETWTOOL" metrics >"$work/METRICS.md" || fail "etwtool metrics: exit $?"
cmp -s "$work/METRICS.md" "$SOURCE_DIR/config/METRICS.md" ||
	fail "config/METRICS.md is out of date: build/release/etwtool metrics >config/METRICS.md: $(diff "$SOURCE_DIR/config/METRICS.md" "$work/METRICS.md" | head -8)"

every_collector=()
for file in "$SOURCE_DIR"/config/collectors/*.yaml; do
	every_collector+=("--collector.$(basename "$file" .yaml)")
done
for recording in $(recordings); do
	"$ETW_EXPORTER" --replay.file="$recording" --once "${every_collector[@]}" 2>/dev/null |
		awk '/^# TYPE/ { print $3, $4 }' >"$work/shown"
	[ "$(wc -l <"$work/shown")" -ge 40 ] || fail "$recording: few families"
	while read -r name type; do
		grep -Eq "^\| \`$name\` \| $type \|" "$work/METRICS.md" || fail "$recording: $type $name is not in METRICS.md"
	done <"$work/shown"
done
expect_exit 2 'takes no arguments' "$ETWTOOL" metrics cpu

# The catalogue that dashboards and alerts rely on: both pages have the same families, with the same types and labels.
catalogue=$SOURCE_DIR/docs/metrics.md
python3 - "$catalogue" "$work/METRICS.md" <<'PYTHON' || fail "METRICS.md and the catalogue disagree"
import re
import sys


def families(path):
    found = {}
    for name, kind, labels in re.findall(r"^\| `(etw_\w+|process_\w+)` \| (\w+)[^|]*\| ([^|]*) \|", open(path, encoding="utf-8").read(), re.M):
        found[name] = kind, {label.strip() for label in labels.split(",") if re.fullmatch(r"\w+", label.strip())}
    return found


wanted, shown = families(sys.argv[1]), families(sys.argv[2])
wrong = [f"{name}: {shown.get(name, 'is not there')} in METRICS.md, {wanted.get(name, 'is not there')} in the catalogue"
         for name in sorted(wanted | shown) if shown.get(name) != wanted.get(name)]
print("\n".join(wrong) or f"ok: {len(wanted)} families agree with the catalogue")
sys.exit(bool(wrong) or len(wanted) < 90)
PYTHON

# Each help is one or two plain sentences, so that it reads well in a query browser.
python3 - "$work/METRICS.md" <<'PYTHON' || fail "the help of a family is not one or two plain sentences"
import re
import sys

UNCLEAR = r"\b(tells?|stands?|made? room|left out|counted apart|anew|for sure|behind one)\b"
helps = dict(re.findall(r"^\| `(etw_\w+|process_\w+)` \|.*\| ([^|]+) \|$", open(sys.argv[1], encoding="utf-8").read(), re.M))
wrong = [f"{name}: {text}" for name, text in helps.items()
         if not re.fullmatch(r"[\"A-Z].*\.", text) or len(re.findall(r"\.(?= |$)", text)) > 2 or len(text) > 150
         or re.search(UNCLEAR, text)]
print("\n".join(wrong) or f"ok: {len(helps)} helps")
sys.exit(bool(wrong) or len(helps) < 90)
PYTHON
