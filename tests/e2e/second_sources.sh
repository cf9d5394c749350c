#!/usr/bin/env bash
# The events of the network, of disks and of the registry of the sample once more as events of the providers that report the same, with the
# layouts of their manifests: alone they give the samples that those of the kernel give, and beside them they change nothing. kernel_file.sh
# does so for files. config/README.md, "Two sources of the same events", has the rule.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
cat >"$work/convert.py" <<'PYTHON'
import json, subprocess, sys
tool, path, ours = sys.argv[1:4]
NETWORK, DISK, REGISTRY = "7dd42a49-5329-4832-8dfd-43d979153a88", "c7bde69a-e1e0-4177-b6ef-283ad1525271", "70eb4f03-c1de-4f73-a051-33d13d5413bd"
ADDRESSES = ["PID", "size", "daddr", "saddr", "dport", "sport"]
SENT, SHORT, FAILED = ADDRESSES + ["startime", "endtime", "seqnum", "connid"], ADDRESSES + ["seqnum", "connid"], ["Proto", "FailureCode"]
CONNECTED = ADDRESSES + ["mss", "sackopt", "tsopt", "wsopt", "rcvwin", "rcvwinscale", "sndwinscale", "seqnum", "connid"]
MOVED = ["DiskNumber", "IrpFlags", "TransferSize", "Reserved", "ByteOffset", "FileObject", "IORequestPacket", "HighResResponseTime"]
KEY = ["KeyObject", "Status"]
LAYOUTS = {(NETWORK, 17): FAILED, (NETWORK, 49): FAILED, (DISK, 10): MOVED, (DISK, 11): MOVED,
           (DISK, 14): ["DiskNumber", "IrpFlags", "HighResResponseTime", "IORequestPacket"],
           **{(NETWORK, number): SENT for number in (10, 26)}, **{(NETWORK, number): CONNECTED for number in (12, 15, 28, 31)},
           **{(REGISTRY, number): ["BaseObject", *KEY, "Disposition", "BaseName", "RelativeName"] for number in (1, 2)},
           **{(REGISTRY, number): [*KEY, "KeyName"] for number in (3, 12, 13)},
           **{(REGISTRY, number): [*KEY, "InfoClass", "DataSize", "KeyName", "CapturedDataSize"] for number in (4, 11)},
           (REGISTRY, 5): [*KEY, "Type", "DataSize", "KeyName", "ValueName", "CapturedDataSize", "CapturedData", "PreviousDataType", "PreviousDataSize",
                           "PreviousDataCapturedSize"],
           (REGISTRY, 6): [*KEY, "KeyName", "ValueName"],
           (REGISTRY, 7): [*KEY, "InfoClass", "DataSize", "KeyName", "ValueName", "CapturedDataSize"],
           **{(REGISTRY, number): [*KEY, "Index", "InfoClass", "DataSize", "KeyName", "CapturedDataSize"] for number in (8, 9)},
           (REGISTRY, 10): [*KEY, "EntryCount", "DataSize", "KeyName"]}
TEXTS = {"BaseName", "RelativeName", "KeyName", "ValueName", "CapturedData"}
CLASSES = {"TcpIp": (NETWORK, lambda opcode: opcode), "UdpIp": (NETWORK, lambda opcode: opcode + 32), "DiskIo": (DISK, lambda opcode: opcode),
           "Registry": (REGISTRY, lambda opcode: 13 if opcode == 27 else opcode - 9)}
counts = {name: 0 for name in CLASSES}
with open(ours, "w") as out:
    for name, (provider, id_of) in CLASSES.items():
        text = subprocess.run([tool, "dump", path, "--event", name + "/*"], stdout=subprocess.PIPE, check=True).stdout
        for event in map(json.loads, text.splitlines()):
            said, number = event["fields"], id_of(event["opcode"])
            if name == "Registry" and not 1 <= number <= 13 or name == "DiskIo" and number not in (10, 11, 14):
                continue
            said = {**said, "connid": 0, "IORequestPacket": said.get("Irp", 0)}
            layout = LAYOUTS.get((provider, number), SHORT)
            fields = {field: said.get(field, "" if field in TEXTS else 0) for field in layout}
            counts[name] += 1
            out.write(json.dumps({"kind": "event", "ptr": 8, "ts": event["ts"], "cpu": event["cpu"], "pid": event["pid"] or 4, "tid": event["tid"] or 8,
                                  "provider": provider, "id": number, "version": 0, "level": 4, "fields": fields}) + "\n")
assert all(counts.values()), counts
print(sum(counts.values()))
PYTHON
converted=$(python3 "$work/convert.py" "$ETWTOOL" "$work/sample.etl" "$work/ours.jsonl") || fail "the sample has no such events"
"$ETWTOOL" relog "$work/sample.etl" --event Process/Start -o "$work/base.etl" 2>/dev/null || fail "a recording of processes alone"
"$ETWTOOL" relog "$work/base.etl" --builtin --add "$work/ours.jsonl" -o "$work/ours.etl" 2>"$work/err" || fail "$(cat "$work/err")"
"$ETWTOOL" relog "$work/sample.etl" --builtin --add "$work/ours.jsonl" -o "$work/both.etl" 2>"$work/err" || fail "$(cat "$work/err")"
for name in sample ours both; do
	"$ETW_EXPORTER" --collector.registry --once --replay.file="$work/$name.etl" >"$work/page" 2>"$work/err" || fail "$name: $(cat "$work/err")"
	# What the second source does not say: the process of a disk request, the duration of a registry operation.
	grep -E '^(etw_network_|etw_tcp_|etw_registry_|etw_disk_)' "$work/page" | grep -v -e '^etw_disk_process_' -e '^etw_registry_operation_duration_' \
		-e '_info{' | sort >"$work/$name.samples"
	sed -n 's/^etw_consumer_repeated_events_total{.*} //p' "$work/page" >"$work/$name.repeated"
done
[ "$(wc -l <"$work/sample.samples")" -gt 100 ] || fail "the sample has few samples: $(wc -l <"$work/sample.samples")"
sed -E 's/provider="Microsoft-Windows-Kernel-(Network|Disk|Registry)"/provider="Windows Kernel"/' "$work/ours.samples" | sort |
	diff "$work/sample.samples" - || fail "the providers say something else than the kernel"
diff "$work/sample.samples" "$work/both.samples" || fail "both sources together change what one says"
[ "$(cat "$work/ours.repeated")" = 0 ] || fail "events count as repeated: $(cat "$work/ours.repeated")"
[ "$(cat "$work/both.repeated")" -gt $((converted * 9 / 10)) ] || fail "repeated: $(cat "$work/both.repeated") of $converted"

# Which source feeds a collector.
"$ETWTOOL" doctor "$work/ours.etl" --collector.registry >"$work/doctor" || fail "doctor"
for name in network disk registry; do
	grep -Eiq "^  $name +on +fed .*, from Microsoft-Windows-Kernel-$name( |\$)" "$work/doctor" || fail "$name: $(grep "^  $name " "$work/doctor")"
	! grep "^warning: Collector $name " "$work/doctor" || fail "a warning without cause"
done
"$ETWTOOL" doctor "$work/both.etl" --collector.registry >"$work/doctor" || fail "doctor of both"
grep -Eq '^  network +on +fed .*, from the kernel$' "$work/doctor" || fail "network of both: $(grep '^  network ' "$work/doctor")"
