#!/usr/bin/env bash
# What goes wrong is said in one line, with the exit status that the README gives.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
: >"$work/empty.etl"
echo "This is a letter, not a recording." >"$work/text.etl"
mkdir "$work/folder"
bzip2 -c "$work/sample.etl" >"$work/sample.etl.bz2"

expect_exit 1 'no-such\.etl: .*No such file' "$ETW_EXPORTER" --once --replay.file="$work/no-such.etl"
for command in "$ETW_EXPORTER --once --replay.file=" "$ETWTOOL dump " "$ETWTOOL relog -o $work/out.etl " "$ETWTOOL diff $work/sample.etl " "$ETWTOOL summary " \
	"$ETWTOOL doctor " "$ETWTOOL report "; do
	expect_exit 1 "/sampel\.etl: cannot be opened: .*; did you mean '$work/sample\.etl'\?\$" $command"$work/sampel.etl"
done
expect_exit 1 'folder: .*directory' "$ETW_EXPORTER" --once --replay.file="$work/folder"
expect_exit 1 'empty\.etl: ' "$ETW_EXPORTER" --once --replay.file="$work/empty.etl"
expect_exit 1 'text\.etl: ' "$ETW_EXPORTER" --once --replay.file="$work/text.etl"
expect_exit 1 'sample\.etl\.bz2: is packed by bzip2: unpack it first' "$ETW_EXPORTER" --once --replay.file="$work/sample.etl.bz2"
expect_exit 2 '\-\-replay\.file' "$ETW_EXPORTER" --once
expect_exit 1 '\-\-replay\.file' "$ETW_EXPORTER"
expect_exit 2 'unknown flag --replay\.fiel' "$ETW_EXPORTER" --replay.fiel=x
expect_exit 2 '^etw_exporter: --replay\.threads no longer exists; one thread reads' "$ETW_EXPORTER" --once --replay.threads=1 --replay.file="$work/sample.etl"
expect_exit 2 'nosuch' "$ETW_EXPORTER" --once --replay.file="$work/sample.etl" --collector.nosuch
expect_exit 1 'no-such\.yaml' "$ETW_EXPORTER" --config.file="$work/no-such.yaml" --check-config
printf 'limits: { series: many }\n' >"$work/bad.yaml"
expect_exit 2 'bad\.yaml:1:' "$ETW_EXPORTER" --config.file="$work/bad.yaml" --check-config
for action in install uninstall run; do
	expect_exit 2 '--service is for Windows' "$ETW_EXPORTER" --service=$action
done
expect_exit 2 '^etw_exporter: --self-test no longer exists; run etw_selftest, which is in the folder of etw_exporter on Windows$' \
	"$ETW_EXPORTER" --self-test --self-test.out=x
expect_exit 1 '^etw_selftest: the self-test is for Windows' "$SELFTEST"
expect_exit 1 '^etw_selftest: the self-test is for Windows' "$SELFTEST" --child=0-0,0,/tmp
expect_exit 2 '^etw_selftest: --private needs --out=DIR$' "$SELFTEST" --private
expect_exit 2 '^etw_selftest: --service needs --out=DIR$' "$SELFTEST" --service --system-providers
expect_exit 2 '^etw_selftest: unknown flag --prviate; did you mean --private' "$SELFTEST" --prviate
expect_exit 2 '^etw_selftest: --log\.level takes debug, info, warning or error, not "loud"$' "$SELFTEST" --log.level=loud
expect_exit 2 '^etw_selftest: .*DIR' "$SELFTEST" DIR
"$SELFTEST" --help >"$work/out" || fail "etw_selftest --help"
grep -q -e '--out=DIR  ' "$work/out" || fail "etw_selftest --help: $(cat "$work/out")"
grep -q -e '--child' "$work/out" && fail "etw_selftest --help shows what only its own processes use"
"$SELFTEST" --version | grep -q '^etw_selftest [0-9]' || fail "etw_selftest --version"
expect_exit 1 '^etw_exporter: /none/web\.yml: cannot be opened: ' "$ETW_EXPORTER" --check-config --web.config.file=/none/web.yml
expect_exit 2 'unknown flag --confg\.file; did you mean --config\.file' "$ETW_EXPORTER" --confg.file=x
expect_exit 2 '^etw_exporter: --replay\.file needs a value: FILE$' "$ETW_EXPORTER" --once --replay.file=
expect_exit 2 '^etw_exporter: --replay\.file needs a value: FILE$' "$ETW_EXPORTER" --once --replay.file ''
expect_exit 2 '--log\.level takes debug, info, warning or error, not "loud"' "$ETW_EXPORTER" --log.level=loud
expect_exit 2 '^etw_exporter: --once\.format needs --once$' "$ETW_EXPORTER" --once.format=openmetrics --replay.file="$work/sample.etl"
expect_exit 2 '^etw_exporter: --once\.format takes text, openmetrics or protobuf, not "json"$' "$ETW_EXPORTER" --once --once.format=json
expect_exit 2 'cannot be combined' "$ETW_EXPORTER" --once --replay.loop --replay.file="$work/sample.etl"
expect_exit 2 'listen address' "$ETW_EXPORTER" --replay.file="$work/sample.etl" --web.listen-address=127.0.0.1:99999

