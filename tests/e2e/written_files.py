#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every file that a command writes, where another user has put traps: written_files.py WORK [WINE], run by written_files.sh.

The traps have each name that the command writes, and names that a guess would find. They are links to files outside, a second name of a
file outside, links to nowhere, to a folder and to a device, pipes and folders. After each run everything outside is as it was, a pipe, a
device and a folder are still there, and the command has either written its file or said why not. Then: a command that is killed leaves
nothing with the names of a recording, and a flight recorder goes on among traps.

With WINE the programs of Windows are run, without what they have no part in: devices and pipes of Unix, rights, killed programs,
and the recorder. Junctions are in tests/base/test_os_win32.c, because Wine 8 has none.
"""
import os
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from recorder_server import PATIENCE_S, RecorderServer

EXPORTER, TOOL, TOOL_ON_FAKE = os.environ["ETW_EXPORTER"], os.environ["ETWTOOL"], os.environ["ETWTOOL_ON_FAKE"]
WORK, WINE = Path(sys.argv[1]), sys.argv[2:]
SMALL, SAMPLE = WORK / "small" / "every-class.etl", WORK / "sample.etl"
HERE, OUTSIDE = WORK / "here", WORK / "outside"
CONTENT = b"a file of another user\n"
faults = []


class Case:
    """A command that writes these files into its working folder."""

    def __init__(self, *arguments, outputs, program=TOOL, input=b""):
        self.arguments, self.outputs, self.program, self.input = [str(a) for a in arguments], outputs, program, input
        self.name = f"{Path(program).name} {' '.join(self.arguments)}"


CASES = [
    Case("relog", SMALL, "-o", "out.etl", outputs=["out.etl"]),
    Case("relog", SMALL, "-o", "out.etl", "--anonymise", "--where", "Process ne x", outputs=["out.etl"]),
    Case("relog", SAMPLE, "-o", "out.etl", "--split", "2MB", outputs=[f"out_{i:06}.etl" for i in range(1, 6)]),
    Case("report", SMALL, "-o", "out.html", outputs=["out.html"]),
    Case("doctor", SMALL.parent / "config.yaml", "--profile", "out.wprp", outputs=["out.wprp"]),
    Case("providers", "--export-manifests", ".", SMALL, outputs=["Service.man"]),
    Case("record", "out.etl", program=TOOL_ON_FAKE, outputs=["out.etl"], input=f"burst {SMALL} 200\nstop\nquit\n".encode()),
]
# Commands that write to the standard output alone.
WRITE_NOTHING = [
    ("stats", SMALL), ("top", SMALL, "--plain"), ("summary", SMALL), ("diff", SMALL, SMALL), ("fields", SMALL, "*"), ("dump", SMALL),
    ("backfill", SMALL, "--step", "1h"), ("check", SMALL.parent / "config.yaml"), ("metrics",), ("sessions",),
]


def state(folder):
    """What is in a folder: kinds, rights, times and contents."""
    found = {}
    for path in sorted(folder.rglob("*")):
        facts = path.lstat()
        content = path.read_bytes() if stat.S_ISREG(facts.st_mode) else os.readlink(path) if stat.S_ISLNK(facts.st_mode) else None
        found[str(path.relative_to(folder))] = (facts.st_mode, facts.st_mtime_ns, facts.st_ino, content)
    return found


def make_outside():
    shutil.rmtree(OUTSIDE, ignore_errors=True)
    (OUTSIDE / "folder").mkdir(parents=True)
    for name in ("victim", "twin"):
        (OUTSIDE / name).write_bytes(CONTENT)
        (OUTSIDE / name).chmod(0o640)


def link(target):
    return lambda path: path.symlink_to(target)


# Kinds of traps, and whether the command may put its file in the place of one.
TRAPS = {
    "a link to a file": (link(OUTSIDE / "victim"), True),
    "a second name of a file": (lambda path: os.link(OUTSIDE / "twin", path), True),
    "a link to nowhere": (link(OUTSIDE / "new"), True),
    "a link to a folder": (link(OUTSIDE / "folder"), False),
    "a link to a device": (link("/dev/null"), False),
    "a pipe": (os.mkfifo, False),
    "a folder": (lambda path: path.mkdir(), False),
}


def guesses(output):
    """Names that this or an earlier version might have used on the way."""
    return [f"{output}{end}" for end in (".partial", ".00000000.partial", ".0000000000000000.partial", ".tmp", "~")]


if WINE:
    TRAPS = {kind: trap for kind, trap in TRAPS.items() if kind not in ("a link to a device", "a pipe")}


def run(program, arguments, input=b""):
    """Wine keeps files of its own in TMPDIR, and its background processes keep a pipe open."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        done = subprocess.run([*WINE, program, *map(str, arguments)], input=input, stdout=out, stderr=err, cwd=HERE,
                              env={**os.environ, **({} if WINE else {"TMPDIR": str(HERE)})}, timeout=PATIENCE_S)
        for file in (out, err):
            file.seek(0)
        done.stdout, done.stderr = out.read(), err.read()
    return done


