#!/usr/bin/env bash
# Man pages and shell completions: they are well formed, have every flag, and complete what they should.
. "${BASH_SOURCE%/*}/lib.bash"

share=$BUILD_DIR/share
programs=(etw_exporter etwtool)
[ -e "$share/man/man1/etwtool.1" ] || fail "the build wrote no man pages"

# The same bytes again.
date=$(sed -n '1s/.* 1 "\([^"]*\)".*/\1/p' "$share/man/man1/etwtool.1")
python3 "$SOURCE_DIR/packaging/pages.py" "$work/again" "$date" "$ETW_EXPORTER" "$ETWTOOL"
diff -r "$share" "$work/again/share" || fail "two runs make other pages"

# Every flag that --help shows is in the page and in each completion, and no other one.
help_flags() { # of a program or a command: its flags, with those of collectors as --collector.cpu
	"$@" --help | sed -n 's/^  \(--[][a-z.-]*\|-[a-z]\>\).*/\1/p' | sed 's/--\[no-\]collector\./--no-collector.cpu/; s/,$//'
}
for program in "${programs[@]}"; do
	tool=$ETWTOOL
	[ "$program" = etwtool ] || tool=$ETW_EXPORTER
	help_flags "$tool" >"$work/flags"
	if [ "$program" = etwtool ]; then
		"$tool" --help | sed -n 's/^  \([a-z]*\) .*/\1/p' >"$work/commands"
		while read -r command; do
			help_flags "$tool" "$command" >>"$work/flags"
			grep -qx "\.SS etwtool $command.*" "$share/man/man1/etwtool.1" || fail "man page: no command $command"
		done <"$work/commands"
	fi
	LC_ALL=C.UTF-8 MANWIDTH=80 man --warnings -E UTF-8 -l "$share/man/man1/$program.1" >"$work/$program.page" 2>"$work/err" ||
		fail "man $program: $(cat "$work/err")"
	[ ! -s "$work/err" ] || fail "man $program: $(cat "$work/err")"
	grep -q '^EXIT STATUS' "$work/$program.page" || fail "man $program: no exit status"
	[ "$(wc -l <"$work/flags")" -gt 15 ] || fail "--help shows no flags: $(cat "$work/flags")"
	while read -r flag; do
		for file in "bash-completion/completions/$program" "zsh/site-functions/_$program" "etw_exporter/completion/$program.ps1"; do
			grep -qE -- "['\" *]${flag//./\\.}([=' \"[]|$)" "$share/$file" || fail "$file has no $flag"
		done
		fish_flag="-l ${flag#--}"
		[[ $flag == --* ]] || fish_flag="-s ${flag#-}"
		grep -qE -- " $fish_flag " "$share/fish/vendor_completions.d/$program.fish" || fail "fish: no $flag"
		page_flag="(--|--\[no-\])${flag#--}"
		page_flag=${page_flag/no-collector.cpu/collector.} # one entry for both
		[[ $flag == --* ]] || page_flag="^ *$flag "
		grep -qE -- "$page_flag" "$work/$program.page" || fail "man page: no $flag"
	done <"$work/flags"
done

# bash: what its completion function makes of a line, which bash has split into words.
complete_bash() { # word of the program, words behind it; the last is to be completed
	bash --norc --noprofile -c '
		. "$1"
		program=$2
		shift
		COMP_WORDS=("$@")
		COMP_CWORD=$(($# - 1))
		"_$program"
		printf "%s\n" "${COMPREPLY[@]}"' - "$share/bash-completion/completions/$1" "$@" 2>"$work/err" | sort
	[ ! -s "$work/err" ] || fail "bash: $(cat "$work/err")"
}
# expect EXPECTED ACTUAL WHAT
expect() { [ "$2" = "$1" ] || fail "$3: expected '$1', got '$2'"; }
mkdir "$work/files" && cd "$work/files"
touch 'a b.etl' other.yaml
mkdir folder
for program in "${programs[@]}"; do
	bash -n "$share/bash-completion/completions/$program" || fail "bash: $program"
	if command -v shellcheck >/dev/null; then
		shellcheck -s bash "$share/bash-completion/completions/$program" || fail "shellcheck: $program"
	fi
done
expect "$(printf '%s\n' --log.format= --log.level=)" "$(complete_bash etw_exporter --log.)" "bash: flags"
expect 'debug' "$(complete_bash etw_exporter --log.level = de)" "bash: words behind ="
expect "$(printf '%s\n' json logfmt)" "$(complete_bash etw_exporter --log.format =)" "bash: nothing behind ="
expect 'error' "$(complete_bash etw_exporter --log.level err)" "bash: words behind a blank"
expect 'a b.etl' "$(complete_bash etw_exporter --replay.file = a)" "bash: a file with a blank"
expect 'folder' "$(complete_bash etwtool providers 'a b.etl' --export-manifests f)" "bash: a folder"
expect '' "$(complete_bash etw_exporter --replay.speed '')" "bash: any number"
expect "$(printf '%s\n' --no-collector.defender --no-collector.disk --no-collector.disk_cause --no-collector.dns --no-collector.dotnet --no-collector.dotnet_counters)" "$(complete_bash etw_exporter --no-collector.d)" "bash: collectors"
expect "$(printf '%s\n' stats summary)" "$(complete_bash etwtool s | grep -v sessions)" "bash: commands"
while read -r command; do
	found=$(complete_bash etwtool "$command" o)
	case $command in
	metrics | sessions) expect '' "$found" "bash: etwtool $command, which takes no file" ;;
	*) expect 'other.yaml' "$found" "bash: a file of etwtool $command" ;;
	esac
