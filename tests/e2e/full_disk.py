#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fills the disk under what the programs write: full_disk.py WORK limit|disk, run by full_disk.sh.

Each command is run once to learn how much it writes, then with room for less: nothing, one byte, one page, half, all but one byte.
`limit` bounds the size of each file (setrlimit(2)), which is exact and gives short writes; `disk` leaves that room on the disk of
WORK/disk, in pages.
"""
import gzip
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

from recorder_server import PATIENCE_S, RecorderServer

EXPORTER, TOOL, TOOL_ON_FAKE = os.environ["ETW_EXPORTER"], os.environ["ETWTOOL"], os.environ["ETWTOOL_ON_FAKE"]
WORK, WAY = Path(sys.argv[1]), sys.argv[2]
SMALL, SAMPLE = WORK / "small" / "every-class.etl", WORK / "sample.etl"
PAGE = 4096
REASON = {"limit": "File too large", "disk": "No space left on device"}[WAY]
FOLDER = (WORK if WAY == "limit" else WORK / "disk") / "out"
faults = []


class Case:
    """A command. output: what it writes, a file of FOLDER; None: the standard output, which is a file of this name then. old: what
    the file has before, where the command replaces only files of its own. keeps: what was written stays, under another name that
    the command names. varies: what it writes is not always as long."""

    def __init__(self, *arguments, program=TOOL, output=None, old=None, keeps=False, input=b"", names=None, varies=False):
        self.arguments, self.program, self.output, self.old = [str(a) for a in arguments], program, output, old
        self.keeps, self.input, self.names = keeps, input, names or output or "standard output"
        self.varies = varies
        self.name = f"{Path(program).name} {' '.join(self.arguments)}"


CASES = [
    Case("relog", SMALL, "-o", "copy.etl", output="copy.etl", old=SMALL),
    Case("relog", SMALL, "-o", "packed.etl", "--compress", output="packed.etl"),
    Case("relog", SMALL, "-o", "hidden.etl", "--anonymise", "--key", WORK / "key", output="hidden.etl"),
    Case("relog", SMALL, "-o", "some.etl", "--where", "Process ne x", output="some.etl"),
    Case("relog", SAMPLE, "-o", "part.etl", "--split", "1MB", output="part_000001.etl", names="part"),
    Case("relog", SMALL, "-o", "-", names="a temporary file"),
    Case("report", SMALL, "-o", "report.html", output="report.html"),
    Case("doctor", SMALL.parent / "config.yaml", "--profile", "profile.wprp", output="profile.wprp"),
    Case("providers", "--export-manifests", ".", SMALL, output="Contoso-Every.man", names=".man"),
    Case("dump", SMALL),
    Case("summary", SMALL),
    Case("backfill", SMALL, "--step", "1h", varies=True),
    Case("--once", f"--replay.file={SMALL}", program=EXPORTER, varies=True),
    Case("record", "recorded.etl", program=TOOL_ON_FAKE, output="recorded.etl", old=SMALL, keeps=True,
         input=f"burst {SMALL} 2000\nstop\nquit\n".encode()),
]


def files():
    return {str(path.relative_to(FOLDER)): path.read_bytes() for path in FOLDER.rglob("*") if path.is_file()}


class Room:
    """So many bytes are left while a command runs."""

    def __init__(self, size):
        self.size, self.filler = size, WORK / "disk" / "filler"

    def __enter__(self):
        if WAY == "disk" and self.size is not None:
            statistics = os.statvfs(self.filler.parent)
            rest = statistics.f_bavail * statistics.f_frsize - self.size
            with open(self.filler, "wb") as file:
                if rest > 0:
                    os.posix_fallocate(file.fileno(), 0, rest)
        return self

    def __exit__(self, *_):
        self.filler.unlink(missing_ok=True)

    def apply(self):
        """In the process of the command."""
        if WAY == "limit" and self.size is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (self.size, self.size))


def run(case, size):
    """Exit status, words, and the files that are left. The standard output goes through a pipe, except where it is what is filled."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    if case.old:
        shutil.copy(case.old, FOLDER / case.output)
    out = subprocess.PIPE if case.output else open(FOLDER / "out", "wb")
    with Room(size) as room:
        done = subprocess.run([case.program, *case.arguments], input=case.input, stdout=out, stderr=subprocess.PIPE, cwd=FOLDER,
                              preexec_fn=room.apply, env={**os.environ, "TMPDIR": str(FOLDER)}, timeout=PATIENCE_S)
    if not case.output:
        out.close()
    return done.returncode, done.stderr.decode("utf-8", "replace"), files()


