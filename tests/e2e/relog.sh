#!/usr/bin/env bash
# etwtool relog: a recording that is written again reads like the one before, in each form and through generations; with filters it
# has what dump shows with them; parts that are merged are the whole again; what cannot be done is said.
# Large recordings are compared as dumps, all others in every view. LONG_TESTS=1: every view, every filter, on each, and more generations.
. "${BASH_SOURCE%/*}/lib.bash"
long='' generations=4
! is_long || long=yes generations=10

relog() { "$ETWTOOL" relog "$@" >"$work/relog.out" 2>"$work/relog.err" || fail "relog $*: exit $?: $(cat "$work/relog.err")"; }
# What the programs say about a recording; the header record says whether buffers are packed, how many there are, and the largest size.
jsonl() { "$ETWTOOL" dump "$1" 2>/dev/null | sed '1s/"\(LogFileMode\|BuffersWritten\|BufferSize\)": [0-9]*//g'; }
csv() { "$ETWTOOL" dump "$1" --format csv 2>/dev/null | sed '/EventTrace\/Header/d'; }
text() { "$ETWTOOL" dump "$1" --format text 2>/dev/null | sed '/EventTrace\/Header/d'; }
page() {
	"$ETW_EXPORTER" --once --replay.file="$1" "${all_collectors[@]}" 2>/dev/null | grep -vE '^(# (HELP|TYPE) )?(process_|etw_consumer_busy|etw_exporter_|etw_session_buffer_size)'
}
summary() {
	"$ETWTOOL" summary "$1" | python3 -c 'import json, sys; s = json.load(sys.stdin); b = s.pop("buffer_stats"); s.pop("problems")
s["header"]["log_file_mode"] &= ~0x4000000
s["header"].pop("buffer_size")
for form in ("plain", "compressed"): b.pop(form, 0)
print(json.dumps([s, b], indent=1))'
}
declare -A shown # view -> the file that the last comparison began with, whose view is kept
same() { # file, file, view...
	local a=$1 b=$2 view
	shift 2
	for view; do
		if [ "${shown[$view]:-}" != "$a" ]; then
			"$view" "$a" >"$work/first.$view"
			shown[$view]=$a
		fi
		"$view" "$b" >"$work/b"
		cmp "$work/first.$view" "$work/b" || fail "$view of $a and $b: $(diff "$work/first.$view" "$work/b" | head -5 | cut -c1-300)"
	done
}
packed() { "$ETWTOOL" summary "$1" | python3 -c 'import json, sys; print(json.load(sys.stdin)["buffer_stats"].get("compressed", 0))'; }

for file in $(recordings); do
	name=$(basename "$file")
	damaged=
	"$ETWTOOL" summary "$file" | says '"problems": \[\]' || damaged=yes
	mkdir -p "$work/as" "$work/plain" "$work/packed"
	relog "$file" -o "$work/as/$name"
	if [ -z "$damaged" ]; then
		cmp "$file" "$work/as/$name" || fail "$name: not the same bytes"
	else
		grep -q 'is cut short; everything up to there is read' "$work/relog.err" || fail "$name: $(cat "$work/relog.err")"
		"$ETWTOOL" summary "$work/as/$name" | says '"problems": \[\]' || fail "$name: damage was copied"
	fi
	relog "$file" --plain -o "$work/plain/$name"
	relog "$file" --compress -o "$work/packed/$name"
	[ "$(packed "$work/plain/$name")" = 0 ] || fail "$name: packed buffers with --plain"
	[ "$(packed "$work/packed/$name")" -gt 0 ] || fail "$name: no packed buffers with --compress"
	large=
	[ -n "$long" ] || [ "$(stat -c %s "$file")" -lt 1000000 ] || large=yes
	# Without damage `as` has the bytes of the file.
	forms=(plain packed)
	[ -z "$damaged" ] || forms+=(as)
	for form in "${forms[@]}"; do
		same "$file" "$work/$form/$name" jsonl
		[ -n "$large" ] || same "$work/as/$name" "$work/$form/$name" summary page
	done
	[ -n "$large" ] || same "$file" "$work/packed/$name" csv text

	mkdir -p "$work/generation"
	cp "$file" "$work/generation/$name"
	for ((generation = 1; generation <= generations; generation++)); do
		form=--compress
		((generation % 2)) || form=--plain
		relog "$work/generation/$name" "$form" -o "$work/next.etl"
		mv "$work/next.etl" "$work/generation/$name"
	done
	same "$file" "$work/generation/$name" jsonl
	if [ -z "$large" ]; then
		same "$file" "$work/generation/$name" text
		same "$work/as/$name" "$work/generation/$name" summary page
	fi
	if [ -n "$large" ] && [ "$name" = sample.etl ]; then
		relog "$file" -o "$work/seconds.etl" --to 5
		file=$work/seconds.etl
	elif [ -n "$large" ]; then
		echo "ok: $name"
		continue
	fi

	LONG_TESTS=$long python3 - "$ETWTOOL" "$file" "$work" <<'END' || fail "$file"
