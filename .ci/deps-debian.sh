#!/usr/bin/env bash
# Installs what building and testing on Debian 12 or newer (or Ubuntu 24.04 or newer) needs: packages through
# apt, and below ${XDG_CACHE_HOME:-~/.cache}/etw_exporter a static civetweb (the packaged one crashes on TLS
# with OpenSSL 3) and promtool and prometheus (the package would start a service).
# Does nothing, without network or root, when all is there. Leaves no source list behind.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-~/.cache}/etw_exporter
prefix=$cache/$(uname -m) # CMakeLists.txt looks here
packages=(
	build-essential ca-certificates cmake curl dpkg-dev git ninja-build pkg-config python3
	clang libclang-rt-dev llvm # fuzzing
	libcmocka-dev libexpat1-dev libpcre2-dev libssl-dev libyaml-dev zlib1g-dev
)

say() { printf 'deps-debian.sh: %s\n' "$*"; }
die() { say "$*" >&2; exit 1; }

command -v dpkg-query >/dev/null || die "needs dpkg and apt (Debian or Ubuntu)"

install_packages() {
	local missing=() package sudo=()

	for package in "${packages[@]}"; do
		[ "$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null)" = installed ] || missing+=("$package")
	done
	[ ${#missing[@]} -gt 0 ] || return 0
	if [ "$(id -u)" -ne 0 ]; then
		command -v sudo >/dev/null || die "not root and no sudo; as root: apt-get install ${missing[*]}"
		sudo=(sudo)
	fi
	say "installing ${missing[*]}"
	"${sudo[@]}" apt-get -q -o DPkg::Lock::Timeout=300 update
	"${sudo[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o DPkg::Lock::Timeout=300 \
		install -y --no-install-recommends "${missing[@]}"
}

# apt with source lists, index and cache of its own: may read sources, needs no root, changes nothing.
private_apt() {
	apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources" \
		-o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "$@"
}

prepare_private_apt() {
	local file

	[ ! -d "$work/sources" ] || return 0
	mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial"
	for file in /etc/apt/sources.list.d/{debian,ubuntu}.sources; do
		if [ -e "$file" ]; then
			sed 's/^Types:.*/Types: deb deb-src/' "$file" >"$work/sources/$(basename "$file")"
		fi
	done
	if [ -e /etc/apt/sources.list ]; then
		sed -nE 's/^deb(-src)?[[:space:]]+(.*)/deb \2\ndeb-src \2/p' /etc/apt/sources.list |
			sort -u >"$work/sources/main.list"
	fi
	private_apt update
}

# The newest version in the index, else the release's own: a mirror may lack the files of an update.
fetch() { # source|download, package
	private_apt "$1" "$2" || private_apt "$1" "$2/$(. /etc/os-release && printf %s "$VERSION_CODENAME")"
}

build_civetweb() {
	local stamp source

	stamp=$(cksum <"$here/civetweb/CMakeLists.txt")
	[ "$(cat "$prefix/civetweb.stamp" 2>/dev/null)" != "$stamp" ] || return 0
	say "building civetweb in $prefix"
	prepare_private_apt
	mkdir -p "$work/civetweb"
	(cd "$work/civetweb" && fetch source civetweb)
	source=$(find "$work/civetweb" -mindepth 1 -maxdepth 1 -type d)
	cmake -S "$here/civetweb" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DCIVETWEB_SOURCE_DIR="$source" -DCIVETWEB_TLS=openssl -DCMAKE_INSTALL_PREFIX="$prefix"
	cmake --build "$work/build"
	cmake --install "$work/build"
	printf '%s\n' "$stamp" >"$prefix/civetweb.stamp"
}

unpack_prometheus() {
	[ ! -x "$prefix/bin/promtool" ] || [ ! -x "$prefix/bin/prometheus" ] || return 0
	say "unpacking prometheus and promtool in $prefix/bin"
	prepare_private_apt
	mkdir -p "$work/prometheus" "$prefix/bin"
	(cd "$work/prometheus" && fetch download prometheus && dpkg-deb -x prometheus_*.deb .)
	install "$work"/prometheus/usr/bin/{prometheus,promtool} "$prefix/bin"
}

install_packages
mkdir -p "$prefix"
exec 9>"$cache/lock"
flock 9 # two set-ups at once: the second waits and finds all done
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build_civetweb
unpack_prometheus
