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
page = run(exporter, "--once", "--replay.file=" + path)

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
text = run(tool, "stats", path, "--top", "1")
if f"{records} records" not in text or len(text.split("\n")) > 14:
    sys.exit(f"stats: {text}")

# Each event's collector: with all comments taken away, in batches of as many labels as a family may have.
checked = tried = 0
most = 5 if records < 50000 else 1
for provider in providers:
    for event in provider["events"][:most]:
        if event["event"].startswith("EventTrace/") or not event["fields"]:
            continue
        snippet = run(tool, "fields", path, event["guid"], str(event.get("id", event.get("opcode"))) if event["decoded_by"] != "tracelogging"
                      else event["event"].rsplit("/", 1)[1])
        tried += 1
        labels = re.findall(r"^      # (\w+: (?:[\w.-]+|\"[^\"]*\")) +#", snippet, re.M)
        offered = [re.sub(r"\[0\]", "", json.loads(label.split(": ", 1)[1]) if '"' in label else label.split(": ", 1)[1]) for label in labels]
        if not set(field for field in event["fields"]) <= set(offered) | set(field.split(".")[0] for field in offered):
            sys.exit(f"{event['event']}: fields {event['fields']}, offered {offered}")
        for first in range(0, len(labels), 7):
            some = "".join(f"      {label}\n" for label in labels[first:first + 7])
            whole = re.sub(r"^      # .*\n", "", snippet, flags=re.M).replace("      process: Process\n", "      process: Process\n" + some)
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
print(f"{checked} collectors count their events")
END
	echo "ok: $(basename "$file")"
done

# What is asked for and is not there, is there more than once, or is misspelt.
sample=$work/sample.etl
expect_exit 1 "no event 'FileIo/Wriet'; did you mean 'FileIo/Write'" "$ETWTOOL" fields "$sample" FileIo/Wriet
expect_exit 1 "no provider 'Contoso.Shpo'; did you mean 'Contoso.Shop'" "$ETWTOOL" fields "$sample" Contoso.Shpo OrderPlaced
expect_exit 1 "no event 'OrderPlacd'; did you mean 'OrderPlaced'" "$ETWTOOL" fields "$sample" Contoso.Shop OrderPlacd
expect_exit 2 "'Write' is several events: .*DiskIo/Write" "$ETWTOOL" fields "$sample" 'Windows Kernel' Write
expect_exit 2 'which event' "$ETWTOOL" fields "$sample"
expect_exit 2 'not also "x"' "$ETWTOOL" fields "$sample" a b x
expect_exit 2 'which recording' "$ETWTOOL" providers
expect_exit 2 'did you mean --top' "$ETWTOOL" stats "$sample" --tpo 3
expect_exit 2 'a number above 0, not "0"' "$ETWTOOL" stats "$sample" --top 0
expect_exit 2 'did you mean json' "$ETWTOOL" stats "$sample" --format jsn
expect_exit 2 'one recording at a time' "$ETWTOOL" stats "$sample" "$sample"
expect_exit 1 'No such file' "$ETWTOOL" stats "$sample.none"
expect_exit 1 'No such file' "$ETWTOOL" providers "$sample.none"
expect_exit 1 'No such file' "$ETWTOOL" fields "$sample.none" x
