# SPDX-License-Identifier: MIT
"""What etwtool doctor says a recording for one collector must enable, in all four forms (JSON, text, logman lines, .wprp), against the
`needs` of the collector's file; for doctor.sh.

The values of kernel flags are those of EVENT_TRACE_FLAG_* in evntrace.h, the keywords those of "Keyword (in SystemProvider)" and "2. System
and Event Provider Definitions" (Microsoft Learn), and the GUIDs of providers those of their manifests and of the list of well-known ones.
"""
import glob
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree

import yaml

FLAGS = {
    "PROCESS": (0x1, "ProcessThread"), "THREAD": (0x2, "ProcessThread"), "IMAGE_LOAD": (0x4, "Loader"), "CSWITCH": (0x10, "CSwitch"),
    "DPC": (0x20, "DPC"), "INTERRUPT": (0x40, "Interrupt"), "DISK_IO": (0x100, "DiskIO"), "DISK_FILE_IO": (0x200, "Filename"),
    "DISPATCHER": (0x800, "ReadyThread"), "MEMORY_PAGE_FAULTS": (0x1000, "AllFaults"), "MEMORY_HARD_FAULTS": (0x2000, "HardFaults"),
    "VIRTUAL_ALLOC": (0x4000, "VirtualAllocation"), "VAMAP": (0x8000, "VAMap"), "NETWORK_TCPIP": (0x10000, "NetworkTrace"), "REGISTRY": (0x20000, "Registry"),
    "PROFILE": (0x1000000, "SampledProfile"), "FILE_IO": (0x2000000, "FileIO"), "FILE_IO_INIT": (0x4000000, "FileIOInit"),
}
# Groups beyond the flags, which logman cannot enable; the keywords are those of "WPRControlProfiles Schema", Microsoft Learn.
GROUPS = {"FLT_IO": "FilterIO", "FLT_FASTIO": "FilterIOFastIO", "FLT_IO_FAILURE": "FilterIOFailure"}
KEYWORDS = {name: keyword for name, (_, keyword) in FLAGS.items()} | GROUPS
# Names of processes need these, whatever else a collector counts.
ALWAYS = {"PROCESS", "THREAD"}
ALL_KEYWORDS = 0xffffffffffffffff


def guids(folder):
    """Name -> GUID, from the manifests and the list of well-known providers."""
    with open(os.path.join(folder, "..", "lib", "source", "well_known_providers.txt"), encoding="utf-8") as lines:
        found = {line.split(" ", 1)[1].strip(): line.split(" ", 1)[0] for line in lines if not line.startswith("#")}
    for path in glob.glob(os.path.join(folder, "manifests", "*.man")):
        for element in xml.etree.ElementTree.parse(path).iter():
            if element.tag.endswith("}provider"):
                found[element.get("name")] = element.get("guid").strip("{}").lower()
    return found


def doctor(tool, config, profile):
    """The report, its text, and the profile, or None if nothing is needed."""
    words = [tool, "doctor", config]
    report = json.loads(subprocess.run(words + ["--format", "json"], stdout=subprocess.PIPE, check=True).stdout)
    needs = report["record"]
    if not needs["kernel"] and not needs["providers"]:
        done = subprocess.run(words + ["--profile", profile], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert done.returncode == 2 and b"need nothing" in done.stderr, done
        return report, None
    subprocess.run(words + ["--profile", profile], stdout=subprocess.PIPE, check=True)
    return report, xml.etree.ElementTree.parse(profile).getroot()


def check(tool, config, profile, collectors, guid_of):
    kernel, providers = set(), {}
    for needs in (collector.get("needs") or {} for collector in collectors):
        kernel |= set(needs.get("kernel", []))
        for spec in needs.get("providers", []):
            parts = (spec["provider"] if isinstance(spec, dict) else spec).split(":") + [""] * 4
            name, level, _, keywords = parts[:4]
            providers[guid_of[name]] = (int(level or 0), int(keywords, 0) if keywords else ALL_KEYWORDS)
    report, root = doctor(tool, config, profile)
    record = report["record"]
    flags = set(record["kernel"])
    assert kernel <= flags <= kernel | ALWAYS, (kernel, flags)
    assert {p["guid"]: (p["level"], int(p["keywords"], 0)) for p in record["providers"]} == providers, (record["providers"], providers)

    groups = flags & set(GROUPS)
    lines = record["logman"].splitlines()
    refused = [line for line in lines if "cannot enable" in line]
    assert {name for line in refused for name in re.findall(r"FLT_\w+", line)} == groups and len(refused) == bool(groups), lines
    lines = [line for line in lines if line not in refused]
    masks = [re.search(r'"Windows Kernel Trace" (0x[0-9a-f]+) ', line) for line in lines]
    assert [int(m[1], 0) for m in masks if m] == ([sum(FLAGS[f][0] for f in flags - groups)] if flags else []), lines
    shown = [re.search(r'-p "{([0-9a-f-]+)}" (0x[0-9a-f]+) ([0-9]+) ', line) for line in lines]
    assert {m[1]: (int(m[3]), int(m[2], 0)) for m in shown if m} == providers, lines
    starts, stops = ([re.search(r'^logman %s ("[^"]+"|\S+)' % verb, line) for line in lines] for verb in ("start", "stop"))
    assert {m[1] for m in starts if m} == {m[1] for m in stops if m}, lines  # what is started is stopped
    assert all(line.endswith(" -ets") for line in lines), lines

    if root is None:
        assert not flags and not providers
        return
    assert {e.get("Value") for e in root.findall("Profiles/SystemProvider/Keywords/Keyword")} == {KEYWORDS[f] for f in flags}
    events = root.findall("Profiles/EventProvider")
    assert {e.get("Name"): (int(e.get("Level")), int(e.find("Keywords/Keyword").get("Value"), 0)) for e in events} == providers
    assert (root.find("Profiles/SystemCollector") is not None) == bool(flags)
    assert (root.find("Profiles/EventCollector") is not None) == bool(providers)


def main():
    tool, folder, work = sys.argv[1:4]
    collectors = {os.path.basename(path)[:-5]: yaml.safe_load(open(path, encoding="utf-8"))
                  for path in glob.glob(os.path.join(folder, "collectors", "*.yaml"))}
    profile, guid_of = os.path.join(work, "one.wprp"), guids(folder)
    assert len(collectors) > 20, collectors.keys()
    for name in sorted(collectors):
        config = os.path.join(work, "one.yaml")
        with open(config, "w", encoding="utf-8") as out:
            yaml.safe_dump({"collectors": {other: other == name for other in collectors}}, out)
        try:
            check(tool, config, profile, [collectors[name]], guid_of)
        except AssertionError as fault:
            sys.exit(f"collector {name}: {fault}")
    check(tool, os.path.join(folder, "etw_exporter.yaml"), profile, [c for c in collectors.values() if c.get("default", False)], guid_of)


if __name__ == "__main__":
    main()
