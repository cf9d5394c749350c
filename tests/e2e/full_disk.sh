#!/usr/bin/env bash
# A disk that fills while something is written: the command ends with status 1 and names the file and the reason, what was there
# before stays, and nothing is left that looks whole (full_disk.py). Once with a limit for the size of files, which takes half of a
# write, and once on a disk that is full, where the system lets us mount one.
. "${BASH_SOURCE%/*}/lib.bash"

command -v python3 >/dev/null || skip "python3 is not installed"
"$MAKE_HOSTILE" "$work/small"
"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
gzip -k "$work/sample.etl"
head -c 32 /dev/zero >"$work/key"
status=0
python3 "$SOURCE_DIR/tests/e2e/full_disk.py" "$work" limit || status=1
mkdir "$work/disk"
# shellcheck disable=SC2016 # the inner shell expands it
if unshare -rm mount -t tmpfs -o size=64k tmpfs "$work/disk" 2>/dev/null; then
	unshare -rm bash -c 'mount -t tmpfs -o size=64m tmpfs "$1/disk" && exec python3 "$SOURCE_DIR/tests/e2e/full_disk.py" "$1" disk' - "$work" || status=1
else
	echo "a disk of its own is left out: this user may not mount one"
fi
exit $status
