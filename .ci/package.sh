#!/usr/bin/env bash
# Makes the packages of a release: bash .ci/package.sh [OUT], by default in build/packages.
#
#   etw-exporter_VERSION_ARCHITECTURE.deb            Debian 12 and newer: etw_exporter, dashboards, documentation
#   etwtool_VERSION_ARCHITECTURE.deb                 likewise: etwtool
#   libetw-dev_VERSION_ARCHITECTURE.deb              likewise: the library
#   etw_exporter-VERSION-windows-amd64.zip, .msi     Windows
#   etw_exporter-VERSION-windows-amd64-debug.zip     debugging information of the programs in these two
#   winget/, chocolatey/                             manifests
#   etw_exporter-VERSION.spdx.json, SHA256SUMS       what is in all of these; their check sums
#   etw_exporter-VERSION.openvex.json                known faults of libraries that the build leaves out
#
# It fails when a library is older than the package index offers (.ci/library-versions.sh).
#
# With --linux BUILD or --windows BUILD it packs that build, and only for that system. Without, it configures and builds both, after
# .ci/deps-debian.sh, .ci/deps-mingw.sh and .ci/deps-packages.sh have installed what is missing.
#
# PROJECT_URL is the page of the project, as of GitHub: the runbooks of alerts are below it. RELEASE_URL is the place that the .msi will be
# downloaded from, MAINTAINER whom the packages name.
#
# The same commit makes the same bytes: all times are that of the commit, or SOURCE_DATE_EPOCH; order and rights of files are fixed.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"
root=$(cd "$here/.." && pwd)
umask 022
export LC_ALL=C TZ=UTC

usage() {
	echo "usage: bash .ci/package.sh [--linux BUILD] [--windows BUILD] [OUT]" >&2
	exit 2
}

