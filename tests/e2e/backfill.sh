#!/usr/bin/env bash
# A recording as samples at its own date: promtool takes every one, and a Prometheus on them says what another decoder found.
. "${BASH_SOURCE%/*}/lib.bash"

command -v promtool >/dev/null && command -v prometheus >/dev/null || skip "Prometheus is not installed"

# blocks_of FILE STEP: samples of FILE in $work/data, counted.
blocks_of() {
	local lines samples

	rm -rf "$work/data"
	"$ETWTOOL" backfill "$1" --step "$2" >"$work/samples.om" 2>"$work/err" || fail "$1: exit $?: $(cat "$work/err")"
	[ "$(tail -1 "$work/samples.om")" = '# EOF' ] || fail "$1: no end"
	promtool tsdb create-blocks-from openmetrics "$work/samples.om" "$work/data" >"$work/promtool" 2>&1 || fail "$1: $(tail -3 "$work/promtool")"
	# It drops samples that go back in time without a word.
	lines=$(grep -vc '^#' "$work/samples.om")
	samples=$(promtool tsdb list "$work/data" | awk 'NR > 1 { s += $5 } END { print s + 0 }')
	[ "$samples" = "$lines" ] || fail "$1: $lines samples written, $samples taken"
	! grep -Eq '^(process_|etw_replay_|etw_exporter_(series|build_info|config_))' "$work/samples.om" || fail "$1: has samples about this run"
}

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
blocks_of "$work/sample.etl" 1s
# A minute, a page a second: and each counter has a 0 before it begins.
pages=$(grep -c '^up{' "$work/samples.om")
[ "$pages" -ge 60 ] && [ "$pages" -le 63 ] || fail "$pages pages of the sample"
grep -q '^etw_file_written_bytes_total{job="etw",instance="sample.etl",process="WerFault",.*} 0 ' "$work/samples.om" || fail "WerFault does not begin at 0"

expect_exit 2 'takes a duration' "$ETWTOOL" backfill "$work/sample.etl" --step 0s
for step in 20 20s 20000ms; do
	"$ETWTOOL" backfill "$work/sample.etl" --step $step | grep -v '^etw_exporter_' >"$work/step.$step" || fail "--step $step"
	cmp -s "$work/step.20" "$work/step.$step" || fail "--step $step is another one than 20"
done
expect_exit 2 'name a recording' "$ETWTOOL" backfill
expect_exit 1 'nothing.etl' "$ETWTOOL" backfill "$work/nothing.etl"
expect_exit 1 'none.yaml' "$ETWTOOL" backfill "$work/sample.etl" --config "$work/none.yaml"

# Everything that is wrong with a configuration is shown at once, and what is only a warning, too.
printf 'limits: { siries: 1, filez: 2 }\nprocess_case: uppr\n' >"$work/wrong.yaml"
"$ETWTOOL" backfill "$work/sample.etl" --config.file "$work/wrong.yaml" >"$work/out" 2>"$work/err" && fail "a wrong configuration" || [ $? = 2 ] || fail "exit status"
[ "$(sed 's#^\(etwtool backfill: \).*/#\1#; s/ *unknown .*//' "$work/err" | paste -sd ' ')" = 'etwtool backfill: wrong.yaml:1:11: etwtool backfill: wrong.yaml:1:22: etwtool backfill: wrong.yaml:2:15:' ] ||
	fail "wrong.yaml: $(cat "$work/err")"
echo "collector_files: ['none-*.yaml']" >"$work/warns.yaml"
"$ETWTOOL" backfill "$work/sample.etl" --step 30s --config.file "$work/warns.yaml" 2>"$work/err" | tail -1 | grep -qx '# EOF' || fail "warns.yaml: $(cat "$work/err")"
[ "$(grep -c "^etwtool backfill: .*/warns.yaml:1:.*warning: .*matches no file" "$work/err")" = 1 ] || fail "no warning: $(cat "$work/err")"

# What a recording of a few kilobytes can ask for is bounded: beyond --pages it fails, without the end that promtool wants.
expect_exit 1 'more than 5 samples of a series: take a longer --step, or allow more with --pages' \
	"$ETWTOOL" backfill "$work/sample.etl" --step 1s --pages 5
"$ETWTOOL" backfill "$work/sample.etl" --step 1s --pages 5 >"$work/few.om" 2>/dev/null || true
[ "$(grep -c '^up{' "$work/few.om")" = 5 ] || fail "$(grep -c '^up{' "$work/few.om") pages of 5"
! grep -q EOF "$work/few.om" || fail "incomplete output with an end"
"$ETWTOOL" backfill "$work/sample.etl" --step 1s --pages "$pages" | tail -1 | grep -qx '# EOF' || fail "$pages pages are enough"

