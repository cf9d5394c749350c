#!/usr/bin/env bash
# Writes what CHANGELOG.md says about a version: bash .ci/release-notes.sh TAG FILE. Fails when the tag is not that of the project's
# version, or when CHANGELOG.md does not describe this version.
set -euo pipefail
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
die() { echo "release-notes.sh: $*" >&2; exit 1; }

[ $# -eq 2 ] || die "usage: bash .ci/release-notes.sh TAG FILE"
version=$(sed -n 's/^project(etw_exporter VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
[ "$1" = "v$version" ] || die "the tag is $1, but the version in CMakeLists.txt is $version: the tag of this commit must be v$version"
notes=$(awk -v version="$version" '/^## / { here = $2 == version; next } here' "$root/CHANGELOG.md")
[ -n "$notes" ] || die "CHANGELOG.md has no section \"## $version\", or it is empty: rename \"Unreleased\" to \"$version (DATE)\""
mkdir -p "$(dirname "$2")"
printf '%s\n' "$notes" >"$2"
