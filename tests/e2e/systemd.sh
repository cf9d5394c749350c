#!/usr/bin/env bash
# The unit of systemd, as far as it can be checked without systemd running, and what the program tells a service manager.
. "${BASH_SOURCE%/*}/lib.bash"

unit=$SOURCE_DIR/packaging/systemd/etw_exporter.service

# A manager of our own writes down what it hears, a message a line.
cat >"$work/manager.py" <<'END'
import os, socket, sys
manager = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
manager.bind(sys.argv[1])
print('listens', flush=True)
while True:
    print(manager.recv(65536).decode().replace('\n', ' '), flush=True)
END
python3 "$work/manager.py" "$work/manager" >"$work/heard" &
pids+=("$!")
until_true 30 grep -qx listens "$work/heard" || fail "the manager does not listen"
heard() { grep -qE -- "$1" "$work/heard"; }

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
NOTIFY_SOCKET=$work/manager WATCHDOG_USEC=300000 start_exporter --replay.file="$work/sample.etl" --replay.loop
until_true 30 heard '^READY=1$' || fail "not ready: $(cat "$work/heard")"
curl -fsS "$url/-/healthy" >/dev/null || fail "it is ready and does not answer"
until_true 30 heard '^STATUS=Replaying 1 recording: [1-9][0-9]* events, 0 lost WATCHDOG=1$' || fail "no status: $(tail -3 "$work/heard")"
beats=$(grep -c WATCHDOG=1 "$work/heard")
more_beats() { [ "$(grep -c WATCHDOG=1 "$work/heard")" -ge $((beats + 3)) ]; }
until_true 30 more_beats || fail "the heart stopped: $(cat "$work/heard")"
kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM"
until_true 30 heard '^STOPPING=1$' || fail "it stopped without a word: $(tail -3 "$work/heard")"
[ "$(grep -c '^READY=1$' "$work/heard")" = 1 ] || fail "ready more than once"

# A manager that has gone is reported, and changes nothing.
NOTIFY_SOCKET=$work/none start_exporter --replay.file="$work/sample.etl" --replay.loop
until_true 30 grep -q 'level=warning msg="Service manager does not answer" message="*READY=1' "$work/log" || fail "nothing about the manager: $(cat "$work/log")"
curl -fsS "$url/-/healthy" >/dev/null || fail "it does not serve without its manager"

# The unit: what its flags are must be flags, and systemd must understand each line and find little to harden.
while read -r flag; do
	"$ETW_EXPORTER" --help | says -- "^  $flag" || fail "etw_exporter.default: no flag $flag"
done < <(sed -n 's/^#   \(--[a-z.-]*\).*/\1/p' "$SOURCE_DIR/packaging/systemd/etw_exporter.default")
(. "$SOURCE_DIR/packaging/systemd/etw_exporter.default" && [ -n "$ARGS" ]) || fail "etw_exporter.default sets no ARGS"
command -v systemd-analyze >/dev/null || skip "systemd-analyze is absent: the unit was not checked"
sed "s|^ExecStart=[^ ]*|ExecStart=$ETW_EXPORTER|; s|^Documentation=.*||" "$unit" >"$work/etw_exporter.service"
systemd-analyze verify "$work/etw_exporter.service" >"$work/out" 2>&1 || fail "systemd-analyze verify: $(cat "$work/out")"
! grep -F etw_exporter.service: "$work/out" || fail "systemd-analyze verify has a remark"
systemd-analyze security --offline=true --threshold=15 --no-pager "$unit" >"$work/out" 2>&1 ||
	fail "exposure above 1.5: $(grep -v '✓' "$work/out")"
