# SPDX-License-Identifier: MIT
"""Commands that end, each with one call that fails. They use what failing_calls.sh has made in the work folder."""
import json
import re
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

from failing_core import (CONFIG, ENDED_BY_LIBRARY, EXAMPLES, EXPORTER, FILE_CHANGES, INTERRUPTED, MEASURED, MEMORY, OF_ITSELF, PATIENCE_S,
                          RECORDING, SHORT, TOOL, TOOL_ON_FAKE, WORDS_OF_MEMORY, WORK, difference, faults, leak)


class Run:
    """One run of a command, with the files that it leaves in a folder of its own."""

    def __init__(self, worker, command, arguments, extra=()):
        control, folder = worker.control, worker.folder
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        self.timed_out = False
        process = subprocess.Popen([command.program, *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   cwd=folder, env={**control.environment(), "TMPDIR": str(folder), **dict(extra)})
        try:
            out, self.err = process.communicate(command.input, timeout=PATIENCE_S)
        except subprocess.TimeoutExpired:
            process.kill()
            out, self.err = process.communicate()
            self.timed_out = True
        control.disarm()
        self.status = process.returncode
        self.whole_out = out
        self.out = MEASURED.sub(b"", OF_ITSELF.sub(b"", out))
        self.blocks = control.blocks(command.program)
        self.files = {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}

    def said(self):
        return self.err.decode("utf-8", "replace").strip()[-300:]


class Command:
    """A command with its arguments. files: what it writes. input: what it reads. check(run): what is wrong with a run that ended with
    status 0, in place of a comparison with a run in which nothing failed."""

    keeps_server = False

    def __init__(self, program, *arguments, files=(), input=b"", check=None):
        self.program, self.arguments, self.files, self.input, self.check = program, [str(a) for a in arguments], files, input, check
        self.name = f"{Path(program).name} {' '.join(self.arguments)}"
        self.subject = f"{Path(program).name} {self.arguments[0]}"
        self.reference = None

    def learn(self, worker):
        """A run in which nothing fails. Its call sites."""
        worker.control.clear()
        worker.control.arm()
        self.reference = Run(worker, self, self.arguments)
        sites = worker.control.sites(self.program)
        wrong = self.check and self.check(self.reference)
        if self.reference.status != 0 or sorted(self.reference.files) != sorted(self.files) or wrong:
            raise SystemExit(f"FAIL: {self.name}: exit {self.reference.status}, {sorted(self.reference.files)}: {wrong} "
                             f"{self.reference.said()}")
        return sites

    def fail(self, worker, site, action, occurrence):
        extra, arguments = {}, self.arguments
        if action in FILE_CHANGES:
            copy = worker.changes / RECORDING.name
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(RECORDING, copy)
            extra["FAILING_CALLS_FILE"] = str(copy)
            arguments = [argument.replace(str(RECORDING), str(copy)) for argument in arguments]
        worker.control.clear()
        worker.control.arm(site, action, occurrence)
        run = Run(worker, self, arguments, extra)
        if action in FILE_CHANGES:
            run.out = run.out.replace(str(copy.parent).encode(), str(RECORDING.parent).encode())
        return self.complaint(run, site, action)

    def complaint(self, run, site, action):
        """What is wrong with the run; None: nothing."""
        said, reference = run.said(), self.reference
        if run.timed_out:
            return f"it hangs: {said}"
        if run.status < 0:
            return f"ended by {signal.Signals(-run.status).name}: {said}"
        if run.status > 2:
            return f"exit {run.status}: {said}"
        lost = leak(run.blocks, reference.blocks)
        if lost and ENDED_BY_LIBRARY not in said:
            return f"exit {run.status}: {lost}"
        left = [name for name in sorted(run.files) if name not in reference.files and name not in said]
        if left and site.function != "unlink":
            return f"exit {run.status}, and left {', '.join(left)}"
        for name in set(run.files) - set(reference.files):
            del run.files[name]
        return self.success(run, action) if run.status == 0 else self.failure(run, site, action)

    def success(self, run, action):
        if self.check:
            return self.check(run)
        if action in FILE_CHANGES and run.said() != self.reference.said():
            return None
        if run.out != self.reference.out:
            return f"exit 0 with another output: {difference(run.out, self.reference.out)} {run.said()}"
        if run.files != self.reference.files:
            return f"exit 0 with other files: {run.said()}"
        return None

    def failure(self, run, site, action):
        said = run.said()
        if action in (INTERRUPTED, SHORT):
            return f"exit {run.status}, although a second call would have done it: {said}"
        if any(run.files[name] != self.reference.files[name] for name in run.files if name in self.reference.files):
            return f"exit {run.status}, and a file is not whole"
        if run.status == 2 and site.function in MEMORY:
            return f"exit 2 without memory: {said}"
        if not said or site.function in MEMORY and not WORDS_OF_MEMORY.search(said):
            return f"exit {run.status}, and no word about it: {said}"
        return None

    def without_output(self):
        """With a full disk behind standard output, and with a closed one."""
        for name, redirection in (("a full disk", ">/dev/full"), ("closed", ">&-")):
            done = subprocess.run(["bash", "-c", f'exec "$0" "$@" {redirection}', self.program, *self.arguments], input=self.input,
                                  stderr=subprocess.PIPE, cwd=WORK, timeout=PATIENCE_S)
            said = done.stderr.decode("utf-8", "replace")
            if done.returncode != 1 or not re.search("standard output|could not be written", said):
                faults.add(f"{self.name}: standard output is {name}: exit {done.returncode}: {said[-300:]}")


def check_protobuf(run):
    """What the exporter says of itself cannot be taken out of such a page; that its families are there is all that is compared."""
    return None if b"etw_disk_read_bytes_total" in run.whole_out or run.said() else "exit 0 without a page"


# ---- recordings of sessions ----

BURST = 200  # events of a provider that numbers them


def check_recorded(run):
    """A recording has all events of the provider, or as many fewer as the command says."""
    emitted = [json.loads(line) for line in run.whole_out.decode().splitlines() if line.startswith("{")]
    result = re.search(r"(\d+) events lost$", run.whole_out.decode().strip())
    lost = int(result.group(1)) if result else 0
    for name, data in run.files.items():
        with tempfile.NamedTemporaryFile(dir=WORK, suffix=".etl") as file:
            file.write(data)
            file.flush()
            text = subprocess.run([TOOL, "dump", "--format", "text", file.name], capture_output=True, text=True)
        values = [int(number) for number in re.findall(r"Contoso-Load.* value=(\d+)", text.stdout)]
        if text.returncode != 0 or len(set(range(1, BURST + 1)) - set(values)) > lost:
            return f"{name} has {len(values)} of {BURST} events, and {lost} are said to be lost: {text.stderr[-200:]} {emitted}"
        if values != sorted(values):
            return f"{name} has events that are not in order"
    return None if result else "no word about what was recorded"


def check_shown(run):
    """Live events are all shown, in order; a run that loses some fails."""
    lines = run.whole_out.decode().splitlines()
    values = [json.loads(line)["fields"]["value"] for line in lines if '"Contoso-Load"' in line]
    # Standard error may be what fails.
    if values != list(range(1, BURST + 1)) or run.said() and "none lost" not in run.said():
        return f"{len(values)} of {BURST} events are shown: {run.said()}"
    return None


def burst(more=""):
    return f"burst {RECORDING} {BURST}\n{more}quit\n".encode()


# ---- all of them ----

def commands():
    recording, config = RECORDING, CONFIG
    given = ("--config", config)
    return [
        Command(EXPORTER, "--once", f"--replay.file={recording}", f"--config.file={config}"),
        Command(EXPORTER, "--once", f"--replay.file={WORK}/every-class.etl.zst"),
        Command(EXPORTER, "--once", f"--replay.file={recording}", "--once.format=openmetrics"),
        Command(EXPORTER, "--once", f"--replay.file={WORK}/sample_packed.etl"),
        Command(EXPORTER, "--once", f"--replay.file={recording}", "--replay.single-pass"),
        Command(EXPORTER, "--once", f"--replay.file={recording}", "--once.format=protobuf", check=check_protobuf),
        Command(EXPORTER, "--check-config", f"--config.file={config}"),
        Command(EXPORTER, "--print-config", f"--config.file={config}"),
        Command(EXPORTER, "--help"),
        Command(EXPORTER, "--version"),
        Command(TOOL, "summary", recording),
        Command(TOOL, "stats", recording),
        Command(TOOL, "providers", recording),
        Command(TOOL, "fields", recording, "DiskIo/Read"),
        Command(TOOL, "dump", recording),
        Command(TOOL, "dump", recording, "--format", "csv", "--where", "Process ne x"),
        Command(TOOL, "dump", recording, "--format", "text"),
        Command(TOOL, "dump", WORK / "stacks.etl", "--stacks"),
        Command(TOOL, "dump", WORK / "stacks.etl", "--format", "text", "--stacks"),
        Command(TOOL, "check", "config", config, "--with", recording),
        Command(TOOL, "doctor", recording, *given),
        Command(TOOL, "doctor", config, "--profile", "profile.wprp", files=["profile.wprp"]),
        Command(TOOL, "diff", recording, recording, *given, "--all", "--fail-if",
                'sum(etw_disk_read_bytes_total{disk!="x",disk=~".*"}) < 0'),
        Command(TOOL, "diff", recording, recording, *given, "--all", "--format", "json"),
        Command(TOOL, "diff", recording, recording, *given, "--all", "--format", "csv"),
        Command(EXAMPLES / "print_events", recording),
        Command(EXAMPLES / "bytes_by_process", recording),
        Command(EXAMPLES / "relog", recording, "out.etl", "4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7",
                "11111111-2222-3333-4444-555555555555", files=["out.etl"]),
        Command(TOOL, "metrics"),
        Command(TOOL, "--help"),
        Command(TOOL, "--version"),
        Command(TOOL, "backfill", recording, "--step", "1h"),
        Command(TOOL, "top", recording, "--speed", "0", "--batch"),
        Command(TOOL, "report", recording, "-o", "-"),
        Command(TOOL, "report", recording, "-o", "report.html", files=["report.html"]),
        Command(TOOL, "relog", recording, "-o", "copy.etl", files=["copy.etl"]),
        Command(TOOL, "relog", recording, "-o", "some.etl", "--where", "Process ne x", files=["some.etl"]),
        Command(TOOL, "relog", WORK / "stacks.etl", "-o", "kept.etl", "--event", "PerfInfo/SampleProf", files=["kept.etl"]),
        Command(TOOL, "relog", WORK / "stacks.etl", "-o", "parts.etl", "--split", "3s", files=[f"parts_00000{i}.etl" for i in (1, 2, 3, 4)]),
    ]


def further_commands():
    """Those that came later, with what the ones above do not reach."""
    recording = RECORDING
    return [
        Command(EXPORTER, "--check-config", f"--config.file={CONFIG}", f"--web.config.file={WORK}/web.yml"),
        Command(EXPORTER, "--once", f"--replay.file={WORK}/every-class.etl.gz"),
        Command(EXPORTER, "--once", f"--replay.file={WORK}/every-class.etl.xz"),
        Command(EXPORTER, "--once", f"--replay.file={WORK}/every-class.zip"),
        Command(EXPORTER, "--once", "--replay.file=-", input=recording.read_bytes()),
        Command(EXPORTER, "--once", f"--replay.file={WORK}/part_*.etl"),
        Command(TOOL, "summary", f"{WORK}/part_*.etl"),
        Command(TOOL, "stats", recording, "--format", "json"),
        Command(TOOL, "doctor", recording, "--format", "json"),
        Command(TOOL, "check", "config", CONFIG, "--with", recording, "--hosts", "10", "--format", "json"),
        Command(TOOL, "providers", recording, "--format", "json"),
        Command(TOOL, "providers", "--export-manifests", "manifests", recording, files=exported()),
        Command(TOOL, "dump", recording, "--schema", WORK / "manifests", "--builtin"),
        Command(TOOL, "relog", recording, "-o", "-"),
        Command(TOOL, "relog", recording, WORK / "again.etl", "-o", "both.etl", files=["both.etl"]),
        Command(TOOL, "relog", recording, "-o", "packed.etl", "--compress", "--drop-stacks", files=["packed.etl"]),
        Command(TOOL, "relog", recording, "-o", "hidden.etl", "--anonymise", "--key", WORK / "key", files=["hidden.etl"]),
        Command(TOOL, "relog", recording, "-o", "set.etl", "--set", "Image/Load.FileName=C:\\x.dll", files=["set.etl"]),
        Command(TOOL, "relog", recording, "-o", "added.etl", "--add", WORK / "added.jsonl", files=["added.etl"]),
        Command(TOOL, "relog", WORK / "sample.etl", "-o", "cut.etl", "--split", "1MB",
                files=[path.name for path in sorted(WORK.glob("cut_*.etl"))]),
    ]


def exported():
    return [str(path.relative_to(WORK)) for path in (WORK / "manifests").iterdir()]


def record_commands():
    config = WORK / "sessions.yaml"
    return [
        Command(TOOL_ON_FAKE, "record", "--config", config, "whole.etl", files=["whole.etl"], input=burst("stop\n"),
                check=check_recorded),
        Command(TOOL_ON_FAKE, "record", "--config", config, "--ring", "4MiB", "ring.etl", files=["ring.etl"], input=burst("stop\n"),
                check=check_recorded),
        Command(TOOL_ON_FAKE, "dump", "--provider", "{10adf00d-10ad-10ad-0102-030405060708}", "--where", "value gt 0",
                input=burst("stop\n"), check=check_shown),
    ]
