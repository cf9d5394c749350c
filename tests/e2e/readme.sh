#!/usr/bin/env bash
# README.md: the numbers that it shows are those of the sample, its commands are accepted, and the flags that it names exist.
. "${BASH_SOURCE%/*}/lib.bash"

page=$SOURCE_DIR/README.md
mkdir "$work/build"
ln -s "$BUILD_DIR" "$work/build/release"
cd "$work"
"$MAKE_SAMPLE" server.etl >/dev/null
cp server.etl a.etl
cp server.etl b.etl
printf 'process_case: lower\n' >my.yaml

# The first fenced block shows samples of one replay of the sample recording.
"$ETW_EXPORTER" --replay.file=server.etl --once >exposition 2>/dev/null || fail "a replay of the sample: exit $?"
awk '/^```/ { blocks++; next } blocks == 1' "$page" >shown
[ "$(wc -l <shown)" -ge 5 ] || fail "the first block shows $(wc -l <shown) samples"
while read -r sample; do
	grep -Fxq "$sample" exposition || fail "the sample recording has no '$sample', but $(grep -F "${sample% *}" exposition)"
done <shown

# "Use it": each command runs. One that serves pages is checked instead: --check-config reads its flags, and ends.
awk '/^## Use it/ { here = 1 } here && /^```/ { if (inside) exit; inside = 1; next } inside' "$page" | sed 's/ \{2,\}#.*//' >commands
[ "$(wc -l <commands)" -ge 10 ] || fail "'Use it' shows $(wc -l <commands) commands"
while read -r command; do
	[[ $command == build/release/etw* ]] || fail "'$command' is not a command of this project"
	case $command in
	*'etwtool sessions'* | *--installed* | *--export-manifests* | *'etwtool record'*) continue ;; # Windows only
	*etw_exporter*--once*) ;;
	*etw_exporter*) command+=' --check-config' ;;
	esac
	bash -u -c "$command" >out 2>err </dev/null || fail "$command: exit $?: $(cat err)"
	[ -s out ] || [ -s samples.om ] || fail "$command: no output"
done <commands

# "Build it": what is built there is all that cmake --install takes from the build.
if [ -e "$BUILD_DIR/build.ninja" ]; then
	targets=$(sed -n '1,/^cmake --install/s/^cmake .*--build --preset release --target \([a-z_ ]*\)$/\1/p' "$page")
	# shellcheck disable=SC2086
	ninja -C "$BUILD_DIR" -t commands $targets >builds || fail "the build has no targets '$targets'"
	for made in '-o etw_exporter ' '-o etwtool ' packaging/pages.py; do
		grep -qF -e "$made" builds || fail "'Build it' does not build all that it installs: $made"
	done
fi

# Every flag of the programs that the page names stands in a --help.
{
	"$ETW_EXPORTER" --help
	for tool in $("$ETWTOOL" --help | awk '/^  [a-z]/ { print $1 }'); do "$ETWTOOL" "$tool" --help; done
	"$ETWTOOL" --help
	"$SELFTEST" --help
	for file in "$SOURCE_DIR"/config/collectors/*.yaml; do
		echo "--collector.$(basename "$file" .yaml) --no-collector.$(basename "$file" .yaml)"
	done
} | grep -oE -e '--[a-z][a-z.-]*[a-z]' | sort -u >known
grep -E 'etw_exporter|etwtool|etw_selftest|^`--' "$page" | grep -vE 'cmake|tests/run\.sh' | grep -oE -e '--[a-z][a-z.-]*[a-z]' | sort -u >named
[ "$(wc -l <named)" -ge 12 ] || fail "the page names $(wc -l <named) flags"
unknown=$(comm -23 named known)
[ -z "$unknown" ] || fail "no program has the flags" $unknown
echo "ok: $(wc -l <shown) samples, $(wc -l <commands) commands, $(wc -l <named) flags"
