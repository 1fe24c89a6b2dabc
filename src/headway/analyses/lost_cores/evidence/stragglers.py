"""Detects stragglers: a task much longer than those of equal threads, and the threads that wait for it.

Question   one thread works, cores are idle: is it the last of a stage, whose other tasks are done long ago?
Method     threads whose names differ in numbers only do the same kind of work. A task is a stretch between two waits for work
           of such a thread (or its birth and death). The thread's longest task is compared with the longest one of each of the
           others that overlaps with it: that is the stage. Who waited for a result meanwhile is named.
Assumes    a pool's threads have a name in common. A wait for a lock or for I/O is part of a task.
Wrong when tasks of one pool are of different kinds: then that one takes longer says nothing about how work was shared.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.units import duration
from headway.analyses.waits.classification.roles import IS_IDLE
from headway.analyses.waits.rules import RESULT, RULES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.places import Places

    Ints = NDArray[np.int64]
    Window = tuple[int, int]

LONGER = 1.5
"""A straggler's task takes so many times as long as the next one, at least."""
LEAST = 3
"""Equal threads that make a stage."""
_RESULTS = np.array([rule.waiting == RESULT for rule in RULES])
_MOST_NAMES = 2


@dataclass(frozen=True, slots=True)
class Straggler:
    """A thread's task (ns from the recording's start), the longest one of an equal thread beside it, and how many are equal."""

    start_ns: int
    end_ns: int
    next_ns: int
    threads: int
    crowd: str

    @property
    def ns(self) -> int:
        """Return how long the task took."""
        return self.end_ns - self.start_ns


def straggler(places: Places, thread: int, window: Window) -> Straggler | None:
    """Return a thread's task if it is much longer than its equals' at that time, else None."""
    waits = places.waits
    if waits.sites is None or thread < 0:
        return None
    equals = [one for one in places.namesakes(thread) if one != thread]
    if len(equals) + 1 < LEAST:
        return None
    own = _tasks(places, thread, window)
    if not len(own):
        return None
    begin, end = max(own.tolist(), key=lambda task: task[1] - task[0])
    others = sorted((_longest_beside(_tasks(places, one, window), begin, end) for one in equals), reverse=True)
    others = [ns for ns in others if ns > 0]
    if len(others) + 1 < LEAST or end - begin < LONGER * others[0]:
        return None
    return Straggler(begin, end, others[0], len(others) + 1, places.crowd(thread)[0] or "")


def _tasks(places: Places, thread: int, window: Window) -> Ints:
    """Return the tasks of a thread as rows (begin, end): what lies between its waits for work, and its life."""
    waits = places.waits
    of_thread = np.flatnonzero(waits.thread == thread)
    assert waits.sites is not None
    of_thread = of_thread[IS_IDLE[waits.sites.rule[waits.block[of_thread]]]]
    of_thread = of_thread[np.argsort(waits.start[of_thread], kind="stable")]
    born, died = places.life(thread)
    begins = np.concatenate([[max(born, window[0])], waits.end[of_thread]])
    ends = np.concatenate([waits.start[of_thread], [min(died, window[1])]])
    longer = (ends > begins) & (begins >= window[0]) & (ends <= window[1])
    return np.stack([begins, ends], axis=1)[longer].astype(np.int64)


def _longest_beside(tasks: Ints, begin: int, end: int) -> int:
    beside = tasks[(tasks[:, 1] > begin) & (tasks[:, 0] < end)]
    return int((beside[:, 1] - beside[:, 0]).max(initial=0))


def who_waits(places: Places, start_ns: int, end_ns: int) -> list[tuple[str, str | None]]:
    """Return the threads that waited for a result in more than half of a stretch, and in which method; each name once."""
    waits = places.waits
    if waits.sites is None:
        return []
    inside = np.minimum(waits.end, end_ns) - np.maximum(waits.start, start_ns)
    rows = np.flatnonzero((inside > (end_ns - start_ns) / 2) & (waits.block >= 0))
    rows = rows[_RESULTS[waits.sites.rule[waits.block[rows]]]]
    found: Counter[tuple[str, str | None]] = Counter()
    for row in rows.tolist():
        found[places.thread(int(waits.thread[row]))[0] or "?", places.site(np.array([row]))[0]] += 1
    return [each for each, _ in found.most_common(_MOST_NAMES)]


def straggler_evidence(
    places: Places, thread: int, window: Window
) -> tuple[list[str], dict[str, float | int | str | None]]:
    """Return sentences and figures about a straggler and who waits for it; empty when there is none."""
    found = straggler(places, thread, window)
    if found is None:
        return [], {}
    name = places.thread(thread)[0]
    text = [
        f"Of {found.threads} equal threads ('{found.crowd}') it is the straggler: '{name}' was busy with one task for"
        f" {duration(found.ns)}, the next one for {duration(found.next_ns)}."
    ]
    waiting = who_waits(places, found.start_ns, found.end_ns)
    if waiting:
        named = ", ".join(f"'{who}'{f' in {method}' if method else ''}" for who, method in waiting)
        text.append(f"Meanwhile a result was waited for by {named}.")
    figures = {"straggler_ns": found.ns, "next_ns": found.next_ns, "equal_threads": found.threads}
    return text, {**figures, "waits_for_it": waiting[0][0] if waiting else None}
