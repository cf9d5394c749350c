#!/usr/bin/env bash
# etwtool diff: its numbers against two pages of the exporter, which Python compares by itself; conditions and exit statuses.
. "${BASH_SOURCE%/*}/lib.bash"

mapfile -t files < <(some_recordings)
# The same minute without its second half.
python3 - "$work" <<'END' || fail "the half of the sample"
import os, struct, sys
work = sys.argv[1]
whole = open(os.path.join(work, "sample.etl"), "rb").read()
size, = struct.unpack_from("<I", whole) # each buffer begins with its size
open(os.path.join(work, "half.etl"), "wb").write(whole[:len(whole) // 2 // size * size])
END

# A recording differs from itself in nothing.
for recording in "${files[@]}" "$work/half.etl"; do
	"$ETWTOOL" diff "$recording" "$recording" >"$work/out" 2>"$work/err" || fail "$recording: $(cat "$work/err")"
	grep -qx 'no difference' "$work/out" || fail "$recording differs from itself: $(cat "$work/out")"
	"$ETWTOOL" diff "$recording" "$recording" --format json 2>/dev/null |
		python3 -c 'import json, sys; assert json.load(sys.stdin)["series"] == []' || fail "$recording: JSON"
done

cat >"$work/compare.py" <<'END'
import csv, io, json, math, re, subprocess, sys

tool, exporter, a, b = sys.argv[1:5]

def samples(path):
    """{(name, labels): value} of the page, and {family: type}."""
    page = subprocess.run([exporter, "--once", "--replay.file=" + path], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()
    values, types = {}, {}
    for line in page.split("\n"):
        if line.startswith("# TYPE "):
            types[line.split(" ")[2]] = line.split(" ")[3]
        elif line and line[0] != "#":
            name, labels, value = re.fullmatch(r'([a-z0-9_]+)(?:\{(.*)\})? (\S+)', line).groups()
            pairs = tuple((k, re.sub(r'\\(.)', lambda m: "\n" if m[1] == "n" else m[1], v))
                          for k, v in re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', labels or ""))
            values[name, pairs] = float(value)
    return values, types

own = re.compile(r"(etw_(session|consumer|exporter|replay|state|schema|decode)|process)_")
sides = [samples(a), samples(b)]
types = {**sides[0][1], **sides[1][1]}
seconds = [json.loads(subprocess.run([tool, "stats", path, "--format", "json"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout)["seconds"]
           for path in (a, b)]

def quantile(side, family, labels, q):
    buckets = [(float(dict(l)["le"]), v) for (n, l), v in sides[side][0].items()
               if n == family + "_bucket" and tuple(p for p in l if p[0] != "le") == labels]
    buckets.sort()
    if not buckets or buckets[-1][1] == 0:
        return None
    rank, low, below = q * buckets[-1][1], 0.0, 0.0
    for bound, cumulated in buckets:
        if cumulated >= rank:
            if math.isinf(bound):
                return low
            return low + (bound - low) * (rank - below) / (cumulated - below) if cumulated > below else bound
        low, below = bound, cumulated

def expected(absolute):
    rows = {}
    def of(side, name, labels):
        return sides[side][0].get((name, labels), 0.0)
    divisors = [1, 1] if absolute else seconds
    for family, kind in types.items():
        if own.match(family) and not family.startswith(("etw_process_",)):
            continue
        keys = {l for values, _ in sides for n, l in values if n == family or (kind == "histogram" and n == family + "_count")}
        for labels in keys:
            if kind == "gauge":
                rows[family, labels] = [of(0, family, labels), of(1, family, labels)]
            elif kind == "counter":
                rows[family, labels] = [of(s, family, labels) / divisors[s] for s in (0, 1)]
            else:
                for part in ("_count", "_sum"):
                    rows[family + part, labels] = [of(s, family + part, labels) / divisors[s] for s in (0, 1)]
                counts = [of(s, family + "_count", labels) for s in (0, 1)]
                rows[family + "_mean", labels] = [of(s, family + "_sum", labels) / counts[s] if counts[s] else None for s in (0, 1)]
                for end, q in (("_p50", 0.5), ("_p99", 0.99)):
                    rows[family + end, labels] = [quantile(s, family, labels, q) for s in (0, 1)]
    return rows

def near(x, y):
    return (x is None and y is None) or (x is not None and y is not None and math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-12))

def diff(*flags):
    return subprocess.run([tool, "diff", a, b, *flags], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()

for flags, absolute in (((), False), (("--absolute",), True)):
    if 0 in seconds and not absolute:
        continue
    want = expected(absolute)
    got = {(r["series"], tuple(r["labels"].items())): r for r in json.loads(diff("--all", "--format", "json", *flags))["series"]}
    assert got.keys() == want.keys(), sorted(got.keys() ^ want.keys())[:5]
    for key, values in want.items():
        row = got[key]
        assert near(row["a"], values[0]) and near(row["b"], values[1]), (key, row, values)
        if None not in values and values[0] != 0:
            assert near(row["percent"], 100 * (values[1] - values[0]) / abs(values[0])), (key, row)

# What the table shows without --all: what changed by 1 % of its name or more. The largest share comes first.
want = expected(0 in seconds)
def weight(key):
    sums = [sum(abs(v[s] or 0) for k, v in want.items() if k[0] == key[0]) for s in (0, 1)]
    x, y = want[key]
    if not key[0].endswith(("_mean", "_p50", "_p99")):
        return abs(y - x) / max(sums) if max(sums) else 0
    count = (re.sub("_(mean|p50|p99)$", "_count", key[0]))
    all_counts = [sum(v[s] for k, v in want.items() if k[0] == count) for s in (0, 1)]
    share = max((want[count, key[1]][s] / all_counts[s] if all_counts[s] else 0) for s in (0, 1))
    if (x is None) != (y is None):
        return share
    return share * abs((y or 0) - (x or 0)) / max(abs(x or 0), abs(y or 0)) if x or y else 0
rows = list(csv.DictReader(io.StringIO(diff("--format", "csv"))))
shown = [(r["series"], r["labels"]) for r in rows]
weights = {k: weight(k) for k in want if not k[0].endswith("_sum")}
assert len(rows) == sum(w >= 0.01 for w in weights.values()), (len(rows), sum(w >= 0.01 for w in weights.values()))
order = [r["series"] for r in json.loads(diff("--format", "json"))["series"]]
assert order == [r["series"] for r in rows]
falling = [weights[r["series"], tuple(r["labels"].items())] for r in json.loads(diff("--format", "json"))["series"]]
assert all(x >= y - 1e-9 for x, y in zip(falling, falling[1:])), falling
END

# Each recording with the one before it, so that each is an A and a B.
pairs=("$work/half.etl" "$work/sample.etl")
for ((i = 0; i < ${#files[@]}; i++)); do
	pairs+=("${files[i]}" "${files[i > 0 ? i - 1 : ${#files[@]} - 1]}")
done
for ((i = 0; i < ${#pairs[@]}; i += 2)); do
	python3 "$work/compare.py" "$ETWTOOL" "$ETW_EXPORTER" "${pairs[@]:i:2}" || fail "${pairs[*]:i:2}"
done

# Filters.
"$ETWTOOL" diff "$work/half.etl" "$work/sample.etl" --all --process 'SQL*' --metric 'etw_file_*' --format json 2>/dev/null | python3 -c '
import json, sys
rows = json.load(sys.stdin)["series"]
assert rows and all(r["labels"]["process"] == "sqlservr" and r["series"].startswith("etw_file_") for r in rows)' || fail "filters"

# Losses are said first.
if [ -e "$traces/synthetic-qpc.etl" ]; then
	"$ETWTOOL" diff "$traces/synthetic-qpc.etl" "$work/sample.etl" >"$work/out"
	sed -n 3p "$work/out" | says '^A lost 6 events and 2 buffers while it was recorded: .* doubtful$' || fail "losses: $(head -4 "$work/out")"
	"$ETWTOOL" diff "$traces/synthetic-qpc.etl" "$work/sample.etl" --format csv 2>&1 >/dev/null |
		says 'warning: A lost 6 events and 2 buffers' || fail "losses beside CSV"
fi

# Conditions: each holds or not by the page's own numbers.
verdict() { # STATUS PATTERN CONDITION...
	local want=$1 pattern=$2 got=0
	shift 2
	"$ETWTOOL" diff "$work/half.etl" "$work/sample.etl" --absolute "${@/#/--fail-if=}" >"$work/out" 2>"$work/err" || got=$?
	[ "$got" = "$want" ] || fail "$*: exit $got: $(cat "$work/err")"
	grep -Eq -- "$pattern" "$work/err" || fail "$*: \"$(cat "$work/err")\" does not match $pattern"
}
written() {
	"$ETW_EXPORTER" --once --replay.file="$1" 2>/dev/null | sed -n 's/^etw_disk_process_written_bytes_total{process="sqlservr",.*disk="1"} //p'
}
a=$(written "$work/half.etl") b=$(written "$work/sample.etl")
selector='etw_disk_process_written_bytes_total{process="sqlservr",disk="1"}'
percent=$(awk -v a="$a" -v b="$b" 'BEGIN { printf "%d", 100 * (b - a) / a }')
verdict 0 '' "$selector > +$((percent + 1)) %"
verdict 1 "holds: etw_disk_process_written_bytes_total\{process=.sqlservr.*\} was .* in A and is .* in B" "$selector > +$((percent - 1)) %"
verdict 0 '' "$selector > $b" "$selector < $b"
verdict 1 'holds' "$selector > $b" "$selector >= $b"
verdict 1 'holds' "etw_disk_process_written_bytes_total{process=~'sql.*',disk!='0'} > $((b - 1))"
total=$("$ETW_EXPORTER" --once --replay.file="$work/sample.etl" 2>/dev/null | awk '/^etw_file_written_bytes_total\{/ { s += $NF } END { printf "%d", s }')
verdict 0 '' "sum(etw_file_written_bytes_total) > $total"
verdict 1 'all selected series together was' "sum(etw_file_written_bytes_total) > $((total - 1))"
# A condition that selects nothing: a mistake is an error, with the name that was meant; a sum over no series is 0.
verdict 2 "no collector has the metric 'etw_file_writen_bytes_total'; did you mean 'etw_file_written_bytes_total'\?" \
	'etw_file_writen_bytes_total > 5'
verdict 2 "no collector has the metric 'etw_disk_operation_duration_seconds'; did you mean 'etw_disk_operation_duration_seconds_" \
	'etw_disk_operation_duration_seconds > 5'
verdict 2 "no collector has the metric 'etw_no_such_thing'$" 'sum(etw_no_such_thing) > 5'
verdict 2 "the collector of this metric is off: --collector.cpu switches it on" 'sum(etw_process_cpu_samples_total) > 5'
verdict 2 "no series of the metric has the label 'proces'; did you mean 'process'\?$" 'sum(etw_file_written_bytes_total{proces="sqlservr"}) > 5'
verdict 0 '' 'sum(etw_file_written_bytes_total{process="nobody.exe"}) > 0' 'sum(etw_file_written_bytes_total{process="nobody.exe"}) > 0 %'
verdict 1 'all selected series together was 0 in A and is 0 in B' 'sum(etw_file_written_bytes_total{process="nobody.exe"}) < 1'
# All conditions are judged, and a mistake in one outweighs another one that holds.
verdict 2 'holds' "$selector > 0" 'etw_no_such_thing > 5'
# A mistake in a condition ends it before the table, one that holds comes after it.
[ ! -s "$work/out" ] || fail "a table in spite of a mistake: $(head -3 "$work/out")"
verdict 1 'holds' "$selector > 0"
[ -s "$work/out" ] || fail "no table beside a condition that holds"
# The table has numbers as top and report have them; --exact has all digits.
plain="$ETWTOOL diff $work/half.etl $work/sample.etl --absolute --metric etw_disk_process_written_bytes_total --process sqlservr"
$plain >"$work/out" || fail "$plain"
grep -q '[0-9]e[+-]' "$work/out" && fail "numbers with an exponent: $(cat "$work/out")"
short() { awk -v v="$1" 'BEGIN { split("k M G T", unit, " "); for (i = 0; v >= 999.5; i++) v /= 1000
	printf v < 9.995 ? "%.2f%s" : v < 99.95 ? "%.1f%s" : "%.0f%s", v, unit[i] }'; }
grep -qE "^ +$(short "$a" | sed 's/[.]/[.]/') +$(short "$b" | sed 's/[.]/[.]/') +[+]$(short $((b - a))) " "$work/out" || fail "$a and $b: $(cat "$work/out")"
$plain --exact >"$work/out" || fail "$plain --exact"
grep -qE "^ +$a +$b +[+]$((b - a)) " "$work/out" || fail "--exact, $a and $b: $(cat "$work/out")"
# Spaces, signs and percentages.
for condition in "$selector>+$((percent - 1))%" "  $selector   >   $((percent - 1))   %  " "sum( $selector )>=$b" "$selector > 1e0" "$selector > -5 %"; do
	verdict 1 holds "$condition"
done
for condition in "$selector > 5 bytes" "$selector > %" "$selector > NaN" "$selector => 5" "sum($selector > 5" "> 5" ""; do
	verdict 2 "--fail-if .*expected " "$condition"
done
# What was 0 and is more has grown by more than any percentage; what was more and is 0, by -100 %.
for pair in 'half sample 1 >' 'sample half 0 >' 'sample half 1 <='; do
	read -r one other want sign <<<"$pair"
	got=0
	"$ETWTOOL" diff "$work/$one.etl" "$work/$other.etl" --fail-if "etw_process_exits_total{process=\"WerFault\"} $sign $([ "$sign" = '>' ] && echo 1000000 || echo -100) %" \
		>"$work/out" 2>"$work/err" || got=$?
	[ "$got" = "$want" ] || fail "from or to zero, $pair: exit $got: $(cat "$work/err")"
done
verdict 2 'neither recording has such a series' 'etw_file_written_bytes_total{process="nobody.exe"} > 5'
verdict 2 "expected a comparison" "$selector"

# The example for CI in docs/recordings.md: without a crash in either recording it passes, with one in the second it fails.
page=$SOURCE_DIR/docs/recordings.md
sed -n '/^etwtool diff before.etl/,/^```/p' "$page" | grep -v '^```' >"$work/ci.sh"
[ "$(grep -c fail-if "$work/ci.sh")" = 2 ] || fail "docs/recordings.md has no example for CI"
ci() { # STATUS BEFORE AFTER
	local got=0
	rm -rf "$work/ci"
	mkdir "$work/ci"
	cp "$work/$2.etl" "$work/ci/before.etl"
	cp "$work/$3.etl" "$work/ci/after.etl"
	(cd "$work/ci" && etwtool() { "$ETWTOOL" "$@"; } && . "$work/ci.sh") 2>"$work/err" || got=$?
	[ "$got" = "$1" ] || fail "the example for CI, $2 and $3: exit $got: $(cat "$work/err")"
	[ -s "$work/ci/changes.txt" ] || fail "the example for CI writes no table"
}
ci 0 half half
ci 1 half sample
grep -Fq 'sum(etw_process_exits_total{result="crash"}) > 0 holds: all selected series together was 0 in A and is ' "$work/err" ||
	fail "the example for CI: $(cat "$work/err")"

# Bad usage and recordings that cannot be read.
expect_exit 2 'takes two recordings' "$ETWTOOL" diff "$work/sample.etl"
expect_exit 2 'compares two recordings, not also' "$ETWTOOL" diff a b c
expect_exit 1 'nothing.etl' "$ETWTOOL" diff "$work/sample.etl" "$work/nothing.etl"
many=()
for _ in {1..33}; do
	many+=(--fail-if 'etw_process_exits_total > 1')
done
expect_exit 2 'more than 32 --fail-if$' "$ETWTOOL" diff "$work/sample.etl" "$work/sample.etl" "${many[@]}"
# Two records at the start: what lasts no time has no rates.
printf '{"filetime": 133601436000000000, "provider": "11111111-1111-1111-1111-111111111111", "id": 1, "raw": ""}\n' >"$work/line.jsonl"
"$ETWTOOL" relog "$work/sample.etl" -o "$work/moment.etl" --exact --event FileIo/Read --to 0.0001 --add "$work/line.jsonl" >/dev/null || fail "a recording of a moment"
"$ETWTOOL" diff "$work/moment.etl" "$work/sample.etl" >"$work/out" 2>/dev/null || fail "a recording of a moment: exit $?"
grep -q '^A: moment.etl: 2 records in 0.0 s$' "$work/out" || fail "a moment: $(head -3 "$work/out")"
grep -q '^A lasts no time, so nothing can be divided by it: totals are compared$' "$work/out" || fail "no word about totals: $(head -3 "$work/out")"
"$ETWTOOL" diff "$work/moment.etl" "$work/sample.etl" --format json 2>/dev/null | says '"per_second": false' || fail "totals in JSON"
expect_exit 2 'collector.*nothing' "$ETWTOOL" diff --collector.nothing "$work/sample.etl" "$work/sample.etl"

# A name that nothing has looks like "no difference", so it is said.
expect_exit 0 "neither recording has a metric that --metric 'etw_no_such_[*]' matches" \
	"$ETWTOOL" diff "$work/sample.etl" "$work/sample.etl" --metric 'etw_no_such_*'
expect_exit 0 "neither recording has a process that --process 'sqlserver' matches" \
	"$ETWTOOL" diff "$work/sample.etl" "$work/sample.etl" --process sqlserver
"$ETWTOOL" diff "$work/sample.etl" "$work/sample.etl" --process SQLSERVR --metric etw_file_written_bytes_total 2>&1 >/dev/null |
	says matches && fail "a warning about names that the recordings have"

# The configuration has the flag of the exporter; --config is a short form.
printf 'collectors: { file: off }\n' >"$work/no_file.yaml"
for flag in --config.file --config; do
	"$ETWTOOL" diff "$flag" "$work/no_file.yaml" --all "$work/half.etl" "$work/sample.etl" >"$work/out" 2>/dev/null ||
		fail "$flag: exit $?"
	says ' etw_disk_' <"$work/out" || fail "$flag: no disks"
	says ' etw_file_written' <"$work/out" && fail "$flag: the collector that is off"
done

# Collectors that are off by default.
"$ETWTOOL" diff --collector.payload --all "$work/half.etl" "$work/sample.etl" 2>/dev/null | says ' etw_.*payload' || fail "--collector.payload"
"$ETWTOOL" diff --no-collector.file --all "$work/half.etl" "$work/sample.etl" 2>/dev/null | says ' etw_file_written' && fail "--no-collector.file"
true
