"""Has memory on two nodes, and appends lines to a file until another one is there. Begun on CPU 0, ends on CPUs 0 and 1."""

from __future__ import annotations

import mmap
import os
import sys
import time
from pathlib import Path

SIZES = {0: 16 << 20, 1: 256 << 10}
"""Bytes by CPU: a page is on the node of the CPU that touches it first."""

parts = []
for cpu, size in SIZES.items():
    os.sched_setaffinity(0, {cpu})
    part = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    part.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, size, mmap.PAGESIZE):
        part[at] = 1
    parts.append(part)
os.sched_setaffinity(0, {*SIZES})
with open(sys.argv[1], "a") as log:
    while not Path(sys.argv[2]).exists():
        log.write("round\n")
        log.flush()
        time.sleep(0.02)
assert all(part[at] == 1 for part in parts for at in range(0, len(part), mmap.PAGESIZE))
