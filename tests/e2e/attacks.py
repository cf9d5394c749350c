#!/usr/bin/env python3
"""Keeps hostile clients up against a web server and measures how long other clients wait for their answers.

attacks.py [--seconds N] [--limit] [--rounds N] NAME=PORT[,PID]...

The first server is ours; the others are for comparison, with the same attacks. Each attack is a process of its own, which
opens what the server ends again after a second. Fails when a probe of ours is not answered whole within PATIENCE seconds
while all attackers are at it. A probe that is ended without an answer tries again at once: on a busy machine one that does not
send its request in time makes room for others. With --limit it fails also when one takes longer than LIMIT seconds, or five
times as long as the longest without attack, unless there are more attackers than the server has room for.

With --rounds (at least 2) it measures the consumer of ours instead: N times each attack, and as long without before and after. It
prints the median of how the records a CPU second of the consumer compare with those of the two windows beside it.
"""
import argparse
import os
import resource
import selectors
import socket
import statistics
import subprocess
import sys
import time

PATIENCE = 120
LIMIT = 0.2
PAUSE = 0.2  # between two probes
BODY = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000000\r\n\r\n"
PAGE = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
HEALTHY = b"GET /-/healthy HTTP/1.1\r\nHost: x\r\n\r\n"

HALF_HEADS = "half heads"
MORE_THAN_WORKERS = "slow readers, more than workers"
MORE_THAN_ROOM = "kept connections, more than one address may have"

# The reason for which the server must have closed a connection before the attack ends, however slow the machine makes the attackers:
# those of MORE_THAN_ROOM have had an answer, so that they may be silent for two minutes, and not only for five seconds.
ANSWERED_BY = {HALF_HEADS: "timeout", MORE_THAN_ROOM: "evicted"}

