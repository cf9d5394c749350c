#!/usr/bin/env python3
"""Damages recordings at random and runs every command of both programs on each.

usage: mutate.py BUILD_DIR [--count N] [--seed N] [--seconds N] [--jobs N] [--keep DIR] [RECORDING ...]

BUILD_DIR has the programs of the preset asan. Without RECORDING the sample is damaged, and the recordings in
../shared/traces if they are there. Mutant number i of a seed is always the same. A finding is a program that ends by a
signal, with a status that cannot be, with a report of a sanitizer, or not within the limits of time, memory and output;
the mutant is then kept, and the exit status is 1.
"""
import argparse
import glob
import multiprocessing
import os
import random
import re
import resource
import struct
import subprocess
import sys
import tempfile
import time

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
BASE_SIZE_MOST = 64 << 10  # of a recording before it is damaged: a run is to take some milliseconds
CPU_SECONDS = 60
OUTPUT_BYTES = 256 << 20
COLLECTORS = ["image", "cpu", "interrupt", "sched", "file_top", "disk_cause", "minifilter"]
INTERESTING = [0, 1, 7, 8, 0x48, 0x7F, 0x80, 0xFF, 0x100, 0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000,
               0xFFFFFFFF, 0x100000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000, 0x8000000000000001, 0xFFFFFFFFFFFFFFFF]


def commands(build, path):
    tool = os.path.join(build, "etwtool")
    exporter = os.path.join(build, "etw_exporter")
    replay = [exporter, "--once", "--log.level=error", "--replay.file=" + path]
    return [
        replay + ["--collector." + name for name in COLLECTORS],
        replay + ["--replay.single-pass"],
        [tool, "summary", path],
        [tool, "stats", path],
        [tool, "providers", path, "--format", "json"],
        [tool, "providers", path, "--export-manifests", path + ".manifests"],
        [tool, "fields", path, "*"],
        [tool, "fields", path, "*/Read"],
        [tool, "dump", path],
        [tool, "dump", path, "--format", "text", "--stacks"],
        [tool, "dump", path, "--format", "csv", "--per-kind", "20", "--builtin"],
        [tool, "dump", path, "--format", "text", "--from", "1", "--where", "Process ne x"],
        [tool, "backfill", path, "--step", "1h", "--pages", "20"],
        [tool, "top", path, "--speed", "0", "--batch"],
        [tool, "report", path, "-o", "-"],
        [tool, "diff", path, path, "--all"],
        [tool, "doctor", path],
        [tool, "relog", path, "-o", path + ".relogged", "--drop-stacks", "--compress"],
        [tool, "relog", path, "-o", path + ".relogged", "--process", "*", "--split", "1MB"],
        [tool, "check", "config", os.path.join(SOURCE, "config", "etw_exporter.yaml"), "--with", path],
    ]


def first_buffers(data):
    """The buffers at the start of a recording, up to BASE_SIZE_MOST bytes; each begins with its size."""
    at = 0
    while at + 4 <= len(data):
        size = struct.unpack_from("<I", data, at)[0]
        if size < 0x48 or at + size > BASE_SIZE_MOST:
            break
        at += size
    return data[:at] if at > 0 else data[:BASE_SIZE_MOST]


def damage_once(data, others, chance):
    kind = chance.randrange(10)
    at = chance.randrange(len(data))
    if kind < 2:
        data[at] ^= 1 << chance.randrange(8)
    elif kind < 3:
        data[at] = chance.randrange(256)
    elif kind < 6:  # a number, mostly where numbers stand
        size = chance.choice([1, 2, 4, 8])
        at -= at % chance.choice([1, size])
        value = chance.choice(INTERESTING) + chance.choice([0, 0, 0, 1, -1])
        piece = (value % (1 << 64)).to_bytes(8, "little")[:size]
        data[at:at + size] = piece[:max(0, len(data) - at)]
    elif kind == 6:
        del data[at:at + chance.choice([1, 2, 4, 8, 72, chance.randrange(1, 4096)])]
    elif kind == 7:
        piece = data[at:at + chance.choice([1, 4, 8, 32, 80, chance.randrange(1, 65536)])]
        to = chance.randrange(len(data))
        data[to:to] = piece
    elif kind == 8:  # of another recording, over what is here
        other = chance.choice(others)
        piece = other[chance.randrange(len(other)):][:chance.choice([8, 80, 512, 65536])]
        data[at:at + len(piece)] = piece
    elif chance.randrange(4) == 0:
        del data[at:]
    else:  # the header record, which all times depend on
        at = min(len(data) - 8, 0x48 + 8 * chance.randrange(45))
        data[at:at + 8] = (chance.choice(INTERESTING)).to_bytes(8, "little")


