#!/usr/bin/env bash
# etwtool dump against a second reader, in Python (second_reader.py): on recordings of every form that docs/etl-format.md
# describes, made by the project's writer and by a second one (second_reader_make.py), on damaged ones (damage.py), and on the real ones
# where they are at hand.
. "${BASH_SOURCE%/*}/lib.bash"

command -v python3 >/dev/null || skip "python3 is not installed"
export PYTHONDONTWRITEBYTECODE=1
count=40
! is_long || count=2000
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
"$MAKE_HOSTILE" "$work/hostile"
rm "$work/hostile/bomb.etl" # millions of records
"$BUILD_DIR/fuzz_seeds" "$work/seeds"
"$MAKE_SAMPLE" --plain-size=512KiB "$work/plain.etl" >/dev/null
mkdir "$work/damaged"
for seed in $(if is_long; then seq 20; else seq 2; fi); do
	python3 "$SOURCE_DIR/tests/e2e/damage.py" "$work/plain.etl" "$seed" >"$work/damaged/$seed.etl"
done
small=(-size -300k)
[ "$count" = 40 ] || small=()
mapfile -t real < <(find "$traces" -name '*.etl' "${small[@]}" 2>/dev/null | sort)
python3 "$SOURCE_DIR/tests/e2e/second_reader_compare.py" "$ETWTOOL" "$work" "$count" "$work/sample.etl" "$work"/hostile/*.etl \
	"$work"/damaged/*.etl "$work"/seeds/fuzz_etl/*.etl "${real[@]}" || fail "read differently"
