#!/usr/bin/env bash
# etwtool providers, fields and stats: their figures against those of dump and the exporter; what fields prints is a
# collector that counts the events, with every field that it offers as a label.
. "${BASH_SOURCE%/*}/lib.bash"

printf "collector_files: [my_collector.yaml]\n" >"$work/config.yaml"
for file in $(recordings); do
	python3 - "$ETWTOOL" "$ETW_EXPORTER" "$file" "$work" <<'END' || fail "$file"
import collections, json, os, re, subprocess, sys

tool, exporter, path, work = sys.argv[1:5]

def run(*command):
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode("utf-8")

records = json.loads(run(tool, "summary", path))["records"]
providers = json.loads(run(tool, "providers", path, "--format", "json"))["providers"]
page = run(exporter, "--once", "--collector.disk_cause", "--replay.file=" + path)

def family(name, label):
    """The sums of a family by one of its labels."""
    sums = collections.Counter()
    for labels, value in re.findall(rf"^{name}\{{(.*)\}} (\d+)$", page, re.M):
        sums[json.loads('"' + re.search(rf'(?:^|,){label}="((?:[^"\\]|\\.)*)"', labels)[1] + '"')] += int(value)
    return +sums

wanted = family("etw_events_total", "provider")
if {p["name"]: p["records"] for p in providers} != wanted:
    sys.exit(f"providers: {[(p['name'], p['records']) for p in providers]}, the exporter has {wanted}")
if sum(e["records"] for p in providers for e in p["events"]) != records:
    sys.exit("providers: the events are not all records")
text = run(tool, "providers", path)
for provider in providers:
    if not re.search(rf"^{re.escape(json.dumps(provider['name'], ensure_ascii=False)[1:-1])}.*: {provider['records']} events$", text, re.M):
        sys.exit(f"providers: no heading of {provider['name']}:\n{text[:2000]}")

stats = json.loads(run(tool, "stats", path, "--format", "json", "--top", "100000"))
if stats["records"] != records or sum(p["records"] for p in stats["processes"]) != records:
    sys.exit("stats: not all records")
if {p["name"]: p["records"] for p in stats["processes"]} != family("etw_events_total", "process"):
    sys.exit("stats: processes are not those of the exporter")
if {p["name"]: p["records"] for p in stats["providers"]} != wanted:
    sys.exit("stats: providers are not those of the exporter")
for table in ("processes", "providers", "events"):
    counts = [row["records"] for row in stats[table]]
    if counts != sorted(counts, reverse=True):
        sys.exit(f"stats: {table} are not in order")
    for row in stats[table]:
        if abs(row["per_second"] * stats["seconds"] - row["records"]) > 0.001 * row["records"] + 1 and stats["seconds"]:
            sys.exit(f"stats: {row} in {stats['seconds']} s")
header = json.loads(run(tool, "summary", path))["header"]
if (stats["events_lost"], stats["buffers_lost"]) != (header["events_lost"], header["buffers_lost"]):
    sys.exit("stats: losses are not those of the header")

# Bytes of disks by process: those of the exporter, in JSON and in the text.
disks = stats["disks"]
columns = {key: re.sub("(caused|issued)_(.*)", lambda m: f"etw_disk_{m[1].replace('issued', 'process')}_{m[2]}_total", key) for key in
    ("caused_written_bytes", "issued_written_bytes", "caused_read_bytes", "issued_read_bytes")}
for key, name in columns.items():
    if +collections.Counter({row["name"]: row[key] for row in disks["processes"]}) != family(name, "process"):
        sys.exit(f"stats: {key} by process are not those of the exporter")
    if disks[key] != sum(row[key] for row in disks["processes"]):
        sys.exit(f"stats: the sum of {key}")
for way in "written", "read":
    unknown = family(f"etw_disk_caused_{way}_bytes_total", "how")["unknown"]
    if disks[f"unknown_{way}_bytes"] != unknown or disks[f"caused_{way}_bytes"] != disks[f"issued_{way}_bytes"]:
        sys.exit(f"stats: {unknown} bytes {way} have no known cause, and as many are caused as issued: {disks}")
