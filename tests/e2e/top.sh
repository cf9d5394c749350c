#!/usr/bin/env bash
# etwtool top: its numbers are those of the exporter, recording by recording, and in every frame; a terminal is driven with keys,
# signals and sizes (top_terminal.py), and left as it was.
. "${BASH_SOURCE%/*}/lib.bash"

mapfile -t files < <(some_recordings)
sample=$work/sample.etl

# A replay whose first table needs more than a second shows on a terminal how far it is. It is held up again and again until it does.
# A slow build needs as long for a smaller one.
mib=64
! is_slow || mib=16
"$MAKE_SAMPLE" --plain-size=${mib}MiB "$work/long.etl" >/dev/null
python3 - "$ETWTOOL" "$work/long.etl" "$work/table" <<'END' || fail "top --batch shows no progress on a terminal"
import os, pty, re, select, signal, subprocess, sys, time

tool, path, table = sys.argv[1:]

def run():
    """What it says on the terminal."""
    terminal, errors = pty.openpty()
    with open(table, "w") as output:
        top = subprocess.Popen([tool, "top", path, "--batch", "--speed", "0"], stdout=output, stderr=errors)
    os.close(errors)
    while top.poll() is None and not select.select([terminal], [], [], 0)[0]:
        top.send_signal(signal.SIGSTOP)
        time.sleep(0.1)
        top.send_signal(signal.SIGCONT)
        time.sleep(0.003)
    said = b""
    while True:
        try:
            piece = os.read(terminal, 65536)
        except OSError: # Linux: the other end is closed
            break
        if not piece:
            break
        said += piece
    os.close(terminal)
    assert top.wait() == 0, said
    assert "WRITTEN" in open(table).read()
    return said

# On a busy machine it may be this script that is held up, and the replay over within a second: then there is nothing to show.
while not (said := run()):
    pass
assert re.search(rb"etwtool top: +[0-9]+ %, [0-9]+ s", said), said
END
rm "$work/long.etl"

# Reads the tables that "top --batch --exact" printed, and pages; both by rules of its own.
cat >"$work/top_tables.py" <<'END'
import re, sys

COLUMNS = {
    "WRITTEN": ["etw_file_written_bytes_total"],
    "READ": ["etw_file_read_bytes_total"],
    "FILEOPS": ["etw_file_operations_total"],
    "NET": ["etw_network_sent_bytes_total", "etw_network_received_bytes_total"],
    "CPU": ["etw_process_cpu_seconds_total"],
    "WAITS": ["etw_thread_process_waits_total"],
    "DISK": ["etw_disk_process_io_seconds_total"],
    "FAULTS": ["etw_memory_hard_faults_total"],
    "EVENTS": ["etw_events_total"],
}
SAMPLE = re.compile(r'^(\w+)(?:\{(.*)\})? (\S+)$')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')

def shown(value):
    """A label value as top shows it: a line break as the escape that it is on the page, too."""
    return re.sub(r"\\(.)", lambda match: "\\n" if match.group(1) == "n" else match.group(1), value)

def page(path):
    """Process -> title -> sum, and the sums of all other families."""
    processes, sums = {}, {}
    title_of = {family: title for title, families in COLUMNS.items() for family in families}
    for line in open(path, encoding="utf-8"):
        match = SAMPLE.match(line.rstrip("\n"))
        if not match:
            continue
        name, labels, value = match.groups()
        sums[name] = sums.get(name, 0) + float(value)
        process = dict(LABEL.findall(labels or "")).get("process")
        if name in title_of and process is not None:
            row = processes.setdefault(shown(process), {})
            row[title_of[name]] = row.get(title_of[name], 0) + float(value)
    return processes, sums