def mutant(seed, number, bases):
    chance = random.Random(f"{seed} {number}")
    data = bytearray(chance.choice(bases))
    for _ in range(chance.choice([1, 1, 1, 2, 3, 5, 10, 40])):
        damage_once(data, bases, chance)
        if not data:
            data = bytearray(b"\0")
    return bytes(data)


def ended(command, strict, out, err):
    """Runs a command and returns its status. Its output is limited like that of this process."""
    environment = dict(os.environ,
                       ASAN_OPTIONS=f"detect_leaks=1:strict_string_checks={strict:d}:hard_rss_limit_mb=2048",
                       UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1")
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=err, env=environment) as process:
        try:
            resource.prlimit(process.pid, resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS))
        except ProcessLookupError:
            pass  # it has ended
        return process.wait()


def fault_of(command, strict, folder):
    """What is wrong with a run, or None. strict: strings are checked up to their end, which takes most of a run."""
    with open(os.path.join(folder, "out"), "w+b") as out, open(os.path.join(folder, "err"), "w+b") as err:
        status = ended(command, strict, out, err)
        err.seek(0)
        said = err.read(1 << 16).decode("utf-8", "replace")
        out.seek(0)
        page = out.read() if "--once" in command else b""
    if status < 0:
        return f"ended by signal {-status}: {said[-2000:]}"
    if "runtime error" in said or "Sanitizer" in said:
        return said[:4000]
    if status > (2 if "fields" in command else 1):
        return f"status {status}: {said[-2000:]}"
    if status != 0 and not said:
        return f"status {status} without a message"
    negative = re.search(rb"^[^#\n]*_(?:total|bucket|count|sum)(?:\{.*\})? (?:-|.*[Nn]a[Nn]).*$", page, re.M)
    return f"a counter below 0: {negative.group(0)!r}" if negative else None


def try_mutant(number):
    """Runs every command on a mutant; returns the number of runs and a line for each finding."""
    arguments, bases, folder, deadline = shared
    if time.monotonic() > deadline:
        return 0, []
    folder = os.path.join(folder, str(os.getpid()))
    os.makedirs(folder, exist_ok=True)
    path = os.path.join(folder, "mutant.etl")
    data = mutant(arguments.seed, number, bases)
    with open(path, "wb") as file:
        file.write(data)
    runs = commands(arguments.build, path)
    faults = [(command, fault) for i, command in enumerate(runs)
              if (fault := fault_of(command, i == number % len(runs), folder))]
    kept = os.path.join(arguments.keep, f"mutant-{arguments.seed}-{number}.etl")
    if faults:
        os.makedirs(arguments.keep, exist_ok=True)
        with open(kept, "wb") as file:
            file.write(data)
    return len(runs), [f"{kept}: {' '.join(command)}: {fault}" for command, fault in faults]


def start_job(*values):
    global shared
    shared = values  # arguments, bases, a folder for temporary files, the time of the end
    resource.setrlimit(resource.RLIMIT_FSIZE, (OUTPUT_BYTES, OUTPUT_BYTES))


def bases_of(arguments, folder):
    paths = arguments.recordings
    if not paths:
        sample = os.path.join(folder, "sample.etl")
        subprocess.check_call([os.path.join(arguments.build, "make_sample"), sample], stdout=subprocess.DEVNULL)
        paths = [sample] + sorted(glob.glob(os.path.join(SOURCE, "..", "shared", "traces", "*.etl")))
    bases = []
    for path in paths:
        with open(path, "rb") as file:
            bases.append(first_buffers(file.read(BASE_SIZE_MOST + (1 << 20))))
    return bases


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("usage: ")[1].split("\n")[0])
    parser.add_argument("build")
    parser.add_argument("recordings", nargs="*")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--seconds", type=float, default=1e9, help="start no further mutant after so long")
    parser.add_argument("--keep", default="build/fuzz/findings")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)), help="mutants at the same time")
    arguments = parser.parse_args()
    start = time.monotonic()
    tried = runs = findings = 0

    with tempfile.TemporaryDirectory() as folder:
        bases = bases_of(arguments, folder)
        numbers = range(arguments.first, arguments.first + arguments.count)
        values = arguments, bases, folder, start + arguments.seconds
        with multiprocessing.Pool(arguments.jobs, start_job, values) as pool:
            for count, faults in pool.imap_unordered(try_mutant, numbers, chunksize=4):
                tried += count > 0
                runs += count
                findings += len(faults)
                for line in faults:
                    print(line, flush=True)
    print(f"{tried} damaged recordings, {runs} runs, {findings} findings, {time.monotonic() - start:.0f} s")
    return 1 if findings or tried == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
