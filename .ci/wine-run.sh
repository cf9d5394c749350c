#!/bin/sh
# Runs a Windows program under Wine, for ctest. Wine's background processes inherit its standard output and outlive it by
# seconds: with a file in between, ctest does not wait for them.
out=$(mktemp) || exit 125
trap 'rm -f "$out"' EXIT
"${WINE64:-/usr/lib/wine/wine64}" "$@" </dev/null >"$out" 2>&1
status=$?
cat "$out"
[ $status -eq 0 ] || [ -s "$out" ] || echo "$1 ended with $status and printed nothing"
exit $status