done <"$work/commands"
expect 'other.yaml' "$(complete_bash etwtool report 'a b.etl' -o o)" "bash: a file of a short option"
expect '-o' "$(complete_bash etwtool report 'a b.etl' -o | grep -v -- --)" "bash: a short option"
expect 'json' "$(complete_bash etwtool stats 'a b.etl' --format j)" "bash: words of a command"
expect '--with' "$(complete_bash etwtool check --w)" "bash: flags of a command"

# fish answers what it would complete.
if command -v fish >/dev/null; then
	complete_fish() {
		fish --no-config -c "source '$share/fish/vendor_completions.d/$1.fish'; complete -C '$2'" | cut -f1 | sort
	}
	for program in "${programs[@]}"; do
		fish -n "$share/fish/vendor_completions.d/$program.fish" || fail "fish: $program"
	done
	expect "$(printf '%s\n' --log.format --log.level)" "$(complete_fish etw_exporter 'etw_exporter --log.' | sed 's/=$//')" "fish: flags"
	expect "$(printf '%s\n' debug error info warning)" "$(complete_fish etw_exporter 'etw_exporter --log.level ')" "fish: words"
	expect '--log.level=debug' "$(complete_fish etw_exporter 'etw_exporter --log.level=de')" "fish: words behind ="
	expect 'other.yaml' "$(complete_fish etw_exporter 'etw_exporter --config.file o')" "fish: a file"
	expect "$(printf '%s\n' sessions stats summary)" "$(complete_fish etwtool 'etwtool s')" "fish: commands"
	expect '--with' "$(complete_fish etwtool 'etwtool check --w')" "fish: flags of a command"
	expect '--step' "$(complete_fish etwtool 'etwtool backfill x.etl --s' | grep -v schema)" "fish: no flags of others"
	expect 'other.yaml' "$(complete_fish etwtool 'etwtool check o')" "fish: a file of a command"
else
	echo "fish is absent: its completion was not tried"
fi

# PowerShell: its parser where it is installed; else whether quotes and brackets are closed as its grammar wants it.
cat >"$work/brackets.py" <<'END'
import re, sys
for path in sys.argv[1:]:
    text, open_ones, pairs = open(path).read(), [], {')': '(', ']': '[', '}': '{'}
    # A text in '...' has each quote twice, one in "..." has none; # begins a comment.
    rest = re.sub(r"'(?:[^'\u2018\u2019]|''|[\u2018\u2019]{2})*'|\"[^\"\n]*\"|#.*", '', text)
    for char in rest:
        if char in '([{':
            open_ones.append(char)
        elif char in pairs and (not open_ones or open_ones.pop() != pairs[char]):
            sys.exit(f'{path}: {char} closes nothing')
        elif char in '\'"':
            sys.exit(f'{path}: a quote is not closed')
    if open_ones:
        sys.exit(f'{path}: {open_ones[-1]} is not closed')
END
for program in "${programs[@]}"; do
	file=$share/etw_exporter/completion/$program.ps1
	if command -v pwsh >/dev/null; then
		pwsh -NoProfile -Command "\$errors = \$null
			[void][System.Management.Automation.Language.Parser]::ParseFile('$file', [ref]\$null, [ref]\$errors)
			\$errors; exit \$errors.Count" >"$work/out" || fail "PowerShell: $(cat "$work/out")"
	else
		python3 "$work/brackets.py" "$file" || fail "PowerShell: $program"
	fi
done

# zsh completes in an interactive shell only, on a terminal of its own.
if command -v zsh >/dev/null; then
	for program in "${programs[@]}"; do
		zsh -n "$share/zsh/site-functions/_$program" || fail "zsh: $program"
	done
	python3 "$SOURCE_DIR/tests/e2e/zsh_completes.py" "$share/zsh/site-functions" || fail "zsh does not complete as it should"
else
	echo "zsh is absent: its completion was not tried"
fi

# Last: where mandoc is absent the rest has been tried.
command -v mandoc >/dev/null || skip "mandoc is absent: the man pages were read by man alone"
mandoc -Tlint "$share"/man/man1/*.1 >"$work/out" || fail "mandoc: $(cat "$work/out")"
[ ! -s "$work/out" ] || fail "mandoc: $(cat "$work/out")"
