#!/usr/bin/env bash
# etwtool report: the numbers of the document in the page are those of etw_exporter --once, the steps those of the single events, and
# what stands at the place of its output is not lost. How the page looks: report_page.sh.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
collectors=()
for file in "$SOURCE_DIR"/config/collectors/*.yaml; do
	collectors+=("--collector.$(basename "$file" .yaml)")
done

# data PAGE: the document in a page.
data() {
	sed -n 's/^<script type="application\/json" id="data">\(.*\)<\/script>$/\1/p' "$1"
}
# numbers FILE PAGE: fails unless the page of a recording agrees with its exposition and its events.
numbers() {
	"$ETW_EXPORTER" --once --replay.file="$1" "${collectors[@]}" >"$work/page" 2>/dev/null
	"$ETWTOOL" dump "$1" --event 'Process/*' >"$work/processes" 2>/dev/null
	python3 "$SOURCE_DIR/tests/e2e/report_numbers.py" "$2" "$work/page" "$work/processes"
}

# A large one, a damaged one and the sample; LONG_TESTS=1: all.
for recording in $(recordings); do
	is_long || [[ $recording =~ /(sample|net\.4\.5\.2\.x64|synthetic-cycles-cut)\.etl$ ]] || continue
	name=$(basename "$recording" .etl)
	"$ETWTOOL" report "$recording" -o "$work/$name.html" >"$work/said" 2>"$work/err" || fail "$name: exit $?: $(cat "$work/err")"
	grep -qE "^$work/$name.html: [0-9]+ kB$" "$work/said" || fail "$name: it says $(cat "$work/said")"
	"$ETWTOOL" report "$recording" -o - >"$work/again.html" 2>/dev/null || fail "$name: exit $? to standard output"
	cmp -s "$work/$name.html" "$work/again.html" || fail "$name: twice, and not the same"
	result=$(numbers "$recording" "$work/$name.html") || fail "$name: see above"
	echo "ok: $name: $result"
done

# When something was written: the steps of the chart against the events themselves.
"$ETWTOOL" dump "$work/sample.etl" --event FileIo/Write --where 'Paging eq 0' --format csv >"$work/writes.csv"
python3 - "$work/sample.html" "$work/writes.csv" <<'END' || fail "the steps of the chart"
import collections, csv, datetime, json, re, sys

data = json.loads(re.search(r'id="data">(.*?)</script>', open(sys.argv[1], encoding="utf-8").read(), re.S).group(1))
time_of = data["time"]
expected = collections.defaultdict(collections.Counter)
for row in csv.DictReader(open(sys.argv[2], encoding="utf-8")):
    time = next(value for value in row.values() if value and re.fullmatch(r"2024-05-14T[\d:.]+Z", value))
    seconds = datetime.datetime.fromisoformat(time[:19] + "+00:00").timestamp()
    ticks = int(seconds) * 10**7 + int(time[20:-1].ljust(7, "0"))
    step = (ticks - time_of["origin_us"] * 10) // (time_of["step_us"] * 10)
    expected[re.sub(r"\.exe$", "", row["process"])][step] += int(row["IoSize"])
chart = next(chart for chart in data["charts"] if chart["sample"] == "etw_file_written_bytes_total" and chart["label"] == "process")
assert len(chart["rows"]) > 4
for row in chart["rows"]:
    values = []
    for value in row["steps"]:
        values += [value] if value >= 0 else [0] * -value
    found = {i: value for i, value in enumerate(values) if value}
    assert found == dict(expected[row["name"]]), f"{row['name']}: {found} instead of {expected[row['name']]}"
print(f"ok: {len(chart['rows'])} processes over {time_of['steps']} steps")
END

# Who wrote which file, against the same events.
python3 - "$work/sample.html" "$work/writes.csv" <<'END' || fail "the most written files"
import collections, csv, json, re, sys

data = json.loads(re.search(r'id="data">(.*?)</script>', open(sys.argv[1], encoding="utf-8").read(), re.S).group(1))
expected = collections.Counter()
for row in csv.DictReader(open(sys.argv[2], encoding="utf-8")):
    path = row["Path"]
    if re.fullmatch("[A-Z]:", row["Volume"]):
        path = re.sub(r"^\\Device\\[^\\]*", lambda _: row["Volume"], path)
    expected[(path, row["process"])] += int(row["IoSize"])
found = [((file["path"], file["process"]), file["bytes"]) for file in data["files"]["written"]]
assert found == sorted(expected.items(), key=lambda row: (-row[1], row[0]))[:20], found
END

# The same document as JSON, and without the values over time as small as a text that a ticket takes (65,536 characters on GitHub).
"$ETWTOOL" report "$work/sample.etl" --format json >"$work/sample.json" || fail "json: exit $?"
cmp -s <(data "$work/sample.html" | sed 's/\\u003c/</g') "$work/sample.json" || fail "the document in the page is another one"
"$ETWTOOL" report "$work/sample.etl" --format json --no-steps -o "$work/small.json" >/dev/null || fail "json without steps: exit $?"
python3 - "$work/sample.json" "$work/small.json" <<'END' || fail "json without steps"
import json, sys
whole, small = (open(path, encoding="utf-8").read() for path in sys.argv[1:])
assert len(small) < 65536 and small.startswith('{"etwtool_report":1,'), len(small)
whole = json.loads(whole)
for chart in whole["charts"]:
    for row in chart["rows"] + [chart.get("others", {"steps": 0})]:
        del row["steps"]
assert whole == json.loads(small)
END

# The sample was written by the tests: what its report must say, in each form.
"$ETWTOOL" report "$work/sample.etl" --format markdown >"$work/sample.md" || fail "markdown: exit $?"
[ "$(wc -c <"$work/sample.md")" -lt 10000 ] || fail "markdown of $(wc -c <"$work/sample.md") bytes"
for part in '# etwtool report: `sample.etl`' '- Recorded: 139,289 events in 60.0 s, from 2024-05-14 07:00:00.002 to 07:01:00.000 UTC' \
	'- Machine: `SHOP01`, Windows 10.0 build 17763, 8 processors of 2394 MHz, 16.0 GiB of memory' '- No event was lost' \
	'- **!** `w3wp.exe` (process 3920) ended with 0xC0000005 (access violation) at 07:00:41.303.' '| Time in disk requests | `sqlservr` | ' \
	'| `D:\MSSQL\Data\Shop.mdf` | `sqlservr` | '; do
	grep -qF -- "$part" "$work/sample.md" || fail "the markdown of the sample lacks $part"
done
for part in '"name":"SHOP01","windows":"10.0","build":17763,"processors":8,' '"memory_mib":16384' '"type":"nothing_lost"' '"first":"2024-05-14T07:00:00.0020' \
	'robocopy D:\\Shares' '"exit_text":"0xC0000005 (access violation)"' '"title":"Ready, but waiting for a processor"'; do
	grep -qF -- "$part" "$work/sample.json" || fail "the document of the sample lacks $part"
done
# The rows of its tables are the first ones of charts of the document.
python3 - "$work/sample.json" "$work/sample.md" <<'END' || fail "the tables of the markdown"
import json, re, sys
data = json.load(open(sys.argv[1], encoding="utf-8"))
charts, titles = {chart["title"]: chart for chart in data["charts"]}, {first["what"]: first["chart"] for first in data["firsts"]}
table = open(sys.argv[2], encoding="utf-8").read().split("## Top process per resource\n\n")[1].split("\n\n")[0].splitlines()[2:]
rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in table]
found = {}
for row in rows:
    what = row[0] or what
    found.setdefault(what, []).append(row[1].strip("`"))
assert list(found) == list(titles)
for what, names in found.items():
    assert names == [row["name"] for row in charts[titles[what]]["rows"][:3] if row["total"]], (what, names)
units = {"B": 1, "kB": 10**3, "MB": 10**6}
for row in rows[:2]: # 111 MB of sqlservr, 83.9 MB of Robocopy
    value, unit = row[2].split(" ")
    total = next(known["total"] for known in charts["Written to files, by process"]["rows"] if known["name"] == row[1].strip("`"))
    assert abs(float(value) * units[unit] - total) <= 0.5 * units[unit], row
END

# A section without events says how to record what it shows: of the sample without context switches and interrupts.
"$ETWTOOL" relog "$work/sample.etl" -o "$work/less.etl" --event 'FileIo/*' >/dev/null
"$ETWTOOL" report "$work/less.etl" --format json >"$work/less.json"
python3 - "$work/less.json" <<'END' || fail "a section without events"
import json, sys
data = json.load(open(sys.argv[1], encoding="utf-8"))
sections = {section["id"]: section for section in data["sections"]}
# Flags of the collectors, by evntrace.h: PROCESS | THREAD | ...
for name, flags in ("cpu", 0x1 | 0x2 | 0x10 | 0x800), ("network", 0x1 | 0x2 | 0x10000), ("drivers", 0x1 | 0x2 | 0x4 | 0x20 | 0x40):
    assert sections[name]["empty"] and f" {flags:#x} " in sections[name]["record_with"], sections[name]
assert not sections["writes"]["empty"] and not sections["events"]["empty"]
lacks = {row["collector"]: row for row in data["lacks"]}
assert {"CSWITCH", "DISPATCHER"} <= set(lacks["sched"]["kernel"]) and "file" not in lacks, lacks
END

# In Markdown, too, names are no markup: they end no span and no cell.
python3 - "$work/sample.etl" "$work/marks.etl" <<'END'
import sys
data = open(sys.argv[1], "rb").read()
for old, new in (b"sqlservr.exe", b"`<b>|@all`|*"), (b"powershell.exe", "[x](\u202egp".encode() + b"`.exe"):
    assert len(old) == len(new) and old in data, (old, new)
    data = data.replace(old, new)
open(sys.argv[2], "wb").write(data[:2500000])
END
"$ETWTOOL" report "$work/marks.etl" --format markdown >"$work/marks.md" 2>/dev/null
grep -qF '| Written to files | `ˋ<b>¦@allˋ¦*` | ' "$work/marks.md" || fail "names in Markdown: $(grep 'Written to files' "$work/marks.md")"
python3 - "$work/marks.md" <<'END' || fail "names in Markdown"
import re, sys
for line in open(sys.argv[1], encoding="utf-8"):
    assert line.count("`") % 2 == 0 and "\u202e" not in line, line
    assert not line.startswith("|") or line.count("|") in (4, 8), line
    assert not re.search(r"[@*\[]|<(?! 0)", re.sub(r"`[^`]*`", "", line).replace("- **!** ", "")), line
END

# Files at the place of the output. The default name stands beside the recording.
(cd "$work" && "$ETWTOOL" report sample.etl >/dev/null && cmp -s sample.etl.html sample.html) || fail "the default name"
echo 'My notes' >"$work/notes.html"
expect_exit 1 'notes.html exists and is no report' "$ETWTOOL" report "$work/sample.etl" -o "$work/notes.html"
[ "$(cat "$work/notes.html")" = 'My notes' ] || fail "a file that is no report was overwritten"
expect_exit 1 'sample.etl exists and is no report' "$ETWTOOL" report "$work/sample.etl" -o "$work/sample.etl"
# A report of another form is no report that may be replaced: it could be what is wanted.
expect_exit 1 'sample.html exists and is no report' "$ETWTOOL" report "$work/sample.etl" --format json -o "$work/sample.html"
for format in json markdown; do
	"$ETWTOOL" report "$work/less.etl" --format "$format" -o "$work/again.$format" >/dev/null || fail "$format into a file"
	"$ETWTOOL" report "$work/sample.etl" --format "$format" -o "$work/again.$format" >/dev/null || fail "$format in place of an earlier one"
	cmp -s "$work/again.$format" <("$ETWTOOL" report "$work/sample.etl" --format "$format") || fail "$format into a file, and not the same"
done
expect_exit 2 '\-\-no-steps needs --format json' "$ETWTOOL" report "$work/sample.etl" --no-steps
expect_exit 2 'format takes' "$ETWTOOL" report "$work/sample.etl" --format xml
# A full disk: the earlier report stays, and nothing else.
cp "$work/sample.html" "$work/earlier.html"
(ulimit -f 100 && trap '' XFSZ && exec "$ETWTOOL" report "$work/sample.etl" -o "$work/earlier.html") >"$work/out" 2>"$work/err" && fail "a full disk"
grep -q '^etwtool report: .*earlier.html: cannot be written' "$work/err" || fail "a full disk: $(cat "$work/err")"
cmp -s "$work/earlier.html" "$work/sample.html" || fail "a full disk: the earlier report is lost"
"$ETWTOOL" report "$work/sample.etl" -o - >/dev/full 2>"$work/err" && fail "standard output on a full disk"
[ -z "$(find "$work" -name '*.partial')" ] || fail "a part of a file is left"
expect_exit 1 'nowhere' "$ETWTOOL" report "$work/sample.etl" -o "$work/nowhere/x.html"
expect_exit 1 'nothing.etl' "$ETWTOOL" report "$work/nothing.etl" -o "$work/x.html"
[ ! -e "$work/x.html" ] || fail "a report of no recording"
expect_exit 2 'name a recording' "$ETWTOOL" report
(cd "$work" && expect_exit 2 'the standard input has no name' "$ETWTOOL" report - <"$work/sample.etl")
[ ! -e "$work/-.html" ] || fail "a report with the name of the standard input"
printf 'limits: { siries: 1 }\n' >"$work/wrong.yaml"
expect_exit 2 'wrong.yaml:1:11' "$ETWTOOL" report "$work/sample.etl" -o - --config.file "$work/wrong.yaml"

# Cut off, and with losses that only the header knows (docs/etl-format.md section 5).
head -c 1000000 "$work/sample.etl" >"$work/cut.etl"
"$ETWTOOL" report "$work/cut.etl" -o "$work/cut.html" >/dev/null 2>&1 || fail "cut off: exit $?"
grep -q 'The recording is cut short' "$work/cut.html" && ! grep -q 'No event was lost' "$work/cut.html" || fail "cut off, and the page does not say so"
change() { # OUT FORMAT OFFSET VALUE...: the sample with another header; offsets are those of the table and 104
	python3 - "$work/sample.etl" "$@" <<'END'
import struct, sys
path, out, *changes = sys.argv[1:]
data = bytearray(open(path, "rb").read())
assert struct.unpack_from("<q", data, 104 + 0x108)[0] == 133601436000000000 # StartTime: 2024-05-14T07:00:00Z
for form, offset, value in zip(*[iter(changes)] * 3):
    struct.pack_into("<" + form, data, 104 + int(offset, 0), int(value))
open(out, "wb").write(data)
END
}
change "$work/lossy.etl" I 0x30 12345 I 0x114 7
"$ETWTOOL" report "$work/lossy.etl" -o "$work/lossy.html" >/dev/null || fail "lossy: exit $?"
grep -q 'Lost when the recording was made: 12,345 events, 7 buffers with an unknown number' "$work/lossy.html" || fail "the losses of the header"
! grep -q 'No event was lost' "$work/lossy.html" || fail "lost, and not lost"
# Not closed: the header says nothing of losses, nor how long the recording is; and a header can lie about that.
ends=(unclosed:0 soon:133601436010000000)
! is_long || ends+=(late:133601472000000000 never:9223372036854775807) # test_report has their steps as well
for change in "${ends[@]}"; do
	name=${change%:*}
	change "$work/$name.etl" q 0x10 "${change#*:}"
	"$ETWTOOL" report "$work/$name.etl" -o "$work/$name.html" >/dev/null || fail "$name: exit $?"
	result=$(numbers "$work/$name.etl" "$work/$name.html") || fail "$name: see above"
	echo "ok: $name: $result"
done
grep -q 'Losses are not known' "$work/unclosed.html" || fail "not closed, and the page does not say so"
# Its length is found on the way: as fine as it can be.
steps=$(data "$work/unclosed.html" | python3 -c 'import json, sys; print(json.load(sys.stdin)["time"]["steps"])')
[ "$steps" -ge 120 ] && [ "$steps" -le 240 ] || fail "not closed: $steps steps"

# A clock without a frequency (docs/etl-format.md section 6).
change "$work/clock.etl" q 0x100 0
"$ETWTOOL" report "$work/clock.etl" -o "$work/clock.html" >/dev/null || fail "a clock without a frequency"
grep -q '"The clock of the recording is doubtful: its header has no performance counter frequency: taken as 10 MHz\."' "$work/clock.html" ||
	fail "a doubtful clock, and the page does not say so: $(grep -i frequency "$work/clock.html")"

# A thousand processes are listed, and the others that start are counted: 1100 that start and end, and those of the sample.
python3 - >"$work/many.jsonl" <<'END'
import json
start = 133601436000000000
for i in range(1100):
    for opcode in (1, 2):
        fields = {"UniqueProcessKey": 4096 * (i + 1), "ProcessId": 100000 + 4 * i, "ParentId": 4, "SessionId": 0, "ExitStatus": 0, "DirectoryTableBase": 0,
                  "Flags": 0, "UserSID": None, "ImageFileName": "many.exe", "CommandLine": "many", "PackageFullName": "", "ApplicationId": ""}
        print(json.dumps({"filetime": start + 10 ** 8 + i * 1000 + opcode, "provider_name": "Process", "opcode": opcode, "version": 4, "fields": fields}))
END
"$ETWTOOL" relog "$work/sample.etl" -o "$work/many.etl" --exact --event 'Process/*' --add "$work/many.jsonl" >/dev/null || fail "a recording of many processes"
"$ETWTOOL" report "$work/many.etl" -o "$work/many.html" >/dev/null || fail "many processes"
count=$("$ETWTOOL" dump "$work/many.etl" --event 'Process/*' | grep -cE '"opcode": (1|3),') # Start and DCStart
grep -q "\"processes_left_out\":$((count - 1000))}" "$work/many.html" || fail "$count processes: $(grep -o '"processes_left_out.*' "$work/many.html")"

# The page about the document describes every member, and every type of finding.
python3 - "$SOURCE_DIR/docs/report.md" "$work"/*.html <<'END' || fail "a word that docs/report.md lacks"
import json, re, sys
described = set(re.findall(r"`([a-z_0-9]+)`", open(sys.argv[1], encoding="utf-8").read()))
members, types = set(), set()
for path in sys.argv[2:]:
    block = re.search(r'id="data">(.*?)</script>', open(path, encoding="utf-8").read(), re.S)
    if block: # notes.html has none
        data = json.loads(block[1], object_hook=lambda found: members.update(found) or found)
        types |= {finding["type"] for finding in data["findings"]}
assert len(members) > 50 and {"lost", "cut_short", "not_closed", "clock", "disk_cause"} <= types, (members, types)
assert members | types <= described, f"not described: {sorted((members | types) - described)}"
END

# Recordings of years, of no time, of impossible times: a page each, in bounded memory (the sanitizers need more than the program).
small_report() { # FILE OUT
	python3 - "$ETWTOOL" "$@" <<'END'
import resource, subprocess, sys
tool, recording, out = sys.argv[1:]
status = subprocess.run([tool, "report", recording, "-o", out], stdout=subprocess.DEVNULL).returncode
peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss # kB
sys.exit(status if peak < 1000000 else f"{recording}: {peak} kB of memory")
END
}
"$MAKE_HOSTILE" "$work/hostile"
for recording in "$work"/hostile/*.etl; do
	name=$(basename "$recording" .etl)
	small_report "$recording" "$work/h.html" 2>"$work/err" || fail "$name: exit $?: $(cat "$work/err")"
	[ "$(tail -1 "$work/h.html")" = '</html>' ] || fail "$name: no end of the page"
	[ "$(wc -c <"$work/h.html")" -lt 3000000 ] || fail "$name: $(wc -c <"$work/h.html") bytes"
	[ "$name" != names ] || numbers "$recording" "$work/h.html" >/dev/null || fail "$name: see above"
done
echo "ok: files, damage, hostile recordings"
