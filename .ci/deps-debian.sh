#!/usr/bin/env bash
# Installs what building and testing on Debian 12 or newer (or Ubuntu 24.04 or newer) needs: packages through
# apt, and below ${XDG_CACHE_HOME:-~/.cache}/etw_exporter a static civetweb (the packaged one crashes on TLS
# with OpenSSL 3) and promtool and prometheus (the package would start a service).
# Does nothing, without network or root, when all is there. Leaves no source list behind.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

prefix=$cache/$(uname -m) # CMakeLists.txt looks here
packages=(
	build-essential ca-certificates cmake curl dpkg-dev git ninja-build pkg-config python3
	clang libclang-rt-dev llvm # fuzzing
	python3-jsonschema python3-yaml # tests
	libcmocka-dev libexpat1-dev libpcre2-dev libssl-dev libyaml-dev zlib1g-dev
)

build_civetweb() {
	local stamp source

	stamp=$(cksum <"$here/civetweb/CMakeLists.txt")
	[ "$(cat "$prefix/civetweb.stamp" 2>/dev/null)" != "$stamp" ] || return 0
	say "building civetweb in $prefix"
	source=$(fetch_source civetweb)
	cmake -S "$here/civetweb" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DCIVETWEB_SOURCE_DIR="$source" -DCIVETWEB_TLS=openssl -DCMAKE_INSTALL_PREFIX="$prefix"
	cmake --build "$work/build"
	cmake --install "$work/build"
	printf '%s\n' "$stamp" >"$prefix/civetweb.stamp"
}

unpack_prometheus() {
	[ ! -x "$prefix/bin/promtool" ] || [ ! -x "$prefix/bin/prometheus" ] || return 0
	say "unpacking prometheus and promtool in $prefix/bin"
	mkdir -p "$work/prometheus" "$prefix/bin"
	(cd "$work/prometheus" && fetch download prometheus && dpkg-deb -x prometheus_*.deb .)
	install "$work"/prometheus/usr/bin/{prometheus,promtool} "$prefix/bin"
}

install_packages "${packages[@]}"
lock_cache
mkdir -p "$prefix"
build_civetweb
unpack_prometheus
