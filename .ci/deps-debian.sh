#!/usr/bin/env bash
# Installs what building the programs on Debian 12 or newer (or Ubuntu 24.04 or newer) needs: packages through apt, and
# below ${XDG_CACHE_HOME:-~/.cache}/etw_exporter a static civetweb with patches of ours, and the part of libarchive that reads packed
# recordings.
# .ci/deps-tests.sh installs what only tests need. Does nothing, without network or root, when all is there. Leaves no
# source list behind.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

prefix=$cache/$(uname -m) # CMakeLists.txt looks here
packages=(
	build-essential ca-certificates cmake dpkg-dev ninja-build pkg-config
	libcrypt-dev  # bcrypt
	libcmocka-dev # the generator of the sample shares code with the tests
	libexpat1-dev liblzma-dev libpcre2-dev libssl-dev libyaml-dev libzstd-dev zlib1g-dev
	python3 # writes man pages and completions
)

build_library() { # library, CMake options...
	local library=$1 stamp source

	stamp=$("${library}_recipe" | cksum)
	[ "$(cat "$prefix/$library.stamp" 2>/dev/null)" != "$stamp" ] || return 0
	say "building $library in $prefix"
	source=$(fetch_source "$library")
	cmake -S "$here/$library" -B "$work/build-$library" -G Ninja -DCMAKE_BUILD_TYPE=Release \
		"-D${library^^}_SOURCE_DIR=$source" -DCMAKE_INSTALL_PREFIX="$prefix" "${@:2}"
	cmake --build "$work/build-$library"
	cmake --install "$work/build-$library"
	printf '%s\n' "$stamp" >"$prefix/$library.stamp"
}

install_packages "${packages[@]}"
lock_cache
mkdir -p "$prefix"
build_library civetweb
build_library libarchive -DCMAKE_PROJECT_INCLUDE="$here/hardened.cmake" -DCMAKE_POSITION_INDEPENDENT_CODE=ON
