#!/usr/bin/env bash
# Installs what the preset windows-mingw needs on Debian 12 or newer (or Ubuntu 24.04 or newer), besides what
# .ci/deps-debian.sh does: the cross compiler and Wine through apt, and below
# ${XDG_CACHE_HOME:-~/.cache}/etw_exporter/x86_64-w64-mingw32 the libraries, static, from the distribution's source
# packages. Does nothing, without network or root, when all is there.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

target=x86_64-w64-mingw32
prefix=$cache/$target # cmake/dependencies.cmake looks here
packages=(
	build-essential ca-certificates cmake curl dpkg-dev ninja-build perl
	gcc-mingw-w64-x86-64-posix wine64
)

build() { # library, source folder, CMake options...
	local library=$1 source=$2 build=$work/build-$1

	shift 2
	cmake -S "$source" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=RelWithDebInfo -DBUILD_SHARED_LIBS=OFF \
		-DCMAKE_PROJECT_INCLUDE="$here/hardened.cmake" \
		-DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_SYSTEM_NAME=Windows -DCMAKE_SYSTEM_PROCESSOR=AMD64 \
		-DCMAKE_C_COMPILER=$target-gcc-posix -DCMAKE_RC_COMPILER=$target-windres \
		"-DCMAKE_FIND_ROOT_PATH=$prefix;/usr/$target" -DCMAKE_FIND_ROOT_PATH_MODE_PROGRAM=NEVER \
		-DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
		-DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "$@"
	cmake --build "$build"
	cmake --install "$build"
}