def frames(path):
    """For each table: its header, the sums, and process -> title -> value. "-" is no value."""
    result = []
    for text in open(path, encoding="utf-8").read().split("\n\n"):
        lines = text.strip("\n").split("\n")
        titles = [word.lstrip(">") for word in lines[1].split()[:-1]]
        rows = {}
        for line in lines[2:]:
            match = re.match(r"\s*((?:\S+\s+){%d})(.*)$" % len(titles), line)
            values = [None if v == "-" else float(v.rstrip("s%")) for v in match.group(1).split()]
            rows[match.group(2)] = dict(zip(titles, values))
        sums = next(name for name in rows if name.startswith("= all of "))
        result.append((lines[0], rows.pop(sums), rows))
    return result
END
export PYTHONPATH=$work PYTHONDONTWRITEBYTECODE=1

# same FRAMES PAGE: the last table has the totals of the page, process for process, and its losses.
same() {
	python3 - "$@" <<'END'
import re, sys
from top_tables import COLUMNS, frames, page

(header, sums, rows), (processes, totals) = frames(sys.argv[1])[-1], page(sys.argv[2])
wanted = {name: row for name, row in processes.items() if any(value > 0 for value in row.values())}
assert rows.keys() == wanted.keys(), f"processes {sorted(rows.keys() ^ wanted.keys())}"
for title, families in COLUMNS.items():
    fed = any(title in row for row in processes.values())
    for name, row in rows.items():
        value = processes[name].get(title, 0) if fed else None
        assert row[title] == value or abs(row[title] - value) <= 0.0005, f"{name} {title}: {row[title]}, page {value}"
    if fed:
        all_of = sum(row.get(title, 0) for row in processes.values())
        assert abs(sums[title] - all_of) <= 0.001, f"{title} of all: {sums[title]}, page {all_of}"
for what, family in (("events", "etw_consumer_records_total"), ("lost events", "etw_session_events_lost_total"),
                     ("lost buffers", "etw_session_log_buffers_lost_total"), ("bad buffers", "etw_consumer_bad_buffers_total"),
                     ("bad records", "etw_consumer_bad_records_total")):
    shown = re.search(rf"(?:^|  ){what} (\d+)", header)
    assert int(shown.group(1) if shown else 0) == totals[family], f"{what}: {header}, page {totals[family]}"
END
}

for file in "${files[@]}"; do
	"$ETW_EXPORTER" --replay.file="$file" --once --collector.sched >"$work/page" 2>/dev/null || fail "$file: no page"
	"$ETWTOOL" top "$file" --speed 0 --batch --exact >"$work/frames" 2>"$work/err" || fail "$file: exit $?: $(cat "$work/err")"
	same "$work/frames" "$work/page" || fail "$file"
done

# Frames of a replay: each second of recorded time is in one of them, so their rates add up to the totals.
"$ETW_EXPORTER" --replay.file="$sample" --once --collector.sched >"$work/page" 2>/dev/null
"$ETWTOOL" top "$sample" --speed 25 --delay 0.5 --batch --exact >"$work/frames"
python3 - "$work/frames" "$work/page" <<'END' || fail "frames of a replay"
import datetime, re, sys
from top_tables import COLUMNS, frames, page

