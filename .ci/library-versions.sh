#!/usr/bin/env bash
# Compares the libraries that the set-up scripts built into programs with the package index of now:
#
#   bash .ci/library-versions.sh BUILD PROGRAM...
#
# Fails when one is older than the newest that the index offers. There are two reasons: it stayed in the cache, or the mirror lists a
# security update and lacks its files, so that fetch() took the version before it. Needs network; changes nothing.
. "$(dirname "${BASH_SOURCE[0]}")/apt.sh"

[ $# -ge 2 ] || { echo "usage: bash .ci/library-versions.sh BUILD PROGRAM..." >&2; exit 2; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

newest() { # source package
	local version best=

	while read -r version; do
		if [ -z "$best" ] || dpkg --compare-versions "$version" gt "$best"; then
			best=$version
		fi
	done < <(private_apt_cache --only-source showsrc "$1" | sed -n 's/^Version: //p')
	[ -n "$best" ] || die "the package index has no source package $1"
	printf '%s\n' "$best"
}

libraries=$(python3 "$here/sbom.py" libraries "$cache" "$@")
prepare_private_apt >&2
compared=0 old=()
while IFS='|' read -r name version _ text; do
	[[ $text == "$cache/sources/"* ]] || continue # the distribution built it
	best=$(newest "$name")
	compared=$((compared + 1))
	if dpkg --compare-versions "$version" lt "$best"; then
		old+=("$name $version, where the index offers $best")
	fi
done <<<"$libraries"
[ "$compared" -gt 0 ] || die "no library of the set-up scripts is in $*"
if [ "${#old[@]}" -gt 0 ]; then
	printf "${0##*/}: old: %s\n" "${old[@]}" >&2
	die "delete $cache and build again; if a mirror lacks the files of an update, take another one"
fi
say "$compared libraries are the newest that the index offers"
