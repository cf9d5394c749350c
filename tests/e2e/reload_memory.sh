#!/usr/bin/env bash
# Reloads do not make the program larger and larger: neither those that come at once, which run on many workers of the web server, so that
# what one of these has freed must be there for the others, nor those that come in a row and run on one or two.
. "${BASH_SOURCE%/*}/lib.bash"

command -v python3 >/dev/null || skip "python3 is not installed"
[ -r "/proc/$$/status" ] || skip "no /proc"
"$MAKE_HOSTILE" "$work/small"
start_exporter --replay.file="$work/small/every-class.etl" --web.enable-lifecycle
until_true 30 grep -q 'Replay finished' "$work/log" || fail "the recording is not read to its end"
PYTHONPATH=$SOURCE_DIR/tests/e2e python3 -B - "${url##*:}" "$exporter_pid" <<'END' || fail "reloads make the program larger"
import re, sys
from concurrent.futures import ThreadPoolExecutor
from late_client import fetch

port, process = sys.argv[1:]

def reload_once(_):
    status, answer = fetch(int(port), "/-/reload", "POST")
    assert status == 200, answer

def reload(times, clients):
    with ThreadPoolExecutor(clients) as pool:
        list(pool.map(reload_once, range(times)))
    with open(f"/proc/{process}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

WORKER_KB = 240  # what the C library keeps of one thread at most: 7 blocks of each of 64 sizes up to 1 KB

alone = reload(100, 1)
first, last = reload(150, 40), reload(250, 40)
row = reload(400, 1)
print(f"after 100 reloads {alone} kB, 150 more by 40 clients at once {first} kB, 250 more {last} kB, 400 more in a row {row} kB")
assert last < first + 2000 and row < last + 1000
assert last < alone + 40 * WORKER_KB
END
