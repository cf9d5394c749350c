#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the structure of the product code.

- Includes are written from the root of the repository.
- Folders include in one direction: LAYERS below, from the bottom to the top. lib/ knows nothing of metrics, configuration and HTTP. The
  programs, config/ and metrics/ see the library through include/etw/ alone, but for what WALL lists.
- A third-party header has one home.
- No file takes part in a circle of includes; NAME.c, NAME.h and NAME_internal.h count as one file, and so do the variants of a system
  (NAME_posix.c, NAME_win32.c, NAME_none.c).
- The same of calls: a header may declare functions of several files, so that includes hide who needs whom.
- No function is longer than 80 lines.

Prints each fault as file:line and exits 1.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("base", "config", "etwtool", "examples", "exporter", "include", "lib", "metrics", "selftest")
FUNCTION_LINES_MAX = 80

# folder -> folders whose headers it may include, besides its own
FACE = "include/etw"
LAYERS = {
    FACE: set(),
    "base": {FACE},  # of the face only types.h and error.h, see below
    "metrics": {"base", FACE},
    "lib/source": {"base", FACE},
    "config": {"base", FACE},
    "lib/etl": {"base", FACE, "lib/source"},
    "lib/live": {"base", FACE, "lib/source"},
    "lib/decode": {"base", FACE, "lib/source", "lib/live"},
}
LAYERS["lib/face"] = LAYERS["lib/decode"] | {"lib/decode", "lib/etl"}
LAYERS["examples"] = {FACE}  # users of the library
# The programs and what they share see the library through its face alone.
LAYERS["exporter/track"] = {"base", FACE, "metrics", "config"}
LAYERS["exporter/recorder"] = LAYERS["exporter/track"]
LAYERS["exporter/rules"] = LAYERS["exporter/track"] | {"exporter/track"}
PROGRAM = LAYERS["exporter/rules"] | {"exporter/rules", "exporter/recorder", "exporter", "exporter/windows"}
LAYERS["exporter"] = PROGRAM | {"exporter/http"}  # main.c alone includes http, see below
LAYERS["exporter/windows"] = PROGRAM
# A program of its own, which nothing includes: no test code is in the exporter.
LAYERS["selftest"] = {"base", FACE, "metrics", "config", "exporter", "exporter/windows"}
LAYERS["etwtool"] = PROGRAM | {"exporter/http"}  # top_feed.c, likewise
LAYERS["exporter/http"] = {"base", FACE, "metrics", "config", "exporter"}
HTTP_HEADERS = {"exporter/health.h", "exporter/version.h"}  # what http/ may see of the program
HTTP_CLIENT = ("etwtool/top/top_feed.c", "exporter/http/fetch.h")

# What the programs still see of the library besides its face: file -> headers. To become empty; an entry without use is a fault.
# The kit asks Windows with the very functions that live sessions use.
WALL = {"selftest/kit_etw_internal_win32.h": {"lib/live/live_source_internal_win32.h"}}

# A folder within a layer, and the one of the same layer that it may not see.
BELOW = {"exporter/rules/language": "exporter/rules/engine"}

HOMES = {
    "civetweb.h": r"exporter/http/.*",
    "openssl/": r"exporter/http/(tls|crypto|fetch)\.c",
    "crypt.h": r"exporter/http/auth\.c",
    "archive.h": r"lib/etl/packed\.c",
    "archive_entry.h": r"lib/etl/packed\.c",
    "zlib.h": r"(exporter/http/encode|lib/etl/packed)\.c",
    "zstd.h": r"exporter/http/encode\.c",
    "yaml.h": r"config/yaml\.c",
    "pcre2.h": r"base/regex\.[ch]",
    "expat.h": r"lib/decode/.*",
    "windows.h": r".*_win32\.[ch]",
}

INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]')


def folder_of(path):
    """The layer of a file or of an included header: the first folder, in lib/ and exporter/ the second one, too."""
    folders = path.split("/")[:-1]
    return "/".join(folders[:2] if folders[:1] in (["lib"], ["exporter"], ["include"]) else folders[:1])


def fault(path, kind, header):
    """What is wrong with this include of the file at path, or None."""
    if kind == "<" and header.startswith("etw/"):
        header = f"include/{header}"
    elif header.startswith(FACE):
        return f'"{header}": the face of the library is included as <etw/NAME.h>'
    elif kind == "<":
        home = HOMES.get(header.lower()) or HOMES.get(header.lower().split("/")[0] + "/")
        return f"<{header}> belongs into {home}" if home and not re.fullmatch(home, path) else None
    if not (ROOT / header).is_file():
        return f'"{header}": no such file; includes are written from the root of the repository'
    own, folder = folder_of(path), folder_of(header)
    if folder not in LAYERS:
        return f'"{header}": unknown folder {folder}'
    if folder != own and folder not in LAYERS[own] and header not in WALL.get(path, ()):
        return f'"{header}": {own} may not see {folder}'
    if own == "base" and folder == FACE and header not in (f"{FACE}/types.h", f"{FACE}/error.h"):
        return f'<{header}>: base/ sees types.h and error.h of the face'
    if str(Path(path).parent) in BELOW and str(Path(header).parent) == BELOW[str(Path(path).parent)]:
        return f'"{header}": {Path(path).parent} may not see {Path(header).parent}'
    if own == "exporter" and folder == "exporter/http" and path != "exporter/main.c":
        return f'"{header}": only main.c sees http/'
    if folder == "exporter/http" and own == "etwtool" and (path, header) != HTTP_CLIENT:
        return f'"{header}": only {HTTP_CLIENT[0]} sees {HTTP_CLIENT[1]}'
    if own == "exporter/http" and folder == "exporter" and header not in HTTP_HEADERS:
        return f'"{header}": http/ sees {", ".join(sorted(HTTP_HEADERS))} of the program'
    return None


