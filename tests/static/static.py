#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Static analysis: fails on a report of an analyser that known.txt does not list, and on a line of known.txt that no report needs.

    static.py BUILD_DIR [FILE...]

The files are the product files of a build (compile_commands.json): of a Windows build those of Windows, *_win32.c, of another one all
others, and the scripts. The analysers see C files as that build compiles them, but with assertions, which tell them what cannot happen,
and with facts.h, which tells them what functions of other files return. Some of them take minutes (TAKE_MINUTES): they run
only with LONG_TESTS=1, or for the FILEs that are named. What was reported is kept in the folder of the set-up scripts, by a hash of all
that it depends on, so that a second run looks only at what has changed.
"""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
PRODUCT = ("base/", "config/", "etwtool/", "examples/", "exporter/", "lib/", "metrics/", "selftest/")
KNOWN = "tests/static/known.txt"
FACTS = "tests/static/facts.h"
WITHOUT_FACTS = ("base/error.c",)  # has the definitions
LONG = os.environ.get("LONG_TESTS", "0") != "0"
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "etw_exporter" / "analysers"

Report = namedtuple("Report", "tool check file line function text")
Unit = namedtuple("Unit", "file compiler arguments")  # the arguments are a tuple, so that preprocessed() can keep what it returns

# FILE:LINE:COLUMN: SEVERITY: TEXT [CHECK], as GCC writes it, and all others do or can be asked to.
LINE = re.compile(r"^(?P<file>[^:]+):(?P<line>\d+):(?:\d+:)? (?P<severity>[a-z ]+): (?P<text>.*?)(?: \[(?P<check>[^][]+)\])?$")
FUNCTION = re.compile(r"^[^\s#/](?:.*?\W)?(?!_Atomic\b)(\w+)\(")


def function_at(file, line):
    """The function of a line in house style, where only its braces stand in the first column; None outside of functions."""
    if not file.endswith((".c", ".h")):
        return None
    lines = (ROOT / file).read_text().split("\n")
    start = line - 1
    while start >= 0 and lines[start][:1] != "{":
        if start < line - 1 and lines[start][:1] == "}":
            return signature_at(lines, line)
        start -= 1
    return name_before(lines, start) if start >= 0 else signature_at(lines, line)


def signature_at(lines, line):
    """The function whose declaration begins at or before that line, a report about itself."""
    for at in range(line - 1, max(line - 8, -1), -1):
        found = FUNCTION.match(lines[at])
        if found:
            return found[1]
        if lines[at][:1] in "}#":
            break
    return None


def name_before(lines, brace):
    for at in range(brace - 1, -1, -1):
        found = FUNCTION.match(lines[at])
        if found:
            return found[1]
        if not lines[at]:
            break
    return None


def reports_in(tool, output):
    """The reports in what an analyser printed, each once, whichever files include its header."""
    reports = {}
    for text in output.split("\n"):
        found = LINE.match(text)
        if not found or found["severity"] in ("note", "information", "included from"):
            continue
        path = Path(os.path.normpath(ROOT / found["file"]))
        file = str(path.relative_to(ROOT)) if path.is_relative_to(ROOT) else str(path)
        check = (found["check"] or "").removesuffix(",-warnings-as-errors").split(",")[0]
        inside = path.is_relative_to(ROOT)
        function = function_at(file, int(found["line"])) if inside else None
        report = Report(tool, check, file, int(found["line"]), function, found["text"])
        reports[report[:5]] = report
    return list(reports.values())


# ---- the files ----


def units_of(build):
    units = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        file = os.path.relpath(entry["file"], ROOT)
        if file.startswith(PRODUCT) and file.endswith(".c") and file not in units:
            words = shlex.split(entry["command"])
            if "ccache" in Path(words[0]).name:
                words = words[1:]
            units[file] = Unit(file, words[0], tuple(arguments_of(file, words[1:])))
    windows = any("mingw" in unit.compiler for unit in units.values())
    return [unit for file, unit in sorted(units.items()) if file.endswith("_win32.c") == windows], windows


def relative(word):
    """A folder below the root as seen from there, so that what analysers report about one clone holds for another one."""
    return os.path.relpath(word, ROOT) if word == str(ROOT) or word.startswith(f"{ROOT}/") else word


def arguments_of(file, words):
    """What decides what a file says: include folders, macros, the standard. The analysers run in the root."""
    chosen = []
    while words:
        word = words.pop(0)
        if word in ("-I", "-D", "-isystem"):
            chosen += [word, relative(words.pop(0))]
        elif word.startswith("-I"):
            chosen.append("-I" + relative(word.removeprefix("-I")))
        elif re.match("-(D|std=)", word) and not re.match("-D(NDEBUG|_FORTIFY_SOURCE)", word):
            chosen.append(word)
    return chosen + ([] if file in WITHOUT_FACTS else ["-include", FACTS])


# ---- the analysers ----


def run(command):
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, errors="replace")


def reports_of(tool, what, status, output):
    """An analyser that fails without a report is a report itself."""
    reports = reports_in(tool, output)
    if status != 0 and not reports:
        reports = [Report(tool, "failed", what, 1, None, f"status {status}: {output}")]
    return reports


def clang_arguments(unit):
    target = ["--target=x86_64-w64-mingw32"] if "mingw" in unit.compiler else []
    return [*target, *unit.arguments]


CHECKERS = "core,deadcode,nullability,optin.portability,security,unix,valist"
# It asks for functions that C libraries do not have (memcpy_s()).
NOT_CHECKERS = "security.insecureAPI.DeprecatedOrUnsafeBufferHandling"

# Warnings of clang that are left out.
NOT_WARNINGS = {
    "atomic-implicit-seq-cst": "the strongest order is right everywhere; weaker ones stand where they pay",
    "bad-function-cast": "a cast is how enums and bools become the bytes in which they are kept",
    "c++98-compat": "this is C",
    "disabled-macro-expansion": "the C library defines macros that are named as members of structures",
    "double-promotion": "NAN and INFINITY are of type float",
    "float-equal": "compared are numbers of users and of the same computation, or with 0",
    "ignored-attributes": "MinGW: gnu_printf is for GCC, which checks formats in the same build",
    "missing-field-initializers": "GCC does that, and knows the { NULL } that ends a table",
    "pedantic": "enumerators may be of 32 bits without sign, which GCC, Clang and C23 take",
    "padded": "padding is wanted",
    "reserved-identifier": "what the headers of Windows declare",
    "reserved-macro-identifier": "what the system headers look for is defined in the first line of a file",
    "switch-enum": "a default is for all other values",
    "used-but-marked-unused": "functions of OpenSSL's headers",
}

# Tool -> what it is run as for a C file.
FOR_C = {
    "clang": lambda unit: ["clang", *clang_arguments(unit), "-fsyntax-only", "-Weverything", *(f"-Wno-{name}" for name in NOT_WARNINGS),
                           unit.file],
    "clang-tidy": lambda unit: ["clang-tidy", "--quiet", unit.file, "--", *clang_arguments(unit)],
    "gcc": lambda unit: [unit.compiler, *unit.arguments, "-O2", "-fanalyzer", "-fdiagnostics-plain-output", "-c", "-o", "/dev/null",
                         unit.file],
    "clang-analyzer": lambda unit: ["clang", *clang_arguments(unit), "--analyze", "--analyzer-output", "text",
                                    "-Xclang", f"-analyzer-checker={CHECKERS}",
                                    "-Xclang", f"-analyzer-disable-checker={NOT_CHECKERS}", unit.file],
}
TAKE_MINUTES = {"clang-analyzer", "cppcheck", "gcc"}
TAKE_MINUTES_OF_WINDOWS = TAKE_MINUTES | {"clang-tidy"}  # its headers are large

# Tool -> its command, and the files that it is run for at once, of any build but that for Windows.
AT_ONCE = {
    "cppcheck": (["cppcheck", "--enable=warning,performance,portability", "--std=c11", "--language=c", "--quiet",
                  "--template={file}:{line}:{column}: {severity}: {message} [{id}]", "--template-location=",
                  "--suppress=missingIncludeSystem", "-I.", "-Iexporter"], lambda units: [unit.file for unit in units]),
    # -x: with what they source, which stands beside them or in tests/e2e.
    "shellcheck": (["shellcheck", "-S", "warning", "-x", "-P", "SCRIPTDIR:tests/e2e", "-f", "gcc"], lambda _: scripts()),
    "pyflakes3": (["pyflakes3"], lambda _: tracked("*.py")),
}


def tracked(*patterns):
    """Files of the repository; of what is no repository none."""
    return run(["git", "ls-files", *patterns]).stdout.split()


def scripts():
    return tracked("*.sh", "*.bash", ".ci/run", "packaging/debian/p*")


def kept_output(command, texts):
    """Status and output of an analyser, kept by the hash of all that they depend on: its version, its command, the texts that it reads."""
    CACHE.mkdir(parents=True, exist_ok=True)
    parts = [version_of(command[0]), shlex.join(command), *texts]
    kept = CACHE / hashlib.sha256("\0".join(parts).encode()).hexdigest()
    if not kept.exists():
        done = run(command)
        if done.returncode < 0:
            return done.returncode, done.stdout + done.stderr
        temporary = kept.with_name(f"{kept.name}.{os.getpid()}")
        said = (done.stdout + done.stderr).replace(f"{ROOT}/", "")  # clang-tidy names every file by its whole path
        temporary.write_text(json.dumps([done.returncode, said]))
        temporary.rename(kept)
    return json.loads(kept.read_text())


@cache
def version_of(program):
    return run([program, "--version"]).stdout


@cache
def preprocessed(unit):
    return run([unit.compiler, *unit.arguments, "-E", unit.file]).stdout


def analyse_each(tool, units):
    settings = [(ROOT / ".clang-tidy").read_text()] if tool == "clang-tidy" else []
    with ThreadPoolExecutor(int(os.environ.get("JOBS", "2"))) as pool:
        outputs = pool.map(lambda unit: kept_output(FOR_C[tool](unit), [preprocessed(unit), *settings]), units)
        reports = [report for unit, output in zip(units, outputs) for report in reports_of(tool, unit.file, *output)]
    return list({report[:5]: report for report in reports}.values())


def analyse_at_once(tool, files):
    includes = tracked("*.h") if tool == "cppcheck" else []
    return reports_of(tool, "", *kept_output([*AT_ONCE[tool][0], *files], [(ROOT / file).read_text() for file in [*files, *includes]]))


# ---- the table ----


def read_known():
    """Row -> (tool, check, file, function), with the number of its line. What has no reason above it is a fault."""
    rows, faults, reason = {}, [], False
    for number, line in enumerate((ROOT / KNOWN).read_text().split("\n"), 1):
        if line.startswith("#") or not line:
            reason = bool(line)
            continue
        words = line.split()
        if len(words) != 3 or not reason:
            faults.append(f"{KNOWN}:{number}: not \"TOOL CHECK FILE[:FUNCTION]\" below a reason")
            continue
        file, _, function = words[2].partition(":")
        rows[words[0], words[1], file, function or None] = number
    return rows, faults


def judge(tool, files, reports, known):
    """The faults among the reports of a tool, and the lines of the table about these files that it does not need."""
    rows = {row: number for row, number in known.items() if row[0] == tool}
    needed = set()
    faults = []
    for report in reports:
        row = (tool, report.check, report.file, report.function)
        if row in rows:
            needed.add(row)
        else:
            where = f"{report.file}:{report.line}" + (f": in {report.function}()" if report.function else "")
            faults.append(f"{where}: {report.text} [{tool} {report.check}]")
    analysed = [file for file in files if not file.endswith(".h")]
    print(f"{tool}: {len(analysed)} files, {len(reports)} reports, {len(reports) - len(faults)} of them in {KNOWN}", flush=True)
    return faults + [f"{KNOWN}:{number}: {tool} does not report it" for row, number in rows.items()
                     if row[2] in files and row not in needed]


def main():
    build = (Path.cwd() / sys.argv[1]).resolve()
    named = [os.path.relpath(Path(name).resolve(), ROOT) for name in sys.argv[2:]]
    units, windows = units_of(build)
    units = [unit for unit in units if not named or unit.file in named]
    # A header is seen through the files that include it, all of them.
    headers = [] if named else tracked("*.h")
    files = [unit.file for unit in units] + [file for file in headers if file.endswith("_win32.h") == windows]
    known, faults = read_known()
    left_out = TAKE_MINUTES_OF_WINDOWS if windows else TAKE_MINUTES
    for tool in FOR_C:
        program = FOR_C[tool](units[0])[0]
        if not shutil.which(program):
            print(f"SKIP: {program} is not installed: bash .ci/deps-more-tests.sh")
            return 77
        if LONG or named or tool not in left_out:
            faults += judge(tool, files, analyse_each(tool, units), known)
    for tool in AT_ONCE if not named and not windows else ():
        files = AT_ONCE[tool][1](units)
        if files and (LONG or tool not in left_out):
            faults += judge(tool, files, analyse_at_once(tool, files), known)
    print("\n".join(faults))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
