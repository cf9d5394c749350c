#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps the words of the code to those of the glossary (docs/ARCHITECTURE.md).

Each row of WORDS is a home-made or unclear word, the standard term that replaces it, and where it is looked for: in
identifiers (each part between underscores), in comments, in string literals. Of tests only comments are looked at, because
their strings are data and their identifiers are partly those of the product. ALLOWED lists what stays, with the reason.
Prints each place as file:line and exits 1. With a folder or file as argument it looks there alone.
"""
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("exporter", "metrics", "config")
TESTS = "tests"

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
    (r"is weather|weather", "say that it is expected and counted", PROSE),
]

# (file pattern, word as found, text on the line or "" for any): why it stays
ALLOWED = [
    (r".*", "kind", r"per-kind|\"kind\"|kind=", "a flag, a JSON key and label values that users know"),
    (r".*", "kinds", r"\"kinds?\"", "likewise"),
    (r"exporter/rules/.*|config/.*", "carry", r"'?carry'?:?|pair", "a key of collectors"),
]

TOKEN = re.compile(r'(?P<com>/\*.*?\*/|//[^\n]*)|(?P<str>"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\')|(?P<id>[A-Za-z_]\w*)|(?P<inc>\#[ \t]*include[^\n]*)', re.S)


def rows(where):
    return [(re.compile(rf"\b(?:{word})\b", re.I), word, term) for word, term, places in WORDS if places & where]


IN_NAMES, IN_COMMENTS, IN_STRINGS = rows(NAMES), rows(COMMENTS), rows(STRINGS)


def name_text(name):
    """An identifier as words: some_THING -> "some thing"."""
    return name.replace("_", " ")


def faults(path, text):
    lines = text.splitlines()
    for token in TOKEN.finditer(text):
        if token.group("com"):
            found, body = IN_COMMENTS, re.sub(r"\n\s*\*? ?", "\n", token.group())
        elif path.startswith(f"{TESTS}/"):
            continue
        elif token.group("str"):
            found, body = IN_STRINGS, token.group()
        elif token.group("id"):
            found, body = IN_NAMES, token.group()
        else:
            continue
        for pattern, word, term in found:
            if token.group("id"):
                match = pattern.search(body) or pattern.search(name_text(body))
            else:
                match = pattern.search(body) or pattern.search(body.replace("\n", " "))
            if not match:
                continue
            place = body[:body.find(match.group())].count("\n") if token.group("com") else 0
            number = text.count("\n", 0, token.start()) + 1 + max(place, 0)
            line = lines[min(number, len(lines)) - 1]
            if any(re.fullmatch(where, path) and match.group().lower() == allowed and re.search(context, line)
                   for where, allowed, context, _ in ALLOWED):
                continue
            yield f"{path}:{number}: '{match.group()}' in {body if token.group('id') else 'prose'}: {term}"


def main():
    places = [Path(argument).resolve() for argument in sys.argv[1:]] or [ROOT / top for top in (*PRODUCT, TESTS)]
    files = found = 0
    for place in places:
        for file in sorted(place.rglob("*.[ch]")) if place.is_dir() else [place]:
            path = file.relative_to(ROOT).as_posix()
            files += 1
            for fault in faults(path, file.read_text(encoding="utf-8")):
                print(fault)
                found += 1
    print(f"{files} files, {found} faults")
    return 1 if found or not files else 0


if __name__ == "__main__":
    sys.exit(main())
