#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`etwtool dump` against the second reader, record by record and key by key.

second_reader_compare.py ETWTOOL WORK COUNT RECORDING...: these, and COUNT recordings of second_reader_make.py, of which the
first has every layout of every kernel class. A recording of WORK that is read differently stays there.
"""
import json
import subprocess
import sys
from pathlib import Path

import second_reader
import second_reader_make


def plain(value):
    """As text, so that 1 is not True and the order of keys counts. A whole number is one, however it is written."""
    if isinstance(value, list):
        return f"[{', '.join(map(plain, value))}]"
    if isinstance(value, dict):
        return f"{{{', '.join(f'{json.dumps(key)}: {plain(item)}' for key, item in value.items())}}}"
    return json.dumps(int(value) if isinstance(value, float) and value.is_integer() else value)


def show(path, line, other):
    print(f"{path}: record {other['i']}, {other['kind']} {other['provider']} opcode {other['opcode']} version {other['version']}")
    for key in [*line, *(key for key in other if key not in line)]:
        one, two = plain(line.get(key, "-")), plain(other.get(key, "-"))
        if one != two:
            print(f"  {key}: etwtool       {one}\n  {' ' * len(key)}  second reader {two}")
    if json.dumps(line, sort_keys=True) == json.dumps(other, sort_keys=True):
        print(f"  other order of keys: {' '.join(line)}")


def compare(tool, path):
    """The numbers of records that are read alike, and not."""
    done = subprocess.run([tool, "dump", path], capture_output=True)
    if done.returncode:
        sys.exit(f"FAIL: {path}: exit {done.returncode}: {done.stderr.decode()}")
    lines = [json.loads(line) for line in done.stdout.decode().split("\n") if line]
    found = list(second_reader.dump(Path(path).read_bytes()))
    same, different = 0, abs(len(lines) - len(found))
    if different:
        print(f"{path}: {len(lines)} records, the second reader finds {len(found)}")
    for line, other in zip(lines, found):
        if plain(line) == plain(other):
            same += 1
        else:
            different += 1
            if different <= 5:
                show(path, line, other)
    return same, different


def main():
    tool, work, count, *paths = sys.argv[1:]
    for seed in range(int(count)):
        path = Path(work) / f"made-{seed}.etl"
        path.write_bytes(second_reader_make.make(seed, 1 if seed == 0 else 0.1))
        paths.append(str(path))
    sums = [sum(column) for column in zip(*(compare(tool, path) for path in paths))]
    print(f"{sums[0]} records alike, {sums[1]} not, in {len(paths)} recordings")
    sys.exit(sums[1] > 0 or sums[0] == 0)


main()
