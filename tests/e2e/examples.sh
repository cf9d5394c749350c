#!/usr/bin/env bash
# The examples of the library: what they print of the sample, of a live session of the fake ETW, and what they write, against etwtool.
. "${BASH_SOURCE%/*}/lib.bash"

examples=$BUILD_DIR/examples
shop=4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7 # the provider Contoso.Shop of the sample
new=11111111-2222-3333-4444-555555555555

# print_events: the very lines of etwtool dump, in the order of time. Damaged and odd recordings, too.
while IFS= read -r recording; do
	"$examples/print_events" "$recording" >"$work/events" 2>"$work/err" || fail "print_events $recording: $(cat "$work/err")"
	"$ETWTOOL" dump "$recording" >"$work/dump" 2>"$work/err" || fail "dump $recording: $(cat "$work/err")"
	python3 - "$work/events" "$work/dump" <<-'END' || fail "print_events and dump differ on $recording"
		import re, sys

		def lines(path):
		    with open(path, "rb") as f:
		        return f.read().split(b"\n")[:-1]

		def number(line):
		    return int(re.match(rb'{"i": (\d+),', line).group(1))

		def time(line):
		    return int(re.search(rb'"ts": (null|-?\d+)', line).group(1).replace(b"null", b"-9223372036854775808"))

		printed, dumped = (lines(path) for path in sys.argv[1:])
		late = sum(time(a) > time(b) for a, b in zip(printed, printed[1:]))
		print(f"{len(printed)} events, {late} of them late")
		sys.exit(sorted(printed, key=number) != dumped or late > 0)
	END
done < <(some_recordings)
expect_exit 1 'no such file|No such file' "$examples/print_events" "$work/none.etl"

# bytes_by_process: the same sums by another program, of the lines of a dump.
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
"$ETWTOOL" dump "$work/sample.etl" >"$work/dump"
"$examples/bytes_by_process" "$work/sample.etl" | sort >"$work/bytes" || fail "bytes_by_process"
python3 - "$work/dump" <<'END' | sort >"$work/expected"
import json, sys

written, owner, names, sums = {}, {}, {}, {}
with open(sys.argv[1], encoding="utf-8") as f:
    for event in map(json.loads, f):
        fields, place = event.get("fields", {}), (event.get("provider_name"), event["opcode"])
        if place == ("FileIo", 68):
            written[fields["TTID"]] = written.get(fields["TTID"], 0) + fields["IoSize"]
        elif place[0] == "Thread" and "TThreadId" in fields and "ProcessId" in fields:
            owner[fields["TThreadId"]] = fields["ProcessId"]
        elif place[0] == "Process" and "ImageFileName" in fields:
            names[fields["ProcessId"]] = fields["ImageFileName"]
for thread, size in written.items():
    sums[owner[thread]] = sums.get(owner[thread], 0) + size
for process, size in sums.items():
    print(size, process, names[process])
END
[ "$(wc -l <"$work/bytes")" -gt 5 ] || fail "bytes_by_process: $(cat "$work/bytes")"
diff "$work/expected" "$work/bytes" >&2 || fail "bytes_by_process differs"

# relog: every event of the provider is one of the other, one image was loaded, and all else is as before, but for the number of
# buffers in the header.
"$examples/relog" "$work/sample.etl" "$work/out.etl" $shop $new >"$work/out" || fail "relog"
shopped=$(grep -c "\"$shop\"" "$work/dump")
grep -q ", $shopped changed, 1 added" "$work/out" || fail "relog: $(cat "$work/out"), expected $shopped changes"
"$ETWTOOL" dump "$work/out.etl" >"$work/relogged"
[ "$(grep -c '"FileName": "jit.dll"' "$work/relogged")" = 1 ] || fail "relog: no image was added"
grep -v '"FileName": "jit.dll"' "$work/relogged" | sed "1d; s/$new/$shop/" >"$work/rest"
sed 1d "$work/dump" | cmp - "$work/rest" >&2 || fail "relog: the rest is not as before"
expect_exit 1 'usage' "$examples/relog" "$work/sample.etl"

# follow_session: 20 of the events that the machine makes, of one provider.
if [ -x "$FOLLOW_SESSION_ON_FAKE" ]; then
	printf '%s\n' "burst $work/sample.etl 40" quit >"$work/commands"
	"$FOLLOW_SESSION_ON_FAKE" '{10adf00d-10ad-10ad-0102-030405060708}:4' 20 <"$work/commands" >"$work/followed" 2>"$work/err" ||
		fail "follow_session: $(cat "$work/err")"
	grep '"event": "Work"' "$work/followed" >"$work/work" || fail "follow_session: $(head -c 400 "$work/followed")"
	[ "$(wc -l <"$work/work")" = 20 ] || fail "follow_session: $(wc -l <"$work/work") events"
	for value in {1..20}; do
		sed -n "${value}p" "$work/work" | says "\"fields\": {\"value\": $value}" || fail "follow_session: event $value"
	done
	grep -q '^0 events were lost' "$work/err" || fail "follow_session: $(cat "$work/err")"
fi
