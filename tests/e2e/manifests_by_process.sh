#!/usr/bin/env bash
# Two versions of one EventSource in two processes: every program decodes an event by the manifest of its own process, else by the
# newest manifest that has the event. The manifests come in pieces that alternate, after all events.
. "${BASH_SOURCE%/*}/lib.bash"

cd "$work"
"$MAKE_SAMPLE" sample.etl >/dev/null
"$ETWTOOL" relog sample.etl -o base.etl --to 0.1 >/dev/null

# Makes the lines of the recording, and of each event what it must be decoded as, of the same values.
cat >story.py <<'END'
import json, struct, sys

EARLY = "early" in sys.argv  # all manifests before all events, for who reads a recording once
START = 133601436000000000  # of the sample, 100 ns
GUID = "d0c5b1ae-0000-4000-8000-00000000b11d"
OLD, NEW, SILENT, REUSED = 5000, 6000, 7000, 8000

number = lambda value: (struct.pack("<I", value), {"Number": value})
text = lambda value: (value.encode("utf-16-le") + b"\0\0", {"Text": value})

def both(*parts):
    return b"".join(p[0] for p in parts), {k: v for p in parts for k, v in p[1].items()}

TEMPLATES = {
    "n": '<template tid="n"><data name="Number" inType="win:UInt32"/></template>',
    "nt": '<template tid="nt"><data name="Number" inType="win:UInt32"/><data name="Text" inType="win:UnicodeString"/></template>',
    "tn": '<template tid="tn"><data name="Text" inType="win:UnicodeString"/><data name="Number" inType="win:UInt32"/></template>',
}

def manifest(events, padding):
    rows = "".join(f'<event value="{i}" version="0" symbol="{s}" template="{t}"/>' for i, s, t in events)
    return ('<instrumentationManifest><instrumentation><events><provider name="Contoso-Build" guid="{' + GUID + '}">'
            f"<!-- {padding * 3000} --><events>{rows}</events><templates>{''.join(TEMPLATES.values())}</templates>"
            "</provider></events></instrumentation></instrumentationManifest>").encode()

old = manifest([(1, "Work", "n"), (2, "Same", "nt"), (53, "Cached", "nt"), (54, "Reused", "n")], "old ")
new = manifest([(1, "Work", "tn"), (2, "Same", "nt"), (60, "Fresh", "tn")], "new ")

lines, expected, tick = [], [], 2000 if EARLY else 0

def add(pid, id, raw, opcode=0, at=None):
    global tick
    tick += 1
    line = {"kind": "event", "filetime": START + (at or tick) * 1000, "pid": pid, "tid": pid + 1, "cpu": pid // 1000 % 2,
            "provider": GUID, "id": id, "opcode": opcode, "level": 4, "raw": raw.hex()}
    lines.append(line)
    return line["filetime"]

def event(pid, id, name, parts, at=None):
    time = add(pid, id, parts[0], at=at)
    expected.append({"filetime": time, "pid": pid, "id": id, "event": name, "fields": parts[1]})

def process(opcode, pid, at):
    fields = {"UniqueProcessKey": pid, "ProcessId": pid, "ParentId": 4, "SessionId": 1, "ExitStatus": 259, "DirectoryTableBase": 0,
              "Flags": 0, "UserSID": "S-1-5-18",
              "ImageFileName": f"build{pid}.exe", "CommandLine": ""}
    lines.append({"kind": "system", "filetime": START + at * 1000, "pid": 4, "tid": 8, "version": 4, "opcode": opcode, "level": 0,
                  "provider": "3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c", "fields": fields})

for i in range(20):
    event(OLD, 1, "Work", number(i))
    event(NEW, 1, "Work", both(text(f"job {i}"), number(100 + i)))
    event(SILENT, 1, "Work", both(text("newest"), number(1000)))
    for pid in (OLD, NEW, SILENT):
        event(pid, 2, "Same", both(number(i), text("both")))
        event(pid, 53, "Cached", both(number(i), text("old alone")))
        event(pid, 60, "Fresh", both(text("new alone"), number(i)))
for i in range(7):
    event(NEW, 54, "Reused", number(i))
# One id, two processes: the former had the old version and the later one announces the new one at its end.
process(1, REUSED, 600)
process(2, REUSED, 700)
process(1, REUSED, 710)
if not EARLY:
    event(REUSED, 1, "Work", number(5), at=650)
    event(REUSED, 1, "Work", both(text("later"), number(6)), at=750)

