#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times programs that replay the same recording, in turn, so that a change of the machine's load meets all of them.

python3 tests/bench/in_turn.py RUNS RECORDING PROGRAM...

PROGRAM is an etw_exporter, of this or another build. Prints for each the seconds of the fastest run and of the median one.
"""
import subprocess
import sys
import time


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    runs, recording, programs = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    seconds = {program: [] for program in programs}
    for _ in range(runs):
        for program in programs:
            start = time.monotonic()
            subprocess.run([program, "--once", f"--replay.file={recording}"], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds[program].append(time.monotonic() - start)
    for program, taken in seconds.items():
        taken.sort()
        print(f"{program}: {taken[0]:.3f} s, median {taken[len(taken) // 2]:.3f} s")


main()