import collections, json, os, re, subprocess, sys

tool, path, work = sys.argv[1:4]
out = f"{work}/filtered.etl"

def run(*command):
    done = subprocess.run([tool, *command], capture_output=True)
    if done.returncode:
        sys.exit(f"{command}: exit {done.returncode}: {done.stderr.decode()}")
    return [line for line in done.stdout.decode("utf-8").split("\n") if line]

def event(line):
    """A line of jsonl without what a copy may change: places in the file, the header's count and mode."""
    index, rest = re.match(r'\{"i": (\d+), (.*)', line).groups()
    return re.sub(r'"(BuffersWritten|LogFileMode|BufferSize)": \d+, ', "", rest) if index == "0" else rest

def time_of(line):
    """Those without a time come first."""
    time = re.search(r'"filetime": (-?\d+)', line)
    return int(time[1]) if time else -1

def shown(line):
    """A line of text without what two events say together, of which one may be left out."""
    line = re.sub(r'  (OnCpu|Ready|Duration|Started|StartedBy)=("[^"]*"|\S+)', "", line)
    line = line.removesuffix("  |")
    return line if "EventTrace/Header" not in line else ""

def events(lines):
    """Without stacks, which stay with their events (tests/e2e/stacks.sh)."""
    return [line for line in lines if '"provider_name": "StackWalk"' not in line and "  StackWalk/" not in line]

def compare(title, found, wanted):
    if found != wanted:
        sys.exit(f"{title}: {len(found)} lines, wanted {len(wanted)}: "
                 f"{[pair for pair in zip(found, wanted) if pair[0] != pair[1]][:1]}")

