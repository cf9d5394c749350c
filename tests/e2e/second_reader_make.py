# SPDX-License-Identifier: MIT
"""Makes recordings of every form that docs/etl-format.md describes, for second_reader_compare.py.

Each is made from the number of a seed, so a difference can be had again. The payloads fit their layouts, are cut somewhere, or
have bytes left over.
"""
import random
import struct
import uuid

import second_reader

SHAPES = {"i8": 1, "u8": 1, "i16": 2, "u16": 2, "port": 2, "i32": 4, "u32": 4, "bool32": 4, "ip4": 4, "i64": 8, "u64": 8,
          "ip6": 16, "guid": 16}
WORDS = ["", "a", "alpha.exe", "C:\\Windows\\x", "Zürich", "日本", "\U0001F600 emoji", 'quote" \\ tab\t', "x" * 300]


def wide(text):
    return text.encode("utf-16-le")


def guid_bytes(text):
    return uuid.UUID(text).bytes_le


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)
        self.pointer = self.random.choice((4, 8))
        self.time, self.out, self.sequence = 1000000, bytearray(), 0
        self.names = 0
        self.classes = second_reader.KernelClasses()

    # ---- values ----

    def word(self):
        return self.random.choice(WORDS)

    def bytes(self, size):
        """Small numbers as often as any."""
        if self.random.random() < 0.5:
            return self.random.randrange(256).to_bytes(1, "little") + bytes(size - 1) if size else b""
        return self.random.randbytes(size)

    def sid(self):
        count = self.random.randrange(1, 6)
        return bytes([1, count, 0, 0, 0, 0, 0, 5]) + self.random.randbytes(4 * count)

    def kernel_sid(self, pointer):
        choice = self.random.randrange(3)
        if choice == 0:
            return bytes(4)
        return (bytes(2 * pointer) if choice == 1 else b"\1" + self.random.randbytes(2 * pointer - 1)) + self.sid()

    def value(self, kind, pointer):
        if kind in ("ptr", "sizet"):
            return self.bytes(pointer)
        if kind in SHAPES:
            return self.bytes(SHAPES[kind])
        if kind == "wstr":
            return wide(self.word()) + self.random.choice((b"\0\0", b"\x00\xd8\0\0"))
        if kind == "astr":
            return self.random.choice((self.word().encode(), b"caf\xe9", b"")) + b"\0"
        return self.kernel_sid(pointer)

    def kernel_payload(self, fields, pointer):
        out, counts = b"", []
        for _, kind, count in fields:
            if kind == "wchar":
                text = wide(self.word()[:int(count)])[:2 * int(count)]
                out += text + bytes(2 * int(count) - len(text))
            elif kind == "bin":
                out += self.bytes(int(count))
            elif count == "rest":
                out += self.bytes(pointer * self.random.randrange(4))
            else:
                number = counts[int(count[5:]) - 1] if count.startswith("field") else int(count or 1)
                value = b"".join(self.value(kind, pointer) for _ in range(number))
                if kind in ("i32", "u32", "u16") and any(other.startswith("field") for _, _, other in fields) and not count:
                    value = struct.pack("<I", self.random.randrange(4))[:SHAPES[kind]]
                out += value
                counts.append(int.from_bytes(value[:4], "little"))
                continue
            counts.append(0)
        return self.spoilt(out)

    def spoilt(self, payload):
        """As it is, cut, or with more behind it."""
        choice = self.random.random()
        if choice < 0.2:
            return payload[:self.random.randrange(len(payload) + 1)]
        return payload + self.random.randbytes(self.random.randrange(1, 9)) if choice < 0.3 else payload

    # ---- records ----

    def stamp(self):
        self.time += self.random.randrange(2000)
        return self.time

    def kernel(self, kind, group, opcode, version, payload, pointer):
        number = {"system": 1, "compact": 3, "perfinfo": 16}[kind] + (pointer == 8)
        pebs, counters = self.random.random() < 0.1, self.random.randrange(8) if self.random.random() < 0.1 else 0
        extras = self.random.randbytes(8 * (pebs + counters))
        ids = struct.pack("<II", self.random.randrange(1 << 16), self.random.randrange(1 << 16))
        times = struct.pack("<II", 1, 2)
        body = (b"" if kind == "perfinfo" else ids) + struct.pack("<q", self.stamp()) + (times if kind == "system" else b"")
        head = struct.pack("<HBBHBB", version | pebs << 15 | counters << 8, number, 0xC0, 8 + len(body + extras + payload), opcode, group)
        return head + body + extras + payload

    def full(self, provider, opcode, version, payload, pointer, instance=False):
        number = {(4, False): 0x0A, (8, False): 0x14, (4, True): 0x0B, (8, True): 0x15}[pointer, instance]
        body = guid_bytes(provider) + struct.pack("<II", 1, 2)
        if instance:
            body += struct.pack("<II", 7, 8) + self.random.randbytes(16)
        return struct.pack("<HBBBBHIIq", 24 + len(body + payload), number, 0xC0, opcode, self.random.randrange(6), version,
                           self.random.randrange(1 << 16), self.random.randrange(1 << 16), self.stamp()) + body + payload

    def event(self, provider, number, version, payload, pointer, items=(), opcode=0, task=0, flags=0, pid=None):
        data = b""
        for i, (kind, content) in enumerate(items):
            size = 8 + len(content) + 7 & ~7
            data += struct.pack("<4H", size, kind, i + 1 < len(items), len(content)) + content.ljust(size - 8, b"\0")
        return struct.pack("<HBBHHIIq", 80 + len(data + payload), 0x13 if pointer == 8 else 0x12, 0xC0, flags | bool(items), 0,
                           self.random.randrange(1 << 16), self.random.randrange(1 << 16) if pid is None else pid,
                           self.stamp()) + guid_bytes(provider) + struct.pack(
                               "<HBBBBHQQ", number, version, 11, self.random.randrange(6), opcode, task,
                               self.random.getrandbits(64), 0) + self.random.randbytes(16) + data + payload

    def message(self):
        flags = self.random.randrange(0x100)
        body = self.random.randbytes(4) if flags & 1 else b""
        if flags & 2:
            body += self.random.randbytes(16)
        elif flags & 4:
            body += self.random.randbytes(4)
        if flags & 0x18:
            body += struct.pack("<q", self.stamp())
        if flags & 0x20:
            body += self.random.randbytes(8)
        body += self.random.randbytes(self.random.randrange(9))
        return struct.pack("<HBBHH", 8 + len(body), 0, 0x90, self.random.randrange(100), flags) + body

    def layouts(self, share):
        """A record of each layout of each kernel class, or of some of them."""
        for (provider, opcode), versions in self.classes.layouts.items():
            for version, fields in ((version, fields) for version, found in versions.items() for fields in found.values()):
                if provider == second_reader.META_DATA or (provider == second_reader.GROUPS[0] and opcode == 0):
                    continue
                if self.random.random() >= share:
                    continue
                pointer = self.random.choice((4, 8))
                payload = self.kernel_payload(fields, pointer)
                version += self.random.choice((0, 0, 0, 1))
                group = second_reader.GROUPS.index(provider) if provider in second_reader.GROUPS else None
                if group is not None and self.random.random() < 0.7 and (group, opcode) != (3, 10):
                    kind = self.random.choice(("system", "compact", "perfinfo"))
                    yield self.kernel(kind, group, opcode, version, payload, pointer)
                else:
                    yield self.full(provider, opcode, version, payload, pointer, self.random.random() < 0.3)

    # ---- TraceLogging ----

    def field(self, depth, pointer):
        """Metadata and payload of one field, both with the members of a structure; or only the data of one element more."""
        self.names += 1
        name = self.random.choice(("a", "bytes", "Name", "x_")).encode() + b"%d\0" % self.names
        name = self.random.choice((b"twin\0", b"twin_2\0")) if self.random.random() < 0.2 else name
        kinds = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 17, 18, 19, 20, 21, 22, 23]
        kind = 24 if depth < 3 and self.random.random() < 0.2 else self.random.choice(kinds)
        array = self.random.choice((0, 0, 0, 0x20, 0x40, *((0x60,) if kind != 24 else ())))
        fixed = self.random.randrange(depth > 0, 4)  # members take bytes, so that structures do
        members = [self.field(depth + 1, pointer) for _ in range(self.random.randrange(1, 4))] if kind == 24 else []
        out = len(members) if kind == 24 else self.random.choice((0, 0, *{3: (2,), 4: (2, 3), 5: (2,), 6: (2, 7), 7: (3,), 8: (3, 8),
                                                                          14: (9,)}.get(kind, ())))
        metadata = name + bytes([kind | array | 0x80 * bool(out)]) + (bytes([out]) if out else b"")
        if array == 0x20:
            metadata += struct.pack("<H", fixed)
        if array == 0x60:
            schema = self.random.randbytes(self.random.randrange(4))
            metadata += struct.pack("<H", len(schema)) + schema
        metadata += b"".join(data for data, _ in members)

        def one():
            if kind == 24:
                return b"".join(make() for _, make in members)
            if kind in (14, 22, 23):
                size = self.random.choice((0, 2, 16))
                data = wide("w" * (size // 2)) if kind == 22 else b"n" * size if kind == 23 else self.random.randbytes(size)
                return struct.pack("<H", size) + data
            if kind == 18:
                return struct.pack("<8H", 2024, 2, 4, 29, 23, 59, 58, 999)
            if kind == 19:
                return self.sid()
            if kind == 11:
                return struct.pack("<f", self.random.choice((0.0, 1.5, -0.1)))
            if kind == 12:
                return struct.pack("<d", self.random.choice((0.0, 1.5, -0.1, 1e300)))
            if out == 2 and kind in (3, 4, 5, 6):
                return b"k" if kind in (3, 4) else wide("ä")
            shape = {1: "wstr", 2: "astr"}.get(kind) or second_reader.BASIC[kind]
            return self.value(shape, pointer)

        def make():
            count = self.random.randrange(4)
            if array == 0x60:
                return struct.pack("<H", count) + self.random.randbytes(count)
            data = b"".join(one() for _ in range({0: 1, 0x20: fixed, 0x40: count}[array]))
            return (struct.pack("<H", count) if array == 0x40 else b"") + data

        return metadata, make

    def self_describing(self, provider):
        pointer = self.random.choice((4, 8))
        fields = [self.field(0, pointer) for _ in range(self.random.randrange(7))]
        metadata = b"\0Event\0" + b"".join(data for data, _ in fields)
        metadata = struct.pack("<H", 2 + len(metadata)) + metadata
        traits = b"Provider.Name\0" + b"\x13\0\1" + bytes(16)
        traits = struct.pack("<H", 2 + len(traits)) + traits
        payload = self.spoilt(b"".join(make() for _, make in fields))
        items = [(11, metadata)]
        if self.random.random() < 0.5:
            items.insert(0, (12, traits))
        if self.random.random() < 0.2:
            items.insert(0, (6, self.random.randbytes(8 * self.random.randrange(1, 5))))
        return self.event(provider, self.random.randrange(4), 0, payload, pointer, items)

    # ---- buffers ----

    def header_record(self, clock):
        pointer = self.pointer
        longs = struct.pack("<QQ" if pointer == 8 else "<II", 0, 0)
        payload = struct.pack("<IIIIqIIIIIIII", 65536, 0x0501000A, 19045, 4, 0, 156250, 0, 1, 0, 1, pointer, 0, 2500) + longs
        payload += bytes(176) + struct.pack("<qqqII", 132499900000000000, 3579545, 132500000000000000, clock, 0)
        payload += wide("made\0") + wide("C:\\made.etl\0")
        return struct.pack("<HBBHBBIIqII", 2, 2 if pointer == 8 else 1, 0xC0, 32 + len(payload), 0, 0, 1, 2, self.time, 0, 0) + payload

    def buffer(self, found, kind=0, packed=False):
        body = b"".join(record.ljust(len(record) + 7 & ~7, b"\0") for record in found)
        end, flags = 0x48 + len(body), 0x20 * self.random.randrange(2)
        processor = self.random.randrange(4) | (0 if flags else self.random.randrange(256) << 8)
        if packed:
            body, flags = pack(body, self.random), flags | 0x40
        else:
            body += b"\xff" * self.random.randrange(64)
        self.out += struct.pack("<IIIiqqQHHIIHH16s", 0x48 + len(body), end, 0, 0, self.time, self.sequence, 7, processor, 1, 3, end,
                                flags, kind, b"") + body
        self.sequence += 1

    def recording(self, found):
        """The bytes of a recording of these records."""
        self.buffer([self.header_record(self.random.choice((1, 2, 3)))], 4)
        packed = self.random.random() < 0.6
        while found:
            count = self.random.randrange(1, 40)
            self.buffer(found[:count], packed=packed)
            found = found[count:]
        return bytes(self.out)


def pack(data, chance):
    """Section 2, the other way round: literals and matches, of which any that fits will do."""
    out, at, seen = bytearray(), 0, {}
    flags_at, flags, used, nibble_at = 0, 0, 32, None
    while at < len(data):
        if used == 32:
            if out:
                struct.pack_into("<I", out, flags_at, flags)
            flags_at, flags, used = len(out), 0, 0
            out += bytes(4)
        used += 1
        key = data[at:at + 3]
        before = seen.get(key)
        seen[key] = at
        if before is None or at - before > 8192 or len(key) < 3 or chance.random() < 0.05:
            out.append(data[at])
            at += 1
            continue
        length = 3
        while at + length < len(data) and data[before + length] == data[at + length] and length < 70000:
            length += 1
        flags |= 1 << 32 - used
        out += struct.pack("<H", at - before - 1 << 3 | min(length - 3, 7))
        more = length - 3 - 7
        if more >= 0:
            if nibble_at is None:
                nibble_at = len(out)
                out.append(min(more, 15))
            else:
                out[nibble_at] |= min(more, 15) << 4
                nibble_at = None
            if more >= 15:
                out.append(min(more - 15, 255))
                if more - 15 >= 255:
                    wide_length = more - 15 + 22
                    out += struct.pack("<H", wide_length) if wide_length < 65536 else struct.pack("<HI", 0, wide_length)
        at += length
    if out:
        struct.pack_into("<I", out, flags_at, flags)
    return bytes(out)


def make(seed, share=0.1):
    """The bytes of the recording of this number."""
    maker = Maker(seed)
    provider = "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7"
    found = list(maker.layouts(share))
    found += [maker.self_describing(provider) for _ in range(40)]
    found += [maker.message() for _ in range(10)]
    found += [maker.event(provider, 5, 1, maker.bytes(9), 8, [(kind, maker.random.randbytes(8)) for kind in (1, 3, 13, 99)])]
    texts = (b"", wide("Frame \N{FLOPPY DISK}"), wide("one") + b"\0\0", wide("x") + b"\0\0\1")
    found += [maker.event(provider, 0, 0, text, 8, flags=4) for text in texts]
    maker.random.shuffle(found)
    return maker.recording(found)
