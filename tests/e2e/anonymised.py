#!/usr/bin/env python3
"""Compares a recording with the one that `etwtool relog --anonymise` made of it.

usage: anonymised.py ETWTOOL ETW_EXPORTER WELL_KNOWN_NAMES ORIGINAL ANONYMISED

Both are plain, not compressed. Says what is wrong, a line each, and ends with status 1; otherwise prints how much it
has looked at. It knows nothing of how names are replaced: names are what the dump of the original shows as text, and
what stands as text in its bytes. Both must be gone from the bytes of the other file, in each encoding and case.
"""
import collections
import json
import os
import re
import struct
import subprocess
import sys
import tempfile

TOOL, EXPORTER, WELL_KNOWN, ORIGINAL, ANONYMISED = sys.argv[1:]
WORD = re.compile(r"[^\W_]+", re.ASCII)  # a name is taken apart where there is no ASCII letter or digit …
WIDE = re.compile("[0-9A-Za-z\u0080-\uffff]+")  # … and other letters belong to it
# Values that are no names: GUIDs, bytes in hexadecimal, dates.
NO_NAME = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}|(0x)?([0-9a-f]{2})*|\d{4}-\d\d-\d\dT[\d:.]+", re.I)
BUFFER_HEADER = 0x48
# docs/etl-format.md sections 11 and 12.
META_DATA = "{bbccf6c1-6cd1-48c4-80ff-839482e37671}"
MANIFEST = "65534"
DESCRIBING = ("metadata", "manifestdata")  # decoded_by of records that describe events: their text stays
# What depends on the size of payloads, and what is about the run itself.
OTHER_SUMS = re.compile(r"etw_exporter_|etw_consumer_|process_|etw_session_|etw_event_payload_bytes_total")
faults = []


def fault(text):
    faults.append(text)


def well_known():
    """The words that stay, and those that stay with digits behind them."""
    words = set()
    with open(WELL_KNOWN, encoding="utf-8") as file:
        for line in file:
            if not line.startswith("#"):
                words.update(line.split())
    return {w for w in words if not w.endswith("#")}, {w[:-1] for w in words if w.endswith("#")}


WORDS, STEMS = well_known()


def stays(word):
    return word in WORDS or word.isdigit() or word.rstrip("0123456789") in STEMS


def is_name(word):
    """Short words of hexadecimal digits are parts of GUIDs and addresses, and may be there by chance."""
    return len(word) > 1 and not stays(word) and not re.fullmatch("[0-9a-f]{1,4}", word)


def dump(path):
    done = subprocess.run([TOOL, "dump", path, "--builtin"], capture_output=True)
    if done.returncode:
        sys.exit(f"dump {path}: {done.stderr.decode()}")
    return [line for line in done.stdout.decode("utf-8").split("\n") if line]


def has_texts(line):
    at = line.find('"fields": ')
    return at < 0 or '": "' in line[at + 10:] or '["' in line[at + 10:]


def events_of(before, after):
    """Pairs of events from two dumps, without those that are the same numbers in both."""
    if len(before) != len(after):
        fault(f"{len(before)} events, now {len(after)}")
    pairs = [(json.loads(a), json.loads(b)) for a, b in zip(before, after) if a != b or has_texts(a)]
    return [a for a, _ in pairs], [b for _, b in pairs]


