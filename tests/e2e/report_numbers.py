"""report_numbers.py PAGE EXPOSITION EVENTS [RENDERED]: the document in a page of etwtool report against the exposition of the same
recording and its events of processes (etwtool dump), read by other means: every chart with its rows and steps, the processes. With the
page as a browser has rendered it, every table that a reader sees, too."""
import collections
import html.parser
import json
import re
import sys

page, exposition = (open(path, encoding="utf-8", newline="").read() for path in sys.argv[1:3])
data = json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.S).group(1))
STEPS, STEP_US, ORIGIN_US = (data["time"][name] for name in ("steps", "step_us", "origin_us"))
# What the report promises to show where it was recorded.
PROMISED = [(name, "process") for name in (
    "etw_file_written_bytes_total", "etw_file_paging_written_bytes_total", "etw_file_read_bytes_total",
    "etw_memory_hard_fault_read_bytes_total", "etw_disk_process_io_seconds_total", "etw_disk_process_written_bytes_total",
    "etw_disk_process_read_bytes_total", "etw_disk_caused_written_bytes_total", "etw_disk_caused_read_bytes_total",
    "etw_network_sent_bytes_total", "etw_network_received_bytes_total",
    "etw_process_cpu_seconds_total", "etw_process_cpu_samples_total", "etw_thread_process_waits_total", "etw_dotnet_allocated_bytes_total",
    "etw_dotnet_gc_collections_total", "etw_dotnet_exceptions_total", "etw_events_total")] + [
    ("etw_file_written_bytes_total", "volume"), ("etw_file_read_bytes_total", "volume"), ("etw_thread_waits_total", "reason"),
    ("etw_disk_caused_written_bytes_total", "how"), ("etw_dpc_duration_seconds_sum", "driver"), ("etw_isr_duration_seconds_sum", "driver"), ("etw_events_total", "provider")]

samples = collections.defaultdict(list)
for line in exposition.split("\n"):
    match = re.fullmatch(r"([a-z_]+)\{(.*)\} (\S+)", line)
    if match:
        labels = {name: re.sub(r"\\(.)", lambda c: "\n" if c[1] == "n" else c[1], value)
                  for name, value in re.findall(r'([a-z_]+)="((?:[^"\\]|\\.)*)"', match[2])}
        samples[match[1]].append((labels, match[3]))


def integer(text, unit):
    whole, _, part = text.partition(".")
    return int(whole) * 10**9 + int((part + "0" * 9)[:9]) if unit == "ns" else int(text)


def unpack(steps):
    values = []
    for value in steps:
        values += [value] if value >= 0 else [0] * -value
    assert len(values) <= STEPS, len(values)
    return values + [0] * (STEPS - len(values))


def check_totals(chart, row):
    """The total and the peak of a row are those of its steps."""
    steps = unpack(row["steps"])
    assert sum(steps) == row["total"], (chart["title"], row)
    assert row["peak"] == max(steps) and row["peak_step"] == steps.index(max(steps)), (chart["title"], row)
    return steps


for chart in data["charts"]:
    expected = collections.Counter()
    for labels, value in samples[chart["sample"]]:
        if "only" not in chart or labels[chart["only"]] == chart["only_value"]:
            expected[labels[chart["label"]]] += integer(value, chart["unit"])
    chart["buckets"] = chart["form"] == "buckets"
    if chart["buckets"]:
        sums = sorted(expected.items(), key=lambda row: float(row[0]))
        expected = {le: value - (sums[i - 1][1] if i else 0) for i, (le, value) in enumerate(sums)}
    expected = {name: value for name, value in expected.items() if value}
    parts = [check_totals(chart, row) for row in chart["rows"]]
    found = {row["name"]: row["total"] for row in chart["rows"] if row["total"]}
    others = chart.get("others", {"count": 0, "total": 0})
    if others["count"]:
        parts.append(check_totals(chart, others))
    sums = [sum(step) for step in zip(*parts)]
    assert chart["peak"] == max(sums) and chart["peak_step"] == sums.index(max(sums)), chart["title"]
    for name, value in found.items():
        assert expected.pop(name, None) == value, f"{chart['title']}: {name} is {value}"
    assert len(expected) == others["count"] and sum(expected.values()) == others["total"], f"{chart['title']}: {expected}, {others}"
    if not chart["buckets"]:
        totals = [row["total"] for row in chart["rows"]]
        assert totals == sorted(totals, reverse=True) and all(totals[-1:] >= [value] for value in expected.values())
    assert chart["total"] == sum(found.values()) + others["total"]

shown = {(chart["sample"], chart["label"]) for chart in data["charts"]}
for sample, label in PROMISED:
    if any(float(value) for _, value in samples[sample]):
        assert (sample, label) in shown, f"no chart of {sample}"
