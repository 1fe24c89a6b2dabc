"""Replays a recording without the waits of one cause, to estimate how much time the program would have gained.

Question   in which order do causes come? Lost core time and bounds are the ends of what removing a cause may give; either
           order is wrong for some programs with two causes: a lock delays who is joined later, and what is lost at the join
           goes with the lock; while threads wait for it, others may work.
Method     waits vanish: the recording is replayed without them (native/replay/replay.h). Each thread does what it did
           between its waits; a wait is over when the thread that ended it comes to that point of its work; a thread is born
           where the one that started it comes to. Of waits for I/O the kernel tells which thread of the program ended them
           (account.io_wakers). What counts is how much earlier that thread comes to its end that the end of
           the program waited for (gains.program_end), or, where that is not known, the one that was active last. Work
           that is spread (serial sections, too few tasks, imbalance; the slow side of a queue) gives what it lost, shared
           among the cores; so do start and end of the JVM, whose work nobody can remove. Of the JVM's pauses what the program
           would have done with the cores that it had in them (gains.stops), and of the collector what it computed
           while threads of the program waited for a core, too. Of a quota the bound. Never less than the lost core time,
           shared among the cores, of threads that the program's end may hang on (of a lock while its holder was awake: a holder
           sleeps as long without the lock), and never more than the bound. Of other threads it counts for as long as
           it is not known who ended the waits that the end hangs on.
           A core for each thread is more than there may be: gains.room tells what of it is possible.
Assumes    what was waited for in the recording stays. So does the order in which locks were got, as long as nobody waits for one
           longer than in the recording: who comes earlier than the one that had it gets it first.
Wrong when another order would come about: who came late to a barrier comes early, and another one is last. Virtual threads begin
           where they began. Where locks were not recorded nothing is replayed, and no likely gain told of these causes.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.intervals import Spans
from headway.analyses.critical_path.path_threads import load_threads
from headway.analyses.critical_path.stopped import last_active, stop_of_program
from headway.analyses.lost_cores.account.io_wakers import io_waits, with_wakers
from headway.analyses.lost_cores.gains.ongoing import OngoingThreads, acting, ongoing_threads, unseen_part
from headway.analyses.lost_cores.gains.program_end import ProgramEnd, reaching
from headway.analyses.waits.carriers import freed_by
from headway.analyses.waits.threads.mounted import carriers_of
from headway.analyses.waits.threads.thread_states import Scale
from headway.analyses.waits.wait_causes import CODE
from headway.model.interruptible import interruptible
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.lost_cores.gains.bounds import BoundInputs
    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Rows = tuple[Ints, Ints, Ints]

MOST_GROUPS = 24
MOST_NUMBERS = 4_000_000
"""Numbers that a replay holds: threads x groups."""
_RECORDING_ENDED = ("duration", "disk-full", "recorder-died")
"""How a recording ends before its program does."""
NEAR_NS = 100_000_000
"""The last thread is looked for in so much before the end first."""
_WOKEN, _ENDED, _BORN, _GOT = range(4)
"""ReplayEvent of native/replay/replay.h."""


def saved_ns(cause: str, core_ns: int, bound: float | None, inputs: BoundInputs, replayed_ns: int) -> float:
    """Return the wall time in ns likely saved without a loss; for losses without a bound, core time / cores."""
    spread = core_ns / max(inputs.cores, 1e-9)
    if bound is None:
        return min(max(spread, float(replayed_ns)), float(inputs.wall_ns))
    most = inputs.wall_ns * (1 - 1 / bound)
    return most if cause == causes.QUOTA else min(max(spread, float(replayed_ns)), most)


class Replay:
    """Replays the waits of one recording within a span, in windows of it (ns from the recording's start)."""

    def __init__(self, recording: Recording, waits: Waits, span: tuple[int, int]) -> None:
        """Nothing is loaded until it is needed."""
        self.recording = recording
        self.waits = waits
        self.span = span
        self._reaching: dict[int, NDArray[np.bool_]] = {}

    def groups(self) -> int:
        """Return how many groups can be replayed beside each other."""
        return max(1, min(MOST_GROUPS, MOST_NUMBERS // max(self._size, 1)))

    def gains_ns(
        self,
        groups: Mapping[int, int],
        calls: Mapping[int, Rows],
        count: int,
        window: tuple[int, int],
        of_carriers: int = -1,
    ) -> Ints:
        """Return by group how much sooner the window's end would come without the waits of that group.

        It comes as much sooner as the thread that it waited for is ahead then. Where somebody outside ended the program, they
        all would have gone on: then it is how much sooner what they did together would have been done (`ongoing`).

        `groups`: the group by key of what is waited for; `calls`: by group (thread, start, end) of waits that the kernel alone
        tells of; `of_carriers`: the group of waits for a carrier (-1: none). There are `count` groups.
        """
        ongoing = self._ongoing(window) if count and self.goes_on(window) else None
        last = ongoing.threads if ongoing is not None else self._last(window) if count else []
        if not last:
            return np.zeros(count, np.int64)
        of_key = np.full(len(self.waits.places) + 1, -1, np.int32)  # the last one: no key
        for key, group in groups.items():
            of_key[key] = group
        columns = self._within(window, of_key, of_carriers)
        columns = _merged(columns, self._of_kernel(calls, window))
        ahead_ns = _replayed(columns, self._size, count, last)
        return ahead_ns[0] if ongoing is None else ongoing.ahead_ns(ahead_ns, window[1] - window[0])

    def part_for_the_end(self, threads: Ints, waited_ns: Ints, window: tuple[int, int]) -> float:
        """Return which part of some waits was of threads that the window's end may hang on; 1 where that is unknown."""
        reached = self._reached(window)
        total = float(waited_ns.sum())
        if reached is None or not total:
            return 1.0
        # Threads that are not on record come after all others; nothing tells who hangs on these.
        is_reached = np.append(reached, True)[np.minimum(threads, self._size)]
        return float(waited_ns[is_reached].sum()) / total

    def unknown_ns(self, window: tuple[int, int]) -> int:
        """Return for how long a thread that the window's end may hang on was in a wait that was ended nobody knows by whom.

        The end may hang on any thread then, but is not delayed for longer than that.
        """
        reached = self._reached(window)
        if reached is None:
            return 0
        waits, rows = self.waits, self._ended_by_unknown
        rows = rows[reached[waits.thread[rows]]]
        start, end = np.maximum(waits.start[rows], window[0]), np.minimum(waits.end[rows], window[1])
        return Spans.of(start, end).total

    def _reached(self, window: tuple[int, int]) -> NDArray[np.bool_] | None:
        """Return by thread whether the window's end may hang on it; None where it is not known to wait for any."""
        last = self._end.thread(self._origin + window[1])
        if last is None:
            return None
        if last not in self._reaching:
            _, what, thread, other, _ = self._events
            known = (other >= 0) & ((what == _WOKEN) | (what == _BORN))
            self._reaching[last] = reaching(
                self.recording, self._threads, last, thread[known], other[known], self._size
            )
        return self._reaching[last]

    def _last(self, window: tuple[int, int]) -> list[int]:
        """Return the program's thread that the window's end waited for, or that was active last before it."""
        waited_for = self._end.thread(self._origin + window[1])
        if waited_for is not None:
            return [waited_for]
        length, near = window[1] - window[0], NEAR_NS
        while True:
            begin = window[1] - min(near, length)
            found = last_active(self.recording, self._ending, (self._origin + begin, self._origin + window[1]))
            if found is not None or near >= length:
                return [found] if found is not None else []
            near *= 16

    def _ongoing(self, window: tuple[int, int]) -> OngoingThreads:
        span = self._origin + window[0], self._origin + window[1]
        return ongoing_threads(self.recording, self._threads, self._program, span)

    def unseen_part(self, threads: Ints, waited_ns: Ints, window: tuple[int, int]) -> float:
        """Return which part of some waits the replay of a program that goes on says nothing of (ongoing.unseen_part)."""
        span = self._origin + window[0], self._origin + window[1]
        return unseen_part(self._threads, self.waits.platform_threads, threads, waited_ns, span)

    def goes_on(self, window: tuple[int, int]) -> bool:
        """Return whether the program would have gone on at a window's end: somebody outside ended it, or the recording of it."""
        if self._end.thread(self._origin + window[1]) is not None:
            return False
        manifest = self.recording.manifest
        if manifest.ended_by in _RECORDING_ENDED or (manifest.attached and manifest.ended_by != "exit"):
            return True
        stop = stop_of_program(self.recording, self._threads)
        return stop is not None and self._origin + window[1] > stop.start_ns

    # --- what happened -------------------------------------------------------------------------------------------------

    @cached_property
    def _threads(self) -> PathThreadTable:
        return load_threads(self.recording)

    @cached_property
    def _origin(self) -> int:
        return self.recording.window_ns[0]

    @cached_property
    def _program(self) -> list[int]:
        """The program's threads. A JVM's first one only waits for the main thread, and the kernel alone knows for whom."""
        return acting(self.recording, self._threads)

    @cached_property
    def _ending(self) -> list[int]:
        """The program's threads that an end may be of: a carrier only carries others, and waits for nothing of its own."""
        carriers = set(carriers_of(self.recording).tolist())
        return [thread for thread in self._program if thread not in carriers]

    @cached_property
    def _end(self) -> ProgramEnd:
        last_wait = np.zeros(len(self._threads), np.int64)
        known = np.flatnonzero((self.waits.thread >= 0) & (self.waits.thread < len(last_wait)))
        np.maximum.at(last_wait, self.waits.thread[known], self.waits.end[known] + self._origin)
        return ProgramEnd(self.recording, self._threads, self._ending, last_wait)

    @cached_property
    def _other(self) -> Ints:
        """Who ended each piece, -1 where that is not known: whom it waits for, else who woke it.

        A virtual thread that was woken has what it waited for; that it then waits for a carrier its waker does not end, but
        who leaves one. What a carrier is said to end, the virtual thread ended that it had: that one is not known where it is
        no target.
        """
        waits = self.waits
        if waits.data is None:
            return np.full(len(waits), -1)
        waker = np.where(waits.target >= 0, waits.target, waits.data.blocks.waker[waits.block])
        unknown = (waker == waits.thread) | np.isin(waker, carriers_of(self.recording))
        return np.where(waits.cause == CODE[causes.CARRIERS], self._left[0], np.where(unknown, -1, waker))

    @cached_property
    def _left(self) -> tuple[Ints, Ints]:
        """Who left the carrier that each piece waits for, and when; -1 where nobody is known to have done so."""
        waits = self.waits
        thread, ns = np.full(len(waits), -1, dtype=np.int64), np.full(len(waits), -1, dtype=np.int64)
        rows = np.flatnonzero(waits.cause == CODE[causes.CARRIERS])
        if waits.data is not None and len(rows):
            thread[rows], ns[rows] = freed_by(waits.data, waits.block[rows], waits.start[rows], waits.end[rows])
        return thread, ns

    @cached_property
    def _ended_by_unknown(self) -> Ints:
        """Pieces of the program's threads that are over, and nobody knows by whom. Nobody ended a sleep, or what lasted until its
        time was over; of I/O the kernel tells; and a carrier is waited for no longer than for a core. Threads of the JVM, as
        the one that ends the sleeps of virtual threads, wait for times and for what the program asks of them.
        """
        waits = self.waits
        if waits.data is None:
            return np.zeros(0, np.int64)
        blocks = waits.data.blocks
        is_time = blocks.is_timed[waits.block] & (waits.cause != CODE[causes.LOCK])
        is_nobody = np.isin(waits.cause, [CODE[each] for each in (causes.SLEEP, causes.IO, causes.CARRIERS)]) | is_time
        is_open = blocks.is_open[waits.block] & (waits.end >= blocks.end[waits.block])
        is_vm = np.array([kind not in PROGRAM for kind in self._threads.kinds] + [False])
        of_vm = is_vm[np.minimum(waits.thread, len(self._threads))]
        return np.flatnonzero((self._other < 0) & ~is_nobody & ~is_open & ~of_vm)

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
        waking = np.where(self._left[1] >= 0, self._left[1], waking)
        at = np.where((waking > waits.start) & (waking < waits.end), waking, waits.end)
        is_got = np.isin(waits.cause, [CODE[each] for each in (causes.LOCK, causes.CARRIERS)])
        woken = np.flatnonzero(self._other >= 0)
        birth = threads.birth_ns - self._origin
        born = np.flatnonzero((threads.parent >= 0) & (birth > self.span[0]) & (birth < self.span[1]))
        parts = (
            (birth[born], np.full(len(born), _BORN), born, threads.parent[born], np.full(len(born), -1)),
            (at[woken], np.full(len(woken), _WOKEN), waits.thread[woken], self._other[woken], woken),
            (waits.end, np.where(is_got, _GOT, _ENDED), waits.thread, self._other, rows),
        )
        kinds = (np.int64, np.int8, np.int32, np.int32, np.int32)
        time, what, thread, other, piece = (
            np.concatenate([np.asarray(part[i], kind) for part in parts]) for i, kind in enumerate(kinds)
        )
        order = np.lexsort((what, time))
        return time[order], what[order], thread[order], other[order], piece[order]

    def _within(self, window: tuple[int, int], of_key: NDArray[np.int32], of_carriers: int) -> tuple[Ints, ...]:
        """Return the events of a window: time, what, thread, other, length, group; a wait counts from the window's begin on."""
        time = self._events[0]
        a, b = np.searchsorted(time, window[0], side="right"), np.searchsorted(time, window[1], side="right")
        time, what, thread, other, piece = (column[a:b] for column in self._events)
        start = np.append(self.waits.start, 0)[piece]
        is_end = (what == _ENDED) | (what == _GOT)
        length = np.where(is_end, time - np.maximum(start, window[0]), 0)
        group = np.where(is_end, of_key[np.append(self.waits.key, -1)[piece]], -1)
        is_carriers = is_end & (np.append(self.waits.cause, 0)[piece] == CODE[causes.CARRIERS])
        group = np.where(is_carriers, of_carriers, group)
        return time, what, thread, other, length, group

    def _of_kernel(self, calls: Mapping[int, Rows], window: tuple[int, int]) -> tuple[Ints, ...]:
        """Return the events of waits that the kernel alone tells of; what the JVM tells of, too, is left out."""
        group, thread, start, end, other = with_wakers(calls, self._io_waits)
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        use = (end > start) & ~self._is_in_jvm_wait(thread, (start + end) // 2)
        group, thread, start, end, other = (column[use] for column in (group, thread, start, end, other))
        other = np.where(end < window[1], other, -1)  # a wait that the window cuts is not over
        woken = np.flatnonzero(other >= 0)
        none = np.zeros(len(woken), np.int64)
        parts = (
            (end[woken], none + _WOKEN, thread[woken], other[woken], none, none - 1),
            (end, np.full(len(end), _ENDED), thread, other, end - start, group),
        )
        columns = [np.concatenate(pair) for pair in zip(*parts, strict=True)]
        order = np.lexsort((columns[1], columns[0]))
        return tuple(column[order] for column in columns)

    @cached_property
    def _io_waits(self) -> tuple[Ints, Ints, Ints, Ints]:
        return io_waits(self.recording, self._program, self.span)

    def _is_in_jvm_wait(self, thread: Ints, moment: Ints) -> NDArray[np.bool_]:
        """Return at which moments a thread is in a wait that the JVM reported."""
        waits = self.waits
        if not len(waits):
            return np.zeros(len(moment), bool)
        order = self._by_thread
        scale = Scale.of(np.concatenate([waits.start, moment]), self._size + 1)
        place = scale.place(waits.thread[order], waits.start[order])
        at = np.searchsorted(place, scale.place(thread, moment), side="right") - 1
        before = order[np.maximum(at, 0)]
        inside: NDArray[np.bool_] = (at >= 0) & (waits.thread[before] == thread) & (waits.end[before] > moment)
        return inside

    @cached_property
    def _by_thread(self) -> Ints:
        return np.lexsort((self.waits.start, self.waits.thread))


def _merged(one: tuple[Ints, ...], other: tuple[Ints, ...]) -> tuple[Ints, ...]:
    """Put events together in order."""
    columns = tuple(
        np.concatenate(pair, dtype=pair[0].dtype, casting="unsafe") for pair in zip(one, other, strict=True)
    )
    order = np.lexsort((columns[1], columns[0]))
    return tuple(column[order] for column in columns)


def _replayed(columns: tuple[Ints, ...], threads: int, groups: int, last: list[int]) -> Ints:
    from headway import _native

    _, what, thread, other, length, group = columns
    found: Ints = interruptible(
        _native.replayed,
        what=np.ascontiguousarray(what, np.uint8),
        thread=np.ascontiguousarray(thread, np.int32),
        other=np.ascontiguousarray(other, np.int32),
        length_ns=np.ascontiguousarray(length, np.int64),
        group=np.ascontiguousarray(group, np.int32),
        threads=threads,
        groups=groups,
        last=last,
    )
    return found.reshape(len(last), groups)
