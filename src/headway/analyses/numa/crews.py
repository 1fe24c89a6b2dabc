"""Finds out whether a program's threads work at the same time or in groups (crews) one after another, and how evenly.

Question   are workers unequal as their work is, as one thread is alone for a part of the time, or as they belong to several
           workloads, one after the other (table 6.2 of the thesis).
Method     CPU time of each thread in equal parts (bins) of the window. A thread's time is that in which it does all but 2 % of
           its work at each end. It works in that time if it does more than 4 % of what all threads do in it. Threads are of
           different crews if all of one have ended (but for a tenth of a crew's time) when the first of the other begins.
           A bin is serial if one thread does at least nine tenths of the work in it.
Assumes    no crew is shorter than a few bins. Those with less than 5 % of the work are left out.
Wrong when a pool's threads stay and its workloads change: such threads are one crew.
Checked    tests/unit/analyses/numa/test_numa_crews.py, tests/e2e/numa/test_recorded_numa.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.scheduling.thread_work import WORKER_SHARE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway.analyses.scheduling.thread_work import ProgramWork
    from headway.store import Recording

    Ints = NDArray[np.int64]

BINS = 256
LEAST_BIN_NS = 20_000_000
"""Threads that share a core take turns that are shorter."""
MOST_THREADS = 4096
_EDGE = 0.02
"""Of a thread's work: what it does before its time begins, and after it."""
_OVERLAP = 0.1
"""Of the shorter time of two crews: so much may be common to both."""
_FEWEST_BINS = 4
"""Of a thread, and of a crew: with fewer, borders of bins decide who works with whom, and all are one crew."""
_LEAST_OF_ALL = 0.05
"""Of all work: a crew that does less is none."""
_ALONE = 0.9
"""Of the work in a bin: where one thread does so much of it, it is alone."""


def _common(bins: int) -> float:
    """Return how many bins two crews may have in common, by those of the shorter one: one at least, as borders lie in bins."""
    return max(1.0, _OVERLAP * bins) if bins >= _FEWEST_BINS else 0.0


