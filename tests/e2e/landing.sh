#!/usr/bin/env bash
# The landing page in headless Chromium: the chart moves, nothing violates the Content Security Policy, both themes and a phone's width
# can be read, hostile names stay names. Pictures to look at are left in BUILD_DIR/landing.
. "${BASH_SOURCE%/*}/lib.bash"

in_chromium landing.mjs landing

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=1
step live "$url/" / /icon.svg /metrics /script.js /style.css
step access "$url/"
step numbers "$url/"
step static "$url/"
step pauses "$url/"

# Behind a prefix.
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=1 --web.route-prefix=/etw --web.telemetry-path=/m
step live "$url/etw/" /etw/ /etw/icon.svg /etw/m /etw/script.js /etw/style.css

start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=1 --web.external-url=http://proxy.example/behind --web.route-prefix=/
step proxy "$url/"

# Names of the two programs that write most become hostile, with as many bytes.
python3 - "$work/sample.etl" "$work/hostile.etl" <<'END'
import sys

data = open(sys.argv[1], "rb").read()
for old, new in (b"sqlservr.exe", b"<script>\"'\\x"), (b"powershell.exe", "abcd\u202egpj.exe".encode()):
    if len(old) != len(new) or old not in data:
        sys.exit(f"{old} and {new}")
    data = data.replace(old, new)
open(sys.argv[2], "wb").write(data)
END
start_exporter --replay.file="$work/hostile.etl" --replay.loop --replay.speed=1
step hostile "$url/"

# States without a chart.
start_exporter --replay.file="$work/sample.etl" --no-collector.file
step empty "$url/" "Collector 'file' is off" file-off
start_exporter --replay.file="$work/sample.etl"
finished() { curl -fsS "$url/metrics" | says '^etw_replay_finished 1$'; }
until_true 60 finished || fail "the replay does not finish"
step empty "$url/" "No process writes at the moment" finished

# Live sessions, which lose nothing at first, then more than 1000 events.
start_live_exporter
step section "$url/" "No event was lost since the exporter started." live-nothing-lost
echo "overflow $work/sample.etl 1000" >&3
until_true 60 grep -q '"phase":"overflow"' "$work/stdout" || fail "nothing was lost: $(tail -3 "$work/log")"
step section "$url/" "events. The counters are too low" live-lost
