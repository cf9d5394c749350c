#!/usr/bin/env bash
# Numbers of the documentation are those of the programs: tests/e2e/docs_numbers.py says which, and writes them with --write.
. "${BASH_SOURCE%/*}/lib.bash"

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
python3 -B "$SOURCE_DIR/tests/e2e/docs_numbers.py" ${DOCS_NUMBERS_WRITE:+--write} "$SOURCE_DIR" "$ETW_EXPORTER" "$ETWTOOL" "$work/sample.etl" "$traces" ||
	fail "the pages have other numbers (DOCS_NUMBERS_WRITE=1 ctest -R e2e_docs_numbers writes them)"
