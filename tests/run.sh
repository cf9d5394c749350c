#!/usr/bin/env bash
# Tests this clone: installs what is missing, builds, runs tests, prints a sum. "bash tests/run.sh --help" lists the steps.
# A failure does not stop the rest. A line a minute says how far it is. The last line is the sum and what was not run; the exit status is
# 0 when nothing failed and something ran.
set -uo pipefail

usage() {
	cat <<'TEXT'
usage: bash tests/run.sh [--all | --long | STEP...]

Without arguments it is the short run: every C test, every rule about the tree, and the scripts that show the main paths of the programs,
in an optimised build. Two idle processors take 3 to 5 minutes from nothing, with 165 MB to download, and 1.5 to 3 when all is built.

  --all    all steps but the last three: what continuous integration runs. 15 to 20 minutes; the first time up to 35.
  --long   all steps. Fuzzing takes 10 minutes a target, 10,000 recordings are damaged, tests leave nothing out, and two exporters are
           kept busy for SOAK_SECONDS (8 hours).

  step         what it does, and what it needs besides the packages of the short run (download)
  release      every test on the optimised build (clang, analysers, Prometheus, Chromium, Node.js, debootstrap, npm packages: 500 MB)
  asan         those tests in which AddressSanitizer and UndefinedBehaviorSanitizer see more
  tsan         tests of threads under ThreadSanitizer
  hostile      a hostile provider on the build of asan, for 15 seconds
  damaged      every command on 20 damaged recordings, on the build of asan
  windows      the Windows build under Wine (MinGW, Wine, sources of eleven libraries: 250 MB; its first build takes 5 minutes)
  fuzz         every fuzz target for 15 seconds (clang)
  recordings   the recordings of ../shared/traces against the results of another decoder, where they are at hand
  coverage     which lines and branches all tests reach together
  dashboards   pictures of the dashboards in build/preview (1 GB of npm packages)
  packages     the packages, built twice

Packages come through apt and npm. A script that cannot install something counts as one failure; the tests that need it are skipped.
TEXT
}

fuzz_seconds=15 mutants=20 long=0 steps=()
all=(release asan tsan hostile damaged windows fuzz recordings)
long_steps=(coverage dashboards packages)
left=() # what this run does not do
case "${1:-}" in
--help) usage; exit 0 ;;
'') steps=(quick) left=(sanitizers Wine fuzzing) ;;
--all) steps=("${all[@]}") ;;
--long) steps=("${all[@]}" "${long_steps[@]}") fuzz_seconds=600 mutants=10000 long=1; export ATTACK_SECONDS=60 LONG_TESTS=1 ;;
*)
	for name; do
		[[ " ${all[*]} ${long_steps[*]} " == *" $name "* ]] || { echo "tests/run.sh: there is no step '$name'; try --help" >&2; exit 2; }
		steps+=("$name")
	done
	left=("other steps")
	;;
esac
case "${1:-}" in
--*) [ $# -eq 1 ] || { echo "tests/run.sh: '$2' after $1; try --help" >&2; exit 2; } ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
exec </dev/null

# What set-up installs comes first: another Python does not see the packages, and may take several times as long to start.
PATH=/usr/bin:$PATH

passed=0 failed=0 skipped=0
failures=()
alone=() # tests that failed beside others and passed alone

# Compilers and Wine leave files behind when they are ended early.
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

minutes() { echo "$((SECONDS / 60)) min $((SECONDS % 60)) s"; }
heading() { printf '\n== %s\n' "$*"; }
pass() { passed=$((passed + 1)); }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }
fail() { failed=$((failed + 1)); failures+=("$*"); echo "FAILED: $*"; }

