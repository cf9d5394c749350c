#!/usr/bin/env bash
# Reloads do not make the program larger and larger. Each runs on another thread of the web server, whose freed memory must be there for
# the threads that come next.
. "${BASH_SOURCE%/*}/lib.bash"

command -v python3 >/dev/null || skip "python3 is not installed"
[ -r "/proc/$$/status" ] || skip "no /proc"
"$MAKE_HOSTILE" "$work/small"
start_exporter --replay.file="$work/small/every-class.etl" --web.enable-lifecycle
until_true 30 grep -q 'Replay finished' "$work/log" || fail "the recording is not read to its end"
python3 - "$url" "$exporter_pid" <<'END' || fail "reloads make the program larger"
import re, sys, urllib.request

url, process = sys.argv[1:]

def reload(times):
    for _ in range(times):
        urllib.request.urlopen(urllib.request.Request(url + "/-/reload", method="POST")).read()
    with open(f"/proc/{process}/status") as status:
        return int(re.search(r"VmRSS:\s+(\d+)", status.read()).group(1))

first = reload(150)
last = reload(250)
print(f"after 150 reloads {first} kB, after 400 {last} kB")
assert last < first + 2000
END
