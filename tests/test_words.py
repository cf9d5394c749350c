#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the words of the code to those of the glossary (docs/ARCHITECTURE.md).

Each row of WORDS is a home-made or unclear word, the standard term that replaces it, and where it is looked for: in
identifiers (each part between underscores), in comments, in string literals. Of tests only comments are looked at, because
their strings are data and their identifiers are partly those of the product. packaging/ and .ci/ have no C: all three of
Python, of other files the comments. ALLOWED lists what stays, with the reason.
Prints each place as file:line and exits 1. With a folder or file as argument it looks there alone.
"""
import io
import re
import sys
import tokenize
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("base", "config", "etwtool", "examples", "exporter", "include", "lib", "metrics", "selftest")
TESTS = "tests"
PACKAGING = ("packaging", ".ci")

NAMES, COMMENTS, STRINGS = 1, 2, 4
PROSE = COMMENTS | STRINGS
ALL = NAMES | PROSE

WORDS = [
    # word (a regular expression), standard term, where
    (r"kinds?", "event class, event table; else type or form", NAMES | COMMENTS),
    (r"teller|tellers", "id of the in-band manifest", ALL),
    (r"tells?|told|telling", "announce, report, describe, say", ALL),
    (r"given_manifests?", "configured manifests", NAMES),
    (r"settles?|settled|settling", "publish, sort, resolve or freeze", ALL),
    (r"news", "stale, changed, unresolved; session event", ALL),
    (r"asked|wanted", "enabled features; requested", NAMES),
    (r"misfits?", "schema mismatch", ALL),
    (r"fate|fates", "result", ALL),
    (r"trial|trials", "dry run", ALL),
    (r"memo|memos", "cache", ALL),
    (r"plan|plans|planned", "compiled rule", ALL),
    (r"carry|carries|carried", "captured labels", NAMES | COMMENTS),
    (r"folded|unfolded", "overflow series", ALL),
    (r"rescue|rescues|rescued", "emergency stop", ALL),
    (r"guards?|guarded_providers", "provider watchdog", NAMES),
    (r"books?", "statistics", ALL),
    (r"figures?", "metric, statistics, number", ALL),
    (r"look_ahead|looking_ahead|look-aheads?|looks? ahead|looked ahead|looking ahead", "first pass", ALL),
    (r"late_records_\w+", "deferred records", NAMES),
    (r"x_parts", "x_internal", NAMES),
    (r"somebody|nobody|anybody|everybody|whoever|whomever|whatever", "name who it is", PROSE),
    (r"but for", "except for", PROSE),
    (r"work(?:s|ed|ing)? out", "resolve, compute, find", PROSE),
    (r"lets? go|letting go", "drop, free", PROSE),
    (r"stands? (?:behind|before)", "follow, come after, come before", PROSE),
    (r"is weather|weather", "say that it is expected and counted", PROSE),
]

# (file pattern, word as found, text on the line or "" for any): why it stays
ALLOWED = [
    (r".*", "kind", r"per-kind|\"kind\"|kind=", "a flag, a JSON key and label values that users know"),
    (r".*", "kinds", r"\"kinds?\"", "likewise"),
    (r"exporter/rules/.*|config/.*", "carry", r"'?carry'?:?|pair", "a key of collectors"),
]

TOKEN = re.compile(r'(?P<com>/\*.*?\*/|//[^\n]*)|(?P<str>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(?P<id>[A-Za-z_]\w*)|(?P<inc>\#[ \t]*include[^\n]*)', re.S)
# Of shell, YAML, CMake and XML.
OTHER_COMMENT = re.compile(r"(?:^|(?<=\s))#[^\n]*|<!--.*?-->", re.S | re.M)


def rows(where):
    return [(re.compile(rf"\b(?:{word})\b", re.I), word, term) for word, term, places in WORDS if places & where]


ROWS = {where: rows(where) for where in (NAMES, COMMENTS, STRINGS)}


@cache
def name_matches(name):
    """Whether a row may match an identifier; most identifiers occur many times."""
    return any(pattern.search(name) or pattern.search(name_text(name)) for pattern, _, _ in ROWS[NAMES])


def line_of(text, offset):
    return text.count("\n", 0, offset) + 1


def c_parts(text):
    """(where, body, line) of each name, comment and string."""
    for token in TOKEN.finditer(text):
        where = {"com": COMMENTS, "str": STRINGS, "id": NAMES}.get(token.lastgroup)
        if where and (where != NAMES or name_matches(token.group())):
            yield where, token.group(), line_of(text, token.start())


def python_parts(text):
    places = {tokenize.NAME: NAMES, tokenize.COMMENT: COMMENTS, tokenize.STRING: STRINGS}
    places[getattr(tokenize, "FSTRING_MIDDLE", tokenize.STRING)] = STRINGS  # from Python 3.12 on
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type in places:
            yield places[token.type], token.string, token.start[0]


def other_parts(text):
    for token in OTHER_COMMENT.finditer(text):
        yield COMMENTS, token.group(), line_of(text, token.start())


def parts(path, text):
    if path.endswith((".c", ".h", ".inl")):
        return c_parts(text)
    return python_parts(text) if path.endswith(".py") else other_parts(text)


def name_text(name):
    """An identifier as words: some_THING -> "some thing"."""
    return name.replace("_", " ")


def faults(path, text):
    lines = text.splitlines()
    for where, body, first in parts(path, text):
        if path.startswith(f"{TESTS}/") and where != COMMENTS:
            continue
        if where == COMMENTS:
            body = re.sub(r"\n\s*\*? ?", "\n", body)
        for pattern, _, term in ROWS[where]:
            match = pattern.search(body) or pattern.search(name_text(body) if where == NAMES else body.replace("\n", " "))
            if not match:
                continue
            number = first + body[:body.find(match.group())].count("\n")
            line = lines[min(number, len(lines)) - 1]
            if any(re.fullmatch(files, path) and match.group().lower() == allowed and re.search(context, line)
                   for files, allowed, context, _ in ALLOWED):
                continue
            yield f"{path}:{number}: '{match.group()}' in {body if where == NAMES else 'prose'}: {term}"


def sources(place):
    """The files of a folder that are read."""
    if not place.is_dir():
        return [place]
    if place.relative_to(ROOT).parts[:1] in [(top,) for top in PACKAGING]:
        return sorted(path for path in place.rglob("*") if path.is_file() and path.suffix not in (".md", ".csv", ".pyc"))
    return sorted(place.rglob("*.[ch]"))


def main():
    places = [Path(argument).resolve() for argument in sys.argv[1:]] or [ROOT / top for top in (*PRODUCT, TESTS, *PACKAGING)]
    files = found = 0
    for place in places:
        for file in sources(place):
            path = file.relative_to(ROOT).as_posix()
            files += 1
            for fault in faults(path, file.read_text(encoding="utf-8")):
                print(fault)
                found += 1
    print(f"{files} files, {found} faults")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
