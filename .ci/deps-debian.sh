#!/usr/bin/env bash
# Installs what building the programs on Debian 12 or newer (or Ubuntu 24.04 or newer) needs: packages through apt, and
# below ${XDG_CACHE_HOME:-~/.cache}/etw_exporter a static civetweb with patches of ours.
# .ci/deps-tests.sh installs what only tests need. Does nothing, without network or root, when all is there. Leaves no
# source list behind.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

prefix=$cache/$(uname -m) # CMakeLists.txt looks here
packages=(
	build-essential ca-certificates cmake dpkg-dev ninja-build pkg-config
	libcrypt-dev  # bcrypt
	libcmocka-dev # the generator of the sample shares code with the tests
	libarchive-dev libexpat1-dev liblzma-dev libpcre2-dev libssl-dev libyaml-dev libzstd-dev zlib1g-dev
	python3 # writes man pages and completions
)

build_civetweb() {
	local stamp source

	stamp=$(civetweb_recipe | cksum)
	[ "$(cat "$prefix/civetweb.stamp" 2>/dev/null)" != "$stamp" ] || return 0
	say "building civetweb in $prefix"
	source=$(fetch_source civetweb)
	cmake -S "$here/civetweb" -B "$work/build" -G Ninja -DCMAKE_BUILD_TYPE=Release \
		-DCIVETWEB_SOURCE_DIR="$source" -DCMAKE_INSTALL_PREFIX="$prefix"
	cmake --build "$work/build"
	cmake --install "$work/build"
	printf '%s\n' "$stamp" >"$prefix/civetweb.stamp"
}

install_packages "${packages[@]}"
lock_cache
mkdir -p "$prefix"
build_civetweb
