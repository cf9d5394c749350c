#!/usr/bin/env bash
# etwtool doctor: what it finds in recordings that lack one thing each; its numbers against pages of the exporter and summaries; its
# profiles against the documented schema.
. "${BASH_SOURCE%/*}/lib.bash"

mapfile -t files < <(some_recordings)
sample=$work/sample.etl

# Recordings that lack one thing: fields of the header (docs/etl-format.md section 5), and buffers.
python3 - "$work" <<'END' || fail "recordings with one fault each"
import os, struct, sys
work = sys.argv[1]
whole = open(os.path.join(work, "sample.etl"), "rb").read()
size, = struct.unpack_from("<I", whole) # each buffer begins with its size
header = 0x48 + 0x20 # of the buffer, of the record

def write(name, data):
    open(os.path.join(work, name), "wb").write(data)

def patch(name, form, offset, value):
    data = bytearray(whole)
    struct.pack_into(form, data, header + offset, value)
    write(name, bytes(data))

patch("unclosed.etl", "<q", 16, 0)
patch("lost.etl", "<I", 48, 1234)
patch("circular.etl", "<I", 32, 2)
patch("buffers_lost.etl", "<I", 0x114, 5)
patch("no_frequency.etl", "<q", 0x100, 0)
patch("clock.etl", "<I", 0x110, 7) # 1 to 3 are clocks
start, = struct.unpack_from("<q", whole, header + 0x108)
patch("later.etl", "<q", 0x108, start + 30 * 10**7) # and the end stays
write("half.etl", whole[:len(whole) // size // 2 * size])
write("cut.etl", whole[:-size // 2])
damaged = bytearray(whole)
damaged[3 * size:3 * size + 64] = b"\xff" * 64
write("damaged.etl", bytes(damaged))
write("half_damaged.etl", bytes(damaged[:len(whole) // size // 2 * size]))
END

finds() { # RECORDING SEVERITY ID: the report has such a finding, in both formats
	"$ETWTOOL" doctor "$work/$1" --format json >"$work/json" 2>/dev/null || fail "$1: exit $?"
	python3 - "$work/json" "$2" "$3" <<'END' || fail "$1: no $2 $3: $(grep '"id"' "$work/json")"
import json, sys
findings = json.load(open(sys.argv[1]))["findings"]
found = [f for f in findings if f["id"] == sys.argv[3] and f["severity"] == sys.argv[2]]
assert found and all(f["finding"].endswith(".") and f["do"].endswith(".") for f in found)
END
	"$ETWTOOL" doctor "$work/$1" >"$work/text" 2>/dev/null
	grep -q "^$2: " "$work/text" || fail "$1: the text has no $2"
	grep -q '^    do: [A-Z].*\.$' "$work/text" || fail "$1: nothing to do"
}
first() { # SENTENCE...: what to do first; also in JSON
	awk '/^what to do first:$/ { here = 1; next } here' "$work/text" >"$work/steps"
	printf '%s\n' "$@" | diff - <(sed 's/^  [1-3]\. //' "$work/steps") || fail "what to do first: $(cat "$work/steps")"
	python3 -c 'import json, sys; assert json.load(open(sys.argv[1]))["first"] == sys.argv[2:]' "$work/json" "$@" || fail "what to do first, JSON"
}
copy_again='Copy the file again after the session was stopped; if it is still damaged, record again.'
stop_first='Stop the session (wpr -stop, logman stop) before the file is copied.'
finds unclosed.etl warning not_closed
first "$stop_first"
finds lost.etl warning events_lost
says '^warning: 1234 events (0.88 % of all) and 0 buffers were lost' <"$work/text" || fail "$(grep lost "$work/text")"
finds circular.etl note circular
finds half.etl warning no_file_rundown
# 300 manifests of which the second chunk never came; 256 may wait for theirs.
for ((i = 0; i < 300; i++)); do
	printf '{"provider": "11111111-1111-1111-1111-111111111111", "id": 65534, "filetime": 133601436010000000, "pid": %d, "raw": "0101005b02000000"}\n' $((1000 + 4 * i))
done >"$work/chunks.jsonl"
"$ETWTOOL" relog "$sample" -o "$work/chunks.etl" --add "$work/chunks.jsonl" >/dev/null || fail "no recording with chunks of manifests"
finds chunks.etl warning descriptions_dropped
says 'than are kept: 44 were left out' <"$work/text" || fail "$(grep kept "$work/text")"
finds buffers_lost.etl warning events_lost
says '^warning: 0 events (0.00 % of all) and 5 buffers were lost' <"$work/text" || fail "$(grep lost "$work/text")"
finds no_frequency.etl warning clock_doubt
says 'doubtful: its header has no performance counter frequency: taken as 10 MHz\.$' <"$work/text" || fail "$(grep doubtful "$work/text")"
finds clock.etl warning clock_doubt
says 'doubtful: its header has an unknown clock type' <"$work/text" || fail "$(grep doubtful "$work/text")"
# All times are half a minute later, so a record is outside if it was more than 31 s before the end of the session, one second of which may differ.
finds later.etl note outside
end=$("$ETWTOOL" summary "$sample" | python3 -c 'import json, sys; print(json.load(sys.stdin)["header"]["end_filetime"] - 29 * 10**7)')
count=$("$ETWTOOL" dump "$sample" | python3 -c 'import json, sys; print(sum(json.loads(line)["filetime"] > int(sys.argv[1]) for line in sys.stdin))' "$end")
says "^note: $count records have times before the start" <"$work/text" || fail "$count records are later: $(grep 'have times' "$work/text")"

# A recording of operations on files alone, and events that are added to it: of a provider GUID with an id and so on, so many seconds after the
# start.
start=$("$ETWTOOL" summary "$sample" | python3 -c 'import json, sys; print(json.load(sys.stdin)["header"]["start_filetime"])')
event() { # SECONDS PROVIDER MEMBERS: a line of an event without a payload
	printf '{"filetime": %d, "provider": "%s", %s, "raw": ""}\n' $((start + $1 * 10000000)) "$2" "$3"
}
with() { # RECORDING ARGUMENTS...: a part of the sample with the lines of the standard input
	cat >"$work/lines.jsonl"
	"$ETWTOOL" relog "$sample" -o "$work/$1" --exact "${@:2}" --add "$work/lines.jsonl" >/dev/null || fail "no recording $1"
}
for second in 10 40 3640 3641; do
	event $second 11111111-1111-1111-1111-111111111111 '"id": 1'
done | with gap.etl --event 'FileIo/*' --to 2
python3 - "$work/gap.etl" $((start + 36410000000)) <<'END' || fail "a recording of an hour"
import struct, sys
with open(sys.argv[1], "r+b") as file:
    file.seek(0x68 + 16)
    file.write(struct.pack("<q", int(sys.argv[2])))
END
finds gap.etl note gap
says '^note: For 3600 s there is no record, from 2024-05-14T07:00:40.0000000Z\.$' <"$work/text" || fail "$(grep 'no record' "$work/text")"
# Lost events, buffers and files (docs/kernel-event-names.csv).
for opcode in 32 33 34; do
	event 1 6a399ae0-4bc6-4de9-870b-3657f8947e7e "\"kind\": \"full\", \"opcode\": $opcode"
done | with notified.etl --event 'FileIo/*' --to 2
finds notified.etl warning loss_notifications
says '^warning: 3 records report lost events or buffers' <"$work/text" || fail "$(grep 'lost' "$work/text")"
# The reads have no names, and a list of open files is there.
event 1 90cbdc39-4a3e-11d1-84f4-0000f80464e3 '"kind": "perfinfo", "opcode": 36' | with volumes.etl --event FileIo/Read --to 2
finds volumes.etl warning unknown_volumes
says '^warning: 100.0 % of the bytes of files have no volume' <"$work/text" || fail "$(grep volume "$work/text")"
# Microsoft-Windows-Kernel-Process writes a list of processes as well, event 15.
event 1 22fb2cd6-0e7b-422b-a0c7-2fad1fd0e716 '"id": 15' | with processes.etl --event 'FileIo/*' --to 2
finds processes.etl warning unknown_processes
! grep -q no_process_rundown "$work/json" || fail "a list of processes is not seen"
: | with calls.etl --event 'PerfInfo/*' --to 2
finds calls.etl warning no_drivers
count=$("$ETWTOOL" dump "$work/calls.etl" | grep -c '"event": "\(DPC\|ThreadedDPC\|TimerDPC\|ISR\)"')
says "^warning: $count DPCs and interrupts" <"$work/text" || fail "$count: $(grep DPC "$work/text")"
# Of providers without a layout 20 are named.
providers() { # COUNT
	for ((i = 0; i < $1; i++)); do
		event 1 "11111111-1111-1111-1111-1111111111$((10 + i))" '"id": 1' | sed 's/"raw": ""/"raw": "00"/'
	done
}
providers 21 | with many.etl --event 'PerfInfo/*' --to 2
finds many.etl note no_schema
says '^note: Events of 1 more provider have no layout\.$' <"$work/text" || fail "$(grep 'more provider' "$work/text")"
[ "$(grep -c '^note: The fields of 1 record (1 event) of ' "$work/text")" = 20 ] || fail "the providers that are named"
providers 23 | with many.etl --event 'PerfInfo/*' --to 2
finds many.etl note no_schema
says '^note: Events of 3 more providers have no layout\.$' <"$work/text" || fail "$(grep 'more provider' "$work/text")"
# A command line with the name of a provider can be pasted into a shell: the name comes from the recording.
named() { # GUID NAME
	event 1 "$1" "\"id\": 1, \"provider_name\": \"$2\", \"ext\": [[12, 0]]" | sed 's/"raw": ""/"raw": "00"/'
}
{
	named 11111111-1111-1111-1111-111111111101 Contoso-Plain.Name_1
	named 11111111-1111-1111-1111-111111111102 'Contoso Windows Firewall'
	named 11111111-1111-1111-1111-111111111103 'Contoso&calc.exe'
	named 11111111-1111-1111-1111-111111111104 'Contoso\" $(calc)'
	named 11111111-1111-1111-1111-111111111105 '-Contoso'
} | with named.etl --event 'PerfInfo/*' --to 2
finds named.etl note no_schema
sed -n 's/.*where the provider is registered\(.*\)/\1/p' "$work/text" | LC_ALL=C sort >"$work/commands"
diff - "$work/commands" <<'END' || fail "command lines with names of providers"
, with --export-manifests.
, with --export-manifests.
: etwtool providers --export-manifests DIR "Contoso Windows Firewall".
: etwtool providers --export-manifests DIR Contoso-Plain.Name_1.
END
grep -q PerfView "$work/text" && fail "another program than ours"
# A collector that lacks kernel flags and a provider.
"$ETWTOOL" doctor "$work/calls.etl" --collector.dns >"$work/text" || fail "a recording without events of DNS"
says '^warning: Collector dns counts nothing, because .*: PROCESS, THREAD; there is no event of the provider Microsoft-Windows-DNS-Client\.$' \
	<"$work/text" || fail "$(grep 'Collector dns' "$work/text")"
# Advice that several findings in a row share is printed once.
[ "$(grep -c '^warning: Collector .* counts nothing' "$work/text")" -gt 1 ] || fail "$(cat "$work/text")"
[ "$(grep -c '^    do: Record again with the profile' "$work/text")" = 1 ] || fail "advice is repeated: $(cat "$work/text")"
# Tables that are too small: as many entries as the exporter counts.
printf 'limits: { files: 100, processes: 16, threads: 16 }\n' >"$work/limits.yaml"
"$ETWTOOL" doctor "$sample" --config.file "$work/limits.yaml" >"$work/text" || fail "small tables"
count=$("$ETW_EXPORTER" --once --replay.file="$sample" --config.file="$work/limits.yaml" 2>/dev/null |
	awk '/^etw_state_evictions_total/ { sum += $NF } END { print sum }')
says "^note: $count processes, threads, files or requests did not fit" <"$work/text" || fail "$count: $(grep 'did not fit' "$work/text")"
printf 'collectors: { disk: off, events: off, file: off, memory: off, network: off, process: off }\n' >"$work/none.yaml"
expect_exit 2 'the requested collectors need nothing$' "$ETWTOOL" doctor "$work/none.yaml" --profile "$work/none.wprp"
"$ETWTOOL" doctor "$work/none.yaml" | says '^The requested collectors need nothing of a session\.$' || fail "a configuration that needs nothing"
finds cut.etl warning cut_short
finds damaged.etl warning damaged
advice() { sed -n "/^warning: $1/,+1s/^    do: //p" "$work/text" | grep .; } # WORDS: of the warning that begins so
first "$copy_again"
finds half_damaged.etl warning damaged
first "$copy_again" "$(advice 'The recording has no list of the files')"
# What another copy mends comes before what needs another recording, and each step stands there once.
python3 - "$work" <<'END' || fail "a recording with three faults"
import struct, sys
data = bytearray(open(sys.argv[1] + "/damaged.etl", "rb").read())
struct.pack_into("<q", data, 0x68 + 16, 0)
struct.pack_into("<I", data, 0x68 + 48, 1234)
open(sys.argv[1] + "/three.etl", "wb").write(data)
END
finds three.etl warning damaged
first "$copy_again" "$stop_first" "$(advice '1234 events ')"

# A recording with nothing wrong has no finding, and --strict succeeds; with a warning it fails, with findings alone nothing does.
"$ETWTOOL" doctor "$sample" | says '^No problem was found.$' || fail "findings in the sample"
"$ETWTOOL" doctor "$sample" | tail -2 | diff - <(printf 'what to do first:\n  Nothing: there is no warning.\n') || fail "the end of the report"
"$ETWTOOL" doctor "$sample" --strict >/dev/null || fail "--strict on the sample"
"$ETWTOOL" doctor "$work/lost.etl" >/dev/null || fail "findings are no failure"
expect_exit 1 'the report has a warning' "$ETWTOOL" doctor "$work/lost.etl" --strict
"$ETWTOOL" doctor "$work/circular.etl" --strict >/dev/null || fail "a note is no failure"

# On every recording: the doctor ends well, its numbers are those of the exporter, and a collector is fed if and only if the page has a value
# of a family of it.
cat >"$work/compare.py" <<'END'
import glob, json, os, re, subprocess, sys
tool, exporter, source, path = sys.argv[1:5]
# The families of each collector, from the files that declare them.
families = {os.path.basename(name)[:-5]: set(re.findall(r"^  - name: (\w+)", open(name).read(), re.M))
            for name in glob.glob(os.path.join(source, "config", "collectors", "*.yaml"))}
# Two of them may share a family, and differ in the operations that they count.
operations = {name: set(re.findall(r"operation: { text: (\w+) }", open(os.path.join(source, "config", "collectors", name + ".yaml")).read()))
              for name in families}

def is_of(name, series):
    family = re.sub(r"(_bucket|_count|_sum)?({.*)?$", "", series)
    operation = re.search(r'operation="(\w+)"', series)
    shared = sum(family in of for of in families.values()) > 1
    return family in families[name] and (not shared or not operation or operation.group(1) in operations[name])

def run(*words):
    return subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True).stdout.decode()

def page(*flags):
    values = {}
    for line in run(exporter, "--once", "--replay.file=" + path, *flags).split("\n"):
        if line and line[0] != "#":
            series, value = line.rsplit(" ", 1)
            values[series] = float(value)
    return values

report = json.loads(run(tool, "doctor", path, "--format", "json"))
summary = json.loads(run(tool, "summary", path))
everything = page(*("--collector." + name for name in families))
def of(process):
    return sum(v for s, v in everything.items() if s.startswith("etw_events_total{") and 'process="%s"' % process in s)
assert report["of_unknown_process"] == of("_unknown"), (report["of_unknown_process"], of("_unknown"))
assert report["of_no_process"] == of("_none")
def sum_of(family, *labels):
    return sum(v for s, v in everything.items() if s.split("{")[0] == family and all(label in s for label in labels))
def percent_in(finding):
    return float(re.search(r"([0-9.]+) %", finding["finding"]).group(1))
assert report["records"] == summary["records"] == sum_of("etw_consumer_records_total"), (report["records"], summary["records"])
lost = [sum_of("etw_session_events_lost_total"), sum_of("etw_session_log_buffers_lost_total")]
assert [report["events_lost"], report["buffers_lost"]] == lost, lost
findings = {f["id"]: f for f in report["findings"]}
assert ("events_lost" in findings) == (sum(lost) > 0)
assert ("not_closed" in findings) == (summary["header"]["end_filetime"] == 0)
assert ("damaged" in findings) == (sum_of("etw_consumer_bad_buffers_total") + sum_of("etw_consumer_bad_records_total") > 0)
assert ("undecodable" in findings) == (sum_of("etw_consumer_records_total", 'outcome="undecodable"') > 0)
for name in ("no_process_rundown", "unknown_processes"):
    if name in findings:
        assert abs(percent_in(findings[name]) - 100 * of("_unknown") / report["records"]) <= 0.051, findings[name]
for name in ("no_file_rundown", "unknown_volumes"):
    if name in findings:
        assert abs(percent_in(findings[name]) - 100 * (1 - sum_of("etw_consumer_file_bytes_with_volume_ratio"))) <= 0.051, findings[name]
# Records without a schema: those of the findings, and those that describe others: manifests, and EventInfo of the kernel's session.
without = [f["finding"] for f in report["findings"] if f["id"] == "no_schema"]
assert len(without) < 20, "the test reads what is said of each provider"
of_findings = sum(int(re.match(r"The fields of (\d+) record", text).group(1)) for text in without)
describing = sum(subprocess.run([tool, "dump", path, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout.count(b"\n")
                 for words in (("--event", "65534"), ("--provider", "bbccf6c1-6cd1-48c4-80ff-839482e37671")))
assert of_findings + describing == sum_of("etw_consumer_records_total", 'outcome="no_schema"'), (of_findings, describing)

assert {c["name"] for c in report["collectors"]} == set(families)
for collector in report["collectors"]:
    name = collector["name"]
    if not families[name]: # file_top: its series end with the recording
        continue
    counts = any(v != 0 and is_of(name, s) for s, v in everything.items())
    # Counters of bytes may stay 0 although events are counted.
    assert not counts or collector["state"] == "fed", (name, collector)
    assert counts or collector["counted"] == 0 or name in ("payload", "memory", "network", "registry"), (name, collector)
    if collector["state"] == "not fed":
        missing = collector["missing"]
        assert missing["kernel"] or missing["providers"]
        assert set(missing["kernel"]) <= set(collector["needs"]["kernel"])
        assert "logman start" in collector["logman"]
END
for recording in "${files[@]}" "$work"/{gap,notified,volumes,processes,calls}.etl; do
	"$ETWTOOL" doctor "$recording" >"$work/text" 2>"$work/err" || fail "$recording: $(cat "$work/err")"
	python3 "$work/compare.py" "$ETWTOOL" "$ETW_EXPORTER" "$SOURCE_DIR" "$recording" || fail "$recording: other numbers"
done

# What a recording lacks is said with the flag that was off, as its group masks state.
if [ -e "$traces/net.4.5.2.x64.etl" ]; then
	"$ETWTOOL" doctor "$traces/net.4.5.2.x64.etl" --all >"$work/text"
	# It has creates of Microsoft-Windows-Kernel-File, and nothing else of files.
	says '^warning: Collector file counts too little, because these kernel flags were off: FILE_IO_INIT\.$' <"$work/text" || fail "file"
	# PROCESS 1, THREAD 2, DISK_FILE_IO 0x200 and FILE_IO_INIT 0x4000000 of evntrace.h.
	grep -A1 '^  file  ' "$work/text" | says -- '-p "Windows Kernel Trace" 0x4000203 ' || fail "the line for file"
	grep -A2 '^  http  ' "$work/text" | says -- '-p "{dd5ef90a-6398-47a4-ad34-4dcecdef795f}" 0x136 4 ' || fail "the line for http"
	# Without --all, only those that were asked for have lines.
	"$ETWTOOL" doctor "$traces/net.4.5.2.x64.etl" >"$work/text"
	grep -A1 '^  file  ' "$work/text" | says '^      logman start ' || fail "the line for file, without --all"
	grep -A1 '^  http  ' "$work/text" | says '^      logman start ' && fail "a line for http, without --all"
	says '^  (--all shows the logman lines of those that are off, too)$' <"$work/text" || fail "no word of --all: $(cat "$work/text")"
	# A collector without rules that counts something is fed, although one of its kernel flags was off.
	"$ETWTOOL" doctor "$traces/net.4.5.2.x64.etl" --collector.disk_cause >"$work/text"
	grep -q '^  disk_cause  *on  *fed  *missing: .*VAMAP' "$work/text" || fail "disk_cause: $(grep disk_cause "$work/text")"
	! grep '^warning: Collector disk_cause' "$work/text" || fail "disk_cause counts what there is"
	"$ETWTOOL" doctor "$traces/net.4.5.2.x64.etl" --no-collector.file --strict >/dev/null 2>&1 || fail "a collector that is not requested"
fi

# What a recording has for collectors that are off comes first.
if [ -e "$traces/gcevents.etl" ]; then
	"$ETWTOOL" doctor "$traces/gcevents.etl" >"$work/text"
	sed -n 2p "$work/text" | says -Fx 'It feeds collectors that are off: dotnet, payload. Switch them on with --collector.NAME: etw_exporter --once --replay.file=FILE --collector.dotnet' ||
		fail "the good news: $(head -3 "$work/text")"
	"$ETWTOOL" doctor "$traces/gcevents.etl" --collector.dotnet --collector.payload >"$work/text"
	says '^It feeds collectors' <"$work/text" && fail "news of collectors that are on"
	[ "$(grep -c 'logman start' "$work/text")" -lt 15 ] || fail "lines of collectors that are off: $(grep -c 'logman start' "$work/text")"
fi
"$ETWTOOL" doctor "$sample" >"$work/text"
for collector in disk_cause file_top; do
	says "^  $collector  *off  *fed  *has no rules; all that it needs is there\$" <"$work/text" || fail "$collector: $(grep "^  $collector " "$work/text")"
done

# English: an adverb that a reader could take for a schedule, and one of many.
"$ETWTOOL" doctor "$work/half.etl" >"$work/text"
says 'regularly' <"$work/text" && fail "$(grep regularly "$work/text")"
says '^    do: .*, and end it with logman stop or wpr -stop (not by a crash or power-off), because Windows writes .* at the end\.$' <"$work/text" ||
	fail "no advice how to end a session: $(cat "$work/text")"
"$ETWTOOL" doctor "$work/damaged.etl" >"$work/text" 2>"$work/err"
says '^etwtool doctor: warning: the recording is damaged; what cannot be read is left out: 1 buffer (65536 bytes)$' <"$work/err" || fail "$(cat "$work/err")"
says '^warning: The recording is damaged; what cannot be read is left out: 1 buffer (65536 bytes)\.$' <"$work/text" || fail "$(grep 'left out' "$work/text")"
cat "$work/err" "$work/text" | says 'cut short' && fail "damage is called a cut"
"$ETW_EXPORTER" --once --replay.file="$work/damaged.etl" 2>"$work/err" >"$work/page"
says 'msg="Recording is damaged; what cannot be read is left out" .* buffers=1 bytes=65536 records=0$' <"$work/err" || fail "$(cat "$work/err")"
says 'cut short' <"$work/err" && fail "damage is called a cut"
says '^etw_consumer_bad_bytes_total{.*} 65536$' <"$work/page" || fail "$(grep bad_ "$work/page")"
"$ETWTOOL" report --format markdown "$work/damaged.etl" >"$work/damaged.md" 2>/dev/null
says 'The recording is damaged; what cannot be read is left out: 1 buffer (65536 bytes)\.$' <"$work/damaged.md" || fail "the report of damage"
"$ETWTOOL" relog "$work/damaged.etl" -o "$work/mended.etl" >/dev/null 2>"$work/err"
says ' is damaged; what cannot be read is left out: 1 buffer (65536 bytes)$' <"$work/err" || fail "$(cat "$work/err")"

# Profiles: well-formed, elements in the order of "WPRControlProfiles Schema" (Microsoft Learn), keywords of its enumeration,
# and VAMap, which that lacks (Siemens-Healthineers/ETWAnalyzer, its documentation of mapped files).
cat >"$work/profile.py" <<'END'
import sys, xml.etree.ElementTree as tree
path, kernel, providers = sys.argv[1], set(sys.argv[2].split(",")) - {""}, set(sys.argv[3].split(",")) - {""}
known = set("""AllFaults Alpc AntiStarvation CC ClockInterrupt ClusterOff CompactCSwitch ContiguousMemorygeneration CpuConfig CSwitch DiskIO
DiskIOInit DPC Drivers FileIO FileIOInit Filename FilterIO FilterIOFailure FilterIOFastIO FilterIOInit FootPrint HalClock Handle
HardFaults IdleStates InterProcessorInterrupt Interrupt KernelQueue Loader LoadBalancer Memory MemoryInfo MemoryInfoWS NetworkTrace
Object OpticalIO OpticalIOInit Pool Power ProcessCounter ProcessFreeze ProcessThread ReadyThread ReferenceSet Registry RegistryHive
SampledProfile SpinLock SplitIO SynchronizationObjects SystemCall ThreadPriority Timer VAMap VirtualAllocation WakeCounter""".split())
root = tree.parse(path).getroot()
assert root.tag == "WindowsPerformanceRecorder" and root.get("Version")
profiles, = root
assert profiles.tag == "Profiles"
order = ["SystemCollector", "EventCollector", "SystemProvider", "EventProvider", "Profile"]
places = [order.index(e.tag) for e in profiles]
assert places == sorted(places), [e.tag for e in profiles]
ids = [e.get("Id") for e in profiles]
assert len(ids) == len(set(ids)) and all(i and ":" not in i and " " not in i for i in ids)
for collector in profiles:
    if collector.tag in ("SystemCollector", "EventCollector"):
        assert [e.tag for e in collector] == ["BufferSize", "Buffers"] and all(int(e.get("Value")) > 0 for e in collector)
        assert collector.tag == "EventCollector" or collector.get("Name") in ("NT Kernel Logger", "Circular Kernel Context Logger")
keywords = [k.get("Value") for k in profiles.findall("SystemProvider/Keywords/Keyword")]
assert len(keywords) == len(set(keywords)) and set(keywords) <= known, keywords
assert set(keywords) == kernel, keywords
events = profiles.findall("EventProvider")
assert {"%s/%s/%s" % (e.get("Name"), e.get("Level"), ";".join(k.get("Value") for k in e.findall("Keywords/Keyword"))) for e in events} == providers, \
    [tree.tostring(e) for e in events]
profile, = profiles.findall("Profile")
assert profile.get("Id") == ".".join(profile.get(k) for k in ("Name", "DetailLevel", "LoggingMode")) and profile.get("Description")
used = [e.get("Value") for e in profile.iter() if e.get("Value")]
assert sorted(used) == sorted(i for i in ids if i != profile.get("Id")), used
assert [e.tag for e in profile] == ["Collectors"]
print(*(e.get("Stack") for e in events))
END
profile() { # KEYWORDS PROVIDERS ARGUMENTS...
	local keywords=$1 providers=$2
	shift 2
	rm -f "$work/out.wprp"
	"$ETWTOOL" doctor "$@" --profile "$work/out.wprp" >"$work/text" 2>"$work/err" || fail "$*: $(cat "$work/err")"
	python3 "$work/profile.py" "$work/out.wprp" "$keywords" "$providers" >"$work/stacks" || fail "$*: $(cat "$work/out.wprp")"
	grep -q "wpr -start \"$work/out.wprp!etw_exporter\" -filemode" "$work/text" || fail "$*: no line for wpr"
}
basic=ProcessThread,DiskIO,Filename,FileIOInit,NetworkTrace,HardFaults
profile "$basic" "" "$sample"
profile "$basic" "" "$SOURCE_DIR/config/etw_exporter.yaml"
profile ProcessThread,DiskIO,Filename,FileIOInit,NetworkTrace,HardFaults,CSwitch,ReadyThread,SampledProfile,Loader,DPC,Interrupt \
	"1c95126e-7eea-49a9-a3fe-a378b03ddb4d/4/0xFFFFFFFFFFFFFFFF,dd5ef90a-6398-47a4-ad34-4dcecdef795f/4/0x136" \
	"$sample" --collector.sched --collector.cpu --collector.interrupt --collector.dns --collector.http
every=(cpu disk_cause dns dotnet file_errors file_groups file_latency file_other file_top http image interrupt minifilter page_faults payload process_info registry sched tcp tcp_peers
	virtual_alloc)
profile "$basic,SampledProfile,FileIO,Loader,DPC,Interrupt,AllFaults,Registry,CSwitch,ReadyThread,VirtualAllocation,VAMap,FilterIO,FilterIOFastIO,FilterIOFailure" \
	"1c95126e-7eea-49a9-a3fe-a378b03ddb4d/4/0xFFFFFFFFFFFFFFFF,dd5ef90a-6398-47a4-ad34-4dcecdef795f/4/0x136,e13c0d23-ccbc-4e12-931b-d9cc2eee27e4/5/0x1C011,2f07e2ee-15db-40f1-90ef-9d7ba282188a/4/0x200400000400" \
	"$sample" "${every[@]/#/--collector.}"

# A configuration with sessions: their providers, with stacks, and groups beyond the flags.
cat >"$work/my.yaml" <<'END'
collectors: { disk: off, events: off, file: off, memory: off, network: off, process: off }
collector_files: [mine.yaml]
sessions:
  mine:
    logger: user
    providers:
      - { provider: '{11111111-2222-3333-4444-555555555555}', level: 3, any: 0x30, properties: [stack] }
      - { provider: 'A<B & "C"--D', level: 2 }
      - { provider: 'X--&>Y', level: 1 }
schemas: [x.man]
END
cat >"$work/x.man" <<'END'
<instrumentationManifest xmlns="http://schemas.microsoft.com/win/2004/08/events"><instrumentation><events>
<provider name="X--&amp;>Y" guid="{22222222-2222-3333-4444-555555555555}" symbol="X"><events><event value="1" version="0"/></events>
</provider></events></instrumentation></instrumentationManifest>
END
cat >"$work/mine.yaml" <<'END'
collector: mine
help: For the test.
default: on
needs: { kernel: [PRIORITY, POOL] }
metrics:
  - name: etw_mine_total
    type: counter
    help: For the test.
    events:
      - { event: Process/Start }
END
if "$ETWTOOL" check "$work/my.yaml" >"$work/check" 2>&1; then
	profile ProcessThread,ThreadPriority,Pool '11111111-2222-3333-4444-555555555555/3/0x30,A<B & "C"--D/2/0xFFFFFFFFFFFFFFFF,22222222-2222-3333-4444-555555555555/1/0xFFFFFFFFFFFFFFFF' "$work/my.yaml"
	grep -q '^true' "$work/stacks" || fail "no stack in the profile"
	grep -q '(logman cannot enable PRIORITY, POOL; wpr can)' "$work/text" || fail "groups: $(cat "$work/text")"
	# A collector needs all levels and keywords of one of them; the configuration enables fewer.
	sed -i "s/^needs: .*/needs: { providers: ['{11111111-2222-3333-4444-555555555555}:0::0'] }/" "$work/mine.yaml"
	profile ProcessThread '11111111-2222-3333-4444-555555555555/0/,A<B & "C"--D/2/0xFFFFFFFFFFFFFFFF,22222222-2222-3333-4444-555555555555/1/0xFFFFFFFFFFFFFFFF' "$work/my.yaml"
else
	fail "the configuration of the test: $(cat "$work/check")"
fi

# Each collector alone, and the configuration of the repository.
python3 "${BASH_SOURCE%/*}/doctor_needs.py" "$ETWTOOL" "$SOURCE_DIR/config" "$work" || fail "the needs of a collector"

# Bad usage.
expect_exit 2 'name a recording or a configuration' "$ETWTOOL" doctor
expect_exit 2 'one recording or configuration at a time' "$ETWTOOL" doctor a b
printf 'collectors: {}\n' >"$work/my.conf"
expect_exit 1 'my.conf: is not a recording: .*; a configuration has a name that ends in .yaml$' "$ETWTOOL" doctor "$work/my.conf"
printf 'neither\n' >"$work/neither.etl"
expect_exit 1 'neither.etl: is not a recording: .* records$' "$ETWTOOL" doctor "$work/neither.etl"
printf 'colectors: {}\n' >"$work/typo.yaml"
expect_exit 2 "typo.yaml:1:1: unknown key 'colectors'; did you mean 'collectors'" "$ETWTOOL" doctor "$work/typo.yaml"
expect_exit 1 'nothing.etl' "$ETWTOOL" doctor "$work/nothing.etl"
expect_exit 2 'collector.*nothing' "$ETWTOOL" doctor --collector.nothing "$sample"
expect_exit 2 'config.file is for a recording' "$ETWTOOL" doctor "$work/my.yaml" --config.file "$work/my.yaml"
expect_exit 2 'config.file is for a recording' "$ETWTOOL" doctor "$work/my.yaml" --config "$work/my.yaml"
expect_exit 1 "$work/no/out.wprp" "$ETWTOOL" doctor "$sample" --profile "$work/no/out.wprp"
