#!/usr/bin/env bash
# tests/run_tests.cmd under Wine: what it says of tests that pass and fail, and its exit status.
. "${BASH_SOURCE%/*}/lib.bash"

end_signal=KILL
windows_path() { printf 'Z:%s' "${1//\//\\}"; }
run_tests() { # argument...
	"${WINE64:-/usr/lib/wine/wine64}" cmd /c "$(windows_path "$SOURCE_DIR/tests/run_tests.cmd")" "$@" \
		</dev/null >"$work/out" 2>&1
}
says_line() { tr -d '\r' <"$work/out" | grep -Fxq -- "$1" || fail "no line \"$1\": $(cat "$work/out")"; }

grep -q $'[^\r]$' "$SOURCE_DIR/tests/run_tests.cmd" && fail "run_tests.cmd has lines that do not end in CR LF"
mkdir -p "$work/build/tests"
cp "$BUILD_DIR/tests/source_dir.txt" "$BUILD_DIR"/tests/tests_{source,config}.exe "$work/build/tests" # config reads the repository
build=$(windows_path "$work/build")

run_tests "$build" || fail "tests that pass: $(cat "$work/out")"
says_line 'ok: tests_source'
says_line 'ok: tests_config'
says_line '2 passed, 0 failed, 0 skipped'

cp "$ETWTOOL" "$work/build/tests/test_bad.exe" # without arguments it fails
run_tests "$build" && fail "a test that fails: $(cat "$work/out")"
says_line 'FAILED: test_bad, exit status 2'
says_line 'etwtool: name a command; etwtool --help lists them'
says_line '2 passed, 1 failed, 0 skipped'
: >"$work/build/tests/test_empty.exe" # is no program
run_tests "$build" && fail "what is no program: $(cat "$work/out")"
grep -q '^FAILED: test_empty, ' "$work/out" || fail "what is no program: $(cat "$work/out")"
says_line '2 passed, 2 failed, 0 skipped'

run_tests "$build" 'tests_sou*' || fail "a pattern: $(cat "$work/out")"
says_line '1 passed, 0 failed, 0 skipped'
run_tests "$build" 'test_nothing*' && fail "no test: $(cat "$work/out")"
says_line '0 passed, 0 failed, 0 skipped'
run_tests && fail "no argument: $(cat "$work/out")"
says_line 'usage: run_tests.cmd BUILD [PATTERN]'
echo "ok: run_tests.cmd"
