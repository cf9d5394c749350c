#!/usr/bin/env bash
# The Windows programs under Wine: the same page as the Linux build (preset release) for every recording, the same text and files of all
# commands for some of them (LONG_TESTS=1: for all), names and arguments outside ASCII, HTTP, an orderly stop, and no DLL beside those of
# Windows.
. "${BASH_SOURCE%/*}/lib.bash"

runner=("${WINE64:-/usr/lib/wine/wine64}")
end_signal=KILL # SIGTERM ends only the main thread under Wine
linux=$SOURCE_DIR/build/release
MAKE_SAMPLE=$linux/make_sample # for recordings()

# Its output goes to a file: Wine's background processes would keep a pipe open.
windows() { "${runner[@]}" "$@" </dev/null; }
exporter() { windows "$ETW_EXPORTER" "$@"; }
tool() { windows "$ETWTOOL" "$@"; }
selftest() { windows "$SELFTEST" "$@"; }

for program in "$ETW_EXPORTER" "$ETWTOOL" "$SELFTEST"; do
	x86_64-w64-mingw32-objdump -p "$program" | sed -n 's/.*DLL Name: //p' |
		grep -viE '^(advapi32|kernel32|msvcrt|ntdll|shell32|tdh|user32|ws2_32)\.dll$' >"$work/dlls" || true
	[ ! -s "$work/dlls" ] || fail "$program needs $(paste -sd ' ' "$work/dlls")"
done

# ---- arguments, exit status, lines ----
exporter --version >"$work/version" || fail "--version"
grep -q '^etw_exporter .*AMD64' "$work/version" || fail "--version: $(cat "$work/version")"
exporter --help >"$work/help" || fail "--help"
"$linux/etw_exporter" --help | cmp - "$work/help" || fail "--help differs from the one on Linux"
expect_exit 2 'unknown flag --replay\.fiel' exporter --replay.fiel=x
expect_exit 2 '\-\-größe' exporter --größe
expect_exit 1 'no-such\.etl: cannot be opened: ' exporter --once --replay.file="$work/no-such.etl"
expect_exit 1 'is a directory' exporter --once --replay.file="$work"
expect_exit 1 'no-such\.etl: cannot be opened: ' tool summary "$work/no-such.etl"
expect_exit 1 '^etwtool sessions: Wine has no event tracing' tool sessions
expect_exit 1 '^etwtool top: name a recording .*: Wine has no event tracing' tool top --batch
expect_exit 1 '^etwtool providers: Wine has no event tracing' tool providers --installed Kernel
# Wine starts a session and has nothing to consume it with.
expect_exit 1 '^etw_selftest: Wine has no event tracing' selftest --out="$work/kit"
[ ! -e "$work/kit" ] || fail "etw_selftest --out left a folder"
expect_exit 1 'etw_exporter_self_test: access is denied .*: run as administrator$' selftest --log.level=error
grep -q $'\r' "$work/version" "$work/help" "$work/err" && fail "lines end in CR LF"
exporter --config.file="$SOURCE_DIR/config/etw_exporter.yaml" --check-config >"$work/out" || fail "--check-config"

# ---- in a console: UTF-8 ----
# Wine makes a console of a terminal. What moves the cursor is removed, and with it blanks.
in_terminal() {
	# shellcheck disable=SC2016
	script -qc "$(printf '%q ' "${runner[@]}" "$@")" /dev/null </dev/null | sed 's/\x1b\[[?0-9;]*[a-zA-Z]//g' || true
}
if command -v script >/dev/null; then
	in_terminal "$BUILD_DIR/tests/tests_base.exe" test_os_win32 >"$work/terminal"
	grep -q 'OK.*a_console_shows_utf_8_and_is_left_as_it_was' "$work/terminal" || fail "a console: $(tail -5 "$work/terminal")"
	in_terminal "$BUILD_DIR/tests/tests_etwtool.exe" test_terminal_win32 >"$work/terminal"
	grep -qE 'PASSED *\] *1 *test' "$work/terminal" || fail "keys: $(tail -5 "$work/terminal")"
	in_terminal "$ETW_EXPORTER" --once --replay.file='größe.etl' >"$work/terminal"
	grep -q 'größe\.etl' "$work/terminal" || fail "not UTF-8 in a console: $(cat "$work/terminal")"
fi

