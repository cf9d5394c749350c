#!/usr/bin/env bash
# etwtool check config --with: what each rule found in a recording.
. "${BASH_SOURCE%/*}/lib.bash"

cd "$work"
"$MAKE_SAMPLE" sample.etl >/dev/null
cat >my.yaml <<'END'
collectors: { disk: off, events: off, file: off, memory: off, network: off, process: off }
collector_files: [x.yaml]
END
cat >x.yaml <<'END'
collector: x
help: For the test.
default: on
metrics:
  - name: x_writes_total
    type: counter
    help: For the test.
    labels: { volume: Volume }
    events:
      - { event: FileIo/Write, where: [{ field: IoSize, gt: 65536 }] }
  - name: x_other_total
    type: counter
    help: For the test.
    events:
      - { event: Nobody/3 }
END

check() { # expected exit status, arguments
	local expected=$1 status=0
	shift
	"$ETWTOOL" check config "$@" >out 2>err || status=$?
	[ "$status" = "$expected" ] || fail "$*: exit $status: $(cat err)"
}

# Every write is counted or left out, and the exposition is that of the exporter.
check 0 my.yaml --with sample.etl
writes=$("$ETW_EXPORTER" --once --replay.file=sample.etl | sed -n 's/^etw_provider_events_total{.*event="FileIo\/Write"} //p')
grep -q "x.x_writes_total <- FileIo/Write (line 10): $writes events, [1-9][0-9]* counted, [1-9][0-9]* left out by a condition$" out ||
	fail "$(grep x_writes out)"
grep -q 'x.x_other_total <- Nobody/3 (line 15): no such event in the recording$' out || fail "$(grep Nobody out)"
"$ETW_EXPORTER" --config.file=my.yaml --once --replay.file=sample.etl | grep ^x_ >expected
grep ^x_ out | diff expected - || fail "the exposition is not the exporter's"

check 0 --format json --with=sample.etl my.yaml
python3 - "$writes" <<'END' || fail "$(cut -c1-2000 out)"
import json, sys
report = json.load(open("out"))
rule = report["rules"][0]
assert (rule["collector"], rule["metric"], rule["event"], rule["line"]) == ("x", "x_writes_total", "FileIo/Write", 10)
assert rule["events"] == int(sys.argv[1]) == rule["counted"] + rule["left_out"]
assert open("expected").read() == "".join(line + "\n" for line in report["exposition"].splitlines() if line.startswith("x_"))
END

# What the series cost: what the page of the exporter has, for so many hosts.
check 0 my.yaml --with sample.etl --hosts 2000
series=$(grep -c ^x_writes expected)
bytes=$("$ETW_EXPORTER" --config.file=my.yaml --once --replay.file=sample.etl | grep -e '^x_writes' -e '^# [A-Z]* x_writes' | wc -c)
grep -Eq "^x_writes_total +counter +$series +$series +$(awk -v n="$series" 'BEGIN { printf "%.1f", n * 2000 / 15 }') +$bytes +[1-9][0-9]* +[0-9.]+$" out ||
	fail "$(cat out)"
grep -Eq "^total +[1-9]" out || fail "$(tail -1 out)"
check 0 my.yaml --with sample.etl --hosts 30 --format json
python3 - "$series" "$bytes" <<'END' || fail "$(cut -c1-2000 out)"
import json, sys
report = json.load(open("out"))
family = {f["family"]: f for f in report["families"]}["x_writes_total"]
series, size = int(sys.argv[1]), int(sys.argv[2])
assert (family["series"], family["samples_per_scrape"], family["bytes_per_scrape"]) == (series, series, size)
assert abs(family["samples_per_second"] - series * 30 / 15) < 1e-6
assert (report["hosts"], report["scrape_interval_seconds"]) == (30, 15) and report["event_seconds"] > 0
for key in ("series", "samples_per_scrape", "bytes_per_scrape", "memory_bytes"):
    assert report["total"][key] == sum(f[key] for f in report["families"])
assert abs(report["total"]["cpu_percent"] - sum(f["cpu_percent"] for f in report["families"])) < 1e-6
END
# A histogram has a sample for each bucket, the sum and the count.
echo 'collectors: { events: off, file: off, memory: off, network: off, process: off }' >disk.yaml
check 0 disk.yaml --with sample.etl --hosts 1 --format json
python3 - <<'END' || fail "$(cut -c1-2000 out)"
import json
for f in json.load(open("out"))["families"]:
    if f["type"] == "histogram":
        assert f["samples_per_scrape"] % f["series"] == 0 and f["samples_per_scrape"] // f["series"] > 5, f
END
check 2 my.yaml --hosts 5
grep -q -- '--hosts is for --with' err || fail "$(cat err)"

# A rule whose conditions contradict each other counts nothing, and its events were left out by a condition.
sed -i 's/gt: 65536 }/gt: 65536 }, { field: IoSize, le: 512 }/' x.yaml
check 0 my.yaml --with sample.etl
grep -q "(line 10): $writes events, 0 counted, $writes left out by a condition$" out || fail "$(cat out)"
check 0 my.yaml --with sample.etl --format json
grep -q "\"events\":$writes,\"counted\":0,\"left_out\":$writes," out || fail "$(cut -c1-2000 out)"

# What is refused without a recording is refused with one; a recording that is none is an error of its own.
sed -i 's/IoSize/Size/' x.yaml
check 2 my.yaml --with sample.etl
grep -qx "x.yaml:10:49: event 'FileIo/Write' has no field 'Size'; did you mean 'IoSize'?" err || fail "$(cat err)"
sed -i 's/\<Size/IoSize/' x.yaml
check 1 my.yaml --with nobody.etl
check 1 my.yaml --with my.yaml
check 2 my.yaml --format json
check 2 my.yaml --with sample.etl --format xml
