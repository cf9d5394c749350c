# shellcheck shell=bash
# Sourced by the set-up scripts: installs packages through apt and npm, fetches source packages without leaving a source list
# behind. Sets `cache`, the folder of what we build ourselves, and `work`, a temporary folder.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
cache=${XDG_CACHE_HOME:-~/.cache}/etw_exporter

say() { printf '%s: %s\n' "${0##*/}" "$*"; }
die() { say "$*" >&2; exit 1; }

command -v dpkg-query >/dev/null || die "needs dpkg and apt (Debian or Ubuntu)"

# Nothing happens, without network or root, when all are there.
install_packages() { # package...
	local missing=() package sudo=()

	for package in "$@"; do
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

# To be called before anything is written to the cache: of two set-ups at once the second waits and finds all done.
lock_cache() {
	mkdir -p "$cache"
	exec 9>"$cache/lock"
	flock 9
	work=$(mktemp -d)
	trap 'rm -rf "$work"' EXIT
}

# apt with source lists, index and cache of its own: may read sources, needs no root, changes nothing.
private_apt() { private apt-get -q "$@"; }
private_apt_cache() { private apt-cache "$@"; }
private() { # program, arguments...
	"$1" -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$work/sources" \
		-o Dir::State::lists="$work/lists" -o Dir::Cache="$work/cache" -o APT::Sandbox::User=root "${@:2}"
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

# Into the working directory. The newest version in the index, else the release's own: a mirror may lack the files of an
# update. .ci/library-versions.sh keeps that out of a release.
fetch() { # source|download, package
	prepare_private_apt
	private_apt "$1" "$2" && return
	say "the mirror lacks the newest $2: taking that of the release" >&2
	private_apt "$1" "$2/$(. /etc/os-release && printf %s "$VERSION_CODENAME")"
}

# Prints the folder that the source package was unpacked into. Its version and licences are kept for .ci/package.sh.
fetch_source() { # package
	local folder licences

	mkdir -p "$work/$1" "$cache/sources/$1"
	(cd "$work/$1" && fetch source "$1") >&2
	folder=$(find "$work/$1" -mindepth 1 -maxdepth 1 -type d)
	licences=("$folder/debian/copyright")
	[ -e "${licences[0]}" ] || mapfile -t licences < <(find "$folder" "$folder/debian" -maxdepth 1 -type f \
		'(' -name 'LICENS*' -o -name 'COPYING*' -o -name '*.copyright' ')' | sort -u)
	[ "${#licences[@]}" -gt 0 ] || die "the source package $1 has no licence"
	cat "${licences[@]}" >"$cache/sources/$1/copyright"
	dpkg-parsechangelog -l "$folder/debian/changelog" -S Version >"$cache/sources/$1/version"
	printf '%s\n' "$folder"
}

# Not by package name: Node.js also comes from elsewhere, with npm in it.
install_node() {
	if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
		install_packages nodejs npm
	fi
}

npm_packages() { # folder with a lock file
	local stamp

	stamp=$1/node_modules/.for-$(cksum <"$1/package-lock.json" | cut -d ' ' -f 1)
	[ ! -e "$stamp" ] || return 0
	say "npm packages of $1"
	(cd "$1" && npm ci --ignore-scripts --no-audit --no-fund)
	touch "$stamp"
}

# All that our civetweb and our libarchive are made from besides their source packages.
civetweb_recipe() {
	cat "$here"/civetweb/{CMakeLists.txt,*.inl,patches/*} "$here/../cmake/hardening.cmake"
}

libarchive_recipe() {
	cat "$here/libarchive/CMakeLists.txt" "$here/hardened.cmake" "$here/../cmake/hardening.cmake"
}