def complaint(case, size, status, said, left):
    """What is wrong; None: nothing."""
    if status != 1:
        return f"exit {status}: {said[-300:]}"
    if REASON not in said or case.names not in said:
        return f"neither the file nor the reason: {said[-300:]}"
    before = {case.output: case.old.read_bytes()} if case.old else {}
    for name, content in before.items():
        if left.pop(name, None) != content:
            return f"{name} is not what it was"
    left.pop("out", None)
    if case.keeps:
        left = {name: content for name, content in left.items() if name not in said or not name.endswith(".partial")}
    if any(not name.endswith(".man") or name == case.output for name in left):  # those of other providers are whole
        return f"{sorted(left)} stay"
    return None


def check(case):
    status, said, whole = run(case, None)
    if status != 0:
        raise SystemExit(f"FAIL: {case.name}: exit {status}: {said}")
    size = max(len(content) for content in whole.values())
    sizes = {0, 1, PAGE, size // 2, size - 1} if WAY == "limit" else {0, PAGE, size // 2 // PAGE * PAGE, (size - 1) // PAGE * PAGE}
    for room in sorted(sizes):
        if room < size - (PAGE if case.varies else 0):
            wrong = complaint(case, room, *run(case, room))
            if wrong:
                faults.append(f"{case.name}: room for {room} of {size} bytes: {wrong}")
    print(f"{case.name.replace(str(WORK), '')}: {len(sizes)} times less room than for {size} bytes", flush=True)


# ---- a temporary file ----


def check_unpacking():
    """A recording is unpacked into a temporary file, for which there is no room: on a full disk nothing of it is written."""
    reason = {"limit": REASON, "disk": "needs at least "}[WAY]
    case = Case("summary", f"{SAMPLE}.gz")
    case.output = "-"  # is not what is filled
    for room in (0, PAGE, 1 << 20):
        status, said, left = run(case, room)
        if status != 1 or reason not in said or "sample.etl.gz" not in said or left:
            faults.append(f"{case.name}: room for {room} bytes: exit {status}, {sorted(left)} stay: {said[-300:]}")
    if WAY == "disk":
        check_bomb()
    print("a recording that is unpacked", flush=True)


def check_bomb():
    """What unpacks to 900 times its size, and to more than is free, does not get a byte of the disk: a limit of 0 bytes for each file
    is not reached."""
    bomb = WORK / "bomb.etl.gz"
    bomb.write_bytes(gzip.compress(bytes(100 << 20), 9))  # the disk has 64 MB
    done = subprocess.run([TOOL, "summary", bomb], capture_output=True, text=True, timeout=PATIENCE_S, env={**os.environ, "TMPDIR": str(FOLDER)},
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
    if done.returncode != 1 or f"needs at least {100 << 20} bytes" not in done.stderr:
        faults.append(f"a bomb on a small disk: exit {done.returncode}: {done.stderr}")


# ---- a server ----


def check_flight_recorder():
    """It says that its recording could not be written, counts it, leaves no file, and the server goes on."""
    shutil.rmtree(FOLDER, ignore_errors=True)
    (FOLDER / "rec").mkdir(parents=True)
    room = Room(PAGE)
    server = RecorderServer(EXPORTER, SAMPLE, FOLDER, preexec_fn=room.apply)
    with room:
        status, answer = server.ask("POST", "/-/record")
    reasons = (REASON, "bytes free; a recording needs")
    if status < 500 or not any(reason in answer for reason in reasons):
        faults.append(f"a flight recorder answers {status}: {answer}")
    if list((FOLDER / "rec").iterdir()):
        faults.append(f"a flight recorder leaves {list((FOLDER / 'rec').iterdir())}")
    status, page = server.ask("GET", "/metrics")
    if 'etw_exporter_recorder_recordings_total{result="failed"} 1\n' not in page:
        faults.append("a recording that failed is not counted")
    exit_status = server.stop()
    if exit_status != 0:
        faults.append(f"the server ends with status {exit_status}")
    if not any("Recording was not written" in line and any(reason in line for reason in reasons) for line in server.log):
        faults.append(f"no word about the recording in the log: {server.log[-3:]}")
    print("a flight recorder", flush=True)


def main():
    (SMALL.parent / "config.yaml").write_text("collectors: { cpu: on }\n")
    for case in CASES:
        check(case)
    check_unpacking()
    check_flight_recorder()
    for fault in faults:
        print("FAIL:", fault, file=sys.stderr)
    sys.exit(bool(faults))


main()
