#!/usr/bin/env bash
# etwtool dump: what filters keep against a filter in Python over all events; the table and the text against them, too.
. "${BASH_SOURCE%/*}/lib.bash"

for file in $(recordings); do
	[ "$(stat -c %s "$file")" -lt 4000000 ] || continue # Python would take minutes
	python3 - "$ETWTOOL" "$ETW_EXPORTER" "$file" <<'END' || fail "$file"
import collections, csv, datetime, io, json, re, subprocess, sys

tool, exporter, path = sys.argv[1:4]

def run(*options):
    done = subprocess.run([tool, "dump", path, "--builtin", *options], capture_output=True)
    if done.returncode:
        sys.exit(f"{options}: exit {done.returncode}: {done.stderr.decode()}")
    return [line for line in done.stdout.decode("utf-8").split("\n") if line]

def same(title, found, wanted):
    if found != wanted:
        sys.exit(f"{title}: {len(found)} lines, wanted {len(wanted)}: {[x for x in found if x not in wanted][:2]}"
                 f" {[x for x in wanted if x not in found][:2]}")

lines = run()
events = [json.loads(line) for line in lines]
pick = lambda keeps: [line for line, event in zip(lines, events) if keeps(event)]

def field(event, name):
    """The number of this name, of events that a layout decodes."""
    if event.get("decoded_by") in ("kernel", "tracelogging", "manifest", "eventinfo"):
        value = event["fields"].get(name)
        return value if type(value) is int else None

