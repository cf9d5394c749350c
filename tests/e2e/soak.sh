#!/usr/bin/env bash
# Two exporters that run for a long time, with everything that happens to one: a replay in a loop, and sessions of the fake ETW;
# scrapes in each format, reloads of good and bad files, renewed certificates, slow, rude and cut-off clients. No counter goes back,
# the formats agree, what sessions were given is counted exactly, and memory, files and threads stay as they are (soak.py).
# SOAK_SECONDS says how long: 10, and 8 hours with LONG_TESTS=1. Below 300 memory, files and threads are only printed.
. "${BASH_SOURCE%/*}/lib.bash"

for tool in python3 openssl zstd; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
seconds=10
! is_long || seconds=28800
seconds=${SOAK_SECONDS:-$seconds}

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
tls_files
if has_protobuf_reader; then
	"$python" -B "$SOURCE_DIR/tests/e2e/soak.py" "$work" "$seconds" "$metrics_proto"
else
	echo "without the protobuf format: what reads it is not installed"
	python3 "$SOURCE_DIR/tests/e2e/soak.py" "$work" "$seconds"
fi