order = [max(row["caused_written_bytes"] + row["caused_read_bytes"], row["issued_written_bytes"] + row["issued_read_bytes"]) for row in disks["processes"]]
if order != sorted(order, reverse=True):
    sys.exit("stats: disks are not in order")


def check_disks(top, table):
    what, title, *lines, note = table.rstrip("\n").split("\n")
    rows = [re.fullmatch(r" *(\d+) +(\d+) +(\d+) +(\d+)  (.+)", line) for line in lines]
    if not what.startswith("who makes the disks busy") or not all(rows):
        sys.exit(f"stats: the table of disks\n{table}")
    *shown, total = [[int(cell) for cell in row.groups()[:4]] for row in rows]
    if total != [disks[key] for key in columns] or [sum(column) for column in zip(*shown)] != total:
        sys.exit(f"stats: the disks do not add up:\n{table}")
    if shown[:top] != [[row[key] for key in columns] for row in disks["processes"][:top]]:
        sys.exit(f"stats: the disks are not the first {top}:\n{table}")
    shares = [f"{100 * disks[f'unknown_{way}_bytes'] / max(disks[f'caused_{way}_bytes'], 1):.1f} % of the bytes {way}" for way in ("written", "read")]
    if not all(share in note for share in shares):
        sys.exit(f"stats: {note}, wanted {shares}")


# The text: the same numbers in columns, rows that add up, and a line about what is no process.
for top in (1, 3, 10):
    text = run(tool, "stats", path, "--top", str(top))
    head, *tables = text.split("\n\n")
    if sum(row["caused_written_bytes"] + row["caused_read_bytes"] for row in stats["disks"]["processes"]):
        check_disks(top, tables.pop())
    if f": {records} records" not in head or f"lost while it was recorded: {stats['events_lost']} events, {stats['buffers_lost']} buffers" not in head:
        sys.exit(f"stats: {head}")
    for key, table in zip(("processes", "providers", "events"), tables, strict=True):
        title, *lines = table.rstrip("\n").split("\n")
        notes = [line for line in lines if line.startswith("  _")]
        rows = [re.fullmatch(r"( *(\d+) {1,3}(\d+\.\d) % +(\d+\.\d)  )(.+)", line) for line in lines if line not in notes]
        if not all(rows) or len({len(row[1]) for row in rows}) != 1 or len(rows[0][1]) != title.index(title.split()[-1]):
            sys.exit(f"stats: columns of\n{text}")
        *shown, total = [int(row[2]) for row in rows]
        if total != records or sum(shown) != records or rows[-1][5] != f"(all {len(stats[key])})":
            sys.exit(f"stats: {key} do not add up:\n{text}")
        if [row["records"] for row in stats[key][:top]] != shown[:top]:
            sys.exit(f"stats: {key} are not the first {top}:\n{text}")
        wanted_notes = [row["name"] for row in stats[key][:top] if key == "processes" and row["name"] in ("_none", "_unknown", "_other")]
        if [note.split(":")[0].strip() for note in notes] != wanted_notes:
            sys.exit(f"stats: notes {notes}, wanted {wanted_notes}")

