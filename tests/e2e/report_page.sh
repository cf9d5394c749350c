#!/usr/bin/env bash
# The page of etwtool report in headless Chromium: no request, no violation of its Content Security Policy, both themes and a phone's
# width, keys and pointer, print, hostile names. Pictures to look at are left in BUILD_DIR/report.
. "${BASH_SOURCE%/*}/lib.bash"

in_chromium report.mjs report

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
"$ETWTOOL" report "$work/sample.etl" -o "$work/sample.html" >/dev/null

# Names of programs, of a file and of the recording are markup, end the data block, or turn the direction of writing.
python3 - "$work/sample.etl" "$work/<b>x.etl" <<'END'
import sys

data = open(sys.argv[1], "rb").read()
for old, new in (b"sqlservr.exe", b"</script><x>"), (b"powershell.exe", "abcd\u202egpj.exe".encode()), \
        ("Backup".encode("utf-16-le"), "<!--\u202e<".encode("utf-16-le")):
    if len(old) != len(new) or old not in data:
        sys.exit(f"{old} and {new}")
    data = data.replace(old, new)
# Without its end, where names of files stand once more, compressed.
open(sys.argv[2], "wb").write(data[:2600000])
END
"$ETWTOOL" report "$work/<b>x.etl" -o "$work/hostile.html" >/dev/null 2>&1

"$MAKE_HOSTILE" "$work/hostile"
"$ETWTOOL" report "$work/hostile/names.etl" -o "$work/names.html" >/dev/null

# Recordings with little in them, and real ones: the page is whole, whatever it shows. LONG_TESTS=1: all.
small=("$traces"/{gcevents,net.4.5.2.x64}.etl)
! is_long || small=("$traces"/*.etl)
head -c 66000 "$work/sample.etl" >"$work/begun.etl"
small_steps=()
for recording in "$work/begun.etl" "${small[@]}"; do
	[ -e "$recording" ] || continue
	name=$(basename "$recording" .etl)
	"$ETWTOOL" report "$recording" -o "$work/$name.html" >/dev/null 2>&1 || fail "$name: no report"
	small_steps+=(-- small "$work/$name.html")
done

# Processes that end, or begin, at a time that no calendar has.
python3 - >"$work/late.jsonl" <<'END'
import json
never = 2700000000000000000
for filetime, process, opcode in (133601436100000000, 70004, 1), (never, 70004, 2), (never, 70008, 1), (133601436150000000, 70012, 1), (133601436300000000, 70012, 2):
    fields = {"UniqueProcessKey": 4096 * process, "ProcessId": process, "ParentId": 4, "SessionId": 0, "ExitStatus": 0, "DirectoryTableBase": 0, "Flags": 0,
              "UserSID": None, "ImageFileName": f"late-{process}.exe", "CommandLine": "", "PackageFullName": "", "ApplicationId": ""}
    print(json.dumps({"filetime": filetime, "provider_name": "Process", "opcode": opcode, "version": 4, "fields": fields}))
END
"$ETWTOOL" relog "$work/sample.etl" -o "$work/late.etl" --exact --event 'Process/*' --add "$work/late.jsonl" >/dev/null
"$ETWTOOL" report "$work/late.etl" -o "$work/late.html" >/dev/null

# The recordings whose tables are compared below.
compared=("$work/sample.etl")
real=$traces/net.4.5.2.x64.etl
[ ! -e "$real" ] || compared+=("$real")
rendered=()
for recording in "${compared[@]}"; do
	rendered+=(-- rendered "$work/$(basename "$recording" .etl).html")
done

steps look "$work/sample.html" \
	-- folds "$work/sample.html" \
	"${rendered[@]}" \
	-- lifetimes "$work/late.html" \
	-- pointer "$work/sample.html" \
	-- keys "$work/sample.html" \
	-- access "$work/sample.html" \
	-- static "$work/sample.html" \
	-- print "$work/sample.html" \
	-- hostile "$work/hostile.html" \
	-- names "$work/names.html" \
	"${small_steps[@]}"

# The tables that a reader sees have the numbers of the document.
collectors=()
for file in "$SOURCE_DIR"/config/collectors/*.yaml; do
	collectors+=("--collector.$(basename "$file" .yaml)")
done
for recording in "${compared[@]}"; do
	name=$(basename "$recording" .etl)
	"$ETW_EXPORTER" --once --replay.file="$recording" "${collectors[@]}" >"$work/exposition" 2>/dev/null
	"$ETWTOOL" dump "$recording" --event 'Process/*' >"$work/processes" 2>/dev/null
	python3 "$SOURCE_DIR/tests/e2e/report_numbers.py" "$work/$name.html" "$work/exposition" "$work/processes" "$pictures/rendered-$name.html" ||
		fail "$name: the tables of the page"
done
