#!/usr/bin/env bash
# Installs what is missing, then runs every test: all of them in release, those in which a sanitizer sees more in asan (--long: more
# of them), those labelled "threads" in tsan, the Windows build's under Wine, a hostile provider and every fuzz target for 15 s
# (--long: 10 minutes), every command on 20 damaged recordings (10,000), some commands on a few recordings (all), each attack on
# the web server for 3 s (a minute), and the recordings in ../shared/traces against their expected results. --long also reads
# recordings of 100 GB and of a million processes, prints which lines and branches all tests together reach, and which edges the
# fuzz targets do, draws the dashboards, builds the packages twice, and keeps two exporters busy for SOAK_SECONDS (8 hours).
# A failure does not stop the rest. A line a minute says how far it is. The last line is the sum; the exit status is 0 when
# nothing failed and something ran.
set -uo pipefail

fuzz_seconds=15 mutants=20 long=0
case "$*" in
"") ;;
--long) fuzz_seconds=600 mutants=10000 long=1; export ATTACK_SECONDS=60 LONG_TESTS=1 ;;
*) echo "usage: bash tests/run.sh [--long]" >&2; exit 2 ;;
esac
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
exec </dev/null

# What set-up installs comes first: another Python does not see the packages, and may take several times as long to start.
PATH=/usr/bin:$PATH

passed=0 failed=0 skipped=0
failures=()
steps=(set-up release asan tsan "hostile provider" "damaged recordings" windows-mingw fuzz recordings)
[ "$long" -eq 0 ] || steps+=(coverage dashboards packages)
step=0

# Compilers and Wine leave files behind when they are ended early.
TMPDIR=$(mktemp -d) || exit 1
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT

heading() { printf '\n== %s\n' "$*"; }
next_step() {
	step=$((step + 1))
	heading "step $step of ${#steps[@]}: ${steps[step - 1]}; $((SECONDS / 60)) min so far, $passed passed, $failed failed, $skipped skipped"
}
pass() { passed=$((passed + 1)); }
skip() { skipped=$((skipped + 1)); echo "skipped: $*"; }
fail() { failed=$((failed + 1)); failures+=("$*"); echo "FAILED: $*"; }

count_of() { # attribute, JUnit file: its number of tests of that kind
	sed -n "/<testsuite/,/>/s/.*[[:space:]]$1=\"\([0-9]*\)\".*/\1/p" "$2" | head -n 1
}

# Passes on what ninja and ctest print, but for ninja's lines of progress. Says how far they are each minute, also while they
# print nothing.
show_progress() { # name
	local line='' part at='not yet built' status said=$SECONDS
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
			echo "$1: $at, $((SECONDS / 60)) min so far"
		fi
	done
}

