# SPDX-License-Identifier: MIT
"""What the scenarios of failing_calls.py share: the page of memory behind failing_calls.c, call sites, and what went wrong."""
import mmap
import os
import re
import struct
import subprocess
import sys
import threading
from pathlib import Path

EXAMPLES = Path(os.environ["BUILD_DIR"]) / "examples"
EXPORTER, TOOL, LIBRARY = os.environ["ETW_EXPORTER"], os.environ["ETWTOOL"], os.environ["FAILING_CALLS_LIBRARY"]
EXPORTER_ON_FAKE, TOOL_ON_FAKE = os.environ["EXPORTER_ON_FAKE"], os.environ["ETWTOOL_ON_FAKE"]
LONG = os.environ.get("LONG_TESTS", "0") != "0"
WORK = Path(sys.argv[1])
RECORDING, CONFIG = WORK / "small" / "every-class.etl", WORK / "config.yaml"
PATIENCE_S = 300  # a run takes milliseconds; what takes longer than this hangs

# As in failing_calls.c.
ERROR, INTERRUPTED, SHORT, END, SHRINK, EMPTY, GROW, OVERWRITE, VANISH = range(9)
ACTIONS = {ERROR: "fails", INTERRUPTED: "is interrupted", SHORT: "takes half", END: "is at the end",
           SHRINK: "finds half of the file", EMPTY: "finds an empty file", GROW: "finds a longer file",
           OVERWRITE: "finds zeros in the file", VANISH: "finds the file removed"}
FILE_CHANGES = (SHRINK, EMPTY, GROW, OVERWRITE, VANISH)
HEAD = struct.Struct("<IIQIIII")
FRAMES, SITES = 4, 16384
DEPTH = FRAMES if LONG else 2  # frames by which call sites differ
SITE = struct.Struct(f"<QIIII{FRAMES}Q24s")
CALLS_AT = 8  # of a site
MEMORY = ("malloc", "calloc", "realloc", "posix_memalign", "aligned_alloc")

# What a run of the exporter says about itself is another each time.
OF_ITSELF = re.compile(rb"^(# (HELP|TYPE) )?(process_|etw_consumer_busy_seconds|etw_consumer_lag|etw_exporter_config_|"
                       rb"etw_exporter_scrape|etw_exporter_http|etw_exporter_memory_losses|etw_exporter_series|"
                       rb"etw_exporter_log_lines_|etw_exporter_tls_|etw_exporter_web_config_|etw_exporter_recorder_|\w+_created[{ ]).*\n", re.M)
# A share of a processor that was measured.
MEASURED = re.compile(rb'"cpu_percent":[-+.0-9e]+')

# In our words, in those of a library, and in those of the system when it is a thread that needs it.
WORDS_OF_MEMORY = re.compile(r"memory|allocate|temporarily unavailable|initialize ZIP", re.I)
# libarchive ends the program where it lacks memory for a name.
ENDED_BY_LIBRARY = "Fatal Internal Error in libarchive: "  # "Out of memory", or "No memory"


class Places:
    """Names of addresses in the programs: file, line and function, the same in each program."""

    def __init__(self):
        self.lock, self.readers, self.known = threading.Lock(), {}, {}

    def name(self, program, address):
        """address: of the instruction behind a call, as failing_calls.c notes it."""
        if address >> 63:
            return f"library {address:x}"
        key = program, address
        with self.lock:
            if key not in self.known:
                if program not in self.readers:
                    self.readers[program] = subprocess.Popen(["addr2line", "-f", "-e", program], stdin=subprocess.PIPE,
                                                             stdout=subprocess.PIPE, text=True)
                reader = self.readers[program]
                reader.stdin.write(f"{address - 1:x}\n")
                reader.stdin.flush()
                function, place = reader.stdout.readline().strip(), reader.stdout.readline().strip()
                file = re.search(r"(?:^|/)((?:base|lib|include/etw|exporter|metrics|config|etwtool|selftest|examples|tests)/\S*)", place)
                self.known[key] = f"{function} ({file.group(1) if file else place})"
            return self.known[key]

    def close(self):
        for reader in self.readers.values():
            reader.stdin.close()
            reader.wait()


places = Places()


