"""Moves the threads of a program between one memory node and all, by their affinity, and puts them back.

A thread whose affinity the program changed is left alone, from then on. New threads and processes inherit the affinity of the one
that starts them, so those of placed threads are placed, and are put back like them.
"""

from __future__ import annotations

import math
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from headway.placement.nodes import allowed_by_cpuset
from headway.record.target_process.processes import Process, process_trees, read_stat

_ROUNDS = 50
"""So often threads are gone through until there is none to move: of a program that starts threads without end there always is."""
_MOST_S = 5.0
"""So much CPU time that may take, but to put them back: each look at very many threads takes seconds."""
_BEING_BORN_S = 0.02
"""A thread that is just being made has its maker's affinity from before, and can't be seen yet."""

Cpus = frozenset[int]
Thread = tuple[int, int]
"""A thread by its number and its start, in clock ticks since boot."""


@dataclass(frozen=True, slots=True)
class Moved:
    """What moving came to: threads that were moved, that are left alone, that the kernel refused; and whether none is missing."""

    moved: int
    left_alone: int
    refused: int
    is_complete: bool = True

    def as_json(self) -> dict[str, Any]:
        """Return the counts by name."""
        return {
            "threads_moved": self.moved,
            "threads_left_alone": self.left_alone,
            "threads_refused": self.refused,
            "all_threads_seen": self.is_complete,
        }


@dataclass(slots=True)
class Affinities:
    """The affinities of a program's threads: `base` as it was started, `home` on one node.

    `undo_to`: what is set to give `base` back. `allowed`: gives the CPUs that the system lets it use, which may change. `seen`:
    the affinity that each thread was last seen with, after our own changes. `own`: threads whose affinity the program set.
    `processes`: those of the program that have been seen: one whose parent has ended is the program's no less. `excluded`:
    headway's own, by number, which may be below the program.
    """

    root: Process
    base: Cpus
    home: Cpus
    undo_to: Cpus
    allowed: Callable[[], Cpus]
    seen: dict[Thread, Cpus] = field(default_factory=dict)
    own: set[Thread] = field(default_factory=set)
    processes: set[Process] = field(default_factory=set)
    excluded: Cpus = frozenset()
    is_home: bool = False

    def begin(self) -> None:
        """Note what is there: threads with another affinity than the program's set it themselves."""
        self.seen = dict(self._threads())
        self.own = {key for key, has in self.seen.items() if has != self.base and not _is_limited(key, has, self.base)}

    def look(self) -> Moved:
        """Place threads that are not where they should be yet, and note those that the program moved."""
        return self.to_home() if self.is_home else self.to_base()

    def to_home(self) -> Moved:
        """Place every thread on the one node."""
        return self._all_to(self.home, self.home, is_home=True)

    def to_base(self) -> Moved:
        """Allow every thread that headway has moved to run on all CPUs that the program started with."""
        return self._all_to(self.base, self.undo_to, is_home=False)

    def undo(self) -> Moved:
        """Do as `to_base`, and again for threads that were just being made."""
        first = self._all_to(self.base, self.undo_to, is_home=False, most_s=math.inf)
        time.sleep(_BEING_BORN_S)
        last = self._all_to(self.base, self.undo_to, is_home=False, most_s=math.inf)
        return Moved(first.moved + last.moved, last.left_alone, last.refused, last.is_complete)

    def _all_to(self, target: Cpus, given: Cpus, *, is_home: bool, most_s: float = _MOST_S) -> Moved:
        """Give threads the affinity `given`, which is `target` then, until no thread has another."""
        moved: set[Thread] = set()
        refused: set[Thread] = set()
        wanted: list[Thread] = []
        allowed = self.allowed()
        intended = target & allowed or allowed
        began_s = time.thread_time()
        for _ in range(_ROUNDS):
            threads = dict(self._threads())
            self._note(threads, allowed)
            self.is_home = is_home  # from now on: what was there was noted as it was before
            wanted = [
                key
                for key, has in threads.items()
                if has not in (intended, target) and key not in self.own | refused | moved
            ]
            for key in wanted:
                if _set_affinity(key, given):
                    moved.add(key)
                    self.seen[key] = affinity_of(key[0]) or intended  # of it what the thread's own cpuset allows
                else:
                    refused.add(key)
            if not wanted or time.thread_time() - began_s > most_s:
                break
        return Moved(len(moved), len(self.own), len(refused), is_complete=not wanted)

    def _note(self, threads: dict[Thread, Cpus], allowed: Cpus) -> None:
        """Note threads that the program moved, those that are new, and that others have ended."""
        self.own &= threads.keys()
        chose_home = any(threads[key] == self.home for key in self.own)
        ours = {each & allowed or allowed for each in (self.base, self.home)} | {self.base, self.home}
        for key, has in threads.items():
            before = self.seen.get(key)
            if before is None:
                is_own = has not in ours or (chose_home and not self.is_home and has == self.home)
                befores = (self.base, self.home)
            else:  # what the system no longer allows was not taken away by the program
                is_own = has not in (before, before & allowed or allowed)
                befores = (before, before)
            if is_own and not _is_limited(key, has, *befores):
                self.own.add(key)
        self.seen = threads

    def _threads(self) -> Iterator[tuple[Thread, Cpus]]:
        """Yield every thread of the program with its affinity."""
        self.processes = {each for each in self.processes if each.is_alive}
        # One look at all of the machine's processes: a program may have thousands.
        for process in process_trees(each for each in {self.root, *self.processes} if each.is_alive):
            if process.pid in self.excluded:
                continue
            found = [(tid, start_of(process.pid, tid), affinity_of(tid)) for tid in threads_of(process.pid)]
            if Process.of(process.pid) != process:  # it has ended, and its number may have been another's by then
                continue
            self.processes.add(process)
            yield from (((tid, start), has) for tid, start, has in found if start is not None and has is not None)


