"""Builds the losses of an account for people: cause, place, evidence, and a bound of the speedup.

Question   what stands behind the core time that a sweep charged to each cause, object and thread?
Method     rows are put together (lost_cores.grouping), named (lost_cores.places), explained (evidence.sentences), bounded
           (gains.bounds) and ranked (lost_cores.ranking) by what would likely be gained (lost_cores.likely_gains). How long
           a loss was there: the waits for its object; pauses, start and end as the JVM tells them; for sleep and I/O without such
           records the time that its threads were blocked so. Its core time won't do: where fewer cores were idle than threads
           waited, each of these has a part of a core only. So what the kernel alone tells of other waits has no bound.
Assumes    and errs as these modules do.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.columns import distinct
from headway.analyses.lost_cores.account.idle import recorded_timers, standing
from headway.analyses.lost_cores.account.jvm_phases import JvmPhases
from headway.analyses.lost_cores.attach_doubts import Doubts
from headway.analyses.lost_cores.cause_kinds import CALLS, NAMES, OF_THE_KERNEL, OF_THREADS, PHASES, REPLAYED, STILL
from headway.analyses.lost_cores.changes import with_predictions
from headway.analyses.lost_cores.crowded import doubt_text, doubts_of_gain
from headway.analyses.lost_cores.evidence.sentences import Evidence
from headway.analyses.lost_cores.gains import slow_side
from headway.analyses.lost_cores.gains.bounds import (
    UNBOUNDED,
    BoundInputs,
    WaitSummary,
    WaitTotals,
    bound,
    bound_of_waits,
)
from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
from headway.analyses.lost_cores.gains.outside_clients import UNKNOWN_GAIN
from headway.analyses.lost_cores.gains.replay import saved_ns
from headway.analyses.lost_cores.gains.slow_side import SLOW
from headway.analyses.lost_cores.grouping import (
    LossRow,
    long_calls_of,
    rows_of,
    wait_totals_of,
    waited_for,
    waited_long_for,
)
from headway.analyses.lost_cores.likely_gains import LikelyGains
from headway.analyses.lost_cores.places import Places
from headway.analyses.lost_cores.polling_sleeps import PollingSleeps
from headway.analyses.lost_cores.ranking import ranked
from headway.analyses.lost_cores.text import SMALL_GAIN, polling_text, refused_gain_text
from headway.analyses.lost_cores.types import IdleThreads, Loss, Place
from headway.analyses.waits.classification.roles import OUTSIDE
from headway.analyses.waits.resources import of_phaser

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Sequence

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.account.attribution import AccountSegment
    from headway.analyses.lost_cores.changes import Gains
    from headway.analyses.lost_cores.likely_gains import LikelyGain
    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]

EXPLAINED = 0.005
"""Losses of at least this part of the core time get evidence,"""
FIRST = 3
"""and so many of those that come first: little lost core time, where others had the cores, may be much to gain."""
OF_A_PHASE = 3
"""Losses of a phase beside the whole that get the code they are in; none of them gets evidence."""


class Losses:
    """Builds the losses of one recording's accounts."""

    def __init__(
        self, recording: Recording, waits: Waits, span: tuple[int, int], predicted: Gains | None = None
    ) -> None:
        """Nothing is loaded until it is needed. All accounts lie within the span; `predicted`: of the one that is all of it."""
        self.recording = recording
        self.waits = waits
        self.places = Places(recording, waits)
        self.evidence = Evidence(self.places)
        self.times = KernelTimes(recording, span)
        self.phases = JvmPhases(recording)
        self.gains = LikelyGains(recording, self.evidence, self.times, self.phases, span)
        self.predicted = predicted
        self.doubts = Doubts(recording, waits)
        self.polls = PollingSleeps(recording, self.places, self.times)

    def of(
        self,
        segments: Sequence[AccountSegment],
        window: tuple[int, int],
        inputs: BoundInputs,
        core_ns: int,
        *,
        is_whole: bool = True,
    ) -> tuple[Loss, ...]:
        """Return what was lost in segments that make up a window, what would gain most first; of a phase with less detail."""
        long = (
            waited_long_for(self.waits, [NAMES.index(each) for each in REPLAYED], window) if is_whole else frozenset()
        )
        rows = self.rows(segments, core_ns, long, window if is_whole else None)
        placing_ns = sum(row.core_ns for row in rows if NAMES[row.cause] == causes.SCHEDULER)
        inputs = dataclasses.replace(inputs, placing_ns=placing_ns, started_ns=self._started(rows, window))
        idle_ns = sum(int(each.by_cause[NAMES.index(causes.IDLE)]) for each in segments)
        limits = self._bounds(rows, window, inputs)
        if is_whole:
            self._limit_polls(rows, window, inputs, limits)
        gains = self.gains.of(rows, window, inputs, idle_ns)
        found: list[tuple[float, LossRow, Loss]] = []
        for number, (row, limit, gain) in enumerate(zip(rows, limits, gains, strict=True)):
            place = self._place(row, window if is_whole or number < OF_A_PHASE else None)
            saved = saved_ns(NAMES[row.cause], round(gain.core_ns), limit, inputs, gain.ns)
            likely = _likely_speedup(limit, gain, saved, inputs)
            doubts = self.doubts.of(row, window)
            share = row.core_ns / max(core_ns, 1)
            found.append(
                (saved, row, Loss(NAMES[row.cause], row.core_ns, share, place, limit, (), None, likely, doubts))
            )
        if is_whole and self.predicted is not None:
            hangs_on_clients = self.gains.hangs_on_clients
            found = with_predictions(found, self.predicted, self.places, self.times, window, hangs_on_clients)
        found = [(saved, row, _with_doubts_of_gain(loss, inputs)) for saved, row, loss in found]
        ordered = ranked(found, inputs.wall_ns, lambda lock, asleep: self._is_by_holder(lock, asleep, window))
        return tuple(
            self._explained(row, loss, window)
            if is_whole and not row.is_rest and (loss.share >= EXPLAINED or (rank < FIRST and saved > 0))
            else loss
            for rank, (saved, row, loss) in enumerate(ordered)
        )

    def _limit_polls(
        self, rows: Sequence[LossRow], window: tuple[int, int], inputs: BoundInputs, limits: list[float | None]
    ) -> None:
        """Replace the bounds of threads that sleep until others are done: without sleep they would wait for these, too."""
        for number, row in enumerate(rows):
            most = limits[number]
            if most is None or most < 1 + SMALL_GAIN:
                continue
            late_ns = self.polls.overslept_ns(row, window)
            if late_ns is not None:
                limits[number] = min(most, inputs.wall_ns / max(inputs.wall_ns - late_ns, inputs.wall_ns / UNBOUNDED))

    def rows(
        self,
        segments: Sequence[AccountSegment],
        core_ns: int,
        long: Collection[tuple[int, int]] = (),
        window: tuple[int, int] | None = None,
    ) -> list[LossRow]:
        """Return what was lost in some segments by cause and place, the most first.

        `long`: causes and objects that have a row however little was lost to them; with a window so have long sleeps and I/O.
        """
        cause, key, thread, lost = (
            np.concatenate([getattr(each, name) for each in segments]) for name in ("cause", "key", "thread", "core_ns")
        )
        is_lost = cause != NAMES.index(causes.IDLE)  # to wait for work from outside loses nothing
        cause, key, thread = (column[is_lost] for column in (cause, key, thread))
        calls = () if window is None else self._long_calls(cause, key, thread, window)
        return rows_of(cause, key, thread, lost[is_lost].astype(float), core_ns, self._same, self._pool, long, calls)

    def _long_calls(
        self, cause: Ints, key: Ints, thread: Ints, window: tuple[int, int]
    ) -> Collection[tuple[int, Hashable]]:
        """Return whose sleeps and I/O without an object took long: where others had the cores, little is lost to them."""
        charged = {NAMES.index(name): (key < 0) & (cause == NAMES.index(name)) & (thread >= 0) for name in CALLS}
        calls = {one: self.times.calls(NAMES[one], distinct(thread[which]).tolist()) for one, which in charged.items()}
        return long_calls_of(calls, self._same, window)

    def named(self, rows: Sequence[LossRow], window: tuple[int, int], core_ns: int) -> tuple[Loss, ...]:
        """Return rows of the native account as losses with their places; their likely gains are not known yet."""
        return tuple(
            Loss(NAMES[row.cause], row.core_ns, row.core_ns / max(core_ns, 1), self._place(row, window), None)
            for row in rows
        )

    def _is_by_holder(self, lock: LossRow, asleep: LossRow, window: tuple[int, int]) -> bool:
        """Return whether the thread that slept most had the lock while others waited for it."""
        waits = self.waits
        if lock.key < 0 or not asleep.threads or waits.data is None:
            return False
        of_lock = np.flatnonzero((waits.key == lock.key) & (waits.end > window[0]) & (waits.start < window[1]))
        owner = waits.data.blocks.owner[waits.block[of_lock]]
        sleeper = self._who_slept_most(asleep, window)
        has_it = bool(np.any(waits.target[of_lock] == sleeper) or np.any(owner == sleeper))
        return has_it and (NAMES[lock.cause] == causes.LOCK or bool(np.any(waits.thread[of_lock] == sleeper)))

    def _who_slept_most(self, asleep: LossRow, window: tuple[int, int]) -> int:
        """Return the thread that slept most; of sleeps that the JVM tells of (those of virtual threads) by its waits."""
        if asleep.key < 0:
            return asleep.threads[0]
        thread, start, end = self.places.waits_for(NAMES[asleep.cause], asleep.key, window)
        return int(np.bincount(thread, weights=end - start).argmax()) if len(thread) else -2

    def _explained(self, row: LossRow, loss: Loss, window: tuple[int, int]) -> Loss:
        """Return a loss with its evidence, doubts first."""
        text, figures = self.evidence.of(loss.cause, row.key, row.threads, window)
        unknown = (UNKNOWN_GAIN,) if self.gains.hangs_on_clients(row, window) else ()
        if loss.unknown_gain is not None:
            unknown = (refused_gain_text(loss.unknown_gain.id),)
        late_ns = self.polls.overslept_ns(row, window)
        if late_ns is not None:
            text = (polling_text(late_ns), *text)
            figures = {**(figures or {}), "overslept_ns": late_ns}
        return dataclasses.replace(loss, evidence=(*map(doubt_text, loss.doubts), *unknown, *text), figures=figures)

    def idle(self) -> tuple[IdleThreads, ...]:
        """Return who waited for work from outside, those of one name and role together, most threads first."""
        sums: dict[tuple[str, str, str | None], set[int]] = {}
        for each in (*standing(self.recording, self.waits), *recorded_timers(self.waits)):
            if each.role in OUTSIDE:
                name = self.places.crowd(each.thread)[0] or ""
                sums.setdefault((each.role, name, each.method), set()).add(each.thread)
        found = [
            IdleThreads(role, name if len(threads) > 1 else self._name(*threads), len(threads), method)
            for (role, name, method), threads in sums.items()
        ]
        return tuple(sorted(found, key=lambda each: (-each.threads, each.role, each.name)))

    def _name(self, thread: int) -> str:
        return self.places.thread(thread)[0] or ""

    def _same(self, cause: int, thread: int) -> tuple[str | None, int | None]:
        """Return the key by which threads are one row for a cause: JVM and name, for sleep and I/O the name without numbers."""
        return self.places.crowd(thread) if NAMES[cause] in CALLS else self.places.thread(thread)

    def _pool(self, _: int, thread: int) -> tuple[str | None, int | None]:
        """Return the key by which threads of one pool are one row: their JVM, and their name without numbers."""
        return self.places.crowd(thread)

    def _named(self, row: LossRow) -> tuple[str | None, int | None, int]:
        """Return the name of a loss's thread, its JVM, and 1; of several that count as one, what their names have in common, and
        how many names there are.
        """
        names = {self.places.thread(thread) for thread in row.threads} if row.key < 0 else set()
        several = len(names) > 1
        return (*(self.places.crowd(row.thread) if several else self.places.thread(row.thread)), max(len(names), 1))

    def _place(self, row: LossRow, window: tuple[int, int] | None) -> Place:
        """Return where it is; without a window what is known without looking at stacks."""
        if row.is_rest:
            return Place()
        if window is not None:
            place = self.places.of(NAMES[row.cause], row.key, row.threads, window)
            name, _, threads = self._named(row)
            return dataclasses.replace(place, thread=name, threads=threads)
        waited = self.waits.places[row.key] if 0 <= row.key < len(self.waits.places) else None
        name, pid, threads = self._named(row)
        return Place(None, None, waited.name if waited else None, name, waited.pid if waited else pid, threads)

    # --- how long it was there ---------------------------------------------------------------------------------------

    def _bounds(self, rows: Sequence[LossRow], window: tuple[int, int], inputs: BoundInputs) -> list[float | None]:
        """Return the bound of the speedup without each row; None where nothing tells one."""
        waited = wait_totals_of(self.waits, [row.key for row in rows], window)
        slow = slow_side.of_waits(self.times, self.waits, [r.key for r in rows if NAMES[r.cause] in SLOW], window)
        lost_ns = sum(row.core_ns for row in rows)
        return [
            None if row.is_rest else self._bound(row, waited.get(row.key), slow.get(row.key), window, inputs, lost_ns)
            for row in rows
        ]

    def _bound(
        self,
        row: LossRow,
        waited: WaitSummary | None,
        slow: int | None,
        window: tuple[int, int],
        inputs: BoundInputs,
        lost_ns: int,
    ) -> float | None:
        """Return a row's bound. `waited`: of waits for an object; `slow`: what the slower side of a queue worked meanwhile."""
        cause = NAMES[row.cause]
        of_room = 0.0 if cause in STILL else inputs.share_of_room(row.core_ns, lost_ns)
        if waited is not None:
            maker = slow if cause in SLOW else 0
            return bound_of_waits(
                cause,
                row.core_ns,
                waited,
                inputs,
                maker_ns=inputs.work_ns if maker is None else maker,
                of_room=of_room,
                is_phaser=of_phaser(self.waits.places[row.key].class_name),
            )
        length = self._length(row, window)
        times = self.phases.count(PHASES[cause], window) if cause in (causes.GC, causes.SAFEPOINT) else 0
        there = WaitTotals(row.core_ns, length or 0, of_room=of_room, times=times)
        return None if length is None else bound(cause, there, inputs)

    def _length(self, row: LossRow, window: tuple[int, int]) -> int | None:
        """Return how long a loss without an object was there within the window at most; None where nothing tells."""
        cause = NAMES[row.cause]
        if cause in OF_THE_KERNEL or (cause in OF_THREADS and row.thread >= 0):
            return None
        if cause in CALLS:
            return self.times.in_calls(cause, row.threads, window) or None
        if cause == causes.CARRIERS:
            return waited_for(self.waits, row.cause, window)
        phases_ns = self.phases.spans(PHASES[cause], window).total if cause in PHASES else 0
        return phases_ns or min(row.core_ns, window[1] - window[0])

    def _started(self, rows: Sequence[LossRow], window: tuple[int, int]) -> int:
        """Return the core time that JVMs took to start within a window, if any core was lost to that."""
        if not any(NAMES[row.cause] == causes.START for row in rows):
            return 0
        spans = self.phases.of_each_jvm(PHASES[causes.START], window)
        return sum(self.times.jvm_ran(pid, (start, end)) for pid, start, end in spans)


def _with_doubts_of_gain(loss: Loss, inputs: BoundInputs) -> Loss:
    """Return a loss with what makes its likely gain uncertain, of the gain that is shown."""
    return dataclasses.replace(loss, doubts=(*loss.doubts, *doubts_of_gain(loss.likely_speedup, inputs)))


def _likely_speedup(limit: float | None, gain: LikelyGain, saved_ns: float, inputs: BoundInputs) -> float | None:
    """Return how many times as fast the program would likely be, at most its bound, however both are rounded; None: unknown."""
    if limit is None or not gain.is_known:
        return None
    return min(limit, inputs.wall_ns / max(inputs.wall_ns - saved_ns, inputs.wall_ns / UNBOUNDED))
