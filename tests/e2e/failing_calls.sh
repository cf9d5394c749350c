#!/usr/bin/env bash
# Every command of both programs, and a server, with each call that can fail failing once (failing_calls.py), a sixth of the call sites in
# a run; and with a full disk behind standard output, and with a closed one. Nothing is ended by a signal, nothing leaks memory, and
# nothing ends with status 0 and another output.
. "${BASH_SOURCE%/*}/lib.bash"
. "${BASH_SOURCE%/*}/failing_setup.bash"

[ $# -gt 0 ] || set -- commands requests servers
python3 "$SOURCE_DIR/tests/e2e/failing_calls.py" "$work" "$@"
