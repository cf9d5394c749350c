# SPDX-License-Identifier: MIT
"""An exporter that serves, in which one call fails: while it answers a request, or somewhere between its start and its end."""
import base64
import http.client
import json
import os
import re
import shutil
import signal
import ssl
import subprocess
import time
from pathlib import Path

from failing_commands import BURST
from failing_core import (CONFIG, ERROR, EXPORTER, EXPORTER_ON_FAKE, FILE_CHANGES, OF_ITSELF, PATIENCE_S, RECORDING, WORK,
                          difference, leak)
from late_client import HEAD_S

SIGNS = re.compile(rb'^(?:etw_exporter_scrapes_total\{code="(?!200)\d+"\}|etw_exporter_log_lines_suppressed_total|'
                   rb'etw_exporter_memory_losses_total) (\d+)', re.M)


class Type:
    """A way in which the exporter is started. files: name and content of what its folder has, {folder} in arguments; its configuration
    is config.yaml there. recording: what it replays; None: it has sessions."""

    def __init__(self, name, *arguments, program=EXPORTER, recording=RECORDING, files=None, user=None):
        self.name, self.program, self.recording, self.further, self.user = name, program, recording, arguments, user
        self.files = {"config.yaml": CONFIG.read_bytes(), **(files or {})}
        self.blocks = {}  # of memory that are left when nothing failed

    def arguments(self, folder, recording):
        replay = [f"--replay.file={recording}"] if recording else []
        given = [*replay, "--config.file={folder}/config.yaml", "--web.enable-lifecycle", *self.further]
        if not any(argument.startswith("--web.listen-address") for argument in self.further):
            given.append("--web.listen-address=127.0.0.1:0")
        return [argument.replace("{folder}", str(folder)) for argument in given]

    def fill(self, folder):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, content in self.files.items():
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_bytes(content)


