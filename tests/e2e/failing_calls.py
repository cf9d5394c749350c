#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets each call of the programs fail that can: failing_calls.py WORK [PART...], run by failing_calls.sh and failing_live.sh.

A scenario, which is a command, a request, or the whole life of a server, is run once to learn its call sites, from
failing_calls.c, which is preloaded; then once more for each of them and each way in which the call can fail. Whatever fails, a
program is not ended by a signal, does not hang, and frees its memory. A command either does what it does otherwise, with exit
status 0, or ends with status 1, or 2 for a configuration, and says why. Files that it writes are whole or not there. A server
goes on: the scrape or the reload in which something failed is refused or whole, and the next one is whole. What a session was
given is counted, or counted as lost.

A call site counts once, in the first scenario that reaches it; sites differ by the line that calls, and the one that called that.
What the parts in FAILING_CALLS_ELSEWHERE reach does not count at all.
A run takes a sixth of the call sites, chosen by their names, each day another one; FAILING_CALLS_SHARE (0 to 5) chooses one, or all of
them ("all").
With LONG_TESTS=1 they differ by two more callers, each scenario has its own, and each call of a site fails, not only its first;
the runs then come in random order, by FAILING_CALLS_SEED, each site once before all others, and end after FAILING_CALLS_SECONDS
(default 1200).
"""
import concurrent.futures
import os
import random
import sys
import threading
import time
import zlib
from pathlib import Path

import failing_commands
import failing_servers
from failing_core import ACTIONS, ERROR, FILE_CHANGES, LONG, WORK, Control, faults, leak, places

LONG_S = float(os.environ.get("FAILING_CALLS_SECONDS", 1200))
SEED = int(os.environ.get("FAILING_CALLS_SEED", random.SystemRandom().randrange(1 << 31)))
SHARES = 6  # the docstring and messages say "a sixth"
SHARE = os.environ.get("FAILING_CALLS_SHARE", "all" if LONG else str(int(time.time()) // 86400 % SHARES))
PARTS = {
    "commands": failing_commands.commands,
    "further": failing_commands.further_commands,
    "requests": failing_servers.requests,
    "servers": failing_servers.servers,
    "tls": failing_servers.tls,
    "reloads": failing_servers.reloads,
    "recorders": failing_servers.recorders,
    "record": failing_commands.record_commands,
    "live": failing_servers.live,
}


class Worker:
    """What one thread has: a page for the library, a folder, and a server that answers requests."""

    def __init__(self, number):
        self.name = f"worker{number}"
        self.control, self.folder = Control(self.name), WORK / self.name
        # For recordings that change. As long as the name of the other folder, because titles cut long paths.
        self.changes = WORK / f"c{number:04}"
        self.server = None

    def end_server(self):
        """Ends the server of requests, which must have freed its memory and ends well."""
        server, self.server = self.server, None
        if not server:
            return
        ended = not server.runs()
        status = server.stop()
        if ended:
            return  # which was complained about
        if status != 0:
            faults.add(f"{server.kind.name} ends with status {status}: {server.tail()}")
        if not server.failed:
            server.kind.blocks.update(server.blocks)
        wrong = leak(server.blocks, server.kind.blocks)
        if wrong:
            faults.add(f"{server.kind.name}, after calls that failed in requests: {wrong}")


class Workers:
    def __init__(self):
        self.local, self.lock, self.all = threading.local(), threading.Lock(), []

    def mine(self):
        if not hasattr(self.local, "worker"):
            with self.lock:
                self.local.worker = Worker(len(self.all))
                self.all.append(self.local.worker)
        return self.local.worker


workers = Workers()


def is_of_share(site):
    return SHARE == "all" or zlib.crc32(" ".join(site.key()).encode()) % SHARES == int(SHARE)


def choices(scenario, site, tried):
    """The ways in which the calls of a site are to fail: (action, number of the call). A file that changes is another matter for each
    command, and when it is read for the first time and for the last."""
    for action in ACTIONS:
        changes = action in FILE_CHANGES
        key = (site.key(), action, scenario.subject if changes else None)
        if site.actions & 1 << action and (LONG or key not in tried):
            tried.add(key)
            if changes:
                yield from ((action, call) for call in sorted({1, site.calls}))
            else:
                yield from ((action, call) for call in range(1, (site.calls if LONG and action == ERROR else 1) + 1))


def each_site_first(jobs):
    """Each call site, as runs without LONG_TESTS tell them apart, in each way before all else: the time may not be enough for that."""
    ahead, others, seen = [], [], set()
    for job in jobs:
        _, site, action, _ = job
        key = (site.function, *site.names()[:2], action)
        (others if key in seen else ahead).append(job)
        seen.add(key)
    return ahead + others


def learn_one(scenario):
    worker = workers.mine()
    if not scenario.keeps_server:
        worker.end_server()
    return scenario.learn(worker)


def learn(pool, scenarios, tried):
    """Jobs: (scenario, site, action, number of the call), where `tried` does not have them already."""
    jobs = []
    for scenario, sites in zip(scenarios, pool.map(learn_one, scenarios)):
        before = len(jobs)
        sites = [site for site in sites if not site.of_fake() and is_of_share(site)]
        for site in sites:
            jobs += [(scenario, site, action, call) for action, call in choices(scenario, site, tried)]
        print(f"{len(jobs) - before:5} runs, {len(sites):4} call sites: {scenario.name:.110}", flush=True)
    return jobs


def fail(job):
    """False: the time is over."""
    scenario, site, action, occurrence = job
    if LONG and time.monotonic() - started > LONG_S:
        return False
    worker = workers.mine()
    if not scenario.keeps_server:
        worker.end_server()
    wrong = scenario.fail(worker, site, action, occurrence)
    faults.tried(site, action)
    if wrong:
        faults.add(f"{scenario.name}: call {occurrence} of {site.where()} {ACTIONS[action]}: {wrong}")
    return True


started = time.monotonic()


def of_parts(names):
    return [scenario for name in names for scenario in PARTS[name]()]


def main():
    scenarios, elsewhere = (of_parts(names) for names in (sys.argv[2:], os.environ.get("FAILING_CALLS_ELSEWHERE", "").split()))
    tried = set()
    if SHARE not in ("all", *map(str, range(SHARES))):
        sys.exit(f"FAILING_CALLS_SHARE takes all, or a number below {SHARES}, not \"{SHARE}\"")
    if SHARE != "all":
        print(f"a sixth of the call sites: FAILING_CALLS_SHARE={SHARE} repeats it, FAILING_CALLS_SHARE=all takes every one", flush=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        learn(pool, elsewhere, tried)
        jobs = learn(pool, scenarios, tried)
        for worker in workers.all:
            worker.end_server()
        if LONG:
            print(f"{len(jobs)} runs, as many as {LONG_S:.0f} s are enough for; FAILING_CALLS_SEED={SEED} repeats them", flush=True)
            random.Random(SEED).shuffle(jobs)
            jobs = each_site_first(jobs)
        print(f"{sum(pool.map(fail, jobs))} of {len(jobs)} runs", flush=True)
        for worker in workers.all:
            worker.end_server()
        commands = [scenario for scenario in scenarios if isinstance(scenario, failing_commands.Command) and not scenario.check]
        list(pool.map(lambda command: command.without_output(), commands))
    places.close()
    for function in sorted(faults.runs):
        print(f"  {function:16} {len(faults.sites[function]):5} call sites, {faults.runs[function]:6} runs")
    print(f"{sum(map(len, faults.sites.values()))} call sites failed one by one, {sum(faults.runs.values())} runs, "
          f"{time.monotonic() - started:.0f} s, {len(faults.sentences)} faults")
    listed = Path(os.environ["BUILD_DIR"]) / f"call_sites_{'_'.join(sys.argv[2:])}.txt"
    faults.write_list(listed)
    print(f"they are listed in {listed}")
    sys.exit(bool(faults.sentences))


main()
