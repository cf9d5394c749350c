#!/usr/bin/env bash
# What the families of files say of Microsoft-Windows-Kernel-File in every recording is what a sum over its events says, and nothing where the
# recording has requests of the kernel's FileIo too. config/README.md, "Two sources of the same events", has the rule.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
recordings=("$work/sample.etl")
if [ -d "$SOURCE_DIR/../shared/traces" ]; then
	recordings+=("$SOURCE_DIR"/../shared/traces/*.etl)
fi
cat >"$work/compare.py" <<'PYTHON'
import collections, json, re, subprocess, sys
tool, path, page = sys.argv[1:4]
NAMES = {12: "create", 15: "read", 16: "write", 18: "delete", 19: "rename", 21: "flush"}

def dump(provider):
    text = subprocess.run([tool, "dump", path, "--provider", provider, "--builtin"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
    return [json.loads(line) for line in text.splitlines()]

# The names of processes by their ids, from the kernel's events of processes alone.
names = {}
for event in dump("3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c"):
    name = event.get("fields", {}).get("ImageFileName")
    if name:
        names[event["fields"]["ProcessId"]] = re.sub(r"\.exe$", "", name, flags=re.I)

operations, volumes = collections.Counter(), collections.Counter()
events = dump("Microsoft-Windows-Kernel-File")
for event in events:
    if event["id"] in NAMES:
        operations[names[event["pid"]], NAMES[event["id"]]] += 1
        if event["id"] in (15, 16):
            volumes[event["id"], event["fields"]["IOFlags"] & 2] += event["fields"]["IOSize"]
requests = sum(64 <= event["opcode"] <= 75 for event in dump("90cbdc39-4a3e-11d1-84f4-0000f80464e3"))
# Each recording has the kernel's events of processes, too, so that those of Microsoft-Windows-Kernel-Process are left out as well.
of_processes = sum(event["id"] in (1, 2, 3) for event in dump("Microsoft-Windows-Kernel-Process"))
shown, moved, repeated = collections.Counter(), collections.Counter(), 0
families = {"etw_file_read_bytes_total": (15, 0), "etw_file_paging_read_bytes_total": (15, 2),
            "etw_file_written_bytes_total": (16, 0), "etw_file_paging_written_bytes_total": (16, 2)}
for name, text, value in re.findall(r"^(\w+){(.*)} (\d+)$", open(page).read(), re.M):
    labels = dict(re.findall(r'(\w+)="((?:[^"\\]|\\.)*)"', text))
    repeated += int(value) if name == "etw_consumer_repeated_events_total" else 0
    if labels.get("provider") != "Microsoft-Windows-Kernel-File":
        continue
    if name == "etw_file_operations_total":
        shown[labels["process"], labels["operation"]] += int(value)
    elif name in families:
        moved[families[name]] += int(value)
if requests:
    assert not shown and not moved, (shown, moved)
    assert repeated == sum(operations.values()) + of_processes, (repeated, operations)
else:
    assert shown == operations, (shown, operations)
    assert moved == volumes, (moved, volumes)
    assert repeated == of_processes, repeated
if events:
    print(f"{path.rsplit('/', 1)[-1]}: {len(events)} events of the provider, {requests} requests of FileIo, {sum(shown.values())} counted")
if path.endswith("/net.4.5.2.x64.etl"):
    assert sum(shown.values()) == 562 and shown["MsMpEng", "create"] == 326, shown
PYTHON
for recording in "${recordings[@]}"; do
	"$ETW_EXPORTER" --once --replay.file="$recording" >"$work/page" 2>/dev/null || fail "$recording: --once"
	python3 "$work/compare.py" "$ETWTOOL" "$recording" "$work/page" || fail "$recording"
done

# The file events of the sample once more as events of the provider, with the layouts of its manifest: alone they give the same samples as those
# of the kernel, except requests of minifilters, and beside them they change nothing.
cat >"$work/convert.py" <<'PYTHON'
import json, subprocess, sys
tool, path, ours, base = sys.argv[1:5]

def dump(*words):
    return map(json.loads, subprocess.run([tool, "dump", path, *words], stdout=subprocess.PIPE, check=True).stdout.splitlines())

process_of = {}
for event in dump("--event", "Thread/*"):
    fields = event["fields"]
    if "TThreadId" in fields and "ProcessId" in fields:
        assert process_of.setdefault(fields["TThreadId"], fields["ProcessId"]) == fields["ProcessId"], event
IDS = {0: 10, 32: 10, 36: 10, 35: 11, 76: 24, 77: 25, 79: 26, 80: 27, **{opcode: opcode - 52 for opcode in range(64, 76)}}
with open(ours, "w") as out:
    for event in dump("--provider", "90cbdc39-4a3e-11d1-84f4-0000f80464e3"):
        said, number = event["fields"], IDS.get(event["opcode"])
        if number is None:  # what the provider does not report: mapped files, minifilters
            continue
        if number <= 11:
            fields = {"FileKey": said["FileObject"], "FileName": said["FileName"]}
        elif number == 24:
            fields = {"Irp": said["IrpPtr"], "ExtraInformation": said["ExtraInfo"], "Status": said["NtStatus"]}
        else:
            fields = {"Irp": said["IrpPtr"], "FileObject": said["FileObject"], "FileKey": said.get("FileKey", 0),
                      "IssuingThreadId": said["TTID"], "ExtraInformation": said.get("ExtraInfo", 0), "InfoClass": said.get("InfoClass", 0),
                      "ByteOffset": said.get("Offset", 0), "IOSize": said.get("IoSize", 0), "IOFlags": said.get("IoFlags", 0), "ExtraFlags": 0,
                      "CreateOptions": said.get("CreateOptions", 0), "CreateAttributes": said.get("FileAttributes", 0),
                      "ShareAccess": said.get("ShareAccess", 0), "Length": said.get("Length", 0), "FileIndex": said.get("FileIndex", 0),
                      "FileName": said.get("OpenPath", said.get("FileName", "")), "FilePath": said.get("FileName", "")}
            LAYOUTS = {12: ["Irp", "FileObject", "IssuingThreadId", "CreateOptions", "CreateAttributes", "ShareAccess", "FileName"],
                       **dict.fromkeys((13, 14, 21), ["Irp", "FileObject", "FileKey", "IssuingThreadId"]),
                       **dict.fromkeys((15, 16), ["ByteOffset", "Irp", "FileObject", "FileKey", "IssuingThreadId", "IOSize", "IOFlags", "ExtraFlags"]),
                       **dict.fromkeys((20, 25), ["Irp", "FileObject", "FileKey", "IssuingThreadId", "Length", "InfoClass", "FileIndex", "FileName"]),
                       **dict.fromkeys((26, 27), ["Irp", "FileObject", "FileKey", "ExtraInformation", "IssuingThreadId", "InfoClass", "FilePath"])}
            layout = LAYOUTS.get(number, ["Irp", "FileObject", "FileKey", "ExtraInformation", "IssuingThreadId", "InfoClass"])
            fields = {name: fields[name] for name in layout}
        out.write(json.dumps({"kind": "event", "ptr": 8, "ts": event["ts"], "cpu": event["cpu"], "pid": process_of.get(said.get("TTID"), 4),
                              "tid": said.get("TTID", 0), "provider": "edd08927-9cc4-4e65-b970-c2560fb5c289", "id": number,
                              "version": 0 if number in (10, 11, 24) else 1, "level": 4, "fields": fields}) + "\n")
with open(base, "w") as out:
    for words in ("Process/*",), ("SysConfig/VolumeMapping",):
        out.writelines(json.dumps(event) + "\n" for event in dump("--event", *words))
PYTHON
python3 "$work/convert.py" "$ETWTOOL" "$work/sample.etl" "$work/ours.jsonl" "$work/base.jsonl" || fail "the sample has no events of files"
"$ETWTOOL" relog "$work/sample.etl" --exact --event Process/Start -o "$work/base.etl" 2>/dev/null || fail "a recording without files"
"$ETWTOOL" relog "$work/base.etl" --builtin --add "$work/base.jsonl" --add "$work/ours.jsonl" -o "$work/ours.etl" 2>"$work/err" || fail "$(cat "$work/err")"
"$ETWTOOL" relog "$work/sample.etl" --builtin --add "$work/ours.jsonl" -o "$work/both.etl" 2>"$work/err" || fail "$(cat "$work/err")"
cat >"$work/groups.yaml" <<'YAML'
collectors: { file_other: on, file_latency: on, file_errors: on, file_groups: on, file_top: on }
path_groups: [{ name: logs, match: ['**\*.log'] }, { name: rest of D, match: ['D:\**'] }]
YAML
for name in sample ours both; do
	"$ETW_EXPORTER" --config.file="$work/groups.yaml" --once --replay.file="$work/$name.etl" >"$work/page" 2>"$work/err" || fail "$name: $(cat "$work/err")"
	grep '^etw_file_' "$work/page" | grep -v -e '^etw_file_filter_' -e 'operation="flt_' | sort >"$work/$name.files"
	sed -n 's/^etw_consumer_repeated_events_total{.*} //p' "$work/page" >"$work/$name.repeated"
done
[ "$(wc -l <"$work/sample.files")" -gt 100 ] || fail "the sample has few samples of files"
sed 's/provider="Microsoft-Windows-Kernel-File"/provider="Windows Kernel"/' "$work/ours.files" | diff "$work/sample.files" - || fail "the provider says something else than the kernel"
diff "$work/sample.files" "$work/both.files" || fail "both sources together change what one says"
[ "$(cat "$work/ours.repeated")" = 0 ] || fail "events count as repeated: $(cat "$work/ours.repeated")"
# All that rules name are requests and the ends of operations.
[ "$(cat "$work/both.repeated")" = "$(grep -c -E '"id": (1[2-9]|2[0-4]),' "$work/ours.jsonl")" ] || fail "repeated: $(cat "$work/both.repeated")"

# Two recordings of the same time, one with each source: replayed beside each other both count, merged by relog the kernel's alone.
"$ETW_EXPORTER" --config.file="$work/groups.yaml" --once --replay.file="$work/sample.etl" --replay.file="$work/ours.etl" >"$work/page" 2>/dev/null ||
	fail "two recordings"
counted() { awk -v provider="provider=\"$1\"" '/^etw_file_written_bytes_total/ && index($0, provider) { sum += $NF } END { print sum + 0 }' "$2"; }
[ "$(counted 'Windows Kernel' "$work/page")" = "$(counted Microsoft-Windows-Kernel-File "$work/page")" ] || fail "two recordings do not both count"
"$ETWTOOL" relog "$work/sample.etl" "$work/ours.etl" -o "$work/merged.etl" >/dev/null 2>"$work/err" || fail "merge: $(cat "$work/err")"
"$ETW_EXPORTER" --config.file="$work/groups.yaml" --once --replay.file="$work/merged.etl" >"$work/page" 2>/dev/null || fail "the merged recording"
grep '^etw_file_' "$work/page" | grep -v -e '^etw_file_filter_' -e 'operation="flt_' | sort | diff "$work/sample.files" - ||
	fail "merged, the sources do not count once"

# A recording with the provider alone feeds the collectors of files, the most written files too.
"$ETWTOOL" doctor "$work/ours.etl" --collector.file_top >"$work/doctor" || fail "doctor"
grep -Eq '^  file_top +on +fed' "$work/doctor" || fail "file_top: $(grep file_top "$work/doctor")"
! grep '^warning: Collector file' "$work/doctor" || fail "a warning without cause"
