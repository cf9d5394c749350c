#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the wall around libetw when linking, as test_includes.py does for headers.

usage: test_wall.py [--allowed TABLE | --write] BUILD COMPILER NM LIBRARY

- LIBRARY, libetw.a, exports the functions and variables that include/etw/*.h declares, and no others.
- What is built on the library (USERS) uses no function or variable of lib/ that these headers do not declare. TABLE, tests/wall.txt, has what
  is left to do: a file of lib/ and how many of its functions and variables are still used without such a declaration. More are a
  fault, and so is a line that is not needed. --write writes the table anew.

cmake/exports.py reads what the headers declare. Where the compiler is GCC, which can list declarations itself, both must agree.
"""
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TABLE = ROOT / "tests/wall.txt"
USERS = ("config", "examples", "exporter", "etwtool", "metrics", "selftest")
HEAD = """# What is built on libetw and uses of lib/ what no header of include/etw/ declares: a file of lib/, and how many of its functions and
# variables. tests/test_wall.py reads this. The table only shrinks; without lines it goes.
"""


def run(*command, **more):
    return subprocess.run(command, check=True, capture_output=True, text=True, **more).stdout


def declared_by_gcc(compiler):
    """The functions that the headers declare, as GCC lists them ("-aux-info", GCC documentation); None of another compiler."""
    if "Free Software Foundation" not in run(compiler, "--version"):
        return None
    source = "".join(f"#include <etw/{header.name}>\n" for header in sorted((ROOT / "include/etw").glob("*.h")))
    with tempfile.NamedTemporaryFile() as listed:
        folders = ("-I", str(ROOT / "include"))
        run(compiler, "-fsyntax-only", "-std=c11", "-aux-info", listed.name, *folders, "-x", "c", "-", input=source)
        text = Path(listed.name).read_text(encoding="utf-8")
    return set(re.findall(rf"^/\* {re.escape(str(ROOT))}/include/etw/\S+ \*/ extern [^(]*?(\w+) \(", text, re.M))


def objects(build):
    """(source, object) of what the build compiles, the source below the root or below the build."""
    for row in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file, output = Path(row["file"]), re.search(r" -o (\S+)", row["command"])[1]
        if file.is_relative_to(ROOT) and not file.is_relative_to(build):
            yield file.relative_to(ROOT).as_posix(), build / output
        else:  # a generated one, by its place in the build
            yield re.sub(r"CMakeFiles/[^/]*\.dir/(.*/)?([^/]*)\.(o|obj)$", r"\2", output), build / output


def symbols(nm, option, files):
    """{file: names} of object files."""
    found = {}
    for line in run(nm, "-A", option, *map(str, files)).splitlines():
        file, rest = line.rsplit(":", 1)
        kind, name = rest.split()[-2:]
        if kind.isupper():
            found.setdefault(file, set()).add(name)
    return found


def used(build, nm, declared):
    """{file of lib/: what is used of it without a declaration} and where each name is used."""
    sources = {output: source for source, output in objects(build)}
    lib = [output for output, source in sources.items() if source.startswith("lib/")]
    users = [output for output, source in sources.items() if source.startswith(tuple(f"{user}/" for user in USERS))]
    defined = {}
    for file, names in symbols(nm, "--defined-only", lib).items():
        for name in names:
            defined[name] = sources[Path(file)]
    if not defined or not users:
        sys.exit(f"test_wall.py: {build} has no objects")
    violations, places = {}, {}
    for file, names in symbols(nm, "--undefined-only", users).items():
        for name in names & defined.keys() - declared:
            violations.setdefault(defined[name], set()).add(name)
            places.setdefault(name, sources[Path(file)])
    return violations, places


def read_table(path):
    rows = [line.split() for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")] if path.exists() else []
    return {file: int(count) for file, count in rows}


def main(arguments):
    table, write = TABLE, False
    while arguments[0].startswith("--"):
        option = arguments.pop(0)
        write = write or option == "--write"
        table = Path(arguments.pop(0)) if option == "--allowed" else table
    build, compiler, nm, library = Path(arguments[0]).resolve(), *arguments[1:]
    faults = []

    declared = set((build / "libetw.symbols").read_text(encoding="utf-8").split())
    listed = declared_by_gcc(compiler)
    if listed is not None:
        faults += [f"exports.py does not see that a header declares {name}" for name in sorted(listed - declared)]
    exported = set().union(*symbols(nm, "--defined-only", [library]).values())
    faults += [f"libetw exports {name}, which no header declares" for name in sorted(exported - declared)]
    faults += [f"libetw does not define {name}, which a header declares" for name in sorted(declared - exported)]

    violations, places = used(build, nm, declared)
    if write:
        table.write_text(HEAD + "".join(f"{file} {len(names)}\n" for file, names in sorted(violations.items())), encoding="utf-8")
    allowed = read_table(table)
    for file, names in sorted(violations.items()):
        if len(names) > allowed.get(file, 0):
            faults.append(f"{file}: {len(names)} names are used without a declaration in include/etw/, {allowed.get(file, 0)} are allowed: " +
                          ", ".join(f"{name} ({places[name]})" for name in sorted(names)))
    faults += [f"{table.name}: {file} is not needed any more" for file in sorted(allowed.keys() - violations.keys())]
    total = sum(map(len, violations.values()))
    print("\n".join(faults + [f"{len(exported)} names exported, {total} used without a declaration, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
