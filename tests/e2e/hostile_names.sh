#!/usr/bin/env bash
# Names and texts of a recording that steer a terminal, through everything that people read: they arrive as escapes.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
mkdir "$work/my"
cat >"$work/my/hostile.yaml" <<'END'
collector: hostile
help: Orders and files by text from outside.
default: on
metrics:
  - name: etw_hostile_total
    type: counter
    help: By names of others.
    labels: { process: Process, provider: Provider, event: Event, text: '[1]' }
    events:
      - { event: '{4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7}/*' }
END
printf 'collector_files: [my/hostile.yaml]\n' >"$work/my.yaml"

python3 - "$ETWTOOL" "$ETW_EXPORTER" "$work" <<'END' || fail "characters that steer a terminal"
import csv, io, json, os, subprocess, sys, unicodedata

tool, exporter, work = sys.argv[1:4]
path = os.path.join(work, "h\x1b[2J\u202e\u200b.etl")
data = open(os.path.join(work, "sample.etl"), "rb").read()

# Text of the same length in place of that of the sample: ESC, OSC … BEL, CR, tab, DEL, C1, bidirectional, zero-width, separators.
def replace(what, old, new, coding):
    global data
    old, new = old.encode(coding), new.encode(coding)
    if len(old) != len(new) or old not in data:
        sys.exit(f"{what}: {len(old)} and {len(new)} bytes, {data.count(old)} times")
    data = data.replace(old, new)

replace("provider", "Contoso.Shop", "\x1b[2J\x07\u202e\u200b\r", "utf-8")
replace("event", "OrderPlaced", "\u202e\x1b[31m\r\x9b", "utf-8")
replace("field", "Customer", "C\x1b]0;\x07\x85", "utf-8")
replace("process", "MsMpEng.exe", "\x1b]0;\x07\u200f\x7f\tx", "utf-8")
replace("text", "Northwind Traders", "=1+2\u202e\u200b\x1b]0;x\x07\r\u2028\ufeff\u2066,", "utf-16-le")
replace("file", "default.aspx", "d\u200b\x1b[2J\r\x07\x9b\u2029.x", "utf-16-le")
with open(path, "wb") as f:
    f.write(data)

shop = "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7"
config = os.path.join(work, "my.yaml")
# The last word: an escape that must be there, or the test would see nothing.
commands = [
    (["stats", path], "\\u202e"),
    (["stats", path, "--format", "json"], "\\u202e"),
    (["providers", path], "\\u202e"),
    (["providers", path, "--format", "json"], "\\u202e"),
    (["fields", path, shop, "*"], "\\u202e"),
    (["fields", path, "FileIo/Create"], "\\u2029"),
    (["summary", path], "\\u202e"),
    (["dump", path, "--per-kind", "50"], "\\u202e"),
    (["dump", path, "--per-kind", "50", "--format", "text"], "\\u202e"),
    (["dump", path, "--per-kind", "50", "--format", "csv"], "\\u202e"),
    (["dump", path, "--provider", shop, "--format", "csv"], "\\u202e"),
    (["check", config, "--with", path], "\\u202e"),
    (["doctor", path], "\\u202e"),
    (["doctor", path, "--format", "json"], "\\u202e"),
    (["doctor", path + "x"], "?"),
    (["diff", path, path, "--all", "--config", config], "\\u202e"),
    (["diff", path, path, "--all", "--config", config, "--format", "csv"], "\\u202e"),
    (["diff", path, path, "--all", "--config", config, "--format", "json"], "\\u202e"),
    (["diff", path, path, "--fail-if", "\u202e\x1b > 1"], "?"),
    (["diff", path, path, "--config", config, "--fail-if", "etw_hostile_total > 0"], "\\u202e"),
    (["check", config, "--with", path, "--format", "json"], "\\u202e"),
    (["top", path, "--speed", "0", "--batch"], "\\u001b]0;"),
    # Complaints and suggestions: names of files, of the recording, and of the command line.
    (["dump", path, "--event", "\u202e\x1b[31m\r"], "\\u202e"),
    (["fields", path, "\x1b[2J\x07\u202e\u200b", "x"], "\\u202e"),
    (["stats", path + "x"], "?"),
    (["dump", path, "--where", "\u202e\x1b gt 1"], "\\u202e"),
    (["dump", path, "--from", "\u202e\x1b"], "?"),
    (["backfill", path + "x"], "?"),
    (["check", path], "\\u202e"),
    (["\u202e\x1b[2J"], "\\u202e"),
]

def check(what, output, wanted):
    text = output.decode("utf-8") # valid
    bad = {c for c in set(text) if c != "\n" and unicodedata.category(c) in ("Cc", "Cf", "Zl", "Zp")}
    if bad or wanted not in text:
        sys.exit(f"{what}: {sorted(map(hex, map(ord, bad)))} in, or no {wanted} in: {text[:600]!r}")
    return text

for words, wanted in commands:
    done = subprocess.run([tool, *words], capture_output=True)
    text = check(words, done.stdout + done.stderr, wanted)
    if "csv" in words:
        for row in csv.reader(io.StringIO(text)):
            if any(cell[:1] in "=+-@" and cell[:1] and not cell.lstrip("-").isdigit() for cell in row):
                sys.exit(f"{words}: a formula in {row}")
for words in (["--once", "--replay.file=" + path + "x"], ["--check-config", "--config.file=" + path]):
    check(words, subprocess.run([exporter, *words], capture_output=True).stderr, "")
done = subprocess.run([tool, "backfill", path, "--step", "1h"], capture_output=True)
check("backfill's messages", done.stderr, "")
# The page's own style and script have tabs.
done = subprocess.run([tool, "report", path, "-o", "-"], capture_output=True)
check("report", done.stdout.replace(b"\t", b"") + done.stderr, "\\u202e")
END
