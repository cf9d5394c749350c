#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps .github to what tests/run.sh has tried, to what GitHub reads, and to the habits that protect a fork.

- Every command of a Linux job is a script of the tree, with words that stand in it; a step of a workflow preset that tests/run.sh runs;
  or a row of LINUX. No expression stands inside a command of bash, because a branch's or tag's name may be shell code.
- Every command of a Windows job is a row of WINDOWS, and a script of tests/e2e tries it under Wine.
- A workflow starts by hand, and with a tag or with pushes and pull requests. One that starts with a tag never starts in a fork by
  itself. Workflows may only read, except for a job after another one that runs for a tag alone, has no container, checks nothing out and
  runs rows of RELEASE alone. Every job has a limit of time; actions are pinned by commit, with the version as a comment; checkouts keep
  no credentials.
- Commands for bash pass shellcheck, where it is installed.
- dependabot.yml has every folder with a package-lock.json, and no other one.
- The forms of .github/ISSUE_TEMPLATE have the keys that GitHub wants; it leaves out a form that is wrong without a word.

Prints each fault and exits 1. With files as arguments it looks at these.
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
    r"tests\run_tests.cmd build\windows-mingw": ("tests/run_tests.cmd", "tests/run_tests.cmd"),
    r"build\windows-mingw\etw_selftest.exe": ("selftest/main.c", "selftest --log.level"),
    r"copy selftest\collect.cmd build\windows-mingw": ("selftest/collect.cmd", "selftest/collect.cmd"),
    r"build\windows-mingw\collect.cmd * kit": ("selftest/collect.cmd", "collect.cmd"),
}

# What a container of GitHub needs before a script of the tree can run; only GitHub has such a container.
LINUX = {
    "apt-get -q update",
    "apt-get -q install -y --no-install-recommends ca-certificates git",
    'git config --global --add safe.directory "$GITHUB_WORKSPACE"',
    "echo 28 >/proc/sys/vm/mmap_rnd_bits",
}

# What may run with the right to write; tests/e2e/workflows.sh runs it with a gh of its own.
RELEASE = re.compile(r'gh release create "\$GITHUB_REF_NAME" --draft --verify-tag [^;&|`]*')
FOR_A_TAG = "github.ref_type == 'tag'"
NO_FORK = "github.event.repository.fork"

# Keys of the elements of a form, by type ("Syntax for GitHub's form schema", GitHub Docs): which there must be, which there may be.
FORM = ({"name", "description", "body"}, {"title", "labels", "assignees"})
ELEMENTS = {
    "markdown": ({"value"}, set()),
    "textarea": ({"label"}, {"description", "placeholder", "value", "render"}),
    "input": ({"label"}, {"description", "placeholder", "value"}),
    "dropdown": ({"label", "options"}, {"description", "multiple", "default"}),
    "checkboxes": ({"label", "options"}, {"description"}),
}


def preset_steps():
    """The commands that workflow presets of tests/run.sh stand for."""
    script = (ROOT / "tests/run.sh").read_text(encoding="utf-8")
    commands = set()
    steps = {"configure": "cmake --preset", "build": "cmake --build --preset", "test": "ctest --preset"}
    for workflow in json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["workflowPresets"]:
        if re.search(rf"(?<![\w-]){workflow['name']}(?![\w-])", script):
            commands.update(f"{steps[step['type']]} {step['name']}" for step in workflow["steps"])
    return commands


def tried_on_linux(command, presets):
    if command in LINUX or command in presets or RELEASE.fullmatch(command):
        return True
    script = re.fullmatch(r"bash ((?:\.ci|tests)/[\w.-]+\.sh)((?: --[\w-]+)*)(?: [\w\"$./-]+)*", command)
    if not script or not (ROOT / script.group(1)).exists():
        return False
    text = (ROOT / script.group(1)).read_text(encoding="utf-8")
    return all(re.search(rf"(?<![\w-]){flag}(?![\w-])", text) for flag in script.group(2).split())


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
                if not tried_on_linux(command, commands):
                    yield f"'{command}' is nothing that tests/run.sh runs"
                continue
            source, words = WINDOWS.get(command, (None, None))
            if not source:
                yield f"'{command}' has no row in tests/test_workflows.py"
            elif (ROOT / source).exists() and not tried_under_wine(words):
                yield f"no script of tests/e2e tries '{command}' under Wine"


def shell_faults(job):
    for step in job["steps"]:
        if "run" not in step or is_windows(job):
            continue
        if "${{" in step["run"]:
            yield f"an expression inside a command: {step['run'].strip()}"
        if shutil.which("shellcheck"):
            done = subprocess.run(["shellcheck", "-s", "bash", "-"], input=step["run"], capture_output=True, text=True)
            if done.returncode != 0:
                yield f"shellcheck: {done.stdout.strip()}"


