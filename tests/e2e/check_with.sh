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
grep -q -- '--hosts needs --with FILE' err || fail "$(cat err)"

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

# ---- names that only the recording knows ----

echo 'collectors: { disk: off, events: off, file: off, memory: off, network: off, process: off }
collector_files: [names.yaml]' >names_config.yaml
cat >names.yaml <<'END'
collector: names
help: For the test.
default: on
needs: { providers: ['{4b3c1f0e-7a52-5d91-8e20-1f66b04a93d7}:4'] }
metrics:
  - name: names_total
    type: counter
    help: For the test.
    labels: { provider: Provider }
    events:
      - { event: Contoso.Shop/OrderPlacd }
      - { event: Contosa.Shop/OrderPlaced }
      - { event: Contoso.Shop/Unheard }
      - { event: Contoso.Shop/OrderPlaced, value: Itms }
      - { event: Contoso.Shop/OrderPlaced, value: Customer }
END
check 0 names_config.yaml --with sample.etl
grep '<-' out >rules
diff - rules <<'END' || fail "check says this instead"
  names.names_total <- Contoso.Shop/OrderPlacd (line 11): no such event in the recording; did you mean 'Contoso.Shop/OrderPlaced'?
  names.names_total <- Contosa.Shop/OrderPlaced (line 12): no such event in the recording; did you mean 'Contoso.Shop/OrderPlaced'?
  names.names_total <- Contoso.Shop/Unheard (line 13): no such event in the recording
  names.names_total <- Contoso.Shop/OrderPlaced (line 14): 250 events, 0 counted; 'Itms' missing in 250; did you mean 'Items'?
  names.names_total <- Contoso.Shop/OrderPlaced (line 15): 250 events, 0 counted, 250 with a field of another type
END
check 0 names_config.yaml --with sample.etl --format json
python3 - <<'END' || fail "$(cut -c1-2000 out)"
import json
meant = [rule.get("did_you_mean") for rule in json.load(open("out"))["rules"]]
assert meant == ["Contoso.Shop/OrderPlaced", "Contoso.Shop/OrderPlaced", None, None, None], meant
END
# The log names the fields, too.
"$ETW_EXPORTER" --config.file=names_config.yaml --once --replay.file=sample.etl 2>err >out || fail "$(cat err)"
grep -q "names.yaml:14:9: names_total: event OrderPlaced of Contoso.Shop has no field 'Itms'; did you mean 'Items'?" err || fail "$(cat err)"
grep -q "names.yaml:15:9: names_total: event OrderPlaced of Contoso.Shop has the field 'Customer' in another type than the rule needs" err ||
	fail "$(cat err)"

# ---- warnings as failures ----

# Of the configuration's own collectors: that a recording lacks events of a shipped one is no mistake of it.
check 1 names_config.yaml --with sample.etl --strict
[ "$(tail -n 1 err)" = "etwtool check: --strict: 5 rules do not fit the recording" ] || fail "$(cat err)"
grep -q "^exposition:" out || fail "--strict prints no report"
check 1 names_config.yaml --with sample.etl --strict --format json
check 1 names_config.yaml --with sample.etl --strict --hosts 3
sed -i '11,13d; s/Itms/Items/; s/, value: Customer//' names.yaml
check 0 names_config.yaml --with sample.etl --strict
[ ! -s err ] || fail "$(cat err)"
echo 'collectors: { disk: on, registry: on }' >shipped.yaml
check 0 shipped.yaml --with sample.etl --strict
grep -q 'no such event in the recording$' out || fail "this recording has all events of the shipped collectors"