for tool in summary dump; do
	expect_exit 1 'no-such\.etl: .*No such file' "$ETWTOOL" $tool "$work/no-such.etl"
	expect_exit 1 'folder: .*directory' "$ETWTOOL" $tool "$work/folder"
	expect_exit 1 'empty\.etl: ' "$ETWTOOL" $tool "$work/empty.etl"
	expect_exit 1 'text\.etl: ' "$ETWTOOL" $tool "$work/text.etl"
	expect_exit 1 'sample\.etl\.bz2: is packed by bzip2: unpack it first' "$ETWTOOL" $tool "$work/sample.etl.bz2"
	expect_exit 2 '.' "$ETWTOOL" $tool --bogus "$work/sample.etl"
	expect_exit 2 '.' "$ETWTOOL" $tool
done
expect_exit 2 'sumary.*did you mean summary' "$ETWTOOL" sumary "$work/sample.etl"
expect_exit 2 'unknown flag --per-kin; did you mean --per-kind' "$ETWTOOL" dump --per-kin=3 "$work/sample.etl"
expect_exit 2 '^etwtool dump: --threads no longer exists; one thread reads' "$ETWTOOL" dump --threads 2 "$work/sample.etl"
expect_exit 2 '\-\-per-kind needs a value: N' "$ETWTOOL" dump "$work/sample.etl" --per-kind
expect_exit 2 'one recording at a time' "$ETWTOOL" dump "$work/sample.etl" "$work/empty.etl"
expect_exit 1 '^etwtool dump: --per-kind: ' "$ETWTOOL" dump -- --per-kind
expect_exit 1 '^etwtool sessions: only Windows has event tracing$' "$ETWTOOL" sessions
expect_exit 1 '^etwtool providers: only Windows has event tracing$' "$ETWTOOL" providers --installed Kernel
expect_exit 2 'sessions: takes no arguments, not "x"' "$ETWTOOL" sessions x
expect_exit 2 'name a command' "$ETWTOOL"
for tool in $("$ETWTOOL" --help | sed -n 's/^  \([a-z]*\)  .*/\1/p'); do
	"$ETWTOOL" "$tool" --help >"$work/out" || fail "etwtool $tool --help"
	grep -Eq "^usage: etwtool $tool( \[OPTIONS\])?( [^ ]|$)" "$work/out" || fail "etwtool $tool --help: $(cat "$work/out")"
	! grep -q ' $' "$work/out" || fail "etwtool $tool --help has blanks at an end: $(grep ' $' "$work/out")"
done
[ "$("$ETWTOOL" -V)" = "$("$ETWTOOL" --version)" ] || fail "etwtool -V"
printf 'collectors: { cpu: on }\n' >"$work/good.yaml"
"$ETWTOOL" check "$work/good.yaml" >"$work/out" || fail "etwtool check FILE"
"$ETWTOOL" check config "$work/good.yaml" | cmp - "$work/out" || fail "etwtool check config FILE"
for words in '' config 'config a b' 'a b'; do
	# shellcheck disable=SC2086 # words
	expect_exit 2 'check: takes one configuration file' "$ETWTOOL" check $words
done
# One spelling of an option that the exporter has as well, and the older one.
for option in --config.file= --config= '--config.file ' '--config '; do
	# shellcheck disable=SC2086 # words
	"$ETWTOOL" backfill "$work/sample.etl" --step 1h $option"$work/good.yaml" >"$work/out" || fail "backfill $option"
	grep -q '^etw_process_cpu_samples_total{' "$work/out" || fail "backfill $option: the configuration is not used"
