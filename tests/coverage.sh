#!/usr/bin/env bash
# Prints which lines and branches of the product code all tests and the fuzz corpus reach together: usage: coverage.sh [CTEST OPTION...]
#
# Builds the preset coverage (clang), runs its tests, the fuzz targets on their corpora, and lists the rest in
# build/coverage/uncovered.txt. Tests that fail here are named, but change nothing else: they are judged in the other presets.
# tests/coverage.py says what counts.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.." || exit 1
build=build/coverage

cmake --preset coverage >/dev/null || exit 1
cmake --build --preset coverage >$build/build.log 2>&1 || { tail -n 20 $build/build.log; exit 1; }
rm -rf $build/profiles
ctest --preset coverage "$@" >$build/tests.log 2>&1 || sed -n '/The following tests FAILED/,$p' $build/tests.log

$build/fuzz_seeds $build/seeds
for target in tests/fuzz/fuzz_*.c; do
	target=$(basename "$target" .c)
	folders=()
	for folder in "tests/fuzz/corpus/$target" "build/fuzz/corpus/$target" "$build/seeds/$target"; do
		[ ! -d "$folder" ] || folders+=("$folder")
	done
	$build/"$target" -runs=0 -rss_limit_mb=2048 "${folders[@]}" >"$build/$target.log" 2>&1 || echo "$target failed: $build/$target.log"
done

# A profile is cut short when its process was ended while it wrote; the others are enough.
llvm-profdata merge -sparse --failure-mode=all -o $build/all.profdata $build/profiles 2>$build/profdata.log ||
	{ cat $build/profdata.log; exit 1; }
objects=()
for program in etwtool etw_selftest tests/exporter_on_fake tests/etwtool_on_fake tests/selftest_on_fake; do
	objects+=(-object "$build/$program")
done
llvm-cov export -instr-profile $build/all.profdata $build/etw_exporter "${objects[@]}" >$build/coverage.json 2>$build/cov.log &&
	python3 tests/coverage.py $build/coverage.json $build/uncovered.txt
