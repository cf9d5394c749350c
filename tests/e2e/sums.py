# SPDX-License-Identifier: MIT
"""Compares two pages: sums over the labels process, owner and terminal_session, without families about the program, and one that is a sketch."""
import collections
import re
import sys


def sums(path):
    found = collections.Counter()
    for line in open(path, encoding="utf-8"):
        if line[0] == "#" or not line.startswith("etw_") or line.startswith(("etw_exporter_", "etw_state_", "etw_consumer_busy_", "etw_file_top_", "etw_process_info")) or "_image_info" in line:
            continue
        series, value = line.rsplit(" ", 1)
        # Instances of one program cause disk bytes together, those with names of their own do not: which of them mapped the file
        # that one wrote, changes, and the bytes do not.
        taken = r'(?:process|how)="(?:[^"\\]|\\.)*"' if line.startswith("etw_disk_caused_") else r'process="(?:[^"\\]|\\.)*"'
        series = re.sub(r',(?:owner|terminal_session)="(?:[^"\\]|\\.)*"', "", series)
        found[re.sub(taken, "", series)] += float(value)
    return found


before, after = sums(sys.argv[1]), sums(sys.argv[2])
for series in before.keys() | after.keys():
    assert abs(before[series] - after[series]) <= 1e-9 * abs(before[series]), (series, before[series], after[series])
print(len(before))