# Times that no sample can have (a start in the header at the ends of 64 bits).
at_start() { # NUMBER: the sample with this start time, docs/etl-format.md section 2
	python3 - "$work/sample.etl" "$1" >"$work/other.etl" <<'END'
import struct, sys
data = bytearray(open(sys.argv[1], "rb").read())
assert struct.unpack_from("<q", data, 368)[0] == 133601436000000000 # 2024-05-14T07:00:00Z
struct.pack_into("<q", data, 368, int(sys.argv[2]))
sys.stdout.buffer.write(data)
END
}
for start in 9223372036854775807 -9223372036854775807 0 116444736000000000 2650467743900000000; do
	at_start $start
	(ulimit -f 200000 && "$ETWTOOL" backfill "$work/other.etl" --step 1s >"$work/samples.om" 2>"$work/err") || fail "start $start: exit $?"
	[ "$(tail -1 "$work/samples.om")" = '# EOF' ] || fail "start $start: no end"
	found=$(grep -c '^up{' "$work/samples.om" || true)
	case $start in
	116444736000000000) [ "$found" = "$pages" ] || fail "1970: $found pages, not $pages" ;;
	2650467743900000000) [ "$found" -gt 5 ] && [ "$found" -le 13 ] || fail "the last 10 s of 9999: $found pages" ;;
	*) [ "$found" = 0 ] && grep -q 'warning: [0-9]* records have a time before 1970 or after 9999; no record has another, so' "$work/err" || fail "start $start: $found pages" ;;
	esac
done
# Two hosts in one Prometheus, and labels that need escaping.
"$ETWTOOL" backfill "$work/sample.etl" --instance 'a "b"' --job x >"$work/labels.om"
grep -qF 'up{job="x",instance="a \"b\""} 1 ' "$work/labels.om" || fail "labels: $(grep -m 1 ^up "$work/labels.om")"

trace=$traces/net.4.5.2.x64
needs "$trace".{etl,metrics.json}
blocks_of "$trace.etl" 1s
echo 'scrape_configs: []' >"$work/none.yml"
prometheus --config.file="$work/none.yml" --storage.tsdb.path="$work/data" --storage.tsdb.retention.time=100y \
	--web.listen-address=127.0.0.1:0 </dev/null >"$work/prometheus.log" 2>&1 &
until_true 30 prometheus_listens || fail "Prometheus does not listen: $(tail -3 "$work/prometheus.log")"
url=$prometheus
until_true 30 curl -fsS "$url/-/ready" || fail "Prometheus is not ready"
python3 - "$url" "$trace.metrics.json" "$work/samples.om" <<'PYTHON' || fail "PromQL disagrees with another decoder"
import json, re, sys, urllib.parse, urllib.request

url, expected, samples = sys.argv[1:]
wanted = json.load(open(expected))
times = sorted({float(line.rsplit(" ", 1)[1]) for line in open(samples) if line.startswith("up{")})


def ask(query):
    parameters = urllib.parse.urlencode({"query": query, "time": times[-1]})
    with urllib.request.urlopen(f"{url}/api/v1/query?{parameters}") as reply:
        return {s["metric"].get("process", ""): float(s["value"][1]) for s in json.load(reply)["data"]["result"]}


def process(name):
    name = {"(none)": "_none", "(unknown)": "_unknown"}.get(name, name)
    return re.sub(r"\.exe$", "", name, flags=re.I) or "_unknown"


def compare(what, query, expect):
    found = {name.lower(): value for name, value in ask(query).items() if value}
    summed = {}
    for name, value in expect:
        summed[process(name).lower()] = summed.get(process(name).lower(), 0) + value
    summed = {name: value for name, value in summed.items() if value}
    if found != summed or not found:
        print(f"{what}: {found} instead of {summed}")
        sys.exit(1)
    print(f"{what}: {len(found)} rows agree")


# All together: the other decoder counts the stack keys (StackWalk 37, 38) for no process, see tests/recordings_known.txt.
together = [("all", sum(sum(by.values()) for by in wanted["events_by_process_provider"].values()))]


def all_of(query):
    return f'label_replace({query}, "process", "all", "", "")'


compare("events", all_of("sum(etw_events_total)"), together)
# What grew within the recording is all there is, first values included: every series begins at 0. The sum of differences, since
# increase() extrapolates.
span = int(times[-1] - times[0])
compare("growth", all_of(f"sum(etw_events_total - (etw_events_total offset {span}s or etw_events_total * 0))"), together)
compare("bytes read from disk", "sum by (process) (etw_disk_process_read_bytes_total)",
        [(name, sum(disk["read_bytes"] for disk in disks.values())) for name, disks in wanted["disk"].items()])
if abs(times[0] - 1595981220) > 1:
    print(f"the first sample is at {times[0]}, the recording begins at 2020-07-29T00:07:00Z")
    sys.exit(1)
PYTHON
echo "ok: a Prometheus on the samples says what another decoder found"
