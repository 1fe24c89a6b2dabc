"""Estimates the gain without some waits of a program that would have gone on: how much more its threads would do together.

Question   how much faster is a server, whose end is nobody's, without a lock? The end of one thread tells nothing: one that was
           let in seldom would be far ahead, one that had the lock not at all.
Method     a thread that a replay puts ahead by a part of its life does its work in the rest, and so more in all of it. The
           work of threads is compared by the time they ran in the second half of the window.
Assumes    threads that ran in the second half would go on as they did.
Wrong when a thread begins and ends with its task: others take its place, and what it gains is nowhere. Such threads, and virtual
           ones, which the kernel does not know, count by the core time that their waits lost (`unseen_part`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.critical_path.stopped import handlers
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.store import Recording

    Ints = NDArray[np.int64]

_MOST = 64
"""Threads that are looked at, those that ran most."""
_LONG = 0.5
"""A thread that is there for this part of the window goes on; others come and go with their tasks."""


@dataclass(frozen=True, slots=True)
class OngoingThreads:
    """Threads that would have gone on: thread_id, how long each ran in the second half, and how long each was there, in ns."""

    threads: list[int]
    running_ns: NDArray[np.float64]
    life_ns: NDArray[np.float64]

    def ahead_ns(self, ahead_ns: Ints, wall_ns: int) -> Ints:
        """Return by group the time saved of what all of them did in `wall_ns`; `ahead_ns`: by thread and group."""
        # Who runs half of the second half runs half of its life, and needs that at least.
        least_ns = np.minimum(self.running_ns * 2 * self.life_ns / max(wall_ns, 1), self.life_ns)
        needed_ns = np.maximum(self.life_ns[:, None] - ahead_ns, np.maximum(least_ns, 1)[:, None])
        done = (self.running_ns[:, None] * self.life_ns[:, None] / needed_ns).sum(axis=0)
        more = done / max(float(self.running_ns.sum()), 1.0)
        return np.asarray(wall_ns - wall_ns / np.maximum(more, 1.0), np.int64)


def acting(recording: Recording, threads: PathThreadTable) -> list[int]:
    """Return the program's threads. A JVM's first one only waits for the main thread, and others act for signals alone."""
    first = threads.tid == threads.pid
    of_signals = handlers(recording, threads)
    has_more = {int(pid) for pid in threads.pid[~first]}
    return [
        i
        for i, kind in enumerate(threads.kinds)
        if kind in PROGRAM and i not in of_signals and not (first[i] and int(threads.pid[i]) in has_more)
    ]


def ongoing_threads(
    recording: Recording, table: PathThreadTable, program: Collection[int], window: tuple[int, int]
) -> OngoingThreads:
    """Return the program's threads that were there for most of a window (CLOCK_MONOTONIC ns) and ran in its second half."""
    begin, end = window
    half = (begin + end) // 2
    rows = recording.query(
        "SELECT thread_id, SUM(LEAST(start_ns + running_ns, ?) - GREATEST(start_ns, ?))::BIGINT FROM slice"
        " WHERE start_ns < ? AND start_ns + running_ns > ? GROUP BY thread_id",
        [end, half, end, half],
    ).fetchall()
    life = life_ns(table, window)
    wanted = frozenset(program)
    stay = [
        (ns, thread) for thread, ns in rows if thread in wanted and ns > 0 and life[thread] >= _LONG * (end - begin)
    ]
    chosen = sorted(stay, reverse=True)[:_MOST]
    threads = [thread for _, thread in chosen]
    return OngoingThreads(threads, np.array([ns for ns, _ in chosen], float), life[threads].astype(float))


def life_ns(table: PathThreadTable, window: tuple[int, int]) -> Ints:
    """Return for how long of a window (CLOCK_MONOTONIC ns) each thread was there."""
    return np.asarray(np.maximum(np.minimum(table.end_ns, window[1]) - np.maximum(table.birth_ns, window[0]), 0))


def unseen_part(
    table: PathThreadTable, platform_threads: int, threads: Ints, waited_ns: Ints, window: tuple[int, int]
) -> float:
    """Return which part (0 to 1) of some waiting time is of virtual threads, or of threads that end with their task."""
    total = float(waited_ns.sum())
    if not total:
        return 0.0
    stays = np.append(life_ns(table, window) >= _LONG * (window[1] - window[0]), False)
    is_known = threads < min(platform_threads, len(table))
    seen = np.where(is_known, stays[np.where(is_known, threads, len(table))], False)
    return float(waited_ns[~seen].sum()) / total