for name, sample in ("written", "etw_file_written_bytes_total"), ("read", "etw_file_read_bytes_total"):
    total, files = sum(int(value) for _, value in samples[sample]), data["files"][name]
    bytes = sum(file["bytes"] for file in files)
    assert bytes == total if len(files) < 20 else bytes <= total, f"{name}: {bytes} of {total}"
lost = [int(value) for labels, value in samples["etw_session_events_lost_total"]]
findings = collections.defaultdict(list)
for finding in data["findings"]:
    findings[finding["type"]].append(finding)
    assert finding["text"].startswith(finding.get("name", "")) and finding["text"].endswith("."), finding
    assert finding["severity"] in ("good", "note", "problem") and finding["about"] in ("losses", "events"), finding
    assert "chart" not in finding or any(chart["title"] == finding["chart"] for chart in data["charts"]), finding
recording = data["recording"]
assert [recording["events_lost"]] == lost and ("lost" in findings) == (lost[0] > 0 or recording["buffers_lost"] > 0)
assert ("nothing_lost" in findings) + ("losses_unknown" in findings) + any(word in findings for word in ("lost", "cut_short", "damaged")) == 1, findings

# The sentence about who caused the disk writes: where the cause of at least half of them is known, and only there.
caused, unknown = collections.Counter(), 0
for labels, value in samples["etw_disk_caused_written_bytes_total"]:
    caused[labels["process"]] += int(value)
    unknown += int(value) if labels["how"] == "unknown" else 0
found = findings["disk_cause"]
assert (len(found) == 1) == (0 < caused.total() >= 2 * unknown), (found, caused, unknown)
if found:
    sentence = re.fullmatch(r" caused (\d+) % of the .* that were written to disks(?:; ([\d.]+) % have no known cause and count for the process that issued the requests)?\.",
                            found[0]["text"][len(found[0]["name"]):])
    assert abs(int(sentence[1]) - 100 * max(caused.values()) / caused.total()) <= 0.5001 and caused[found[0]["name"]] == max(caused.values()), (found, caused)
    assert (sentence[2] is None) == (unknown == 0) and abs(float(sentence[2] or 0) - 100 * unknown / caused.total()) <= 0.05001, sentence[0]
assert recording["records"] == sum(int(value) for _, value in samples["etw_consumer_records_total"])

# Processes: a Start is another one, also where its id was known; any other record is about the one that has the id, or a new one. Names
# are cut at 1024 bytes.
START, STOP, DC_START, DC_STOP = 1, 2, 3, 4
processes, running = [], {}
events = [json.loads(line) for line in open(sys.argv[3], encoding="utf-8")]
for event in sorted(events, key=lambda event: event["filetime"]):
    if event["opcode"] not in (START, STOP, DC_START, DC_STOP):
        continue
    fields, opcode = event["fields"], event["opcode"]
    process = running.get(fields["ProcessId"])
    if process is None or opcode == START or process["ended"]:
        if process is not None and not process["ended"]:
            process["ended"] = True
        process = running[fields["ProcessId"]] = {"name": (fields.get("ImageFileName") or "")[:1024], "id": fields["ProcessId"], "started": opcode == START,
                                                  "ended": False, "exit": ""}
        processes.append(process)
    if opcode == STOP:
        status = fields["ExitStatus"] & 0xffffffff
        process.update(ended=True, exit=str(status) if status < 0x80000000 else f"0x{status:08X}")
if len(processes) <= 1000:
    found = collections.Counter((row["name"], row["start"] is not None, row["end"] is not None, row.get("exit_text", "").split(" ")[0], row["id"])
                                for row in data["processes"])
    assert data["processes_left_out"] == 0 and found == collections.Counter((p["name"], p["started"], p["ended"], p["exit"], p["id"]) for p in processes), (found, processes)

# One file: nothing to load, nothing to run besides what the policy names, no character that misleads.
assert not re.search(r'(?:src|href)="(?!#)', page) and not re.search(r"@import|url\(", page) and "style=" not in page
assert not any("\ufffd" in section.get("record_with", "") for section in data["sections"])
assert not re.search("[\0-\x08\x0b-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", page.replace("\t", ""))
print(f"{len(shown)} charts, {len(processes)} processes, {STEPS} steps, {len(page)} characters")


# ---- the tables, as a reader sees them ----


class Tables(html.parser.HTMLParser):
    """The rows of each table, as texts of their cells, by the heading before it."""

    def __init__(self):
        super().__init__()
        self.rows, self.heading, self.at = collections.defaultdict(list), None, None

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        if tag == "table":
            self.key = attrs["class"] if attrs["class"] in ("glance", "processes", "lacks") else self.heading
        if tag == "h3":
            self.heading = attrs["id"]
        if tag == "tr":
            self.rows[self.key].append([])
        if tag in ("th", "td"):
            self.rows[self.key][-1].append("")
        if tag == "a" and self.at == "th":
            self.rows[self.key][-1][-1] = attrs["href"] + " "
        self.at = None if tag in ("caption", "p", "h2", "h3", "section", "small") else tag if tag in ("th", "td") else self.at

    def handle_endtag(self, tag):
        self.at = None if tag in ("table", "small") else self.at

    def handle_data(self, text):
        if self.at:
            self.rows[self.key][-1][-1] += text.strip("\n")


