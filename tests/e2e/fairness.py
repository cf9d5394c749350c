#!/usr/bin/env python3
"""Measures whether many requests of some clients keep another client waiting.

fairness.py guess NAME=PORT [--guessers N] [--tries N] [--after SECONDS]
    N addresses guess passwords without a pause, and SECONDS later another one, from a cold start, sends the right one each half second.
    Prints after how many tries and seconds it is answered. Exit status 1: not at all, or neither within N tries nor before the
    server has answered three guesses of each address, which does not depend on how fast the machine is.
fairness.py pages NAME=PORT,PID [--rounds N] [--limit RATIO] [--memory MB]
    64 clients of one address take metrics pages without a pause, as text, compressed, and as protobuf, while another address
    takes them, too. Prints how long that takes it, alone and beside them. Exit status 1: its median is more than RATIO times the
    one alone in each round, or the server had more than MB of memory.

What is compared was measured on the same machine within seconds, and a busy machine gets another round: its median alone grows, too.
"""
import argparse
import base64
import json
import os
import socket
import statistics
import subprocess
import sys
import threading
import time

PATIENCE = 120
CLIENTS = 64
TRIES_MOST = 50
WARM_UP = 20
SAMPLES = 9  # of the time of a page, in each window
USER, PASSWORD = "prometheus", "fakepassword"
PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"
FORMATS = {
    "text": "",
    "gzip": "Accept-Encoding: gzip\r\n",
    "protobuf": f"Accept: {PROTOBUF}\r\nAccept-Encoding: gzip\r\n",
}


def fetch(port, source, headers, stop=None):
    """(status, bytes) of /metrics; the status is 0 when the answer is not whole."""
    status, data = 0, bytearray()
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE, source_address=(source, 0)) as s:
            s.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n{headers}\r\n".encode())
            while part := s.recv(1 << 18):
                data += part
                if stop and stop.is_set():
                    return 0, 0
        head = bytes(data[:4096]).partition(b"\r\n\r\n")[0]
        if b"\r\ncontent-length:" in head.lower() or data.endswith(b"0\r\n\r\n"):
            status = int(head.split()[1])
    except (OSError, ValueError, IndexError):
        pass
    return status, len(data)


def attack(what, port, count):
    """Runs in a process of its own until its standard input ends, with less of the processors than the server and the probe."""
    os.nice(10)
    stop, statuses, turns = threading.Event(), {}, [0] * count

    def go_on(number):
        source = f"127.0.1.{number + 1}" if what == "guess" else "127.0.0.1"
        turn = 0
        while not stop.is_set():
            if what == "guess":
                login = base64.b64encode(f"{USER}:guess-{number}-{turn}".encode()).decode()
                status = fetch(port, source, f"Authorization: Basic {login}\r\n", stop)[0]
            else:
                status = fetch(port, source, FORMATS[what], stop)[0]
            statuses[status] = statuses.get(status, 0) + 1
            turn += 1
            turns[number] = turn

    threads = [threading.Thread(target=go_on, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    begun = time.monotonic()
    # A guess may wait for its turn; pages are under way when each client has had one, or the server is slow.
    while what != "guess" and min(turns) == 0 and time.monotonic() < begun + WARM_UP:
        time.sleep(0.05)
    print("begun", flush=True)
    sys.stdin.read()
    stop.set()
    for thread in threads:
        thread.join()
    json.dump(statuses, sys.stdout)


class Attackers:
    def __init__(self, what, port, count):
        self.command = [sys.executable, __file__, "attack", what, str(port), str(count)]
        self.statuses = {}

    def __enter__(self):
        self.process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.statuses = {int(status): n for status, n in json.load(self.process.stdout).items()}
        self.process.wait()

    def answers(self):
        return ", ".join(f"{n} x {status or 'no answer'}" for status, n in sorted(self.statuses.items()))


def guess(server, options):
    login = base64.b64encode(f"{USER}:{PASSWORD}".encode()).decode()
    status, tries = 0, 0
    with Attackers("guess", server.port, options.guessers) as attackers:
        time.sleep(options.after)
        begun = time.monotonic()
        while status != 200 and tries < TRIES_MOST:
            time.sleep(0.5 if tries else 0)
            tries += 1
            status, _ = fetch(server.port, "127.0.2.1", f"Authorization: Basic {login}\r\n")
        seconds = time.monotonic() - begun
    answer = f"200 after {seconds:.1f} s, try {tries}" if status == 200 else f"never, {tries} tries, {seconds:.1f} s"
    print(f"guess: {options.guessers} addresses, {server.name}: {answer} (guessers: {attackers.answers()})", flush=True)
    guesses = attackers.statuses.get(401, 0)
    return status == 200 and (tries <= options.tries or guesses <= 3 * options.guessers)


def page_times(server, what):
    times = []
    for _ in range(SAMPLES):
        begun = time.monotonic()
        if fetch(server.port, "127.0.2.1", FORMATS[what])[0] == 200:
            times.append(time.monotonic() - begun)
    return times or [PATIENCE]


def pages(server, options):
    good = True
    for what in FORMATS:
        for _ in range(options.rounds):
            alone = page_times(server, what)
            with Attackers(what, server.port, CLIENTS) as attackers:
                beside = page_times(server, what)
            alone += page_times(server, what)
            ratio = statistics.median(beside) / statistics.median(alone)
            print(f"pages: {what}, {server.name}: alone {statistics.median(alone):.3f} s, beside {CLIENTS} clients "
                  f"{statistics.median(beside):.3f} s ({max(beside):.3f}), {ratio:.1f} times; "
                  f"at most {server.peak_mb():.0f} MB (they: {attackers.answers()})", flush=True)
            if ratio <= options.limit:
                break
        else:
            print(f"FAIL: {what} took another address {ratio:.1f} times as long as alone", file=sys.stderr)
            good = False
    if server.peak_mb() > options.memory:
        print(f"FAIL: {server.peak_mb():.0f} MB of memory", file=sys.stderr)
        good = False
    return good


class Server:
    def __init__(self, text):
        self.name, _, rest = text.partition("=")
        port, _, self.pid = rest.partition(",")
        self.port = int(port)

    def peak_mb(self):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmHWM")) / 1024


def main():
    if sys.argv[1] == "attack":
        attack(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
        return 0
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["guess", "pages"])
    parser.add_argument("server", type=Server)
    parser.add_argument("--guessers", type=int, default=16)
    parser.add_argument("--tries", type=int, default=TRIES_MOST)
    parser.add_argument("--after", type=float, default=1)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--limit", type=float, default=float("inf"))
    parser.add_argument("--memory", type=float, default=float("inf"))
    options = parser.parse_args()
    return 0 if globals()[options.what](options.server, options) else 1


if __name__ == "__main__":
    sys.exit(main())
