#!/bin/sh
# Runs a Windows program under Wine, for ctest. Wine's background processes inherit its standard output and outlive it by
# seconds: with a file in between, ctest does not wait for them.
out=$(mktemp) || exit 125
trap 'rm -f "$out"' EXIT
# Rarely Wine ends one of several programs that start at the same moment before it has printed anything: it is started again.
for try in 1 2 3; do
	"${WINE64:-/usr/lib/wine/wine64}" "$@" </dev/null >"$out" 2>&1
	status=$?
	[ $status -ne 0 ] && [ ! -s "$out" ] || break
	echo "try $try: Wine ended $1 without a word, exit $status" >&2
done
cat "$out"
exit $status
