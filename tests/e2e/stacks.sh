#!/usr/bin/env bash
# Call stacks: what is cut out of a recording keeps the stacks of its events, and the definitions of their keys.
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
same() {
	local file
	for file; do
		"$ETWTOOL" dump "$file" | sed '1d; s/^{"i": [0-9]*, //' | LC_ALL=C sort >"$work/$(basename "$file").lines"
	done
	cmp "$work/$(basename "$1").lines" "$work/$(basename "$2").lines" || fail "$2 differs from $1"
}

"$MAKE_STACKS" "$work/stacks.etl"
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
