#!/usr/bin/env bash
# Live sessions under load, scraped by a real Prometheus: the exporter on the fake ETW, under Wine when it is the Windows
# build's. Two sessions are given events as fast as they take them for 20 s, then more than they have buffers for. Once
# they are drained, what they were given is what was counted and what was reported lost, exactly, at every scrape. Rates,
# lags and scrapes that took too long are printed; nothing fails on them, because they depend on how busy the machine is.
. "${BASH_SOURCE%/*}/lib.bash"

command -v prometheus >/dev/null || skip "prometheus is not installed"
if [[ $ETW_EXPORTER == *.exe ]]; then
	runner=("${WINE64:-/usr/lib/wine/wine64}")
fi
flood_s=20
lost_least=50000
sessions=(etw_exporter providers)

"${runner[@]}" "$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
start_live_exporter

start_prometheus

# How many events a session was given, computed from its metrics in PromQL: those counted, without the records that report
# a loss, and those lost.
given() { # session
	echo "sum(etw_consumer_events_total{session=\"$1\"}) - sum(etw_consumer_lost_notifications_total{session=\"$1\"})" \
		"+ sum(etw_session_events_lost_total{session=\"$1\"})"
}
value() { query "$1" | sed -n 's/.*"value":\[[^,]*,"\([^"]*\)"\].*/\1/p'; } # PromQL: one number
is() { [ "$(value "$1")" = "$2" ]; }
field() { # phase, session, field: a number that the fake machine reports
	sed -n "s/^{\"phase\":\"$1\",\"session\":\"$2\".*\"$3\":\([0-9.]*\)[,}].*/\1/p" "$work/stdout"
}
reported() { [ -n "$(field "$1" "${sessions[-1]}" lost)" ] || ! kill -0 "$exporter_pid"; }
# The page's own sums: given, lost, of all events by process.
sums() { # session
	awk -v session="$1" '{ name = $1; sub(/\{.*/, "", name) }
		index($1, "{session=\"" session "\"") {
			if (name == "etw_consumer_events_total") given += $NF
			if (name == "etw_consumer_lost_notifications_total") given -= $NF
			if (name == "etw_session_events_lost_total") { given += $NF; lost += $NF }
		}
		END { printf "%d %d\n", given, lost }' "$work/page"
}
all_sums() { # each event has one session, one process, one outcome
	awk '{ name = $1; sub(/\{.*/, "", name); sum[name] += $NF }
		END { printf "%d %d %d\n", sum["etw_consumer_events_total"], sum["etw_events_total"], sum["etw_consumer_records_total"] }' \
		"$work/page"
}

# What Prometheus has of a session since a time, a "[time,value]" each, in $work/values. A scrape that it missed has none.
has_values() { # session, time, how many at least
	curl -fsS --get --data-urlencode "query=$(given "$1")" --data "start=$2&end=$(value 'max(timestamp(up))')&step=1" \
		"$prometheus/api/v1/query_range" | grep -o '\[[0-9.]*,"[^"]*"\]' | sort -u >"$work/values"
	[ "$(wc -l <"$work/values")" -ge "$3" ]
}

# Three more scrapes, all of which say the same.
check_phase() { # phase
	local session emitted lost from counted by_process by_outcome

	until_true 120 reported "$1" || fail "$1: no end"
	for session in "${sessions[@]}"; do
		emitted=$(field "$1" "$session" emitted)
		[ "${emitted:-0}" -gt 10000 ] || fail "$1: $session was given ${emitted:-nothing}: $(cat "$work/log")"
		until_true 30 is "$(given "$session")" "$emitted" ||
			fail "$1: $session was given $emitted, Prometheus says $(value "$(given "$session")")"
	done
	from=$(value 'max(timestamp(up))')
	curl -fsS "$url/metrics" >"$work/page" || fail "$1: no page"
	for session in "${sessions[@]}"; do
		emitted=$(field "$1" "$session" emitted) lost=$(field "$1" "$session" lost)
		until_true 30 has_values "$session" "$from" 3 || fail "$1: Prometheus has no values of $session"
		grep -v ",\"$emitted\"\\]$" "$work/values" && fail "$1: $session was given $emitted, but see above"
		[ "$(sums "$session")" = "$emitted $lost" ] || fail "$1: $session was given $emitted and lost $lost: $(sums "$session")"
	done
	read -r counted by_process by_outcome <<<"$(all_sums)"
	[ "$counted" = "$by_process" ] && [ "$counted" = "$by_outcome" ] ||
		fail "$1: $counted events, $by_process by process, $by_outcome by outcome"
	report "$1"
}

report() { # phase
	local session emitted seconds lag missed

	for session in "${sessions[@]}"; do
		emitted=$(field "$1" "$session" emitted) seconds=$(field "$1" "$session" seconds)
		lag=$(value "max_over_time(etw_consumer_lag_seconds{session=\"$session\"}[1h])")
		echo "live load: $1: $session: given $emitted, lost $(field "$1" "$session" lost), in $seconds s; most lag $lag s"
	done
	missed=$(value 'count_over_time(up[1h]) - sum_over_time(up[1h])')
	[ "$missed" = 0 ] || echo "live load: $1: Prometheus missed $missed of $(value 'count_over_time(up[1h])') scrapes so far"
	echo "live load: together $(value "max_over_time(sum(rate(etw_consumer_events_total[5s]))[1h:1s])") events/s at best over 5 s"
}

for session in "${sessions[@]}"; do
	until_true 30 is "etw_session_up{session=\"$session\"}" 1 || fail "$session is not up: $(cat "$work/log")"
done
echo "flood $work/sample.etl $flood_s" >&3
check_phase flood
for session in "${sessions[@]}"; do
	[ "$(field flood "$session" lost)" = 0 ] || fail "$session lost events although who writes waits"
done
echo "overflow $work/sample.etl $lost_least" >&3
check_phase overflow
for session in "${sessions[@]}"; do
	[ "$(field overflow "$session" lost)" -ge "$lost_least" ] || fail "$session lost too little"
done

echo quit >&3
kill -INT "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGINT: $(tail -3 "$work/log")"