@dataclass(frozen=True, slots=True)
class Crew:
    """Threads that work at the same time. Times: ns from the start of the recording."""

    from_ns: int
    to_ns: int
    threads: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class WorkOverTime:
    """How much CPU time each thread used in each short piece (bin) of a window: ns, a row a thread; the last bin may be shorter.

    `main`: rows of the main thread.
    """

    threads: tuple[int, ...]
    cpu_ns: Ints
    main: NDArray[np.bool_]
    from_ns: int
    to_ns: int
    bin_ns: int

    def crews(self) -> tuple[Crew, ...]:
        """Return the crews of workers that do much of the work, in the order of time; main belongs to none."""
        total = self.cpu_ns.sum(axis=0)
        times = [(*self._time_of(row), row) for row in np.flatnonzero(~self.main).tolist()]
        times = [each for each in times if self._works(total, *each)]
        groups: list[list[int]] = []
        begin = end = 0
        for first, last, row in sorted(times):
            if groups and first < end - _common(min(last - first, end - begin)):
                groups[-1].append(row)
                end = max(end, last)
            else:
                groups.append([row])
                begin, end = first, last
        least = _LEAST_OF_ALL * total.sum()
        return tuple(self._crew(rows) for rows in groups if self.cpu_ns[rows].sum() >= least)

    def while_several_work(self, threads: Sequence[int]) -> dict[int, int]:
        """Return the CPU time of threads in the bins in which none is alone, ns, and after the last of them.

        Threads of other processes are left out.

        Who is alone at the end is the worker that has most to do, and no phase that others wait for.
        """
        total = self.cpu_ns.sum(axis=0)
        is_shared = self.cpu_ns.max(axis=0, initial=0) < _ALONE * total
        if is_shared.any():
            is_shared[np.flatnonzero(is_shared)[-1] :] = True
        rows = {thread: row for row, thread in enumerate(self.threads)}
        return {each: int(self.cpu_ns[rows[each], is_shared].sum()) for each in threads if each in rows}

    def main_share(self, crew: Crew) -> float:
        """Return the part of all work in a crew's time that main does."""
        first, last = ((each - self.from_ns) / self.bin_ns for each in (crew.from_ns, crew.to_ns))
        of_all = self.cpu_ns[:, int(first) : math.ceil(last)]
        return float(of_all[self.main].sum() / max(1, of_all.sum()))

    def main_alone_share(self) -> float | None:
        """Return the part of main's CPU time in which it is alone; None where it has none."""
        total = self.cpu_ns.sum(axis=0)
        of_main = self.cpu_ns[self.main].sum(axis=0)
        return float(of_main[of_main >= _ALONE * total].sum() / of_main.sum()) if of_main.sum() else None

    def alone(self) -> tuple[int, float] | None:
        """Return the thread that does most of what is done by one alone, and its share of that; None: none is alone."""
        total = self.cpu_ns.sum(axis=0)
        is_alone = (self.cpu_ns.max(axis=0, initial=0) >= _ALONE * total) & (total > 0)
        by_thread = self.cpu_ns[:, is_alone].sum(axis=1)
        if not by_thread.sum():
            return None
        row = int(np.argmax(by_thread))
        return self.threads[row], float(by_thread[row] / by_thread.sum())

    def alone_by_thread(self) -> dict[int, float]:
        """Return of each thread the part of its CPU time in which it is alone; those that are never alone are left out."""
        total = self.cpu_ns.sum(axis=0)
        is_alone = (self.cpu_ns >= _ALONE * total) & (total > 0)
        alone, all_of = (self.cpu_ns * is_alone).sum(axis=1), self.cpu_ns.sum(axis=1)
        return {thread: float(alone[row] / all_of[row]) for row, thread in enumerate(self.threads) if alone[row]}

    def _time_of(self, row: int) -> tuple[int, int]:
        """Return the first bin of a thread's time, and the one after its last."""
        done = np.cumsum(self.cpu_ns[row])
        first = int(np.searchsorted(done, _EDGE * done[-1], side="right"))
        return first, max(first, int(np.searchsorted(done, (1 - _EDGE) * done[-1]))) + 1

    def _works(self, total: Ints, first: int, last: int, row: int) -> bool:
        """Return whether a thread is a worker in its time, and did a part that counts of what a crew does at least."""
        own = int(self.cpu_ns[row].sum())
        least = WORKER_SHARE * max(int(total[first:last].sum()), _LEAST_OF_ALL * int(total.sum()))
        return own > least

    def _crew(self, rows: Sequence[int]) -> Crew:
        times = [self._time_of(row) for row in rows]
        begin, end = min(first for first, _ in times), max(last for _, last in times)
        by_work = sorted(rows, key=lambda row: -int(self.cpu_ns[row].sum()))
        threads = tuple(self.threads[row] for row in by_work)
        to_ns = min(self.from_ns + end * self.bin_ns, self.to_ns)
        return Crew(self.from_ns + begin * self.bin_ns, to_ns, threads)


def work_over_time(recording: Recording, work: ProgramWork, window: tuple[int, int] | None = None) -> WorkOverTime:
    """Return the CPU time of each of a program's threads bin by bin, in a window (ns from the start) or the whole recording."""
    begin, end = window or (0, recording.wall_ns)
    bin_ns = max(LEAST_BIN_NS, -(-(end - begin) // BINS))
    known = [each for each in work.threads if each.pid == work.pid][:MOST_THREADS]
    rows = {each.thread_id: row for row, each in enumerate(known)}
    cpu_ns = np.zeros((len(known), max(1, -(-(end - begin) // bin_ns))), np.int64)
    main = np.array([each.role == "main" for each in known], np.bool_)
    found = WorkOverTime(tuple(rows), cpu_ns, main, begin, end, bin_ns)
    if not rows or not recording.has("slice"):
        return found
    origin = recording.window_ns[0] + begin
    of_program = ", ".join(map(str, rows))
    # A thread runs on one CPU at a time; a stranger's table may say otherwise, beyond 64 bits.
    inside = f"least(b, (bin + 1) * {bin_ns}) - greatest(a, bin * {bin_ns})"
    text = f"""SELECT thread_id, bin, least(sum({inside}), {bin_ns})::BIGINT AS ns
      FROM (SELECT *, unnest(range(a // {bin_ns}, (b - 1) // {bin_ns} + 1)) AS bin FROM (
        SELECT thread_id, greatest(start_ns - {origin}, 0) AS a, least(start_ns + running_ns - {origin}, {end - begin}) AS b
        FROM slice WHERE running_ns > 0 AND thread_id IN ({of_program})
          AND start_ns < {origin + end - begin} AND start_ns + running_ns > {origin}))
      GROUP BY thread_id, bin"""
    for thread, part, ns in recording.query(text).fetchall():
        cpu_ns[rows[thread], part] = ns
    return found
