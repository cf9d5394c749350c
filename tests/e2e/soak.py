#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Keeps exporters busy for a time and says whether they stay as they are: soak.py WORK SECONDS [METRICS_PROTO], run by soak.sh.

`replay` replays a recording in a loop, with TLS and users; `live` has sessions of the fake ETW, which are given events in bursts; `limits`
and `names` replay a recording while their limits on series change, `names` one in which 1,000 programs a second, each with a name of its own,
come and go. SOAK_EXPORTERS has the names of those that run. Threads of this program scrape, reload and misbehave. A counter of one page is
never above the same counter of a later page, in whatever formats the two are, except where series are evicted; and the same holds for sums that must agree, such as events by process and events by session.
After each burst the sums of the sessions are what the fake machine says it emitted, exactly.

Memory is flat when the median of the last quarter of the run is not above that of the second quarter by more than RSS_RATIO and
RSS_BYTES; the first quarter is the warm-up, in which whatever has a limit reaches it. The fake machine is in the same process and
takes 5 MB more while it plays a burst, which takes longer on a busy machine: samples are taken between bursts. Files and threads come
and go with clients, so their minimum is compared; and when the clients are gone at the end, there are no more than before they came.
"""
import atexit
import base64
import collections
import gzip
import json
import math
import os
import random
import re
import shutil
import signal
import socket
import ssl
import statistics
import struct
import subprocess
import sys
import threading
import time
from pathlib import Path

EXPORTER, ON_FAKE = os.environ["ETW_EXPORTER"], os.environ["EXPORTER_ON_FAKE"]
WORK, SECONDS = Path(sys.argv[1]), float(sys.argv[2])
METRICS_PROTO = sys.argv[3] if len(sys.argv) > 3 else None  # without it the protobuf format is left out
PATIENCE_S = 600  # for what takes milliseconds on an idle machine
RSS_RATIO, RSS_BYTES = 1.02, 1 << 20
FLAT_FROM_S = 300  # shorter runs are not compared: memory is still being filled, and a client may be there in each sample
SAMPLES = 400  # of memory, files and threads
BURST = 500
USER = {"Authorization": "Basic " + base64.b64encode(b"prometheus:fakepassword").decode()}
TEXT, OPENMETRICS = "text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0"
PROTOBUF = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"


over = threading.Event()  # the threads are to end
started = time.monotonic()


class Fault(Exception):
    pass


class Faults:
    def __init__(self):
        self.lock, self.sentences = threading.Lock(), []

    def add(self, sentence):
        with self.lock:
            self.sentences.append(sentence)
            print("FAULT:", sentence, flush=True)


faults = Faults()
counts = {}  # of what was done
counts_lock = threading.Lock()


def count(name):
    with counts_lock:
        counts[name] = counts.get(name, 0) + 1


# ---- pages: {(name, labels): value} of counters ----

LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
ESCAPES = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def key_of(name, labels):
    """The bound of a bucket is written as 1 in one format, and as 1.0 in another."""
    return name, tuple(sorted((label, str(float(text))) if label == "le" else (label, text) for label, text in labels))


def read_text(page):
    counters, kind = {}, None
    for line in page.decode().split("\n"):
        if line.startswith("# TYPE "):
            _, _, family, kind = line.split(" ")
        elif line and not line.startswith("#") and kind in ("counter", "histogram"):
            series, value = line.split(" # ")[0].rsplit(" ", 1)
            name, _, labels = series.partition("{")
            if name.endswith("_created"):
                continue
            pairs = [(label, re.sub(r'\\[\\"n]', lambda found: ESCAPES[found.group()], text)) for label, text in LABEL.findall(labels)]
            counters[key_of(name, pairs)] = float(value)
    return counters


def protobuf_reader(description):
    """Reads with code that protoc makes from the published description of the format."""
    import read_protobuf  # it needs packages that not every machine has
    family_class = read_protobuf.message_class(description)

    def read(page):
        return {key_of(name, labels): float(value)
                for family in read_protobuf.families(page, family_class) if family.type in (read_protobuf.COUNTER, read_protobuf.HISTOGRAM)
                for name, labels, value in read_protobuf.series_of(family)}

    return read


FORMATS = {"text": (TEXT, read_text), "openmetrics": (OPENMETRICS, read_text)}
if METRICS_PROTO:
    FORMATS["protobuf"] = PROTOBUF, protobuf_reader(METRICS_PROTO)


def sum_of(counters, name, **labels):
    wanted = set(labels.items())
    return sum(value for (found, pairs), value in counters.items() if found == name and wanted <= set(pairs))


# ---- an exporter ----

Sample = collections.namedtuple("Sample", "time memory files threads")  # seconds from the start; bytes


class Exporter:
    def __init__(self, name, program, *arguments, tls=False):
        self.name, self.tls, self.folder = name, tls, WORK / name
        self.config = self.folder / "config.yaml"
        self.log = self.folder / "log"
        self.samples = []
        self.between_bursts = threading.Lock()
        self.context = ssl.create_default_context(cafile=WORK / "authority.pem")
        self.arguments = [program, f"--config.file={self.config}", "--web.enable-lifecycle", "--web.listen-address=127.0.0.1:0", *arguments]

    def start(self):
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(self.arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        atexit.register(self.process.kill)  # it ends with this script, whatever happens
        self.until(lambda: b"Listening" in self.log.read_bytes(), lambda: "it does not listen")
        self.port = int(re.search(rb"Listening.* port=(\d+)", self.log.read_bytes()).group(1))
        # Pages are answered before the last threads have started, which check_end() would take for too many.
        self.until(lambda: self.ask("GET", "/-/ready")[0] == 200, lambda: "it is not ready")

    def last_lines(self):
        return self.log.read_bytes()[-500:].decode(errors="replace")

    def check_running(self):
        if self.process.poll() is not None:
            raise Fault(f"{self.name} has ended, status {self.process.returncode}: {self.last_lines()}")

    def until(self, condition, why):
        end = time.monotonic() + PATIENCE_S
        while not condition():
            self.check_running()
            if time.monotonic() > end:
                raise Fault(f"{self.name}: {why()}: {self.last_lines()}")
            time.sleep(0.01)

    def connect(self, receive_bytes=0, own="127.0.0.1"):
        connection = socket.socket()
        connection.bind((own, 0))
        if receive_bytes:
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        connection.settimeout(PATIENCE_S)
        connection.connect(("127.0.0.1", self.port))
        return connection

    def secured(self, connection):
        return self.context.wrap_socket(connection, server_hostname="127.0.0.1") if self.tls else connection

    def ask(self, method, path, headers=()):
        """Status, headers and body of an answer. After a change of the web configuration passwords are hashed again, few at a time; and
        on a busy machine a client that does not send its request in time makes room for others."""
        end = time.monotonic() + PATIENCE_S
        while True:
            answer = self.ask_once(method, path, headers)
            if answer and (answer[0] != 503 or "retry-after" not in answer[1]):
                return answer
            self.check_running()
            if time.monotonic() > end:
                raise Fault(f"{self.name}: {method} {path} is not answered: {answer}")
            count("requests that were to be tried again")
            time.sleep(0.1)

    def ask_once(self, method, path, headers):
        given = {"Host": "127.0.0.1", "Connection": "close", **USER, **dict(headers)}
        head = f"{method} {path} HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in given.items()) + "Content-Length: 0\r\n\r\n"
        data = bytearray()
        try:
            with self.secured(self.connect()) as connection:
                connection.sendall(head.encode())
                while part := connection.recv(1 << 18):
                    data += part
        except OSError:
            if data:
                raise
        if not data:
            return None
        head, _, body = bytes(data).partition(b"\r\n\r\n")
        fields = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in head.decode().split("\r\n")[1:])}
        if fields.get("transfer-encoding") == "chunked":
            body = unchunked(body)
        elif len(body) != int(fields.get("content-length", 0)):
            raise Fault(f"{self.name}: {method} {path}: an answer is cut short")
        return int(head.split(b" ")[1]), fields, body

    def counters(self, name, encoding="identity"):
        accept, read = FORMATS[name]
        status, fields, body = self.ask("GET", "/metrics", {"Accept": accept, "Accept-Encoding": encoding})
        if status != 200:
            raise Fault(f"{self.name}: a scrape is answered with {status}: {body[:200]}")
        coding = fields.get("content-encoding", "identity")
        if coding == "gzip":
            body = gzip.decompress(body)
        elif coding == "zstd":
            body = subprocess.run(["zstd", "-dcq"], input=body, capture_output=True, check=True).stdout
        count(f"scrapes, {name}, {coding}")
        return read(body)

    def sample(self):
        self.check_running()
        process = Path(f"/proc/{self.process.pid}")
        with self.between_bursts:
            status = dict(line.split(":", 1) for line in (process / "status").read_text().splitlines())
            self.samples.append(Sample(time.monotonic() - started, memory=int(status["VmRSS"].split()[0]) << 10,
                                       files=len(os.listdir(process / "fd")), threads=int(status["Threads"])))

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdin.close()
        status = self.process.wait(PATIENCE_S)
        if status != 0:
            faults.add(f"{self.name} ends with status {status}: {self.last_lines()}")


def unchunked(body):
    out, at = bytearray(), 0
    while True:
        end = body.index(b"\r\n", at)
        size = int(body[at:end], 16)
        if size == 0:
            return bytes(out)
        out += body[end + 2:end + 2 + size]
        at = end + 2 + size + 2


# ---- what happens to it ----

SESSIONS = ("etw_exporter", "providers")
CONSUMERS = {"replay": 1, "live": len(SESSIONS)}


def compare(exporter, before, after, what):
    """No counter is above the same one of a later page, and none is missing in it."""
    for key, value in before.items():
        if key in after and after[key] < value and not math.isclose(after[key], value, rel_tol=1e-12):
            faults.add(f"{exporter.name}: {what}: {key} went back from {value} to {after[key]}")


def scrape(exporter, choose):
    """Pages of random formats, one after another; the sums in them agree as far as they can."""
    last = {}
    while not over.is_set():
        now = exporter.counters(choose.choice(list(FORMATS)), choose.choice(["identity", "gzip", "zstd"]))
        compare(exporter, last, now, "two scrapes")
        events, by_session = sum_of(last, "etw_events_total"), sum_of(last, "etw_consumer_events_total")
        # A consumer counts an event by session, and then by process; it may have to wait for a processor between the two.
        if events > sum_of(now, "etw_consumer_events_total") or by_session - CONSUMERS[exporter.name] > sum_of(now, "etw_events_total"):
            faults.add(f"{exporter.name}: {events} events by process and {by_session} by session do not fit to the next page")
        last = now
        over.wait(0.05)


def compare_formats(exporter, choose):
    """A page between two of another format: each counter of the outer ones is in it, with a value between theirs."""
    while not over.is_set():
        outer, inner = choose.sample(list(FORMATS), 2)
        before, between, after = (exporter.counters(name) for name in (outer, inner, outer))
        compare(exporter, before, between, f"{outer} and {inner}")
        compare(exporter, between, after, f"{inner} and {outer}")
        families = {name for name, _ in between}  # a reload switches whole collectors
        lost = [key for key in before if key in after and key not in between and key[0] in families]
        if lost:
            faults.add(f"{exporter.name}: {len(lost)} series of {outer} are missing in {inner}: {lost[:3]}")
        count("comparisons of formats")
        over.wait(0.2)


CONFIGS = {
    "good": ["collectors: { network: on }", "collectors: { network: off }", "collectors: { network: on, cpu: on }"],
    "bad": ["collectors: { network: of }", "unknown: 1", "limits: { series: many }", "{"],
}


MARK = "\n#\n"  # in a configuration: behind it stands what each reload changes


def reload(exporter, choose):
    """Good files and bad ones, by signal and by request."""
    while not over.is_set():
        quality = choose.choice(list(CONFIGS))
        stays = exporter.config.read_text().split(MARK)[0]
        replace(exporter.config, f"{stays}{MARK}{choose.choice(CONFIGS[quality])}\n".encode())
        if choose.random() < 0.5:
            status, _, body = exporter.ask("POST", "/-/reload")
            if (status == 200) != (quality == "good"):
                faults.add(f"{exporter.name}: a {quality} file is answered with {status}: {body[:200]}")
            count(f"reloads by request, {quality}")
        else:
            exporter.process.send_signal(signal.SIGHUP)
            count(f"reloads by signal, {quality}")
        over.wait(choose.uniform(0.2, 2))


def change_limits(exporter, choose):
    """Nearly each file has other limits on series than the one before."""
    while not over.is_set():
        series, each = choose.randint(500, 20000), choose.randint(100, 5000)
        replace(exporter.config, f"limits: {{ series: {series}, series_per_family: {each} }}\n".encode())
        status, _, body = exporter.ask("POST", "/-/reload")
        if status != 200:
            faults.add(f"{exporter.name}: {series} series, {each} per family are answered with {status}: {body[:200]}")
        count(f"changed limits, {exporter.name}")
        over.wait(choose.uniform(1, 5))


def scrape_totals(exporter, choose):
    """Events by session never go back. Events by process do not either until a series is evicted, which takes what it has counted with it."""
    last = {}
    while not over.is_set():
        now = exporter.counters(choose.choice(list(FORMATS)), choose.choice(["identity", "gzip", "zstd"]))
        evicted = sum_of(now, "etw_exporter_series_evicted_total")
        for name in ("etw_consumer_events_total",) if evicted else ("etw_consumer_events_total", "etw_events_total"):
            before, after = sum_of(last, name), sum_of(now, name)
            if after < before:
                faults.add(f"{exporter.name}: {name}: {before}, then {after}")
        last = now
        over.wait(1)


def replace(path, data):
    new = path.with_suffix(".new")
    new.write_bytes(data)
    os.replace(new, path)


def renew(exporter, choose):
    """Another certificate; sometimes one whose key is not there yet."""
    while not over.is_set():
        name = choose.choice(["server", "renewed"])
        for end in choose.sample(["crt", "key"], 2):
            replace(exporter.folder / "tls" / f"tls.{end}", (WORK / f"{name}.{end}").read_bytes())
            over.wait(choose.choice([0, 1.5]))
        count("certificates")
        over.wait(choose.uniform(1, 5))


def send_nothing(exporter, connection):
    return connection


def send_half_a_head(exporter, connection):
    secured = exporter.secured(connection)
    secured.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nX: ")
    return secured


def send_garbage(exporter, connection):
    connection.sendall(os.urandom(200))
    return connection


def read_slowly(exporter, connection):
    """A page through a window of a few bytes, some of it."""
    secured = exporter.secured(connection)
    secured.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: " + USER["Authorization"].encode() + b"\r\n\r\n")
    for _ in range(20):
        if not secured.recv(100) or over.wait(0.05):
            break
    return secured


def guess_passwords(exporter, connection):
    wrong = base64.b64encode(b"prometheus:wrong").decode()
    secured = exporter.secured(connection)
    secured.sendall(f"GET /metrics HTTP/1.1\r\nHost: x\r\nAuthorization: Basic {wrong}\r\n\r\n".encode())
    secured.recv(100)
    return secured


def send_slow_bodies(exporter, connection):
    secured = exporter.secured(connection)
    secured.sendall(b"POST /-/reload HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
    for _ in range(5):
        secured.sendall(b"y" * 100)
        over.wait(0.1)
    return secured


RUDE = [send_nothing, send_half_a_head, send_garbage, read_slowly, guess_passwords, send_slow_bodies]


def misbehave(exporter, choose):
    """Half of the connections are closed as usual, the others reset. Where passwords are guessed, logins have to wait: that is another
    address than the one that scrapes."""
    while not over.is_set():
        way = choose.choice(RUDE)
        connection = exporter.connect(receive_bytes=2048, own="127.0.0.2")
        try:
            connection = way(exporter, connection)
            if choose.random() < 0.5:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        except OSError:
            pass  # the server has refused it
        connection.close()
        count(f"clients that {way.__name__.replace('_', ' ')}")
        over.wait(choose.uniform(0, 0.3))


def tell_machine(exporter, line):
    """Returns what the machine has given each of the sessions, {name: events}. It may also have a line about the session that is there
    for a moment, which describes files and disks."""
    exporter.process.stdin.write(f"{line}\n".encode())
    exporter.process.stdin.flush()
    emitted = {}
    while len(emitted) < len(SESSIONS):
        each = json.loads(exporter.process.stdout.readline())
        if each["session"] in SESSIONS:
            emitted[each["session"]] = each["emitted"]
    return emitted


def counted(page, session):
    return (sum_of(page, "etw_consumer_events_total", session=session)
            - sum_of(page, "etw_consumer_lost_notifications_total", session=session)
            + sum_of(page, "etw_session_events_lost_total", session=session))


def burst(exporter, choose):
    """The sessions are given events, and count all of them, by process as many as by session. They also get some about each other, behind
    the burst."""
    emitted = seen = sums = None

    def all_are_counted():
        nonlocal emitted, seen, sums
        emitted = tell_machine(exporter, "totals")
        page = exporter.counters("text")
        seen = {session: counted(page, session) for session in SESSIONS}
        sums = [sum_of(page, name) for name in ("etw_events_total", "etw_consumer_events_total")]
        return seen == emitted and sums[0] == sums[1]

    while not over.is_set():
        with exporter.between_bursts:
            tell_machine(exporter, f"burst {WORK / 'sample.etl'} {BURST}")
            exporter.until(all_are_counted, lambda: f"counted {seen}, emitted {emitted}; {sums} by process and by session")
        count("bursts that were counted exactly")
        over.wait(choose.uniform(0, 2))


# ---- the run ----


def guarded(work, exporter, seed):
    try:
        work(exporter, random.Random(seed))
    except Exception as error:  # pylint: disable=broad-except
        if not isinstance(error, Fault):
            error = f"{exporter.name}: {work.__name__}: {error!r}"
        faults.add(str(error))
        over.set()


def check_flat(exporter):
    """Memory, files and threads of the last quarter against the second."""
    quarter = len(exporter.samples) // 4
    early, late = exporter.samples[quarter:2 * quarter], exporter.samples[-quarter:]
    rows = []

    def compare_quarters(name, what, summary, most):
        before, after = (summary(getattr(sample, name) for sample in part) for part in (early, late))
        rows.append(f"{what}: {before:.0f}, then {after:.0f}")
        if after > most(before):
            faults.add(f"{exporter.name}: {what} grow from {before:.0f} to {after:.0f}")

    compare_quarters("memory", "bytes of memory", statistics.median, lambda before: before * RSS_RATIO + RSS_BYTES)
    compare_quarters("files", "open files", min, lambda before: before)
    compare_quarters("threads", "threads", min, lambda before: before)
    print(f"{exporter.name}: {'; '.join(rows)}; {len(exporter.samples)} samples", flush=True)


def print_memory(exporter):
    """By the minute, of a run that has many of them."""
    minutes = collections.defaultdict(list)
    for sample in exporter.samples:
        minutes[int(sample.time // 60)].append(sample.memory / 1e6)
    for minute, each in minutes.items() if len(minutes) > 5 else ():
        print(f"{exporter.name}: minute {minute:3}: {min(each):6.2f} to {max(each):6.2f} MB, median {statistics.median(each):6.2f}")


def check_end(exporter, before):
    """When the clients are gone, there are no more files and threads than before they came, and nothing was lost."""
    def quiet():
        exporter.sample()
        return exporter.samples[-1].files <= before.files and exporter.samples[-1].threads <= before.threads

    exporter.until(quiet, lambda: f"{exporter.samples[-1]} stays, before the clients {before}")
    page = exporter.counters("text")
    losses = sum_of(page, "etw_exporter_memory_losses_total")
    if losses:
        faults.add(f"{exporter.name}: {losses} losses for want of memory")
    if exporter.name == "names":
        done = {name: sum_of(page, f"etw_exporter_series_{name}_total") for name in ("evicted", "overflow")}
        print(f"names: series evicted and events beyond a limit: {done}")
        if exporter.samples[-1].time >= FLAT_FROM_S and not all(done.values()):
            faults.add("names: the limits were not reached, or nothing was evicted")
    exporter.end()


def make_replay():
    exporter = Exporter("replay", EXPORTER, f"--replay.file={WORK / 'sample.etl'}", "--replay.loop", "--replay.speed=20",
                        f"--web.config.file={WORK / 'replay' / 'web.yml'}", tls=True)
    (exporter.folder / "tls").mkdir(parents=True)
    exporter.config.write_text("path_groups: [ { name: logs, match: [ 'C:/logs/**' ] } ]")
    shutil.copy(WORK / "web.yml", exporter.folder / "web.yml")
    for end in ("crt", "key"):
        shutil.copy(WORK / f"server.{end}", exporter.folder / "tls" / f"tls.{end}")
    return exporter


def make_live():
    """Its buffers, which are the fake's, and its tables are small, so that the first bursts fill them."""
    exporter = Exporter("live", ON_FAKE)
    session = "buffers: { size: 64KiB, min: 16, max: 32 }, providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ]"
    exporter.folder.mkdir()
    exporter.config.write_text(f"sessions:\n  etw_exporter: {{ {session} }}\n  providers: {{ logger: user, {session} }}\n"
                               "limits: { processes: 500, threads: 2000, files: 5000 }")
    return exporter