# Derived fields of the same name mean something else where a layout lacks them.
derived = ("ProcessId", "ThreadId", "Cpu", "Level", "Opcode", "_rest")
fields = collections.Counter(name for e in events for name in e.get("fields", {}) if field(e, name) is not None and name not in derived)
for name, _ in fields.most_common(3):
    values = sorted(field(e, name) for e in events if field(e, name) is not None)
    least, middle = values[0], values[len(values) // 2]
    has = lambda e: field(e, name) is not None
    same(f"{name} gt", run("--where", f"{name} gt {middle}"), pick(lambda e: has(e) and field(e, name) > middle))
    same(f"{name} in", run("--where", f"{name} in {middle}, {least}"), pick(lambda e: field(e, name) in (middle, least)))
    same(f"{name} twice", run("--where", f"{name} ge {least}", "--where", f"{name} ne {middle}"),
         pick(lambda e: has(e) and field(e, name) != middle))

for guid, _ in collections.Counter(e["provider"] for e in events).most_common(3):
    same(guid, run("--provider", guid.upper()), pick(lambda e: e["provider"] == guid))
    same(f"{{{guid}}}", run("--provider", f"{{{guid}}}"), pick(lambda e: e["provider"] == guid))
names = collections.Counter((e["provider"], e["event"]) for e in events if e.get("decoded_by") in ("tracelogging", "manifest"))
for (guid, name), _ in names.most_common(2):
    same(name, run("--provider", guid, "--event", name), pick(lambda e: e["provider"] == guid and e.get("event") == name))
for number, _ in collections.Counter(e["id"] for e in events if e["id"]).most_common(2):
    found = [json.loads(line)["i"] for line in run("--event", str(number)) if json.loads(line)["id"]]
    same(f"id {number}", found, [e["i"] for e in events if e["id"] == number])

# Times, as text and in seconds from the start.
times = sorted(e["filetime"] for e in events if e["filetime"] is not None)
middle = times[len(times) // 2] // 10 * 10
text = (datetime.datetime(1601, 1, 1) + datetime.timedelta(microseconds=middle // 10)).isoformat(timespec="microseconds") + "Z"
same("--to", run("--to", text), pick(lambda e: e["filetime"] is not None and e["filetime"] < middle))
same("--from", run("--from", text), pick(lambda e: e["filetime"] is not None and e["filetime"] >= middle))
start = json.loads(subprocess.run([tool, "summary", path], capture_output=True).stdout)["header"]["start_filetime"]
same("--from 0.5", run("--from", "0.5"), pick(lambda e: e["filetime"] is not None and e["filetime"] >= start + 5000000))

# Whom an event belongs to, as the exporter counts it.
page = subprocess.run([exporter, "--once", "--replay.file=" + path], capture_output=True).stdout.decode()
processes = collections.Counter()
for label, count in re.findall(r'^etw_events_total\{process="((?:[^"\\]|\\.)*)",[^}]*\} (\d+)$', page, re.M):
    processes[re.sub(r"\\(.)", lambda m: "\n" if m[1] == "n" else m[1], label)] += int(count)
for name, count in processes.most_common(4):
    for options in (["--process", name.upper()], ["--where", f"Process eq {name}"]):
        if len(run(*options)) != count:
            sys.exit(f"{options}: {len(run(*options))}, the exporter has {count}")
    if name[0] != "_" and len(run("--process", name + ".exe")) != count:
        sys.exit(f"--process {name}.exe")

# The table: in time order, each row as wide as the first, the same values.
def table(*options):
    return list(csv.reader(io.StringIO("\n".join(run("--format", "csv", *options)))))

rows = table()
if len(rows) != len(events) + 1 or any(len(row) != len(rows[0]) for row in rows):
    sys.exit(f"csv: {len(rows)} rows of {len(events)} events, or not all of {len(rows[0])} columns")
stamps = [row[0] for row in rows[1:] if row[0]]
if stamps != sorted(stamps):
    sys.exit("csv: not in time order")
# A name with a line feed is shown with its escape, so that a row is a line.
shown = collections.Counter()
for name, count in processes.items():
    shown[name.replace("\n", "\\n")] += count
if collections.Counter(row[1] for row in rows[1:]) != shown:
    sys.exit(f"csv: processes are not those of the exporter")
for name, _ in fields.most_common(5):
    column = rows[0].index(name)
    wanted = collections.Counter(str(field(e, name)) for e in events if field(e, name) is not None)
    found = collections.Counter(row[column] for row in rows[1:] if row[column])
    named = any(re.search("[A-Za-z]", value) for value in found)  # values that a manifest has names for
    if wanted - found and not named:
        sys.exit(f"csv: {name}: {list((wanted - found).items())[:3]} are missing")
if len(table("--per-kind", "1")) > len(rows) or len(table("--event", "EventTrace/Header")[0]) > 40:
    sys.exit("csv: columns of events that are not shown")

# The text: a line each, nothing that a terminal obeys, colours only when asked for.
text = run("--format", "text")
if len(text) != len(events) or any(re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", line) for line in text):
    sys.exit(f"text: {len(text)} lines of {len(events)} events, or control characters")
coloured = run("--format", "text", "--color", "always", "--per-kind", "1")
if not all("\x1b[" in line for line in coloured):
    sys.exit("text: no colours")
same("colours", [re.sub(r"\x1b\[[\d;]*m", "", line) for line in coloured], run("--format", "text", "--per-kind", "1", "--color=never"))
END
	echo "ok: $(basename "$file")"
done

# What rules live on is shown: derived fields, against the exporter's sums; text as text, pointers and statuses in hexadecimal.
python3 - "$ETWTOOL" "$ETW_EXPORTER" "$work/sample.etl" <<'END' || fail "derived fields and forms of values"
import collections, csv, io, json, re, subprocess, sys

tool, exporter, path = sys.argv[1:4]

def run(*command):
    return subprocess.run(command, capture_output=True, check=True).stdout.decode("utf-8")

def same(title, found, wanted):
    if found != wanted or not found:
        sys.exit(f"{title}: {found}, wanted {wanted}")

page = run(exporter, "--once", "--collector.file_latency", "--replay.file=" + path)

def family(name, *labels):
    sums = collections.Counter()
    for text, value in re.findall(rf"^{name}\{{(.*)\}} (\S+)$", page, re.M):
        sums[tuple(re.search(rf'(?:^|,){label}="([^"]*)"', text)[1] for label in labels)] += float(value)
    return +sums

rows = list(csv.DictReader(io.StringIO(run(tool, "dump", path, "--format", "csv", "--event", "FileIo/*"))))
written, ended = collections.Counter(), collections.Counter()
for row in rows:
    if row["event"] == "FileIo/Write" and row["Paging"] == "0":
        written[row["process"], row["Volume"]] += int(row["IoSize"])
    if row["event"] == "FileIo/OperationEnd" and row["Started"] == "FileIo/Write":
        ended["write", ] += int(row["Duration"])
same("bytes written by process and volume", {k: float(v) for k, v in written.items()}, dict(family("etw_file_written_bytes_total", "process", "volume")))
seconds = sum(v for (operation,), v in family("etw_file_operation_duration_seconds_sum", "operation").items() if operation == "write")
same("seconds of writes", round(ended["write", ] / 1e9, 6), round(seconds, 6))
same("who started them", {row["StartedBy"] for row in rows if row["event"] == "FileIo/OperationEnd"} >= {"sqlservr", "w3wp"}, True)

text = run(tool, "dump", path, "--format", "text", "--where", "Path ends .mdf").splitlines()
same("a path in each line", [line for line in text if not re.search(r'  Path="\\Device\\HarddiskVolume5\\[^"]*\.mdf"', line)] or "none", "none")
same("lines with a path", len(text) > 100, True)
events = [json.loads(line) for line in run(tool, "dump", path, "--event", "FileIo/OperationEnd").splitlines()]
wanted = collections.Counter((e["fields"]["IrpPtr"], e["fields"]["NtStatus"]) for e in events)
text = run(tool, "dump", path, "--format", "text", "--event", "FileIo/OperationEnd")
found = re.findall(r"  IrpPtr=0x([0-9a-f]+)  .*?  NtStatus=0x([0-9a-f]+) ", text)
same("pointers and statuses", collections.Counter((int(p, 16), int(s, 16)) for p, s in found), wanted)
text = run(tool, "dump", path, "--format", "text", "--event", "Process/DCStart")
same("quotes", re.search(r"  CommandLine='\"C:\\.*?' ", text) is not None or '\\"' not in text, True)
END

# Names that are nowhere: the nearest one.
sample=$work/sample.etl
expect_exit 1 "no provider 'Contoso.Shpo'; did you mean 'Contoso.Shop'" "$ETWTOOL" dump "$sample" --provider Contoso.Shpo
expect_exit 1 "no event 'Contoso.Shpo/OrderPlaced'; did you mean 'Contoso.Shop/OrderPlaced'" "$ETWTOOL" dump "$sample" --event Contoso.Shpo/OrderPlaced
expect_exit 1 "no event 'FileIo/Wriet'; did you mean 'FileIo/Write'" "$ETWTOOL" dump "$sample" --event FileIo/Wriet
expect_exit 1 "no event 'Disk'; did you mean 'DiskIo/Read'" "$ETWTOOL" fields "$sample" Disk
expect_exit 1 "no process 'sqlserv'; did you mean 'sqlservr'" "$ETWTOOL" dump "$sample" --process sqlserv
expect_exit 1 "no field 'TransferSiz'; did you mean 'TransferSize'" "$ETWTOOL" dump "$sample" --where 'TransferSiz gt 1'
expect_exit 2 "unknown comparison 'gtt'; did you mean 'gt'" "$ETWTOOL" dump "$sample" --where 'TransferSize gtt 1'
expect_exit 2 'not "yesterday"' "$ETWTOOL" dump "$sample" --from yesterday
expect_exit 2 '--to is not later than --from' "$ETWTOOL" dump "$sample" --from 2 --to 1
expect_exit 2 '--to is not later than --from' "$ETWTOOL" dump "$sample" --from 1 --to 2000-01-01T00:00:00Z
expect_exit 2 'takes jsonl, csv or text, not "jsonn"; did you mean jsonl' "$ETWTOOL" dump "$sample" --format jsonn
expect_exit 1 'No such file' "$ETWTOOL" dump "$sample.none" --format text
expect_exit 1 'No such file' "$ETWTOOL" dump "$sample.none" --where 'Level eq 1'

# What `providers` and rules know by the built-in manifests, filters and people's formats know too. Lines of JSON have the words of
# the recording alone, unless --builtin is given, and a line on standard error then says so.
expect_exit 0 'dump: the built-in manifests know fields of these events: --builtin shows them$' "$ETWTOOL" dump "$sample" --event QueryCompleted
lines=$(wc -l <"$work/out")
[ "$lines" -gt 10 ] || fail "$lines lines of QueryCompleted"
grep -q '"fields"\|decoded_by' "$work/out" && fail "JSON with words that are not in the recording"
for options in '--event QueryCompleted --builtin' '--event Microsoft-Windows-DNS-Client/3008 --format text' '--event QueryCompleted --format csv'; do
	# shellcheck disable=SC2086 # several options
	"$ETWTOOL" dump "$sample" $options >"$work/out" 2>"$work/err" || fail "$options: $(cat "$work/err")"
	grep -q QueryStatus "$work/out" || fail "$options: no fields: $(head -c 400 "$work/out")"
	[ ! -s "$work/err" ] || fail "$options: $(cat "$work/err")"
done
"$ETWTOOL" dump "$sample" --where 'QueryStatus > 0' --format text >"$work/out" || fail "no field QueryStatus"
expect_exit 1 "no event 'QueryCompleted'" "$ETWTOOL" dump "$sample" --event QueryCompleted --no-builtin --format text
"$ETWTOOL" dump "$sample" --event Microsoft-Windows-DNS-Client/3008 --no-builtin --format text | says 'raw=' || fail "--no-builtin shows fields"

# A time range outside the recording is a mistake as a wrong name is; one that only has no events is not.
outside='the time range is outside the recording, which has events from 2024-05-14T07:00:00\.0000000Z to 2024-05-14T07:01:00\.0001600Z \(second 0\.0 to 60\.0\)$'
for format in jsonl csv text; do
	expect_exit 1 "^etwtool dump: $outside" "$ETWTOOL" dump "$sample" --format $format --from 2026-01-31T10:00:00Z
	[ ! -s "$work/out" ] || fail "$format: output of a range outside"
done
expect_exit 1 "$outside" "$ETWTOOL" dump "$sample" --to 2023-01-01T00:00:00Z
expect_exit 1 "$outside" "$ETWTOOL" dump "$sample" --from 61 --to 62 --where 'Process eq sqlservr'
expect_exit 1 "$outside" "$ETWTOOL" dump "$sample" --to 0
expect_exit 1 "no event 'FileIo/Wriet'" "$ETWTOOL" dump "$sample" --from 61 --event FileIo/Wriet
"$ETWTOOL" dump "$sample" --from 30 --to 30.0000001 >"$work/out" || fail "a range within the recording"
[ "$(wc -l <"$work/out")" -lt 2 ] || fail "more than a record in 100 ns"

# The spellings of a time.
"$ETWTOOL" dump "$sample" --from 10 --to 11 >"$work/ten"
for times in '10s 11s' '10.0s 11000ms' '2024-05-14T07:00:10Z 11'; do
	# shellcheck disable=SC2086 # two words
	set -- $times
	"$ETWTOOL" dump "$sample" --from "$1" --to "$2" >"$work/out" || fail "--from $1 --to $2"
	cmp -s "$work/ten" "$work/out" || fail "--from $1 --to $2 are other events"
done
"$ETWTOOL" dump "$sample" --from 0 --to 1m >/dev/null || fail "--to 1m"
advice='^etwtool dump: times are in UTC and written as 2020-07-29T00:07:00Z, but'
expect_exit 2 "$advice \"07:00:10\" lacks the date and the Z\$" "$ETWTOOL" dump "$sample" --from 07:00:10
expect_exit 2 "$advice \"2024-05-14T07:00:10\" lacks the Z\$" "$ETWTOOL" dump "$sample" --to 2024-05-14T07:00:10

# Rules' own patterns of events, and both spellings of a kernel event.
count() { "$ETWTOOL" dump "$sample" "$@" | wc -l; }
writes=$(count --event FileIo/Write)
[ "$writes" -gt 100 ] || fail "$writes writes"
[ "$(count --event FileIo/68)" = "$writes" ] || fail "FileIo/68"
[ "$(count --event write --provider fileio)" = "$writes" ] || fail "write of fileio"
[ "$(count --event 'FileIo/Writ?')" = "$writes" ] || fail "FileIo/Writ?"
[ "$(count --event 'Contoso.Shop/OrderPlaced')" = "$(count --provider 'contoso.*' --event orderplaced)" ] || fail "OrderPlaced"

# A table has 4096 columns of fields at most; of 41 events with 100 fields each it takes one, and the fields of no other one.
python3 - >"$work/wide.jsonl" <<'END'
import json
for e in range(41):
    print(json.dumps({"filetime": 133601436010000000, "provider": "11111111-1111-1111-1111-111111111111", "event": f"E{e}",
                      "fields": {f"e{e}f{i}": e * 1000 + i for i in range(100)}}))
END
"$ETWTOOL" relog "$sample" -o "$work/wide.etl" --exact --event FileIo/Read --to 0.1 --add "$work/wide.jsonl" >/dev/null || fail "a recording of many fields"
expect_exit 1 'too many different fields for one table: pick events with --event$' "$ETWTOOL" dump "$work/wide.etl" --format csv
"$ETWTOOL" dump "$work/wide.etl" --format csv --event E40 >"$work/csv" || fail "the fields of one event"
python3 - "$work/csv" <<'END' || fail "the table of one event: $(head -c 400 "$work/csv")"
import csv, sys
row, = csv.DictReader(open(sys.argv[1]))
assert {name: value for name, value in row.items() if name.startswith("e") and name != "event"} == {f"e40f{i}": str(40000 + i) for i in range(100)}, row
END

# Colours on a terminal only, and not where NO_COLOR says so.
if command -v script >/dev/null; then
	dump="$ETWTOOL dump $sample --format text --per-kind 1 --event DiskIo/Read"
	on_terminal() { env -u NO_COLOR "$@" script -qec "$dump" /dev/null </dev/null; }
	on_terminal TERM=xterm >"$work/out"
	grep -q $'\033\[' "$work/out" || fail "no colours on a terminal"
	on_terminal TERM=xterm NO_COLOR=1 >"$work/out"
	grep -q $'\033' "$work/out" && fail "colours in spite of NO_COLOR"
	on_terminal TERM=dumb >"$work/out"
	grep -q $'\033' "$work/out" && fail "colours on a dumb terminal"
fi
"$ETWTOOL" dump "$sample" --format text --per-kind 1 >"$work/out"
grep -q $'\033' "$work/out" && fail "colours in a file"
exit 0
