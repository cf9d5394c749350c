#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps .github/workflows to what tests/run.sh has tried, and to the habits that protect a fork.

- Every command of a Linux job is one that tests/run.sh runs: a line of it, or a step of a workflow preset that it runs.
- Every command of a Windows job is a row of WINDOWS, and a script of tests/e2e tries it under Wine.
- Workflows start by hand, or with a tag, and never in a fork by themselves; they may only read; every job has a limit of time;
  actions are pinned by commit, with the version as a comment; checkouts keep no credentials.
- Commands for bash pass shellcheck, where it is installed.

Prints each fault and exits 1. With files as arguments it looks at these workflows.
"""
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parent.parent
PINNED = re.compile(r"^\s*(?:- )?uses: [\w.-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$")

# command (expressions read *) -> what runs, and the words with which a script of tests/e2e runs it under Wine
WINDOWS = {
    r"tests\windows\run_tests.cmd build\windows-mingw": ("tests/windows/run_tests.cmd", "windows/run_tests.cmd"),
    r"build\windows-mingw\etw_exporter.exe --self-test": ("exporter/windows/self_test.c", "exporter --self-test"),
    r"copy exporter\windows\collect.cmd build\windows-mingw": ("exporter/windows/collect.cmd", "exporter/windows/collect.cmd"),
    r"build\windows-mingw\collect.cmd * kit": ("exporter/windows/collect.cmd", "collect.cmd"),
}


def tried_on_linux():
    """The commands that tests/run.sh runs."""
    script = (ROOT / "tests/run.sh").read_text(encoding="utf-8")
    commands = set(re.findall(r"bash \.ci/[\w.-]+\.sh", script))
    presets = set(re.findall(r"run_preset ([\w-]+)", script))
    for names in re.findall(r"for preset in ([^;]+);", script):
        presets.update(names.split())
    steps = {"configure": "cmake --preset", "build": "cmake --build --preset", "test": "ctest --preset"}
    for workflow in json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["workflowPresets"]:
        if workflow["name"] in presets:
            commands.update(f"{steps[step['type']]} {step['name']}" for step in workflow["steps"])
    return commands


def is_windows(job):
    systems = job.get("strategy", {}).get("matrix", {}).get("windows", [job.get("runs-on", "")])
    return all(system.startswith("windows-") for system in systems)


def tried_under_wine(words):
    return any(words in script.read_text(encoding="utf-8") for script in (ROOT / "tests/e2e").glob("*.sh"))


def command_faults(job, commands):
    for step in job["steps"]:
        for command in step.get("run", "").splitlines():
            command = re.sub(r"\$\{\{.*?\}\}", "*", command)
            if not is_windows(job):
                if command not in commands:
                    yield f"'{command}' is nothing that tests/run.sh runs"
                continue
            source, words = WINDOWS.get(command, (None, None))
            if not source:
                yield f"'{command}' has no row in tests/test_workflows.py"
            elif (ROOT / source).exists() and not tried_under_wine(words):
                yield f"no script of tests/e2e tries '{command}' under Wine"


def shell_faults(job):
    for step in job["steps"]:
        if "run" in step and not is_windows(job) and shutil.which("shellcheck"):
            done = subprocess.run(["shellcheck", "-s", "bash", "-"], input=step["run"], capture_output=True, text=True)
            if done.returncode != 0:
                yield f"shellcheck: {done.stdout.strip()}"


def job_faults(name, job, commands):
    if "timeout-minutes" not in job:
        yield f"job {name} has no timeout-minutes"
    if "permissions" in job:
        yield f"job {name} has permissions of its own"
    if "needs" not in job and "github.event.repository.fork" not in job.get("if", ""):
        yield f"job {name} runs in a fork that did not ask for it"
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
            yield f"job {name}: a checkout that keeps credentials"
    yield from command_faults(job, commands)
    yield from shell_faults(job)


def faults(path, commands):
    text = path.read_text(encoding="utf-8")
    try:
        workflow = yaml.safe_load(text)
    except yaml.YAMLError as error:
        yield f"no YAML: {error.problem}"
        return
    triggers = workflow["on"]
    if set(triggers) - {"workflow_dispatch", "push"} or set(triggers.get("push", {"tags": []})) != {"tags"}:
        yield "starts by something else than by hand or a tag"
    if workflow.get("permissions") != {"contents": "read"}:
        yield "permissions are not those to read the contents"
    if "concurrency" not in workflow:
        yield "has no concurrency"
    for line in text.splitlines():
        if "uses:" in line and not PINNED.match(line):
            yield f"not pinned by a commit with its version: {line.strip()}"
    for name, job in workflow["jobs"].items():
        yield from job_faults(name, job, commands)


def main():
    paths = [Path(argument) for argument in sys.argv[1:]] or sorted((ROOT / ".github/workflows").glob("*.yml"))
    commands = tried_on_linux()
    found = [f"{path.name}: {fault}" for path in paths for fault in faults(path, commands)]
    print("\n".join(found + [f"{len(paths)} workflows, {len(found)} faults"]))
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