def permission_faults(name, job):
    if "permissions" not in job:
        return
    commands = [command for step in job["steps"] for command in step.get("run", "").splitlines()]
    actions = {step["uses"].split("@")[0] for step in job["steps"] if "uses" in step}
    if (job["permissions"] != {"contents": "write"} or job.get("if") != FOR_A_TAG or "needs" not in job or "container" in job
            or actions - {"actions/download-artifact"} or not all(RELEASE.fullmatch(command) for command in commands)):
        yield f"job {name} has permissions of its own, and does more than draft a release for a tag"


def job_faults(name, job, commands, by_tag):
    if "timeout-minutes" not in job:
        yield f"job {name} has no timeout-minutes"
    yield from permission_faults(name, job)
    if by_tag and "needs" not in job and NO_FORK not in job.get("if", ""):
        yield f"job {name} runs in a fork that did not ask for it"
    for step in job["steps"]:
        if step.get("uses", "").startswith("actions/checkout@") and step.get("with", {}).get("persist-credentials") is not False:
            yield f"job {name}: a checkout that keeps credentials"
    yield from command_faults(job, commands)
    yield from shell_faults(job)


def trigger_faults(triggers):
    if set(triggers) - {"workflow_dispatch", "push", "pull_request"} or "workflow_dispatch" not in triggers:
        yield "starts by something else than by hand, tags, or pushes and pull requests"
    push = set((triggers.get("push") or {}).keys())
    if push != ({"branches"} if "pull_request" in triggers else {"tags"}):
        yield "starts by something else than tags alone, or pushes to branches together with pull requests"


def workflow_faults(text, workflow, commands):
    yield from trigger_faults(workflow["on"])
    if workflow.get("permissions") != {"contents": "read"}:
        yield "permissions are not those to read the contents"
    if "concurrency" not in workflow:
        yield "has no concurrency"
    for line in text.splitlines():
        if "uses:" in line and not PINNED.match(line):
            yield f"not pinned by a commit with its version: {line.strip()}"
    for name, job in workflow["jobs"].items():
        yield from job_faults(name, job, commands, "pull_request" not in workflow["on"])


def dependabot_faults(settings):
    if settings.get("version") != 2:
        yield "version is not 2"
    watched = {}
    for update in settings["updates"]:
        folders = update.get("directories", [update.get("directory")])
        watched.setdefault(update["package-ecosystem"], []).extend(folders)
        if "interval" not in update.get("schedule", {}):
            yield f"{update['package-ecosystem']} has no interval"
    locked = ["/" + str(path.parent.relative_to(ROOT)) for path in ROOT.glob("*/*/package-lock.json")]
    if sorted(watched.get("npm", [])) != sorted(locked):
        yield f"npm: the folders with a package-lock.json are {', '.join(sorted(locked))}"
    if watched.get("github-actions") != ["/"]:
        yield "github-actions: its directory is not /"


def key_faults(where, keys, expected):
    needed, allowed = expected
    for key in sorted(needed - set(keys)):
        yield f"{where} has no {key}"
    for key in sorted(set(keys) - needed - allowed):
        yield f"{where} has an unknown key {key}"


def form_faults(form):
    yield from key_faults("the form", form, FORM)
    names = []
    for number, element in enumerate(form.get("body", []), 1):
        where = f"element {number}"
        if element.get("type") not in ELEMENTS:
            yield f"{where} has the unknown type {element.get('type')}"
            continue
        yield from key_faults(where, element, ({"type", "attributes"}, {"id", "validations"}))
        attributes = element.get("attributes", {})
        yield from key_faults(where, attributes, ELEMENTS[element["type"]])
        names += [("id", element.get("id")), ("label", attributes.get("label"))]
        if not re.fullmatch(r"[\w-]+", element.get("id", "none")):
            yield f"{where} has an id with other characters than letters, digits, - and _"
    for sort, name in sorted({pair for pair in names if pair[1] and names.count(pair) > 1}):
        yield f"two elements have the {sort} {name}"


def faults(path, presets):
    text = path.read_text(encoding="utf-8")
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        yield f"no YAML: {error.problem}"
        return
    if "updates" in content:
        yield from dependabot_faults(content)
    elif "body" in content or path.parent.name == "ISSUE_TEMPLATE" and path.name != "config.yml":
        yield from form_faults(content)
    elif "blank_issues_enabled" in content:
        yield from key_faults("the file", content, ({"blank_issues_enabled"}, {"contact_links"}))
    else:
        yield from workflow_faults(text, content, presets)


def main():
    paths = [Path(argument) for argument in sys.argv[1:]] or sorted((ROOT / ".github").rglob("*.yml"))
    presets = preset_steps()
    found = [f"{path.name}: {fault}" for path in paths for fault in faults(path, presets)]
    print("\n".join(found + [f"{len(paths)} files, {len(found)} faults"]))
    return 1 if found or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
