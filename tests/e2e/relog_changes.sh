#!/usr/bin/env bash
# etwtool relog --set and --add: what is changed and what is not; events that were taken out and added again make the same recording;
# what cannot be done is said, and nothing is written then.
. "${BASH_SOURCE%/*}/lib.bash"

relog() { "$ETWTOOL" relog "$@" >"$work/relog.out" 2>"$work/relog.err" || fail "relog $*: exit $?: $(cat "$work/relog.err")"; }
cd "$work"
"$MAKE_SAMPLE" whole_sample.etl >/dev/null
relog whole_sample.etl -o sample.etl --to 6 # its first seconds have all kinds of events
"$ETWTOOL" dump sample.etl >before

# changed TITLE EDIT: out.etl has the records of sample.etl, each as the Python statement EDIT changes its event `e`; the number of
# those that it changed is the one that relog prints.
changed() {
	"$ETWTOOL" dump out.etl >after
	python3 - "$2" "$(cat relog.out)" <<'END' || fail "$1"
import json, re, sys

edit = compile(sys.argv[1], "edit", "exec")
said = int(re.search(r"(\d+) changed", sys.argv[2])[1])

def event(line, changes):
    e = json.loads(line)
    was = json.dumps(e)
    if changes:
        exec(edit, {"e": e, "fields": e.get("fields", {})})
    count = json.dumps(e) != was
    e.pop("i"), e.pop("len")  # larger records move others into another buffer
    for key in ("BuffersWritten", "BufferSize"):
        e.get("fields", {}).pop(key, None)
    return count, json.dumps(e, sort_keys=True)

befores = [event(line, True) for line in open("before")]
wanted = sorted(line for _, line in befores)
found = sorted(event(line, False)[1] for line in open("after"))
count = sum(changed for changed, _ in befores)
if found != wanted:
    sys.exit(f"{len(found)} records, wanted {len(wanted)}: {[p for p in zip(found, wanted) if p[0] != p[1]][:1]}")
if count == 0 or count != said:
    sys.exit(f"{count} records differ, relog says {said}")
END
}
relog sample.etl -o out.etl --set 'Image/Load.FileName=C:\Plug-ins\ä "x".dll'
changed "all image loads" 'if e.get("event") == "Image_Load" and e["opcode"] == 10: fields["FileName"] = "C:\\Plug-ins\\ä \"x\".dll"'
relog sample.etl -o out.etl --set 'Image/Load.ImageSize=0x2000' --set 'Image/Load.@version=3' --where 'FileName ends ntdll.dll' --compress
changed "those of a filter" 'if e.get("event") == "Image_Load" and e["opcode"] == 10 and fields["FileName"].endswith("ntdll.dll"): fields["ImageSize"] = 8192'
# Another id and provider: the layout of a TraceLogging event is in the event.
relog sample.etl -o out.etl --set 'Contoso.Shop/OrderPlaced.@provider=11223344-5566-7788-99aa-bbccddeeff00' --set 'Contoso.Shop/*.@id=77' \
	--set 'Contoso.Shop/OrderPlaced.Customer=Nobody'
changed "provider, id and a text" 'if e.get("provider_name") == "Contoso.Shop":
    e["id"] = 77
    if e["event"] == "OrderPlaced": e["provider"] = "11223344-5566-7788-99aa-bbccddeeff00"; fields["Customer"] = "Nobody"'
# Every record with a thread id in its header; many have no payload, or one that nothing describes.
relog sample.etl -o out.etl --set '*.@tid=5'
changed "all events" 'if e["tid"] is not None: e["tid"] = 5'
# Stacks are taken out of changed records too, and parts have the changes.
relog sample.etl -o out.etl --set '*.@pid=4' --drop-stacks --split 3s
[ "$("$ETWTOOL" dump out_000002.etl | grep -c '"pid": \([0-35-9]\|4[0-9]\)')" = 0 ] || fail "a part lacks the change"
# The files between the steps are gone, and what was written is for its owner alone, also in place of a file that others may read.
[ -z "$(find . -name '*.partial')" ] || fail "left over: $(find . -name '*.partial')"
[ "$(stat -c %a out_000001.etl)" = 600 ] || fail "rights of a part: $(stat -c %a out_000001.etl)"
chmod 644 out.etl
relog sample.etl -o out.etl --anonymise --to 3
[ "$(stat -c %a out.etl)" = 600 ] || fail "rights: $(stat -c %a out.etl)"
[ -z "$(find . -name '*.partial')" ] || fail "left over: $(find . -name '*.partial')"
rm out*.etl

