#!/usr/bin/env bash
# Hostile clients against the exporter, while it replays a recording whose page has 20 MB. Every probe is answered while all attackers
# are at it; the longest of each is printed. ATTACK_SECONDS (3): how long each attack lasts; from 60 on a probe may take 0.2 s, or five
# times as long as without attack, and node_exporter is attacked, too, for comparison.
. "${BASH_SOURCE%/*}/lib.bash"

command -v python3 >/dev/null || skip "python3 is not installed"
seconds=${ATTACK_SECONDS:-3}
limit=()
[ "$seconds" -lt 60 ] || limit=(--limit)
if [[ $ETW_EXPORTER == *.exe ]]; then
	runner=("${WINE64:-/usr/lib/wine/wine64}")
	end_signal=KILL # SIGTERM ends only the main thread under Wine
fi

"${runner[@]}" "$MAKE_MANY" "$work/many.etl" pages 9000
printf 'limits: { series_per_family: 100000, series: 1000000 }\n' >"$work/config.yaml"
start_exporter --config.file="$work/config.yaml" --replay.file="$work/many.etl" --replay.loop --replay.speed=1
complete() { [ "$(curl -fsS "$url/metrics" | wc -c)" -gt 18000000 ]; }
until_true 60 complete || fail "the page stays small"
servers=("exporter=${url##*:},$exporter_pid")

if [ ${#limit[@]} -gt 0 ] && [ ${#runner[@]} -eq 0 ] && command -v prometheus-node-exporter >/dev/null; then
	for _ in 1 2 3; do
		port=$((20000 + RANDOM % 20000))
		prometheus-node-exporter --web.listen-address="127.0.0.1:$port" </dev/null >"$work/node" 2>&1 &
		if until_true 30 curl -fsS "http://127.0.0.1:$port/"; then
			servers+=("node_exporter=$port,$!")
			break
		fi
	done
fi
python3 "${BASH_SOURCE%/*}/attacks.py" --seconds "$seconds" "${limit[@]}" "${servers[@]}" || fail "$(tail -3 "$work/log")"

# Each attack was answered for in the metrics.
curl -fsS "$url/metrics" | grep '^etw_exporter_http_connections' >"$work/closed"
for reason in client "done" timeout evicted slow; do
	grep -q "^etw_exporter_http_connections_closed_total{reason=\"$reason\"} [1-9]" "$work/closed" ||
		fail "no connection closed for the reason $reason: $(cat "$work/closed")"
done
kill -"$end_signal" "$exporter_pid"
[ "$end_signal" = KILL ] || wait "$exporter_pid" || fail "exit $? after SIGTERM: $(tail -3 "$work/log")"
