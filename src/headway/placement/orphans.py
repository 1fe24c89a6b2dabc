"""Processes that may be a placed program's, but can't be told from others: they left their parents between two looks.

A process that forks twice and whose parents end (a daemon) has no parent any more by which it could be found. It has inherited
the affinity that headway gave its parents, and keeps it. Others are never moved on a guess, so such processes are only counted:
they were started meanwhile, by this user, in the program's control group, have just that affinity, and somebody above the
program for a parent, who takes in orphans.
"""

from __future__ import annotations

import contextlib
import os
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from headway.errors.plurals import counted
from headway.placement.affinities import Cpus, affinity_of
from headway.record.machine.host import format_cpu_list
from headway.record.target_process.processes import Process, owner, read_stat


@dataclass(frozen=True, slots=True)
class OrphanSearch:
    """What is noted of a program before it is moved, to know its orphans by. `since_ticks`: when, in ticks since boot."""

    since_ticks: int
    uid: int | None
    group: bytes
    above: frozenset[int]

    @classmethod
    def of(cls, root: Process) -> OrphanSearch:
        """Note what is known of a program now."""
        since_ticks = int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
        return cls(since_ticks, owner(root.pid), _group(root.pid), frozenset(_above(root.pid)))

    def orphans(self, cpus: Cpus) -> list[int]:
        """Return the processes that may be the program's and may run on these CPUs alone."""
        return [pid for pid in map(int, filter(str.isdigit, os.listdir("/proc"))) if self._may_be_one(pid, cpus)]

    def note(self, cpus: Cpus, all_cpus: Cpus) -> tuple[str, dict[str, Any]] | None:
        """Return what to tell of such processes, None where there is none."""
        if not (found := self.orphans(cpus)):
            return None
        these, all_of = format_cpu_list(set(cpus)), format_cpu_list(set(all_cpus))
        text = f"{counted(len(found), 'process')} may be the program's and be kept on CPUs {these}: who leaves its "
        text += f"parents between two looks is not known, and left as it is. taskset -a -c -p {all_of} {found[0]}"
        return f"{text}{' (and others: --json)' if len(found) > 1 else ''}", {"may_be_left": found}

    def _may_be_one(self, pid: int, cpus: Cpus) -> bool:
        stat = read_stat(pid)
        if stat is None or stat[0] in "ZX" or int(stat[19]) < self.since_ticks or pid == os.getpid():
            return False
        parent, session = int(stat[1]), stat[3]
        if parent not in self.above or owner(pid) != self.uid or affinity_of(pid) != cpus:
            return False
        of_parent = read_stat(parent)  # a job of a shell above the program is in that shell's session
        is_taken_in = parent == 1 or (of_parent is not None and of_parent[3] != session)
        return is_taken_in and _group(pid) == self.group


def _above(pid: int) -> list[int]:
    found = [1]
    while (stat := read_stat(pid)) is not None and (pid := int(stat[1])) > 0 and pid not in found:
        found.append(pid)
    return found


def _group(pid: int) -> bytes:
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/cgroup").read_bytes()
    return b""