count_of() { # attribute, JUnit file: its number of tests of that kind
	sed -n "/<testsuite/,/>/s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

# Prints the tests that failed and the end of what the first of them printed. With --alone it prints a pattern for ctest instead, if
# these tests may be tried again: there are three at most, which took less than ten minutes, and none printed that something crashed or
# that a sanitizer found something.
failed_tests() { # [--alone], preset, JUnit file
	python3 - "$@" <<-'PYTHON'
		import re
		import sys
		import xml.etree.ElementTree as ElementTree

		preset, junit = sys.argv[-2:]
		cases = [case for case in ElementTree.parse(junit).iter("testcase") if case.get("status") == "fail"]
		printed = [case.findtext("system-out") or "" for case in cases]
		if "--alone" in sys.argv:
		    seconds = sum(float(case.get("time")) for case in cases)
		    crash = re.search("Sanitizer|runtime error:|Segmentation fault|Aborted|with exception", "".join(printed))
		    if len(cases) <= 3 and seconds < 600 and not crash:
		        print("^(" + "|".join(case.get("name") for case in cases) + ")$")
		    sys.exit()
		print(f"{preset}: {' '.join(case.get('name') for case in cases)}")
		for case, text in list(zip(cases, printed))[:5]:
		    lines = [line for line in text.splitlines() if line.strip()]
		    print(f"  {case.get('name')}:", *(line[:300] for line in lines[-12:]), sep="\n    ")
	PYTHON
}

# Passes on what programs print, but for ninja's lines of progress. Says how far they are each minute, also while they print nothing.
show_progress() { # name
	local line='' part at=started status said=$SECONDS
	local built='^\[([0-9]+/[0-9]+)\] ' tested='^ *([0-9]+/[0-9]+) Test +#'

	while true; do
		IFS= read -r -t 10 part
		status=$?
		line+=$part # after a time-out the beginning of a line
		if [ "$status" -eq 0 ]; then
			if [[ $line =~ $built ]]; then
				at="${BASH_REMATCH[1]} built"
			else
				printf '%s\n' "$line"
			fi
			[[ $line =~ $tested ]] && at="${BASH_REMATCH[1]} tests"
			line=
		elif [ "$status" -le 128 ]; then
			printf '%s' "$line"
			return 0
		fi
		if ((SECONDS - said >= 60)); then
			said=$SECONDS
			echo "$1: $at, $(minutes) so far"
		fi
	done
}

# Runs each set-up script that has not run yet. The tests that need what a failed one did not install skip themselves.
declare -A prepared
set_up() { # NAME of .ci/deps-NAME.sh...
	local name

	for name; do
		[ -z "${prepared[$name]:-}" ] || continue
		prepared[$name]=1
		bash ".ci/deps-$name.sh" 2>&1 | show_progress "set-up ($name)" || fail "set-up: .ci/deps-$name.sh; tests that need what it installs are skipped"
	done
}

# Configures and builds a preset, or these targets of it, once.
declare -A built
build() { # preset, target...
	local preset=$1

	shift
	[ -z "${built[$preset]:-}" ] || return 0
	cmake --preset "$preset" 2>&1 | show_progress "$preset" &&
		cmake --build --preset "$preset" ${1:+--target "$@"} 2>&1 | show_progress "$preset" || return 1
	[ $# -gt 0 ] || built[$preset]=1
}

# Builds and tests a preset; the numbers come from the JUnit file that the test preset asks for. No test may fail because the machine is
# busy. One that does all the same is tried again alone: if it passes, the run is not lost, and its last lines say what has to be mended.
test_preset() { # preset, option of ctest...
	local preset=$1 junit=build/$1/tests.xml status=0 total bad without pattern

	rm -f "$junit"
	build "$preset" && ctest --preset "$@" 2>&1 | show_progress "$preset" || status=$?
	if [ ! -s "$junit" ]; then
		fail "$preset: no test ran (status $status)"
		return
	fi
	total=$(count_of tests "$junit") bad=$(count_of failures "$junit")
	without=$(($(count_of skipped "$junit") + $(count_of disabled "$junit")))
	passed=$((passed + total - bad - without)) skipped=$((skipped + without))
	# Reasons of skipped tests, and rates, on which nothing fails.
	sed -nE 's/^[0-9]+\/[0-9]+ Test: (.*)/\1/;T said;h;d;:said;/^SKIP: /{G;s/^SKIP: (.*)\n(.*)/\2 skipped: \1/p};s/^(live load|attack): /  /p' \
		"build/$preset/Testing/Temporary/LastTest.log"
	if [ "$bad" -gt 0 ]; then
		pattern=$(failed_tests --alone "$preset" "$junit")
		if [ -n "$pattern" ] && ctest --preset "$preset" --tests-regex "$pattern" --parallel 1 --output-junit "$PWD/build/$preset/alone.xml"; then
			passed=$((passed + bad))
			alone+=("$(failed_tests "$preset" "$junit")")
			return
		fi
		failed=$((failed + bad))
		failures+=("$(failed_tests "$preset" "$junit")")
	elif [ "$status" -ne 0 ]; then
		fail "$preset: ctest ended with status $status"
	fi
}

# Counts edges, from libFuzzer's -print_coverage of one or more targets, by folder. What several targets reach counts once:
# of each function the most that one of them reached.
edges() { # [folder]: this one alone, by file
	awk -v only="${1:-}" -v root="$PWD/" '/COVERED_FUNC:/ {
		for (i = 1; i < NF; i++) {
			if ($i == "edges:") { split($(i + 1), n, "/"); name = $(i + 2); file = $(i + 3) }
		}
		if (!match(file, /\/(base|config|etwtool|exporter|lib|metrics|selftest)\//)) next
		folder = substr(file, RSTART + 1)
		sub(/\/[^\/]*$/, "", folder)
		sub(/^(exporter|lib)\//, "", folder)
		sub(/\/.*/, "", folder)
		if (only != "" && folder != only) next
		sub(/:[0-9]+$/, "", file)
		sub(/.*\//, "", file)
		key = (only != "" ? file : folder) " " file ":" name
		if (/UNCOVERED_FUNC:/) n[1] = 0
		if (n[2] > all[key]) all[key] = n[2]
		if (n[1] > hit[key]) hit[key] = n[1]
	}
	function line(name, reached, edges) {
		return sprintf("  %-20s %6d of %6d edges, %5.1f %%", name, reached, edges, edges ? 100 * reached / edges : 0)
	}
	END {
		for (key in all) {
			split(key, part, " ")
			reached[part[1]] += hit[key]; edges[part[1]] += all[key]
			sum += hit[key]; total += all[key]
		}
		for (name in edges) print line(name, reached[name], edges[name]) | "sort"
		close("sort")
		if (only != "") print line(only " in all", sum, total)
	}'
}

# Of a target that has run: counts the edges that all its inputs reach.
count_edges() { # target
	local folder folders=()

	for folder in "build/fuzz/corpus/$1" "tests/fuzz/corpus/$1" "build/fuzz/seeds/$1"; do
		[ ! -d "$folder" ] || folders+=("$folder")
	done
	"build/fuzz-coverage/$1" -runs=0 -print_coverage=1 "${folders[@]}" >"build/fuzz/$1.coverage" 2>&1
	edges <"build/fuzz/$1.coverage"
}

# Prints all that it has to say at once, because another target runs beside it; leaves build/fuzz/TARGET.passed if nothing was found.
fuzz_one() { # target
	local said

	said=$(
		bash tests/fuzz/run.sh --seconds "$fuzz_seconds" "$1" || exit 1
		[ "$long" -eq 0 ] || count_edges "$1"
	) && touch "build/fuzz/$1.passed"
	heading "$1, $fuzz_seconds s; $(minutes) so far"
	printf '%s\n' "$said"
}

# ---- the steps ----

step_quick() {
	set_up debian tests
	test_preset release --label-exclude '^slow$'
	left+=("$(ctest --preset release --show-only --label-regex '^slow$' | sed -n 's/^Total Tests: //p') slow tests")
}

step_release() {
	set_up debian tests more-tests prometheus dashboards workflows packages
	test_preset release
}

step_asan() {
	set_up debian tests more-tests
	test_preset asan
}

step_tsan() {
	set_up debian tests more-tests
	test_preset tsan
}

# What ctest tries for some seconds, for longer.
step_hostile() {
	set_up debian
	if build asan tests_live && HOSTILE_SECONDS=$fuzz_seconds build/asan/tests/tests_live test_live_hostile; then
		pass
	else
		fail "test_live_hostile: its seed is above"
	fi
}

# What fuzz_pipeline tries inside one process, for the programs as they are.
step_damaged() {
	set_up debian
	if build asan etw_exporter etwtool make_hostile make_sample && python3 tests/fuzz/mutate.py build/asan --count "$mutants"; then
		pass
	else
		fail "tests/fuzz/mutate.py: the recordings are in build/fuzz/findings"
	fi
}

# Its output is compared with that of release.
step_windows() {
	if [ "$(uname -m)" != x86_64 ]; then
		skip "the Windows build: its programs run on x86_64 only"
		return
	fi
	set_up debian tests prometheus packages mingw
	if build release etw_exporter etwtool make_sample make_hostile; then
		test_preset windows-mingw
	else
		fail "windows: the release build, with which it is compared"
	fi
}

step_fuzz() {
	local target

	set_up debian more-tests
	rm -f build/fuzz/*.{coverage,passed} # of targets that there may not be any more
	# The build that counts edges takes minutes, and is for --long only.
	if ! build release fuzz_seeds || ! build fuzz || ! { [ "$long" -eq 0 ] || build fuzz-coverage; }; then
		fail "fuzz: does not build"
		return
	fi
	if [ "$long" -eq 1 ]; then
		bash tests/fuzz/oss-fuzz/check.sh 2>&1 | show_progress oss-fuzz && pass || fail "tests/fuzz/oss-fuzz/check.sh"
	fi
	for target in tests/fuzz/fuzz_*.c; do # two at once: a target uses one processor
		[ "$(jobs -rp | wc -l)" -lt 2 ] || wait -n
		fuzz_one "$(basename "$target" .c)" &
	done
	wait
	for target in tests/fuzz/fuzz_*.c; do
		target=$(basename "$target" .c)
		if [ -e "build/fuzz/$target.passed" ]; then
			pass
		else
			fail "$target: see build/fuzz/$target.log; the input is in build/fuzz/findings"
		fi
	done
	if [ "$long" -eq 1 ]; then
		heading "edges that the fuzz targets reach together"
		cat build/fuzz/fuzz_*.coverage | edges
		heading "edges of lib/decode that the fuzz targets reach together"
		cat build/fuzz/fuzz_*.coverage | edges decode
	fi
}

# Prints the first of the files that comparing the recordings needs and that is absent.
absent_reference() {
	local recording file

	for recording in ../shared/traces/*.etl; do # the pattern itself when there is none
		for file in ../shared/traces/check.py "$recording" "${recording%.etl}".{summary.json,metrics.json,events.jsonl}; do
			[ -e "$file" ] || { echo "$file"; return; }
		done
	done
}

step_recordings() {
	local absent

	absent=$(absent_reference)
	if [ -n "$absent" ]; then
		skip "$absent is absent: recordings were not compared with their expected results"
		return
	fi
	set_up debian
	build release etw_exporter etwtool || { fail "build"; return; }
	# Exit status 1: lines fall short; the last line counts them. Those of the file are known, with the reason.
	CHECK_TIMEOUT=1800 python3 ../shared/traces/check.py build/release ../shared/traces >"$TMPDIR/recordings" || true
	cat "$TMPDIR/recordings"
	if tail -n 1 "$TMPDIR/recordings" | grep -q 'checks hold' && ! sed '$d' "$TMPDIR/recordings" | grep -vxFf tests/recordings_known.txt; then
		pass
	else
		fail "recordings disagree with their expected results"
	fi
}

# What all tests together reach, dashboards and the like left out, which are no code of ours.
step_coverage() {
	set_up debian tests more-tests prometheus
	if bash tests/coverage.sh -E '^(e2e_(dashboards|mixin|package|workflows))$'; then
		pass
	else
		fail "tests/coverage.sh"
	fi
}

# Pictures in build/preview, to be looked at.
step_dashboards() {
	if bash dashboards/preview.sh --once; then
		pass
	else
		fail "dashboards/preview.sh"
	fi
}

# Both systems from nothing, here and from a clone in another folder: the same bytes.
step_packages() {
	if [ -n "$(git status --porcelain 2>&1)" ]; then
		skip "no repository, or changes that are not committed: packages were not built twice"
	elif git clone -q . "$TMPDIR/elsewhere" && bash .ci/package.sh "$TMPDIR/packages" &&
		bash "$TMPDIR/elsewhere/.ci/package.sh" "$TMPDIR/other_packages" && diff -r "$TMPDIR/packages" "$TMPDIR/other_packages"; then
		pass
	else
		fail ".ci/package.sh: it failed, or made other bytes in another folder"
	fi
}

if [ "${steps[*]}" = quick ]; then
	echo "The short run, 5 minutes on two idle processors. --all runs everything; --help lists the steps."
else
	echo "${#steps[@]} steps: ${steps[*]}. --help says what they take."
fi
for ((step = 0; step < ${#steps[@]}; step++)); do
	heading "step $((step + 1)) of ${#steps[@]}: ${steps[step]}; $(minutes) so far, $passed passed, $failed failed, $skipped skipped"
	"step_${steps[step]}"
done

if [ ${#alone[@]} -gt 0 ]; then
	heading "failed beside other tests and passed alone: these tests depend on the time they get and have to be mended"
	printf '%s\n' "${alone[@]}"
fi
if [ ${#failures[@]} -gt 0 ]; then
	heading "failed"
	printf '%s\n' "${failures[@]}"
fi
sum="$passed passed, $failed failed, $skipped skipped"
printf '\n%s\n%s\n' "$(minutes)" "$sum"
if [ ${#left[@]} -gt 0 ]; then
	printf -v rest ', %s' "${left[@]}"
	echo "$sum; not run: ${rest#, } (bash tests/run.sh --all)"
fi
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