def clean(name):
    """Letters that turn the direction of writing, or that cannot be seen, are shown as U+FFFD."""
    return re.sub("[\0-\x1f\x7f-\x9f\xad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]", "\ufffd", name)


def fits(text, value):
    """Whether a number with a unit is a value, rounded; counts and bytes, or nanoseconds."""
    number, _, unit = text.replace(",", "").partition(" ")
    if unit in ("s", "ms", "µs"):
        factor = {"s": 10**9, "ms": 10**6, "µs": 10**3}[unit]
    else:
        factor = 1000 ** ["B", "kB", "MB", "GB", "TB"].index(unit) if unit else 1
    if number.startswith("<"):
        return 0 < value < 0.001 * factor
    places = len(number.partition(".")[2])
    return abs(float(number) * factor - value) <= 0.5001 * 10.0**-places * factor


def rate_of(chart, text):
    """The unit of a rate taken off: what fits() reads, in the unit of the chart."""
    number = re.sub(r"/s$", "", text) if chart["unit"] != "ns" else text.rpartition(" ")[0] if "noun" not in chart else text.split(" ")[0]
    return number


def share_fits(text, part, whole):
    share, number = 100 * part / whole if whole else 0, text.removesuffix(" %")
    if number.startswith("<"):
        return 0 < share < 0.1
    return abs(float(number) - share) <= 0.5001 * 10.0**-len(number.partition(".")[2])


if len(sys.argv) < 5:
    sys.exit()
tables = Tables()
tables.feed(open(sys.argv[4], encoding="utf-8", newline="").read())
for i, chart in enumerate(data["charts"]):
    rows, total = tables.rows[f"c{i}"][1:], chart["total"]
    if chart["buckets"]:
        values = [row["total"] for row in chart["rows"] if row["total"]]
        assert len(rows) == len(values), chart["title"]
        for i, (row, value) in enumerate(zip(rows, values)):
            assert fits(row[1], value) and share_fits(row[2], value, total) and share_fits(row[3], sum(values[:i + 1]), total), row
        continue
    values = [(row["name"], row["total"], unpack(row["steps"])) for row in chart["rows"]]
    for row, (name, value, steps) in zip(rows, values):
        peak, step = max(steps), steps.index(max(steps))
        assert row[0] == clean(name or "(empty)"), (row, name)
        assert fits(row[1], value) and share_fits(row[2], value, total), (chart["title"], row, value)
        rate, scale = rate_of(chart, row[3]), STEP_US / 10**6
        expected = peak / scale / (1 if chart["unit"] != "ns" else 10**9 if "noun" in chart else 10**7)
        assert fits(rate, expected), (chart["title"], row, expected)
        seconds = (ORIGIN_US + step * STEP_US) // 10**6
        assert f"{seconds // 3600 % 24:02}:{seconds // 60 % 60:02}:{seconds % 60:02}" in row[4], row
    assert len(rows) == len(values) + ("others" in chart) + (len(values) > 1), chart["title"]
    if "others" in chart:
        assert rows[-2][0] == f"{chart['others']['count']:,} more" and fits(rows[-2][1], chart["others"]["total"]), rows[-2]
    if len(values) > 1:
        assert rows[-1][0] == "All" and fits(rows[-1][1], total), rows[-1]

# Top process per resource: the first row of the chart that it links to.
def chart_of(row):
    return int(re.match(r"#c(\d+) ", row[0])[1])


for row in tables.rows["glance"][1:]:
    chart = data["charts"][chart_of(row)]
    assert fits(row[2], chart["rows"][0]["total"]) and row[1:] == [tables.rows[f"c{chart_of(row)}"][1][i] for i in range(6)], row
for sample in ("etw_file_written_bytes_total", "etw_file_read_bytes_total", "etw_disk_process_io_seconds_total", "etw_network_sent_bytes_total"):
    assert sample not in {chart["sample"] for chart in data["charts"]} or \
        any(data["charts"][chart_of(row)]["sample"] == sample for row in tables.rows["glance"][1:]), sample

# The table of processes.
found = collections.Counter((row[0], row[2] != "before", row[3] != "runs", row[4], int(row[5])) for row in tables.rows["processes"][1:])
assert found == collections.Counter((clean(row["name"] or "(no name)"), row["start"] is not None, row["end"] is not None, row.get("exit_text", ""), row["id"])
                                    for row in data["processes"]), found
