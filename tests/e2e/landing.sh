#!/usr/bin/env bash
# The landing page in headless Chromium: the chart moves, nothing violates the Content Security Policy, both themes and a phone's width
# can be read, hostile names stay names. Pictures to look at are left in BUILD_DIR/landing.
. "${BASH_SOURCE%/*}/lib.bash"

in_chromium landing.mjs landing

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
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

# All exporters first, since a Chromium for all steps takes much less than one for each.
start_exporter --replay.file="$work/sample.etl"
ending=$url
start_exporter --replay.file="$work/sample.etl" --no-collector.file --no-collector.network --no-collector.disk
without_measures=$url
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=1
looping=$url
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=1 --web.route-prefix=/etw --web.telemetry-path=/m
prefixed=$url
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=1 --web.external-url=http://proxy.example/behind --web.route-prefix=/
proxied=$url
start_exporter --replay.file="$work/hostile.etl" --replay.loop --replay.speed=1
hostile=$url
start_live_exporter
live=$url

# Without the collectors of all measures there is no chart. The live sessions lose nothing at first.
steps hostile "$hostile/" \
	-- live "$looping/" / /history.json /icon.svg /script.js /style.css \
	-- access "$looping/" \
	-- numbers "$looping/" \
	-- static "$looping/" \
	-- pauses "$looping/" \
	-- live "$prefixed/etw/" /etw/ /etw/history.json /etw/icon.svg /etw/script.js /etw/style.css \
	-- proxy "$proxied/" \
	-- full "$looping/" 6 \
	-- empty "$without_measures/" "There is nothing to draw" nothing-counted \
	-- section "$live/" "No event was lost since the exporter started." live-nothing-lost

# A replay that has ended, and live sessions that have lost more than 1000 events.
finished() { curl -fsS "$ending/metrics" | says '^etw_replay_finished 1$'; }
until_true 60 finished || fail "the replay does not finish"
echo "overflow $work/sample.etl 1000" >&3
until_true 60 grep -q '"phase":"overflow"' "$work/stdout" || fail "nothing was lost: $(tail -3 "$work/log")"
steps section "$live/" "events. The counters are too low" live-lost \
	-- empty "$ending/" "in the last five minutes" finished