# Events that are taken out and added again.
# In any order of lines: readers sort them by time. What has no time, the header, stays.
python3 - "$ETWTOOL" <<'END' || fail "take out, add again"
import json, random, re, subprocess, sys

def run(*command):
    done = subprocess.run([sys.argv[1], *command], capture_output=True)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}: {done.stderr.decode()}")
    return done.stdout.decode().splitlines()

def lines(path, *options):
    """Without what says where in the file a record stands, and its extended items: of those only two can be made again."""
    events = []
    for line in run("dump", path, "--builtin", *options):
        e = json.loads(line)
        if e.get("event") != "EventTrace_Header":
            e.pop("i"), e.pop("ext", None)
            events.append(json.dumps(e))
    return sorted(events)

run("relog", "sample.etl", "-o", "first.etl", "--exact", "--to", "4")
second = run("dump", "sample.etl", "--builtin", "--from", "4")
random.Random(1).shuffle(second)
half = len(second) // 2
for name, part in (("a.jsonl", second[:half]), ("b.jsonl", second[half:])):
    open(name, "w").write("\n".join(part) + "\r\n\n")
said = run("relog", "first.etl", "--builtin", "--add", "a.jsonl", "--add", "b.jsonl", "-o", "whole.etl", "--compress")
added = int(re.search(r", (\d+) added", said[0])[1])
if added != len(second) or len(second) < 1000:
    sys.exit(f"{said}: wanted {len(second)}")
if lines("whole.etl") != lines("sample.etl"):
    a, b = lines("whole.etl"), lines("sample.etl")
    sys.exit(f"the whole differs: {len(a)} {len(b)} {[p for p in zip(a, b) if p[0] != p[1]][:1]}")
# Readers deliver them in order of time.
times = [line.split()[0] for line in run("dump", "whole.etl", "--format", "text")]
if times != sorted(times):
    sys.exit("not in order of time")
if '"problems": []' not in "".join(run("summary", "whole.etl")):
    sys.exit("problems")
# Parts have them as well, and are the whole again.
run("relog", "first.etl", "--builtin", "--add", "a.jsonl", "--add", "b.jsonl", "-o", "part.etl", "--split", "30s", "--plain")
run("relog", "part_000001.etl", "part_000002.etl", "-o", "merged.etl")
if lines("merged.etl") != lines("sample.etl"):
    sys.exit("the parts differ from the whole")
END

# What cannot be done; no file is left.
wrong() { # PATTERN ARGUMENTS...
	local pattern=$1
	shift
	expect_exit 1 "$pattern" "$ETWTOOL" relog sample.etl -o x.etl "$@"
	[ -z "$(find . -name 'x.etl*')" ] || fail "left over: $(find . -name 'x.etl*')"
}
wrong '"Image/Load.Filename2=x": none of these events has a field Filename2; did you mean "FileName"\?' --set 'Image/Load.Filename2=x'
wrong '"Contoso.None/1.A=x": the recording has no such event' --set Contoso.None/1.A=x
expect_exit 2 "unknown event 'Image/Lod'; did you mean 'Image/Load'" "$ETWTOOL" relog sample.etl -o x.etl --set Image/Lod.FileName=x
wrong '"PerfInfo/DPC.@keyword=1": none of these events has a value @keyword' --set 'PerfInfo/DPC.@keyword=1'
wrong 'sample.etl: Image/Load of event [0-9]+: ImageSize: expected a whole number from 0 to [0-9]+, found "x"' --set 'Image/Load.ImageSize=x'
wrong '"Image/Load.FileName=x": what the filter keeps has no such event' --set 'Image/Load.FileName=x' --event Process/Start
wrong 'none.jsonl: .*No such file' --add none.jsonl
expect_exit 2 '--set: expected EVENT.FIELD=VALUE' "$ETWTOOL" relog sample.etl -o x.etl --set Image/Load
expect_exit 2 '--set: "Image/Load.@cpu=1": a header has no value @cpu' "$ETWTOOL" relog sample.etl -o x.etl --set Image/Load.@cpu=1
expect_exit 2 '"Image/Load.FileName=\{": the value is no JSON: ' "$ETWTOOL" relog sample.etl -o x.etl --set 'Image/Load.FileName={'
expect_exit 2 '-o - and --anonymise together take one recording and nothing else' \
	"$ETWTOOL" relog sample.etl -o - --anonymise --set Image/Load.FileName=x