def module_of(path):
    return re.sub(r"(_internal)?(_posix|_win32|_none)?\.[ch]$", "", path)


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


# A function that begins in the first column of a line.
START = r"^(?!static|typedef|extern|[\s{}])[a-z][^;{}=]*?\b(\w+)\([^;{}]*\)"
DECLARATION = re.compile(START + "[^;{}]*;", re.M)
DEFINITION = re.compile(START + r"\s*\n\{", re.M)


def code_of(text):
    """The text without comments, strings, directives and the word _Atomic, which looks like a call."""
    text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("_Atomic(", "(")
    text = re.sub(r"^\s*#.*(?:\\\n.*)*$", "", text, flags=re.M)
    return re.sub(r'"(?:\\.|[^"\\\n])*"', '""', text)


def calls(sources, headers):
    """Module -> modules whose functions it calls. sources: path -> code; headers: path -> the headers that it includes."""
    declared, defined, edges = {}, {}, {}
    for path, code in sources.items():
        if path.endswith(".h"):
            for match in DECLARATION.finditer(code):
                declared.setdefault(match.group(1), set()).add(path)
        else:
            for match in DEFINITION.finditer(code):
                defined.setdefault(match.group(1), set()).add(module_of(path))
    functions = {name: declared[name] for name in declared if name in defined}

    def reached(path):
        seen, left = {path}, [path]
        while left:
            for header in headers.get(left.pop(), ()):
                if header not in seen:
                    seen.add(header)
                    left.append(header)
        return seen

    for path, code in sources.items():
        own, seen = module_of(path), reached(path)
        to = edges.setdefault(own, set())
        for word in set(re.findall(r"\w+", DECLARATION.sub("", code) if path.endswith(".h") else code)):
            if word in functions and own not in defined[word] and functions[word] & seen:
                to |= defined[word]
    return edges


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
    includes, sources, headers = {}, {}, {}
    for top in PRODUCT:
        for file in sorted((ROOT / top).rglob("*.[ch]")):
            files += 1
            path = file.relative_to(ROOT).as_posix()
            text = file.read_text(encoding="utf-8")
            lines = text.splitlines()
            sources[path] = code_of(text)
            headers[path] = {match.group(2) if match.group(1) == '"' else f"include/{match.group(2)}" for match in map(INCLUDE.match, lines) if match}
            edges = includes.setdefault(module_of(path), set())
            for number, line in enumerate(lines, 1):
                match = INCLUDE.match(line)
                if not match:
                    continue
                why = fault(path, *match.groups())
                if why:
                    faults.append(f"{path}:{number}: {why}")
                header = match.group(2) if match.group(1) == '"' else f"include/{match.group(2)}"
                if header.startswith("include/etw/") or match.group(1) == '"' and module_of(header) != module_of(path):
                    edges.add(module_of(header))
            for number, length in long_functions(lines):
                faults.append(f"{path}:{number}: a function of {length} lines; at most {FUNCTION_LINES_MAX}")
    for circle in circles(includes):
        faults.append(f"circle of includes: {', '.join(circle)}")
    for circle in circles(calls(sources, headers)):
        faults.append(f"circle of calls: {', '.join(circle)}")
    for path, allowed in WALL.items():
        text = (ROOT / path).read_text(encoding="utf-8") if (ROOT / path).is_file() else ""
        faults += [f'WALL: {path} does not include "{header}" any more' for header in sorted(allowed) if f'#include "{header}"' not in text]
    # Circles between folders; the exporter and its windows/ are one program.
    folders = {}

    def one(module):
        folder = folder_of(module)
        return "exporter" if folder == "exporter/windows" else folder

    for module, others in includes.items():
        folders.setdefault(one(module), set()).update({one(other) for other in others} - {one(module)})
    folders["exporter/http"].discard("exporter")  # the headers of HTTP_HEADERS only
    for circle in circles(folders):
        faults.append(f"circle of folders: {', '.join(circle)}")
    print("\n".join(faults + [f"{files} files, {len(faults)} faults"]))
    return 1 if faults or not files else 0


if __name__ == "__main__":
    sys.exit(main())
