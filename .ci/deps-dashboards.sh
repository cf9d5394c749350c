#!/usr/bin/env bash
# Installs what checking the dashboards needs besides .ci/deps-tests.sh: Node.js, npm and the packages of dashboards/check's lock file.
# With "preview" also what drawing them needs: Prometheus, Chromium, a font, and the packages of dashboards/preview (about 1 GB).
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

packages=()
if [ "${1:-}" = preview ]; then
	packages+=(chromium curl fonts-inter)
	bash "$here/deps-prometheus.sh"
fi
install_packages "${packages[@]}"
install_node
lock_cache
npm_packages "$here/../dashboards/check"
[ "${1:-}" != preview ] || npm_packages "$here/../dashboards/preview"
