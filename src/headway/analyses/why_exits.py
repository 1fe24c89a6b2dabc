"""From when on did a process end, so that whoever was woken was woken to die?

Question   the thread that ends a process wakes all others that wait in it. Who was waited for is not told by that.
Method     of each JVM that ended in the recording, the last wakings of its threads: those of the last waker, without a gap, as
           the kernel wakes them all in one go. A JVM always has threads that wait until then, so the last waking is of these.
Assumes    nobody wakes the threads of a process after it was told to end.
Wrong when the waker woke another thread within the same moment before that. Processes without a JVM are left out: if none of
           their threads waited at the end, their last waking was a usual one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.store.packing import BLOCKED_STATE, WAKER_IRQ

if TYPE_CHECKING:
    from collections.abc import Mapping

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
_NEAR_NS = 1_000_000_000
"""An ended process is gone within this time: what its threads still do, they do in the kernel."""


@dataclass(frozen=True, slots=True)
class Exit:
    """How a process ended: thread `waker` (thread_id, negative: not of the recorded program) woke all from `start_ns` on."""

    pid: int
    waker: int
    start_ns: int


def exits(recording: Recording) -> tuple[Exit, ...]:
    """Return when the JVMs that ended in a recording were told to (CLOCK_MONOTONIC ns)."""
    ended = recording.query(
        "SELECT pid, MAX(end_ns) FROM thread GROUP BY pid HAVING BOOL_OR(kind = 'vm') AND COUNT(*) = COUNT(end_ns)"
    ).fetchall()
    if not ended:
        return ()
    wakings = _wakings(recording, min(ns for _, ns in ended) - _NEAR_NS)
    pid_of = _by_thread(recording, {pid: pid for pid, _ in ended}, -1)[wakings.thread]
    found = (_exit(pid, wakings.of((pid_of == pid) & (wakings.ns > ns - _NEAR_NS))) for pid, ns in ended)
    return tuple(each for each in found if each is not None)


def exit_ns(recording: Recording) -> Ints:
    """Return by thread_id from when on whoever wakes a thread wakes it to die; NEVER where that is not known."""
    return _by_thread(recording, {each.pid: each.start_ns for each in exits(recording)}, NEVER)


@dataclass(frozen=True, eq=False)
class _Wakings:
    """Ends of waits that a signal ends, too."""

    thread: Ints
    ns: Ints
    waker: Ints
    is_interrupt: NDArray[np.bool_]

    def of(self, which: NDArray[np.bool_]) -> _Wakings:
        """Return some of them, the last one first."""
        rows = np.flatnonzero(which)
        rows = rows[np.argsort(-self.ns[rows], kind="stable")]
        return _Wakings(self.thread[rows], self.ns[rows], self.waker[rows], self.is_interrupt[rows])


def _exit(pid: int, wakings: _Wakings) -> Exit | None:
    """Return what the last wakings of a process, the last one first, tell of its end."""
    if not len(wakings.ns) or wakings.is_interrupt[0] or wakings.waker[0] == -1:
        return None
    waker = int(wakings.waker[0])
    goes_on = (wakings.waker[1:] == waker) & (-np.diff(wakings.ns) <= _AT_ONCE_NS)
    last = int(np.argmin(np.append(goes_on, False)))
    return Exit(pid, waker, int(wakings.ns[last]))


def _wakings(recording: Recording, since_ns: int) -> _Wakings:
    """Return the wakings in all slices that end after a time. Slices are stored in that order: the end of the table is enough."""
    parts = []
    for batch in recording.stored_backwards("slice"):
        columns = {name: batch.column(name).to_numpy(zero_copy_only=False).astype(np.int64) for name in _STORED}
        end = columns["end_ticks"] * columns["tick_ns"]
        woken = end - (columns["running_ticks"] + columns["runnable_ticks"]) * columns["tick_ns"]
        use = np.flatnonzero((columns["blocked_ticks"] > 0) & ((columns["flags"] & BLOCKED_STATE) == _SLEEPING))
        irq = (columns["flags"][use] & WAKER_IRQ) > 0
        parts.append(_Wakings(columns["thread_id"][use], woken[use], columns["waker_id"][use], irq))
        if len(end) and end[0] < since_ns:
            break
    names = _Wakings.__dataclass_fields__
    none = np.zeros(0, np.int64)
    empty = _Wakings(none, none, none, none > 0)
    return _Wakings(*(np.concatenate([getattr(part, name) for part in (empty, *parts)]) for name in names))


def _by_thread(recording: Recording, of_pid: Mapping[int, int], otherwise: int) -> Ints:
    rows = recording.query("SELECT thread_id, pid FROM thread").fetchall()
    found = np.full(max((thread for thread, _ in rows), default=-1) + 1, otherwise, np.int64)
    for thread, pid in rows:
        found[thread] = of_pid.get(pid, otherwise)
    return found
