"""How much would the program have gained, had the waits of one cause taken no time and all else gone on as it was recorded?

Question   in which order do causes come? Lost core time and bounds are the ends of what removing a cause may give; either
           order is wrong for some programs with two causes: a lock delays who is joined later, and what is lost at the join
           goes with the lock; while threads wait for it, others may work.
Method     waits vanish: the recording is replayed without them (native/account/replay.h). Each thread does what it did
           between its waits; a wait is over when the thread that ended it comes to that point of its work; a thread is born
           where the one that started it comes to. What counts is how much earlier the thread that was active last comes to
           its end. Work that is spread (serial sections, too few tasks, imbalance; the slow side of a queue) gives what it
           lost, shared among the cores. Of stops, start and end of the JVM, the bound. Never less than the lost core time,
           shared among the cores, and never more than the bound.
Assumes    what was waited for in the recording, and in which order locks were got, stays; cores are free, but for the bound.
Wrong when another order would come about: who came late to a barrier comes early, and another one is last. Virtual threads begin
           where they began. Where locks were not recorded nothing is replayed, and no likely gain told of these causes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses import why_types as causes
from headway.analyses.critical_path_walk import last_active, load_threads
from headway.analyses.lock_states import Scale

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headway.analyses.critical_path_walk import Threads
    from headway.analyses.why_bounds import Ground
    from headway.analyses.why_waits import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Spans = tuple[Ints, Ints, Ints]

VANISHING = frozenset({causes.LOCK, causes.CONDITION, causes.SLEEP, causes.IO})
"""Causes whose waits are replayed."""
STOPS = frozenset({causes.GC, causes.SAFEPOINT, causes.START, causes.END, causes.QUOTA})
"""Causes while which nobody runs: what they take is known."""
MOST_GROUPS = 24
MOST_NUMBERS = 4_000_000
"""Numbers that a replay holds: threads x groups."""
NEAR_NS = 100_000_000
"""The last thread is looked for in so much before the end first."""
_WOKEN, _ENDED, _BORN = range(3)
"""ReplayEvent of native/account/replay.h."""


def saved_ns(cause: str, core_ns: int, bound: float | None, ground: Ground, replayed_ns: int) -> float:
    """Return the wall time that would likely be gained without a loss; of what has no bound, its core time among the cores."""
    spread = core_ns / max(ground.cores, 1e-9)
    if bound is None:
        return min(max(spread, float(replayed_ns)), float(ground.wall_ns))
    most = ground.wall_ns * (1 - 1 / bound)
    return most if cause in STOPS else min(max(spread, float(replayed_ns)), most)


class Replay:
    """Replays the waits of one recording within a span, in windows of it (ns from the recording's start)."""

    def __init__(self, recording: Recording, waits: Waits, span: tuple[int, int]) -> None:
        """Nothing is loaded until it is needed."""
        self.recording = recording
        self.waits = waits
        self.span = span

    def groups(self) -> int:
        """Return how many groups can be replayed beside each other."""
        return max(1, min(MOST_GROUPS, MOST_NUMBERS // max(self._size, 1)))

    def ahead(self, groups: Mapping[int, int], calls: Mapping[int, Spans], count: int, window: tuple[int, int]) -> Ints:
        """Return by group how far ahead the last thread would be at the window's end without the waits of that group.

        `groups`: the group by key of what is waited for; `calls`: by group (thread, start, end) of waits that the kernel alone
        tells of. There are `count` groups.
        """
        last = self._last(window) if count else None
        if last is None:
            return np.zeros(count, np.int64)
        of_key = np.full(len(self.waits.places) + 1, -1, np.int32)  # the last one: no key
        for key, group in groups.items():
            of_key[key] = group
        columns = self._within(window, of_key)
        for group, spans in calls.items():
            columns = _merged(columns, self._called(group, spans, window))
        return _replayed(columns, self._size, count, last)

    def _last(self, window: tuple[int, int]) -> int | None:
        """Return the program's thread that was active last; looked for from the window's end backwards."""
        length, near = window[1] - window[0], NEAR_NS
        while True:
            begin = window[1] - min(near, length)
            found = last_active(self.recording, self._program, (self._origin + begin, self._origin + window[1]))
            if found is not None or near >= length:
                return found
            near *= 16

    # --- what happened -------------------------------------------------------------------------------------------------

    @cached_property
    def _threads(self) -> Threads:
        return load_threads(self.recording)

    @cached_property
    def _origin(self) -> int:
        return self.recording.window_ns[0]

    @cached_property
    def _program(self) -> list[int]:
        """The program's threads. A JVM's first one only waits for the main thread, and the kernel alone knows for whom."""
        threads = self._threads
        first = threads.tid == threads.pid
        has_more = {int(pid) for pid in threads.pid[~first]}
        return [
            i
            for i, kind in enumerate(threads.kinds)
            if kind in ("app", "carrier") and not (first[i] and int(threads.pid[i]) in has_more)
        ]

    @cached_property
    def _other(self) -> Ints:
        """Who ended each piece, -1 where that is not known: whom it waits for, else who woke it."""
        waits = self.waits
        if waits.data is None:
            return np.full(len(waits), -1)
        waker = np.where(waits.target >= 0, waits.target, waits.data.blocks.waker[waits.block])
        return np.where(waker == waits.thread, -1, waker)

    @cached_property
    def _size(self) -> int:
        waits = self.waits
        ends = (len(self._threads), *(int(each.max(initial=-1)) + 1 for each in (waits.thread, self._other)))
        return max(ends)

    @cached_property
    def _events(self) -> tuple[Ints, Ints, Ints, Ints, Ints]:
        """Events of the span in order: time, what, thread, other, and the piece (-1: a birth)."""
        waits, threads = self.waits, self._threads
        rows = np.arange(len(waits))
        waking = waits.data.blocks.waking[waits.block] if waits.data is not None else waits.end
        at = np.where((waking > waits.start) & (waking < waits.end), waking, waits.end)
        woken = np.flatnonzero(self._other >= 0)
        birth = threads.birth_ns - self._origin
        born = np.flatnonzero((threads.parent >= 0) & (birth > self.span[0]) & (birth < self.span[1]))
        parts = (
            (birth[born], np.full(len(born), _BORN), born, threads.parent[born], np.full(len(born), -1)),
            (at[woken], np.full(len(woken), _WOKEN), waits.thread[woken], self._other[woken], woken),
            (waits.end, np.full(len(rows), _ENDED), waits.thread, self._other, rows),
        )
        time, what, thread, other, piece = (
            np.concatenate([np.asarray(part[i], np.int64) for part in parts]) for i in range(5)
        )
        order = np.lexsort((what, time))
        return time[order], what[order], thread[order], other[order], piece[order]

    def _within(self, window: tuple[int, int], of_key: NDArray[np.int32]) -> tuple[Ints, ...]:
        """Return the events of a window: time, what, thread, other, length, group; a wait counts from the window's begin on."""
        time = self._events[0]
        a, b = np.searchsorted(time, window[0], side="right"), np.searchsorted(time, window[1], side="right")
        time, what, thread, other, piece = (column[a:b] for column in self._events)
        start = np.append(self.waits.start, 0)[piece]
        length = np.where(what == _ENDED, time - np.maximum(start, window[0]), 0)
        group = np.where(what == _ENDED, of_key[np.append(self.waits.key, -1)[piece]], -1)
        return time, what, thread, other, length, group

    def _called(self, group: int, spans: Spans, window: tuple[int, int]) -> tuple[Ints, ...]:
        """Return the events of waits that the kernel alone tells of; what the JVM tells of, too, is left out."""
        thread, start, end = spans
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        use = (end > start) & ~self._is_told(thread, (start + end) // 2)
        thread, start, end = thread[use], start[use], end[use]
        none = np.full(len(thread), -1)
        order = np.argsort(end, kind="stable")
        return (
            *(end[order], np.full(len(thread), _ENDED), thread[order], none),
            *((end - start)[order], np.full(len(thread), group)),
        )

    def _is_told(self, thread: Ints, moment: Ints) -> NDArray[np.bool_]:
        """Return at which moments a thread is in a piece."""
        waits = self.waits
        if not len(waits):
            return np.zeros(len(moment), bool)
        order = self._by_thread
        scale = Scale.of(np.concatenate([waits.start, moment]), self._size + 1)
        place = waits.thread[order].astype(np.int64) * scale.size + scale.until(waits.start[order])
        at = np.searchsorted(place, thread * scale.size + scale.until(moment), side="right") - 1
        before = order[np.maximum(at, 0)]
        inside: NDArray[np.bool_] = (at >= 0) & (waits.thread[before] == thread) & (waits.end[before] > moment)
        return inside

    @cached_property
    def _by_thread(self) -> Ints:
        return np.lexsort((self.waits.start, self.waits.thread))


def _merged(one: tuple[Ints, ...], other: tuple[Ints, ...]) -> tuple[Ints, ...]:
    """Put events together in order."""
    columns = tuple(np.concatenate(pair) for pair in zip(one, other, strict=True))
    order = np.lexsort((columns[1], columns[0]))
    return tuple(column[order] for column in columns)


def _replayed(columns: tuple[Ints, ...], threads: int, groups: int, last: int) -> Ints:
    from headway import _native  # type: ignore[attr-defined]

    _, what, thread, other, length, group = columns
    found: Ints = _native.replayed(
        what=np.ascontiguousarray(what, np.uint8),
        thread=np.ascontiguousarray(thread, np.int32),
        other=np.ascontiguousarray(other, np.int32),
        length_ns=np.ascontiguousarray(length, np.int64),
        group=np.ascontiguousarray(group, np.int32),
        threads=threads,
        groups=groups,
        last=last,
    )
    return found
