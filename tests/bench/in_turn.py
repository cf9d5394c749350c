#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times programs that replay the same recording, in turn, so that a change of the machine's load meets all of them.

python3 tests/bench/in_turn.py RUNS RECORDING PROGRAM[:THREADS]...

PROGRAM is an etw_exporter, of this or another build; THREADS its --replay.threads. Prints for each the seconds of the fastest run and
of the median one.
"""
import subprocess
import sys
import time


def command(word, recording):
    program, _, threads = word.partition(":")
    return [program, "--once", f"--replay.file={recording}", *([f"--replay.threads={threads}"] if threads else [])]


def main():
    if len(sys.argv) < 4:
        sys.exit(__doc__)
    runs, recording, words = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    seconds = {word: [] for word in words}
    for _ in range(runs):
        for word in words:
            start = time.monotonic()
            subprocess.run(command(word, recording), check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            seconds[word].append(time.monotonic() - start)
    for word, taken in seconds.items():
        taken.sort()
        print(f"{word}: {taken[0]:.3f} s, median {taken[len(taken) // 2]:.3f} s")


main()