# ---- replay: the same text ----
same() { # what, as on Linux, as on Windows
	cmp "$2" "$3" >"$work/cmp" 2>&1 ||
		fail "$1 differs: $(cat "$work/cmp"), $(wc -c <"$2") and $(wc -c <"$3") bytes: $(diff "$2" "$3" | head -5)"
}
# Without what is of the machine and the moment.
metrics() {
	grep -vE '^(process_|etw_consumer_busy_seconds_total|etw_exporter_build_info|etw_exporter_config_)' "$1" >"$1.metrics"
}
revision() { sed -n 's/.*(revision \([^,]*\),.*/\1/p'; }

[ -x "$linux/etw_exporter" ] && [ -x "$linux/make_sample" ] || skip "no Linux build to compare with: preset release"
[ "$("$linux/etw_exporter" --version | revision)" = "$(revision <"$work/version")" ] ||
	skip "the Linux build is of another revision: cmake --workflow --preset release first"
# Copies: a build under way beside the test takes nothing away from it.
mkdir "$work/größe" "$work/collectors" "$work/built"
cp "$linux"/{etw_exporter,etwtool,make_sample} "$work/built"
linux=$work/built
MAKE_SAMPLE=$linux/make_sample

# Runs a program, its output into a file; a failure prints all of it.
good() { # what, output, command...
	local what=$1 out=$2 status=0
	shift 2
	"$@" >"$out" 2>"$work/err" || status=$?
	[ "$status" = 0 ] ||
		fail "$what: exit $status after $(wc -c <"$out") bytes, standard error: \"$(head -c 400 "$work/err")\""
}

# All commands on the sample and the largest recording; with LONG_TESTS=1 on all.
some=$work/sample.etl$'\n'$traces/net.4.5.2.x64.etl
! is_long || some=$(recordings)
for file in $(recordings); do
	name=$(basename "$file")
	good "$name" "$work/linux" "$linux/etw_exporter" --once --replay.file="$file" "${all_collectors[@]}"
	good "$name under Wine" "$work/windows" exporter --once --replay.file="$file" "${all_collectors[@]}"
	metrics "$work/linux"
	metrics "$work/windows"
	[ "$(wc -l <"$work/linux.metrics")" -gt 100 ] || fail "$name: nothing to compare"
	same "$name: exposition" "$work/linux.metrics" "$work/windows.metrics"
	grep -Fxq "$file" <<<"$some" || continue
	for command in "summary" "dump --per-kind 3" "dump --per-kind 1 --format csv" "dump --per-kind 1 --format text" providers stats \
		"top --batch --speed 0" doctor "doctor --format json" "diff $work/sample.etl"; do
		# shellcheck disable=SC2086
		good "$name: $command" "$work/linux" "$linux/etwtool" $command "$file"
		# shellcheck disable=SC2086
		good "$name: $command under Wine" "$work/windows" tool $command "$file"
		same "$name: $command" "$work/linux" "$work/windows"
	done
	# Commands that write a file: the same bytes.
	for command in "relog --compress" report; do
		rm -f "$work/linux" "$work/windows"
		# shellcheck disable=SC2086
		good "$name: $command" "$work/out" "$linux/etwtool" $command "$file" -o "$work/linux"
		# shellcheck disable=SC2086
		good "$name: $command under Wine" "$work/out" tool $command "$file" -o "$work/windows"
		same "$name: $command" "$work/linux" "$work/windows"
	done
	echo "ok: $name"
done

# A path that the ANSI code page cannot say, collectors found by a pattern there, separators of both kinds.
strange="$work/größe/測定 📈.etl"
cp "$work/sample.etl" "$strange"
cp "$SOURCE_DIR"/config/collectors/process.yaml "$work/größe/process.yaml"
printf 'collector_files: [ "größe/*.yaml" ]\n' >"$work/strange.yaml"
for file in "$strange" "Z:${strange//\//\\}"; do
	exporter --once --config.file="$work/strange.yaml" --replay.file="$file" >"$work/windows" 2>"$work/err" ||
		fail "$file: $(cat "$work/err")"
	grep -q '{session="測定 📈.etl"' "$work/windows" || fail "the session's name: $(grep '^etw_session_up' "$work/windows")"
done
exporter --once --replay.file="$strange" >/dev/full 2>"$work/err" && fail "a full disk went unnoticed"

# A reader who has seen enough is no fault.
"${runner[@]}" "$ETWTOOL" dump "$work/sample.etl" </dev/null 2>"$work/err" | head -1 >"$work/out" || true
[ -s "$work/out" ] || fail "nothing in a pipe: $(cat "$work/err")"
[ ! -s "$work/err" ] || fail "a pipe that is closed: $(cat "$work/err")"