class Server:
    """An exporter of a type, with calls that fail from its start on, or while it is asked something."""

    def __init__(self, worker, kind, armed, site=None, action=ERROR, occurrence=1):
        self.kind, self.control, self.folder = kind, worker.control, worker.folder
        self.log = WORK / f"{worker.name}.log"
        self.out = WORK / f"{worker.name}.out"
        kind.fill(self.folder)
        recording, environment = kind.recording, self.control.environment()
        if recording and action in FILE_CHANGES:
            recording = self.folder / kind.recording.name
            shutil.copy(kind.recording, recording)
            environment["FAILING_CALLS_FILE"] = str(recording)
        self.control.clear()
        if armed:
            self.control.arm(site, action, occurrence)
        with open(self.log, "wb") as log, open(self.out, "wb") as out:
            self.process = subprocess.Popen([kind.program, *kind.arguments(self.folder, recording)], stdin=subprocess.PIPE, stdout=out, stderr=log,
                                            cwd=self.folder, env=environment)
        self.port, self.blocks, self.failed = None, {}, False
        if self.until(self.listening) and kind.recording:
            self.until(self.has_replayed)

    def said(self):
        return self.log.read_bytes()

    def tail(self):
        return self.said().decode("utf-8", "replace")[-300:]

    def runs(self):
        return self.process.poll() is None

    def until(self, condition):
        """Waits for it, or for the end of the program. Looks less and less often: a look may be a scrape, or a connection with TLS."""
        end, pause_s = time.monotonic() + PATIENCE_S, 0.002
        while not condition():
            if not self.runs() or time.monotonic() > end:
                return bool(condition())
            time.sleep(pause_s)
            pause_s = min(1.5 * pause_s, 0.05)
        return True

    def connect(self):
        if not self.kind.user:
            return http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE_S)
        context = ssl.create_default_context(cafile=WORK / "authority.pem")
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=PATIENCE_S, context=context)

    def ask(self, method, path, headers=()):
        """Status and body of the answer; (0, why) without a whole one. A client that is late asks again (late_client.py)."""
        given = {"Connection": "close", **dict(headers)}
        if self.kind.user and "Authorization" not in given:
            given["Authorization"] = "Basic " + base64.b64encode(self.kind.user.encode()).decode()
        while True:
            begun, sent, connection = time.monotonic(), None, self.connect()
            try:
                connection.request(method, path, headers=given)
                sent = time.monotonic()
                answer = connection.getresponse()
                return answer.status, answer.read()
            except TimeoutError:
                return 0, b"no answer: it hangs"
            except (OSError, http.client.HTTPException) as error:
                if not self.runs() or (sent or time.monotonic()) < begun + HEAD_S - 1:
                    return 0, repr(error).encode()
            finally:
                connection.close()

    def page(self):
        """The page of metrics; b"": none came."""
        status, page = self.ask("GET", "/metrics")
        return page if status == 200 else b""

    def open_files(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def signs(self):
        """What says that something went wrong: lines of the log, and counters of failures."""
        failed = SIGNS.findall(self.ask("GET", "/metrics")[1])
        return len(re.findall(rb"level=(?:warning|error)", self.said())) + sum(map(int, failed))

    def listening(self):
        """The port, from the system: the line of the log may be what was lost."""
        sockets = set()
        try:
            for name in os.listdir(f"/proc/{self.process.pid}/fd"):
                sockets.add(os.readlink(f"/proc/{self.process.pid}/fd/{name}"))
        except OSError:
            pass
        for row in Path("/proc/net/tcp").read_text().split("\n")[1:]:
            fields = row.split()
            if fields and fields[3] == "0A" and f"socket:[{fields[9]}]" in sockets:
                self.port = int(fields[1].split(":")[1], 16)
        return self.port

    def has_replayed(self):
        """The recording has been read, or could not be. The line of the log may be what was lost, which a counter says; of a session that
        has not begun yet, the same look at it finds no buffers."""
        if re.search(rb"Replay (finished|failed|ended)", self.said()) or "--replay.loop" in self.kind.further:
            return True
        _, page = self.ask("GET", "/metrics")
        if re.search(rb"^etw_replay_finished 1$", page, re.M):
            return True
        # It is over a moment before the page says that it is finished.
        return (re.search(rb'^etw_session_up\{session="[^"]*"\} 0$', page, re.M)
                and re.search(rb"^etw_consumer_buffers_total\{.* [1-9]", page, re.M)
                and self.signs() > 0)

    def command(self, line):
        """Says something to the fake machine; nothing if it has ended."""
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
        except BrokenPipeError:
            pass

    def stop(self):
        """The exit status; None: it hangs."""
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        try:
            return self.process.wait(PATIENCE_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            return None
        finally:
            self.control.disarm()
            self.blocks = self.control.blocks(self.kind.program)


# ---- requests ----

def same(request, answer, reference):
    if answer[0] != reference[0]:
        return False
    if request[1] == "/" or "Accept-Encoding" in request[2]:  # the landing page has times
        return True
    return OF_ITSELF.sub(b"", answer[1]) == OF_ITSELF.sub(b"", reference[1])


def differ(answer, reference):
    return difference(OF_ITSELF.sub(b"", answer[1]), OF_ITSELF.sub(b"", reference[1]))


class Request:
    """A request to a server that runs. It goes on, and the next answer is whole."""

    keeps_server = True

    def __init__(self, kind, *request):
        self.kind, self.request = kind, request
        self.name = f"{kind.name}: {' '.join(map(str, request))}"
        self.program, self.subject, self.reference = kind.program, kind.name, None

    def server(self, worker):
        """That of the worker; a new one where the last one has ended."""
        server = worker.server
        if server is None or server.kind is not self.kind or not server.runs():
            worker.end_server()
            worker.server = Server(worker, self.kind, False)
        return worker.server

    def learn(self, worker):
        server = self.server(worker)
        self.reference = server.ask(*self.request)
        server.control.arm()
        server.ask(*self.request)
        server.control.disarm()
        return server.control.sites(self.program)

    def fail(self, worker, site, action, occurrence):
        server = self.server(worker)
        server.failed = True
        files, signs = server.open_files(), server.signs()
        server.control.arm(site, action, occurrence)
        answer = server.ask(*self.request)
        failed = server.control.failed()
        server.control.disarm()
        if not server.runs():
            return f"the exporter has ended, status {server.process.returncode}: {server.tail()}"
        if not same(self.request, answer, self.reference):
            if answer[0] == 200:
                return f"status {answer[0]} with another page: {differ(answer, self.reference)}"
            # What a client is refused, it is told; of scrapes and reloads the exporter keeps account besides.
            accounted = self.request[1].startswith(("/metrics", "/-/reload"))
            if accounted and failed and answer[0] >= 500 and not server.until(lambda: server.signs() != signs):
                return f"status {answer[0]}, and no word about it: {answer[1][:200]!r}"
        again = server.ask(*self.request)
        if not same(self.request, again, self.reference):
            return f"the next request is answered by {again[0]}: {differ(again, self.reference)}"
        if not server.until(lambda: server.open_files() <= files):
            return "a file stays open"
        return None


# ---- from the start to the end ----

class Life:
    """A server from its start to its end. meanwhile(server): what happens while it runs; what is wrong with it, or None. constant:
    the page is the same in each run."""

    keeps_server = False

    def __init__(self, kind, meanwhile=None, constant=True):
        self.kind, self.meanwhile, self.constant = kind, meanwhile, constant
        self.name = f"{kind.name}, from its start to its end"
        self.program, self.subject = kind.program, kind.name

    def learn(self, worker):
        server = Server(worker, self.kind, True)
        wrong = self.meanwhile and self.meanwhile(server)
        self.page = server.page()
        status = server.stop()
        if status != 0 or wrong or not self.page:
            raise SystemExit(f"FAIL: {self.name}: exit {status}: {wrong}: {server.tail()}")
        self.blocks = server.blocks
        return server.control.sites(self.program)

    def fail(self, worker, site, action, occurrence):
        server = Server(worker, self.kind, True, site, action, occurrence)
        if not server.runs() or not server.port:
            status = server.stop()
            if status not in (1, 2):
                return f"exit {status}: {server.tail()}"
            if b"level=error" not in server.said() and b"etw_exporter: " not in server.said():
                return f"exit {status}, and no word about it: {server.tail()}"
            return leak(server.blocks, self.blocks)
        wrong = self.meanwhile and self.meanwhile(server)
        wrong = wrong or self.last_page(server)
        signs = server.signs()
        status = server.stop()
        if status != 0 and not (status == 1 and signs > 0):
            wrong = wrong or f"exit {status}: {server.tail()}"
        return wrong or leak(server.blocks, self.blocks)

    def last_page(self, server):
        """The second scrape at the latest is whole."""
        answers = [server.ask("GET", "/metrics") for _ in range(2)]
        if not server.runs():
            return None  # its status and its words are looked at
        if answers[1][0] != 200:
            return f"the second scrape: {answers[1]}"
        if self.constant and OF_ITSELF.sub(b"", answers[1][1]) != OF_ITSELF.sub(b"", self.page) and server.signs() == 0:
            return "another page, and no word about it: " + difference(OF_ITSELF.sub(b"", answers[1][1]), OF_ITSELF.sub(b"", self.page))
        return None


def number_of(page, pattern):
    """The sum of the samples whose name and labels match."""
    return sum(float(value) for value in re.findall(rb"^(?:" + pattern + rb")(?:\{[^}\n]*\})? (\S+)$", page, re.M))


# ---- reloads ----

def reload_by_signal(server):
    """A reload while a recording is replayed. It is done or refused, and either is said; the next one is done; counters do not fall."""
    def count():
        return len(re.findall(rb"Configuration was (?:not )?reloaded", server.said()))

    def said_again():
        # The line of the log may be what was lost.
        return count() > before or server.signs() > signs

    last = b""
    for attempt in (1, 2, 3):
        before, signs = count(), server.signs()
        server.process.send_signal(signal.SIGHUP)
        server.until(said_again)
        if not server.runs():
            return None
        page = server.page() or server.page()
        fell = fallen(last, page)
        if fell:
            return f"after reload {attempt}: {fell}"
        last = page
    if number_of(last, rb"etw_exporter_config_last_reload_successful") != 1:
        return f"the third reload is not successful: {server.tail()}"
    return None


def samples(page):
    return dict(re.findall(rb"^(etw_\w+_total(?:\{[^\n]*\})?) (\S+)$", page, re.M))


def fallen(before, after):
    """A counter that went back; None: none did."""
    now = samples(after)
    for name, value in samples(before).items():
        if name in now and float(now[name]) < float(value):
            return f"{name.decode()} fell from {value.decode()} to {now[name].decode()}"
    return None


def renew_certificate(server):
    """A renewed certificate is taken, or refused with a word about it; then the first one again."""
    own = server.folder / "tls"
    for name in ("renewed", "server"):
        before = server.said().count(b"eb configuration")
        for end in ("crt", "key"):
            shutil.copy(WORK / f"{name}.{end}", own / f"new.{end}")
            os.replace(own / f"new.{end}", own / f"tls.{end}")
        server.until(lambda: served(server) == name or server.said().count(b"eb configuration") > before)
    return None


def served(server):
    """Which certificate it has."""
    context = ssl.create_default_context(cafile=WORK / "authority.pem")
    connection = http.client.HTTPSConnection("127.0.0.1", server.port, timeout=PATIENCE_S, context=context)
    try:
        connection.connect()
        subject = dict(pair[0] for pair in connection.sock.getpeercert()["subject"])
        return subject["commonName"]
    except OSError:
        return None
    finally:
        connection.close()


# ---- recordings and sessions ----

def ask_for_recording(server):
    """A flight recorder is asked for a recording: it is whole, or not there and said why."""
    status, answer = server.ask("POST", "/-/record")
    if not server.runs():
        return None
    partial = list((server.folder / "recordings").glob("*.partial"))
    if partial:
        return f"a partial recording stays: {partial}"
    if status == 200:
        text = subprocess.run([os.environ["ETWTOOL"], "summary", answer.decode().strip()], capture_output=True, text=True)
        return None if text.returncode == 0 else f"the recording is damaged: {text.stderr}"
    if status == 0 or answer:
        return None
    return f"the recording is refused with {status}, and no reason"


SESSIONS = ("etw_exporter", "providers")


def sums(page, session):
    """Events that a session was given, by what the page says."""
    label = b'[^}]*session="' + session.encode() + b'"[^}]*'
    def of(name):
        return sum(float(value) for value in re.findall(rb"^" + name + rb"\{" + label + rb"\} (\S+)$", page, re.M))
    return of(rb"etw_consumer_events_total") - of(rb"etw_consumer_lost_notifications_total") + of(rb"etw_session_events_lost_total")


def give_events(server):
    """A fake machine has events for two sessions: what they were given is counted, or counted as lost."""
    server.command(f"burst {RECORDING} {BURST}\n".encode())

    def reported():
        ended = server.said().count(b"Session is no longer consumed")
        return server.out.read_bytes().count(b'"phase":"burst"') >= len(SESSIONS) - ended

    def counted():
        page = server.page()
        totals = {session["session"]: session["emitted"] for session in map(json.loads, server.out.read_text().splitlines())}
        same_sums = number_of(page, rb"etw_events_total") == number_of(page, rb"etw_consumer_events_total")
        return page and same_sums and all(sums(page, name) == totals.get(name) for name in SESSIONS)

    def accounted():
        # A session that was started again has lost what came meanwhile, and says so.
        return counted() or server.signs() > 0

    if not server.until(reported) and server.runs():
        return f"the sessions are not given their events: {server.tail()}"
    if server.runs() and not server.until(accounted) and server.runs():
        page = server.page()
        return f"events are missing: {server.out.read_text()} {[sums(page, name) for name in SESSIONS]}"
    return None


# ---- all of them ----

SESSIONS_YAML = (WORK / "sessions.yaml").read_bytes()
PLAIN = Type("a server")
REQUESTS = [
    ("GET", "/metrics", {}),
    ("GET", "/metrics", {"Accept-Encoding": "gzip"}),
    ("GET", "/metrics", {"Accept-Encoding": "zstd"}),
    ("GET", "/metrics", {"Accept": "application/openmetrics-text; version=1.0.0"}),
    ("GET", "/metrics?collect[]=disk", {}),
    ("HEAD", "/metrics", {}),
    ("GET", "/", {}),
    ("GET", "/style.css", {}),
    ("GET", "/version", {}),
    ("GET", "/-/ready", {}),
    ("GET", "/nothing", {}),
    ("POST", "/-/reload", {}),
]


def requests():
    return [Request(PLAIN, *request) for request in REQUESTS]


def servers():
    return [Life(PLAIN)]


def tls_type():
    files = {"web.yml": (WORK / "web.yml").read_bytes(), "tls/tls.crt": (WORK / "server.crt").read_bytes(),
             "tls/tls.key": (WORK / "server.key").read_bytes()}
    return Type("a server with TLS and users", "--web.config.file={folder}/web.yml", files=files, user="prometheus:fakepassword")


def tls():
    kind = tls_type()
    return [Request(kind, "GET", "/metrics", {}), Request(kind, "GET", "/-/ready", {}), Life(kind, renew_certificate)]


def reloads():
    paced = Type("a paced replay that is reloaded", "--replay.loop", "--replay.speed=100")
    several = Type("a server with several addresses", *(f"--web.listen-address={address}:0" for address in ("127.0.0.1", "localhost", "[::1]")))
    return [Life(paced, reload_by_signal, constant=False), Life(several)]


def recorders():
    recorder = Type("a flight recorder", files={"config.yaml": b"recorder: { dir: recordings, memory: 4MiB, interval: 1s }\n", "recordings/.keep": b""})
    return [Life(recorder, ask_for_recording)]


def live():
    sessions = Type("live sessions", program=EXPORTER_ON_FAKE, recording=None, files={"config.yaml": SESSIONS_YAML})
    return [Life(sessions, give_events, constant=False)]
