#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the built programs have against the misuse of mistakes with memory (cmake/hardening.cmake), read from the programs
themselves: test_hardening.py PROGRAM... With --library FILE also what a static library calls, which must not be files or programs.

Linux: position-independent, not executable data, read-only relocations that are bound at the start, stack protector, checked
string functions (FORTIFY), no gaps in the growth of the stack, control-flow protection of every object. Windows: the same as far as
it exists there, and no DLL that could be taken from the folder of the program.

The flags of each object are read from its debugging information, where the compiler notes them (DW_AT_producer); that of a program of
Windows is in a file beside it.
"""
import os
import re
import struct
import subprocess
import sys

# "Dynamic-Link Library Security", "Dynamic-link library search order", Microsoft Learn: the known DLLs of Windows 10, as its registry
# lists them (HKLM\SYSTEM\CurrentControlSet\Control\Session Manager\KnownDLLs), of those that we use; ntdll is in every process.
KNOWN_DLLS = {"advapi32.dll", "kernel32.dll", "msvcrt.dll", "ntdll.dll", "ole32.dll", "rpcrt4.dll", "shell32.dll", "user32.dll", "ws2_32.dll"}

# Functions that take no size of what they write to, and such as start programs.
BANNED = {"sprintf", "vsprintf", "strcpy", "strcat", "stpcpy", "gets", "popen", "system", "execl", "execv", "execvp", "execve", "posix_spawn"}

# What only a server of files or programs calls.
BANNED_IN_LIBRARY = BANNED | {"opendir", "mkdir", "fork", "sendfile", "sendfile64", "_wpopen", "_popen"}

faults = []


def fault(program, sentence):
    faults.append(f"{program}: {sentence}")


def run(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True, errors="replace").stdout


def tool(name, windows):
    return f"x86_64-w64-mingw32-{name}" if windows else name


def producers(path, windows):
    """(object, flags of the compiler) for each object of C with debugging information."""
    # -g notes one DIE for each object; of those below it nothing is needed.
    text = run(tool("objdump", windows), "--dwarf=info", "--dwarf-depth=1", path)
    for unit in re.split(r"\(DW_TAG_compile_unit\)", text)[1:]:
        producer = re.search(r"DW_AT_producer\s*:.*?((?:GNU|clang|Debian clang)[^\n]*)", unit)
        name = re.search(r"DW_AT_name\s*:\s*(?:\([^)]*\):\s*)?([^\n]*)", unit)
        if producer and producer[1].startswith(("GNU C", "clang", "Debian clang")):
            yield name[1].strip() if name else "?", producer[1].split()


def check_flags(path, windows, wanted, library_too):
    objects = list(producers(path, windows))
    ours = [name for name, flags in objects if re.search(r"civetweb|/(exporter|config|metrics)/", name)]
    if len(ours) < (1 if library_too else 20):
        fault(path, f"only {len(ours)} objects have debugging information")
    for name, flags in objects:
        # Those of the C library and of packages are built by the distribution, in its way.
        if name in ours:
            for flag in wanted:
                if flag not in flags:
                    fault(path, f"{name} is built without {flag}")


def undefined(path, *options):
    symbols = set()
    for line in run("nm", "--undefined-only", *options, path).splitlines():
        words = line.split()
        if len(words) >= 2 and words[-2] in "Uw":
            symbols.add(words[-1].split("@")[0])
    return symbols


# ---- Linux ----

def check_elf(path):
    header = run("readelf", "--wide", "--file-header", "--program-headers", "--dynamic", "--notes", path)
    x86 = "X86-64" in header
    if "DYN (" not in header or not re.search(r"FLAGS_1.*\bPIE\b", header):
        fault(path, "it is not position-independent (PIE)")
    if "GNU_RELRO" not in header or not re.search(r"FLAGS(_1)?\).*\b(BIND_NOW|NOW)\b", header):
        fault(path, "relocations stay writable: not full RELRO")
    stack = re.search(r"GNU_STACK.*?(RWE?|R\s?E|R)\s", header)
    if not stack or "E" in stack[1]:
        fault(path, "its stack is executable")
    for line in header.splitlines():
        if re.match(r"\s+LOAD\b", line) and re.search(r"\sRWE\s", line):
            fault(path, "a segment is writable and executable")
    symbols = undefined(path, "--dynamic")
    if "__stack_chk_fail" not in symbols:
        fault(path, "no stack protector")
    if not any(symbol.endswith("_chk") for symbol in symbols):
        fault(path, "no checked functions: FORTIFY is off")
    for symbol in sorted(symbols & BANNED):
        fault(path, f"it calls {symbol}()")
    # Whether the processor is told of -fcf-protection depends on the start files of the C library, too, which Debian builds without.
    flags = ["-fstack-protector-strong", "-fstack-clash-protection"]
    check_flags(path, False, flags + (["-fcf-protection=full"] if x86 else []), False)


# ---- Windows ----

def pe_imports(path):
    """(DllCharacteristics, names of DLLs in the import directory); "PE Format", Microsoft Learn."""
    data = open(path, "rb").read()
    pe, = struct.unpack_from("<I", data, 0x3c)
    sections, = struct.unpack_from("<H", data, pe + 6)
    optional_size, = struct.unpack_from("<H", data, pe + 20)
    optional = pe + 24
    if struct.unpack_from("<H", data, optional)[0] != 0x20b:
        raise ValueError("not PE32+")
    characteristics, = struct.unpack_from("<H", data, optional + 70)
    directory, = struct.unpack_from("<I", data, optional + 112 + 8)
    table = [struct.unpack_from("<8sIIII", data, optional + optional_size + 40 * i) for i in range(sections)]

    def offset(address):
        for _, size, start, raw_size, raw in table:
            if start <= address < start + max(size, raw_size):
                return address - start + raw
        raise ValueError(f"no section at {address:#x}")

    names, at = [], offset(directory)
    while True:
        name, = struct.unpack_from("<I", data, at + 12)
        if name == 0:
            return characteristics, names
        start = offset(name)
        names.append(data[start:data.index(b"\0", start)].decode())
        at += 20


def check_pe(path):
    characteristics, names = pe_imports(path)
    for bit, what in ((0x20, "64-bit addresses are not random (high entropy)"), (0x40, "addresses are not random"), (0x100, "data is executable")):
        if not characteristics & bit:
            fault(path, what)
    if len(names) < 3:
        fault(path, f"only {names} are imported")
    for name in names:
        if name.lower() not in KNOWN_DLLS:
            fault(path, f"{name} is no known DLL: Windows looks for it beside the program first")
    with_symbols = os.path.splitext(path)[0] + ".debug"  # a file of its own (cmake/windows.cmake)
    symbols = run(tool("nm", True), with_symbols)
    if "__stack_chk_fail" not in symbols:
        fault(path, "no stack protector")
    if not re.search(r"\b__\w+_chk\b|\b__chk_fail\b", symbols):
        fault(path, "no checked functions: FORTIFY is off")
    check_flags(with_symbols, True, ["-fstack-protector-strong"], False)


# ---- a static library ----

def check_library(path):
    windows = "mingw32" in path
    symbols = set()
    for line in run(tool("nm", windows), "--undefined-only", path).splitlines():
        symbols.add(line.split()[-1] if line.split() else "")
    for symbol in sorted(symbols):
        if symbol.removeprefix("__imp_") in BANNED_IN_LIBRARY:
            fault(path, f"it calls {symbol}()")
    if "__stack_chk_fail" not in symbols:
        fault(path, "no stack protector")
    if not windows and not any(symbol.endswith("_chk") for symbol in symbols):
        fault(path, "no checked functions: FORTIFY is off")


def main(arguments):
    if "--library" in arguments:
        at = arguments.index("--library")
        check_library(arguments[at + 1])
        if faults:
            print("the library is not what the set-up script builds now: bash .ci/deps-debian.sh or .ci/deps-mingw.sh")
        del arguments[at:at + 2]
    for path in arguments:
        with open(path, "rb") as file:
            magic = file.read(4)
        if magic == b"\x7fELF":
            check_elf(path)
        elif magic[:2] == b"MZ":
            check_pe(path)
        else:
            fault(path, "neither a program of Linux nor of Windows")
    print("\n".join(faults) or f"ok: {', '.join(os.path.basename(path) for path in arguments)}")
    return 1 if faults or not arguments else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
