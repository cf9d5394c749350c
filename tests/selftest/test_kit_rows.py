#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the assumptions that etw_selftest --out tests (selftest/kit_etw_probes_win32.c) equal to the documents.

Each row of tests/fake_etw/BEHAVIOUR.md that is marked **assumed** is a row of the table, and each section of docs/windows.md with
such a mark is one that begins with W and its number; other facts of docs/windows.md may be tested, too. A row of the table that
BEHAVIOUR.md does not assume is a fault. Each row has a probe, an answer from the recording of kernel events, or
the reason why there is neither. Prints the differences and exits 1.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
TABLE = "selftest/kit_etw_probes_win32.c"


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def assumed_rows():
    """Rows of BEHAVIOUR.md that are marked."""
    rows = re.findall(r"^\| ([A-Z]\d+[a-z]*) \|(.*)$", read("tests/fake_etw/BEHAVIOUR.md"), re.M)
    return {name for name, text in rows if "**assumed**" in text}


def assumed_sections():
    """Numbers of the sections of docs/windows.md that have a mark."""
    page = read('docs/windows.md')
    parts = re.split(r"^## (\d+)\..*$", page, flags=re.M)
    return {number for number, text in zip(parts[1::2], parts[2::2]) if "**assumed**" in text}


def main():
    table = re.findall(r'\{ "([A-Z]\d+[a-z]*)", "((?:[^"\\]|\\.)*)",\s*(BY|RECORDED|CANNOT)\(', read(TABLE))
    names = [name for name, _, _ in table]
    rows = {name for name in names if not name.startswith("W")}
    sections = {re.match(r"W(\d+)", name).group(1) for name in names if name.startswith("W")}
    faults = [f"{name} is assumed in BEHAVIOUR.md and not in the table" for name in sorted(assumed_rows() - rows)]
    faults += [f"{name} is in the table and not assumed in BEHAVIOUR.md" for name in sorted(rows - assumed_rows())]
    faults += [f"section {number} of docs/windows.md has no row W{number}" for number in sorted(assumed_sections() - sections)]
    faults += [f"{name} is in the table twice" for name in sorted({name for name in names if names.count(name) > 1})]
    if len(table) != len(re.findall(r'^\t\{ "', read(TABLE), re.M)):
        faults.append("a row of the table is not understood")
    for fault in faults:
        print(f"{TABLE}: {fault}")
    print(f"{len(table)} rows, {len(faults)} faults")
    return 1 if faults or not table else 0


if __name__ == "__main__":
    sys.exit(main())
