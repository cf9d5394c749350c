#!/usr/bin/env bash
# Call stacks: dump shows them with their images; what is cut out of a recording keeps the stacks of its events, and the definitions
# of their keys.
. "${BASH_SOURCE%/*}/lib.bash"

relog() { "$ETWTOOL" relog "$@" >/dev/null 2>"$work/err" || fail "relog $*: $(cat "$work/err")"; }
as_whole() { PYTHONDONTWRITEBYTECODE=1 python3 "${BASH_SOURCE%/*}/stacks_cut.py" "$ETWTOOL" "$@" || fail "parts of $*"; }
# A filter must keep stacks to show anything.
has_stacks() { "$ETWTOOL" dump "$1" --provider StackWalk | says '"StackKey"' || fail "$1 has no keys of stacks"; }

# cuts RECORDING EVENT PROCESS CONDITION FROM TO LENGTH SIZE
cuts() {
	local name
	rm -rf "$work/cut" "$work/parts"
	mkdir "$work/cut" "$work/parts"
	relog "$1" -o "$work/cut/time.etl" --from "$5" --to "$6"
	relog "$1" -o "$work/cut/process.etl" --process "$3"
	relog "$1" -o "$work/cut/event.etl" --event "$2"
	relog "$1" -o "$work/cut/condition.etl" --where "$4"
	relog "$1" -o "$work/cut/merged.etl" --to "$5"
	relog "$1" -o "$work/cut/later.etl" --from "$5"
	for name in time process event condition; do
		has_stacks "$work/cut/$name.etl"
	done
	as_whole "$1" "$work/cut/"*.etl
	relog "$work/cut/merged.etl" "$work/cut/later.etl" -o "$work/whole.etl"
	same "$1" "$work/whole.etl"
	for by in "$7" "$8"; do
		rm -f "$work/parts"/*
		relog "$1" -o "$work/parts/p.etl" --split "$by"
		[ "$(find "$work/parts" -type f | wc -l)" -ge 3 ] || fail "--split $by: $(ls "$work/parts")"
		as_whole --split "$1" "$work/parts"/*.etl
		relog "$work/parts"/*.etl -o "$work/whole.etl"
		same "$1" "$work/whole.etl"
	done
	# A part of a part, and what a filter has left.
	relog "$work/cut/event.etl" -o "$work/parts/q.etl" --split "$7"
	as_whole --split "$work/cut/event.etl" "$work/parts"/q_*.etl
}

# The records, each as often; the header tells what it has been through.
same() { # whole, made again
	[ -e "$work/$(basename "$1").lines" ] || all_lines "$1" >"$work/$(basename "$1").lines"
	all_lines "$2" | cmp "$work/$(basename "$1").lines" - || fail "$2 differs from $1"
}
all_lines() { "$ETWTOOL" dump "$1" | sed '1d; s/^{"i": [0-9]*, //' | LC_ALL=C sort; }

"$MAKE_STACKS" "$work/stacks.etl"

# shown FLAG...: of each event with a stack its second, its event, and the stack.
shown() { "$ETWTOOL" dump "$work/stacks.etl" --format text "$@" | sed -nE 's/^[^ ]*:([0-9]+\.[0-9])[0-9]*Z  cpu [0-9]  [^ ]* [^ ]*  ([^ ]*) .*Event\.Stack=(.*)$/\1 \2 \3/p'; }
kernel='0xfffff80000100010 ntoskrnl.exe+0x10, 0x7ff800000020 ntdll.dll+0x20'
shop=04030201-0605-0807-090a-0b0c0d0e0f10
cat >"$work/own" <<END
03.0 $shop/1 [$kernel, 0x7ff900000030 plug.dll+0x30, 0x1234]
04.5 $shop/1 [$kernel, 0x7ff900000030, 0x1234]
05.5 $shop/1 [$kernel, 0x7ff900000030 other.dll+0x30, 0x1234]
05.6 $shop/2 [0x40000010 wow.dll+0x10, 0x9000]
END
cat >"$work/kernel" <<END
01.0 PerfInfo/SampleProf [0xfffff800001000a1 ntoskrnl.exe+0xa1, 0xfffff800001000a2 ntoskrnl.exe+0xa2, 0x7ff8000000b1 ntdll.dll+0xb1, 0x140000b00 app.exe+0xb00]
01.0 PerfInfo/SampleProf [0x7ff8000000c1 ntdll.dll+0xc1, 0x140000c00 other.exe+0xc00]
02.5 DiskIo/WriteInit [0xfffff80000100100 ntoskrnl.exe+0x100, 0xfffff80000100101 ntoskrnl.exe+0x101, 0xfffff80000100102 ntoskrnl.exe+0x102]
03.5 PerfInfo/SampleProf [0x7ff8000000b2 ntdll.dll+0xb2, 0x140000b01 app.exe+0xb01]
04.9 PerfInfo/SampleProf [0x7ff8000000c1 ntdll.dll+0xc1, 0x140000c00 other.exe+0xc00]
END
shown | diff "$work/own" - || fail "stacks of events"
sort -s -k1,1 "$work/own" "$work/kernel" >"$work/all"
shown --stacks | diff "$work/all" - || fail "--stacks"
# JSON in the order of the file, and no key more without the flag; a cell in csv.
"$ETWTOOL" dump "$work/stacks.etl" | says Event.Stack && fail "JSON has stacks"
python3 - "$ETWTOOL" "$work" <<'END' || fail "JSON or csv"
import csv, io, json, subprocess, sys

tool, work = sys.argv[1:]
dump = lambda *flags: subprocess.run([tool, "dump", f"{work}/stacks.etl", *flags], capture_output=True, check=True).stdout.decode("utf-8")
wanted = sorted(line.split(" ", 2)[2].rstrip("\n") for line in open(f"{work}/all"))
lines = [json.loads(line) for line in dump("--stacks").splitlines()]
found = sorted(f"[{', '.join(line['Event.Stack'])}]" for line in lines if "Event.Stack" in line)
if found != wanted or len(lines) != len(dump().splitlines()):
    sys.exit(f"JSON: {found}")
own = sorted(line.split(" ", 2)[2].rstrip("\n") for line in open(f"{work}/own"))
for flags, rows in ((), own), (("--stacks",), wanted):
    found = sorted(f"[{row['Event.Stack']}]" for row in csv.DictReader(io.StringIO(dump("--format", "csv", *flags))) if row["Event.Stack"])
    if found != rows:
        sys.exit(f"csv {flags}: {found}")
if "Event.Stack" in dump("--format", "csv", "--event", "DiskIo/*"):
    sys.exit("csv: a column of nothing")
END
# A line is read again, without its stack.
"$ETWTOOL" dump "$work/stacks.etl" --stacks --event DiskIo/WriteInit >"$work/more.jsonl"
relog "$work/stacks.etl" --add "$work/more.jsonl" -o "$work/x.etl"
[ "$("$ETWTOOL" dump "$work/x.etl" --event DiskIo/WriteInit | wc -l)" = 2 ] || fail "the line was not added"
# From a pipe, and of a part.
"$ETWTOOL" dump - --format text --stacks <"$work/stacks.etl" | grep -c Event.Stack= | grep -qx 9 || fail "dump -"
relog "$work/stacks.etl" -o "$work/x.etl" --from 3.4 --to 3.501
"$ETWTOOL" dump "$work/x.etl" --format text --stacks | says 'Event.Stack=\[0x7ff8000000b2 ntdll.dll+0xb2, 0x140000b01 app.exe+0xb01\]$' || fail "a part"

cuts "$work/stacks.etl" PerfInfo/SampleProf app 'ThreadId eq 101' 1.0005 3.505 1s 9KB
# The event's own stack alone stays, with what its keys mean at that time.
relog "$work/stacks.etl" -o "$work/one.etl" --from 3.4 --to 3.501
"$ETWTOOL" dump "$work/one.etl" --provider StackWalk | sed 's/.*"opcode": \([0-9]*\).*"StackKey": \([0-9]*\).*/\1 \2/' >"$work/a"
printf '38 176\n36 176\n' | cmp - "$work/a" || fail "one stack: $(cat "$work/a")"
# A filter about the stacks themselves is what it says; without --exact they can be read.
relog "$work/stacks.etl" -o "$work/x.etl" --event StackWalk/StackKeyUser
[ "$("$ETWTOOL" dump "$work/x.etl" --provider StackWalk | grep -c StackKey)" = 7 ] || fail "four references, three definitions"
relog "$work/stacks.etl" -o "$work/x.etl" --event PerfInfo/SampleProf --exact
! "$ETWTOOL" dump "$work/x.etl" | says StackWalk || fail "--exact keeps stacks"
relog "$work/stacks.etl" -o "$work/x.etl" --process app --drop-stacks
! "$ETWTOOL" dump "$work/x.etl" | says StackWalk || fail "--drop-stacks keeps stacks"

if [ -e "$traces/net.4.5.2.x64.etl" ]; then
	cuts "$traces/net.4.5.2.x64.etl" PerfInfo/SampleProf Test.x64 'Cpu eq 1' 3 6 3s 2MB
fi