# name: clients, what each sends at first, what it sends again and again, how many bytes it reads a second
ATTACKS = {
    "silent connections": (2000, b"", b"", 0),
    HALF_HEADS: (200, b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ", b"y", 0),
    "slow bodies": (64, BODY, b"y", 0),
    "slow readers": (64, PAGE, b"", 100_000),
    MORE_THAN_WORKERS: (200, PAGE, b"", 100_000),
    MORE_THAN_ROOM: (2200, HEALTHY, b"", 0),
}
TICK = 0.1


# ---- an attack: a process of its own ----


class Client:
    def __init__(self, port, first):
        self.address, self.first = ("127.0.0.1", port), first
        self.socket, self.not_before = None, 0.0

    def open(self, now):
        if now < self.not_before:
            return
        self.not_before = now + 1
        try:
            self.socket = socket.create_connection(self.address, timeout=1)
            self.socket.setblocking(False)
            self.socket.sendall(self.first)
        except OSError:
            self.close()

    def close(self):
        if self.socket:
            self.socket.close()
        self.socket = None

    def go_on(self, more, size):
        try:
            if more:
                self.socket.send(more)
            if not self.socket.recv(size or 4096):
                self.close()
        except BlockingIOError:
            pass
        except OSError:
            self.close()


def attack(name, port):
    """Until the standard input ends. A line when each client has connected once.

    Real attackers have processors of their own; here they leave ours to the server and to the probes.
    """
    os.nice(10)
    count, first, more, rate = ATTACKS[name]
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    clients = [Client(port, first) for _ in range(count)]
    begun, said = time.monotonic(), False
    selector = selectors.DefaultSelector()
    selector.register(sys.stdin, selectors.EVENT_READ)
    turn = 0
    while True:
        turn += 1
        for client in clients:
            if client.socket is None:
                client.open(time.monotonic())
            elif more == b"" or turn % 5 == 0:  # a byte each half second
                client.go_on(more, int(rate * TICK))
        if not said and (all(client.not_before for client in clients) or time.monotonic() > begun + PATIENCE):
            said = True
            print(sum(client.socket is not None for client in clients), flush=True)
        if selector.select(TICK):
            return


# ---- probes ----


def try_fetch(port, path, end):
    """The bytes of the answer; None: it is not whole, or not in time."""
    data = bytearray()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as s:
            s.sendall(b"GET %s HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n" % path.encode())
            while time.monotonic() < end:
                part = s.recv(1 << 20)
                if not part:
                    break
                data += part
    except OSError:
        return None
    head, _, body = bytes(data).partition(b"\r\n\r\n")
    whole = body.endswith(b"0\r\n\r\n") or b"content-length" in head.lower()
    return body if head.startswith(b"HTTP/1.1 200 ") and whole else None


def fetch(port, path):
    """(seconds until the answer is whole, its bytes, tries before that one); None: not in time."""
    begun, tries = time.monotonic(), 0
    while time.monotonic() < begun + PATIENCE:
        body = try_fetch(port, path, begun + PATIENCE)
        if body is not None:
            return time.monotonic() - begun, body, tries
        tries += 1
    return None


class Window:
    """What a server did between two moments."""

    def __init__(self, server):
        self.server, self.longest, self.missed, self.again = server, {}, 0, 0
        self.unanswered = False  # the server closed no connection for the reason in ANSWERED_BY
        self.before = server.state()

    def probe(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            for path in self.server.paths:
                answer = fetch(self.server.port, path)
                if answer is None:
                    self.missed += 1
                else:
                    self.longest[path] = max(self.longest.get(path, 0), answer[0])
                    self.again += answer[2]
            time.sleep(PAUSE)
        after = self.server.state()
        self.grown = {name: value - self.before[name] for name, value in after.items()}
        self.peak_mb = self.server.peak_mb()
        return self

    def speed(self):
        """Millions of records a CPU second of the consumer."""
        return self.grown["records"] / self.grown["busy"] / 1e6

    def text(self):
        parts = [f"{path} {self.longest[path]:.3f} s" if path in self.longest else f"{path} never" for path in self.server.paths]
        if self.missed:
            parts.append(f"{self.missed} probes without an answer")
        if self.again:
            parts.append(f"{self.again} tries more")
        if self.grown.get("busy", 0) > 0:
            parts.append(f"{self.speed():.2f} M records a CPU second of the consumer")
            rest = (self.grown["cpu"] - self.grown["busy"]) / self.grown["time"]
            parts.append(f"{100 * rest:.0f} % of a processor beside it")
        if self.peak_mb:
            parts.append(f"at most {self.peak_mb:.0f} MB")
        return ", ".join(parts)


class Server:
    def __init__(self, text, ours):
        self.name, _, rest = text.partition("=")
        port, _, pid = rest.partition(",")
        self.port, self.pid, self.ours = int(port), pid, ours
        self.paths = ["/metrics", "/-/healthy" if ours else "/"]

    def state(self):
        state = {"time": time.monotonic(), "records": 0, "busy": 0, "cpu": 0}
        names = {"etw_consumer_records_total": "records", "etw_consumer_busy_seconds_total": "busy", "process_cpu_seconds_total": "cpu"}
        answer = fetch(self.port, "/metrics") if self.ours else None
        for line in answer[1].decode().splitlines() if answer else []:
            name = names.get(line.partition("{")[0].partition(" ")[0])
            if name:
                state[name] += float(line.rpartition(" ")[2])
        return state

    def has_closed(self, reason):
        begun, closed = time.monotonic(), f'etw_exporter_http_connections_closed_total{{reason="{reason}"}} '
        while time.monotonic() < begun + PATIENCE:
            answer = fetch(self.port, "/metrics")
            lines = answer[1].decode().splitlines() if answer else []
            if any(float(line.rpartition(" ")[2]) > 0 for line in lines if line.startswith(closed)):
                return True
            time.sleep(PAUSE)
        return False

    def peak_mb(self):
        if not self.pid:
            return 0
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def run_attack(name, server, seconds):
    with subprocess.Popen([sys.executable, __file__, "--attack", name, str(server.port)], stdin=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as attackers:
        connected = attackers.stdout.readline().strip()
        window = Window(server).probe(seconds)
        if server.ours and name in ANSWERED_BY:
            window.unanswered = not server.has_closed(ANSWERED_BY[name])
        alive = attackers.poll() is None
        attackers.stdin.close()
        attackers.wait()
    print(f"attack: {connected} {name}, {server.name}: {window.text()}", flush=True)
    return window, alive


def check(name, window, alone, alive, limit):
    faults = []
    if not alive:
        faults.append(f"{name}: the attackers ended")
    if window.unanswered:
        faults.append(f"{name}: no connection was closed for the reason {ANSWERED_BY[name]}")
    # More slow readers than workers: what waits too long gets a 503.
    if (window.missed and name != MORE_THAN_WORKERS) or set(window.longest) != set(window.server.paths):
        faults.append(f"{name}: {window.missed} probes without an answer")
    for path, longest in window.longest.items() if limit and name not in (MORE_THAN_WORKERS, MORE_THAN_ROOM) else ():
        if longest > max(LIMIT, 5 * alone.longest[path]):
            faults.append(f"{name}: {path} took {longest:.3f} s, without attack {alone.longest[path]:.3f} s")
    return faults


def compare_consumer(server, seconds, rounds):
    """Each attack stands between two windows without: the speed of the machine drifts more than an attack costs."""
    for name in ATTACKS:
        ratios, before = [], Window(server).probe(seconds).speed()
        for _ in range(rounds):
            attacked = run_attack(name, server, seconds)[0].speed()
            after = Window(server).probe(seconds).speed()
            ratios.append(2 * attacked / (before + after))
            before = after
        low, median, high = statistics.quantiles(ratios, n=4)
        print(f"consumer: {name}: {median:.3f} of the speed without (quartiles of {rounds}: {low:.3f} to {high:.3f})", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--limit", action="store_true")
    parser.add_argument("servers", nargs="+")
    parser.add_argument("--rounds", type=int, default=0)
    options = parser.parse_args()
    if options.rounds:
        compare_consumer(Server(options.servers[0], ours=True), options.seconds, options.rounds)
        return 0
    faults = []
    for i, text in enumerate(options.servers):
        server = Server(text, ours=i == 0)
        alone = Window(server).probe(options.seconds)
        print(f"attack: none, {server.name}: {alone.text()}", flush=True)
        for name in ATTACKS:
            window, alive = run_attack(name, server, options.seconds)
            if server.ours:
                faults += check(name, window, alone, alive, options.limit)
    for fault in faults:
        print(f"FAIL: {fault}", file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--attack"]:
        attack(sys.argv[2], int(sys.argv[3]))
    else:
        sys.exit(main())