def check_needs(event, provider, snippet):
    """`needs` covers every event of the recording, and asks for no keyword, level or id that none of them had."""
    events = [json.loads(line) for line in run(tool, "dump", path, "--builtin", "--provider", event["guid"], "--event", str(event["id"])).splitlines()]
    events = [e for e in events if e["id"] == event["id"] and (event["decoded_by"] != "tracelogging" or e["event"] == event["event"].rsplit("/", 1)[1])]
    found = re.search(r'^  providers: \["(.*):(\d+):(\d*):(0x[0-9a-f]+)"\]    # (.*)$', snippet, re.M)
    if not found or not events:
        sys.exit(f"{event['event']}: no needs in\n{snippet}")
    name, level, ids, keywords, comment = found[1], int(found[2]), found[3], int(found[4], 16), found[5]
    seen = 0
    for e in events:
        seen |= int(e["keyword"], 16)
        if int(e["keyword"], 16) and not int(e["keyword"], 16) & keywords:
            sys.exit(f"{event['event']}: {found[0]} leaves out {e}")
    if level != max(1, max(e["level"] for e in events)) or ids != str(event["id"] or "") or not keywords:
        sys.exit(f"{event['event']}: {found[0]}")
    if keywords & ~seen and (seen or keywords != 1 << 47):
        sys.exit(f"{event['event']}: {found[0]} asks for more than {seen:#x}")
    if sorted([name, comment]) != sorted(["{" + event["guid"] + "}", provider["name"]]):
        sys.exit(f"{event['event']}: {found[0]}: not the provider's name and GUID")
    return name == provider["name"]

# Each event's collector: with all comments taken away, in batches of as many labels as a family may have.
checked = tried = by_name = 0
most = 5 if records < 50000 else 1
for provider in providers:
    for event in provider["events"][:most]:
        if event["event"].startswith("EventTrace/") or not event["fields"]:
            continue
        snippet = run(tool, "fields", path, event["guid"], str(event.get("id", event.get("opcode"))) if event["decoded_by"] != "tracelogging"
                      else event["event"].rsplit("/", 1)[1])
        tried += 1
        with open(os.path.join(work, "my_collector.yaml"), "w", encoding="utf-8") as f:
            f.write(snippet)
        run(tool, "check", os.path.join(work, "config.yaml")) # good as it is
        if "id" in event:
            registered = check_needs(event, provider, snippet)
            if event["decoded_by"] == "tracelogging" and registered:
                sys.exit(f"{event['event']}: by a name that Windows does not know")
            by_name += registered
        addresses = re.search(r"^      # addresses, of no use as label or value: (.*)$", snippet, re.M)
        addresses = addresses[1].split(", ") if addresses else []
        labels = re.findall(r"^      # (\w+: (?:[\w.-]+|\"[^\"]*\")) +#", snippet, re.M)
        offered = [re.sub(r"\[0\]", "", json.loads(label.split(": ", 1)[1]) if '"' in label else label.split(": ", 1)[1]) for label in labels]
        if not set(field for field in event["fields"]) <= set(offered) | set(addresses) | set(field.split(".")[0] for field in offered):
            sys.exit(f"{event['event']}: fields {event['fields']}, offered {offered}")
        for first in range(0, len(labels), 7):
            some = "".join(f"      {label}\n" for label in labels[first:first + 7])
            whole = re.sub(r"^      # .*\n", "", snippet, flags=re.M)
            whole = re.sub(r"^      process: .*\n", lambda line: line[0] + some, whole, flags=re.M)
            with open(os.path.join(work, "my_collector.yaml"), "w", encoding="utf-8") as f:
                f.write(whole)
            counted = subprocess.run([exporter, "--once", "--config.file=" + os.path.join(work, "config.yaml"), "--replay.file=" + path,
                                      "--collector.disable-defaults", "--collector.my_collector"], capture_output=True)
            if counted.returncode:
                sys.exit(f"{event['event']}: {counted.stderr.decode()}\n{whole}")
            count = sum(int(n) for n in re.findall(r"^etw_my_events_total\{.*\} (\d+)$", counted.stdout.decode(), re.M))
            # What is too short for a field is not counted.
            if count > event["records"] or (count == 0 and "undecodable" not in counted.stdout.decode()):
                sys.exit(f"{event['event']}: {count} counted of {event['records']}\n{whole}")
            if first == 0 and event["records"] == count:
                checked += 1
            if re.search(r'^etw_decode_errors_total\{.*reason="rule"\} [1-9]', counted.stdout.decode(), re.M) and len(event["versions"]) == 1:
                sys.exit(f"{event['event']}: a field that is offered is not there\n{whole}")
