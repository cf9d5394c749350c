#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the programs of Windows have beside their code (cmake/windows.cmake), read from the files themselves:
test_windows_programs.py VERSION PROGRAM...

VERSIONINFO with the version of the project, a manifest (no questions about rights, UTF-8, long paths, Windows 10), the messages of the
event log in etw_exporter.exe alone, no debugging information, and a link to the file beside the program that has it.

Layouts: "PE Format", "VS_VERSIONINFO structure", "Application manifests", Microsoft Learn; the link: "Separate Debug Files" of GDB's
documentation.
"""
import os
import struct
import sys
import xml.etree.ElementTree as ElementTree
import zlib

RT_MESSAGETABLE, RT_VERSION, RT_MANIFEST = 11, 16, 24
WINDOWS_10 = "{8e0f7a12-bfb3-4fe8-b9a5-48fd50a15a9a}"

faults = []


def expect(path, what, found, wanted):
    if found != wanted:
        faults.append(f"{path}: {what} is {found!r}, not {wanted!r}")


class Program:
    """Sections of a file in PE format: name, address, bytes."""

    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if data[:2] != b"MZ":
            raise ValueError(f"{path}: not a program of Windows")
        self.size = len(data)
        pe, = struct.unpack_from("<I", data, 0x3c)
        count, symbols, symbol_count, optional_size = struct.unpack_from("<H4xIIH", data, pe + 6)
        strings = symbols + 18 * symbol_count
        self.symbol_count = symbol_count
        self.sections = {}
        for i in range(count):
            name, size, address, raw_size, raw = struct.unpack_from("<8sIIII", data, pe + 24 + optional_size + 40 * i)
            name = name.rstrip(b"\0").decode()
            if name.startswith("/"):  # a name of more than 8 characters follows the symbols
                start = strings + int(name[1:])
                name = data[start:data.index(b"\0", start)].decode()
            self.sections[name] = address, data[raw:raw + min(size or raw_size, raw_size)]

    def resources(self):
        """{type: {id: bytes}}, each in its first language."""
        address, data = self.sections[".rsrc"]

        def entries(at):
            named, numbered = struct.unpack_from("<HH", data, at + 12)
            for i in range(named + numbered):
                name, where = struct.unpack_from("<II", data, at + 16 + 8 * i)
                yield name, where & 0x7fffffff

        found = {}
        for kind, names in entries(0):
            for name, languages in entries(names):
                leaf = next(where for _, where in entries(languages))
                start, size = struct.unpack_from("<II", data, leaf)
                found.setdefault(kind, {})[name] = data[start - address:start - address + size]
        return found


def version_block(data, at):
    """(name, value, [children], end) of a block of VERSIONINFO, which contains blocks of the same form."""
    size, value_size, text = struct.unpack_from("<HHH", data, at)
    end = at + size
    name = data[at + 6:].decode("utf-16-le", "replace").split("\0")[0]
    position = (at + 6 + 2 * (len(name) + 1) + 3) & ~3
    value = data[position:position + value_size * (2 if text else 1)]
    position = (position + len(value) + 3) & ~3
    children = []
    while position < end:
        child = version_block(data, position)
        children.append(child)
        position = (child[3] + 3) & ~3
    return name, value.decode("utf-16-le").rstrip("\0") if text else value, children, end


def check_version(path, data, version, program):
    name, fixed, children, _ = version_block(data, 0)
    expect(path, "the name of its VERSIONINFO", name, "VS_VERSION_INFO")
    signature, _, high, low = struct.unpack_from("<IIII", fixed)
    expect(path, "the signature of VS_FIXEDFILEINFO", signature, 0xfeef04bd)
    expect(path, "its FILEVERSION", f"{high >> 16}.{high & 0xffff}.{low >> 16}", version)
    tables = {child[0]: child[2] for child in children}
    texts = {entry[0]: entry[1] for entry in tables["StringFileInfo"][0][2]}
    for key, wanted in (("FileVersion", version), ("ProductVersion", version), ("ProductName", "etw_exporter"),
                        ("InternalName", program), ("OriginalFilename", program + ".exe"), ("LegalCopyright", "MIT License")):
        expect(path, key, texts.get(key), wanted)
    if len(texts.get("FileDescription", "")) < 20:
        faults.append(f"{path}: no FileDescription: {texts}")
    language, code_page = struct.unpack("<HH", tables["VarFileInfo"][0][1])
    expect(path, "the table of its Translation", f"{language:04x}{code_page:04x}", tables["StringFileInfo"][0][0])


def check_manifest(path, data, version):
    settings = "{http://schemas.microsoft.com/SMI/%d/WindowsSettings}"
    assembly = "{urn:schemas-microsoft-com:asm.%s}"
    root = ElementTree.fromstring(data)
    level = next(root.iter(assembly % "v3" + "requestedExecutionLevel"))
    systems = [node.get("Id") for node in root.iter("{urn:schemas-microsoft-com:compatibility.v1}supportedOS")]

    expect(path, "the version in its manifest", root.find(assembly % "v1" + "assemblyIdentity").get("version"), version + ".0")
    expect(path, "its execution level", (level.get("level"), level.get("uiAccess")), ("asInvoker", "false"))
    expect(path, "supportedOS", systems, [WINDOWS_10])
    expect(path, "activeCodePage", root.findtext(f".//{settings % 2019}activeCodePage"), "UTF-8")
    expect(path, "longPathAware", root.findtext(f".//{settings % 2016}longPathAware"), "true")


def check_debugging_information(path, program, image):
    debug_path = os.path.join(os.path.dirname(path), program + ".debug")
    left = [name for name in image.sections if name.startswith(".debug_")]
    expect(path, "its debugging information", left, [])
    expect(path, "its number of symbols", image.symbol_count, 0)
    if ".gnu_debuglink" not in image.sections:
        faults.append(f"{path}: no link to its debugging information")
        return
    link = image.sections[".gnu_debuglink"][1]
    name = link[:link.index(b"\0")].decode()
    checksum, = struct.unpack_from("<I", link, (len(name) + 4) & ~3)
    expect(path, "the link to its debugging information", name, program + ".debug")
    with open(debug_path, "rb") as file:
        expect(path, "the checksum of its debugging information", checksum, zlib.crc32(file.read()))
    debug = Program(debug_path)
    if len(debug.sections.get(".debug_info", (0, b""))[1]) < 100000 or debug.symbol_count < 1000:
        faults.append(f"{debug_path}: no debugging information")
    if image.size > debug.size / 2:
        faults.append(f"{path}: {image.size} bytes, and its debugging information {debug.size}: it is not stripped")


def main(arguments):
    version, paths = arguments[0], arguments[1:]
    for path in paths:
        program = os.path.splitext(os.path.basename(path))[0]
        image = Program(path)
        resources = image.resources()
        kinds = {RT_VERSION, RT_MANIFEST} | ({RT_MESSAGETABLE} if program == "etw_exporter" else set())
        expect(path, "the types of its resources", sorted(resources), sorted(kinds))
        for kind, check in ((RT_VERSION, lambda data: check_version(path, data, version, program)),
                            (RT_MANIFEST, lambda data: check_manifest(path, data, version))):
            expect(path, f"the ids of its resources of type {kind}", list(resources.get(kind, {})), [1])
            if 1 in resources.get(kind, {}):
                check(resources[kind][1])
        check_debugging_information(path, program, image)
    print("\n".join(faults) or f"ok: {', '.join(os.path.basename(path) for path in paths)}")
    return 1 if faults or not paths else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
