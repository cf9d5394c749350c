#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes what libetw exports: the functions and variables that its public headers declare.

usage: exports.py OUT FOLDER COMPILER...

COMPILER is a C compiler with its flags; it preprocesses the headers FOLDER/etw/*.h. Inline functions and what other headers declare are not
exported. Written are OUT.symbols, a name a line, for objcopy; OUT.roots, which makes a linker look for each of them; and OUT.version, the
version script of a shared library. A name that does not begin with etw_ is an error.
"""
import re
import subprocess
import sys
from pathlib import Path

MARKER = re.compile(r'^# \d+ "(.*?)"')  # "Preprocessor Output", GCC documentation
ATTRIBUTE = re.compile(r"__attribute__\s*\(\((?:[^()]|\([^()]*\))*\)\)|__extension__|__declspec\s*\(\w+\)")
BRACES = re.compile(r"\{[^{}]*\}")


def declarations(folder, compiler):
    """The text of each declaration of the headers, as the compiler sees it, without bodies."""
    headers = sorted(Path(folder, "etw").glob("*.h"))
    source = "".join(f'#include "{header}"\n' for header in headers)
    text = subprocess.run([*compiler, "-I", folder, "-E", "-x", "c", "-"], input=source, check=True, capture_output=True, text=True).stdout
    ours, kept = False, []
    for line in text.splitlines():
        marker = MARKER.match(line)
        if marker:
            ours = Path(marker[1]).parent == Path(folder, "etw")
        elif ours and not line.startswith("#"):  # a #pragma
            kept.append(line)
    text = ATTRIBUTE.sub(" ", "\n".join(kept))
    while BRACES.search(text):
        text = BRACES.sub(";", text)
    return [part.strip() for part in text.split(";")]


def exports(folder, compiler):
    names = set()
    for text in declarations(folder, compiler):
        function = re.match(r"[^(]*?(\w+)\s*\(", text)
        variable = re.match(r"extern\s[^(]*?(\w+)\s*(?:\[[^]]*\]\s*)*$", text)
        if re.match(r"(typedef|static|_Static_assert)\b", text) or not (function or variable):
            continue
        names.add((function or variable)[1])
    return sorted(names)


def main(out, folder, *compiler):
    names = exports(folder, compiler)
    wrong = [name for name in names if not name.startswith("etw_")]
    if wrong:
        sys.exit(f"exports.py: {', '.join(wrong)}: a public name begins with etw_")
    Path(out + ".symbols").write_text("".join(f"{name}\n" for name in names), encoding="utf-8")
    Path(out + ".roots").write_text("".join(f"-Wl,-u,{name}\n" for name in names), encoding="utf-8")
    script = "ETW_0 {\nglobal:\n" + "".join(f"\t{name};\n" for name in names) + "local:\n\t*;\n};\n"
    Path(out + ".version").write_text(script, encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
