#!/usr/bin/env bash
# Exporters that run for a long time, with everything that happens to one: replays in a loop, sessions of the fake ETW, changing limits;
# scrapes in each format, reloads of good and bad files, renewed certificates, slow, rude and cut-off clients. No counter goes back,
# the formats agree, what sessions were given is counted exactly, and memory, files and threads stay as they are (soak.py).
# SOAK_SECONDS says how long: 10, and 8 hours with LONG_TESTS=1; SOAK_EXPORTERS which of them: all.
# Below 300 seconds memory, files and threads are only printed.
. "${BASH_SOURCE%/*}/lib.bash"

for tool in python3 openssl zstd; do
	command -v "$tool" >/dev/null || skip "$tool is not installed"
done
seconds=10
! is_long || seconds=28800
seconds=${SOAK_SECONDS:-$seconds}

"$MAKE_SAMPLE" "$work/sample.etl" >/dev/null
"$MAKE_MANY" "$work/names.etl" renewed 30000
tls_files
if has_protobuf_reader; then
	"$python" -B "$SOURCE_DIR/tests/e2e/soak.py" "$work" "$seconds" "$metrics_proto"
else
	echo "without the protobuf format: what reads it is not installed"
	python3 "$SOURCE_DIR/tests/e2e/soak.py" "$work" "$seconds"
fi
