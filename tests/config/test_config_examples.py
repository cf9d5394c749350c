#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tries what config/etw_exporter.yaml shows in comments: each example takes the place of the value that it is about.

An example is one of three: a key behind a number sign (`# idle: 24h`), a block of lines of the same name as the key that
follows it (`#   sessions:`), or what `e.g.` says of the key on its line or of the one below the comment. `etwtool check` must
accept the file with the blocks, with each of the others besides, and with all of them. Prints what it refuses and exits 1.
"""
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SHIPPED = ROOT / "config/etw_exporter.yaml"
COMMENTED_KEY = re.compile(r"^(  )# ([a-z_]+: .*)$")
EXAMPLE = re.compile(r"^.*#.* e\.g\. (?P<example>.*?)(; .*)?$")
VALUE = re.compile(r"^(?P<key> *(- )?[a-z_]+: *)(?P<value>\[\]|\{\})")


def blocks(lines):
    """Blocks of commented lines: (first line, line of the key whose place they take)."""
    for start, line in enumerate(lines):
        name = re.match(r"^#   ([a-z_]+:)$", line)
        end = start
        while name and lines[end].startswith("#"):
            end += 1
        if name:
            assert lines[end].startswith(name[1]), f"line {start + 1}: {name[1]} does not follow its example"
            yield start, end


def uncomment_blocks(lines):
    lines = list(lines)
    for start, end in blocks(lines):
        lines[start:end + 1] = [line[4:] for line in lines[start:end]] + [""]
    return lines


def changes(lines):
    """Pairs of a line number and what stands there when an example is used."""
    for number, line in enumerate(lines):
        commented = COMMENTED_KEY.match(line)
        if commented:
            yield number, commented[1] + commented[2]
        example = EXAMPLE.match(line)
        assert line.count("e.g.") == bool(example), f"line {number + 1}: an example that this test does not find"
        if not example:
            continue
        at = next(at for at in range(number, len(lines)) if not lines[at].startswith("#"))
        value = VALUE.match(lines[at])
        assert value, f"line {number + 1}: an example of which key?"
        whole = value["value"] == "{}" or example["example"].startswith("[")
        yield at, value["key"] + (example["example"] if whole else f"[{example['example']}]")


def accepts(folder, lines, what):
    path = Path(folder) / "example.yaml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = subprocess.run([os.environ["ETWTOOL"], "check", path], capture_output=True, text=True, encoding="utf-8", check=False)
    if run.returncode:
        print(f"{what}: {run.stderr.strip()}")
    return run.returncode == 0


def main():
    shipped = SHIPPED.read_text(encoding="utf-8").splitlines()
    lines = uncomment_blocks(shipped)
    everything = list(lines)
    count = len(list(blocks(shipped)))
    with tempfile.TemporaryDirectory() as folder:
        good = accepts(folder, lines, "the blocks")
        for number, text in changes(lines):
            count += 1
            everything[number] = text
            alone = list(lines)
            alone[number] = text
            good &= accepts(folder, alone, text)
        good &= accepts(folder, everything, "all of them")
    print(f"{count} examples")
    return 0 if good and count >= 10 else 1  # as many as there were when this was written


if __name__ == "__main__":
    sys.exit(main())