def add_leaves(found, value, path):
    if isinstance(value, dict):
        for key, inner in value.items():
            add_leaves(found, inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            add_leaves(found, inner, f"{path}[]")
    else:
        found.append((path, value))


def leaves(event):
    """Every value in the fields of an event, with the names of the fields that lead to it. Kept, because each comparison needs them."""
    if "leaves" not in event:
        event["leaves"] = []
        add_leaves(event["leaves"], event.get("fields", {}), "")
    return event["leaves"]


def texts(event):
    return [(path, value) for path, value in leaves(event) if isinstance(value, str)]


def is_describing(event):
    return event.get("decoded_by") in DESCRIBING


# ---- shape ----

def shape(event):
    """An event without its texts and the size of its payload."""
    head = {k: v for k, v in event.items() if k not in ("fields", "len", "raw", "ext", "leaves")}
    head["ext"] = [item[0] for item in event.get("ext", [])]
    return head, [(path, type(value)) for path, value in leaves(event)]


def changed_numbers(old, new):
    """Numbers stay, except addresses and identifiers of machines, and lists of what may be characters."""
    return [(path, a, b) for (path, a), (_, b) in zip(leaves(old), leaves(new))
            if a != b and not isinstance(a, str) and old.get("provider_name") != "SystemConfig" and
            path != "BuffersWritten" and not (path.endswith("[]") and b == 0 <= a < 65536)]


def compare_events(before, after):
    """Returns how many payloads were dropped."""
    dropped = 0
    for old, new in zip(before, after):
        if is_describing(old):
            continue  # they decode the others
        if "fields" not in old and "raw" in old:
            dropped += old["len"] > 0 and new["len"] == 0
        if "fields" not in old and new.get("raw"):
            if any(byte != "0" for byte in new["raw"]):
                fault(f"record {old['i']}: a payload without a layout is still there")
        elif shape(old) != shape(new):
            fault(f"record {old['i']}: was {shape(old)}, is {shape(new)}")
        elif changed_numbers(old, new):
            fault(f"record {old['i']}: numbers have changed: {changed_numbers(old, new)}")
        if len(faults) > 20:
            break
    return dropped


# ---- names ----

def compare_names(before, after):
    """The same text becomes the same text; its depth and its extension stay."""
    new_of, old_of = {}, {}
    for old, new in zip(before, after):
        if is_describing(old):
            continue
        for (path, a), (_, b) in zip(texts(old), texts(new)):
            if NO_NAME.fullmatch(a):
                continue
            if a.count("\\") != b.count("\\") and not a.startswith(b[:1] * 2):
                fault(f"record {old['i']} {path}: another depth: {a!r} {b!r}")
            end = re.search(r"(?<=[A-Za-z])\.(\d{1,3}|\w*[A-Za-z]\w*)$", a)
            if "\\" in a and end and stays(end[1].lower()) and not b.lower().endswith(end[0].lower()):
                fault(f"record {old['i']} {path}: the extension is lost: {a!r} {b!r}")
            key = a.lower()
            known = new_of.setdefault((path, key), b.lower())
            if known != b.lower():
                fault(f"record {old['i']} {path}: {a!r} is {known!r} and {b!r}")
            if old_of.setdefault((path, b.lower()), key) != key and ":" not in b:
                fault(f"record {old['i']} {path}: {key!r} and {old_of[path, b.lower()]!r} both are {b!r}")
            if all(stays(w) or len(w) == 1 for w in WIDE.findall(key)) and not any(c.isdigit() for c in key) and key != b.lower():
                fault(f"record {old['i']} {path}: {a!r}, which every Windows has, is {b!r}")
            if len(faults) > 20:
                return 0
    return len(new_of)


def names_of(events):
    """The words of all texts in fields."""
    found = {text for event in events if not is_describing(event) for _, text in texts(event)}
    return {w for text in found if not NO_NAME.fullmatch(text) for w in WIDE.findall(text.lower()) if is_name(w)}


def runs_of(data, least):
    """Texts in bytes: printable characters in a row, as UTF-16 at both parities and as bytes."""
    wide = re.compile(rb"(?:[\x20-\x7e]\x00){%d,}" % least)
    for match in wide.finditer(data):
        yield match[0].decode("utf-16-le")
    for match in re.finditer(rb"[\x20-\x7e]{%d,}" % (2 * least), data):
        yield match[0].decode("ascii")


def bytes_of(*options):
    """The records that a filter keeps, without the logfile header."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "part.etl")
        done = subprocess.run([TOOL, "relog", ORIGINAL, "--plain", "--exact", "-o", path, *options], capture_output=True)
        if done.returncode:
            return b""  # there are none
        with open(path, "rb") as file:
            data = file.read()
    size = struct.unpack_from("<H", data, BUFFER_HEADER + 4)[0]
    return data[BUFFER_HEADER + size:]


def described(events):
    """Words of what describes events, which stay: of EventInfo, of manifests, names of events, fields and providers."""
    said = set()
    for event in events:
        said.update((event.get("event") or "", event.get("provider_name") or "", *(p for p, _ in leaves(event))))
        said.update(text for _, text in texts(event) if is_describing(event))
    data = bytes_of("--provider", META_DATA) + bytes_of("--event", MANIFEST)
    return {w.lower() for text in (*said, *runs_of(data, 2)) for w in WIDE.findall(text)}


def still_there(names, data):
    """Which of the words are in bytes, in any of the encodings. Shorter ones are there by chance."""
    found = set()
    folded = data.decode("latin-1").lower()
    for text in (folded, data.decode("utf-8", "replace").lower()):
        found |= {w for w in WORD.findall(text) if len(w) >= 5} & names
    for parity in (0, 1):
        text = data[parity:].decode("utf-16-le", "replace").lower()
        found |= {w for w in WIDE.findall(text) if len(w) >= 3} & names
        found |= {w for w in WORD.findall(text) if len(w) >= 3} & names
    return found


def look_for_names(before, after):
    words = names_of(before)
    with open(ORIGINAL, "rb") as file:
        old = file.read()
    with open(ANONYMISED, "rb") as file:
        new = file.read()
    known = described(before)
    in_bytes = {w.lower() for text in runs_of(old, 4) for w in WIDE.findall(text)}
    # The byte before a text may look like a letter of it, and numbers like "33DDUUUU" are no text.
    in_bytes = {w for w in in_bytes if len(w) >= 6 and not stays(w) and not stays(w[1:]) and not re.fullmatch(r"((.)\2)+", w)}
    names = (words | in_bytes) - known
    seen = still_there(words - known, old)
    for name in sorted(still_there(names, new))[:20]:
        fault(f"still there: {name!r}")
    left = names_of(after) & (words - known)
    for name in sorted(left)[:20]:
        fault(f"still in the dump: {name!r}")
    if words - known and not seen:
        fault("the search does not find the names of the original either")
    return len(names), len(seen)


# ---- sums ----

def sums(path):
    done = subprocess.run([EXPORTER, "--once", "--log.level=error", f"--replay.file={path}", "--collector.image",
                           "--collector.cpu", "--collector.interrupt", "--collector.sched"], capture_output=True)
    if done.returncode:
        sys.exit(f"--once {path}: {done.stderr.decode()}")
    result = collections.defaultdict(float)
    for line in done.stdout.decode("utf-8").split("\n"):
        match = re.match(r"([a-zA-Z_:][\w:]*)(?:\{.*\})? (\S+)$", line)
        if match and not OTHER_SUMS.match(match[1]):
            result[match[1]] += float(match[2])
    return result


def compare_sums():
    before, after = sums(ORIGINAL), sums(ANONYMISED)
    for name in before.keys() | after.keys():
        a, b = before.get(name), after.get(name)
        if a is None or b is None or abs(a - b) > 1e-9 * max(abs(a), 1):
            fault(f"{name}: {a}, now {b}")
    return len(before)


def main():
    lines = dump(ORIGINAL)
    before, after = events_of(lines, dump(ANONYMISED))
    dropped = compare_events(before, after)
    same = compare_names(before, after)
    names, seen = look_for_names(before, after)
    families = compare_sums()
    for line in faults[:20]:
        print(line)
    if faults:
        sys.exit(1)
    print(f"{len(lines)} events, {dropped} payloads dropped, {same} texts, {names} names of which {seen} were seen in "
          f"the original, {families} sums")


main()
