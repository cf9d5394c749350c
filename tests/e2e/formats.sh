#!/usr/bin/env bash
# The formats and encodings of /metrics, read by programs of others: curl, gzip, zstd, the OpenMetrics parser of the Python client,
# code that protoc made, promtool, and a real Prometheus.
. "${BASH_SOURCE%/*}/lib.bash"

command -v curl >/dev/null || skip "curl is not installed"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
echo 'native_histograms: on' >"$work/native.yaml"
start_exporter --replay.file="$work/sample.etl" --config.file="$work/native.yaml" "${all_collectors[@]}" --collector.file_latency --web.enable-created-samples
finished() { curl -fsS "$url/metrics" | says '^etw_replay_finished 1$'; }
until_true 60 finished || fail "the replay does not finish"

text_type='text/plain; version=0.0.4; charset=utf-8'
openmetrics_type='application/openmetrics-text; version=1.0.0; charset=utf-8'
protobuf_type='application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited'

# What differs from page to page is about the program itself and about scrapes.
still() { grep -vaE '^(# .*|process_.*|etw_exporter_(http_|s).*|etw_consumer_(busy|lag).*)$'; }

# page FORMAT ENCODING: as a client that wants these gets it; the plain page in $work/FORMAT.ENCODING, the head in $work/head.
page() {
	local accept

	case $1 in
	text) accept=text/plain ;;
	openmetrics) accept='application/openmetrics-text;version=1.0.0,text/plain;q=0.5' ;;
	protobuf) accept='application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited,text/plain;q=0.5' ;;
	esac
	curl -fsS -D "$work/head" -o "$work/encoded" -H "Accept: $accept" -H "Accept-Encoding: $2" "$url/metrics"
	case $2 in
	identity) cp "$work/encoded" "$work/$1.$2" ;;
	gzip) gzip -dc "$work/encoded" >"$work/$1.$2" ;;
	zstd) zstd -qdc --memory=8MB "$work/encoded" >"$work/$1.$2" ;;
	esac
}

has_header() { tr -d '\r' <"$work/head" | grep -Fxiq "$1" || fail "no \"$1\" in: $(cat "$work/head")"; }

for format in text openmetrics protobuf; do
	for encoding in identity gzip zstd; do
		if [ "$encoding" = zstd ] && ! command -v zstd >/dev/null; then
			continue
		fi
		page "$format" "$encoding" || fail "$format as $encoding: $(cat "$work/head")"
		type=${format}_type
		has_header "Content-Type: ${!type}"
		has_header 'Vary: Accept, Accept-Encoding'
		if [ "$encoding" != identity ]; then
			has_header "Content-Encoding: $encoding"
		fi
		if [ "$format" != protobuf ]; then
			still <"$work/$format.$encoding" | cmp -s - <(still <"$work/$format.identity") || fail "$format: $encoding is another page"
		fi
	done
	echo "ok: $format, $(wc -c <"$work/$format.identity") bytes, as gzip and zstd too"
done

# HEAD has the headers of GET.
curl -fsS -I -H 'Accept: application/openmetrics-text' -H 'Accept-Encoding: gzip' "$url/metrics" >"$work/head"
has_header "Content-Type: $openmetrics_type"
has_header 'Content-Encoding: gzip'

# The OpenMetrics page has the series of the text page, and a time for each counter and histogram.
expected=$(still <"$work/text.identity" | sed -E 's/ [^ ]+$//; s/le="[^"]*"/le/' | LC_ALL=C sort)
got=$(still <"$work/openmetrics.identity" | grep -vE '^[a-z0-9_]+_created[{ ]' | sed -E 's/ [^ ]+$//; s/le="[^"]*"/le/' | LC_ALL=C sort)
[ "$expected" = "$got" ] || fail "OpenMetrics has other series: $(diff <(echo "$expected") <(echo "$got") | head -5)"
totals=$(grep -cE '^[a-z0-9_]+_(total|count)[{ ]' "$work/openmetrics.identity")
created=$(grep -cE '^[a-z0-9_]+_created[{ ]' "$work/openmetrics.identity")
[ "$totals" = "$created" ] || fail "$totals counters and histograms, but $created _created"
[ "$(tail -1 "$work/openmetrics.identity")" = '# EOF' ] || fail "no # EOF"

if python_with prometheus_client; then
	"$python" - "$work/openmetrics.identity" <<-'PYTHON' || fail "the OpenMetrics parser refuses the page"
		import sys
		from prometheus_client.openmetrics.parser import text_string_to_metric_families

		families = list(text_string_to_metric_families(open(sys.argv[1], encoding="utf-8").read()))
		assert any(f.type == "histogram" and f.unit == "seconds" for f in families)
		print(f"ok: the OpenMetrics parser reads {len(families)} families")
	PYTHON
