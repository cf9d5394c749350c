#!/usr/bin/env bash
# .ci/library-versions.sh, which .ci/package.sh calls: a library that is older than the package index offers stops a release. The index is
# a stand-in.
. "${BASH_SOURCE%/*}/lib.bash"

for command in dpkg dpkg-query python3; do
	command -v "$command" >/dev/null || skip "$command is not installed"
done
cache=${XDG_CACHE_HOME:-~/.cache}/etw_exporter
libraries=$(python3 "$SOURCE_DIR/.ci/sbom.py" libraries "$cache" "$BUILD_DIR" etw_exporter) || skip "the build has no map of the linker"
versions=$(awk -F '|' -v "cache=$cache/" 'index($4, cache) == 1 { print $1, $2 }' <<<"$libraries")
[ -n "$versions" ] || skip "no library of the set-up scripts"

mkdir "$work/bin"
printf '#!/bin/sh\n' >"$work/bin/apt-get" # update: nothing
cat >"$work/bin/apt-cache" <<'SH'
#!/bin/sh
# The last argument is the name of a source package. An index lists versions in any order.
for name; do :; done
sed -n "s/^$name \(.*\)/Package: $name\nVersion: \1\n/p" "$INDEX"
SH
chmod +x "$work/bin"/*
export INDEX=$work/index PATH=$work/bin:$PATH
compare() { bash "$SOURCE_DIR/.ci/library-versions.sh" "$BUILD_DIR" etw_exporter >"$work/out" 2>&1; }

sed 's/$/\n&/; s/\([^ ]*\) .*\n\(.*\)/\1 0~1\n\2/' <<<"$versions" >"$INDEX" # an older one first
compare || fail "the newest libraries are refused: $(cat "$work/out")"
grep -q ' libraries are the newest' "$work/out" || fail "no word: $(cat "$work/out")"

read -r name version <<<"$(tail -n 1 <<<"$versions")"
{ echo "$name $version+deb99u1"; echo "$versions"; } >"$INDEX"
compare && fail "an old $name is accepted"
grep -qF "old: $name $version, where the index offers $version+deb99u1" "$work/out" || fail "not which one: $(cat "$work/out")"

grep -v "^$name " <<<"$versions" >"$INDEX" || true
compare && fail "a library that the index lacks is accepted"
grep -q "has no source package $name" "$work/out" || fail "not which one: $(cat "$work/out")"
grep -q 'library-versions.sh" "$windows"' "$SOURCE_DIR/.ci/package.sh" || fail "package.sh does not compare"
echo "ok: $(wc -l <<<"$versions") libraries against an index"
