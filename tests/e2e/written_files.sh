#!/usr/bin/env bash
# Every file that a command writes, in a folder full of links, pipes and folders: nothing outside changes (written_files.py).
. "${BASH_SOURCE%/*}/lib.bash"

command -v python3 >/dev/null || skip "python3 is not installed"
case $ETWTOOL in *.exe) runner=("${WINE64:-/usr/lib/wine/wine64}") ;; esac
"${runner[@]}" "$MAKE_HOSTILE" "$work/small"
"${runner[@]}" "$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
python3 "$SOURCE_DIR/tests/e2e/written_files.py" "$work" "${runner[@]}"
