#!/usr/bin/env bash
# etwtool dump against the expected events of the reference recordings, letter by letter, and the sample as JSON.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
"$ETWTOOL" dump "$work/sample.etl" >"$work/events" || fail "the sample cannot be dumped"
"$ETWTOOL" summary "$work/sample.etl" >"$work/summary"
python3 - "$work/events" "$work/summary" <<'END' || fail "the sample's events"
import json, sys

with open(sys.argv[1], encoding="utf-8", newline="\n") as f:
    events = [json.loads(line) for line in f]
with open(sys.argv[2], encoding="utf-8") as f:
    records = json.load(f)["records"]
whole = [e for e in events if e.get("decoded_by") == "kernel" and "_truncated" not in e["fields"]]
print(f"{len(events)} of {records} records, {len(whole)} decoded by kernel class")
sys.exit([e["i"] for e in events] != list(range(records)) or 2 * len(whole) < records)
END

shopt -s nullglob
names=("$traces"/*.etl)
[ ${#names[@]} -gt 0 ] || skip "../shared/traces has no recordings: their events were not compared"
needs "${names[@]/%.etl/.metrics.json}" "${names[@]/%.etl/.events.jsonl}"
python3 - "$ETWTOOL" "$traces" <<'END' || fail "events differ"
import glob, json, os, subprocess, sys

tool, folder = sys.argv[1:3]
bad = same = 0

def lines(text):
    return [line for line in text.split("\n") if line]

for path in sorted(glob.glob(os.path.join(folder, "*.etl"))):
    with open(path[:-4] + ".metrics.json", encoding="utf-8") as f:
        pointer_size = json.load(f).get("pointer_size_override")
    command = [tool, "dump", "--per-kind", "3", path]
    if pointer_size:
        command += ["--pointer-size", str(pointer_size)]
    done = subprocess.run(command, capture_output=True)
    if done.returncode:
        sys.exit(f"{path}: exit {done.returncode}: {done.stderr.decode()}")
    with open(path[:-4] + ".events.jsonl", encoding="utf-8", newline="\n") as f:
        wanted = lines(f.read())
    found = lines(done.stdout.decode("utf-8"))
    order = [json.loads(line)["i"] for line in found]
    if order != [json.loads(line)["i"] for line in wanted]:
        print(f"{path}: other events, or in another order")
        bad += 1
    by_index = dict(zip(order, found))
    for line in wanted:
        event = json.loads(line)
        if by_index.get(event["i"]) == line:
            same += 1
        else:
            bad += 1
            print(f"{path}: wanted {line}\n  found {by_index.get(event['i'])}")
print(f"{same} events are as expected, {bad} are not")
sys.exit(bad > 0 or same == 0)
END