fi
if has_protobuf_reader; then
	"$python" -B "$SOURCE_DIR/tests/e2e/read_protobuf.py" "$metrics_proto" "$work/protobuf.identity" "$work/text.identity" >"$work/read" ||
		fail "protobuf: $(tail -3 "$work/read")"
	echo "ok: protoc-made code reads $(cat "$work/read")"
	grep -Eq ', [1-9][0-9]* native histograms' "$work/read" || fail "no native histograms"
fi

# promtool imports the page when its samples have timestamps.
if command -v promtool >/dev/null; then
	sed -E '/^#/!s/$/ 1700000000/' "$work/openmetrics.identity" >"$work/import.om"
	promtool tsdb create-blocks-from openmetrics "$work/import.om" "$work/blocks" >"$work/promtool" 2>&1 || fail "promtool: $(tail -3 "$work/promtool")"
	samples=$(promtool tsdb list "$work/blocks" | awk 'NR > 1 { s += $5 } END { print s + 0 }')
	[ "$samples" = "$(grep -cv '^#' "$work/import.om")" ] || fail "promtool imported $samples samples"
	echo "ok: promtool imports $samples samples"
fi

# Without native histograms, and without times: the defaults.
kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM"
start_exporter --replay.file="$work/sample.etl" --replay.loop
until_true 60 curl -fsS "$url/-/ready" || fail "never ready"
page openmetrics identity
if grep -Eq '_created[{ ]' "$work/openmetrics.identity"; then
	fail "without --web.enable-created-samples there is $(grep -m 1 _created "$work/openmetrics.identity")"
fi
if has_protobuf_reader; then
	"$ETW_EXPORTER" --once --replay.file="$work/sample.etl" >"$work/text"
	"$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --once.format=protobuf >"$work/pb"
	"$python" -B "$SOURCE_DIR/tests/e2e/read_protobuf.py" "$metrics_proto" "$work/pb" "$work/text" >"$work/read" || fail "protobuf: $(tail -3 "$work/read")"
	grep -q ', 0 native histograms' "$work/read" || fail "by default: $(cat "$work/read")"
fi
kill -TERM "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGTERM"

# A real Prometheus takes OpenMetrics, and with its feature native-histograms protobuf.
if ! command -v prometheus >/dev/null; then
	skip "Prometheus is not installed; all else holds"
fi
start_exporter --replay.file="$work/sample.etl" --config.file="$work/native.yaml" --replay.loop --replay.speed=5 --log.level=debug --web.enable-created-samples
for feature in '' --enable-feature=native-histograms; do
	prometheus_flags=($feature)
	start_prometheus
	has() { query "$1" | says '"value":\['; }
	until_true 60 has 'up{job="etw"} == 1' || fail "Prometheus cannot scrape: $(tail -3 "$work/prometheus.log")"
	until_true 60 has 'sum(rate(etw_disk_operation_duration_seconds_count[10s])) > 0 or histogram_count(sum(rate(etw_disk_operation_duration_seconds[10s]))) > 0' ||
		fail "$feature: no rate of disk operations"
	if [ -n "$feature" ]; then
		until_true 60 has 'histogram_quantile(0.9, sum(rate(etw_disk_operation_duration_seconds[10s]))) > 0' || fail "no native histogram: $(tail -3 "$work/prometheus.log")"
		until_true 60 has 'histogram_count(etw_exporter_scrape_duration_seconds) > 0' || fail "no native histogram about scrapes"
		logged='format=protobuf'
	else
		until_true 60 has 'time() - etw_events_created > 0' || fail "no _created"
		until_true 60 has 'histogram_quantile(0.9, sum by (le) (rate(etw_disk_operation_duration_seconds_bucket[10s]))) > 0' || fail "no classic histogram"
		logged='format=openmetrics'
	fi
	grep -q "msg=\"*Scrape.*$logged .*encoding=gzip" "$work/log" || fail "Prometheus did not take $logged: $(tail -2 "$work/log")"
	if grep -Eq 'level=(warn|error)' "$work/prometheus.log"; then
		fail "Prometheus warns: $(grep -Em 2 'level=(warn|error)' "$work/prometheus.log")"
	fi
	kill -TERM "$prometheus_pid"
	wait "$prometheus_pid" || true
	echo "ok: Prometheus scrapes $logged"
done
