# SPDX-License-Identifier: MIT
"""Compares numbers that pages of the documentation show with those that the programs print, for docs_numbers.sh.

usage: docs_numbers.py [--write] SOURCE_DIR ETW_EXPORTER ETWTOOL SAMPLE TRACES

A number of the reference recordings in TRACES is left alone where they are not at hand. Bytes of a page vary with the times in it: 1 % is
allowed. --write puts the numbers into the pages.
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

arguments = sys.argv[1:]
write = "--write" in arguments
source, exporter, tool, sample, traces = [arg for arg in arguments if arg != "--write"]
recordings = {"sample": Path(sample), "net.4.5.2.x64.etl": Path(traces) / "net.4.5.2.x64.etl",
              "ShutdownPerfDiagLogger.etl": Path(traces) / "ShutdownPerfDiagLogger.etl"}
faults = []


def page_of(recording, *flags):
    """The lines of samples of a replay; None if the recording is not at hand."""
    path = recordings[recording]
    if not path.exists():
        return None
    text = subprocess.run([exporter, "--once", f"--replay.file={path}", *flags], capture_output=True, check=True).stdout.decode("utf-8")
    return text, [line for line in text.split("\n") if line and not line.startswith("#")]


def number(text):
    return int(text.replace(",", ""))


def check(page, pattern, wanted, tolerance=0.0):
    """The groups of the pattern are numbers of the page; wanted: what they should be, None where that is not known."""
    path = Path(source) / page
    text = path.read_text(encoding="utf-8")
    match = re.search(pattern, text)
    if not match:
        faults.append(f"{page} has nothing like {pattern!r}")
        return
    shown = [number(group) for group in match.groups()]
    if all(value is None or abs(was - value) <= tolerance * value for was, value in zip(shown, wanted, strict=True)):
        return
    if not write:
        faults.append(f"{page}: {match.group()!r} should have {wanted}")
        return
    end, parts = 0, []
    for i, value in enumerate(wanted, 1):
        parts += [match.string[end or match.start():match.start(i)], match.group(i) if value is None else f"{value:,}"]
        end = match.end(i)
    path.write_text(text[:match.start()] + "".join(parts) + text[end:], encoding="utf-8")


# dashboards/README.md, "Number of series"
for name, row in (("sample", "the sample, a busy small server"), ("net.4.5.2.x64.etl", "`net.4.5.2.x64.etl`, a desktop"),
                  ("ShutdownPerfDiagLogger.etl", "`ShutdownPerfDiagLogger.etl`, a shutdown")):
    if page := page_of(name):
        names = len(set(re.findall(r'[{,]process="([^"]*)"', page[0])))
        check("dashboards/README.md", re.escape(f"| {row} | ") + r"(\d+) \| ([\d,]+) \| [\d,]+ \|", [names, len(page[1])])
        check("dashboards/README.md", re.escape(f"| {row} | ") + r"\d+ \| [\d,]+ \| ([\d,]+) \|", [len(page[0].encode())], 0.01)

# docs/caused-writes.md: what the collector adds
series = [page and sum(line.startswith("etw_disk_caused_") for line in page[1])
          for page in (page_of("sample", "--collector.disk_cause"), page_of("net.4.5.2.x64.etl", "--collector.disk_cause"))]
check("docs/caused-writes.md", r"`how`: (\d+) in the sample recording, beside (\d+), and (\d+)\s+in `net", [series[0], len(page_of("sample")[1]), series[1]])

# docs/overhead.md, section 3: what settings add to the page
lists = "iis, services, java, sqlserver, dotnet, python, node, chrome"
for row, setting in (("`process_names: [services]`", "process_names: [services]"), ("`process_names: [iis]`", "process_names: [iis]"),
                     ("`process_names:` with all lists", f"process_names: [{lists}]"), ("`labels: [owner]`", "labels: [owner]"),
                     ("`labels: [owner, terminal_session]`", "labels: [owner, terminal_session]"),
                     ("collector `process_info`", "collectors: { process_info: on }"),
                     ("collector `process_memory`, on by default", "collectors: { process_memory: off }")):
    with tempfile.NamedTemporaryFile("w", suffix=".yaml") as config:
        config.write(setting)
        config.flush()
        wanted = []
        for name in ("sample", "net.4.5.2.x64.etl"):
            page, plain = page_of(name, f"--config.file={config.name}"), page_of(name)
            sign = -1 if "off" in setting else 1
            wanted += [sign * (len(page[1]) - len(plain[1])), int(round(sign * (len(page[0].encode()) - len(plain[0].encode())), -2))] if page else [None, None]
    for pick in ([0, 2], [1, 3]): # series exactly; times in the page vary by some bytes, which may be a hundred here
        check('docs/overhead.md', r"\| " + re.escape(row) + r" \| (-?[\d,]+) \| (-?[\d,]+) \| (-?[\d,]+) \| (-?[\d,]+) \|",
              [value if i in pick else None for i, value in enumerate(wanted)], 0.0 if pick[0] == 0 else 0.1)

# The table of docs/recordings.md about top, as it is printed, up to the row of w3wp.
top = subprocess.run([tool, "top", Path(sample).name, "--speed", "0", "--batch", "--count", "1", "--width", "80"], cwd=Path(sample).parent,
                     capture_output=True, check=True).stdout.decode("utf-8")
top = top[:re.search(r"^.* w3wp\n", top, re.M).end()]
path = Path(source) / 'docs/recordings.md'
text = path.read_text(encoding="utf-8")
block = re.search(r"```\n(sample\.etl  .*?)```\n", text, re.S)
if not block:
    faults.append("docs/recordings.md shows no table of top")
elif block.group(1) != top and write:
    path.write_text(text[:block.start(1)] + top + text[block.end(1):], encoding="utf-8")
elif block.group(1) != top:
    faults.append(f"docs/recordings.md shows another table of top than\n{top}")

print("\n".join(faults) or "ok: the numbers of dashboards/README.md, docs/caused-writes.md, docs/overhead.md and docs/recordings.md")
sys.exit(bool(faults))
