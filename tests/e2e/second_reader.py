#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of recordings, written from docs/etl-format.md and docs/kernel-events.csv alone.

It shares no code with the exporter and is as plain as can be: whole file in memory, one function for each section of that
page. What it finds must be what `etwtool dump` prints; tests/e2e/second_reader.sh compares both. A sentence of the page that
one of them misreads shows as a difference. Numbers of sections stand at the functions.
"""
import csv
import ipaddress
import struct
import xml.etree.ElementTree as ElementTree
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
CLASSES, NAMES = (ROOT / name for name in ('docs/kernel-events.csv', 'docs/kernel-event-names.csv'))
NO_ID = 0xFFFFFFFF
NO_GUID = "00000000-0000-0000-0000-000000000000"
META_DATA = "bbccf6c1-6cd1-48c4-80ff-839482e37671"
FILETIME_MIN, FILETIME_MAX = -(1 << 63), (1 << 63) - 1


class Cut(Exception):
    """The payload ends inside a field."""


def guid(data, at=0):
    first, second, third = struct.unpack_from("<IHH", data, at)
    rest = data[at + 8:at + 16].hex()
    return f"{first:08x}-{second:04x}-{third:04x}-{rest[:4]}-{rest[4:]}"


def utf16(data):
    """UTF-16; an unpaired surrogate reads U+FFFD (section 14)."""
    units = struct.unpack(f"<{len(data) // 2}H", data[:len(data) & ~1])
    text, at = [], 0
    while at < len(units):
        unit = units[at]
        at += 1
        if 0xD800 <= unit < 0xDC00 and at < len(units) and 0xDC00 <= units[at] < 0xE000:
            text.append(chr(0x10000 + ((unit - 0xD800) << 10) + (units[at] - 0xDC00)))
            at += 1
        else:
            text.append("\ufffd" if 0xD800 <= unit < 0xE000 else chr(unit))
    return "".join(text)


def narrow(data):
    """UTF-8 where it is that, else Latin-1 (section 14)."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def sid_text(data):
    authority = int.from_bytes(data[2:8], "big")
    return "-".join(["S-1", str(authority), *map(str, struct.unpack_from(f"<{data[1]}I", data, 8))])


def sid_size(data):
    """The size of the SID that the bytes begin with; 0: there is none."""
    if len(data) < 8 or data[0] != 1 or data[1] > 15 or len(data) < 8 + 4 * data[1]:
        return 0
    return 8 + 4 * data[1]


def ip6(data):
    address = ipaddress.IPv6Address(bytes(data))
    return f"::ffff:{address.ipv4_mapped}" if address.ipv4_mapped else address.compressed


def system_time(data):
    year, month, _, day, hour, minute, second, millisecond = struct.unpack("<8H", data)
    return f"{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millisecond:03}"


# ---- section 2: compression ----

def unpack(data, size):
    """Returns what could be unpacked."""
    out, at, flags, left, nibble_at = bytearray(), 0, 0, 0, None
    while len(out) < size and at < len(data):
        if left == 0:
            if at + 4 > len(data):
                break
            flags, left, at = struct.unpack_from("<I", data, at)[0], 32, at + 4
            if at == len(data):
                break
        left -= 1
        if not flags >> left & 1:
            out.append(data[at])
            at += 1
            continue
        match = struct.unpack_from("<H", data, at)[0]
        at += 2
        distance, length = (match >> 3) + 1, match & 7
        if length == 7:
            if nibble_at is None:
                nibble_at, length, at = at, data[at] & 15, at + 1
            else:
                length, nibble_at = data[nibble_at] >> 4, None
            if length == 15:
                length, at = data[at], at + 1
                if length == 255:
                    length, at = struct.unpack_from("<H", data, at)[0], at + 2
                    if length == 0:
                        length, at = struct.unpack_from("<I", data, at)[0], at + 4
                    length -= 22
                length += 15
            length += 7
        for _ in range(length + 3):
            out.append(out[-distance])
    return bytes(out[:size])


# ---- sections 1 and 7: buffers ----

MIB, HOUR = 1 << 20, 36_000_000_000
HEADER_SIZES = {1: 32, 2: 32, 3: 24, 4: 24, 0x0A: 48, 0x0B: 56, 0x10: 16, 0x11: 16, 0x12: 80, 0x13: 80, 0x14: 48, 0x15: 56}


def sizes(data, at):
    size, saved = struct.unpack_from("<II", data, at)
    end, flags, kind = struct.unpack_from("<IHH", data, at + 0x30)
    return size, end or saved, flags, kind


def is_plausible(data, at):
    """Section 1.3."""
    if len(data) - at < 0x48:
        return False
    size, end, flags, kind = sizes(data, at)
    most, least = (18_874_444, 0x48) if flags & 0x40 else (16 * MIB, end)
    return 0x48 <= end <= 16 * MIB and kind < 256 and max(least, 0x48) <= size <= most


