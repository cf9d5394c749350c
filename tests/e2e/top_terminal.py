# SPDX-License-Identifier: MIT
"""Runs etwtool top on a pseudo terminal and reads its screen, for top.sh.

The screen takes only the control sequences of etwtool/top/top.h; any other one is a fault, and so is a character beyond the
last column. A test waits for a condition on the screen, never for a time.
"""
import fcntl
import http.server
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import sys
import termios
import threading
import time
import unicodedata

WAIT_S = 300
TOTALS = re.compile(r"totals\s+events")  # below a long path it begins a line; the last line names the key "t totals" at all times
SEQUENCES = re.compile(r"\x1b\[(\?1049[hl]|\?25[hl]|H|K|0m|1m|7m|1;31m)")
EXITED, STOPPED, STARTED = range(3)
TITLES = "WRITTEN READ FILEOPS NET CPU WAITS DISK FAULTS EVENTS".split()


class Screen:
    """What a terminal shows after the bytes so far."""

    def __init__(self, columns, rows):
        self.names = []  # of all sequences
        self.resize(columns, rows)

    def resize(self, columns, rows):
        self.columns, self.rows = columns, rows
        self.cells = [[" "] * columns for _ in range(rows)]
        self.x = self.y = 0

    def feed(self, text):
        at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                match = SEQUENCES.match(text, at)
                assert match, f"sequence {text[at:at + 20]!r}"
                self.sequence(match.group(1))
                at = match.end()
                continue
            at += 1
            if c == "\r":
                self.x = 0
            elif c == "\n":
                assert self.y + 1 < self.rows, "a line below the last one"
                self.y += 1
            else:
                self.put(c)

    def put(self, c):
        assert unicodedata.category(c) not in ("Cc", "Cf", "Zl", "Zp"), f"character {c!r}"
        width = 2 if unicodedata.east_asian_width(c) in "WF" else 1
        assert self.x + width <= self.columns, f"{c!r} is beyond column {self.columns} of {self.line(self.y)!r}"
        self.cells[self.y][self.x] = c
        if width == 2:
            self.cells[self.y][self.x + 1] = ""
        self.x += width

    def sequence(self, name):
        self.names.append(name)
        if name.startswith("?1049"):
            self.resize(self.columns, self.rows)  # another screen
        elif name == "H":
            self.x = self.y = 0
        elif name == "K":
            self.cells[self.y][self.x:] = [" "] * (self.columns - self.x)

    def line(self, y):
        return "".join(self.cells[y]).rstrip()

    def text(self):
        return "\n".join(self.line(y) for y in range(self.rows))