def chunks(pid, xml, count, at):
    size = -(-len(xml) // count)
    return [(pid, struct.pack("<BBBBHH", 1, 1, 0, 0x5B, count, i) + xml[i * size:(i + 1) * size], at + i) for i in range(count)]

# The same text comes twice, and one that is cut short.
series = [chunks(OLD, old, 34, 900), chunks(NEW, new, 34, 900), chunks(SILENT, old, 34, 900)[:33]]
for pieces in zip(*series[:2]):
    for pid, raw, at in pieces:
        add(pid, 0xFFFE, raw, 0xFE, at)
for pid, raw, at in (series[2] + chunks(OLD, old, 3, 940) + chunks(REUSED, old, 1, 690) + chunks(REUSED, new, 2, 800) +
                     chunks(NEW, new, 1, 950)):
    add(pid, 0xFFFE, raw, 0xFE, at)
with open("lines.jsonl", "w") as out:
    out.writelines(json.dumps(line) + "\n" for line in lines)
with open("expected.json", "w") as out:
    json.dump(sorted(expected, key=lambda e: (e["filetime"], e["pid"])), out)
END
python3 story.py
"$ETWTOOL" relog base.etl -o two.etl --add lines.jsonl >/dev/null

# decoded FILE EDIT: the events of Contoso-Build in the file are those of the story, each as the statement EDIT changes it.
decoded() {
	"$ETWTOOL" dump "$1" >dumped
	python3 - "${2-}" <<'END' || fail "$1: events are not decoded as they should be"
import json, sys

found = []
for line in open("dumped"):
    e = json.loads(line)
    if e["provider"].endswith("b11d") and e["id"] != 0xFFFE:
        found.append({k: e.get(k) for k in ("filetime", "pid", "id", "event", "fields")})
found.sort(key=lambda e: (e["filetime"], e["pid"]))
wanted = json.load(open("expected.json"))
for e in wanted:
    exec(sys.argv[1], {"e": e, "fields": e["fields"]})
for pair in zip(wanted, found):
    if pair[0] != pair[1]:
        sys.exit("wanted %s\nfound  %s" % pair)
if len(found) != len(wanted):
    sys.exit(f"{len(found)} events, wanted {len(wanted)}")
END
}
decoded two.etl
"$ETWTOOL" summary two.etl | says '"eventsource_manifests": 6,' || fail "manifests: $("$ETWTOOL" summary two.etl | grep manifests)"

# Rules: the numbers of one event come from both layouts.
cat >build.yaml <<'END'
collector: build
help: Builds.
default: on
metrics:
  - name: build_work_total
    type: counter
    help: Numbers of work, by process.
    labels: { process: Process }
    events: [{ event: Contoso-Build/Work, value: Number }]
  - name: build_texts_total
    type: counter
    help: Events with this text.
    labels: { text: Text }
    events: [{ event: Contoso-Build/Cached }, { event: Contoso-Build/Fresh }]
END
printf 'collector_files: [build.yaml]\n' >config.yaml
"$ETW_EXPORTER" --once --config.file=config.yaml --replay.file=two.etl >page 2>log || fail "$(cat log)"
# 0 + … + 19, 100 + … + 119, 20 times 1000, 5 + 6
[ "$(awk '/^build_work_total\{/ { sum += $NF } END { print sum }' page)" = $((190 + 2190 + 20000 + 11)) ] ||
	fail "the numbers of all work: $(grep ^build_work page)"
for text in old new; do
	[ "$(awk -v sample="build_texts_total{text=\"$text alone\"} " 'index($0, sample) == 1 { print $NF }' page)" = 60 ] ||
		fail "$text: $(grep ^build_texts page)"
done

# Whoever reads the recording only once knows a manifest from its place on.
(
	mkdir early
	cd early
	python3 ../story.py early
)
"$ETWTOOL" relog base.etl -o early.etl --add early/lines.jsonl >/dev/null
for pass in "" --replay.single-pass; do
	"$ETW_EXPORTER" --once --config.file=config.yaml --replay.file=early.etl $pass >page 2>log || fail "$(cat log)"
	[ "$(awk '/^build_work_total\{/ { sum += $NF } END { print sum }' page)" = $((190 + 2190 + 20000)) ] ||
		fail "$pass: the numbers of all work: $(grep ^build_work page)"
	[ "$(awk '/^build_texts_total\{/ { sum += $NF } END { print sum }' page)" = 120 ] || fail "$pass: $(grep ^build_texts page)"
done

# What lists events has each under its name, and of none no layout.
"$ETWTOOL" providers two.etl >providers
for row in '62  Work' '60  Same' '60  Cached' '60  Fresh' '7  Reused'; do
	grep -q "$row" providers || fail "providers: no $row in $(grep -A9 Contoso-Build providers)"
done
"$ETWTOOL" stats two.etl | says 'Contoso-Build/Work' || fail "stats: $("$ETWTOOL" stats two.etl | grep Contoso-Build)"
"$ETWTOOL" fields two.etl Contoso-Build/Work >fields
if ! grep -q ' text: Text' fields || ! grep -q ' number: Number' fields; then fail "fields: $(cat fields)"; fi
"$ETWTOOL" dump two.etl --event Contoso-Build/Cached --format text >cached
[ "$(grep -c 'old alone' cached)" = 60 ] || fail "dump --event: $(head -3 cached)"

# What makes payloads uses the layout of the process, too.
"$ETWTOOL" relog two.etl -o set.etl --set 'Contoso-Build/*.Number=77' >/dev/null
decoded set.etl 'fields["Number"] = 77'
# Events of which a dump has the values, but not the bytes, among manifests and processes that are there already.
grep -v '"id": [0-9]*, "opcode": 0' lines.jsonl >describing.jsonl
"$ETWTOOL" relog base.etl -o describing.etl --add describing.jsonl >/dev/null
python3 -c '
import json
for e in json.load(open("expected.json")):
    print(json.dumps(e | {"provider": "d0c5b1ae-0000-4000-8000-00000000b11d", "level": 4}))' | sed 's/"event": "[^"]*", //' >events.jsonl
"$ETWTOOL" relog describing.etl -o added.etl --add events.jsonl >/dev/null
decoded added.etl
# Parts and an excerpt have the manifests of all.
"$ETWTOOL" relog two.etl -o excerpt.etl --process 5000 --event Contoso-Build/Cached >/dev/null
"$ETWTOOL" dump excerpt.etl --event Contoso-Build/Cached --format text >cached
[ "$(grep -c 'old alone' cached)" = 20 ] || fail "relog --process: $(head -3 cached)"
"$ETWTOOL" relog two.etl -o hidden.etl --anonymise >/dev/null 2>&1
"$ETWTOOL" dump hidden.etl --event 'Contoso-Build/*' >hidden
[ "$(grep -c '"Number": ' hidden)" = 249 ] || fail "anonymised: $(grep -c '"Number": ' hidden) events have a number"
if grep -q 'alone' hidden; then fail "anonymised: $(grep -m 1 alone hidden)"; fi