lines = run("dump", path)
csv = [line.split(",", 3)[1] for line in run("dump", path, "--format", "csv")[1:]]
processes = [name for name, _ in collections.Counter(csv).most_common(4) if name and name[0] != '"']
guids = [guid for guid, _ in collections.Counter(re.search(r'"provider": "([^"]*)"', line)[1] for line in lines).most_common(3)]
filters = [["--process", name] for name in processes[:2]] + [["--where", f"Process eq {name}"] for name in processes[2:]]
filters += [["--provider", guid] for guid in guids]
times = sorted(time for time in map(time_of, lines) if time >= 0)
start = json.loads("".join(run("summary", path)))["header"]["start_filetime"]
middle = max(0, times[len(times) // 2] - start) / 1e7
filters += [["--to", f"{middle + 0.000001:.6f}"], ["--from", f"{middle:.6f}"]]
if processes and guids:
    filters.append(["--process", processes[0], "--provider", guids[0], "--compress"])
if not os.environ["LONG_TESTS"]:
    filters = filters[::3]
for options in filters:
    kept = [option for option in options if option != "--compress"]
    if subprocess.run([tool, "dump", path, *kept], capture_output=True).returncode:
        continue
    run("relog", path, "-o", out, *options)
    # Small buffers are joined, so places in the file change, but not the order of equal times.
    by_time = lambda lines: sorted(map(event, lines), key=time_of)
    wanted = by_time(run("dump", path, *kept))
    compare(f"{options}", by_time(events(run("dump", out, *kept))), events(wanted))
    compare(f"{options} text", [shown(line) for line in events(run("dump", out, "--format", "text", *kept))],
            [shown(line) for line in events(run("dump", path, "--format", "text", *kept))])
    # Without what describes: nothing else, except the logfile header.
    run("relog", path, "-o", out, "--exact", *options)
    wanted = [time_of(line) for line in wanted if '"EventTrace_Header"' not in line]
    compare(f"{options} --exact", sorted(map(time_of, run("dump", out)[1:])), wanted)

# Two parts by time, merged: the records of the whole, each as often.
half = f"{middle:.6f}"
if float(half) > 0:
    for part, options in enumerate((["--to", half], ["--from", half])):
        run("relog", path, "-o", f"{work}/part{part}.etl", *options)
    run("relog", f"{work}/part0.etl", f"{work}/part1.etl", "-o", f"{work}/whole.etl")
    whole = collections.Counter(event(line) for line in lines)
    found = collections.Counter(event(line) for line in run("dump", f"{work}/whole.etl"))
    # A record without time is in no part; losses of the parts add up.
    losses = lambda counts: collections.Counter({re.sub(r'"(EventsLost|BuffersLost)": \d+', "", line): count
                                                 for line, count in counts.items() if time_of(line) >= 0})
    if losses(whole) != losses(found):
        sys.exit(f"merged: {list((losses(whole) - losses(found)).items())[:2]} {list((losses(found) - losses(whole)).items())[:2]}")
END
	echo "ok: $name"
done

sample=$work/sample.etl

# Call stacks.
if [ -e "$traces/net.4.5.2.x64.etl" ]; then
	relog "$traces/net.4.5.2.x64.etl" --drop-stacks -o "$work/bare.etl"
	"$ETWTOOL" dump "$work/bare.etl" >"$work/b"
	"$ETWTOOL" dump "$traces/net.4.5.2.x64.etl" >"$work/a"
	python3 - "$work/a" "$work/b" <<'END' || fail "--drop-stacks"
import itertools, json, sys

def events(path):
    """Lines of all but the header and stack walks, without their places in the file."""
    for line in open(path):
        place, _, event = line.partition(", ")
        if place != '{"i": 0' and '"provider": "def2fe46-7bd6-4b80-bd94-f57fe20d0ce3"' not in event:
            yield event

def without_stacks(event):
    """Nor with the keys of stacks (docs/etl-format.md section 9)."""
    e = json.loads("{" + event)
    e["ext"] = [item for item in e.get("ext", []) if item[0] not in (5, 6, 17, 18)]
    return e

def has_stacks(path):
    return any(item[0] in (5, 6, 17, 18) for line in open(path) if '"ext"' in line for item in json.loads(line)["ext"])

pairs = itertools.zip_longest(*map(events, sys.argv[1:]), fillvalue="}")
if any(one != other and without_stacks(one) != without_stacks(other) for one, other in pairs):
    sys.exit("other events have changed")
if not has_stacks(sys.argv[1]) or has_stacks(sys.argv[2]):
    sys.exit("stacks are still there, or there were none")
END
fi

# Parts by time and by size: each has the processes and a schema of its own, and together they are the whole.
# Lines are compared without what two events say together, as the file of a request's end, which is that of its start.
alone='s/  (OnCpu|Ready|Duration|Started|StartedBy)=("[^"]*"|[^ ]+)//g; /FileIo\/OperationEnd/s/  (Path|Volume|PathGroup)=("[^"]*"|[^ ]+)//g; s/  \|$//'
for by in 20s 1MB; do
	mkdir -p "$work/parts"
	rm -f "$work/parts"/*
	relog "$sample" -o "$work/parts/p.etl" --split "$by" --compress
	[ "$(find "$work/parts" -type f -name 'p_00000?.etl' -o -name 'p_0000??.etl' | wc -l)" = "$(find "$work/parts" -type f | wc -l)" ] ||
		fail "--split $by: $(ls "$work/parts")"
	[ "$(find "$work/parts" -type f | wc -l)" -ge 4 ] || fail "--split $by: $(ls "$work/parts")"
	"$ETWTOOL" dump "$sample" --format text | sed '/EventTrace\/Header/d' | sort >"$work/a"
	for part in "$work/parts"/*.etl; do
		[ "$by" = 20s ] || [ "$(stat -c %s "$part")" -le 1000000 ] || fail "$part is too large"
		"$ETWTOOL" summary "$part" | says '"problems": \[\]' || fail "$part: problems"
		# Each line is one of the whole: the same process, path and names.
		"$ETWTOOL" dump "$part" --format text | sed -E "/EventTrace\/Header/d; $alone"
	done | sort -u >"$work/b"
	sed -E "$alone" "$work/a" | sort -u >"$work/c"
	cmp "$work/b" "$work/c" || fail "--split $by: $(diff "$work/b" "$work/c" | head -4 | cut -c1-300)"
	relog "$work/parts"/*.etl -o "$work/whole.etl"
	"$ETWTOOL" dump "$work/whole.etl" --format text | sed '/EventTrace\/Header/d' | sort >"$work/b"
	# Parts that are split anew would take their own places.
	(cd "$work/parts" && cksum *) >"$work/before"
	expect_exit 2 'p_000001.etl is also an input' "$ETWTOOL" relog "$work/parts"/*.etl -o "$work/parts/p.etl" --split 10s
	(cd "$work/parts" && cksum *) | cmp - "$work/before" || fail "--split $by: parts that are inputs were changed"
	cmp "$work/a" "$work/b" || fail "--split $by, merged: $(diff "$work/a" "$work/b" | head -4 | cut -c1-300)"
done
# Of damaged recordings, too, parts that are merged are the whole: what can be read counts the same.
counts() { page "$1" | grep -vE '^(# (HELP|TYPE) )?(etw_consumer_(buffers|bad_buffers|bad_bytes|bad_records)|etw_session_buffers_written)_total'; }
mkdir -p "$work/damaged" "$work/merged"
relog "$sample" --plain -o "$work/plain.etl"
for seed in 1 2 3 4 5; do
	rm -f "$work/parts"/*
	python3 "$SOURCE_DIR/tests/e2e/damage.py" "$work/plain.etl" $seed >"$work/damaged/d.etl"
	relog "$work/damaged/d.etl" -o "$work/parts/p.etl" --split 10s
	relog "$work/parts"/*.etl -o "$work/merged/d.etl"
	counts "$work/damaged/d.etl" >"$work/a"
	counts "$work/merged/d.etl" >"$work/b"
	cmp "$work/a" "$work/b" || fail "damaged, seed $seed: $(diff "$work/a" "$work/b" | head -4)"
done
# Whatever number of threads compresses, the bytes are the same.
for threads in 1 3; do relog "$sample" --compress --threads $threads -o "$work/compressed.$threads"; done
cmp "$work/compressed.1" "$work/compressed.3" || fail "three threads compress to other bytes"
expect_exit 2 '\-\-threads takes .*8, not "9"' "$ETWTOOL" relog "$sample" --threads 9 -o "$work/none"
# Through pipes.
"$ETWTOOL" relog - -o - <"$sample" 2>"$work/err" | cmp - "$sample" || fail "through pipes: $(cat "$work/err")"
"$ETWTOOL" relog - -o - --compress --process sqlservr <"$sample" | "$ETWTOOL" dump - >"$work/a"
relog "$sample" -o "$work/whole.etl" --compress --process sqlservr
"$ETWTOOL" dump "$work/whole.etl" | cmp - "$work/a" || fail "through pipes, with a filter"
expect_exit 2 '--split makes several files, which - cannot be' "$ETWTOOL" relog "$sample" -o - --split 1m
expect_exit 1 'no temporary file can be made in /dev/null' env TMPDIR=/dev/null "$ETWTOOL" relog "$sample" -o -
[ ! -e /dev/full ] || { "$ETWTOOL" relog "$sample" -o - >/dev/full || true; } 2>&1 | says 'standard output cannot be written: No space' || fail "a full output"

# A program that is started with closed streams gives their numbers to no file: its warning would go into the recording.
head -c 100000 "$sample" >"$work/cut.etl"
"$ETWTOOL" relog "$work/cut.etl" -o "$work/open.etl" >/dev/null 2>"$work/err"
says 'is cut short' <"$work/err" || fail "no warning: $(cat "$work/err")"
"$ETWTOOL" relog "$work/cut.etl" -o "$work/closed.etl" >/dev/null <&- 2>&-
cmp "$work/open.etl" "$work/closed.etl" || fail "closed streams"

expect_exit 1 'leaves no room for other records' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --split 1KB
expect_exit 2 'a size such as 100MB, or a duration such as 1m' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --split 1x
expect_exit 2 'a size such as 100MB, or a duration such as 1m' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --split 0MB

# What cannot be done.
expect_exit 2 'name a recording' "$ETWTOOL" relog -o "$work/x.etl"
expect_exit 2 '-o OUT.etl is missing' "$ETWTOOL" relog "$sample"
expect_exit 2 '--exact is of no use without a filter' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --exact
expect_exit 2 'exclude each other' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --plain --compress
expect_exit 2 'sample.etl is also an input' "$ETWTOOL" relog "$sample" -o "$sample"
ln "$sample" "$work/other_name.etl"
expect_exit 2 'other_name.etl is also an input' "$ETWTOOL" relog "$sample" -o "$work/other_name.etl"
expect_exit 2 'sample.etl and .*other_name.etl are the same file' "$ETWTOOL" relog "$sample" "$work/other_name.etl" -o "$work/twice.etl"
expect_exit 2 '--to is not later than --from' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --from 2 --to 1
expect_exit 1 'the time range is outside the recording, which has events from 2024-05-14T07:00:00\.0000000Z to ' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --from 100
[ ! -e "$work/x.etl" ] || fail "a recording of a range outside"
relog "$sample" -o "$work/x.etl" --exact --event QueryCompleted --where 'QueryStatus > 0' --from 0s --to 1m # the built-in manifests know both
expect_exit 1 "no event 'QueryCompleted'" "$ETWTOOL" relog "$sample" -o "$work/y.etl" --event QueryCompleted --no-builtin
rm "$work/x.etl"
expect_exit 1 "no process 'sqlserv'; did you mean 'sqlservr'" "$ETWTOOL" relog "$sample" -o "$work/x.etl" --process sqlserv
expect_exit 1 'No such file' "$ETWTOOL" relog "$work/none.etl" -o "$work/x.etl"
expect_exit 1 '^etwtool relog: [^ ]*none/x.etl[^ ]*: cannot create: No such file' "$ETWTOOL" relog "$sample" -o "$work/none/x.etl"
expect_exit 1 'regular file|not a file|device' "$ETWTOOL" relog "$sample" -o /dev/full
[ -c /dev/full ] || fail "/dev/full is gone"
if [ -e "$traces/net.4.5.2.x64.etl" ]; then
	expect_exit 1 'gcevents.etl cannot be merged with .*net.4.5.2.x64.etl: it is of another machine' \
		"$ETWTOOL" relog "$traces/net.4.5.2.x64.etl" "$traces/gcevents.etl" -o "$work/x.etl"
	expect_exit 1 'image_data_32_v0.etl cannot be merged with .*net.4.5.2.x64.etl: it has pointers of 4 bytes, not of 8' \
		"$ETWTOOL" relog "$traces/net.4.5.2.x64.etl" "$traces/image_data_32_v0.etl" -o "$work/x.etl"
fi
# A full disk, as far as a limit of the shell imitates one: no file is left.
(
	trap '' XFSZ
	ulimit -f 100
	expect_exit 1 '^etwtool relog: [^ ]*/x.etl: cannot be written: File too large' "$ETWTOOL" relog "$sample" -o "$work/x.etl" --plain
)
[ "$(find "$work" -name 'x.etl*')" = "" ] || fail "left over: $(find "$work" -name 'x.etl*')"

# What is there is replaced only by a whole recording.
echo before >"$work/there.etl"
expect_exit 1 "no process 'nobody'" "$ETWTOOL" relog "$sample" -o "$work/there.etl" --process nobody
[ "$(cat "$work/there.etl")" = before ] || fail "there.etl was overwritten"
relog "$sample" -o "$work/there.etl" --process sqlservr
grep -Eq 'there.etl: [0-9]+ of 1[0-9]{5} records, [0-9]+ buffers, [0-9]+ bytes$' "$work/relog.out" || fail "$(cat "$work/relog.out")"
