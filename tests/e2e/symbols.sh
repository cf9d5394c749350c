#!/usr/bin/env bash
# No two libraries define the same global name: static linking would silently take either.
. "${BASH_SOURCE%/*}/lib.bash"

command -v nm >/dev/null || skip "nm is not installed"
find "$BUILD_DIR" -name 'libetwx_*.a' -exec nm -A --defined-only {} + 2>/dev/null |
	awk 'NF > 2 && $(NF-1) ~ /^[TDBRC]$/ { split($1, part, ":"); print $NF, part[1] }' |
	sort -u | awk '$1 == last { print $1, where, $2 } { last = $1; where = $2 }' >"$work/twice"
[ -n "$(find "$BUILD_DIR" -name 'libetwx_base.a')" ] || fail "no libraries in $BUILD_DIR"
[ ! -s "$work/twice" ] || fail "defined twice: $(cat "$work/twice")"