def is_record_size(record, left):
    """Section 3: at least the header, at most what is left."""
    kind = record[2] if record[3] == 0xC0 else 0
    size, = struct.unpack_from("<H", record, 4 if kind in (1, 2, 3, 4, 0x10, 0x11) else 0)
    return HEADER_SIZES.get(kind, 8) <= size <= left


def leads_on(data, at):
    end = at + sizes(data, at)[0]
    return end >= at + 0x48 and (end == len(data) or is_plausible(data, end))


def is_buffer(data, at, clock):
    """Section 1.3: whether a search finds a buffer here."""
    size, = struct.unpack_from("<I", data, at)
    if not 0 < size <= 18_874_444 or not is_plausible(data, at):
        return False
    size, end, flags, kind = sizes(data, at)
    references, time, sequence = struct.unpack_from("<IqQ", data, at + 0x0C)
    state, = struct.unpack_from("<I", data, at + 0x2C)
    last = clock.end if clock.end > clock.start else clock.start + 366 * 24 * HOUR
    times = (time, clock.filetime(time) or FILETIME_MIN)
    literal = data[at + 0x4B] if flags & 0x40 else 0
    record = data[at + 0x48 + 4 * (flags >> 6 & 1):][:8]
    return (end >= 0x50 and end % 8 == 0 and kind <= 5 and flags <= 0x7F and sequence < 1 << 32 and references == 0 and state <= 3 and
            time != 0 and any(clock.start <= one <= last + HOUR for one in times) and
            literal >> 4 == 0 and record[3] in (0xC0, 0x90) and (literal or is_record_size(record, end - 0x48)))


def buffer_places(data):
    """Section 1.3: the place and size of each buffer."""
    clock, at = Clock(next(records_of(bytes_of(data, 0, sizes(data, 0)[0]), 0))), 0
    stated = clock.buffer_size if 0 < clock.buffer_size <= 16 * MIB else 16 * MIB
    while len(data) - at >= 0x48:
        size, end, flags, _ = sizes(data, at)
        plausible = is_plausible(data, at)
        leads = leads_on(data, at)
        if leads and size <= stated:
            yield at, size
            at += size
            continue
        stop = min(at + size if leads else at + 256 * MIB, len(data) - 0x53)
        own = at + end if plausible and not flags & 0x40 else 0
        first = at + 1 if at else 0x48 + struct.unpack_from("<H", data, 0x4C)[0]
        found = next((place for place in range(first, stop) if is_buffer(data, place, clock) and
                      (place >= own or leads_on(data, place))), None)
        if (plausible or leads or at == 0) and (found is None or found >= at + size):
            yield at, size
            at += size
            continue
        if at == 0:
            yield at, found - at
        at = len(data) if found is None else found


def bytes_of(data, at, size):
    """Of a buffer, up to the end of its records."""
    _, end, flags, _ = sizes(data, at)
    whole = data[at:at + size]
    if flags & 0x40:
        whole = whole[:0x48] + unpack(whole[0x48:], end - 0x48)
    return whole[:end]


def buffers(data):
    """Of each buffer its processor and bytes up to the end of its records."""
    for at, size in buffer_places(data):
        _, _, flags, kind = sizes(data, at)
        processor = struct.unpack_from("<H", data, at + 0x28)[0]
        if kind not in (6, 7):
            yield processor if flags & 0x20 else processor & 0xFF, bytes_of(data, at, size)


# ---- sections 3 and 4: records ----

KINDS = {0x01: ("system", 4), 0x02: ("system", 8), 0x03: ("compact", 4), 0x04: ("compact", 8), 0x0A: ("full", 4),
         0x0B: ("instance", 4), 0x0C: ("timed", 4), 0x0D: ("error", 4), 0x0E: ("wnode", 4), 0x0F: ("message_typed", 4),
         0x10: ("perfinfo", 4), 0x11: ("perfinfo", 8), 0x12: ("event", 4), 0x13: ("event", 8), 0x14: ("full", 8),
         0x15: ("instance", 8)}