if tried and not checked:
    sys.exit("no collector counted its events")
if "net.4.5.2" in path and by_name < 5:
    sys.exit(f"{by_name} providers by name")
print(f"{checked} collectors count their events, {by_name} name a provider that Windows knows")
END
	echo "ok: $(basename "$file")"
done

# The question "which file, which volume, how long, for which process" is answered by what fields offers, marked as derived.
"$ETWTOOL" fields "$work/sample.etl" FileIo/Write >"$work/write"
for line in 'path: Path  *# derived, text: ' 'volume: Volume  *# derived, text: D:, C:, pipe$' 'paging: Paging  *# derived, integer: 0, 1$' \
	'io_flags: IoFlags  *# u32: 0x0, 0x60a00'; do
	grep -Eq "^      # $line" "$work/write" || fail "FileIo/Write does not offer $line: $(cat "$work/write")"
done
grep -q '^      # addresses, of no use as label or value: IrpPtr, FileObject, FileKey$' "$work/write" || fail "addresses: $(cat "$work/write")"
grep -q '^        # value: IoSize  ' "$work/write" || fail "the amount: $(cat "$work/write")"
"$ETWTOOL" fields "$work/sample.etl" Process/Stop | grep -Eq '^      # exit_result: ExitResult  *# derived, text: ' || fail "no ExitResult"
"$ETWTOOL" fields "$work/sample.etl" PerfInfo/DPC | grep -Eq '^      process: Process  *# always _none' || fail "PerfInfo/DPC has no process"
"$ETWTOOL" fields "$work/sample.etl" FileIo/OperationEnd >"$work/end"
grep -Eq '^      process: StartedBy  *# derived' "$work/end" || fail "StartedBy: $(cat "$work/end")"
grep -Eq '^      # nt_status: NtStatus  *# u32: 0x0, 0xc0000034; by name: \{ field: NtStatus, decode: \[ntstatus\] \}$' "$work/end" || fail "NtStatus: $(cat "$work/end")"
# Names that are no label of Prometheus: each gets one that is, and the collector takes all of them.
printf '%s\n' '{"filetime": 133601436010000000, "provider": "11111111-1111-1111-1111-111111111111", "provider_name": "Contoso", "event": "Sold",
	"fields": {"名前": "tea", "1st": "a", "_a": "b", "$1": "c", "x y": "d", "HTTPCode": "e"}}' | tr -d '\n' >"$work/names.jsonl"
"$ETWTOOL" relog "$work/sample.etl" -o "$work/names.etl" --exact --event FileIo/Read --to 0.1 --add "$work/names.jsonl" >/dev/null || fail "a recording with odd names"
"$ETWTOOL" fields "$work/names.etl" Contoso/Sold >"$work/text"
for line in 'field: "名前"' 'field_1st: "1st"' '_a: _a' '_1: "\$1"' 'x_y: "x y"' 'httpcode: HTTPCode'; do
	grep -Eq "^      # $line  " "$work/text" || fail "no label $line: $(cat "$work/text")"
done
sed -E 's/^      # ([a-z0-9_]+: .*)$/      \1/' "$work/text" >"$work/my_collector.yaml"
"$ETW_EXPORTER" --once --config.file="$work/config.yaml" --replay.file="$work/names.etl" >"$work/page" || fail "the labels: $(cat "$work/my_collector.yaml")"
grep '^etw_my_events_total{' "$work/page" | grep 'field="tea"' | grep 'field_1st="a"' | grep '_a="b"' | grep '_1="c"' | grep 'x_y="d"' |
	says 'httpcode="e".* 1$' || fail "the labels: $(grep etw_my "$work/page")"
