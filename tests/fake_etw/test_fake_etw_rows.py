#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the rows of tests/fake_etw/BEHAVIOUR.md and the tests of test_fake_etw_*.c in this folder equal.

Prints what is on one side only and exits 1.
"""
import re
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parent


def main():
    rows = re.findall(r"^\| [A-Z]\d+[a-z]? \|.*\| `(\w+)` \|$", (TESTS / "BEHAVIOUR.md").read_text(encoding="utf-8"), re.M)
    tests = []
    for file in sorted(TESTS.glob("test_fake_etw_*.c")):
        tests += re.findall(r"^\s*ROW\((\w+)\)", file.read_text(encoding="utf-8"), re.M)
    faults = [f"BEHAVIOUR.md: no test {name}" for name in sorted(set(rows) - set(tests))]
    faults += [f"no row for the test {name}" for name in sorted(set(tests) - set(rows))]
    for fault in faults:
        print(fault)
    print(f"{len(rows)} rows, {len(tests)} tests, {len(faults)} faults")
    return 1 if faults or not rows or not tests else 0


if __name__ == "__main__":
    sys.exit(main())