GROUPS = """68fdd900-4a3e-11d1-84f4-0000f80464e3 3d6fa8d4-fe05-11d0-9dda-00c04fd7ba7c 3d6fa8d3-fe05-11d0-9dda-00c04fd7ba7c
3d6fa8d0-fe05-11d0-9dda-00c04fd7ba7c 90cbdc39-4a3e-11d1-84f4-0000f80464e3 3d6fa8d1-fe05-11d0-9dda-00c04fd7ba7c
9a280ac0-c8e0-11d1-84e2-00c04fb998a2 3282fc76-feed-498e-8aa7-e70f459d430e bf3a50c5-a9c9-4988-a005-2df0b7c80f80
ae53722e-c863-11d2-8659-00c04fa321a1 13976d09-a327-438c-950b-7f03192815c7 01853a65-418f-4f36-aefc-dc0f1d2fd235
99134383-5248-43fc-834b-529454e75df3 42695762-ea50-497a-9068-5cbbb35e0b95 0268a8b6-74fd-4302-9dd0-6e8f1795c0cf
ce1dbfb4-137e-4da6-87b0-3f59aa102cbc 222962ab-6180-4b88-a825-346b75f2a24a 89497f50-effe-4440-8cf2-ce6b1cdcaca7
e43445e0-0903-48c3-b878-ff0fccebdd04 a9152f00-3f58-4bee-92a1-70c7d079d5dd 2cb15d1d-5fc1-11d2-abe1-00a0c911f518
b2d14872-7c5b-463d-8419-ee9bf7d23e04 7687a439-f752-45b8-b741-321aec0f8df9 3ac66736-cc59-4cff-8115-8df50e39816b
def2fe46-7bd6-4b80-bd94-f57fe20d0ce3 9aec974b-5b8e-4118-9b92-3186d8002ce5 45d8cccd-539f-4b72-a8b7-5c683142609a
d837ca92-12b9-44a5-ad6a-3a65b3578aa8 c861d0e2-a2c1-4d36-9f9c-970bab943a12 7f2a405c-69b5-4bf9-a1f5-30e8f1afab5e
2ce9a149-effe-42f0-a635-a1d39e26c8f2""".split()
IMAGE, PROCESS_GROUP = GROUPS[0x14], 3


class Record:
    def __init__(self, kind, pointer, cpu):
        self.kind, self.pointer, self.cpu = kind, pointer, cpu
        self.time = self.pid = self.tid = None
        self.provider, self.id, self.version, self.opcode, self.level, self.task, self.keyword = NO_GUID, 0, 0, 0, 0, 0, 0
        self.items, self.payload, self.classic, self.text = None, b"", True, False


def kernel_record(data, record, head):
    """Sections 4.1 to 4.4."""
    version, = struct.unpack_from("<H", data, 0)
    record.version, record.opcode, group = version & 0xFF, data[6], data[7]
    if head == 16:
        record.time, = struct.unpack_from("<q", data, 8)
    else:
        record.tid, record.pid, record.time = struct.unpack_from("<IIq", data, 8)
    head += 8 * bool(version & 0x8000) + 8 * (version >> 8 & 7)
    record.payload = data[head:]
    record.provider = GROUPS[group] if group < len(GROUPS) else NO_GUID
    if group == PROCESS_GROUP and record.opcode == 10:
        record.provider = IMAGE


def event_record(data, record):
    """Sections 4.5 and 9."""
    flags, _, record.tid, record.pid, record.time = struct.unpack_from("<HHIIq", data, 4)
    record.provider = guid(data, 0x18)
    record.id, record.version, _, record.level, record.opcode, record.task, record.keyword = struct.unpack_from("<HBBBBHQ", data, 0x28)
    record.classic = bool(flags & 0x100)
    record.text = flags & 4 and not record.classic
    if record.classic:
        record.id = 0
    at = 0x50
    if flags & 1:
        record.items = []
        more = True
        while more:
            size, kind, linkage, used = struct.unpack_from("<4H", data, at)
            record.items.append((kind, data[at + 8:at + 8 + used]))
            at, more = at + size, linkage & 1
    record.payload = data[at:]


def classic_record(data, record, head):
    """Section 4.6."""
    record.opcode, record.level, version, record.tid, record.pid, record.time = struct.unpack_from("<BBHIIq", data, 4)
    record.version = version & 0xFF
    record.provider, record.payload = guid(data, 0x18), data[head:]


def message_record(data, record):
    """Section 4.7."""
    record.id, flags = struct.unpack_from("<HH", data, 4)
    at = 8 + 4 * (flags & 1)
    if flags & 2:
        record.provider, at = guid(data, at), at + 16
    elif flags & 4:
        record.provider, at = f"{struct.unpack_from('<I', data, at)[0]:08x}" + NO_GUID[8:], at + 4
    if flags & 0x18:
        record.time, at = struct.unpack_from("<q", data, at)[0], at + 8
    if flags & 0x20:
        record.tid, record.pid = struct.unpack_from("<II", data, at)
        at += 8
    record.pointer = 4 if flags & 0x40 else 8 if flags & 0x80 else None
    record.payload = data[at:]


