#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps citations and links true.

- Every page docs/FILE that a file of the repository cites exists, and so do the section ("docs/etl-format.md section 8",
  "sections 8 and 15", "section 17, 7" for an item of a list) and the quoted heading or words ('docs/rules.md, "State gauges"') beside it.
- A page of docs/ is cited with its folder, so that a reader finds it.
- Outside the repository only recordings, manifests and benchmarks are used, as optional data of tests; no fact is cited from there.
- Relative links of Markdown pages lead to a file, and their anchors to a heading.

Prints each fault as file:line and exits 1.
"""
import os
import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TEXT = {".c", ".h", ".md", ".py", ".sh", ".bash", ".yaml", ".yml", ".cmake", ".txt", ".mjs", ".def", ".mc", ".csv", ".json"}
SKIPPED = {".git", "build", "node_modules"}
OUTSIDE_DATA = ("traces", "bench", "reference/manifests")

# A line break inside a comment, with what begins the next line of it.
BREAK = re.compile(r"[ \t]*\n[ \t]*(?:\*(?!/)|//|#)?[ \t]*")
NUMBER = r"\d+(?:\.\d+)*"
PAGE = re.compile(r"docs/((?:[\w-]+/)*[\w-]+\.(?:md|csv))")
SECTION = re.compile(rf",? ?\(?section ({NUMBER})(?:, (\d+\w?)\b)?")
SECTIONS = re.compile(rf",? ?\(?sections ({NUMBER}(?:(?:, and |, | and | to ){NUMBER})*)")
QUOTED = re.compile(rf"(?:,? ?\(?sections? {NUMBER})?,? ?\(?\"([^\"]+)\"")
LINK = re.compile(r"!?\[[^\]]*\]\(([^)\s]+)\)")
HEADING = re.compile(r"^(#+) +(.*?) *$", re.M)
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)


def texts():
    for folder, folders, names in os.walk(ROOT):
        folders[:] = sorted(name for name in folders if name not in SKIPPED)
        for name in sorted(names):
            path = Path(folder, name)
            if path.suffix in TEXT and path != Path(__file__).resolve() and not path.is_symlink():
                yield path, path.read_text(encoding="utf-8")


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def headings(text):
    return [match.group(2) for match in HEADING.finditer(FENCE.sub(blank, text))]


def anchors(text):
    """The anchors that GitHub makes of the headings of a page."""
    found = set()
    for heading in headings(text):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchor = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        again = 0
        while anchor + (f"-{again}" if again else "") in found:
            again += 1
        found.add(anchor + (f"-{again}" if again else ""))
    return found


class Page:
    def __init__(self, path):
        self.text = path.read_text(encoding="utf-8")
        self.words = " ".join(self.text.split())
        self.sections = {}
        numbered = list(re.finditer(rf"^#+ ({NUMBER})\.? .*$", self.text, re.M))
        for match, after in zip(numbered, numbered[1:] + [None]):
            self.sections[match.group(1)] = self.text[match.end():after.start() if after else len(self.text)]

    def has_item(self, section, item):
        return re.search(rf"^{item}\. ", self.sections.get(section, ""), re.M) is not None


def citation_faults(path, text, pages):
    """Yields (place in text, sentence)."""
    # Line breaks of comments become blanks; places says where each character of the flat text stands.
    flat, places, at = [], [], 0
    for match in BREAK.finditer(text):
        flat.append(text[at:match.start()] + " ")
        places.extend(range(at, match.start() + 1))
        at = match.end()
    flat.append(text[at:])
    places.extend(range(at, len(text) + 1))
    flat = "".join(flat)

    for match in PAGE.finditer(flat):
        name, where = match.group(1), places[match.start()]
        page = pages.get(name)
        if page is None:
            yield where, f"docs/{name} does not exist"
            continue
        if path.suffix == ".md" and flat[match.end():match.end() + 1] in (")", "#", "]"):
            continue  # a link; see link_faults
        if path.suffix == ".c" and flat[match.start() - 1] == '"':
            continue  # a path that a test opens
        one, many = SECTION.match(flat, match.end()), SECTIONS.match(flat, match.end())
        quoted = QUOTED.match(flat, match.end())
        numbers = [one.group(1)] if one else re.findall(NUMBER, many.group(1)) if many else []
        for number in numbers:
            if number not in page.sections:
                yield where, f"docs/{name} has no section {number}"
        if one and one.group(2) and not page.has_item(*one.groups()):
            yield where, f"docs/{name} has no item {one.group(2)} in section {one.group(1)}"
        if quoted and quoted.group(1) not in page.words:
            yield where, f'docs/{name} does not say "{quoted.group(1)}"'
    if path.suffix != ".md" and DOCS not in path.parents:
        for match in re.finditer(r"(?<![\w/\-.])(" + "|".join(map(re.escape, pages)) + r")\b", flat):
            if not (path.suffix == ".c" and flat[match.start() - 1] == '"'):  # a file name in a test
                yield places[match.start()], f"cite docs/{match.group(1)}, with its folder"
    for match in re.finditer(r"\.\./shared(?:/(\S*))?", text):
        if "tests" not in path.relative_to(ROOT).parts:
            yield match.start(), "only tests use data from outside the repository"
        elif not (match.group(1) or "").startswith(OUTSIDE_DATA):
            yield match.start(), f"{match.group()} is no optional data of a test"


def link_faults(path, text):
    shown = FENCE.sub(blank, text)
    shown = re.sub(r"`[^`\n]*`", lambda code: "x" * len(code.group()), shown)
    for match in LINK.finditer(shown):
        target, _, anchor = match.group(1).partition("#")
        if re.match(r"[a-z][a-z0-9+.-]*:", target):
            continue
        to = (path.parent / target).resolve() if target else path
        if not to.exists():
            yield match.start(), f"{match.group(1)}: no such file"
        elif ROOT not in (to, *to.parents):
            yield match.start(), f"{match.group(1)} leads out of the repository"
        elif anchor and to.suffix == ".md" and anchor not in anchors(to.read_text(encoding="utf-8")):
            yield match.start(), f"{match.group(1)}: no such heading"


def main():
    pages = {path.relative_to(DOCS).as_posix(): Page(path) for path in DOCS.rglob("*") if path.suffix in (".md", ".csv")}
    faults = cited = links = 0
    for path, text in texts():
        found = list(citation_faults(path, text, pages))
        cited += len(PAGE.findall(text))
        if path.suffix == ".md":
            found += link_faults(path, text)
            links += len(LINK.findall(text))
        for where, sentence in sorted(found):
            print(f"{path.relative_to(ROOT)}:{text.count(chr(10), 0, where) + 1}: {sentence}")
            faults += 1
    print(f"{faults} faults in {cited} citations and {links} links")
    return 1 if faults or cited < 50 or links < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
