#!/usr/bin/env bash
# What the exporter listens on, and to whom: several addresses, IPv6, --web.allow, few descriptors, no time.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
healthy() { [ "$(curl -fsS -g "$1/-/healthy")" = Healthy ]; }
ports() { sed -n 's/.*Listening.* port=\([0-9]*\).*/\1/p' "$work/log"; }
end_exporter() {
	kill -TERM "$exporter_pid"
	wait "$exporter_pid" || fail "exit $? after SIGTERM: $(tail -3 "$work/log")"
}

export PYTHONPATH=$SOURCE_DIR/tests/e2e PYTHONDONTWRITEBYTECODE=1

# ---- several addresses ----
start_exporter --web.listen-address=:0 --web.listen-address=localhost:0 --replay.file="$work/sample.etl"
listening() { [ "$(ports | wc -l)" = 3 ]; }
until_true 30 listening || fail "not three addresses: $(cat "$work/log")"
for port in $(ports); do
	healthy "http://127.0.0.1:$port" || fail "port $port does not answer"
done
if [ -e /proc/net/if_inet6 ] && grep -q ' lo$' /proc/net/if_inet6; then
	healthy "http://[::1]:$(ports | sed -n 2p)" || fail "no answer on IPv6"
fi
end_exporter

# ---- an address in use: another exporter may have sessions of the same names, and they stay ----
start_exporter --replay.file="$work/sample.etl"
FAKE_OTHER_SESSION=etw_exporter "$EXPORTER_ON_FAKE" --web.listen-address="127.0.0.1:$(ports)" </dev/null >/dev/null 2>"$work/err" &&
	fail "two exporters on one port"
grep -q 'cannot listen on 127\.0\.0\.1:' "$work/err" || fail "an address in use: $(cat "$work/err")"
! grep -q 'left over' "$work/err" || fail "a program that cannot listen stopped a session: $(cat "$work/err")"
end_exporter

# ---- --web.allow ----
start_exporter --web.allow=192.0.2.0/24 --replay.file="$work/sample.etl"
! healthy "$url" 2>/dev/null || fail "an address outside --web.allow was answered"
end_exporter
start_exporter --web.allow=192.0.2.0/24 --web.allow=127.0.0.1 --replay.file="$work/sample.etl"
healthy "$url" || fail "an address of --web.allow was not answered"
end_exporter
expect_exit 2 '"10\.0\.0\.1/8" is not a range of addresses' "$ETW_EXPORTER" --web.allow=10.0.0.1/8 \
	--web.listen-address=127.0.0.1:0 --replay.file="$work/sample.etl"

# ---- few descriptors: new clients take the place of idle ones, and waiting costs no processor ----
if command -v python3 >/dev/null; then
	runner=(bash -c 'ulimit -n 48 && exec "$@"' bash)
	start_exporter --replay.file="$work/sample.etl"
	runner=()
	python3 - "${url##*:}" "$exporter_pid" <<-'PYTHON' || fail "with few descriptors"
		import os, socket, sys
		from late_client import fetch

		port, pid = int(sys.argv[1]), sys.argv[2]
		idle = [socket.create_connection(("127.0.0.1", port)) for _ in range(100)]
		for _ in range(20):
		    assert fetch(port, "/-/healthy") == (200, b"Healthy\n")
		held = len(os.listdir(f"/proc/{pid}/fd"))
		assert held < 48, held
	PYTHON
	end_exporter
fi

# ---- too few descriptors: the exporter either serves, or ends and names the limit ----
for limit in 4 5 6 7 8 9 10 11 12; do
	: >"$work/log"
	(ulimit -n "$limit" && exec "$ETW_EXPORTER" --web.listen-address=127.0.0.1:0 --web.listen-address=127.0.0.1:0 \
		--replay.file="$work/sample.etl") >"$work/log" 2>&1 </dev/null &
	few=$!
	answered() { for port in $(ports); do healthy "http://127.0.0.1:$port" && return; done 2>/dev/null; return 1; }
	ended() { ! kill -0 "$few" 2>/dev/null; }
	answers_or_ended() { answered || ended; }
	until_true 30 answers_or_ended || fail "with $limit descriptors it neither answers nor ends: $(cat "$work/log")"
	if ! ended; then
		kill -TERM "$few"
		wait "$few" || fail "exit $? after SIGTERM with $limit descriptors"
	elif wait "$few"; then
		fail "exit 0 with $limit descriptors"
	else
		grep -q 'ulimit -n\|Too many open files\|shared librar' "$work/log" || fail "with $limit descriptors: $(cat "$work/log")"
	fi
done

# ---- few threads, because a thread needs address space for its stack ----
# The limit leaves room for some thirty stacks of 1 MiB, and never for the 64 MiB of address space with which glibc begins an arena: where
# these fit, most of the room may be gone before the first thread of the web server.
if [ -z "${SANITIZERS:-}" ]; then
	runner=(bash -c 'ulimit -s 1024 && ulimit -v 75000 && exec "$@"' bash)
	start_exporter --replay.file="$work/sample.etl"
	runner=()
	grep -q 'The system allows few threads.* threads=[1-9]' "$work/log" || fail "no word of few threads: $(cat "$work/log")"
	healthy "$url" || fail "no answer with few threads"
	curl -fsS "$url/metrics" | says '^etw_exporter_build_info' || fail "no page with few threads"
	end_exporter
fi