tables, (processes, _) = frames(sys.argv[1]), page(sys.argv[2])
sums = {title: 0 for title in COLUMNS}
before = datetime.datetime(2024, 5, 14, 7)
for header, row, _ in tables:
    now = datetime.datetime.fromisoformat(re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", header).group())
    # Whole seconds are shown; every frame but the last one has 12.5 s.
    seconds = 12.5 if header is not tables[-1][0] else 60 - 12.5 * (len(tables) - 1)
    assert abs((now - before).total_seconds() - seconds) <= 1.5, header
    before = now
    for title in COLUMNS:
        sums[title] += row[title] * seconds / (100 if title in ("CPU", "DISK") else 1)
assert len(tables) == 5, f"{len(tables)} frames"
for title in COLUMNS:
    total = sum(row.get(title, 0) for row in processes.values())
    assert abs(sums[title] - total) <= 0.01 * total, f"{title}: {sums[title]} in frames, {total} in all"
END

# What ends it: a number of frames, a reader who has seen enough, a signal.
[ "$("$ETWTOOL" top "$sample" --speed 10 --delay 0.1 --batch --count 3 | grep -c PROCESS)" = 3 ] || fail "--count"
[ "$("$ETWTOOL" top "$sample" --speed 10 --delay 100ms --batch --count 2 | grep -c PROCESS)" = 2 ] || fail "--delay 100ms"
"$ETWTOOL" top "$sample" --delay 0.1 --batch | head -1 >/dev/null || fail "a closed pipe"
rm -f "$work/out"
"$ETWTOOL" top "$sample" --batch --delay 0.1 >"$work/out" 2>"$work/err" &
top=$!
until_true 30 grep -q PROCESS "$work/out" || fail "no frame: $(cat "$work/err")"
kill -TERM "$top"
wait "$top" || fail "SIGTERM: exit $?"
[ ! -s "$work/err" ] || fail "SIGTERM: $(cat "$work/err")"

# Without a terminal, and on one without control sequences, there are plain tables.
"$ETWTOOL" top "$sample" --speed 0 >"$work/out" || fail "without a terminal"
! grep -q $'\x1b' "$work/out" || fail "control sequences in a file"
# Its progress, which a busy machine has time to show, goes elsewhere.
for terminal in TERM=dumb TERM= --unset=TERM; do
	env "$terminal" script -qec "'$ETWTOOL' top '$sample' --speed 0 --width 40 2>/dev/null" /dev/null </dev/null |
		tr -d '\r' >"$work/out"
	grep -q sqlservr "$work/out" || fail "$terminal: $(cat "$work/out")"
	! grep -q $'\x1b' "$work/out" || fail "control sequences for $terminal"
	[ "$(wc -L <"$work/out")" -le 40 ] || fail "--width: $(wc -L <"$work/out")"
done

expect_exit 1 'name a recording or the URL of an exporter: only Windows' "$ETWTOOL" top
expect_exit 1 'nothing.etl.*No such file' "$ETWTOOL" top "$work/nothing.etl"
expect_exit 2 'takes 0, or a number from' "$ETWTOOL" top "$sample" --speed -1
expect_exit 2 'takes a number from 0.1' "$ETWTOOL" top "$sample" --delay 0
expect_exit 2 'one recording or URL at a time' "$ETWTOOL" top "$sample" "$sample"
expect_exit 2 'bytes|words|written' "$ETWTOOL" top "$sample" --sort name
expect_exit 1 'none.yaml' "$ETWTOOL" top "$sample" --config.file "$work/none.yaml"
expect_exit 1 'none.yaml' "$ETWTOOL" top "$sample" --config "$work/none.yaml"
expect_exit 1 '^etwtool top: http://127\.0\.0\.1:1/: Connection refused$' "$ETWTOOL" top http://127.0.0.1:1/
expect_exit 1 'localhost:9189/: .*No such file.*; did you mean http://localhost:9189/\?$' "$ETWTOOL" top localhost:9189/
expect_exit 2 'a host is missing' "$ETWTOOL" top http://

# ---- an exporter that runs ----

hash='$2y$10$QOauhQNbBCuQDKes6eFzPeMqBSjb7Mr5DUmpZ/VcEd00UAV/LDeSi' # of "fakepassword": prometheus/exporter-toolkit, web/handler.go
authority() { # name, names of the subject
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout "$work/$1.key" -out "$work/$1.crt" -days 30 \
		-subj "/CN=$1" -addext basicConstraints=critical,CA:TRUE -addext "subjectAltName=$2"
}
{
	authority server IP:127.0.0.1
	authority stranger IP:127.0.0.1
	authority elsewhere DNS:elsewhere.example
} >"$work/openssl.log" 2>&1 || fail "openssl: $(cat "$work/openssl.log")"
cp "$work/server.crt" "$work/tls.crt"
cat >"$work/web.yml" <<YAML
tls_server_config: { cert_file: tls.crt, key_file: server.key }
basic_auth_users: { alice: $hash }
YAML
echo fakepassword >"$work/password"
echo wrong >"$work/wrong"

# ask ARGUMENTS...: etwtool top, which waits ten seconds for an answer, again if the machine is so busy that none comes.
ask() {
	local status

	for _ in {1..5}; do
		status=0
		"$ETWTOOL" top "$@" 2>"$work/said" || status=$?
		says -E 'timeout|no end after' <"$work/said" || break
	done
	cat "$work/said" >&2
	return "$status"
}

start_exporter --replay.file="$sample" --replay.speed=0 --collector.sched --web.config.file="$work/web.yml"
until_true 30 grep -q 'Replay finished' "$work/log" || fail "the replay does not end: $(cat "$work/log")"
url=https://${url#http://}/
curl -fsS --cacert "$work/server.crt" -u alice:fakepassword "${url}metrics" >"$work/page" || fail "no page"
trusted=(--ca-file "$work/server.crt" --user alice --password-file "$work/password")
ask "$url" "${trusted[@]}" --batch --count 1 --show total --exact >"$work/frames" 2>"$work/err" || fail "$url: $(cat "$work/err")"
same "$work/frames" "$work/page" || fail "$url"
head -1 "$work/frames" | says '2024-05-14 07:01:00 UTC .*replay has ended' || fail "the time of the page: $(head -1 "$work/frames")"

expect_exit 1 '401' ask "$url" --ca-file "$work/server.crt" --count 1
expect_exit 1 '401' ask "$url" --ca-file "$work/server.crt" --user alice --password-file "$work/wrong" --count 1
expect_exit 1 'certificate verify failed' ask "$url" --ca-file "$work/stranger.crt" --count 1
expect_exit 1 'certificate verify failed' ask "$url" --count 1
expect_exit 1 'nothing.crt' ask "$url" --ca-file "$work/nothing.crt" --count 1
expect_exit 1 '404' ask "${url}nothing" "${trusted[@]}" --count 1
expect_exit 1 'cut short, or not that of an etw_exporter' ask "${url}-/healthy" "${trusted[@]}" --count 1
expect_exit 1 "${url#https://}: " ask "http://${url#https://}" --count 1

# Without a path the page is /metrics, also with a query. What is another page of the exporter is named.
start_exporter --replay.file="$sample" --replay.speed=0 --collector.sched
until_true 30 grep -q 'Replay finished' "$work/log" || fail "the replay does not end: $(cat "$work/log")"
curl -fsS "$url/metrics" >"$work/page" || fail "no page"
for address in "$url" "$url/" "$url?x" "$url/?x&y=1"; do
	ask "$address" --batch --count 1 --show total --exact >"$work/frames" 2>"$work/err" || fail "$address: $(cat "$work/err")"
	same "$work/frames" "$work/page" || fail "$address"
done
expect_exit 1 '^etwtool top: https://[0-9.:]*: the answer is not TLS; does the URL begin with http://\?$' ask "https${url#http}" --count 1
expect_exit 1 '/\?collect\[\]=none: .*code=400' ask "$url/?collect[]=none" --count 1
start_exporter --replay.file="$sample" --web.route-prefix=/etw --web.telemetry-path=/numbers
expect_exit 1 '/etw/: this is a page for browsers; .*/metrics' ask "$url/etw/" --count 1
expect_exit 1 '/etw: this address leads to /etw/; .*/metrics' ask "$url/etw" --count 1
ask "$url/etw/numbers" --batch --count 1 --show total >"$work/out" 2>"$work/err" || fail "$url/etw/numbers: $(cat "$work/err")"

# ---- a terminal ----

head -c 3000000 "$sample" >"$work/cut.etl"
printf '{"filetime": %d, "provider": "11111111-1111-1111-1111-111111111111", "id": 1, "raw": ""}\n' \
	$((133601436000000000 + 36000 * 10000000)) >"$work/line.jsonl" # the sample starts at 7:00:00
"$ETWTOOL" relog "$sample" -o "$work/sparse.etl" --exact --event 'FileIo/*' --to 0.2 --add "$work/line.jsonl" >/dev/null || fail "a sparse recording"
python3 "${BASH_SOURCE%/*}/top_terminal.py" "$ETWTOOL" "$sample" "$work/sparse.etl" "$work/cut.etl" || fail "on a terminal"
