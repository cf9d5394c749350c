#!/usr/bin/env bash
# Three machines and the questions that their users have: an IIS host with five application pools, a terminal server with thirty users, and a
# machine where other programs have all eight sessions with kernel events. three_users.py makes up who does how much.
. "${BASH_SOURCE%/*}/lib.bash"

cd "$work"
"$MAKE_SAMPLE" sample.etl >/dev/null
"$ETWTOOL" relog sample.etl --exact --event SysConfig/VolumeMapping -o base.etl >/dev/null 2>&1 || fail "a recording without processes"
for machine in iis rds loggers; do
	python3 "$SOURCE_DIR/tests/e2e/three_users.py" $machine 133601436000100000 >$machine.jsonl
	"$ETWTOOL" relog base.etl --builtin --add $machine.jsonl -o $machine.etl >/dev/null 2>err || fail "$machine: $(cat err)"
done

# page_of MACHINE CONFIGURATION: in the file page; the sums are those of a page without it.
page_of() {
	echo "$2" >config.yaml
	for flags in "" --config.file=config.yaml; do
		# shellcheck disable=SC2086 # none, or one
		"$ETW_EXPORTER" $flags --once --replay.file="$1.etl" >"page$flags" 2>err || fail "$1: $(cat err)"
	done
	mv page--config.file=config.yaml named
	python3 "$SOURCE_DIR/tests/e2e/sums.py" page named >/dev/null || fail "sums of $1"
}

# Which pool writes how much, which sends? The first program is svchost with 1000 bytes a second, the next one writes 2000.
page_of iis 'process_names: [iis, services]'
number=1
for name in svchost/Schedule w3wp/shop w3wp/api w3wp/intranet w3wp/reports 'w3wp/legacy app'; do
	grep -q "^etw_file_written_bytes_total{process=\"$name\",provider=\"Windows Kernel\",volume=\"D:\"} $((number * 60000))$" named ||
		fail "$name: $(grep file_written named)"
	grep -q "^etw_network_sent_bytes_total{process=\"$name\",provider=\"Windows Kernel\",protocol=\"tcp\"} $((number * 120000))$" named ||
		fail "$name: $(grep network_sent named)"
	number=$((number + 1))
done
! grep -q 'apppools' named || fail "a part of the command line is on the page: $(grep -m 1 apppools named)"

# Which user? Each has an EXCEL and an OUTLOOK in a session of their own.
page_of rds 'labels: [owner, terminal_session]'
for user in 0 7 29; do
	labels="owner=\"S-1-5-21-3623811015-3361044348-30300820-$((1101 + user))\",terminal_session=\"$((2 + user))\""
	grep -q "^etw_file_written_bytes_total{process=\"EXCEL\",provider=\"Windows Kernel\",volume=\"D:\",$labels} $(((2 * user + 2) * 60000))$" named ||
		fail "EXCEL of user $user: $(grep -m 3 'file_written.*EXCEL' named)"
	grep -q "^etw_network_sent_bytes_total{process=\"OUTLOOK\",provider=\"Windows Kernel\",protocol=\"tcp\",$labels} $(((2 * user + 3) * 120000))$" named ||
		fail "OUTLOOK of user $user: $(grep -m 3 'sent.*OUTLOOK' named)"
done
[ "$(grep -c '^etw_file_written_bytes_total{' named)" = 61 ] || fail "series: $(grep -c '^etw_file_written_bytes_total{' named)"
# The join family has the same users, and no more series than that anywhere else.
"$ETW_EXPORTER" --once --collector.process_info --replay.file=rds.etl 2>/dev/null | grep '^etw_' >joined
[ "$(grep -c '^etw_process_info{process="EXCEL",.*} 1$' joined)" = 30 ] || fail "$(grep process_info joined)"
[ "$(grep -c '^etw_file_written_bytes_total{' joined)" = 3 ] || fail "$(grep file_written joined)"

# No place for a session with kernel events: the message says what helps, and then the bytes are there, with the names of processes.
export FAKE_NO_SYSTEM_LOGGER=1
ETW_EXPORTER=$EXPORTER_ON_FAKE
# shellcheck disable=SC2016 # a pattern
expect_exit 1 'all 8 with kernel events, are in use.*; `kernel_events: off` in the configuration needs none of the 8$' \
	"$ETW_EXPORTER" --web.listen-address=127.0.0.1:0
# The second session gets the events of processes, too, for their names.
cat >config.yaml <<'END'
kernel_events: off
sessions: { one: { logger: user }, two: { logger: user, providers: [ '{10adf00d-10ad-10ad-0102-030405060708}' ] } }
END
mkfifo commands
exec 3<>commands
exporter_input=commands
end_signal=KILL # asked to end, it waits for the end of its input
start_exporter --config.file=config.yaml
echo "burst $work/loggers.etl 1" >&3
until_true 60 grep -q '"phase":"burst"' stdout || fail "no end of the events: $(cat log)"
curl -fsS "$url/metrics" >live
for row in sqlservr:60000 w3wp:120000; do
	grep -q "^etw_network_received_bytes_total{process=\"${row%:*}\",provider=\"Microsoft-Windows-Kernel-Network\",protocol=\"tcp\"} ${row#*:}$" live ||
		fail "${row%:*}: $(grep network_received live)"
	grep -q "^etw_process_instances{process=\"${row%:*}\",provider=\"Microsoft-Windows-Kernel-Process\"} 1$" live ||
		fail "${row%:*}: $(grep instances live)"
done
