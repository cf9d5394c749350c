#!/usr/bin/env bash
# As failing_calls.sh: each call that can fail fails once in live sessions and in etwtool record, on the fake ETW; in a server with
# TLS and users whose certificate is renewed, and in one that is reloaded while it replays; in the flight recorder; and in the
# commands that failing_calls.sh leaves out. Events that a session was given are counted, or counted as lost.
. "${BASH_SOURCE%/*}/lib.bash"
. "${BASH_SOURCE%/*}/failing_setup.bash"

export FAILING_CALLS_ELSEWHERE="commands requests servers" # in failing_calls.sh
[ $# -gt 0 ] || set -- further tls reloads recorders record live
python3 "$SOURCE_DIR/tests/e2e/failing_calls.py" "$work" "$@"
