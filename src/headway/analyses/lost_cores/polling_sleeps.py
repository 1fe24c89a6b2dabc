"""Detects threads that sleep in a loop until other threads are done, and measures by how much they slept too long.

Question   does `while (!done) Thread.sleep(10)` cost anything, or does it wait for others, as a join would?
Method     by what others do. A thread polls if it does hardly anything between its sleeps, and while others work hardly ever
           wakes another thread there (who hands out work at a pace does), if others are at work when nearly each of its sleeps
           begins, and it doesn't sleep on once none of them is. Without such sleeps it would go on as soon as the last of the
           others has stopped: what it slept after that is the gain, at most.
Assumes    the end of the program waits for what the others do.
Wrong when these are at work nearly always, for nobody, and all stop now and then: then more may be gained.
Bounded    by MOST_WATCHED other threads, those that ran longest.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.columns import distinct
from headway.analyses.lost_cores.cause_kinds import NAMES
from headway.model.kinds import PROGRAM
from headway.store.sql import literal, woken_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
    from headway.analyses.lost_cores.grouping import LossRow
    from headway.analyses.lost_cores.places import Places
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

MOST_WATCHED, MOST_INTERVALS = 32, 1 << 23
"""How many other threads are read to see when a sleeping thread is alone, and how many of their running times are kept for the
next sleeping thread (16 bytes each)."""
WORK_BETWEEN = 0.25
"""A thread that runs longer between its sleeps, as a part of them, does more than look."""
LEAST_LOOKS = 3
"""So often a thread has to sleep again while others work before that tells anything."""
HARDLY = 0.1
"""Part of the sleeps that may begin while nobody else works, as others stop for a moment without being done; and part of the
looks while others work at which the thread may wake others."""
_PROGRAM = ", ".join(literal(str(each)) for each in PROGRAM)
ENDS = 0.5
"""Part of the looks at which nobody else works that have to come before something else than such a sleep."""


class PollingSleeps:
    """Tells of losses to sleep by how much threads overslept that slept until others were done; each is looked at once."""

    def __init__(self, recording: Recording, places: Places, times: KernelTimes) -> None:
        """Nothing is loaded until it is needed."""
        self._recording = recording
        self._places = places
        self._times = times
        self._others = WatchedThreads(recording)
        self._found: dict[tuple[int, tuple[int, ...], tuple[int, int]], int | None] = {}

    def overslept_ns(self, row: LossRow, window: tuple[int, int]) -> int | None:
        """Return for how long the sleeps of a loss went on after others were done; None where it is no such loss."""
        if NAMES[row.cause] != causes.SLEEP or row.is_rest:
            return None
        which = (row.key, tuple(row.threads) if row.key < 0 else (), window)
        if which not in self._found:
            if row.key < 0:
                thread, start, end = self._times.calls(causes.SLEEP, row.threads)
            else:
                thread, start, end = self._places.waits_for(causes.SLEEP, row.key, window)
            inside = (start < window[1]) & (end > window[0])
            self._found[which] = slept_too_long_ns(
                self._recording, self._others, thread[inside], start[inside], end[inside]
            )
        return self._found[which]


class WatchedThreads:
    """When the threads that ran longest were at work: looked up once for all that sleep."""

    def __init__(self, recording: Recording) -> None:
        """Nothing is loaded until it is needed."""
        self._recording = recording
        self._active: dict[int, tuple[Ints, Ints]] = {}
        self._intervals = 0

    @cached_property
    def _longest(self) -> list[int]:
        rows = self._recording.query(
            "SELECT s.thread_id FROM slice s JOIN thread t USING (thread_id)"
            f" WHERE t.kind IN ({_PROGRAM}) GROUP BY 1 ORDER BY SUM(s.running_ns) DESC, 1 LIMIT {MOST_WATCHED + 1}"
        ).fetchall()
        return [thread for (thread,) in rows]

    def at(self, thread: int, ns: Ints) -> tuple[Bools, Ints]:
        """Return by instant whether any thread but this one was at work then, and if not, when the last one stopped."""
        is_active, stopped_ns = np.zeros(len(ns), bool), np.zeros(len(ns), np.int64)
        for other in [each for each in self._longest if each != thread][:MOST_WATCHED]:
            woken, until = self._active_of(other)
            at = np.searchsorted(woken, ns, side="right") - 1
            stop = np.append(until, 0)[at]  # before its first time at work it stopped at no time
            is_active |= stop > ns
            stopped_ns = np.maximum(stopped_ns, stop)
        return is_active, stopped_ns

    def _active_of(self, thread: int) -> tuple[Ints, Ints]:
        found = self._active.get(thread)
        if found is None:
            found = _active(self._recording, thread)
            if self._intervals + len(found[0]) <= MOST_INTERVALS:
                self._intervals += len(found[0])
                self._active[thread] = found
        return found


def slept_too_long_ns(recording: Recording, others: WatchedThreads, thread: Ints, start: Ints, end: Ints) -> int | None:
    """Return for how long the sleeps of a thread (ns from the recording's start) went on after others had stopped; None: it is
    not known to poll, as where several threads sleep so.
    """
    if len(start) <= LEAST_LOOKS or len(distinct(thread)) != 1 or not recording.has("slice"):
        return None
    order, origin = np.argsort(start, kind="stable"), recording.window_ns[0]
    start, end, one = start[order] + origin, end[order] + origin, int(thread[0])
    looked_ns, worked_ns = _looks(recording, one, start, end)
    if worked_ns > WORK_BETWEEN * int((end - start).sum()):
        return None
    is_active, stopped_ns = others.at(one, np.concatenate([start, looked_ns]))
    (at_start, at_look), stopped_ns = np.split(is_active, 2), stopped_ns[len(start) :]
    slept_on = ~at_look & np.append(~at_start[1:], False)
    done = int(np.count_nonzero(~at_look))
    is_poll = (
        done > 0
        and np.count_nonzero(at_look) >= LEAST_LOOKS
        and np.count_nonzero(at_look[:-1] & _wakes(recording, one, start, end)) <= HARDLY * np.count_nonzero(at_look)
        and np.count_nonzero(~at_start) <= HARDLY * len(start)
        and np.count_nonzero(slept_on) <= (1 - ENDS) * done
    )
    return int(np.maximum(end - np.maximum(stopped_ns, start), 0)[~at_look].sum()) if is_poll else None


def _looks(recording: Recording, thread: int, start: Ints, end: Ints) -> tuple[Ints, int]:
    """Return when a thread looked: when it ran again after each of its sleeps; and how long it ran between them in all."""
    rows = recording.query(
        "SELECT start_ns, running_ns FROM slice WHERE thread_id = $1 ORDER BY start_ns", (thread,)
    ).fetchnumpy()
    began, ran = (np.asarray(rows[name], np.int64) for name in ("start_ns", "running_ns"))
    at, sums = np.searchsorted(began, end), np.append(0, np.cumsum(ran))
    looked_ns = np.append(began, end[-1])[at]
    until = np.searchsorted(began, start[1:])
    return np.maximum(looked_ns, end), int(np.maximum(sums[until] - sums[at[:-1]], 0).sum())


def _wakes(recording: Recording, thread: int, start: Ints, end: Ints) -> Bools:
    """Return of each sleep but the last whether the thread woke another one of the program between it and the next sleep."""
    rows = recording.query(
        f"SELECT {woken_ns('s.')} AS woken FROM slice s JOIN thread t USING (thread_id)"
        f" WHERE s.waker_id = $1 AND NOT s.waker_irq AND t.kind IN ({_PROGRAM}) AND s.thread_id != $1 ORDER BY 1",
        (thread,),
    ).fetchnumpy()
    woken = np.asarray(rows["woken"], np.int64)
    return np.searchsorted(woken, start[1:], side="right") > np.searchsorted(woken, end[:-1])


def _active(recording: Recording, thread: int) -> tuple[Ints, Ints]:
    """Return the times from which, and up to which, a thread ran or was ready to run without a wait between."""
    rows = recording.query(
        f"SELECT {woken_ns()} AS woken, start_ns + running_ns AS until, COALESCE(blocked_ns, 0) AS blocked FROM slice"
        " WHERE thread_id = $1 ORDER BY start_ns",
        (thread,),
    ).fetchnumpy()
    woken, until, blocked = (np.asarray(rows[name], np.int64) for name in ("woken", "until", "blocked"))
    first = np.flatnonzero((blocked > 0) | (np.arange(len(woken)) == 0))
    return woken[first], until[np.append(first[1:] - 1, len(woken) - 1)] if len(woken) else until
