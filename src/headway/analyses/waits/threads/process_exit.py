"""When each process started to exit: from then on its threads are woken only to die.

Question   the thread that ends a process wakes all others that wait in it. Who was waited for is not told by that.
Method     of each JVM that ended in the recording, the last wakings of its threads: those by who woke most of them in the last
           moment, without a gap, as the kernel wakes them all in one go. A JVM always has threads that wait until then.
Assumes    nobody but timers, and threads that have not been told yet, wakes threads of a process after it was told to end.
Wrong when the waker woke another thread within the same moment before that. Processes without a JVM are left out: if none of
           their threads waited at the end, their last waking was a usual one. A JVM that is told to end stops all threads at a
           safepoint first, for up to 0.3 s while one of them is in native code: who waits for that is told as woken to die, too.
Bounded    backwards from the end of the table to where the JVM that ended first did; only wakings of such JVMs are kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from headway.analyses.common.columns import places_of
from headway.store.packing import BLOCKED_STATE, WAKER_IRQ
from headway.store.sql import woken_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

NEVER = int(np.iinfo(np.int64).max)
_SLEEPING = 1
"""blocked_state of waits that a signal ends, too."""
_STORED = (
    *("tick_ns", "end_ticks", "running_ticks", "runnable_ticks", "blocked_ticks"),
    *("thread_id", "waker_id", "flags"),
)
_AT_ONCE_NS = 1_000_000
"""Between two of these wakings; one takes a microsecond or two."""
_FEW = 16
"""Up to so many ended JVMs are conditions in a query's text; more are a table, as DuckDB plans long texts slowly."""
_NEAR_NS = 1_000_000_000
"""Before a process's last waking: as far back as its end may have begun."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: thread `waker` (thread_id, negative: not of the recorded program) woke all from `start_ns` on."""

    pid: int
    waker: int
    start_ns: int


_found: WeakKeyDictionary[Recording, tuple[Exit, ...]] = WeakKeyDictionary()
"""What was found in the recordings that are in use."""


def exits(recording: Recording) -> tuple[Exit, ...]:
    """Return when the JVMs that ended in a recording were told to (CLOCK_MONOTONIC ns); looked for once, as many parts ask."""
    if recording not in _found:
        _found[recording] = _look(recording)
    return _found[recording]


def _look(recording: Recording) -> tuple[Exit, ...]:
    rows = recording.query(
        "SELECT pid FROM thread GROUP BY pid HAVING BOOL_OR(kind = 'vm') AND COUNT(*) = COUNT(end_ns) ORDER BY pid"
    ).fetchall()
    pids = [int(pid) for (pid,) in rows]
    found = zip(pids, _last_wakings(recording, pids), strict=True) if pids else ()
    exits_found = (_exit(pid, wakings) for pid, wakings in found)
    return tuple(each for each in exits_found if each is not None)


def exit_ns(recording: Recording) -> Ints:
    """Return by thread_id from when on wakeups only let the thread die; NEVER where that is unknown."""
    return _by_thread(recording, {each.pid: each.start_ns for each in exits(recording)}, NEVER)


def woken_to_die(recording: Recording) -> str:
    """Return the condition for a wait that a process's end ended, of a slice s."""
    found, woken = exits(recording), woken_ns("s.")
    if len(found) <= _FEW:  # then it is faster so
        own = "s.thread_id IN (SELECT thread_id FROM thread WHERE pid = {})"
        each_one = [
            f"(s.waker_id = {each.waker} AND {woken} >= {each.start_ns} AND {own.format(each.pid)})" for each in found
        ]
        return f"({' OR '.join(each_one) or 'FALSE'})"
    ended = ", ".join(f"({each.pid}, {each.waker}, {each.start_ns})" for each in found)
    return (
        f"EXISTS (SELECT 1 FROM (VALUES {ended}) AS e(pid, waker, since_ns) JOIN thread d ON d.pid = e.pid"
        f" WHERE d.thread_id = s.thread_id AND e.waker = s.waker_id AND {woken} >= e.since_ns)"
    )


