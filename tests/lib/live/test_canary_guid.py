#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The GUID of the exporter's own provider is the one that TraceLogging makes of its name.

SHA-1 of a namespace and the name in upper case, UTF-16 big-endian; version 5 in the first half byte of the third field.
Source: "TRACELOGGING_DEFINE_PROVIDER macro", Microsoft Learn, whose example is checked too.
"""
import hashlib
import re
import sys
import uuid
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent.parent
NAMESPACE = bytes.fromhex("482c2db2c39047c887f81a15bfc130fb")


def guid_of(name):
    half = bytearray(hashlib.sha1(NAMESPACE + name.upper().encode("utf-16-be")).digest()[:16])
    half[7] = half[7] & 0x0F | 0x50
    return uuid.UUID(bytes_le=bytes(half))


def main():
    text = (ROOT / "lib/source/provider_names.h").read_text(encoding="utf-8")
    comment = (ROOT / "lib/live/canary.h").read_text(encoding="utf-8")
    name = re.search(r'#define CANARY_PROVIDER_NAME "(\w+)"', text).group(1)
    fields = [int(field, 16) for field in re.search(r"GUID_INIT\(([^)]+)\)", text).group(1).split(",")]
    ours = uuid.UUID("{:08x}{:04x}{:04x}{}".format(*fields[:3], bytes(fields[3:]).hex()))
    wrong = []
    if str(guid_of("MyCompany.MyComponent")) != "ce5fa4ea-ab00-5402-8b76-9f76ac858fb5":
        wrong.append("the example of the documentation hashes to something else")
    if guid_of(name) != ours:
        wrong.append(f"{name} hashes to {guid_of(name)}, the header says {ours}")
    if f"{{{ours}}}" not in comment:
        wrong.append("the comment of canary.h has another GUID")
    print("\n".join(wrong) or f"{name}: {ours}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
