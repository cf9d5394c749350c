#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the fuzz targets have executed so far, in totals.csv.

usage: totals.py                                          prints the sums by target
       totals.py --add TARGET LOG SECONDS FINDINGS        adds a run, whose log libFuzzer wrote with -print_final_stats=1
       totals.py --write                                  puts the sum into README.md and docs/reliability.md
       totals.py --check                                  exits 1 unless it stands there

A row has the runs of a target on a day (UTC). An execution is one input that the target read, those of the corpus included; a
finding is a run that a crash, a hang, a leak or a broken promise ended. Runs that were not added are not counted.
"""
import csv
import re
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
TOTALS = HERE / "totals.csv"
COLUMNS = ["date", "target", "executions", "seconds", "findings"]
PAGES = [ROOT / 'README.md', ROOT / 'docs/reliability.md']
SENTENCE = re.compile(r"(fuzz\s+targets\s+have\s+executed\s+)([\d,]+)(\s+inputs)")


def rows():
    with open(TOTALS, encoding="utf-8", newline="") as file:
        found = list(csv.DictReader(file))
    for row in found:
        row.update((name, int(row[name])) for name in COLUMNS[2:])
    return found


def store(found):
    with open(TOTALS, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(sorted(found, key=lambda row: (row["date"], row["target"])))


def add(target, log, seconds, findings):
    said = Path(log).read_text(encoding="utf-8", errors="replace")
    executed = re.search(r"^stat::number_of_executed_units:\s*(\d+)", said, re.M)
    new = {"date": time.strftime("%Y-%m-%d", time.gmtime()), "target": target, "executions": int(executed.group(1)) if executed else 0,
           "seconds": int(seconds), "findings": int(findings)}
    found = rows()
    for row in found:
        if (row["date"], row["target"]) == (new["date"], target):
            row.update((name, row[name] + new[name]) for name in COLUMNS[2:])
            break
    else:
        found.append(new)
    store(found)


def show():
    sums = {}
    for row in rows():
        mine = sums.setdefault(row["target"], dict.fromkeys(COLUMNS[2:], 0))
        mine.update((name, mine[name] + row[name]) for name in mine)
    sums = dict(sorted(sums.items()))
    sums["all"] = {name: sum(mine[name] for mine in sums.values()) for name in COLUMNS[2:]}
    print(f'{"target":16}{"executions":>16}{"hours":>9}{"a second":>10}{"findings":>10}')
    for target, mine in sums.items():
        print(f'{target:16}{mine["executions"]:16,}{mine["seconds"] / 3600:9.1f}{mine["executions"] / max(mine["seconds"], 1):10,.0f}'
              f'{mine["findings"]:10}')


def pages(write):
    total = f'{sum(row["executions"] for row in rows()):,}'
    good = True
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        found = SENTENCE.search(text)
        if not found:
            print(f"{path.name}: no sentence \"the fuzz targets have executed … inputs\"")
            good = False
        elif write:
            path.write_text(SENTENCE.sub(lambda match: match.group(1) + total + match.group(3), text), encoding="utf-8")
        elif found.group(2) != total:
            print(f"{path.name}: {found.group(2)} executions, in tests/fuzz/totals.csv {total}; python3 tests/fuzz/totals.py --write")
            good = False
    return good


def main():
    match sys.argv[1:]:
        case []:
            show()
        case ["--add", target, log, seconds, findings]:
            add(target, log, seconds, findings)
        case ["--write"] | ["--check"] as mode:
            return 0 if pages(mode == ["--write"]) else 1
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