def make_limited(name, *arguments):
    """Its limits on series change with each reload, from far below to far above what it needs."""
    exporter = Exporter(name, EXPORTER, "--replay.loop", *arguments)
    exporter.folder.mkdir()
    exporter.config.write_text("limits: { series: 20000 }")
    return exporter


MAKERS = {
    "replay": make_replay,
    "live": make_live,
    "limits": lambda: make_limited("limits", f"--replay.file={WORK / 'sample.etl'}", "--replay.speed=20"),
    "names": lambda: make_limited("names", f"--replay.file={WORK / 'names.etl'}", "--replay.speed=20"),
}

JOBS = {
    "replay": [scrape, scrape, compare_formats, reload, renew, misbehave, misbehave],
    "live": [burst, scrape, compare_formats, reload, misbehave],
    "limits": [scrape_totals, change_limits],
    "names": [scrape_totals, change_limits],
}


def run(exporters, seed):
    """Keeps them busy for the time, and takes samples."""
    threads = []
    for exporter in exporters:
        for job in JOBS[exporter.name]:
            seed += 1
            threads.append(threading.Thread(target=guarded, args=(job, exporter, seed)))
            threads[-1].start()
    try:
        while not over.wait(SECONDS / SAMPLES) and time.monotonic() - started < SECONDS:
            for exporter in exporters:
                exporter.sample()
    except Fault as fault:
        faults.add(str(fault))
    finally:
        over.set()
    for thread in threads:
        thread.join()


def main():
    seed = int(os.environ.get("SOAK_SEED", random.SystemRandom().randrange(1 << 31)))
    print(f"{SECONDS:.0f} s; SOAK_SEED={seed}", flush=True)
    exporters = [MAKERS[name]() for name in os.environ.get("SOAK_EXPORTERS", " ".join(MAKERS)).split()]
    for exporter in exporters:
        exporter.start()
        exporter.counters("text")
        exporter.sample()
    run(exporters, seed)
    for exporter in exporters:
        if exporter.samples[-1].time >= FLAT_FROM_S:
            print_memory(exporter)
            check_flat(exporter)
        try:
            check_end(exporter, exporter.samples[0])
        except Fault as fault:
            faults.add(str(fault))
            exporter.process.kill()
    for name in sorted(counts):
        print(f"  {counts[name]:7} {name}")
    print(f"{time.monotonic() - started:.0f} s, {len(faults.sentences)} faults")
    sys.exit(bool(faults.sentences))


main()
