"""Has memory on two nodes, and appends lines to a file until another one is there. Begun on one CPU, ends on CPUs 0 and 1.

Arguments: the file of lines, the file that ends it, the CPU on whose node most of the memory is, and `shared` to have all of it
together with a process that it starts.
"""

from __future__ import annotations

import mmap
import os
import signal
import sys
import time
from pathlib import Path

MOST, LEAST = 16 << 20, 256 << 10
"""Bytes: a page is on the node of the CPU that touches it first."""
CPUS = (0, 1)

log, end, most, *more = sys.argv[1:]
parts = []
for cpu in CPUS:
    os.sched_setaffinity(0, {cpu})
    size = MOST if cpu == int(most) else LEAST
    part = mmap.mmap(-1, size, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    part.madvise(mmap.MADV_NOHUGEPAGE)
    for at in range(0, size, mmap.PAGESIZE):
        part[at] = 1
    parts.append(part)
os.sched_setaffinity(0, {*CPUS})
child = os.fork() if more == ["shared"] else -1
if child == 0:
    signal.pause()
with open(log, "a") as file:
    while not Path(end).exists():
        file.write("round\n")
        file.flush()
        time.sleep(0.02)
if child > 0:
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
assert all(part[at] == 1 for part in parts for at in range(0, len(part), mmap.PAGESIZE))