class Top:
    """etwtool top in the foreground of a session of its own, below a process that stands for the shell."""

    def __init__(self, arguments, columns=80, rows=24, **environment):
        self.master, self.slave = pty.openpty()
        self.before = termios.tcgetattr(self.slave)
        self.screen = Screen(columns, rows)
        self.raw, self.pending = "", b""
        self.set_size(columns, rows)
        self.report, report = os.pipe()
        self.shell = os.fork()
        if self.shell == 0:
            try:
                self.be_shell(arguments, environment, report)
            finally:
                os._exit(1)
        os.close(report)
        kind, self.pid = self.word()
        assert kind == STARTED

    def be_shell(self, arguments, environment, report):
        os.setsid()
        fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        signal.signal(signal.SIGTTOU, signal.SIG_IGN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        os.close(self.master)
        child = os.fork()
        if child == 0:
            os.setpgid(0, 0)
            os.tcsetpgrp(self.slave, os.getpid())
            signal.signal(signal.SIGTTOU, signal.SIG_DFL)
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
            for fd in (0, 1, 2):
                os.dup2(self.slave, fd)
            os.closerange(3, 64)
            os.environ.pop("NO_COLOR", None)
            os.environ.update({"TERM": "xterm", **environment})
            os.execv(arguments[0], arguments)
        os.write(report, struct.pack("ii", STARTED, child))
        while True:
            _, status = os.waitpid(child, os.WUNTRACED)
            stopped = os.WIFSTOPPED(status)
            if stopped and os.WSTOPSIG(status) == signal.SIGSTOP:
                continue  # by another program, which lets it go on
            os.write(report, struct.pack("ii", STOPPED if stopped else EXITED, status))
            if not stopped:
                os._exit(0)

    def word(self):
        """The next word of the shell: what became of the program, and its status."""
        end = time.monotonic() + WAIT_S
        while True:
            ready, _, _ = select.select([self.report, self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"the program neither stops nor ends:\n{self.screen.text()}"
            if self.master in ready:
                self.take()
            if self.report in ready:
                word = os.read(self.report, 8)
                assert len(word) == 8, "the shell has ended"
                return struct.unpack("ii", word)

    def set_size(self, columns, rows):
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def take(self):
        data = self.pending + os.read(self.master, 65536)
        keep = len(data)
        escape = data.rfind(b"\x1b", max(0, len(data) - 8))
        if escape >= 0 and not re.match(rb"\x1b\[[?0-9;]*[A-Za-z]", data[escape:]):
            keep = escape  # its rest comes
        try:
            text = data[:keep].decode()
        except UnicodeDecodeError as fault:
            assert keep - fault.start < 4, f"no UTF-8: {data[fault.start:][:20]!r}"
            keep = fault.start
            text = data[:keep].decode()
        self.pending = data[keep:]
        self.raw += text
        self.screen.feed(text)

    def until(self, condition, what):
        """Reads until a whole frame fulfils the condition; returns its text."""
        end = time.monotonic() + WAIT_S
        while True:
            more = bool(select.select([self.master], [], [], 0)[0])
            if not more and self.screen.y == self.screen.rows - 1 and condition(self.screen.text()):
                return self.screen.text()
            ready, _, _ = select.select([self.master], [], [], max(0, end - time.monotonic()))
            assert ready, f"{what}: not on the screen:\n{self.screen.text()}"
            self.take()

    def until_shown(self, *words):
        """Words, or regular expressions."""
        return self.until(lambda text: all(word in text if isinstance(word, str) else word.search(text) for word in words), " ".join(map(str, words)))

    def key(self, keys):
        os.write(self.master, keys.encode())

    def drain(self):
        while select.select([self.master], [], [], 0)[0]:
            self.take()

    def ends(self, how):
        """The program has ended well, and the terminal is as it was."""
        kind, status = self.word()
        self.drain()
        assert kind == EXITED and status == 0, f"{how}: {kind} {status:#x}"
        self.is_restored(how)
        self.close()

    def is_restored(self, how):
        names = self.screen.names
        assert termios.tcgetattr(self.slave) == self.before, f"{how}: other settings of the terminal"
        assert names.count("?1049h") == names.count("?1049l") > 0, f"{how}: the screen is not given back"
        assert [name for name in names if name.startswith("?25")][-1] == "?25h", f"{how}: no cursor"

    def close(self):
        for fd in (self.master, self.slave, self.report):
            if fd >= 0:
                os.close(fd)
        os.waitpid(self.shell, 0)


# ---- what the screen says ----

def table(text):
    """The headings, and the rows below that of sums: (values, name)."""
    lines = text.splitlines()
    at = next(i for i, line in enumerate(lines) if line.endswith("PROCESS"))
    headings = lines[at].split()[:-1]
    assert "= all of " in lines[at + 1], text
    rows = []
    for line in lines[at + 2:-1]:
        words = line.split()
        if words:
            rows.append((words[:len(headings)], " ".join(words[len(headings):])))
    return headings, rows


def number(text):
    """12.3M, 40.0%, 1.5s."""
    text = text.rstrip("%s")
    units = " kMGTPE"
    return float(text[:-1]) * 1000 ** units.index(text[-1]) if text[-1] in units else float(text)


def is_sorted(text, title):
    """Whether the column of this title sorts, from the highest value."""
    headings, rows = table(text)
    if ">" + title not in headings:
        return False
    values = [number(values[headings.index(">" + title)]) for values, _ in rows]
    assert values == sorted(values, reverse=True), f"{title} is not sorted:\n{text}"
    return True


# ---- a server of pages ----

class Pages(http.server.BaseHTTPRequestHandler):
    pages = []  # of text: each is sent once, the last one again and again

    def do_GET(self):
        page = self.pages.pop(0) if len(self.pages) > 1 else self.pages[0]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(page.encode("utf-8", "surrogateescape"))

    def log_message(self, *_):
        pass


def start_server(kind, *pages):
    """A server that sends these pages, and its URL."""
    handler = type("Handler", (kind,), {"pages": list(pages)})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, f"http://127.0.0.1:{server.server_address[1]}/"


def serve(*pages):
    return start_server(Pages, *pages)[1]


def page(*lines):
    return "".join(line + "\n" for line in (*lines, "# EOF"))


# ---- the tests ----

def sizes(tool, sample):
    for columns, rows in ((80, 24), (40, 10), (200, 50), (20, 5), (1, 1)):
        top = Top([tool, "top", sample, "--speed", "0"], columns, rows)
        if columns >= 40:
            text = top.until_shown("lost events 0", "bad buffers 0", ">WRITTEN", "sqlservr")
            headings, rows_shown = table(text)
            assert headings == [">" + TITLES[0], *TITLES[1:]][:len(headings)], headings
            assert len(headings) == {80: 7, 40: 3, 200: 9}[columns], headings
            assert rows_shown[0][1] == "sqlservr" and rows_shown[1][1] == "Robocopy", text
            assert len(rows_shown) >= {80: 18, 40: 2, 200: 19}[columns], text
        else:
            top.until(lambda text: text.strip() != "", "anything")
        top.key("q")
        top.ends(f"q at {columns} x {rows}")


def keys(tool, sample):
    top = Top([tool, "top", sample, "--speed", "0"], 100, 30)
    top.until(lambda text: "sqlservr" in text and is_sorted(text, "WRITTEN"), "sorted")
    for key, title in zip("ronacdfe", "READ FILEOPS NET WAITS CPU DISK FAULTS EVENTS".split()):
        top.key(key)
        top.until(lambda text, title=title: is_sorted(text, title), f"{key} {title}")
    top.key("\x1b[C")  # right, from the last column to the first one
    top.until(lambda text: is_sorted(text, "WRITTEN"), "right")
    top.key("\x1bOD")  # left
    top.until(lambda text: is_sorted(text, "EVENTS"), "left")
    text = top.until_shown("w3wp")
    first = table(text)[1]
    top.key("\x1b[B")  # down
    top.until(lambda text: table(text)[1][0] == first[1], "down")
    top.key("\x1b[F\x1b[H")  # end, home
    top.until(lambda text: table(text)[1] == first, "home")
    top.key("/SQL\x7fLX\x7f\n")
    top.until(lambda text: [name for _, name in table(text)[1]] == ["sqlservr"], "filter")
    top.key("\x1b")
    top.until(lambda text: len(table(text)[1]) == len(first), "no filter")
    top.key("x")
    top.until_shown("139289")  # all events of the sample, exactly
    top.key("?")
    top.until_shown("bytes written to files", "q  quit")
    top.key("?")
    top.until_shown("= all of")
    top.key("q")
    top.ends("keys")


def ends(tool, sample):
    for how in ("SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "Ctrl-C", "Ctrl-\\"):
        top = Top([tool, "top", sample])
        top.until_shown(">WRITTEN", "speed 1")
        if how.startswith("Ctrl"):
            top.key({"C": "\x03", "\\": "\x1c"}[how[-1]])
        else:
            os.kill(top.pid, getattr(signal, how))
        top.ends(how)
    # The connection is closed: there is no terminal left.
    top = Top([tool, "top", sample])
    top.until_shown(">WRITTEN")
    os.close(top.slave)
    os.close(top.master)
    top.master = top.slave = -1
    ready, _, _ = select.select([top.report], [], [], WAIT_S)
    assert ready, "closed: the program goes on"
    kind, status = struct.unpack("ii", os.read(top.report, 8))
    assert kind == EXITED and status == 0, f"closed: {kind} {status:#x}"
    top.close()


def stops(tool, sample):
    top = Top([tool, "top", sample])
    top.until_shown(">WRITTEN", "speed 1")
    for _ in range(2):
        top.key("\x1a")
        assert top.word()[0] == STOPPED, "Ctrl-Z"
        top.drain()
        top.is_restored("Ctrl-Z")
        before = len(top.raw)
        os.kill(top.pid, signal.SIGCONT)
        top.until(lambda text: "\x1b[?1049h" in top.raw[before:] and ">WRITTEN" in text, "continued")
        assert termios.tcgetattr(top.slave) != top.before, "the terminal is not taken again"
    top.key("q")
    top.ends("continued")


def resizes(tool, sample):
    top = Top([tool, "top", sample, "--speed", "0"], 200, 50)
    top.until_shown("sqlservr", "EVENTS")
    for columns, rows in ((50, 12), (120, 40), (80, 24)):
        top.drain()
        top.screen.resize(columns, rows)
        top.set_size(columns, rows)
        text = top.until(lambda text: ">WRITTEN" in text and "sqlservr" in text, f"{columns} x {rows}")
        assert len(table(text)[0]) == min(9, (columns - 12) // 9), text
    top.key("q")
    top.ends("resized")


def plays(tool, sample):
    """A replay: rates, a pause that stands still, its end."""
    top = Top([tool, "top", sample, "--speed", "0.125", "--delay", "0.1"])  # would take longer than WAIT_S
    top.until_shown("speed 0.125", "per second", "07:00:")
    top.key("p")
    text = top.until_shown("PAUSED")
    moment = re.search(r"07:\d\d:\d\d UTC", text).group()
    top.key("rt")
    text = top.until_shown(TOTALS, ">READ")
    assert moment in text, f"{moment} is over:\n{text}"
    first = table(text)[1]
    top.key("\x1b[B")  # down
    top.until(lambda text: table(text)[1][0] == first[1] and moment in text, "down in a pause")
    top.key("t" + 10 * "+" + "p")
    text = top.until_shown("end of the recording", TOTALS)
    assert "07:01:00" in text, text
    top.key("q")
    top.ends("played")


def jumps(tool, sparse):
    """A recording whose last event comes ten hours after the others: the last line names the key j, which goes there at once."""
    # In a pause too, which goes on: the time of the page is that of the event.
    top = Top([tool, "top", sparse, "--delay", "0.1"], 100, 30)
    top.until_shown("speed 1", "no events for a while: j jumps to the next one")
    top.key("p")
    top.until_shown("PAUSED", "07:00:")
    top.key("j")
    top.until_shown("PAUSED", "17:00:00", TOTALS)
    top.key("p")
    top.until_shown("end of the recording", "17:00:00")
    top.key("q")
    top.ends("jumped in a pause")
    top = Top([tool, "top", sparse, "--delay", "0.1"], 100, 30)
    top.until_shown("speed 1", "no events for a while: j jumps to the next one")
    top.key("j")
    text = top.until_shown("end of the recording", TOTALS)
    assert "17:00:00" in text, text
    before = len(top.raw)
    top.key("jt")  # there is no further event
    top.until(lambda text: len(top.raw) > before and "per second" in text, "j at the end")
    top.key("q")
    top.ends("jumped")


def warns(tool, cut):
    """What the exporter logs is the last line, until a key is pressed."""
    top = Top([tool, "top", cut, "--speed", "0"], 200, 30)
    message = 'level=warning msg="Recording is '
    text = top.until_shown("end of the recording", message)
    assert message in text.splitlines()[-1], text
    top.key("x")
    top.until(lambda text: message not in text, "a key ends the message")
    top.key("q")
    top.ends("warned")


def scrolls(tool, sample):
    """Pages of a screen with 14 lines, and no further than the last row."""
    top = Top([tool, "top", sample, "--speed", "0"], 80, 14)
    top.until_shown("= all of", "sqlservr")
    first = table(top.screen.text())[1]
    top.key("\x1b[6~")  # page down
    down = table(top.until(lambda text: table(text)[1] != first, "page down"))[1]
    assert down[0] in first[1:], f"the page leaves a row out above {down[0]}"
    top.key("\x1b[5~")  # page up
    top.until(lambda text: table(text)[1] == first, "page up")
    top.key("\x1b[5~\x1b[A")  # not above the first row
    top.key("\x1b[F")
    last = table(top.until(lambda text: table(text)[1] != first, "end"))[1]
    assert len(last) == 1, last
    top.key("\x1b[B\x1b[6~\x1b[A")  # not below the last one, and one row up
    text = top.until(lambda text: len(table(text)[1]) == 2, "up")
    assert table(text)[1][1] == last[0], text
    top.key("q")
    top.ends("scrolled")


def hostile(tool):
    names = ["a\x1b[2J\x1b]0;x\x07", "b\r\\\n\x9b", "\u202ec\u200b", "d" * 500, "漢字" * 100, "e\u0301" * 100, "😀" * 90, "\udcff\udcfe"]
    lines = ["etw_exporter_build_info 1", "etw_session_events_lost_total 7", "etw_consumer_bad_buffers_total 3"]
    for i, name in enumerate(names):
        escaped = name.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
        lines.append(f'etw_file_written_bytes_total{{volume="C:",process="{escaped}"}} {1000 * (i + 1)}')
    lines += ["etw_file_written_bytes_total{process=\"x\"} NaN", "etw_file_written_bytes_total{process=\"", "etw_}{ 1", "{", "etw_file_written_bytes_total",
              "etw_file_written_bytes_total{process=\"y\"} -1e999"]
    url = serve(page(*lines))
    for columns, rows in ((120, 24), (40, 14)):
        for environment, red in (({}, True), ({"NO_COLOR": "1"}, False)):
            top = Top([tool, "top", url, "--show", "total"], columns, rows, **environment)
            text = top.until_shown("lost events 7", "bad buffers 3", "8.00k")
            assert ("1;31m" in top.screen.names) == red, environment
            if rows == 24:
                assert "a\\u001b[2J\\u001b]0;x\\u0007" in text and "漢字漢字" in text, text
                assert "\\u202ec\\u200b" in text, text
            top.key("q")
            top.ends("hostile")


def counters(tool):
    """Rates of an exporter, one that begins again, and one that fails for a while."""
    def state(written, lost):
        return page("etw_exporter_build_info 1", f"etw_session_events_lost_total {lost}", "etw_session_up 1",
                    f'etw_file_written_bytes_total{{process="p"}} {written}')

    server, url = start_server(Pages, state(1000, 0))
    top = Top([tool, "top", url, "--delay", "0.1", "--show", "total"])
    top.until_shown("lost events 0", "1.00k")
    # The table of the last page that was whole stays, for as long as this test needs to read it.
    server.RequestHandlerClass.pages[:] = [state(1000, 5), "etw_file_written_bytes_total 1\n"]
    top.until_shown("lost events 5 (+5)", "cut short, or not that of an etw_exporter")
    server.RequestHandlerClass.pages[:] = [state(10, 5)]
    top.until(lambda text: table(text)[1] and table(text)[1][0][0][0] == "10", "the counter that began again")
    top.key("q")
    top.ends("counters")


class Fragile(Pages):
    """Sends its first page again and again; "CUT" is half of a page that it announces, "NOTHING" no answer at all."""

    def do_GET(self):
        if self.pages[0] == "CUT":
            self.wfile.write(b"HTTP/1.0 200 OK\r\nContent-Length: 1000\r\n\r\netw_exporter_build_info 1\n")
        elif self.pages[0] != "NOTHING":
            super().do_GET()


def peers(tool):
    """An exporter that crashes: its last page stays on the screen, with what is wrong below it; and it is read again when it is back."""
    def state(written):
        return page("etw_exporter_build_info 1", f'etw_file_written_bytes_total{{process="p"}} {written}')

    server, url = start_server(Fragile, state(1000))
    top = Top([tool, "top", url, "--delay", "0.1", "--show", "total"])
    top.until_shown("1.00k")
    for fault, written, shown in (("CUT", 2000, "2.00k"), ("NOTHING", 3000, "3.00k")):
        before = table(top.screen.text())[1]
        server.RequestHandlerClass.pages[:] = [fault]
        text = top.until(lambda text: text.count(url) == 2, fault)  # the first line names it, and the message does
        assert table(text)[1] == before, text
        server.RequestHandlerClass.pages[:] = [state(written)]
        top.until_shown(shown)
    server.shutdown()
    server.socket.shutdown(socket.SHUT_RDWR)  # the process that stands for the shell has it too
    server.server_close()
    text = top.until_shown("refused")
    assert "3.00k" in text, text
    top.key("q")
    top.ends("peers")


class Endless(Pages):
    """An answer whose head has no end."""

    def do_GET(self):
        self.wfile.write(b"HTTP/1.0 200 OK\r\n")
        try:
            while True:
                self.wfile.write(b"A: b\r\n" * 10000)
        except OSError:
            pass  # the client has left


def foreign(tool):
    """A page of another program, an answer without end, and an exporter that is gone."""
    url = start_server(Endless, "")[1]
    done = subprocess.run([tool, "top", url, "--batch", "--count", "1"], capture_output=True, text=True, timeout=WAIT_S)
    assert done.returncode == 1 and done.stderr.startswith(f"etwtool top: {url}: "), done
    url = serve(page("node_load1 1"))
    done = subprocess.run([tool, "top", url, "--batch"], capture_output=True, text=True)
    assert done.returncode == 1 and "not that of an etw_exporter" in done.stderr, done
    url = serve(page("etw_exporter_build_info 1"), "")
    done = subprocess.run([tool, "top", url, "--batch", "--count", "2", "--delay", "0.1"], capture_output=True, text=True)
    assert done.returncode == 1 and done.stderr.count("cut short") == 2, done
    # On a terminal, what is wrong is said when the terminal is as it was.
    top = Top([tool, "top", serve(page("node_load1 1"))])
    kind, status = top.word()
    top.drain()
    assert kind == EXITED and os.WEXITSTATUS(status) == 1, f"{status:#x}"
    top.is_restored("an error")
    assert "not that of an etw_exporter" in top.raw[top.raw.rindex("?1049l"):], top.raw[-200:]
    top.close()


def main():
    tool, sample, sparse, cut = sys.argv[1:5]
    for name, test in (("sizes", lambda: sizes(tool, sample)), ("keys", lambda: keys(tool, sample)),
                       ("ends", lambda: ends(tool, sample)), ("stops", lambda: stops(tool, sample)),
                       ("resizes", lambda: resizes(tool, sample)), ("plays", lambda: plays(tool, sample)),
                       ("jumps", lambda: jumps(tool, sparse)),
                       ("warns", lambda: warns(tool, cut)), ("scrolls", lambda: scrolls(tool, sample)),
                       ("hostile", lambda: hostile(tool)), ("counters", lambda: counters(tool)),
                       ("peers", lambda: peers(tool)), ("foreign", lambda: foreign(tool))):
        try:
            test()
        except AssertionError as fault:
            sys.exit(f"{name}: {fault}")
        print(f"{name}: good")


if __name__ == "__main__":
    main()