# Events whose names mean something else in a rule, without a layout, or classic: each collector counts its event, and no other one.
python3 - >"$work/events.jsonl" <<'END'
import json
for number, event in enumerate(({"kind": "full", "opcode": 7, "raw": "0011"}, {"id": 5, "version": 2, "raw": "0011"}, {"provider_name": "A:B", "event": "E"},
                                {"provider_name": "A/B", "event": "E/F"}, {"provider_name": "Image", "event": "Load"})):
    event = {"fields": {"a": 1}, **event} if "raw" not in event else event
    print(json.dumps({"filetime": 133601436010000000, "provider": f"{number + 1}1111111-1111-1111-1111-111111111111", **event}))
END
"$ETWTOOL" relog "$work/sample.etl" -o "$work/events.etl" --exact --event Image/Load --add "$work/events.jsonl" >/dev/null || fail "a recording with odd events"
for event in '{11111111-1111-1111-1111-111111111111}/7' '{21111111-1111-1111-1111-111111111111}/5' A:B/E A/B/E/F '{51111111-1111-1111-1111-111111111111}/Load'; do
	"$ETWTOOL" fields "$work/events.etl" "$event" >"$work/my_collector.yaml" || fail "$event"
	"$ETW_EXPORTER" --once --config.file="$work/config.yaml" --replay.file="$work/events.etl" >"$work/page" || fail "$event: $(cat "$work/my_collector.yaml")"
	grep '^etw_my_events_total' "$work/page" | diff - <(echo 'etw_my_events_total{process="Idle"} 1') || fail "$event: $(cat "$work/my_collector.yaml")"
done
# The start of a disk request comes with a flag that no collector can need, so none is suggested.
"$MAKE_HOSTILE" "$work"
"$ETWTOOL" fields "$work/every-class.etl" DiskIo/Read | grep -q '^needs: { kernel: \[DISK_IO\] }' || fail "needs of DiskIo/Read"
! "$ETWTOOL" fields "$work/every-class.etl" DiskIo/ReadInit | grep -q '^needs' || fail "needs of DiskIo/ReadInit"
# Its offer of a value, taken: the seconds are those of the shipped collector.
sed 's/etw_my_events_total/etw_my_events_seconds_total/; s/# value: Duration /value: Duration /; s/# started: Started /started: Started /' "$work/end" >"$work/my_collector.yaml"
"$ETW_EXPORTER" --once --config.file="$work/config.yaml" --collector.file_latency --replay.file="$work/sample.etl" >"$work/page"
python3 - "$work/page" <<'END' || fail "durations: $(grep etw_my "$work/page" | head -3)"
import collections, re, sys
mine, shipped = collections.Counter(), collections.Counter()
for line in open(sys.argv[1]):
    if found := re.match(r'etw_my_events_seconds_total\{process="([^"]*)",started="FileIo/(\w+)"\} (\S+)', line):
        mine[found[2].lower()] += float(found[3])
    elif found := re.match(r'etw_file_operation_duration_seconds_sum\{.*operation="(\w+)".*\} (\S+)', line):
        shipped[found[1].replace("_", "")] += float(found[2])
# The collector leaves out reads and writes of paging.
names = ("create", "queryinfo", "flush", "delete", "rename")
sys.exit(any(not shipped[name] or round(mine[name], 6) != round(shipped[name], 6) for name in names))
END

"$ETWTOOL" stats "$work/sample.etl" >"$work/stats"
grep -q '^  _none: events that belong to no process, most of them FileIo/OperationEnd, ' "$work/stats" ||
	fail "stats does not explain _none: $(cat "$work/stats")"

