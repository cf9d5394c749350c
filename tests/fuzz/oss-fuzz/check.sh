#!/usr/bin/env bash
# Builds the fuzz targets as OSS-Fuzz does, with its flags and the clang of this machine, and runs each for a moment where the sources
# are not: bash tests/fuzz/oss-fuzz/check.sh [address|undefined]. The image of OSS-Fuzz itself is not used.
set -euo pipefail

sanitizer=${1:-address}
root=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

export SRC=$root/build/oss-fuzz-src OUT=$work/out WORK=$root/build/oss-fuzz-$sanitizer CC=clang CXX=clang++ LIB_FUZZING_ENGINE=-fsanitize=fuzzer
# google/oss-fuzz, infra/base-images/base-builder/Dockerfile: CFLAGS, SANITIZER_FLAGS_*, COVERAGE_FLAGS.
CFLAGS="-O1 -fno-omit-frame-pointer -gline-tables-only -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION"
case $sanitizer in
address) CFLAGS+=" -fsanitize=address -fsanitize-address-use-after-scope" ;;
undefined) CFLAGS+=" -fsanitize=array-bounds,bool,builtin,enum,function,integer-divide-by-zero,null,object-size,return,returns-nonnull-attribute,shift,signed-integer-overflow,unsigned-integer-overflow,unreachable,vla-bound,vptr -fno-sanitize-recover=array-bounds,bool,builtin,enum,function,integer-divide-by-zero,null,object-size,return,returns-nonnull-attribute,shift,signed-integer-overflow,unreachable,vla-bound,vptr" ;;
*) echo "usage: bash tests/fuzz/oss-fuzz/check.sh [address|undefined]" >&2; exit 2 ;;
esac
CFLAGS+=" -fsanitize=fuzzer-no-link"
export CFLAGS CXXFLAGS=$CFLAGS

rm -rf "$SRC"
mkdir -p "$SRC" "$OUT" "$WORK"
ln -s "$root" "$SRC/etw_exporter"
bash -eu "$root/tests/fuzz/oss-fuzz/build.sh"

cd "$OUT" # as in the image that runs them, the sources are elsewhere
rm -rf "$SRC"
failed=0
for target in fuzz_*; do
	[[ $target != *.* && $target != *_seed_corpus* ]] || continue
	mkdir -p "$work/corpus/$target"
	if [ -e "${target}_seed_corpus.zip" ]; then
		python3 -m zipfile -e "${target}_seed_corpus.zip" "$work/corpus/$target"
	fi
	if ! "./$target" -runs=500 -max_total_time=20 -timeout=60 -rss_limit_mb=2560 "$work/corpus/$target" >"$work/log" 2>&1; then
		failed=1
		tail -n 20 "$work/log"
		echo "FAIL: $target"
	fi
done
targets=$(find . -maxdepth 1 -name 'fuzz_*' ! -name '*.*' | wc -l)
size=$(find "$root/tests/fuzz/corpus" -type f -printf '%s\n' | awk '{ sum += $1 } END { print sum }')
[ "$size" -le 2000000 ] || { echo "FAIL: the corpus in the tree has $size bytes"; failed=1; }
[ "$failed" -ne 0 ] || echo "ok: $targets targets with the flags of OSS-Fuzz ($sanitizer), a corpus of $size bytes"
exit $failed