# Configures, builds and tests a preset; the numbers come from the JUnit file that the test preset asks for.
run_preset() {
	local junit=build/$1/tests.xml status=0 total bad without

	rm -f "$junit"
	cmake --workflow --preset "$1" 2>&1 | show_progress "$1" || status=$?
	if [ ! -s "$junit" ]; then
		fail "$1: no test ran (status $status)"
		return
	fi
	total=$(count_of tests "$junit") bad=$(count_of failures "$junit")
	without=$(($(count_of skipped "$junit") + $(count_of disabled "$junit")))
	passed=$((passed + total - bad - without)) skipped=$((skipped + without))
	sed -n 's/^SKIP: /skipped: /p' "build/$1/Testing/Temporary/LastTest.log"
	sed -n 's/^\(live load\|attack\): /  /p' "build/$1/Testing/Temporary/LastTest.log" # rates, which nothing fails on
	if [ "$bad" -gt 0 ]; then
		failed=$((failed + bad))
		failures+=("$1: $(sed -n 's/.*<testcase name="\([^"]*\)".*status="fail".*/\1/p' "$junit" | paste -sd ' ')")
	elif [ "$status" -ne 0 ]; then
		fail "$1: ctest ended with status $status"
	fi
}

# Counts edges, from libFuzzer's -print_coverage of one or more targets, by folder. What several targets reach counts once:
# of each function the most that one of them reached.
edges() { # [folder]: this one alone, by file
	awk -v only="${1:-}" '/COVERED_FUNC:/ {
		for (i = 1; i < NF; i++) {
			if ($i == "edges:") { split($(i + 1), n, "/"); name = $(i + 2); file = $(i + 3) }
		}
		if (!match(file, /\/(exporter|metrics|config)\//)) next
		folder = substr(file, RSTART + 1)
		sub(/\/[^\/]*$/, "", folder)
		sub(/^exporter\//, "", folder)
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
	heading "$1, $fuzz_seconds s; $((SECONDS / 60)) min so far"
	printf '%s\n' "$said"
}

# The build that counts edges takes minutes, and is for --long only.
build_fuzzers() {
	cmake --preset fuzz && cmake --build --preset fuzz || return 1
	[ "$long" -eq 0 ] || { cmake --preset fuzz-coverage && cmake --build --preset fuzz-coverage; }
}

run_fuzzers() {
	local target

	if ! compgen -G 'tests/fuzz/fuzz_*.c' >/dev/null; then
		skip "fuzzing: no targets in tests/fuzz"
		return
	fi
	rm -f build/fuzz/*.{coverage,passed} # of targets that there may not be any more
	if ! build_fuzzers 2>&1 | show_progress fuzz; then
		fail "fuzz: does not build"
		return
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
		heading "edges of exporter/decode that the fuzz targets reach together"
		cat build/fuzz/fuzz_*.coverage | edges decode
	fi
}

# What ctest tries for some seconds, for longer.
run_hostile() {
	if HOSTILE_SECONDS=$fuzz_seconds build/asan/tests/tests_live test_live_hostile; then
		pass
	else
		fail "test_live_hostile: its seed stands above"
	fi
}

# What fuzz_pipeline tries inside one process, for the programs as they are.
run_mutants() {
	if python3 tests/fuzz/mutate.py build/asan --count "$mutants"; then
		pass
	else
		fail "tests/fuzz/mutate.py: the recordings are in build/fuzz/findings"
	fi
}

# After release, whose output it is compared with.
run_windows() {
	if [ "$(uname -m)" != x86_64 ]; then
		skip "the Windows build: its programs run on x86_64 only"
	elif bash .ci/deps-mingw.sh; then
		run_preset windows-mingw
	else
		fail "set-up (.ci/deps-mingw.sh)"
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

check_recordings() {
	local absent

	absent=$(absent_reference)
	if [ -n "$absent" ]; then
		skip "$absent is absent: recordings were not compared with their expected results"
	elif CHECK_TIMEOUT=1800 python3 ../shared/traces/check.py build/release ../shared/traces; then
		pass
	else
		fail "recordings disagree with their expected results"
	fi
}

# What all tests together reach, dashboards and the like left out, which are no code of ours.
print_coverage() {
	if bash tests/coverage.sh -E '^(e2e_(dashboards|mixin|package|systemd|workflows))$'; then
		pass
	else
		fail "tests/coverage.sh"
	fi
}

# Pictures in build/preview, to be looked at.
preview_dashboards() {
	if bash dashboards/preview.sh --once; then
		pass
	else
		fail "dashboards/preview.sh"
	fi
}

# Both systems from nothing, here and from a clone in another folder: the same bytes.
build_packages() {
	if [ -n "$(git status --porcelain 2>&1)" ]; then
		skip "no repository, or changes that are not committed: packages were not built twice"
	elif git clone -q . "$TMPDIR/elsewhere" && bash .ci/package.sh "$TMPDIR/packages" &&
		bash "$TMPDIR/elsewhere/.ci/package.sh" "$TMPDIR/other_packages" && diff -r "$TMPDIR/packages" "$TMPDIR/other_packages"; then
		pass
	else
		fail ".ci/package.sh: it failed, or made other bytes in another folder"
	fi
}

plan="${#steps[@]} steps:"
for name in "${steps[@]}"; do
	plan+=" $name,"
done
echo "${plan%,}. README.md, \"Test it\", says what this takes."
next_step
if bash .ci/deps-debian.sh && bash .ci/deps-tests.sh && bash .ci/deps-dashboards.sh && bash .ci/deps-workflows.sh &&
	bash .ci/deps-packages.sh; then
	for preset in release asan tsan; do
		next_step
		run_preset "$preset"
	done
	for part in run_hostile run_mutants run_windows run_fuzzers check_recordings; do
		next_step
		"$part"
	done
	if [ "$long" -eq 1 ]; then
		next_step
		print_coverage
		next_step
		preview_dashboards
		next_step
		build_packages
	fi
else
	fail "set-up (.ci/deps-debian.sh, .ci/deps-tests.sh, .ci/deps-dashboards.sh, .ci/deps-workflows.sh, .ci/deps-packages.sh)"
fi

if [ ${#failures[@]} -gt 0 ]; then
	heading "failed"
	printf '%s\n' "${failures[@]}"
fi
echo
echo "$((SECONDS / 60)) min"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
