#!/usr/bin/env bash
# Unpacks promtool, prometheus and its node_exporter below ${XDG_CACHE_HOME:-~/.cache}/etw_exporter; the packages would start
# services. For tests and for dashboards/preview.sh. Does nothing, without network, when all are there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

bin=$cache/$(uname -m)/bin
install_packages ca-certificates
lock_cache
if [ ! -x "$bin/promtool" ] || [ ! -x "$bin/prometheus" ]; then
	say "unpacking prometheus and promtool in $bin"
	mkdir -p "$work/prometheus" "$bin"
	(cd "$work/prometheus" && fetch download prometheus && dpkg-deb -x prometheus_*.deb .)
	install "$work"/prometheus/usr/bin/{prometheus,promtool} "$bin"
fi
if [ ! -x "$bin/prometheus-node-exporter" ]; then
	say "unpacking node_exporter in $bin"
	mkdir -p "$work/node_exporter" "$bin"
	(cd "$work/node_exporter" && fetch download prometheus-node-exporter && dpkg-deb -x prometheus-node-exporter_*.deb .)
	install "$work/node_exporter/usr/bin/prometheus-node-exporter" "$bin"
fi
