#!/usr/bin/env bash
# config/README.md: its files are written, its commands run and print what the page says.
. "${BASH_SOURCE%/*}/lib.bash"

page=$SOURCE_DIR/config/README.md
mkdir "$work/build" "$work/blocks"
ln -s "$BUILD_DIR" "$work/build/release"
cd "$work"

# One file for each fenced block, in order: 1.yaml, 2.sh, …; without a word behind the fence: .out.
awk '/^```/ {
	if (file) { close(file); file = "" }
	else { word = substr($0, 4); file = "blocks/" ++count "." (word ? word : "out"); printf "" >file }
	next
}
file { print >file }' "$page"

commands=0
for ((i = 1; ; i++)); do
	block=$(ls blocks/$i.* 2>/dev/null) || break
	case $block in
	*.yaml)
		path=$(sed -n '1s/^# //p' "$block")
		[ -n "$path" ] || fail "block $i: a file begins with a comment that names it"
		mkdir -p "$(dirname "$path")"
		cp "$block" "$path"
		;;
	*.sh)
		bash -u "$block" >found 2>&1 </dev/null || true
		[ -e "blocks/$((i + 1)).out" ] || fail "block $i: its output does not follow"
		diff "blocks/$((i + 1)).out" found || fail "$(cat "$block")"
		commands=$((commands + 1))
		;;
	*.out) ;;
	*) fail "$block: neither yaml, sh nor output" ;;
	esac
done
[ "$commands" -ge 3 ] || fail "$commands blocks of commands"

# Every collector of the page is one that the program takes, as the page has it.
for block in blocks/*.yaml; do
	path=$(sed -n '1s/^# //p' "$block")
	[[ $path == my-collectors/* ]] || continue
	cp "$block" "$path"
	printf 'collector_files: [%s]\n' "$path" >one.yaml
	"$ETWTOOL" check config one.yaml >/dev/null || fail "$path"
done
