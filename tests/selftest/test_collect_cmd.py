#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks what cmd.exe would trip over in selftest/collect.cmd, without Windows.

- ASCII with CRLF line ends, no tab at the end of a line.
- Every variable that holds a path stands in quotes.
- Other programs are named with their folder, so that the current folder or PATH cannot put another in their place.
- Each goto has its label and each label its goto; blocks are closed; no closing bracket in an echo of a block ends it early.
- Every exit is "exit /b" with a status, and the last line is one.

Prints each fault as file:line and exits 1.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
SCRIPT = ROOT / "selftest/collect.cmd"

PATHS = ("program", "system", "out", "archive", "USERPROFILE", "SystemRoot", "~dp0", "~f1", "~1")
INSIDE = {"echo", "rem", "set", "setlocal", "if", "for", "goto", "shift", "exit", "del", "@echo", ")", ") else if", "echo."}


def outside_quotes(line):
    return re.sub(r'"[^"]*"', '""', line)


def faults(data):
    """(line number, what is wrong)"""
    if not data.isascii():
        yield 1, "a character that is not ASCII"
    lines = data.split(b"\r\n")
    if lines[-1] != b"" or any(b"\n" in line or b"\r" in line for line in lines):
        yield 1, "line ends are not CRLF"
    lines = [line.decode("ascii", "replace") for line in lines[:-1]]
    labels, targets, depth = {}, {}, 0
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if line != line.rstrip():
            yield number, "blanks at the end"
        if text.lower().startswith("rem") or text == "":
            continue
        if text.startswith(":"):
            labels[text[1:].lower()] = number
            continue
        bare = outside_quotes(line)
        for name in PATHS:
            if not text.startswith("echo") and re.search(rf"%{re.escape(name)}(%|\b)", bare, re.I):
                yield number, f"%{name}% is not in quotes"
        if line.count('"') % 2:
            yield number, "a quote is not closed"
        target = re.search(r"\bgoto (\w+)", text, re.I)
        if target:
            targets[target.group(1).lower()] = number
        if depth > 0 and text.lower().startswith("echo") and ")" in bare:
            yield number, "a bracket in an echo closes the block"
        if not text.lower().startswith("echo"):
            depth += bare.count("(") - bare.count(")")
        word = text.split(" ")[0]
        if word.lower() not in INSIDE and not word.startswith(('"%program%"', '"%system%\\')) and word.lower() not in ("goto",):
            yield number, f"{word} is no command of cmd.exe and has no folder"
        if re.search(r"\bexit\b(?! /b (\d+|%\w+%)$)", bare, re.I) and not text.lower().startswith("echo"):
            yield number, "not exit /b with a status"
    if depth != 0:
        yield len(lines), "a block is not closed"
    yield from ((number, f"no label :{name}") for name, number in targets.items() if name not in labels)
    yield from ((number, f"no goto :{name}") for name, number in labels.items() if name not in targets)
    if not lines or not re.fullmatch(r"exit /b %\w+%", lines[-1]):
        yield len(lines), "does not end with exit /b %status%"


def main():
    found = list(faults(SCRIPT.read_bytes()))
    for number, what in found:
        print(f"{SCRIPT.relative_to(ROOT)}:{number}: {what}")
    # The checks themselves: each of these must be found.
    for bad in (b"exit /b %s%\n", b'echo "%out%"\r\ncopy %out% x\r\nexit /b %s%\r\n', b"tar -cf x\r\nexit /b %s%\r\n", b"goto x\r\nexit /b %s%\r\n",
                b"if 1==1 (\r\necho a (b)\r\n)\r\nexit /b %s%\r\n", b"exit 1\r\nexit /b %s%\r\n", b"if 1==1 (\r\nexit /b %s%\r\n"):
        if not list(faults(bad)):
            print(f"{bad}: nothing is found")
            found.append(bad)
    print(f"{len(found)} faults")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
