#!/usr/bin/env bash
# Unpacks promtool and prometheus below ${XDG_CACHE_HOME:-~/.cache}/etw_exporter; the package would start a service. For tests
# and for dashboards/preview.sh. Does nothing, without network, when both are there.
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
