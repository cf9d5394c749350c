#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks lib/source/well_known_providers.txt: the form of its lines, their order, and the GUIDs that are hashes of names.

EventSource and TraceLogging compute the GUID of a provider from its name, as tests/lib/live/test_canary_guid.py does for ours. Prints what is
wrong and exits 1.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
sys.dont_write_bytecode = True  # nothing is left beside the sources
sys.path.insert(0, str(ROOT / "tests/lib/live"))
from test_canary_guid import guid_of  # noqa: E402

TABLE = ROOT / "lib/source/well_known_providers.txt"
LINE = re.compile(r"([0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}) ([!#-\[\]-~]+(?: [!#-\[\]-~]+)*)")


def main():
    faults, names, before, hashed = [], {}, "", 0
    for number, line in enumerate(TABLE.read_text(encoding="ascii").splitlines(), 1):
        if line.startswith("#"):
            continue
        match = LINE.fullmatch(line)
        if not match:
            faults.append(f"{number}: not a GUID and a name: {line}")
            continue
        guid, name = match.groups()
        if guid <= before:
            faults.append(f"{number}: {guid} is not behind {before}")
        if names.setdefault(name.lower(), number) != number:
            faults.append(f"{number}: {name} is in line {names[name.lower()]}, too")
        if guid[14] == "5":
            hashed += 1
            if str(guid_of(name)) != guid:
                faults.append(f"{number}: the GUID of {name} is {guid_of(name)}")
        before = guid
    for fault in faults:
        print(f"well_known_providers.txt:{fault}")
    print(f"{len(names)} providers, {hashed} of them by hash, {len(faults)} faults")
    return 1 if faults or len(names) < 200 or hashed < 50 else 0


if __name__ == "__main__":
    sys.exit(main())
