#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Sums what llvm-cov exported: usage: coverage.py COVERAGE.json UNCOVERED.txt

Prints lines and branches by folder and in all, the files with the most branches that were not taken, and the largest functions
that were never called. UNCOVERED.txt gets every line and branch that was not reached, with its text.

What counts is the code of the folders of PRODUCT that the programs have on Linux, and the code of live sessions, which the
tests link with an ETW in memory. Files that only a Windows compiler reads are not counted: their tests run under Wine. A branch is
a condition of the source in one of its two directions, as clang counts them; C has no exceptions, and assertions are compiled out.
"""
import json
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("base", "config", "etwtool", "exporter", "lib", "metrics", "selftest")
WORST_FILES = 25
WORST_FUNCTIONS = 25


def folder_of(path):
    parts = path.parts
    return parts[1] if parts[0] in ("exporter", "lib") and len(parts) > 2 else parts[0]


def product_path(name):
    path = Path(name)
    if path.is_relative_to(ROOT):
        path = path.relative_to(ROOT)
        return path if path.parts[0] in PRODUCT else None
    return None


def uncovered_lines(file):
    """Lines that have code of which nothing ran, from the segments of llvm-cov: [line, column, count, has count, starts a region, gap]."""
    lines = {}
    count = None
    at = 0
    for line, _, segment_count, has_count, _, gap in file["segments"]:
        for between in range(at + 1, line):
            if count is not None:
                lines[between] = max(lines.get(between, 0), count)
        count = segment_count if has_count and not gap else None
        if count is not None:
            lines[line] = max(lines.get(line, 0), count)
        at = line
    return [line for line, most in lines.items() if most == 0]


def write_uncovered(files, out):
    with open(out, "w", encoding="utf-8") as listing:
        for path, file in sorted(files.items()):
            text = (ROOT / path).read_text(encoding="utf-8").splitlines()
            found = {line: "not reached" for line in uncovered_lines(file)}
            for line, _, _, _, taken, not_taken, *_ in file["branches"]:
                if line not in found and (taken == 0) != (not_taken == 0):
                    found[line] = "never true" if taken == 0 else "never false"
            for line, why in sorted(found.items()):
                if text[line - 1].strip() not in ("", "{", "}"):
                    listing.write(f"{path}:{line}: {why}: {text[line - 1].strip()}\n")


def percent(covered, count):
    return f"{covered:6} of {count:6}, {100 * covered / count if count else 100:5.1f} %"


def summed(summaries):
    total = {"lines": [0, 0], "branches": [0, 0]}
    for summary in summaries:
        for what, numbers in total.items():
            numbers[0] += summary[what]["covered"]
            numbers[1] += summary[what]["count"]
    return total


def row(name, total):
    print(f'{name:20}{percent(*total["lines"])}   {percent(*total["branches"])}')


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    data = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["data"][0]
    files = {path: file for file in data["files"] if (path := product_path(file["filename"]))}
    folders = defaultdict(list)
    for path, file in files.items():
        folders[folder_of(path)].append(file["summary"])

    print(f'{"":20}{"lines":25}   {"branches":25}')
    for folder, summaries in sorted(folders.items()):
        row(folder, summed(summaries))
    row("all", summed(file["summary"] for file in files.values()))

    print("\nfiles with the most branches that were not taken:")
    by_missing = sorted(files.items(), key=lambda item: -item[1]["summary"]["branches"]["notcovered"])
    for path, file in by_missing[:WORST_FILES]:
        branches, lines = file["summary"]["branches"], file["summary"]["lines"]
        print(f'{branches["notcovered"]:5} branches, {lines["count"] - lines["covered"]:4} lines: {path}')

    # A function of a header, or one that several programs have, is listed once for each; it counts if one of them was called.
    calls, sizes = defaultdict(int), {}
    for function in data["functions"]:
        path = product_path(function["filenames"][0])
        if path:
            key = f'{path}:{function["name"].rsplit(":", 1)[-1]}'
            calls[key] += function["count"]
            sizes[key] = max(region[2] - region[0] + 1 for region in function["regions"])
    never = sorted((key for key, count in calls.items() if count == 0), key=lambda key: -sizes[key])
    print(f"\n{len(never)} of {len(calls)} functions were never called; the largest:")
    for key in never[:WORST_FUNCTIONS]:
        print(f"{sizes[key]:5} lines: {key}")
    write_uncovered(files, sys.argv[2])
    print(f"\nevery line and branch that was not reached: {sys.argv[2]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