def _is_limited(thread: Thread, has: Cpus, *befores: Cpus) -> bool:
    """Return whether a thread has what its own cpuset leaves of an affinity: then the system narrowed it, and not the program."""
    allowed = allowed_by_cpuset(thread[0])
    return any(has == (before & allowed or allowed) for before in befores)


def threads_of(pid: int) -> list[int]:
    """Return the numbers of a process's threads, none when it has ended."""
    try:
        return [int(tid) for tid in os.listdir(f"/proc/{pid}/task")]
    except OSError:
        return []


def start_of(pid: int, tid: int) -> int | None:
    """Return when a thread started, in clock ticks since boot; None when it has ended."""
    try:
        with open(f"/proc/{pid}/task/{tid}/stat", "rb") as stat:
            fields = stat.read().rpartition(b")")[2].split()
    except OSError:
        return None
    return int(fields[19]) if len(fields) > 19 and fields[0] not in (b"Z", b"X") else None


def affinity_of(tid: int) -> Cpus | None:
    """Return the CPUs that a thread may run on; None when it has ended."""
    try:
        return frozenset(os.sched_getaffinity(tid))
    except OSError:
        return None


def _set_affinity(thread: Thread, cpus: Cpus) -> bool:
    """Set a thread's affinity. Return False where the kernel refuses; a thread that has ended is no refusal."""
    tid, start = thread
    stat = read_stat(tid)  # its number may be another thread's by now
    if stat is None or int(stat[19]) != start:
        return True
    try:
        os.sched_setaffinity(tid, cpus)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return True


def usual_affinity(pid: int) -> Cpus | None:
    """Return the affinity that most threads of a process have, the widest of equals; None when it has ended."""
    counts = Counter(has for tid in threads_of(pid) if (has := affinity_of(tid)) is not None)
    return max(counts, key=lambda cpus: (counts[cpus], len(cpus)), default=None)
