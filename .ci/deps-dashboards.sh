#!/usr/bin/env bash
# Installs what testing pages in a browser and checking the dashboards need: Chromium, Node.js, npm and the packages of dashboards/check's
# lock file. With "preview" also what drawing the dashboards needs: Prometheus, a font, and the packages of dashboards/preview (about 1 GB).
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

# Ubuntu has Chromium only as a snap; the tests that need it are skipped there.
if ! command -v chromium >/dev/null && apt-cache show chromium >/dev/null 2>&1; then
	install_packages chromium
fi
if [ "${1:-}" = preview ]; then
	install_packages curl fonts-inter
	bash "$here/deps-prometheus.sh"
fi
install_node
lock_cache
npm_packages "$here/../dashboards/check"
[ "${1:-}" != preview ] || npm_packages "$here/../dashboards/preview"
