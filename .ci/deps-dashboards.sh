#!/usr/bin/env bash
# Installs what checking the dashboards needs besides .ci/deps-tests.sh: Node.js, npm and the packages of dashboards/check's lock file.
# With "preview" also what drawing them needs: Prometheus, Chromium, a font, and the packages of dashboards/preview (about 1 GB).
# Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

npm_packages() { # folder with a lock file
	local stamp

	stamp=$1/node_modules/.for-$(cksum <"$1/package-lock.json" | cut -d ' ' -f 1)
	[ ! -e "$stamp" ] || return 0
	say "npm packages of $1"
	(cd "$1" && npm ci --ignore-scripts --no-audit --no-fund)
	touch "$stamp"
}

packages=()
# Not by package name: Node.js also comes from elsewhere, with npm in it.
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	packages+=(nodejs npm)
fi
if [ "${1:-}" = preview ]; then
	packages+=(chromium curl fonts-inter)
	bash "$here/deps-prometheus.sh"
fi
install_packages "${packages[@]}"
lock_cache
npm_packages "$here/../dashboards/check"
[ "${1:-}" != preview ] || npm_packages "$here/../dashboards/preview"