# What a library is made from: a library whose stamp says the same is there already.
stamp_of() { # library
	{
		sed -n "/^build_$1()/,/^}/p;/^build()/,/^}/p" "$here/deps-mingw.sh"
		cat "$here/hardened.cmake" "$here/../cmake/hardening.cmake"
		[ "$1" != civetweb ] || civetweb_recipe
		[ "$1" != libxcrypt ] || cat "$here"/libxcrypt/*
		[ "$1" != libarchive ] || cat "$here/libarchive/CMakeLists.txt"
	} | cksum
}

# Its own CMake insists on a C++ compiler.
build_civetweb() {
	build civetweb "$here/civetweb" -DCIVETWEB_SOURCE_DIR="$1"
}

# Its messages are formatted by MinGW's printf as ours are (%zu), and checked accordingly.
build_cmocka() {
	build cmocka "$1" -DWITH_STATIC_LIB=ON -DWITH_EXAMPLES=OFF -DUNIT_TESTING=OFF \
		-DCMAKE_C_FLAGS=-D__USE_MINGW_ANSI_STDIO=1
	sed -i 's/__format__ (__printf__,/__format__ (gnu_printf,/' "$prefix/include/cmocka.h"
}

build_libyaml() {
	build libyaml "$1" -DBUILD_TESTING=OFF
}

# Debian's fixes need XML_DTD to be the number 1; expat's CMake defines it empty.
build_expat() {
	build expat "$1/expat" -DEXPAT_SHARED_LIBS=OFF -DEXPAT_BUILD_TOOLS=OFF -DEXPAT_BUILD_EXAMPLES=OFF \
		-DEXPAT_BUILD_TESTS=OFF -DEXPAT_BUILD_DOCS=OFF -DEXPAT_DTD=OFF -DCMAKE_C_FLAGS=-DXML_DTD=1
}

build_pcre2() {
	build pcre2 "$1" -DPCRE2_BUILD_PCRE2GREP=OFF -DPCRE2_BUILD_TESTS=OFF -DPCRE2_SUPPORT_JIT=ON
}

# The distribution's own zlib for MinGW has no stack protector. Its CMake also makes a DLL, from a description that the source
# package leaves out, and names the library zlibstatic on Windows.
build_zlib() {
	mkdir -p "$1/win32"
	echo '1 RCDATA { 0 }' >"$1/win32/zlib1.rc"
	build zlib "$1"
	mv "$prefix/lib/libzlibstatic.a" "$prefix/lib/libz.a"
	rm -f "$prefix"/lib/libzlib.dll.a "$prefix"/bin/*zlib*.dll
}

# The licence is that of the file that is compiled, not that of the whole.
build_libxcrypt() {
	build libxcrypt "$here/libxcrypt" -DLIBXCRYPT_SOURCE_DIR="$1"
	sed '/\*\//q' "$1/lib/crypt-bcrypt.c" >"$cache/sources/libxcrypt/copyright"
	grep -q 'placed in the public' "$cache/sources/libxcrypt/copyright"
}

# TLS 1.2 and 1.3 with what browsers and Go offer, hardened like our own code (cmake/hardening.cmake). It reads no
# configuration file and loads no engines or providers, which other programs could put in their places. Random numbers come
# from advapi32.dll, as before Windows 7: bcrypt.dll is not among the known DLLs, and a program next to which one is put
# would load that. Takes some minutes.
build_openssl() {
	local without=(
		aria autoload-config bf blake2 camellia capieng cast cmp cms comp ct des dsa dso dtls
		engine gost idea legacy md4 mdc2 module multiblock nextprotoneg ocsp psk rc2 rc4 rfc3779 rmd160 scrypt
		seed shared siphash siv sm2 sm3 sm4 srp srtp ssl3 tests tls1 tls1_1 ts ui-console whirlpool
	)

	( # in its folder: paths that the library contains are then relative, except for that of the folder in the debugging
	# information. It is mapped by a file of options, because the library also contains the options.
		cd "$1"
		export SOURCE_DATE_EPOCH=0
		echo "-ffile-prefix-map=$PWD=/usr/src/openssl" >prefix_map
		perl Configure mingw64 --cross-compile-prefix=$target- CC='gcc-posix @prefix_map' --prefix=/none --openssldir=/none \
			"${without[@]/#/no-}" -D_WIN32_WINNT=0x0600 -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 \
			-fstack-protector-strong -g1 -ffunction-sections -fdata-sections
		make -s -j"$(nproc)" build_generated
		make -s -j"$(nproc)" libssl.a libcrypto.a
		install -m 644 libssl.a libcrypto.a "$prefix/lib"
		mkdir -p "$prefix/include/openssl"
		install -m 644 include/openssl/*.h "$prefix/include/openssl"
	) >&2
}

# Its own CMake insists on a C++ compiler, too; its make does not.
build_libzstd() {
	local flags="-O2 -g1 -ffunction-sections -fdata-sections -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -fstack-protector-strong"

	make -C "$1/lib" CC=$target-gcc-posix AR=$target-ar ZSTD_LEGACY_SUPPORT=0 ZSTD_LIB_DEPRECATED=0 ZSTD_LIB_DICTBUILDER=0 \
		CFLAGS="$flags -ffile-prefix-map=$1=/usr/src/libzstd" PREFIX="$prefix" install-static install-includes
}

# For libarchive, which reads .xz with it.
build_xz-utils() {
	build xz-utils "$1"
}

build_libarchive() {
	build libarchive "$here/libarchive" -DLIBARCHIVE_SOURCE_DIR="$1"
}

build_library() { # library, source folder
	local stamp

	stamp=$(stamp_of "$1")
	say "building $1 in $prefix"
	"build_$1" "$2"
	printf '%s\n' "$stamp" >"$prefix/$1.stamp"
}

build_stale() { # library...
	local library

	for library in "$@"; do
		[ -z "${sources[$library]:-}" ] || build_library "$library" "${sources[$library]}"
	done
}

install_packages "${packages[@]}"
lock_cache
mkdir -p "$prefix"
declare -A sources
for library in civetweb cmocka libyaml expat pcre2 zlib libzstd libxcrypt xz-utils libarchive openssl; do
	[ "$(cat "$prefix/$library.stamp" 2>/dev/null)" != "$(stamp_of $library)" ] || continue
	sources[$library]=$(fetch_source $library)
done
# OpenSSL beside all others, which use one processor while CMake looks at the compiler. libarchive needs some of those before it.
build_stale civetweb cmocka libyaml expat pcre2 zlib libzstd libxcrypt xz-utils libarchive &
others=$!
build_stale openssl &
openssl=$!
failed=0
wait "$others" || failed=1
wait "$openssl" || failed=1
[ "$failed" -eq 0 ] || die "not all libraries were built"
