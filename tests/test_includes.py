#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the direction of includes: base <- {source, metrics, config} <- decode <- track <- rules <- the program.

Every third-party header has one home; http sees metrics, health and version only; includes are written from the root.
Prints each offending line as file:line and exits 1.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent

# folder -> folders whose headers it may include, besides its own
BELOW = {"base": set()}
for name in ("source", "metrics", "config"):
    BELOW[name] = {"base"}
BELOW["decode"] = {"base", "source", "metrics", "config"}
BELOW["track"] = BELOW["decode"] | {"decode"}
BELOW["rules"] = BELOW["track"] | {"track"}
EVERYTHING = BELOW["rules"] | {"rules"}
HTTP = {"base", "metrics"}
HTTP_HEADERS = {"http.h", "health.h", "health_scrapes.h", "version.h"}

HOMES = {
    "civetweb.h": r"exporter/http[^/]*\.c",
    "yaml.h": r"config/yaml\.c",
    "pcre2.h": r"exporter/rules/.*",
    "expat.h": r"exporter/decode/.*",
    "windows.h": r".*_win32\.[ch]",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def fault(path, kind, header):
    """What is wrong with this include of the file at path (relative, with /), or None."""
    home = HOMES.get(header.lower())
    if home is not None and kind == "<":
        return None if re.fullmatch(home, path) else f"<{header}> belongs into {home}"
    if kind == "<":
        return None
    if header.startswith((".", "exporter/")):
        return f'"{header}": includes are written from the root, without exporter/'

    folder, _, _ = header.partition("/")
    if "/" not in header:  # a header of exporter/ itself
        folder = ""
    elif folder not in EVERYTHING and folder != "tool":
        return f'"{header}": unknown folder {folder}'
    parts = path.split("/")
    own = parts[1] if parts[0] == "exporter" and len(parts) > 2 else parts[0]

    if own in BELOW:
        if folder == own or folder in BELOW[own]:
            return None
        return f'"{header}": {own} may not see {folder or "the program"}'
    if own == "tool":
        return f'"{header}": only http and main see http.h' if header == "http.h" else None
    if folder == "tool":
        return f'"{header}": only the tool sees tool'
    if re.fullmatch(r"http[^/]*\.[ch]", parts[-1]):
        if folder in HTTP or (not folder and (header in HTTP_HEADERS or header.startswith("http"))):
            return None
        return f'"{header}": http sees metrics, health and version only'
    if header == "http.h" and parts[-1] != "main.c":
        return f'"{header}": only http and main see http.h'
    return None


def main():
    files = 0
    faults = 0
    for folder in ("exporter", "metrics", "config"):
        for file in sorted((ROOT / folder).rglob("*.[ch]")):
            files += 1
            path = file.relative_to(ROOT).as_posix()
            for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                why = fault(path, *match.groups()) if match else None
                if why:
                    faults += 1
                    print(f"{path}:{number}: {why}")
    print(f"{files} files, {faults} faults")
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
