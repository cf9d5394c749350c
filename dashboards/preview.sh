#!/usr/bin/env bash
# Shows the dashboards on a recording, without Grafana: exporter (replaying in a loop) <- Prometheus <- one page drawn with Grafana's own
# components. usage: dashboards/preview.sh [--once] [--theme=dark|light] [FILE.etl]
#
# Writes build/preview/index.html and a PNG of each dashboard at 1600 and at 900 pixels, in both themes unless one is named. Then serves
# the page, in which a process can be chosen, until Ctrl-C; with --once it chooses one itself, checks that the figures follow, and ends:
# 0 when nothing was wrong.
set -euo pipefail

once=false
themes=dark,light
usage='usage: bash dashboards/preview.sh [--once] [--theme=dark|light] [FILE.etl]'
seconds=75 # of data before the pictures; the sample lasts a minute
while [[ ${1:-} == -* ]]; do
	case $1 in
	--once) once=true ;;
	--theme=dark | --theme=light) themes=${1#--theme=} ;;
	-h | --help) echo "$usage"; exit 0 ;;
	*) echo "preview.sh: unknown option $1; $usage" >&2; exit 2 ;;
	esac
	shift
done
if [[ $# -gt 0 ]]; then
	[ -f "$1" ] || { echo "preview.sh: $1: no such file" >&2; exit 1; }
	recording=$(realpath "$1")
fi
cd "$(dirname "${BASH_SOURCE[0]}")/.."
bash .ci/deps-debian.sh
bash .ci/deps-dashboards.sh preview
PATH=${XDG_CACHE_HOME:-$HOME/.cache}/etw_exporter/$(uname -m)/bin:$PATH
export PATH
cmake --preset release
cmake --build --preset release --target etw_exporter make_sample

out=$PWD/build/preview
rm -rf "$out"
mkdir -p "$out"
finish() {
	for pid in $(jobs -pr); do
		kill "$pid" 2>/dev/null || true
		wait "$pid" 2>/dev/null || true
	done
	rm -rf "$out/tsdb"
}
trap finish EXIT
die() { echo "preview.sh: $*" >&2; exit 1; }
until_true() { # SECONDS COMMAND...
	local end=$((SECONDS + $1))
	shift
	until "$@" >/dev/null 2>&1; do
		[ "$SECONDS" -lt "$end" ] || return 1
		sleep 0.1
	done
}
port_in() { sed -n "$1" "$2" | head -1; }

if [ -z "${recording:-}" ]; then
	recording=$out/sample.etl
	build/release/make_sample "$recording"
fi
# All collectors are on, and two path groups are there, so that each panel has something to show.
{
	echo "collectors:"
	for file in config/collectors/*.yaml; do
		echo "  $(basename "$file" .yaml): on"
	done
	cat <<-'YAML'
		path_groups:
		  - { name: databases, match: ['**\*.mdf', '**\*.ldf'] }
		  - { name: logs, match: ['**\*.log', '**\*.evtx'] }
	YAML
} >"$out/etw_exporter.yaml"
build/release/etw_exporter --replay.file="$recording" --replay.loop --replay.speed=1 --web.listen-address=127.0.0.1:0 --config.file="$out/etw_exporter.yaml" \
	</dev/null 2>"$out/exporter.log" &
until_true 30 grep -q 'msg="*Listening' "$out/exporter.log" || die "the exporter does not listen: $(tail -3 "$out/exporter.log")"
exporter=127.0.0.1:$(port_in 's/.*Listening.* port=\([0-9]*\).*/\1/p' "$out/exporter.log")
# Rules and alerts at the pace of the preview.
sed 's/interval: 1m/interval: 1s/' dashboards/prometheus/rules.yml >"$out/rules.yml"
sed 's/^\( *for:\) .*/\1 5s/' dashboards/prometheus/alerts.yml >"$out/alerts.yml"
cat >"$out/prometheus.yml" <<-YAML
	global: { scrape_interval: 1s, scrape_timeout: 900ms, evaluation_interval: 1s }
	rule_files: [ "$out/rules.yml", "$out/alerts.yml" ]
	scrape_configs:
	  - job_name: etw
	    static_configs: [ { targets: [ "$exporter" ] } ]
	  # What any Prometheus scrapes besides. No panel shows it.
	  - job_name: prometheus
	    file_sd_configs: [ { files: [ "$out/prometheus.json" ] } ]
	  - job_name: node
	    file_sd_configs: [ { files: [ "$out/node.json" ] } ]
YAML
prometheus --config.file="$out/prometheus.yml" --storage.tsdb.path="$out/tsdb" --web.listen-address=127.0.0.1:0 \
	</dev/null 2>"$out/prometheus.log" &
until_true 30 grep -q 'Listening on" address=' "$out/prometheus.log" || die "Prometheus does not listen: $(tail -3 "$out/prometheus.log")"
prometheus=http://127.0.0.1:$(port_in 's/.*Listening on" address=127.0.0.1:\([0-9]*\).*/\1/p' "$out/prometheus.log")
echo "[ { \"targets\": [ \"${prometheus#http://}\" ] } ]" >"$out/prometheus.json"
prometheus-node-exporter --web.listen-address=127.0.0.1:0 </dev/null 2>"$out/node.log" >&2 &
node_listens() { grep -q 'Listening on.* address=127' "$out/node.log"; }
until_true 30 node_listens || die "node_exporter does not listen: $(tail -3 "$out/node.log")"
echo "[ { \"targets\": [ \"$(port_in 's/.*Listening on.* address=\(127[0-9.:]*\).*/\1/p' "$out/node.log")\" ] } ]" >"$out/node.json"
echo "Collecting $seconds s of data from $recording."
enough() { curl -fsS --get --data-urlencode "query=count_over_time(up{job=\"etw\"}[5m]) >= $seconds" "$prometheus/api/v1/query" | grep -q '"value":\['; }
until_true $((10 * seconds)) enough || die "Prometheus cannot scrape: $(tail -3 "$out/prometheus.log")"

cd dashboards/preview
node bundle.mjs
status=0
node render.mjs "$prometheus" "$out" 1.2 1000 "$themes" || status=1
if $once; then
	node select.mjs "$prometheus" "$out" || status=1
	exit $status
fi
node serve_page.mjs "$out"