class Site:
    def __init__(self, program, number, calls, actions, blocks, _, *rest):
        self.program, self.hash, self.calls, self.actions, self.blocks = program, number, calls, actions, blocks
        self.frames = [frame for frame in rest[:FRAMES] if frame]
        self.function = rest[FRAMES].rstrip(b"\0").decode()

    def names(self):
        return [places.name(self.program, frame) for frame in self.frames]

    def key(self):
        """What a call site counts by."""
        return (self.function, *self.names()[:DEPTH])

    def of_fake(self):
        """Whether it is a call of tests/fake_etw, which stands for Windows, or of the test's main program."""
        for name in self.names():
            if not name.startswith("library ") and "(base/" not in name:
                return "(tests/" in name
        return False

    def where(self):
        """The functions of the program on the stack, innermost first."""
        return f"{self.function} in {' < '.join(name for name in self.names() if not name.startswith('library '))}"


class Control:
    """The page that is shared with the library, and so with one process after another."""

    def __init__(self, name):
        self.path = WORK / f"{name}.control"
        self.size = HEAD.size + SITES * SITE.size
        self.path.write_bytes(bytes(self.size))
        with open(self.path, "r+b") as file:
            self.page = mmap.mmap(file.fileno(), self.size)

    def clear(self):
        """Before a process starts."""
        self.page[:] = bytes(self.size)

    def arm(self, site=None, action=ERROR, occurrence=1):
        """From here on calls are noted, and that of the site fails."""
        for at in self.places_in_use():
            self.page[at + CALLS_AT:at + CALLS_AT + 4] = bytes(4)
        self.page[:HEAD.size] = HEAD.pack(0, action, site.hash if site else 0, occurrence, 0, 0, 0)
        self.page[0] = 1

    def disarm(self):
        self.page[0] = 0

    def failed(self):
        return HEAD.unpack_from(self.page)[4]

    def places_in_use(self):
        return [at for at in range(HEAD.size, self.size, SITE.size) if self.page[at:at + 8] != bytes(8)]

    def read(self, program):
        if HEAD.unpack_from(self.page)[5]:
            raise SystemExit("FAIL: more call sites or blocks of memory than the tables have places")
        return [Site(program, *SITE.unpack_from(self.page, at)) for at in self.places_in_use()]

    def sites(self, program):
        """The call sites that were reached since the page was armed."""
        return sorted((site for site in self.read(program) if site.calls), key=lambda site: site.hash)

    def blocks(self, program):
        """Site: blocks of memory that it allocated and that are not freed."""
        return {site.hash: site for site in self.read(program) if site.blocks}

    def environment(self):
        return {**os.environ, "LD_PRELOAD": LIBRARY, "FAILING_CALLS": str(self.path)}


def leak(found, expected):
    """What is left in `found` beyond what is left otherwise, blocks() both; None: nothing."""
    more = []
    for number, site in found.items():
        count = site.blocks - (expected[number].blocks if number in expected else 0)
        if count > 0 and not site.frames[0] >> 63 and not site.of_fake():
            more.append(f"{count} blocks of {site.where()}")
    return f"memory is not freed: {'; '.join(more[:3])}" if more else None


class Faults:
    """What went wrong, and the sum of all that was tried."""

    def __init__(self):
        self.lock = threading.Lock()
        self.sentences, self.runs, self.sites = [], {}, {}
        self.ways = {}  # of each call site: the ways in which it failed

    def add(self, sentence):
        with self.lock:
            self.sentences.append(sentence)
            print("FAULT:", sentence, flush=True)

    def tried(self, site, action):
        key = site.key()
        with self.lock:
            self.ways.setdefault(key, set()).add(action)
            self.runs[site.function] = self.runs.get(site.function, 0) + 1
            self.sites.setdefault(site.function, set()).add(key)


    def write_list(self, path):
        """All call sites that failed, a line each."""
        lines = [f"{key[0]}: {' < '.join(key[1:])}: {', '.join(ACTIONS[action] for action in sorted(ways))}" for key, ways in self.ways.items()]
        path.write_text("".join(line + "\n" for line in sorted(lines)))


faults = Faults()


def difference(found, expected):
    """The first line that differs."""
    lines = list(zip(found.split(b"\n"), expected.split(b"\n")))
    return next((f"{line!r:.200}, not {other!r:.200}" for line, other in lines if line != other), "one of them is longer")