def record_of(data, cpu):
    kind, pointer = ("message", None) if data[3] & 0xF0 == 0x90 else KINDS.get(data[2], ("unknown", None))
    record = Record(kind, pointer, cpu)
    if data[3] & 0xF0 == 0x90:
        message_record(data, record)
    elif kind in ("system", "compact", "perfinfo"):
        kernel_record(data, record, {"system": 32, "compact": 24, "perfinfo": 16}[kind])
    elif kind == "event":
        event_record(data, record)
    elif kind in ("full", "instance"):
        classic_record(data, record, 72 if kind == "instance" else 48)
    else:
        record.pointer, record.payload = None, data[8:]
    return record


def records_of(buffer, cpu):
    """Section 3."""
    at = 0x48
    while len(buffer) - at >= 8 and buffer[at:at + 4] not in (bytes(4), b"\xff" * 4):
        at_4 = buffer[at + 3] == 0xC0 and buffer[at + 2] in (1, 2, 3, 4, 0x10, 0x11)
        size, = struct.unpack_from("<H", buffer, at + 4 * at_4)
        if buffer[at + 3] & 0xF0 not in (0xC0, 0x90) or size < 8 or at + size > len(buffer):
            break
        yield record_of(buffer[at:at + size], cpu)
        at = at + size + 7 & ~7


def records(data):
    for cpu, buffer in buffers(data):
        yield from records_of(buffer, cpu)


# ---- sections 5 and 6: the clock ----

def shown_time(time):
    """The smallest number stands for no time."""
    return None if time == FILETIME_MIN else time


class Clock:
    def __init__(self, header):
        long = header.pointer == 8
        payload = header.payload
        self.pointer, = struct.unpack_from("<I", payload, 0x2C)  # for messages that do not say (4.7)
        self.base = header.time
        self.buffer_size, = struct.unpack_from("<I", payload, 0)
        self.end, = struct.unpack_from("<q", payload, 0x10)
        self.start, = struct.unpack_from("<q", payload, 0x108 if long else 0x100)
        kind, = struct.unpack_from("<I", payload, 0x110 if long else 0x108)
        mhz, = struct.unpack_from("<I", payload, 0x34)
        frequency, = struct.unpack_from("<q", payload, 0x100 if long else 0xF8)
        self.frequency = {2: 10000000, 3: mhz * 1000000}.get(kind, frequency) or 10000000

    def filetime(self, time):
        value = self.start + (time - self.base) * 10000000 // self.frequency
        return shown_time(max(FILETIME_MIN, min(FILETIME_MAX, value)))


# ---- section 14: values ----

INTEGERS = {"i8": "b", "u8": "B", "i16": "h", "u16": "H", "i32": "i", "u32": "I", "i64": "q", "u64": "Q", "port": ">H",
            "float": "f", "double": "d"}


class Payload:
    def __init__(self, data, pointer):
        self.data, self.pointer, self.at = data, pointer or 8, 0

    def left(self):
        return len(self.data) - self.at

    def take(self, size):
        if size > self.left():
            raise Cut
        self.at += size
        return self.data[self.at - size:self.at]

    def number(self, kind):
        form = {"ptr": "Q" if self.pointer == 8 else "I", "sizet": "Q" if self.pointer == 8 else "I"}.get(kind) or INTEGERS[kind]
        form = form if form[0] == ">" else "<" + form
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def wide(self):
        for end in range(self.at, len(self.data) - 1, 2):
            if self.data[end:end + 2] == b"\0\0":
                text = self.data[self.at:end]
                self.at = end + 2
                return utf16(text)
        return utf16(self.take(self.left()))

    def ansi(self):
        end = self.data.find(b"\0", self.at)
        if end < 0:
            return narrow(self.take(self.left()))
        text = self.take(end - self.at)
        self.at += 1
        return narrow(text)

    def kernel_sid(self):
        if self.left() < 4:
            raise Cut
        words = 2 * self.pointer
        rest = self.data[self.at + words:]
        size = sid_size(rest)
        if struct.unpack_from("<I", self.data, self.at)[0] == 0:
            if not size or not rest[1] or rest[2:6] != bytes(4):
                self.at += 4
                return None
        elif not size:
            raise Cut
        self.at += words + size
        return sid_text(rest)

    def sid(self):
        size = sid_size(self.data[self.at:])
        if not size:
            raise Cut
        return sid_text(self.take(size))

    def value(self, kind):
        if kind in INTEGERS or kind in ("ptr", "sizet"):
            return self.number(kind)
        simple = {"bool32": (4, any), "bool8": (1, any), "bool16": (2, any), "guid": (16, guid),
                  "ip4": (4, lambda data: ".".join(map(str, data))), "ip6": (16, ip6), "systemtime": (16, system_time)}
        if kind in simple:
            size, text = simple[kind]
            return text(self.take(size))
        return {"wstr": self.wide, "astr": self.ansi, "sid": self.kernel_sid, "SID": self.sid, "null": lambda: None}[kind]()


