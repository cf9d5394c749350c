#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the structure of the product code.

- Folders include in one direction: LAYERS below, from the bottom to the top.
- A third-party header has one home.
- No file takes part in a circle of includes; NAME.c, NAME.h and NAME_internal.h count as one file, and so do the variants of a system
  (NAME_posix.c, NAME_win32.c, NAME_none.c).
- No function is longer than 80 lines.

Prints each fault as file:line and exits 1.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("exporter", "metrics", "config", "selftest")
FUNCTION_LINES_MAX = 80

# folder -> folders whose headers it may include, besides its own
LAYERS = {"base": set()}
LAYERS["source"] = LAYERS["metrics"] = {"base"}
LAYERS["etl"] = LAYERS["live"] = LAYERS["config"] = {"base", "source"}
LAYERS["decode"] = {"base", "source", "live", "metrics", "config"}
LAYERS["recorder"] = LAYERS["decode"] | {"decode", "etl"}
LAYERS["track"] = LAYERS["decode"] | {"decode"}
LAYERS["rules"] = LAYERS["track"] | {"track"}
# "" is exporter/ itself: the program. windows/ and tool/ are programs, too.
PROGRAM = LAYERS["rules"] | {"rules", "recorder", "etl", "", "windows"}
LAYERS[""] = PROGRAM | {"http"}  # main.c alone includes http, see below
LAYERS["windows"] = PROGRAM
LAYERS["tool"] = PROGRAM | {"http"}  # top_feed.c, likewise
# A program of its own, which nothing includes: no test code is in the exporter.
LAYERS["selftest"] = {"base", "metrics", "live", "config", "", "windows"}
LAYERS["http"] = {"base", "metrics", "config", ""}
HTTP_HEADERS = {"health.h", "version.h"}  # what http/ may see of the program
HTTP_CLIENT = ("exporter/tool/top_feed.c", "http/fetch.h")

# A folder within a layer, and the one of the same layer that it may not see.
BELOW = {"rules/language": "rules/engine"}

HOMES = {
    "civetweb.h": r"exporter/http/.*",
    "openssl/": r"exporter/http/(tls|crypto|fetch)\.c",
    "crypt.h": r"exporter/http/password\.c",
    "archive.h": r"exporter/etl/packed\.c",
    "archive_entry.h": r"exporter/etl/packed\.c",
    "zlib.h": r"exporter/(http/encode|etl/packed)\.c",
    "zstd.h": r"exporter/http/encode\.c",
    "yaml.h": r"config/yaml\.c",
    "pcre2.h": r"exporter/base/regex\.[ch]",
    "expat.h": r"exporter/decode/.*",
    "windows.h": r".*_win32\.[ch]",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def folder_of(path):
    """The layer of a file (path from the root, with /) or of an included header (from exporter/ or the root)."""
    parts = path.removeprefix("exporter/").split("/")
    return parts[0] if len(parts) > 1 else ""


def fault(path, kind, header):
    """What is wrong with this include of the file at path, or None."""
    if kind == "<":
        home = HOMES.get(header.lower()) or HOMES.get(header.lower().split("/")[0] + "/")
        return f"<{header}> belongs into {home}" if home and not re.fullmatch(home, path) else None
    if header.startswith((".", "exporter/")):
        return f'"{header}": includes are written from the root, without exporter/'
    own, folder = folder_of(path), folder_of(header)
    if folder not in LAYERS:
        return f'"{header}": unknown folder {folder}'
    if folder != own and folder not in LAYERS[own]:
        return f'"{header}": {own or "the program"} may not see {folder or "the program"}'
    below = str(Path(path).parent).removeprefix("exporter/")
    if below in BELOW and str(Path(header).parent) == BELOW[below]:
        return f'"{header}": {below} may not see {BELOW[below]}'
    if folder == "http" and own != "http" and path != "exporter/main.c" and (path, header) != HTTP_CLIENT:
        return f'"{header}": only main.c sees http/, and top_feed.c its client'
    if own == "http" and folder == "" and header not in HTTP_HEADERS:
        return f'"{header}": http/ sees {", ".join(sorted(HTTP_HEADERS))} of the program'
    return None


def module_of(path):
    return re.sub(r"(_internal)?(_posix|_win32|_none)?\.[ch]$", "", path.removeprefix("exporter/"))


def circles(includes):
    """The sets of modules that include each other: strongly connected components of more than one module (Tarjan)."""
    index, low, stack, found = {}, {}, [], []

    def visit(module):
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in includes.get(module, ()):
            if other not in index:
                visit(other)
                low[module] = min(low[module], low[other])
            elif other in stack:
                low[module] = min(low[module], index[other])
        if low[module] == index[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                found.append(sorted(stack[at:]))
            del stack[at:]

    for module in sorted(includes):
        if module not in index:
            visit(module)
    return found


def long_functions(lines):
    """(line, length) of each function body that is too long; functions open and close with a brace in the first column."""
    start = None
    for number, line in enumerate(lines, 1):
        if line == "{":
            start = number
        elif line == "}" and start is not None:
            if number - start - 1 > FUNCTION_LINES_MAX:
                yield start, number - start - 1
            start = None


def main():
    files, faults = 0, []
    includes = {}
    for top in PRODUCT:
        for file in sorted((ROOT / top).rglob("*.[ch]")):
            files += 1
            path = file.relative_to(ROOT).as_posix()
            lines = file.read_text(encoding="utf-8").splitlines()
            edges = includes.setdefault(module_of(path), set())
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                why = fault(path, *match.groups())
                if why:
                    faults.append(f"{path}:{number}: {why}")
                if match.group(1) == '"' and module_of(match.group(2)) != module_of(path):
                    edges.add(module_of(match.group(2)))
            for number, length in long_functions(lines):
                faults.append(f"{path}:{number}: a function of {length} lines; at most {FUNCTION_LINES_MAX}")
    for circle in circles(includes):
        faults.append(f"circle of includes: {', '.join(circle)}")
    # Circles between folders; the program and its windows/ are one.
    folders = {}
    for module, others in includes.items():
        own = folder_of(module).replace("windows", "")
        folders.setdefault(own, set()).update({folder_of(other).replace("windows", "") for other in others} - {own})
    folders["http"].discard("")  # the headers of HTTP_HEADERS only
    for circle in circles(folders):
        faults.append(f"circle of folders: {', '.join(circle)}")
    print("\n".join(faults + [f"{files} files, {len(faults)} faults"]))
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
