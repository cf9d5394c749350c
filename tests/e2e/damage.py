# SPDX-License-Identifier: MIT
"""Damages a recording in a random way that the seed decides.

    damage.py RECORDING SEED >DAMAGED

What two ways of reading must agree on, they must agree on for damaged recordings, too. Here are single bytes that change, times that
jump, buffers that stand in another order or twice, sizes that lie, headers and sectors that were never written, and kernel events of a version or a type that they do not have.
The first buffer stays as it is, so that it is still a recording."""
import random
import re
import struct
import sys

# A kernel record begins with its version, its header type and flags; type and group of the event follow its size (docs/etl-format.md).
VERSION, TYPE, FLAGS, EVENT = 0, 2, 3, 6
FLAGS_OF_RECORD = 0xC0
SYSTEM_TYPES = (1, 2, 0x10, 0x11)
BUFFER_HEADER_SIZE, BUFFER_FILLED_AT = 72, 48
EXTREME_TIMES = (bytes(8), b"\xff" * 8, b"\xff" * 7 + b"\x7f")


def change_records(data, size, choose):
    """All records of one kind of event, or some of them, get another version or another type."""
    for _ in range(1000):
        at = choose.randrange(size, len(data) - 8) & ~7
        if data[at + FLAGS] == FLAGS_OF_RECORD and data[at + TYPE] in SYSTEM_TYPES:
            break
    else:
        return
    kind = re.compile(re.escape(bytes(data[at:at + 4])) + b".." + re.escape(bytes(data[at + EVENT:at + 8])), re.S)
    version = struct.pack("<H", choose.choice((0, 1, 2, 3, 9, choose.randrange(1 << 16))))
    event_type = choose.randrange(80)
    share = choose.choice((1, 0.5, 0.01))
    changes_version = choose.random() < 0.5
    for found in list(kind.finditer(data)):
        if choose.random() >= share:
            continue
        if changes_version:
            data[found.start() + VERSION:found.start() + VERSION + 2] = version
        else:
            data[found.start() + EVENT] = event_type


def change_place(data, size, choose):
    """A byte, a time, a buffer or a size changes."""
    count = len(data) // size
    way = choose.choice(("byte", "byte", "time", "zeros", "swap", "copy", "header", "lost", "filled"))
    at = choose.randrange(size, len(data) - 8)
    one, other = (choose.randrange(1, count) * size for _ in range(2))
    if way == "byte":
        data[at] = choose.randrange(256)
    elif way == "time":
        data[at & ~7:(at & ~7) + 8] = choose.choice(EXTREME_TIMES)
    elif way == "zeros":
        end = min(len(data), at + choose.randrange(400))
        data[at:end] = bytes(end - at)
    elif way == "swap":
        data[one:one + size], data[other:other + size] = data[other:other + size], data[one:one + size]
    elif way == "copy":
        data[one:one + size] = data[other:other + size]
    elif way == "header":
        data[one + choose.randrange(BUFFER_HEADER_SIZE)] = choose.choice((0, 1, 255))
    elif way == "lost":
        end = one + choose.choice((BUFFER_HEADER_SIZE, 512, size))
        data[one:end] = choose.choice((bytes(end - one), choose.randbytes(end - one)))
    else:
        filled = choose.choice((0, BUFFER_HEADER_SIZE, size - 1, size, size + 1, choose.randrange(size)))
        data[one + BUFFER_FILLED_AT:one + BUFFER_FILLED_AT + 4] = struct.pack("<I", filled)


def main():
    with open(sys.argv[1], "rb") as recording:
        data = bytearray(recording.read())
    size = struct.unpack_from("<I", data)[0]
    choose = random.Random(int(sys.argv[2]))
    for _ in range(choose.choice((1, 2, 5, 20, 100))):
        change_place(data, size, choose)
    for _ in range(choose.choice((0, 1, 3))):
        change_records(data, size, choose)
    sys.stdout.buffer.write(data)


main()
