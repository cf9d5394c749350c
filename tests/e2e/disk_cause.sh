#!/usr/bin/env bash
# What the collector disk_cause counts adds up to what the disks have moved, by disk, in the sample and in every recording; which share of it
# has no known cause is printed. docs/caused-writes.md has the rules.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
shares=$SOURCE_DIR/docs/caused-writes.md
recordings=("$work/sample.etl")
if [ -d "$SOURCE_DIR/../shared/traces" ]; then
	recordings+=("$SOURCE_DIR"/../shared/traces/*.etl)
fi
for recording in "${recordings[@]}"; do
	# Some recordings are cut off: that is reported, and the rest is counted.
	"$ETW_EXPORTER" --once --replay.file="$recording" --collector.disk_cause >"$work/page" 2>/dev/null || fail "$recording: --once"
	python3 - "$work/page" "${recording##*/}" "$shares" <<'PYTHON' || fail "$recording"
import collections, re, sys
page, name, cells = open(sys.argv[1]).read(), sys.argv[2], []
def samples(family):
    for labels, value in re.findall(rf"^{family}{{(.*)}} (\d+)$", page, re.M):
        yield dict(re.findall(r'(\w+)="([^"]*)"', labels)), int(value)
for way in "read", "written":
    moved, caused, hows, processes = collections.Counter(), collections.Counter(), collections.Counter(), collections.Counter()
    for labels, value in samples(f"etw_disk_{way}_bytes_total"):
        moved[labels["disk"]] += value
    for labels, value in samples(f"etw_disk_caused_{way}_bytes_total"):
        assert labels["provider"] == "Windows Kernel", labels
        caused[labels["disk"]] += value
        hows[labels["how"]] += value
        processes[labels["process"]] += value
    assert caused == moved, (way, caused, moved)
    assert set(hows) <= {"direct", "cached", "mapped", "metadata", "unknown"}, hows
    total = sum(moved.values())
    cells[:0] = [str(total), f"{100 * hows['unknown'] / max(total, 1):.1f} %"]
    if total:
        print(f"{name}: {way} {total} bytes, unknown {100 * hows['unknown'] / total:.1f} %")
    if name == "sample.etl" and way == "written":
        # What the script of the sample makes Robocopy, WerFault and the others write, System brings to the disk: nothing stays with System.
        assert processes["Robocopy"] == 80 << 20 and processes["WerFault"] == 6 << 20, processes
        # Eleven times 64 KiB of the file that the service has mapped (sample_views.c); the virus scanner, which maps it for reading, wrote nothing.
        assert processes["svchost"] == 11 << 16 and hows["mapped"] == 11 << 16 and "MsMpEng" not in processes, (processes, hows)
        assert "System" not in processes and hows["unknown"] == 0, (processes, hows)
    if name == "net.4.5.2.x64.etl" and way == "read":
        # The hard faults of the recording say the same (docs/etl-format.md section 16.1).
        assert processes["explorer"] == 232448 and processes["svchost"] == 525824, processes
# The documentation has a table of what stays unknown, of bytes written and read.
rows = [row.split(" | ") for row in re.findall(rf"^\| (.*`{re.escape(name)}`.* % \|.*) \|$", open(sys.argv[3], encoding="utf-8").read(), re.M)]
assert [row[1:] for row in rows] == ([cells] if cells[::2] != ["0", "0"] else []), (rows, cells)
PYTHON
done
