"""What each thread of a program counted while it was recorded, read from outside: for modes that read no counters at switches.

Each thread has counters of its own, opened when it is first seen: the program's first one before it begins, others within a
tenth of a second. What a thread ran before is without counts, and so are threads that are never seen.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from headway.errors import HeadwayError
from headway.model.thread_counts import ThreadCounts, Totals
from headway.record.collect.thread_counters import ThreadWatch
from headway.record.counters.usable import Usable
from headway.record.target_process import processes
from headway.record.target_process.processes import Process

_LOOK_NS, _READ_NS = 100_000_000, 1_000_000_000
"""How often new threads are looked for, and how often all are read, so that ended ones give their descriptors back."""
_PAUSES = 19
"""So many times as long as a look took nothing is done after it: of very many threads or processes it takes long."""
_FOR_ALL_ELSE = 96
"""Descriptors that are left for the rest of the recorder."""
_MOST_ROWS, _MOST_KEPT = 1000, 4000
"""Threads with a row of their own, those that ran longest; and threads that are kept apart meanwhile."""
_MOST_PROCESSES = 256

_Key = tuple[int, int, int]


@dataclass(slots=True)
class _Sum:
    """The counts of several threads of one kind."""

    threads: int = 0
    uncounted_ns: int = 0
    totals: list[list[int]] = field(default_factory=list)

    def add(self, one: ThreadCounts) -> None:
        """Add a thread."""
        self.threads += 1
        self.uncounted_ns += one.uncounted_ns
        if one.totals is not None:
            before = self.totals or [[0, 0, 0] for _ in one.totals]
            self.totals = [[a + b for a, b in zip(x, y, strict=True)] for x, y in zip(before, one.totals, strict=True)]


class ThreadTotals:
    """Counters of all threads below a process. None of its calls fails: what can't be counted is absent, with its reason."""

    def __init__(self, counted: Usable | None, root_pid: int) -> None:
        """Prepare to count groups; None: nothing is asked for."""
        self.counted = counted
        self.left_out, self.why = 0, ""
        """So many threads could not be counted, for this reason."""
        self.root_pid = root_pid
        self._watches: dict[Process, ThreadWatch] = {}
        self._refused: dict[Process, str] = {}
        self._first: dict[_Key, ThreadCounts] = {}
        self._last: dict[_Key, ThreadCounts] = {}
        self._others: dict[str, _Sum] = {}
        self._descriptors = 0
        self._from_ns = self._to_ns = self._next_look_ns = self._next_read_ns = 0

    @property
    def is_counting(self) -> bool:
        """Return whether there is anything to count."""
        return self.counted is not None and bool(self.counted.groups)

    def start(self) -> None:
        """Open the counters of all threads that are there."""
        if not self.is_counting:
            return
        self._descriptors = len(os.listdir("/proc/self/fd")) + _FOR_ALL_ELSE
        self._look(is_late=False)
        if not self._watches and self.counted is not None:
            self.counted = self.counted.without_groups(next(iter(self._refused.values()), "the program has ended"))

    def begin(self) -> None:
        """Count from now on."""
        self._read()
        self._first, self._last = self._last, {}
        self._from_ns = time.monotonic_ns()

    def due_ns(self) -> int | None:
        """Return when `tick` has something to do, by CLOCK_MONOTONIC; None: never."""
        return self._next_look_ns if self.is_counting else None

    def tick(self, now_ns: int) -> None:
        """Look for new threads, and read all of them, as far as that is due."""
        if not self.is_counting or now_ns < self._next_look_ns:
            return
        self._look(is_late=True)
        if now_ns >= self._next_read_ns:
            self._read()
            self._next_read_ns = now_ns + _READ_NS
        done_ns = time.monotonic_ns()
        self._next_look_ns = done_ns + max(_LOOK_NS, _PAUSES * (done_ns - now_ns))

    def stop(self) -> None:
        """Count until now, and close the counters."""
        if not self.is_counting:
            return
        self._to_ns = time.monotonic_ns()
        self._read()
        for watch in self._watches.values():
            watch.close()
        self._watches.clear()
        self._fold()
        self.left_out += sum(thread.totals is None for thread in self._last.values())

    def as_json(self) -> dict[str, Any] | None:
        """Return what the manifest keeps: {step, groups, absent, from_ns, to_ns, threads, others}; None: nothing was asked for.

        A thread: {pid, tid, name, kind, uncounted_ns, totals}; totals: of each event in the order of the groups its value and for
        how long it could be counted and was, ns; null where the thread was not counted. `others` have a kind and their number.
        """
        if self.counted is None:
            return None
        threads = [
            {"pid": pid, "tid": tid, "name": each.name, "kind": each.kind, **_counts(each.uncounted_ns, each.totals)}
            for (pid, tid, _), each in self._last.items()
        ]
        others = [
            {"kind": kind, "threads": each.threads, **_counts(each.uncounted_ns, each.totals or None)}
            for kind, each in self._others.items()
        ]
        when = {"from_ns": self._from_ns, "to_ns": self._to_ns}
        return {**self.counted.as_json(), **when, "threads": threads, "others": others}

    def _look(self, *, is_late: bool) -> None:
        """Count processes and threads that were not there before."""
        tree = processes.tree(self.root_pid)
        for pid in tree:
            process = Process.of(pid)
            if process is not None and process not in self._watches and process not in self._refused:
                self._add(process, {*tree}, is_late=is_late)
        for watch in self._watches.values():
            watch.look()

    def _add(self, process: Process, tree: set[int], *, is_late: bool) -> None:
        """Count a process of the tree, unless it has ended and its number is that of another one by now."""
        parent = process.parent()
        if process.pid != self.root_pid and (parent is None or parent.pid not in tree):
            return
        if len(self._watches) >= _MOST_PROCESSES:
            self._refuse(process, f"{_MOST_PROCESSES} processes at a time are counted")
            return
        assert self.counted is not None
        try:
            watch = ThreadWatch(process.pid, self.counted.groups, is_late=is_late, reserved=self._reserved(process))
        except HeadwayError as error:
            if error.notice.id != "HW004":  # it has ended
                self._refuse(process, error.notice.message)
            return
        if not process.is_alive:
            watch.close()
            return
        self._watches[process] = watch

    def _refuse(self, process: Process, reason: str) -> None:
        """Count no threads of a process, and note how many it has now."""
        if len(self._refused) > _MOST_KEPT:
            self._refused.clear()
        self._refused[process] = self.why = reason
        with contextlib.suppress(OSError):
            self.left_out += len(os.listdir(f"/proc/{process.pid}/task"))

    def _reserved(self, process: Process) -> Callable[[], int]:
        """Return a function that says how many descriptors all but one process's counters take; each process has one beside."""

        def reserved() -> int:
            others = sum(watch.descriptors for each, watch in self._watches.items() if each != process)
            return self._descriptors + others + len(self._watches)

        return reserved

    def _read(self) -> None:
        """Read the counters of all threads; those that ended are read once more, and give them back."""
        for process, watch in [*self._watches.items()]:
            counts = watch.read()
            self.why = counts.why or self.why
            for (tid, start), thread in counts.threads.items():
                key = watch.pid, tid, start
                self._last[key] = _since(thread, self._first.get(key))
            if not watch.descriptors:
                watch.close()
                del self._watches[process]
        if len(self._last) > _MOST_KEPT:
            self._fold()

    def _fold(self) -> None:
        """Keep threads that are there, and the ended ones that ran longest, apart; add up all others of each kind."""
        there = {(watch.pid, *key) for watch in self._watches.values() for key in watch.keys}
        ended = sorted((key for key in self._last if key not in there), key=lambda key: -_ran_ns(self._last[key]))
        for key in ended[_MOST_ROWS:]:
            one = self._last.pop(key)
            self.left_out += one.totals is None
            self._others.setdefault(one.kind, _Sum()).add(one)


def _since(thread: ThreadCounts, first: ThreadCounts | None) -> ThreadCounts:
    """Return what a thread counted since its first reading."""
    if first is None:
        return thread
    totals: Totals | None = thread.totals
    if totals is not None and first.totals is not None:
        pairs = zip(totals, first.totals, strict=True)
        totals = tuple((value - v, enabled - e, ran - r) for (value, enabled, ran), (v, e, r) in pairs)
    return ThreadCounts(thread.name, thread.kind, totals, thread.uncounted_ns - first.uncounted_ns)


def _ran_ns(thread: ThreadCounts) -> int:
    return thread.uncounted_ns + (thread.totals[0][1] if thread.totals is not None else 0)


def _counts(uncounted_ns: int, totals: Any) -> Mapping[str, Any]:
    return {"uncounted_ns": uncounted_ns, "totals": None if totals is None else [[*each] for each in totals]}
