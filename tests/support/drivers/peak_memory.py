"""Measures in a process of its own how much memory Python code takes: in the test's, an earlier test may have taken more."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

PEAK_KIB = """
def peak_kib():
    # Not ru_maxrss: that begins with the memory of the process that started this one.
    lines = open("/proc/self/status").read().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1])
"""
"""Defines `peak_kib()`, the most memory that the process has had."""


def grown_kib(before: str, code: str, *arguments: str | Path) -> tuple[int, str]:
    """Return by how many KiB `code` raised the most memory that its process had, and what it printed.

    `before`: what is run first, such as imports. Both see `arguments` as sys.argv[1:].
    """
    measures = f"{PEAK_KIB}\nimport sys\n{before}\nat_first = peak_kib()\n{code}\nprint(); print(peak_kib() - at_first)"
    done = subprocess.run(
        [sys.executable, "-c", measures, *arguments], check=True, capture_output=True, text=True, timeout=100
    )
    printed, _, grown = done.stdout.rstrip().rpartition("\n")
    return int(grown), printed.rstrip("\n")
