#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the built programs have against the misuse of mistakes with memory (cmake/hardening.cmake), read from the programs
themselves: test_hardening.py PROGRAM... With --library FILE also what a static library calls, which must not be files or programs.
Beside PROGRAM stands PROGRAM.map, which the linker wrote: it names the static libraries that are in the program.

Linux: position-independent, not executable data, read-only relocations that are bound at the start, stack protector, checked
string functions (FORTIFY), no gaps in the growth of the stack, control-flow protection of every object. Windows: the same as far as
it exists there, and no DLL that could be taken from the folder of the program.

The flags of each object are read from its debugging information, where the compiler notes them (DW_AT_producer); that of a program of
Windows is in a file beside it. Each object that the linker took from a static library is looked for in that library: one without such
flags or without debugging information is a fault. Excepted are the libraries of the compiler, which the distribution builds.
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

# The libraries of the compiler and of Windows' interfaces: built by the distribution, in its way.
TOOLCHAIN = re.compile(r"^/usr/lib/gcc/|^/usr/(lib/)?x86_64-w64-mingw32/|^/usr/lib/[^/]+/libc_nonshared\.a$")

# Objects of a library that may call one: those that make a sentence of their own words about a call that comes at the wrong time.
EXCEPT = {("libarchive.a", "archive_check_magic.c.o"): {"stpcpy", "strcat"}}

# Of these not even a library may call one.
BANNED_EVERYWHERE = {"gets", "popen", "_popen", "_wpopen", "system"}

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
    ours = [name for name, flags in objects if re.search(r"civetweb|libxcrypt|^(crypto|providers|ssl)/|/(base|config|etwtool|exporter|lib|metrics|selftest)/", name)]
    if len(ours) < (1 if library_too else 20):
        fault(path, f"only {len(ours)} objects have debugging information")
    for name, flags in objects:
        # Those of the C library and of packages are built by the distribution, in its way.
        if name in ours:
            for flag in wanted:
                if flag not in flags:
                    fault(path, f"{name} is built without {flag}")


def linked_objects(program):
    """{static library: objects that the linker took from it}, of a map of GNU ld. Folders are relative to that of the program."""
    folder = os.path.dirname(os.path.abspath(program))
    libraries = {}
    with open(os.path.splitext(program)[0] + ".map", encoding="utf-8") as file:
        for line in file:
            if line.startswith(("As-needed library", "Memory Configuration", "Discarded input sections", "There are no discarded")):
                break
            found = re.match(r"(?:\w+ +0x[0-9a-f]+ +)?(\S[^()]*\.a)\(([^)]*)\)", line) # a common symbol may come first
            if found:
                libraries.setdefault(os.path.normpath(os.path.join(folder, found[1])), set()).add(found[2])
    return libraries


def compiled_members(library, windows):
    """{object of a static library: flags, one list for each unit}; flags of what was assembled are an empty list."""
    members = {}
    for part in re.split(r"^(?=\S[^\n]*:\s+file format )", run(tool("objdump", windows), "--dwarf=info", "--dwarf-depth=1", library), flags=re.M):
        name = re.match(r"(\S[^\n]*):\s+file format ", part)
        if name:
            units = re.findall(r"DW_AT_producer\s*:.*?((?:GNU|clang|Debian clang)[^\n]*)", part)
            members[name[1]] = [[] if unit.startswith("GNU AS") else unit.split() for unit in units]
    return members


def check_libraries(program, windows, wanted):
    libraries = {library: objects for library, objects in linked_objects(program).items() if not TOOLCHAIN.match(library)}
    if len(libraries) < 10 or not any("civetweb" in library for library in libraries) and "etw_exporter" in os.path.basename(program):
        fault(program, f"its map names only {sorted(libraries)}")
    for library, objects in libraries.items():
        if library.endswith("_delayed.a"):  # jumps into a DLL, without code of the compiler
            continue
        members = compiled_members(library, windows)
        for name in sorted(objects):
            if not members.get(name):
                fault(library, f"{name} has no debugging information, which would show its flags")
            for flags in members.get(name, []):
                for flag in wanted:
                    if flags and flag not in flags:
                        fault(library, f"{name} is built without {flag}")
        fortified(library, objects, windows)


def fortified(library, objects, windows):
    """-D_FORTIFY_SOURCE is no flag that the compiler notes. glibc replaces each call of these by one that checks, so a call of them shows
    that an object was built without; MinGW leaves them as they are."""
    plain = set() if windows else {"fprintf", "printf", "vprintf", "vfprintf"}
    for name, symbols in undefined_by_object(library, windows).items():
        for symbol in sorted(symbols & plain) if name in objects else ():
            fault(library, f"{name} calls {symbol}() without a check: FORTIFY is off")
        for symbol in sorted(symbols & BANNED_EVERYWHERE) if name in objects else ():
            fault(library, f"{name} calls {symbol}()")


def callers(program, symbol):
    """(Static library, object) that the program has and that call the function; of objects outside of libraries ("", path)."""
    folder = os.path.dirname(os.path.abspath(program))
    with open(program + ".map", encoding="utf-8") as file:
        own = [os.path.join(folder, name) for name in re.findall(r"^LOAD (\S+\.o)$", file.read(), flags=re.M)]
    return [("", name) for name in own if symbol in undefined(name)] + [
        (os.path.basename(library), name) for library, objects in linked_objects(program).items()
        for name, symbols in undefined_by_object(library, False).items() if name in objects and symbol in symbols]


def undefined_by_object(library, windows):
    symbols, name = {}, None
    for line in run(tool("nm", windows), "--undefined-only", library).splitlines():
        words = line.split()
        if line.endswith(":") and len(words) == 1:
            name = words[0][:-1]
        elif len(words) >= 2:
            symbols.setdefault(name, set()).add(words[-1].removeprefix("__imp_").split("@")[0])
    return symbols


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
        if not all(symbol in EXCEPT.get(caller, ()) for caller in callers(path, symbol) or [None]):
            fault(path, f"it calls {symbol}()")
    # Whether the processor is told of -fcf-protection depends on the start files of the C library, too, which Debian builds without.
    flags = ["-fstack-protector-strong", "-fstack-clash-protection"]
    flags += ["-fcf-protection=full"] if x86 else []
    check_flags(path, False, flags, False)
    check_libraries(path, False, flags)


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
    if "__imp_SetDefaultDllDirectories" not in symbols:
        fault(path, "DLLs that are loaded late come from beside the program, too")
    if "__stack_chk_fail" not in symbols:
        fault(path, "no stack protector")
    if not re.search(r"\b__\w+_chk\b|\b__chk_fail\b", symbols):
        fault(path, "no checked functions: FORTIFY is off")
    check_flags(with_symbols, True, ["-fstack-protector-strong"], False)
    check_libraries(path, True, ["-fstack-protector-strong"])


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