done
"$ETWTOOL" backfill --help | grep -q -e '--config.file FILE' || fail "backfill --help names no --config.file"
"$ETWTOOL" dump "$work/sample.etl" >/dev/full 2>"$work/err" && fail "a full disk went unnoticed by etwtool"
grep -q 'standard output' "$work/err" || fail "a full disk: $(cat "$work/err")"
# A reader that has seen enough is no trouble, though the pipe's signal does not end the program.
(trap '' PIPE; "$ETWTOOL" dump "$work/sample.etl" 2>"$work/err" || true) | head -n 1 >/dev/null
[ ! -s "$work/err" ] || fail "a reader that has gone: $(cat "$work/err")"

"$ETW_EXPORTER" --help | says -- --replay.file || fail "--help does not name --replay.file"
"$ETW_EXPORTER" --version | says '^etw_exporter ' || fail "--version"
"$ETW_EXPORTER" --check-config | says valid || fail "--check-config"
# Every command, in the group of what it is for; a newcomer's first one comes first.
"$ETWTOOL" --help >"$work/out" || fail "etwtool --help"
sed -n '3,/^  --version/s/^\([a-zA-Z].*:\|  [a-z]*\).*/\1/p' "$work/out" | tr -s '\n ' ' ' >"$work/groups"
echo 'look at recordings: report stats top summary doctor diff providers fields dump change and convert recordings: relog backfill configure the exporter: check metrics on Windows: record sessions ' |
	diff - <(cat "$work/groups"; echo) || fail "etwtool --help: $(cat "$work/out")"
"$ETWTOOL" --describe | python3 -c 'import json, sys
print(*(c["name"] for c in json.load(sys.stdin)["commands"]), sep="\n")' | sort | diff - <(sed -n 's/^  \([a-z]*\) .*/\1/p' "$work/out" | sort) || fail "etwtool --help has not all commands"
"$ETWTOOL" help report | diff - <("$ETWTOOL" report --help) || fail "help COMMAND is not COMMAND --help"
expect_exit 2 '^etwtool: unknown command "repot"; did you mean report\?$' "$ETWTOOL" help repot
expect_exit 2 '^etwtool check: .*sample\.etl is a recording; etwtool check CONFIG --with .*sample\.etl tries a configuration on it$' \
	"$ETWTOOL" check "$work/sample.etl"
# A word that describes what a command does leads to it; a recording without a command is no command.
for word in merge anonymise split filter; do
	expect_exit 2 "^etwtool: unknown command \"$word\": try etwtool relog --help\$" "$ETWTOOL" $word "$work/sample.etl"
done
expect_exit 2 '^etwtool: name a command before "sample\.etl", as in etwtool report sample\.etl$' "$ETWTOOL" sample.etl
expect_exit 2 '^etwtool: unknown command "frobnicate": try etwtool --help$' "$ETWTOOL" frobnicate
"$ETWTOOL" version | diff - <("$ETWTOOL" --version) || fail "etwtool version is not etwtool --version"
expect_exit 2 '^etwtool diff: compares two recordings, not also "c"$' "$ETWTOOL" diff a b c
# shellcheck disable=SC2046 # 65 words
expect_exit 2 '^etwtool relog: takes at most 64 recordings at a time, not also "65"$' "$ETWTOOL" relog $(seq 65) -o "$work/out.etl"
# What cannot be written is an error, whatever it is: a full disk, or no standard output at all.
for arguments in --help --version --check-config "--once --replay.file=$work/sample.etl"; do
	for output in /dev/full -; do
		status=0
		if [ "$output" = - ]; then
			"$ETW_EXPORTER" $arguments >&- 2>"$work/err" || status=$?
		else
			"$ETW_EXPORTER" $arguments >"$output" 2>"$work/err" || status=$?
		fi
		[ "$status" = 1 ] || fail "etw_exporter $arguments, output $output: exit $status"
		[ "$(wc -l <"$work/err")" = 1 ] && grep -q '^etw_exporter: standard output cannot be written: ' "$work/err" ||
			fail "etw_exporter $arguments, output $output: $(cat "$work/err")"
	done
done
"$ETW_EXPORTER" --log.level=WARNING --check-config >/dev/null || fail "--log.level=WARNING"

