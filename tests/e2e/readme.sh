#!/usr/bin/env bash
# README.md and the pages that it leads to first: their numbers are those of the sample, their commands run, and their flags exist.
. "${BASH_SOURCE%/*}/lib.bash"

page=$SOURCE_DIR/README.md
mkdir "$work/build"
ln -s "$BUILD_DIR" "$work/build/release"
cd "$work"
"$MAKE_SAMPLE" build/sample.etl >/dev/null
cp build/sample.etl server.etl
cp build/sample.etl a.etl
cp build/sample.etl b.etl
printf 'process_case: lower\n' >my.yaml

# The first fenced block shows samples of one replay of the sample recording.
"$ETW_EXPORTER" --replay.file=server.etl --once >exposition 2>/dev/null || fail "a replay of the sample: exit $?"
awk '/^```/ { blocks++; next } blocks == 1' "$page" >shown
[ "$(wc -l <shown)" -ge 5 ] || fail "the first block shows $(wc -l <shown) samples"
while read -r sample; do
	grep -Fxq "$sample" exposition || fail "the sample recording has no '$sample', but $(grep -F "${sample% *}" exposition)"
done <shown

# The commands of "Look at a recording", "Configure it" and docs/recordings.md, "Commands": each runs as it is pasted. One that serves
# pages is checked instead: --check-config reads its flags, and ends. top needs a terminal: one frame is enough.
block() { # page, heading: the first fenced block behind it, without comments
	awk -v heading="$2" '$0 == heading { here = 1 } here && /^```/ { if (inside) exit; inside = 1; next } inside' "$1" | sed 's/ \{1,\}#.*//'
}
{
	block "$page" "## Look at a recording"
	block "$page" "## Configure it"
	block "$SOURCE_DIR/docs/recordings.md" "## Commands"
} >commands
[ "$(wc -l <commands)" -ge 30 ] || fail "the pages show $(wc -l <commands) commands"
ln -s "$SOURCE_DIR/config" config
while read -r command; do
	[[ $command == build/release/etw* ]] || fail "'$command' is not a command of this project"
	case $command in
	*'etwtool sessions'* | *--installed* | *--export-manifests* | *'etwtool record'*) continue ;; # Windows only
	*'etwtool top'*) command+=' --speed 0 --batch --count 1' ;;
	*etwtool* | *--once*) ;;
	*) command+=' --check-config' ;;
	esac
	bash -u -c "$command" >out 2>err </dev/null || fail "$command: exit $?: $(cat err)"
	[ -s out ] || [ -s samples.om ] || fail "$command: no output"
done <commands

# docs/build.md: what is built there is all that cmake --install takes from the build.
if [ -e "$BUILD_DIR/build.ninja" ]; then
	built_by=$SOURCE_DIR/docs/build.md
	targets=$(sed -n '1,/^cmake --install/s/^cmake .*--build --preset release --target \([a-z_ ]*\)$/\1/p' "$built_by")
	[ -n "$targets" ] || fail "docs/build.md names no target"
	# shellcheck disable=SC2086
	ninja -C "$BUILD_DIR" -t commands $targets >builds || fail "the build has no targets '$targets'"
	for made in '-o etw_exporter ' '-o etwtool ' packaging/pages.py; do
		grep -qF -e "$made" builds || fail "docs/build.md does not build all that it installs: $made"
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
pages=("$page" "$SOURCE_DIR"/docs/{web,reload,recordings,install-windows,windows-first-run}.md)
[ "$(wc -l <"$page")" -lt 250 ] || fail "README.md has $(wc -l <"$page") lines; it shall stay below 250"
grep -hE 'etw_exporter|etwtool|etw_selftest|^`--' "${pages[@]}" | grep -vE 'cmake|tests/run\.sh' | grep -oE -e '--[a-z][a-z.-]*[a-z]' | sort -u >named
[ "$(wc -l <named)" -ge 12 ] || fail "the pages name $(wc -l <named) flags"
unknown=$(comm -23 named known)
[ -z "$unknown" ] || fail "no program has the flags" $unknown
echo "ok: $(wc -l <shown) samples, $(wc -l <commands) commands, $(wc -l <named) flags"
