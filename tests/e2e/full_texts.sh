#!/usr/bin/env bash
# More names than limits.strings has room for: what is counted stays complete, no word of the program or of a rule is replaced, and
# the names without room are counted.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_MANY" "$work/names.etl" names 3000
for strings in 64KiB 64MiB; do
	echo "limits: { series_per_family: 10000, strings: $strings }" >"$work/c.yaml"
	"$ETW_EXPORTER" --once --replay.file="$work/names.etl" --config.file="$work/c.yaml" >"$work/$strings" 2>"$work/err" ||
		fail "$strings: $(cat "$work/err")"
done

python3 - "$work/64KiB" "$work/64MiB" <<'PYTHON' || fail "a full table of texts changes more than the names of events"
import collections
import re
import sys

FROM_EVENTS = {"process", "event", "volume"}  # labels of the families here
MOVING = re.compile("process_|etw_consumer_busy|etw_exporter_(config|s)")


def sums(path):
    """{(family, labels whose values are words of the program or of a rule): sum}"""
    found = collections.Counter()
    for line in open(path, encoding="utf-8"):
        name, labels, value = re.fullmatch(r"(?:#.*|(\w+)(?:\{(.*)\})? (\S+))\n", line).groups()
        if name and not MOVING.match(name):
            pairs = re.findall(r'(\w+)="([^"]*)"', labels or "")
            found[name, tuple(pair for pair in pairs if pair[0] not in FROM_EVENTS)] += float(value)
    return found


full, wide = sums(sys.argv[1]), sums(sys.argv[2])
names = {labels for line in open(sys.argv[1], encoding="utf-8") for labels in re.findall(r'^etw_process_starts_total\{process="(program-\d+)"', line)}
refused = ("etw_state_evictions_total", (("table", "label"),))
if wide.pop(refused, None) != 0 or full.pop(refused, 0) < 3000 - len(names) or len(names) == 3000:
    sys.exit(f"{len(names)} of 3000 names have room, which the page does not say")
wrong = {key: (full.get(key), wide.get(key)) for key in full | wide if full.get(key) != wide.get(key)}
print(f"{len(wide)} sums" if not wrong else list(wrong.items())[:5])
sys.exit(bool(wrong))
PYTHON
if grep -q 'etw_exporter_series_overflow_total{metric="_' "$work/64KiB"; then
	fail "$(grep -m 1 'overflow_total{metric="_' "$work/64KiB")"
fi