def parents(recording: Recording) -> dict[int, set[int]]:
    """Return the recorded child processes of each recorded process: {pid: child pids}."""
    # Numbers are used again: of several threads with a parent's the last that began before the child, so that each has one.
    rows = recording.query(
        "SELECT DISTINCT p.pid, t.pid FROM (SELECT * FROM thread WHERE tid = pid) t"
        " ASOF JOIN thread p ON p.tid = t.parent_tid AND p.start_ns <= t.start_ns WHERE p.pid <> t.pid"
    ).fetchall()
    found: dict[int, set[int]] = {}
    for parent, child in rows:
        found.setdefault(parent, set()).add(child)
    return found


@dataclass(frozen=True, eq=False)
class _Wakings:
    """Ends of waits that a signal ends, too, of one process; -1: not known by whom, or by an interrupt."""

    ns: Ints
    waker: Ints

    def where(self, which: NDArray[np.bool_] | Ints) -> _Wakings:
        return _Wakings(self.ns[which], self.waker[which])

    def and_before(self, others: _Wakings) -> _Wakings:
        """Return these and others, of them all those that are near the last one."""
        both = _Wakings(np.append(self.ns, others.ns), np.append(self.waker, others.waker))
        return both.where(both.ns > both.ns.max(initial=0) - _NEAR_NS)


_NONE = _Wakings(np.zeros(0, np.int64), np.zeros(0, np.int64))


def _exit(pid: int, wakings: _Wakings) -> Exit | None:
    """Return what the last wakings of a process tell of its end."""
    at_last = wakings.where(wakings.ns > wakings.ns.max(initial=0) - _AT_ONCE_NS)
    wakers, counts = np.unique(at_last.waker[at_last.waker != -1], return_counts=True)
    if not len(wakers):
        return None
    waker = int(wakers[np.argmax(counts)])
    ns = np.sort(wakings.ns[wakings.waker == waker])[::-1]
    goes_on = -np.diff(ns) <= _AT_ONCE_NS
    return Exit(pid, waker, int(ns[np.argmin(np.append(goes_on, False))]))


def _last_wakings(recording: Recording, pids: Sequence[int]) -> list[_Wakings]:
    """Return the wakings in each process near its last one. Slices are stored in the order of their ends."""
    place = _by_thread(recording, {pid: i for i, pid in enumerate(pids)}, -1)
    last = [_NONE] * len(pids)
    for batch in recording.stored_backwards("slice"):
        columns = {name: batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in _STORED}
        use = np.flatnonzero((columns["blocked_ticks"] > 0) & ((columns["flags"] & BLOCKED_STATE) == _SLEEPING))
        thread = columns["thread_id"][use]
        is_known = (thread >= 0) & (thread < len(place))
        use = use[is_known & (place[np.where(is_known, thread, 0)] >= 0)]
        tick, end, running, runnable = (np.maximum(columns[name][use], 0) for name in _STORED[:4])
        waker = np.where((columns["flags"][use] & WAKER_IRQ) > 0, -1, columns["waker_id"][use])
        wakings, process = _Wakings((end - running - runnable) * tick, waker), place[columns["thread_id"][use]]
        for i, of_process in places_of(process):
            last[i] = last[i].and_before(wakings.where(of_process))
        begin_ns = int(columns["end_ticks"][0] * columns["tick_ns"][0]) if len(columns["tick_ns"]) else NEVER
        if all(len(each.ns) and begin_ns < each.ns.max() - _NEAR_NS for each in last):
            break
    return last


def _by_thread(recording: Recording, of_pid: Mapping[int, int], otherwise: int) -> Ints:
    rows = recording.query("SELECT thread_id, pid FROM thread").fetchall()
    found = np.full(max((thread for thread, _ in rows), default=-1) + 1, otherwise, np.int64)
    for thread, pid in rows:
        found[thread] = of_pid.get(pid, otherwise)
    return found