# ---- one descriptor for clients: each is answered whole, also one that asks some time after it has connected ----
if command -v python3 >/dev/null && command -v prlimit >/dev/null; then
	start_exporter --replay.file="$work/sample.etl"
	until_true 30 grep -q 'Replay finished' "$work/log" || fail "no end of the replay"
	python3 - "${url##*:}" "$exporter_pid" <<-'PYTHON' || fail "with one descriptor for clients"
		import os, resource, select, sys
		from late_client import fetch

		port, pid = int(sys.argv[1]), int(sys.argv[2])

		def wait(client):  # until it is accepted, or ended already
		    while not os.path.exists(f"/proc/{pid}/fd/{free}") and not select.select([client], [], [], 0.01)[0]:
		        pass

		used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
		free = min(set(range(1000)) - used)
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (free + 1, free + 1))
		for path in ["/-/healthy", "/metrics"] * 5:
		    status, body = fetch(port, path, wait=wait)
		    assert status == 200 and (body == b"Healthy\n" or b"\netw_events_total{" in body), (path, status, body[:200])
	PYTHON
	end_exporter
fi

# ---- no descriptors at all: clients wait until there is one, and waiting costs no processor ----
if command -v python3 >/dev/null; then
	start_exporter --replay.file="$work/sample.etl"
	# The end of the replay closes the recording: a descriptor for a client, who would then make room for the next one.
	finished() { curl -fsS "$url/metrics" | says '^etw_replay_finished 1$'; }
	until_true 60 finished || fail "the replay does not finish"
	python3 - "${url##*:}" "$exporter_pid" <<-'PYTHON' || fail "without descriptors"
		import os, resource, socket, sys, time

		port, pid = int(sys.argv[1]), int(sys.argv[2])

		def processor_seconds():
		    fields = open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()
		    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

		def ask():  # before the connection is accepted, from when on there is little time
		    s = socket.create_connection(("127.0.0.1", port), timeout=600)
		    s.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
		    return s

		soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
		used = {int(name) for name in os.listdir(f"/proc/{pid}/fd")}
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (min(set(range(1000)) - used), hard))
		waiting = [ask() for _ in range(5)]
		before = processor_seconds()
		time.sleep(2)
		spent = processor_seconds() - before
		assert spent < 0.5, f"{spent} s of 2 s"
		resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))
		assert all(s.makefile("rb").read().endswith(b"Healthy\n") for s in waiting)
	PYTHON
	lines=$(grep -c 'level=warning msg="No file descriptor is free' "$work/log" || true)
	[ "$lines" = 1 ] || fail "$lines lines about the lack of descriptors: $(cat "$work/log")"
	end_exporter
fi

# ---- no time: on a busy machine the exporter looks late at what a client has sent, or taken, in time ----
if command -v python3 >/dev/null; then
	"$MAKE_MANY" "$work/many.etl" pages 2000 # a page of some MB, which no socket takes whole
	printf 'limits: { series_per_family: 100000, series: 1000000 }\n' >"$work/many.yaml"
	start_exporter --config.file="$work/many.yaml" --replay.file="$work/many.etl"
	until_true 60 finished || fail "the replay does not finish"
	python3 - "${url##*:}" "$exporter_pid" <<-'PYTHON' || fail "without time"
		import array, fcntl, os, signal, socket, sys, termios, time, urllib.request

		port, pid, limit_s = int(sys.argv[1]), int(sys.argv[2]), 5  # HEAD_NS of reception.c, STALL_NS of dispatch.c

		def connect():
		    client = socket.socket()
		    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 65536)
		    client.settimeout(600)
		    client.connect(("127.0.0.1", port))
		    return client

		def is_open():  # the client's connection, beside that of the scrape
		    page = urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics?collect[]=exporter").read()
		    return b"\netw_exporter_http_connections 2\n" in page

		def stop():
		    os.kill(pid, signal.SIGSTOP)
		    while open(f"/proc/{pid}/stat").read().rpartition(")")[2].split()[0] != "T":
		        time.sleep(0.01)

		def go_on_late():
		    time.sleep(limit_s + 1)
		    now = time.monotonic()
		    os.kill(pid, signal.SIGCONT)
		    return now

		while True:  # again if this machine is so busy that the client has no time left
		    begun, client = time.monotonic(), connect()
		    while not is_open() and time.monotonic() < begun + limit_s:
		        time.sleep(0.01)
		    stop()
		    if time.monotonic() < begun + limit_s - 1:
		        break
		    os.kill(pid, signal.SIGCONT)
		    client.close()
		client.sendall(b"GET /-/healthy HTTP/1.0\r\n\r\n")
		go_on_late()
		answer = client.makefile("rb").read()
		assert answer.endswith(b"Healthy\n"), answer

		def arrived():
		    count = array.array("i", [0])
		    fcntl.ioctl(client, termios.FIONREAD, count)
		    return count[0]

		while True:  # again if the exporter has ended the answer before it was stopped, or this client is late itself
		    client, before = connect(), -1
		    client.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
		    while arrived() == 0 or arrived() != before:  # until the exporter waits for the client
		        moved, before = time.monotonic(), arrived()
		        time.sleep(0.2)
		    stop()
		    if time.monotonic() >= moved + limit_s - 1:
		        os.kill(pid, signal.SIGCONT)
		        client.close()
		        continue
		    answer = client.recv(1 << 20)
		    since = go_on_late()
		    try:
		        answer += client.makefile("rb").read()
		    except ConnectionResetError:
		        pass
		    if answer.endswith(b"\r\n0\r\n\r\n") or time.monotonic() < since + limit_s - 1:
		        break
		assert answer.endswith(b"\r\n0\r\n\r\n"), f"{len(answer)} bytes, which end with {answer[-50:]}"
	PYTHON
	end_exporter
fi