# ---- packed recordings, pipes ----
# What reads them is the same code for all, and e2e_packed tries it with each recording: here the sample and the largest one.
for recording in "$work/sample.etl" "$traces/net.4.5.2.x64.etl"; do
	[ -e "$recording" ] || continue
	name=$(basename "$recording")
	"$linux/etwtool" summary "$recording" | sed 2d >"$work/as_linux"
	gzip -c "$recording" >"$work/packed.gz"
	xz -0 -c "$recording" >"$work/packed.xz"
	zstd -qf "$recording" -o "$work/packed.zst"
	python3 - "$work/packed.zip" "$recording" <<-'PYTHON'
		import os, sys, zipfile
		with zipfile.ZipFile(sys.argv[1], "w", zipfile.ZIP_DEFLATED) as archive:
		    archive.writestr("größe.pdb", b"beside it")
		    archive.write(sys.argv[2], os.path.basename(sys.argv[2]))
	PYTHON
	for kind in gz xz zst zip; do
		good "$name.$kind" "$work/out" tool summary "$work/packed.$kind"
		sed 2d "$work/out" >"$work/as_windows"
		same "$name.$kind" "$work/as_linux" "$work/as_windows"
	done
done
"$linux/etwtool" summary "$work/sample.etl" | sed 2d >"$work/as_linux"
gzip -c "$work/sample.etl" >"$work/packed.gz"
for packed in "$work/sample.etl" "$work/packed.gz"; do
	# shellcheck disable=SC2002
	cat "$packed" | "${runner[@]}" "$ETWTOOL" summary - >"$work/out" 2>"$work/err" || fail "a pipe: $(cat "$work/err")"
	sed 2d "$work/out" | cmp -s "$work/as_linux" - || fail "a pipe: other results"
done
# What reads a recording more than once reads a packed one from its temporary file.
"$linux/etwtool" dump "$work/sample.etl" --per-kind 2 --format csv >"$work/as_linux"
cp "$work/packed.gz" "$work/sample.etl.gz"
python3 -c 'import sys, zipfile; zipfile.ZipFile(sys.argv[2], "w", zipfile.ZIP_DEFLATED).write(sys.argv[1], "a/sample.etl")' \
	"$work/sample.etl" "$work/sample.zip"
for packed in sample.etl.gz sample.zip sample.zip:sample.etl; do
	good "$packed" "$work/as_windows" tool dump "$work/$packed" --per-kind 2 --format csv
	same "$packed" "$work/as_linux" "$work/as_windows"
done
head -c 1000 "$work/packed.gz" >"$work/cut.gz"
expect_exit 1 'cut\.gz: is packed by gzip and cut short' tool summary "$work/cut.gz"
echo "ok: packed recordings"

# ---- serving ----
start_exporter --replay.file="$work/sample.etl" --replay.loop --replay.speed=5
until_true 30 curl -fsS "$url/-/ready" || fail "never ready"
curl -fsS "$url/metrics" >"$work/page" || fail "no page"
grep -q '^etw_session_up{session="sample.etl"} 1$' "$work/page" || fail "the session is not up"
for metric in process_cpu_seconds_total process_resident_memory_bytes process_start_time_seconds; do
	grep -q "^$metric [0-9.]*$" "$work/page" || fail "no $metric"
done
if command -v promtool >/dev/null; then
	promtool check metrics <"$work/page" >"$work/promtool" 2>&1 || fail "$(head -5 "$work/promtool")"
fi
top_of_exporter() { tool top "$url" --batch --count 1 --show total >"$work/out" 2>"$work/err"; } # gives an answer ten seconds
until_true 30 top_of_exporter || fail "top of an exporter: $(cat "$work/err")"
grep -q ' sqlservr$' "$work/out" || fail "top of an exporter: $(head -5 "$work/out")"
expect_exit 1 "cannot listen on 127.0.0.1:${url##*:}: " exporter --replay.file="$work/sample.etl" \
	--web.listen-address="127.0.0.1:${url##*:}"
grep -q 'another program listens there' "$work/err" || fail "no advice for a port in use: $(cat "$work/err")"
grep -qE ': (Success|No error)' "$work/err" && fail "a port in use: $(cat "$work/err")"
kill -INT "$exporter_pid"
wait "$exporter_pid" || fail "exit $? after SIGINT: $(tail -3 "$work/log")"
grep -q 'Stopping.*reason=Ctrl-C' "$work/log" || fail "no word at the end: $(tail -3 "$work/log")"
grep -q $'\r' "$work/log" && fail "log lines end in CR LF"
echo "ok: served and stopped"