programs=(etw_exporter etwtool etw_selftest) # of Windows
out=$root/build/packages linux='' windows=''
while [ $# -gt 0 ]; do
	case $1 in
	--linux) linux=${2:?} && shift ;;
	--windows) windows=${2:?} && shift ;;
	-*) usage ;;
	*) out=$1 && [ $# -eq 1 ] || usage ;;
	esac
	shift
done

version=$(sed -n 's/^project(etw_exporter VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct 2>/dev/null)}"
[ -n "$SOURCE_DATE_EPOCH" ] || die "no repository here: set SOURCE_DATE_EPOCH to the time of the sources, in seconds since 1970"
export SOURCE_DATE_EPOCH
project_url=${PROJECT_URL:-https://example.org/etw_exporter}
release_url=${RELEASE_URL:-$project_url/releases/v$version}
maintainer=${MAINTAINER:-etw_exporter authors <etw_exporter@example.org>}

# From nothing and without a compiler cache: a cache may return what was made in another folder.
build() { # preset
	rm -rf "$root/build/package/$1"
	(cd "$root" && CCACHE_DISABLE=1 cmake --preset "$1" -B "build/package/$1" -DCMAKE_C_COMPILER_LAUNCHER=)
	if [ "$1" = windows-mingw ]; then # the completions for PowerShell come from the .exe; Wine talks when it makes its folder
		export WINEPREFIX=$root/build/wineprefix WINEDEBUG=-all WINEDLLOVERRIDES=mscoree,mshtml=
		sh "$here/wine-run.sh" cmd /c exit >/dev/null
	fi
	cmake --build "$root/build/package/$1" --target installed
}

if [ -z "$linux$windows" ]; then
	for script in debian mingw packages; do
		bash "$here/deps-$script.sh"
	done
	build release
	build windows-mingw
	linux=$root/build/package/release windows=$root/build/package/windows-mingw
	bash "$here/library-versions.sh" "$linux" etw_exporter etwtool
	bash "$here/library-versions.sh" "$windows" "${programs[@]}"
fi

mkdir -p "$out"
out=$(cd "$out" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
made=()

# One time and the rights that all have.
normalize() { # folder
	chmod -R u=rwX,go=rX "$1"
	find "$1" -exec touch --no-dereference --date="@$SOURCE_DATE_EPOCH" {} +
}

# Fills in a template: each @NAME@ of the arguments NAME=VALUE.
fill() { # template, NAME=VALUE...
	local pair text

	text=$(cat "$1")
	for pair in "${@:2}"; do
		text=${text//"@${pair%%=*}@"/"${pair#*=}"}
	done
	printf '%s\n' "$text"
}

# Versions and licences of libraries that a set-up script built before it kept them.
fetch_facts() { # build, what the linker made...
	local name version libraries

	libraries=$(python3 "$here/sbom.py" libraries "$cache" "$@")
	while IFS='|' read -r name version _; do
		[ -z "$name" ] || [ -n "$version" ] || (lock_cache && fetch_source "$name" >/dev/null)
	done <<<"$libraries"
}

# The texts of the licences of what is linked into the programs.
add_licences() { # folder, build, what the linker made...
	local name text libraries

	mkdir -p "$1"
	libraries=$(python3 "$here/sbom.py" libraries "$cache" "${@:2}")
	while IFS='|' read -r name _ _ text; do
		[ -z "$name" ] || cp "$text" "$1/$name.txt"
	done <<<"$libraries"
}

# Alerts of the sources lead to runbooks on a page that does not exist (runbookBase in dashboards/source/config.mjs).
name_project() { # folder
	{ grep -rlIF https://example.org/etw_exporter/docs/ "$1" || true; } |
		xargs -r sed -i "s|https://example.org/etw_exporter/docs/|$project_url/blob/v$version/docs/|g"
}

# ---- Debian ----

# The package, its component of the installation (cmake/install.cmake), and what the linker made for it.
debian=("etw-exporter exporter etw_exporter" "etwtool etwtool etwtool" "libetw-dev library libetw")

# The libraries that programs need, as the packages of this system: "libc6 (>= 2.34), ...".
program_dependencies() { # program...
	mkdir -p "$work/shlibs/debian"
	printf 'Source: etw-exporter\n\nPackage: etw-exporter\nArchitecture: any\n' >"$work/shlibs/debian/control"
	(cd "$work/shlibs" && dpkg-shlibdeps --ignore-missing-info -O "${@/#/-e}") | sed -n 's/^shlibs:Depends=//p'
}

# Likewise what a program needs that is linked with a library: "libexpat1-dev, ...".
library_dependencies() { # file for pkg-config
	local name

	pkg-config --print-requires "$1" | while read -r name _; do
		dpkg-query -S "$(pkg-config --variable=pcfiledir "$name")/$name.pc" | sed 's/[,:].*//'
	done | LC_ALL=C sort | paste -s -d , | sed 's/,/, /g'
}

# What `cmake --install` has put below STAGE/usr, as Debian has it.
arrange_deb() { # package, folder
	local doc=$2/usr/share/doc/$1 triplet

	triplet=$(dpkg-architecture -q DEB_HOST_MULTIARCH)
	if [ -d "$2/usr/share/doc/etw_exporter" ]; then
		mv "$2/usr/share/doc/etw_exporter" "$doc"
	else
		mkdir -p "$doc"
	fi
	case $1 in
	etw-exporter)
		mv "$2/usr/etc" "$2/etc"
		ln -s etw-exporter "$2/usr/share/doc/etw_exporter" # the name that the pages know
		rm "$doc/LICENSE"
		;;
	libetw-dev)
		mkdir -p "$2/usr/lib/$triplet"
		mv "$2"/usr/lib/{libetw.a,pkgconfig} "$2/usr/lib/$triplet/"
		sed -i "s|^prefix=.*|prefix=/usr|; s|^libdir=.*|libdir=\${prefix}/lib/$triplet|" "$2/usr/lib/$triplet/pkgconfig/libetw.pc"
		strip --strip-debug --remove-section=.comment --enable-deterministic-archives "$2/usr/lib/$triplet/libetw.a"
		;;
	esac
	if [ -d "$2/usr/bin" ]; then
		strip --remove-section=.comment "$2"/usr/bin/*
	fi
	if [ -d "$2/usr/share/zsh" ]; then
		mv "$2/usr/share/zsh/site-functions" "$2/usr/share/zsh/vendor-completions" # where Debian's zsh looks
		find "$2/usr/share/man" -type f -exec gzip -9n {} +
	fi
}

make_deb() { # package, component, what the linker made
	local stage=$work/$1 architecture size depends doc=usr/share/doc/$1

	architecture=$(dpkg --print-architecture)
	fetch_facts "$linux" "$3"
	DESTDIR=$stage cmake --install "$linux" --prefix /usr --strip --component "$2" >/dev/null
	arrange_deb "$1" "$stage"
	fill "$root/packaging/debian/copyright.in" "licence=$(sed '1,4d; s/^$/./; s/^/ /' "$root/LICENSE")" >"$stage/$doc/copyright"
	add_licences "$stage/$doc/licences" "$linux" "$3"
	printf '%s (%s) stable; urgency=medium\n\n  * Made of the sources of this version.\n\n -- %s  %s\n' "$1" "$version" \
		"$maintainer" "$(date -R -d "@$SOURCE_DATE_EPOCH")" |
		gzip -9n >"$stage/$doc/changelog.gz"
	name_project "$stage"
	normalize "$stage"

	mkdir "$stage/DEBIAN"
	size=$(find "$stage" -type f -printf '%s\n' | awk '{ sum += int(($1 + 1023) / 1024) } END { print sum }') # KiB
	if [ -d "$stage/usr/bin" ]; then
		depends=$(program_dependencies "$stage"/usr/bin/*)
	else
		depends=$(library_dependencies "$(find "$stage" -name libetw.pc)")
	fi
	awk -v RS= -v "name=$1" '$2 == name' "$root/packaging/debian/control.in" >"$work/control.in"
	fill "$work/control.in" "version=$version" "architecture=$architecture" "maintainer=$maintainer" "size=$size" "depends=$depends" >"$stage/DEBIAN/control"
	if [ -d "$stage/etc" ]; then
		(cd "$stage" && find etc -type f | sort | sed 's|^|/|') >"$stage/DEBIAN/conffiles"
	fi
	(cd "$stage" && find . -path ./DEBIAN -prune -o -path ./etc -prune -o -type f -print0 | sort -z | xargs -0 md5sum | sed 's|  \./|  |') \
		>"$stage/DEBIAN/md5sums"
	touch --date="@$SOURCE_DATE_EPOCH" "$stage"/DEBIAN{,/*}
	made+=("$1_${version}_$architecture.deb")
	dpkg-deb --build --root-owner-group -Zxz --threads-max=1 "$stage" "$out/${made[-1]}" >/dev/null
	rm -rf "$stage/DEBIAN"
}

# ---- Windows ----

# A folder with the file, as it is unpacked.
make_zip() { # name of the archive, folder
	(cd "${2%/*}" && find "${2##*/}" -type f | sort | zip -X -D -q -@ "$out/$1")
	made+=("$1")
}

make_windows() {
	local name=etw_exporter-$version-windows-amd64
	local stage=$work/windows/$name debug=$work/windows-debug/$name-debug

	rm -f "$out/$name"*.zip # zip adds to what is there
	cmake --install "$windows" --prefix "$stage" --component exporter >/dev/null
	cmake --install "$windows" --prefix "$stage" --component etwtool >/dev/null
	fetch_facts "$windows" "${programs[@]}"
	add_licences "$stage/licences" "$windows" "${programs[@]}"
	mkdir -p "$debug"
	mv "$stage"/*.debug "$debug/"
	name_project "$stage"
	normalize "$work/windows"
	normalize "$work/windows-debug"
	make_zip "$name.zip" "$stage"
	make_zip "$name-debug.zip" "$debug"
	python3 "$here/msi.py" "$stage" "$version" "$out/$name.msi"
	made+=("$name.msi")
}

# Manifests that name the .msi and its check sum.
make_manifests() {
	local msi=etw_exporter-$version-windows-amd64.msi identifier=EtwExporter.EtwExporter sum file target
	local values

	sum=$(sha256sum "$out/$msi" | cut -d ' ' -f 1)
	values=("version=$version" "msi=$msi" "project_url=$project_url" "url=$release_url" "sha256=$sum" "sha256_upper=${sum^^}"
		"product_code=$(msiinfo export "$out/$msi" Property | tr -d '\r' | sed -n 's/^ProductCode\t//p')"
		"upgrade_code=$(msiinfo export "$out/$msi" Property | tr -d '\r' | sed -n 's/^UpgradeCode\t//p')")
	mkdir -p "$out/winget" "$out/chocolatey/tools"
	fill "$root/packaging/winget/version.yaml.in" "${values[@]}" >"$out/winget/$identifier.yaml"
	fill "$root/packaging/winget/installer.yaml.in" "${values[@]}" >"$out/winget/$identifier.installer.yaml"
	fill "$root/packaging/winget/locale.yaml.in" "${values[@]}" >"$out/winget/$identifier.locale.en-US.yaml"
	(cd "$root/packaging/chocolatey" && find . -name '*.in') | while read -r file; do
		target=$out/chocolatey/${file%.in}
		fill "$root/packaging/chocolatey/$file" "${values[@]}" >"$target"
	done
	while read -r file; do
		made+=("$file")
	done < <(cd "$out" && find winget chocolatey -type f | sort)
}

# ---- what is in all of these ----

make_sbom() {
	local revision row name made_by packages=()

	revision=$(git -C "$root" rev-parse HEAD 2>/dev/null || echo "${GITHUB_SHA:-unknown}")
	if [ -n "$linux" ]; then
		for row in "${debian[@]}"; do
			read -r name _ made_by <<<"$row"
			packages+=("$out/${name}_${version}_$(dpkg --print-architecture).deb=$work/$name=$linux=$made_by")
		done
	fi
	if [ -n "$windows" ]; then
		made_by=$(IFS=,; echo "${programs[*]}")
		packages+=("$out/etw_exporter-$version-windows-amd64".{zip,msi}"=$work/windows/etw_exporter-$version-windows-amd64=$windows=$made_by")
	fi
	made+=("etw_exporter-$version.spdx.json")
	python3 "$here/sbom.py" write "$cache" "$out/${made[-1]}" "$version" "$revision" "${packages[@]}"
}

# Faults of libraries that scanners report, and that our build leaves out.
make_vex() {
	made+=("etw_exporter-$version.openvex.json")
	fill "$root/packaging/vex.json.in" "version=$version" "project_url=$project_url" "maintainer=$maintainer" \
		"timestamp=$(date -u -d "@$SOURCE_DATE_EPOCH" +%FT%TZ)" >"$out/${made[-1]}"
}

if [ -n "$linux" ]; then
	for row in "${debian[@]}"; do
		read -r name component made_by <<<"$row"
		make_deb "$name" "$component" "$made_by"
	done
fi
if [ -n "$windows" ]; then
	make_windows
	make_manifests
fi
make_sbom
make_vex
(cd "$out" && sha256sum "${made[@]}" >SHA256SUMS)
say "in $out: ${made[*]} SHA256SUMS"