# What is asked for and is not there, is there more than once, or is misspelt.
sample=$work/sample.etl
expect_exit 1 "no event 'FileIo/Wriet'; did you mean 'FileIo/Write'" "$ETWTOOL" fields "$sample" FileIo/Wriet
expect_exit 1 "no provider 'Contoso.Shpo'; did you mean 'Contoso.Shop'" "$ETWTOOL" fields "$sample" Contoso.Shpo OrderPlaced
expect_exit 1 "no event 'OrderPlacd'; did you mean 'OrderPlaced'" "$ETWTOOL" fields "$sample" Contoso.Shop OrderPlacd
expect_exit 2 "'Write' is several events: .*DiskIo/Write" "$ETWTOOL" fields "$sample" 'Windows Kernel' Write
expect_exit 2 "'Contoso.Shop' is a provider; which of its events" "$ETWTOOL" fields "$sample" Contoso.Shop
expect_exit 2 'name an event, such as DiskIo/Read; etwtool providers FILE lists them$' "$ETWTOOL" fields "$sample"
expect_exit 2 'not also "x"' "$ETWTOOL" fields "$sample" a b x
expect_exit 2 'name a recording' "$ETWTOOL" providers
# A word picks providers and events, as with --installed.
"$ETWTOOL" providers "$sample" dns-cli >"$work/out" || fail "providers FILE WORD"
grep -q '^Microsoft-Windows-DNS-Client {' "$work/out" && grep -q QueryCompleted "$work/out" || fail "providers dns-cli: $(cat "$work/out")"
[ "$(grep -c ' events$' "$work/out")" = 1 ] || fail "providers dns-cli has others: $(cat "$work/out")"
"$ETWTOOL" providers "$sample" DISKIO/ --format json | python3 -c 'import json, sys
provider, = json.load(sys.stdin)["providers"]
sys.exit(provider["name"] != "Windows Kernel" or not provider["events"] or not all(e["event"].startswith("DiskIo/") for e in provider["events"]))' || fail "providers DISKIO/"
expect_exit 1 "^etwtool providers: the recording has no provider or event with 'nosuch' in its name\$" "$ETWTOOL" providers "$sample" nosuch
expect_exit 2 '^etwtool providers: one word at a time, not also "b"$' "$ETWTOOL" providers "$sample" a b
expect_exit 2 'one recording at a time' "$ETWTOOL" providers "$sample" "$sample"

# fields as JSON has what the collector has.
"$ETWTOOL" fields "$sample" FileIo/Write >"$work/yaml"
"$ETWTOOL" fields "$sample" FileIo/Write --format json >"$work/json" || fail "fields --format json"
python3 - "$work/json" "$work/yaml" <<'END' || fail "fields --format json: $(cat "$work/json")"
import json, re, sys

found = json.load(open(sys.argv[1], encoding="utf-8"))
yaml = open(sys.argv[2], encoding="utf-8").read()
records, opcode = re.search(r"^# FileIo/Write: (\d+) events in \S+, opcode (\d+), version", yaml).groups()
assert (found["event"], found["provider"], found["opcode"], found["records"]) == ("FileIo/Write", "Windows Kernel", int(opcode), int(records)), found
assert found["guid"] == "90cbdc39-4a3e-11d1-84f4-0000f80464e3", found["guid"]
rows = {field["name"]: field for field in found["fields"] + found["derived"]}
assert rows["IoSize"]["type"] == "u32" and not rows["IoSize"]["list"], rows["IoSize"]
for name, comment in re.findall(r"^      # \w+: (\w+) +# (.*)$", yaml, re.M):
    kind, _, values = comment.partition(": ")
    field = rows[name]
    assert kind.removeprefix("derived, ").removeprefix("list of ").split(";")[0] == field["type"] and all(value in values for value in field["values"][:1]), (comment, field)
assert "Path" in {field["name"] for field in found["derived"]} and "IrpPtr" in {field["name"] for field in found["fields"]}
END
expect_exit 2 'did you mean --top' "$ETWTOOL" stats "$sample" --tpo 3
expect_exit 2 'a number above 0, not "0"' "$ETWTOOL" stats "$sample" --top 0
expect_exit 2 'did you mean json' "$ETWTOOL" stats "$sample" --format jsn
expect_exit 2 'one recording at a time' "$ETWTOOL" stats "$sample" "$sample"
expect_exit 1 'No such file' "$ETWTOOL" stats "$sample.none"
expect_exit 1 'No such file' "$ETWTOOL" providers "$sample.none"
expect_exit 1 'No such file' "$ETWTOOL" fields "$sample.none" x