# ---- section 15: kernel classes ----

class KernelClasses:
    def __init__(self):
        self.layouts, self.names = {}, {}
        with open(CLASSES, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                layouts = self.layouts.setdefault((row["guid"], int(row["opcode"])), {})
                fields = layouts.setdefault(int(row["version"]), {}).setdefault(row["class"], [])
                if row["field"]:
                    fields.append((row["field"], row["type"], row["count"]))
        with open(NAMES, encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                self.names[row["guid"]] = row["class"]

    def decode(self, record):
        """(class, fields); None: no layout. Of several layouts of one version the one that the payload ends with."""
        layouts = self.layouts.get((record.provider, record.opcode))
        if not layouts:
            return None
        below = [known for known in layouts if known <= record.version]
        found = layouts[max(below) if below else min(layouts)]
        decoded = [(name, self.fields(fields, record)) for name, fields in found.items()]
        if len(decoded) > 1:
            decoded = [(name, values) for name, values in decoded if list(values) == [field for field, _, _ in found[name]]]
        return decoded[0] if decoded else None

    def fields(self, fields, record):
        payload, found = Payload(record.payload, record.pointer), {}
        try:
            for name, kind, count in fields:
                if payload.left() == 0 and not may_be_empty(count, found):
                    break
                found[name] = kernel_value(payload, kind, count, found)
        except Cut:
            found["_truncated"] = True
            return found
        if payload.left():
            found["_rest"] = payload.left()
        return found


def may_be_empty(count, before):
    """Whether the field is an array without elements, which needs no payload."""
    return count == "rest" or count.startswith("field") and list(before.values())[int(count[5:]) - 1] == 0


def kernel_value(payload, kind, count, before):
    if kind == "wchar":
        data = payload.take(2 * int(count))
        return utf16(data).split("\0")[0]
    if kind == "bin":
        return payload.take(int(count)).hex()
    if count in ("", "1"):
        return payload.value(kind)
    if count == "rest":
        values = []
        while payload.left() >= (payload.pointer if kind == "ptr" else struct.calcsize(INTEGERS[kind])):
            values.append(payload.value(kind))
        return values
    if count.startswith("field"):
        count = list(before.values())[int(count[5:]) - 1]
    return [element(payload, kind) for _ in range(int(count))]


def element(payload, kind):
    """Of an array whose count is known; the payload must have it, also if it is a string."""
    if payload.left() == 0:
        raise Cut
    return payload.value(kind)


# ---- section 10: TraceLogging ----

BASIC = {0: "null", 3: "i8", 4: "u8", 5: "i16", 6: "u16", 7: "i32", 8: "u32", 9: "i64", 10: "u64", 11: "float", 12: "double",
         13: "bool32", 15: "guid", 16: "ptr", 17: "u64", 18: "systemtime", 19: "SID", 20: "u32", 21: "u64"}


class Metadata:
    """The description in item 11: the name of the event, and its fields."""

    def __init__(self, data):
        size, = struct.unpack_from("<H", data)
        self.data, self.at = data[:size], 2
        self.tags()
        self.name = self.text()
        self.fields = []
        while self.at < len(self.data):
            self.fields.append(self.field())

    def byte(self):
        self.at += 1
        return self.data[self.at - 1]

    def word(self):
        self.at += 2
        return struct.unpack_from("<H", self.data, self.at - 2)[0]

    def tags(self):
        while self.byte() & 0x80:
            pass

    def text(self):
        end = self.data.index(b"\0", self.at)
        text, self.at = self.data[self.at:end].decode(), end + 1
        return text

    def field(self):
        name, kind, out, count = self.text(), self.byte(), 0, None
        if kind & 0x80:
            out = self.byte()
            if out & 0x80:
                self.tags()
        if kind & 0x60 == 0x20:
            count = self.word()
        elif kind & 0x60 == 0x60:
            size = self.word()
            self.at += size
        return name, kind & 0x1F, kind & 0x60, out & 0x7F, count


def names_apart(names):
    """Section 10.1: the second "n" is "n_2". The last field first, because those before it keep their names until then."""
    names, spare = list(names), 2
    for at in reversed(range(len(names))):
        before = names[:at].count(names[at])
        name = f"{names[at]}_{before + 1}"
        while before and name in names:
            name, spare = f"{names[at]}_{spare}", spare + 1
        names[at] = name if before else names[at]
    return names


class SelfDescribing:
    def __init__(self, record, data):
        self.metadata, self.cut, self.arrays = Metadata(data), False, 0
        self.payload = Payload(record.payload, record.pointer)
        self.fields = self.members(0, len(self.metadata.fields))[0]
        if self.cut:
            self.fields["_truncated"] = True
        elif self.payload.left():
            self.fields["_rest"] = self.payload.left()

    def members(self, first, count):
        """The values of `count` fields from `first` on, and the number of the field behind them."""
        found, at = [], first
        fields, members = self.metadata.fields, []
        while len(members) < count and first < len(fields):
            members.append(fields[first][0])
            first = self.behind(first)
        for _ in range(count):
            if at >= len(fields) or self.cut:
                break
            _, kind, array, out, fixed = fields[at]
            try:
                if (self.payload.left() == 0 and kind != 0 and not (array == 0x20 and fixed == 0) and
                        not self.may_be_left_out(at)):
                    break
                value, at = self.field(at, kind, array, out, fixed)
                found.append(value)
            except Cut:
                self.cut = True
        return dict(zip(names_apart(members), found)), at

    def may_be_left_out(self, at):
        """A text that is the last field, also in structures that have nothing before it."""
        *before, (_, kind, array, _, _) = self.metadata.fields[at:]
        return (kind in (1, 2) and array == 0 and not self.arrays and
                all(kind == 24 and array == 0 and out for _, kind, array, out, _ in before))

    def structure(self, first, count):
        """Whole, with all its members, or not at all."""
        members, behind = self.members(first, count)
        if self.cut or behind != self.behind(first - 1):
            raise Cut
        return members

    def behind(self, at):
        _, kind, array, out, _ = self.metadata.fields[at]
        at += 1
        for _ in range(out if kind == 24 and array != 0x60 else 0):
            at = self.behind(at) if at < len(self.metadata.fields) else at
        return at

    def field(self, at, kind, array, out, fixed):
        count = fixed if array == 0x20 else self.payload.number("u16") if array == 0x40 else None
        if kind == 24:
            after = self.behind(at)
            if count is None and array == 0:
                return self.structure(at + 1, out), after
            if array != 0x60:
                self.arrays += 1
                values = [self.structure(at + 1, out) for _ in range(count)]
                self.arrays -= 1
                return values, after
        if array == 0x60:
            return self.payload.take(self.payload.number("u16")).hex(), at + 1
        if out == 2 and kind in (3, 4, 5, 6) and count is not None:
            size = 1 if kind in (3, 4) else 2
            data = self.payload.take(size * count)
            return (narrow(data.rstrip(b"\0")) if size == 1 else utf16(data).rstrip("\0")), at + 1
        if count is None:
            return self.one(kind, out), at + 1
        values = []
        for _ in range(count):
            if self.payload.left() == 0 and kind != 0:
                raise Cut
            values.append(self.one(kind, out))
        return values, at + 1

    def one(self, kind, out):
        payload = self.payload
        if kind in (22, 23, 14, 25):
            data = payload.take(payload.number("u16"))
            if kind == 22:
                return utf16(data).rstrip("\0")
            if kind == 23:
                return narrow(data.rstrip(b"\0"))
            return ip6(data) if out == 9 and len(data) == 16 else data.hex()
        if kind == 1:
            return payload.wide()
        if kind == 2:
            return payload.ansi()
        if out == 2 and kind in (3, 4, 5, 6):
            data = payload.take(1 if kind in (3, 4) else 2)
            return narrow(data.rstrip(b"\0")) if len(data) == 1 else utf16(data).rstrip("\0")
        if out == 3 and kind in (3, 4, 7, 8):
            return payload.value({3: "bool8", 4: "bool8", 7: "bool32", 8: "bool32"}[kind])
        if out == 7 and kind == 6:
            return payload.value("port")
        if out == 8 and kind == 8:
            return payload.value("ip4")
        if kind not in BASIC:
            raise Cut
        return payload.value(BASIC[kind])


# ---- sections 11 and 12: descriptions in the recording ----

IN_TYPES = {1: "wstr", 2: "astr", **{number: kind for number, kind in BASIC.items() if number != 0}}
IN_NAMES = {name: number for number, name in enumerate("""- UnicodeString AnsiString Int8 UInt8 Int16 UInt16 Int32 UInt32 Int64 UInt64
Float Double Boolean Binary GUID Pointer FILETIME SYSTEMTIME SID HexInt32 HexInt64""".split())}


class Property:
    """A field of a manifest or of an EventInfo. Count and length are a number, or the name of an earlier field."""

    def __init__(self, name, in_type, out_type=0, count=None, length=None):
        self.name, self.in_type, self.out_type, self.count, self.length = name, in_type, out_type, count, length


def described_fields(properties, record):
    payload, found = Payload(record.payload, record.pointer), {}
    try:
        for i, item in enumerate(properties):
            text = item.in_type in (1, 2) and not item.length and item.count is None
            if payload.left() == 0 and not (text and i + 1 == len(properties)):
                break
            found[item.name] = described_value(item, payload, found)
    except Cut:
        found["_truncated"] = True
        return found
    if payload.left():
        found["_rest"] = payload.left()
    return found


def described_value(item, payload, before):
    count = before.get(item.count) if isinstance(item.count, str) else item.count
    if count is not None:
        return [described_one(item, payload, before) for _ in range(count)]
    return described_one(item, payload, before)


def described_one(item, payload, before):
    length = before.get(item.length) if isinstance(item.length, str) else item.length
    if item.in_type == 14:
        data = payload.take(payload.left() if length is None else length)
        return ip6(data) if item.out_type == 24 and len(data) == 16 else data.hex()
    if item.in_type in (1, 2) and length:
        data = payload.take(length * (2 if item.in_type == 1 else 1))
        return utf16(data).rstrip("\0") if item.in_type == 1 else narrow(data.rstrip(b"\0"))
    if item.in_type == 6 and item.out_type == 22:
        return payload.value("port")
    if item.in_type == 8 and item.out_type == 23:
        return payload.value("ip4")
    return payload.value(IN_TYPES[item.in_type])


def local(element):
    return element.tag.rsplit("}", 1)[-1]


def below(element, *names):
    """The children by way of these local names."""
    found = [element]
    for name in names:
        found = [child for parent in found for child in parent if local(child) == name]
    return found


class Manifest:
    """Section 11."""

    def __init__(self, text):
        root = ElementTree.fromstring(text)
        self.provider = below(root, "instrumentation", "events", "provider")[0]
        self.name, self.guid = self.provider.get("name"), self.provider.get("guid").strip("{}").lower()
        tasks = {task.get("name"): task for task in below(self.provider, "tasks", "task")}
        templates = {template.get("tid"): template for template in below(self.provider, "templates", "template")}
        self.events = {}
        for event in below(self.provider, "events", "event"):
            template = templates.get(event.get("template"))
            fields = [self.field(data) for data in below(template, "data")] if template is not None else []
            title = event.get("task") if event.get("task") in tasks else event.get("symbol")
            opcode = (event.get("opcode") or "").removeprefix("win:")
            title = f"{title}/{opcode}" if opcode else title
            self.events[int(event.get("value")), int(event.get("version") or 0)] = title, fields

    @staticmethod
    def field(data):
        def number_or_name(text):
            return int(text) if text and text.isdigit() else text

        return Property(data.get("name"), IN_NAMES[data.get("inType").removeprefix("win:")], 0,
                        number_or_name(data.get("count")), number_or_name(data.get("length")))


def string_at(data, at):
    """Section 12: NUL-terminated UTF-16, without blanks at its end; None at offset 0."""
    if at == 0:
        return None
    return Payload(data[at:], 8).wide().rstrip(" ")


class EventInfo:
    """Section 12.1."""

    def __init__(self, data):
        self.provider, self.event = guid(data), guid(data, 16)
        self.id, self.version, _, _, self.opcode = struct.unpack_from("<HBBBB", data, 32)
        self.source, provider, _, _, _, task, opcode = struct.unpack_from("<7I", data, 48)
        self.provider_name, self.task, self.opcode_name = (string_at(data, at) for at in (provider, task, opcode))
        count, self.top = struct.unpack_from("<II", data, 100)
        self.rows = [struct.unpack_from("<IIHHIHHI", data, 112 + 24 * i) for i in range(count)]
        self.names = [string_at(data, row[1]) for row in self.rows]
        self.maps = [string_at(data, row[4]) if not row[0] & 1 else None for row in self.rows]

    def shown(self):
        return {"provider": self.provider, "event": self.event, "id": self.id, "version": self.version, "opcode": self.opcode,
                "task": self.task, "opcode_name": self.opcode_name, "provider_name": self.provider_name,
                "fields": [[self.names[i], row[2], row[3], row[0], row[5], row[6], self.maps[i]]
                           for i, row in enumerate(self.rows)]}

    def title(self):
        return "/".join(part for part in (self.task, self.opcode_name) if part) or str(self.id)

    def fields(self):
        found = []
        for i, (flags, _, in_type, out_type, _, count, length, _) in enumerate(self.rows[:self.top]):
            found.append(Property(self.names[i], in_type, out_type,
                                  self.names[count] if flags & 4 else count if flags & 0x20 or count > 1 else None,
                                  self.names[length] if flags & 2 else length or None))
        return found


def event_map(data):
    """Section 12.2."""
    provider, data = guid(data), data[16:]
    name, flag, count = struct.unpack_from("<III", data)
    entries = {}
    for i in range(count):
        at, value = struct.unpack_from("<II", data, 16 + 8 * i)
        entries[str(value)] = string_at(data, at)
    return {"provider": provider, "map": string_at(data, name), "flag": flag, "entries": entries}


def manifest_chunk(record):
    """The head of a part of a manifest; None: it is another record."""
    if record.classic or record.id != 0xFFFE or len(record.payload) < 8 or record.payload[0] != 1 or record.payload[3] != 0x5B:
        return None
    return struct.unpack_from("<BBBBHH", record.payload)


class Schemas:
    """What the recording says about its events: everything is collected before anything is decoded."""

    def __init__(self, found):
        self.kernel = KernelClasses()
        self.manifests, self.infos, self.names, chunks = {}, {}, {}, {}
        for record in found:
            chunk = manifest_chunk(record)
            if record.provider == META_DATA and record.classic and record.opcode == 32:
                info = EventInfo(record.payload)
                self.infos[info.provider, info.id, info.version] = info
                if info.provider_name:
                    self.names.setdefault(info.provider, info.provider_name)
            elif chunk:
                self.add_chunk(record, chunk, chunks)
        for record in found:
            for kind, data in record.items or ():
                if kind == 12:
                    self.names.setdefault(record.provider, data[2:data.index(b"\0", 2)].decode())
        for (provider, _), manifest in self.manifests.items():
            self.names[provider] = manifest.name

    def add_chunk(self, record, chunk, chunks):
        """Chunks stand in any order; a number that is there already begins the manifest again."""
        total, number = chunk[4:]
        parts = chunks.setdefault((record.provider, record.pid, total), {})
        if number in parts:
            parts.clear()
        parts[number] = record.payload[8:]
        if len(parts) == total:
            whole = b"".join(parts[i] for i in range(total))
            self.manifests[record.provider, record.pid] = Manifest(whole.decode("utf-8-sig"))
            parts.clear()

    def described_by_manifest(self, record):
        own = self.manifests.get((record.provider, record.pid))
        others = [manifest for (provider, _), manifest in self.manifests.items() if provider == record.provider]
        for manifest in [own] * (own is not None) + others[::-1]:
            for version in (record.version, 0):
                if (record.id, version) in manifest.events:
                    return manifest.events[record.id, version]
        return None

    def name_of(self, record):
        event = self.described_by_manifest(record)
        info = self.infos.get((record.provider, record.id, record.version))
        return event[0] if event else info.title() if info else None

    def decode(self, record):
        """Section 13: decoded_by, event, fields; None."""
        if record.provider == META_DATA and record.classic:
            if record.opcode == 32:
                return "metadata", "EventInfo", EventInfo(record.payload).shown()
            return ("metadata", "EventMapInfo", event_map(record.payload)) if record.opcode == 33 else None
        if record.classic:
            decoded = self.kernel.decode(record)
            return ("kernel", *decoded) if decoded else None
        if record.text:
            return "string", self.name_of(record) or "EventWriteString", described_fields([Property("Message", 1)], record)
        items = dict(record.items or ())
        if 11 in items:
            event = SelfDescribing(record, items[11])
            return "tracelogging", event.metadata.name, event.fields
        chunk = manifest_chunk(record)
        if chunk:
            return "manifestdata", "ManifestData", dict(zip(
                ("Format", "Major", "Minor", "Magic", "TotalChunks", "ChunkNumber"), chunk))
        event = self.described_by_manifest(record)
        if event:
            return "manifest", event[0], described_fields(event[1], record)
        info = self.infos.get((record.provider, record.id, record.version))
        return ("eventinfo", info.title(), described_fields(info.fields(), record)) if info else None


def dump(data):
    """The lines of `etwtool dump`, as dictionaries."""
    found = list(records(data))
    schemas, clock = Schemas(found), Clock(found[0])
    for record in found:
        record.pointer = record.pointer or clock.pointer
    for index, record in enumerate(found):
        line = {"i": index, "kind": record.kind, "ptr": record.pointer, "ts": shown_time(record.time),
                "filetime": None if shown_time(record.time) is None else clock.filetime(record.time), "cpu": record.cpu, "pid": record.pid,
                "tid": record.tid, "provider": record.provider}
        name = schemas.kernel.names.get(record.provider) or schemas.names.get(record.provider)
        if record.provider == META_DATA:
            name = "MetaData"
        if name:
            line["provider_name"] = name
        line.update(id=record.id, version=record.version, opcode=record.opcode, level=record.level, task=record.task,
                    keyword=hex(record.keyword), len=len(record.payload))
        decoded = schemas.decode(record)
        if decoded:
            line["decoded_by"], line["event"], line["fields"] = decoded
        if record.items is not None:
            line["ext"] = [[kind, len(data)] for kind, data in record.items]
        if not decoded and record.payload:
            line["raw"] = record.payload.hex()
        yield line
