#!/bin/bash -eu
# projects/etw_exporter/build.sh of google/oss-fuzz, run in its image, and by check.sh: builds the fuzz targets into $OUT, with
# their dictionaries, corpora and libraries. CC, CXX, CFLAGS, CXXFLAGS, LIB_FUZZING_ENGINE, SRC, WORK and OUT are set ("Setting up a new
# project", google.github.io/oss-fuzz).
source=$SRC/etw_exporter

# RPATH and not RUNPATH: libraries of libraries are found by it, too.
cmake -S "$source" -B "$WORK/build" -G Ninja -DCMAKE_BUILD_TYPE= -DETWX_FUZZ=ON -DETWX_WERROR=OFF \
	"-DETWX_FUZZING_ENGINE=$LIB_FUZZING_ENGINE" '-DCMAKE_BUILD_RPATH=$ORIGIN/lib' -DCMAKE_EXE_LINKER_FLAGS=-Wl,--disable-new-dtags
cmake --build "$WORK/build"

mkdir -p "$OUT/lib"
cp "$source/config/etw_exporter.yaml" "$OUT/"
for target in "$source"/tests/fuzz/fuzz_*.c; do
	name=$(basename "$target" .c)
	cp "$WORK/build/$name" "$OUT/"
	# What the machine that runs it does not have; the C library and its loader it has.
	ldd "$WORK/build/$name" | sed -n 's/.* => \(\/[^ ]*\) .*/\1/p' | grep -Ev '/(libc|libm|libpthread|libdl|librt|libresolv)\.so' |
		xargs -r cp -Lu -t "$OUT/lib"
	python3 "$source/tests/fuzz/dictionary.py" "$name" >"$OUT/$name.dict"
	[ -s "$OUT/$name.dict" ] || rm "$OUT/$name.dict"
	if [ -d "$source/tests/fuzz/corpus/$name" ]; then
		rm -f "$OUT/${name}_seed_corpus.zip"
		(cd "$source/tests/fuzz/corpus/$name" && python3 -m zipfile -c "$OUT/${name}_seed_corpus.zip" ./*)
	fi
	printf '[libfuzzer]\ntimeout = 60\n' >"$OUT/$name.options"
done