# A recording cut short is a warning, and read with exit status 0.
head -c 100000 "$work/sample.etl" >"$work/cut.etl"
"$ETW_EXPORTER" --once --replay.file="$work/cut.etl" >"$work/out" 2>"$work/err" || fail "cut short: $(cat "$work/err")"
grep -q 'level=warning.*cut short' "$work/err" || fail "cut short, and no warning: $(cat "$work/err")"
grep -q '^etw_events_total' "$work/out" || fail "cut short, and no metrics"

# Collectors are switched by the same options in every command that runs some.
printf 'collectors: { cpu: off }\n' >"$work/file.yaml"
shows() { # COMMAND...
	"$@" >"$work/out" 2>"$work/err" || fail "$*: $(cat "$work/err")"
}
shows "$ETWTOOL" backfill "$work/sample.etl" --step 1h --collector.cpu --no-collector.file
grep -q '^etw_process_cpu_samples_total' "$work/out" || fail "backfill --collector.cpu"
grep -q '^etw_file_written_bytes_total' "$work/out" && fail "backfill --no-collector.file"
shows "$ETWTOOL" report "$work/sample.etl" -o - --no-collector.dns
cp "$work/out" "$work/without"
shows "$ETWTOOL" report "$work/sample.etl" -o - --collector.dns
[ "$(wc -c <"$work/without")" -lt "$(wc -c <"$work/out")" ] || fail "report --no-collector.dns"
shows "$ETWTOOL" top "$work/sample.etl" --speed 0 --batch --no-collector.file --exact
awk '$1 == "PROCESS" { for (i = 1; i <= NF; i++) if ($i == "WRITTEN") at = i } at && $1 == "sqlservr" && $at != 0 && $at != "-" { exit 1 }' "$work/out" ||
	fail "top --no-collector.file: $(cat "$work/out")"
shows "$ETWTOOL" check "$work/file.yaml" --collector.cpu --no-collector.file
grep -q '^collectors on: cpu, disk, ' "$work/out" || fail "check --collector.cpu: $(cat "$work/out")"
shows "$ETWTOOL" check "$work/file.yaml" --with "$work/sample.etl" --collector.cpu
grep -q '^etw_process_cpu_samples_total' "$work/out" || fail "check --with --collector.cpu"
# shellcheck disable=SC2086 # several words
for command in "backfill $work/sample.etl" "report $work/sample.etl" "top $work/sample.etl --batch" "check $work/file.yaml" "diff $work/sample.etl $work/sample.etl" \
	"doctor $work/sample.etl"; do
	expect_exit 2 'nosuch' "$ETWTOOL" $command --collector.nosuch
done
# One file given in the place of another is called what it is.
expect_exit 2 'sample\.etl is a recording; --config\.file takes a configuration \(\.yaml\)$' "$ETW_EXPORTER" --check-config --config.file="$work/sample.etl"
expect_exit 2 'sample\.etl is a recording; --config\.file takes a configuration \(\.yaml\)$' "$ETWTOOL" report --config.file "$work/sample.etl" \
	"$work/sample.etl" -o "$work/out.html"
printf 'collector: mine\nhelp: M.\ndefault: on\nmetrics: []\n' >"$work/mine.yaml"
printf 'collector_files: [mine.yaml]\n' >"$work/my.yaml"
expect_exit 2 'mine\.yaml:1:1: this is a collector; a configuration names it under collector_files$' "$ETW_EXPORTER" --check-config --config.file "$work/mine.yaml"
# These two take a collector alone as well.
for command in "$ETWTOOL check" "$ETWTOOL doctor"; do
	$command "$work/mine.yaml" >"$work/out" 2>&1 || fail "$command mine.yaml: $(cat "$work/out")"
done
"$ETWTOOL" check "$work/mine.yaml" | grep -q '^collectors on: .*mine' || fail "check of a collector alone does not switch it on"
for command in "$ETWTOOL check" "$ETWTOOL doctor" "$ETW_EXPORTER --check-config --config.file"; do
	$command "$work/my.yaml" >"$work/out" 2>&1 || fail "$command my.yaml: $(cat "$work/out")"
done
printf 'collector_files: [my.yaml]\n' >"$work/wrong.yaml"
expect_exit 2 'my\.yaml:1:1: this is a configuration, not a collector$' "$ETWTOOL" check "$work/wrong.yaml"
"$ETW_EXPORTER" --help | grep -A2 -e --web.enable-lifecycle | tr '\n' ' ' | grep -q 'POST /-/record' || fail "--help does not name /-/record"