# A value of a header has the size of its place, which is known when the record is; 40,000 letters are 80,000 bytes.
expect_exit 2 'version=256": expected a number from 0 to 255$' "$ETWTOOL" relog sample.etl -o x.etl --set FileIo/Read.@version=256
expect_exit 1 'an event has at most 65535$' "$ETWTOOL" relog sample.etl -o x.etl --set "Process/Start.CommandLine=$(printf '%040000d' 0)"
[ ! -e x.etl ] || fail "a recording was written in spite of the mistake"
many=()
for _ in {1..17}; do
	many+=(--add sample.etl)
done
expect_exit 2 '--add: more than 16 files$' "$ETWTOOL" relog sample.etl -o x.etl "${many[@]}"
expect_exit 2 '--exact is of no use with --set' "$ETWTOOL" relog sample.etl -o x.etl --set '*.@pid=1' --exact --process sqlservr
image='"provider_name": "Image", "opcode": 10, "version": 2, "filetime": 133601436010000000'
line() { # PATTERN LINE: the second line of a file is wrong
	printf '{%s, "fields": {}}\n%s\n' "$image" "$2" >bad.jsonl
	wrong "^etwtool relog: bad.jsonl:2: $1" --add bad.jsonl
}
line 'cpu: expected a number from 0 to 7, found 8' "{$image, \"cpu\": 8, \"fields\": {}}"
line 'fields: ImageBase: expected a whole number' "{$image, \"fields\": {\"ImageBase\": \"x\"}}"
line 'filename: a line has no such key' "{$image, \"filename\": 1}"
line 'provider: expected a GUID' '{"provider": "Image"}'
line 'expected .* at character' '{'
line 'decoded_by: a record that describes events is not in a dump' "{$image, \"decoded_by\": \"metadata\", \"fields\": {}}"

# docs/relog.md: its commands run, and print what stands there. Its recording is the sample without ndis.sys, which is then the module
# that Windows never announced.
page=$SOURCE_DIR/docs/relog.md
mkdir bin page
ln -s "$ETWTOOL" bin/etwtool
ln -s "$ETW_EXPORTER" bin/etw_exporter
export PATH=$work/bin:$PATH
etwtool dump whole_sample.etl --event 'Image/*' | grep -v '\\ndis\.sys"' >images.jsonl
relog whole_sample.etl -o few.etl --provider PerfInfo --exact
relog few.etl --add images.jsonl -o page/server.etl
cd page
awk '/^```sh/ { n++; name = sprintf("%02d.sh", n); next } /^```text/ { name = sprintf("%02d.text", n); next } /^```/ { name = ""; next }
	name { print > name } /^## / { part = $2 } name ~ /sh$/ && part != "Modules" { print > (name ".other") }' "$page"
for script in [0-9]*.sh; do
	if [ -e "$script.other" ]; then # about another recording: the commands are accepted
		sed 's/server\.etl/..\/sample.etl/; s/Contoso\.Shop\/7\./Contoso.Shop\/OrderPlaced./g; s/tmp1\.dll/ntdll.dll/' "$script" >other
		bash -euo pipefail other >../out 2>../err || fail "$(cat "$script"): $(cat ../err)"
		continue
	fi
	bash -euo pipefail "$script" >../out 2>../err || fail "$(cat "$script"): $(cat ../err)"
	diff "${script%.sh}.text" ../out || fail "$(cat "$script") prints something else"
done
[ "$(ls [0-9]*.text | wc -l)" = 3 ] || fail "the page has other examples"
echo "ok"