def check(case):
    for kind, (make, replaced) in TRAPS.items():
        shutil.rmtree(HERE, ignore_errors=True)
        HERE.mkdir()
        make_outside()
        for output in case.outputs:
            make(HERE / output)
            for name in guesses(output):
                make(HERE / name)
        outside, here = state(OUTSIDE), state(HERE)
        done = run(case.program, case.arguments, case.input)
        said = done.stderr.decode("utf-8", "replace")[-300:]
        if state(OUTSIDE) != outside:
            faults.append(f"{case.name}: {kind}: something outside changed")
        after = state(HERE)
        for name, was in here.items():
            if name in case.outputs and replaced and done.returncode == 0:
                mode, _, inode, content = after.get(name, (0, 0, 0, None))
                if not stat.S_ISREG(mode) or (mode & 0o077 and not WINE) or not content or content == CONTENT:
                    faults.append(f"{case.name}: {kind}: {name} is no new file of the user alone")
            elif after.get(name) != was:
                faults.append(f"{case.name}: {kind}: {name} is not what it was")
        if set(after) - set(here):
            faults.append(f"{case.name}: {kind}: {sorted(set(after) - set(here))} are new")
        if not replaced and (done.returncode != 1 or not said):
            faults.append(f"{case.name}: {kind}: exit {done.returncode}: {said}")
        if done.returncode not in (0, 1) or done.returncode == 1 and not said:
            faults.append(f"{case.name}: {kind}: exit {done.returncode}: {said}")
        if done.returncode == 1 and replaced and "so it stays as it is" not in said:  # it replaces files of its own alone
            faults.append(f"{case.name}: {kind}: exit 1: {said}")
    print(case.name, flush=True)


def check_others():
    """Each command is in one of the two tables, and those of the second write no file."""
    names = {words[0] for words in re.findall(r"^  ([a-z]+)( +)[A-Z]", run(TOOL, ["--help"]).stdout.decode(), flags=re.M)}
    known = {case.arguments[0] for case in CASES} | {arguments[0] for arguments in WRITE_NOTHING}
    if names != known:
        faults.append(f"the commands are {sorted(names)}, the tables have {sorted(known)}")
    before = state(HERE)
    for arguments in WRITE_NOTHING:
        run(TOOL, arguments)
        if state(HERE) != before:
            faults.append(f"etwtool {arguments[0]} has written a file")


# ---- programs that are killed ----

def has_nameless_files():
    try:
        os.close(os.open(HERE, os.O_TMPFILE | os.O_RDWR))
        return True
    except OSError:
        return False


def open_in(process, folder):
    """Whether the process has a file in the folder open, with or without a name."""
    try:
        links = [os.readlink(path) for path in Path(f"/proc/{process.pid}/fd").iterdir()]
    except OSError:
        return False
    return any(name.startswith(f"{folder}/") for name in links)


def check_killed(*arguments):
    process = subprocess.Popen([TOOL, *map(str, arguments)], cwd=HERE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while process.poll() is None and not open_in(process, HERE):
        time.sleep(0.001)
    process.kill()
    process.wait()
    left = sorted(path.name for path in HERE.iterdir())
    if left:
        faults.append(f"etwtool {arguments[0]}, killed: {left} stay")
    return process.returncode == -signal.SIGKILL


# ---- a flight recorder ----

def check_recorder():
    """Among traps with the names of recordings it writes, keeps two, and touches nothing else; a folder that others may write to is
    reported."""
    shutil.rmtree(HERE, ignore_errors=True)
    (HERE / "rec").mkdir(parents=True)
    make_outside()
    for i, (make, _) in enumerate(TRAPS.values()):
        make(HERE / "rec" / f"etw_exporter-2020010{i}T000000.000Z.etl")
        make(HERE / "rec" / f"etw_exporter-2020010{i}T000000.000Z.etl.0123456789abcdef.partial")
    for name in ("etw_exporter-test", "etw_exporter-test.etl.partial"):
        (HERE / "rec" / name).symlink_to(OUTSIDE / "victim")
    (HERE / "rec").chmod(0o777)
    outside, before = state(OUTSIDE), state(HERE / "rec")
    # A second name of a file is a regular file; to remove it takes nothing from the other one.
    files = {name for name, (mode, *_) in before.items() if stat.S_ISREG(mode)}
    server = RecorderServer(EXPORTER, SAMPLE, HERE, ", keep: 2")
    end = time.monotonic() + PATIENCE_S
    written = []
    while len(written) < 4 and time.monotonic() < end:
        status, answer = server.ask("POST", "/-/record")
        if status == 200:
            written.append(Path(answer.strip()).name)
        elif status != 429:
            faults.append(f"a recorder among traps answers {status}: {answer}")
            break
        time.sleep(0.1)
    server.stop()
    after = state(HERE / "rec")
    if set(after) - set(before) != set(written[-2:]):
        faults.append(f"a recorder among traps keeps {sorted(set(after) - set(before))} of {written}")
    for name in set(before) - files:
        if after.get(name) != before[name]:
            faults.append(f"a recorder changed {name}")
    facts = state(OUTSIDE)
    if facts != outside:
        faults.append("a recorder changed something outside")
    if not any("Others may remove and replace recordings" in line and "chmod go-w" in line for line in server.log):
        faults.append(f"no word about a folder that others may write to: {server.log}")
    print("a flight recorder", flush=True)


def finish():
    for fault in faults:
        print("FAIL:", fault, file=sys.stderr)
    sys.exit(bool(faults))


def main():
    (SMALL.parent / "config.yaml").write_text("collectors: { cpu: on }\n")
    for case in CASES:
        check(case)
    if WINE:
        finish()
    check_others()
    shutil.rmtree(HERE)
    HERE.mkdir()
    if has_nameless_files():
        killed = [check_killed("relog", SAMPLE, "-o", "out.etl", *rest) for rest in
                  ([], ["--anonymise"], ["--anonymise", "--where", "Process ne x"], ["--split", "100MB"])]
        print(f"killed while it wrote: {sum(killed)} of {len(killed)}", flush=True)
    else:
        print("this disk has no files without names: no program is killed", flush=True)
    check_recorder()
    finish()


main()
