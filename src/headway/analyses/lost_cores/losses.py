"""Builds the losses of an account for people: cause, place, evidence, and a bound of the speedup.

Question   what stands behind the core time that a sweep charged to each cause, object and thread?
Method     rows are put together (lost_cores.grouping), named (lost_cores.places), explained (lost_cores.evidence), bounded
           (lost_cores.bounds) and ranked by what would likely be gained (lost_cores.replay). How long a loss was there: the
           waits for its object; pauses, start and end as the JVM tells them; for sleep and I/O without such records the time
           that its threads were blocked so. Its core time won't do: where fewer cores were idle than threads waited, each of
           these has a part of a core only. So what the kernel alone tells of other waits has no bound.
Assumes    and errs as these modules do.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.causes import CAUSES, OF_THE_JVM
from headway.analyses.common.intervals import Spans
from headway.analyses.lost_cores import slow_side
from headway.analyses.lost_cores.attach_doubts import Doubts
from headway.analyses.lost_cores.bounds import (
    UNBOUNDED,
    VANISHING,
    BoundInputs,
    WaitSummary,
    WaitTotals,
    bound,
    bound_of_waits,
)
from headway.analyses.lost_cores.crowded import doubt_text, doubts_of_gain
from headway.analyses.lost_cores.evidence import Evidence
from headway.analyses.lost_cores.grouping import LossRow, rows_of, wait_totals_of, waited_for, waited_long_for
from headway.analyses.lost_cores.idle import recorded_timers, standing
from headway.analyses.lost_cores.kernel_times import KernelTimes
from headway.analyses.lost_cores.more_carriers import likely_saved_ns
from headway.analyses.lost_cores.outside_clients import UNKNOWN_GAIN, OutsideClients
from headway.analyses.lost_cores.places import Places
from headway.analyses.lost_cores.replay import Replay, saved_ns
from headway.analyses.lost_cores.room import possible_ns
from headway.analyses.lost_cores.slow_side import SLOW
from headway.analyses.lost_cores.stops import gained_ns
from headway.analyses.lost_cores.types import WORTH_GAIN, IdleThreads, Loss, Place
from headway.analyses.waits.resources import of_phaser
from headway.analyses.waits.roles import OUTSIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.attribution import AccountSegment
    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]

NAMES = tuple(CAUSES)
PHASES = {causes.GC: "gc_pause", causes.START: "startup", causes.END: "shutdown", causes.SAFEPOINT: "safepoint"}
STILL = (*PHASES, causes.UNKNOWN)
"""Causes while which the program does not run."""
OF_THE_KERNEL = (causes.OTHERS_WAIT, causes.BLOCKED, causes.JIT)
OF_THREADS = (causes.GC, causes.SAFEPOINT)
"""Beside pauses, these are waits for a thread of the JVM, of which the kernel alone tells."""
CALLS = (causes.SLEEP, causes.IO)
REPLAYED = VANISHING | {causes.CARRIERS}
"""Causes whose likely gain a replay tells."""
OF_THE_MACHINE = (*PHASES, causes.UNKNOWN, causes.SCHEDULER, causes.QUOTA)
"""Causes that are not of the program's own threads, which others would give way to."""
LEAST_LOST = 0.01
"""The part of the core time that must be lost to tell where the rest would be, had nobody else used the machine."""
EXPLAINED = 0.005
"""Losses of at least this part of the core time get evidence,"""
FIRST = 3
"""and so many of those that come first: little lost core time, where others had the cores, may be much to gain."""
NEARLY = 0.9
"""Likely gains that differ by less are the same, as far as an estimate tells."""
OF_A_PHASE = 3
"""Losses of a phase beside the whole that get the code they are in; none of them gets evidence."""


@dataclass(frozen=True, slots=True)
class _ReplayedGain:
    """What a replay without some waits gains a program.

    `part_for_the_end`: which part of the waits its end may hang on, as far as is known; for `unknown_ns` that is not known.
    """

    ns: int
    part_for_the_end: float
    unknown_ns: int

    def of_the_end(self, core_ns: float, cores: float) -> float:
        """Return how much of some lost core time may have delayed the program's end."""
        return min(core_ns, core_ns * self.part_for_the_end + self.unknown_ns * cores)


_Saving = tuple[float, LossRow, Loss]
"""The time saved without a loss, its row, and the loss."""


def ranked(
    found: list[_Saving], wall_ns: int, is_by_holder: Callable[[LossRow, LossRow], bool] = lambda lock, asleep: False
) -> list[_Saving]:
    """Return losses, each with the time saved without it, by that time; those OF_THE_JVM after all worth WORTH_GAIN.

    Who sleeps with a lock makes others wait for it: one thing, told twice. The lock, which has a place, comes first where it
    saves nearly as much and lost more. `is_by_holder` says of a lock and a loss to sleep or I/O whether who has the lock slept;
    also of a lock that is made of conditions, for which those who wake wait, too.
    """
    worth_ns = wall_ns * (1 - 1 / WORTH_GAIN)
    order = sorted(
        found, key=lambda each: (each[0] < worth_ns or each[2].cause in OF_THE_JVM, -each[0], -each[1].core_ns)
    )
    for lock in [each for each in order if each[2].cause in (causes.LOCK, causes.CONDITION)]:
        at = order.index(lock)
        before = [i for i in range(at) if _is_same_as(lock, order[i]) and is_by_holder(lock[1], order[i][1])]
        if before:
            order.insert(before[0], order.pop(at))
    return order


def _is_same_as(lock: _Saving, asleep: _Saving) -> bool:
    """Return whether removing a lock would gain about as much as removing a sleep or I/O, and the lock lost more core time."""
    is_asleep = asleep[2].cause in CALLS
    return is_asleep and lock[0] > NEARLY * asleep[0] and lock[1].core_ns > asleep[1].core_ns


class Losses:
    """Builds the losses of one recording's accounts."""

    def __init__(self, recording: Recording, waits: Waits, span: tuple[int, int]) -> None:
        """Nothing is loaded until it is needed. All accounts lie within the span."""
        self.recording = recording
        self.waits = waits
        self.places = Places(recording, waits)
        self.evidence = Evidence(self.places)
        self.times = KernelTimes(recording, span)
        self.replay = Replay(recording, waits, span)
        self.doubts = Doubts(recording, waits)
        self.clients = OutsideClients(recording, waits, self.times)

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
        rows = self.rows(segments, core_ns, long)
        waited = wait_totals_of(self.waits, [row.key for row in rows], window)
        slow = slow_side.of_waits(self.times, self.waits, [r.key for r in rows if NAMES[r.cause] in SLOW], window)
        lost_ns = sum(row.core_ns for row in rows)
        placing_ns = sum(row.core_ns for row in rows if NAMES[row.cause] == causes.SCHEDULER)
        inputs = dataclasses.replace(inputs, placing_ns=placing_ns, started_ns=self._started(rows, window))
        replayed = self._replayed_gains(rows, window, inputs)
        ahead = {**{row: each.ns for row, each in replayed.items()}, **self._paused(rows, window, inputs)}
        as_if_alone = _as_if_alone(rows, sum(int(each.by_cause[NAMES.index(causes.IDLE)]) for each in segments), inputs)
        found: list[tuple[float, LossRow, Loss]] = []
        for number, row in enumerate(rows):
            share = row.core_ns / max(core_ns, 1)
            place = self._place(row, window if is_whole or number < OF_A_PHASE else None)
            limit = None if row.is_rest else self._bound(row, waited.get(row.key), window, inputs, lost_ns, slow)
            core = row.core_ns * (as_if_alone if NAMES[row.cause] not in OF_THE_MACHINE else 1)
            if number in replayed:
                core = replayed[number].of_the_end(core, inputs.cores)
                core *= self._part_of_awake_holders(row, window) if core / inputs.cores > replayed[number].ns else 1
            gain = ahead.get(number, 0)
            is_known = NAMES[row.cause] not in REPLAYED or number in ahead
            if NAMES[row.cause] == causes.CARRIERS:
                of_carriers = self._of_carriers(replayed.get(number), window)
                core, gain, is_known = 0, of_carriers or 0, of_carriers is not None
            is_known = is_known and not self._hangs_on_clients(row, window)
            if number in replayed and not is_known:  # ordered by lost core time, then
                core, gain = row.core_ns, 0
            saved = saved_ns(NAMES[row.cause], round(core), limit, inputs, gain)
            likely = None
            if limit is not None and is_known:
                # at most its bound, however both are rounded
                likely = min(limit, inputs.wall_ns / max(inputs.wall_ns - saved, inputs.wall_ns / UNBOUNDED))
            doubts = (*self.doubts.of(row, window), *doubts_of_gain(likely, inputs))
            found.append(
                (saved, row, Loss(NAMES[row.cause], row.core_ns, share, place, limit, (), None, likely, doubts))
            )
        ordered = ranked(found, inputs.wall_ns, lambda lock, asleep: self._is_by_holder(lock, asleep, window))
        return tuple(
            self._explained(row, loss, window)
            if is_whole and not row.is_rest and (loss.share >= EXPLAINED or (rank < FIRST and saved > 0))
            else loss
            for rank, (saved, row, loss) in enumerate(ordered)
        )

    def rows(
        self, segments: Sequence[AccountSegment], core_ns: int, long: Collection[tuple[int, int]] = ()
    ) -> list[LossRow]:
        """Return what was lost in some segments by cause and place, the most first.

        `long`: causes and objects that have a row however little was lost to them.
        """
        cause, key, thread, lost = (
            np.concatenate([getattr(each, name) for each in segments]) for name in ("cause", "key", "thread", "core_ns")
        )
        is_lost = cause != NAMES.index(causes.IDLE)  # to wait for work from outside loses nothing
        cause, key, thread = (column[is_lost] for column in (cause, key, thread))
        return rows_of(cause, key, thread, lost[is_lost].astype(float), core_ns, self._same, self._pool, long)

    def named(self, rows: Sequence[LossRow], window: tuple[int, int], core_ns: int) -> tuple[Loss, ...]:
        """Return rows of the native account as losses with their places; their likely gains are not known yet."""
        return tuple(
            Loss(NAMES[row.cause], row.core_ns, row.core_ns / max(core_ns, 1), self._place(row, window), None)
            for row in rows
        )

    def _hangs_on_clients(self, row: LossRow, window: tuple[int, int]) -> bool:
        """Return whether what would be gained without some waits hangs on when clients outside ask again."""
        if NAMES[row.cause] not in REPLAYED or row.is_rest or not self.replay.goes_on(window):
            return False
        if row.key < 0 and NAMES[row.cause] in CALLS:
            return self.clients.are_served_by(row.threads, self.places.thread(row.thread)[1], window)
        pid = self.waits.places[row.key].pid if row.key >= 0 else None
        return self.clients.are_served_by(self._spans(row, window)[0].tolist(), pid, window)

    def _of_carriers(self, replayed: _ReplayedGain | None, window: tuple[int, int]) -> int | None:
        """Return the wall time that more carriers likely save; None where it is not known."""
        if replayed is None or self.replay.goes_on(window):  # how much virtual threads would do more nothing tells
            return None
        carriers, _ = self.evidence.kernel.carriers()
        return likely_saved_ns(self.waits, window, replayed.ns, replayed.unknown_ns, carriers)

    def _part_of_awake_holders(self, row: LossRow, window: tuple[int, int]) -> float:
        """Return the part of waits for a lock in which its holder was awake: it would sleep as long without the lock."""
        return 1 - self.evidence.holder_asleep(row.key, window) if NAMES[row.cause] == causes.LOCK else 1.0

    def _is_by_holder(self, lock: LossRow, asleep: LossRow, window: tuple[int, int]) -> bool:
        """Return whether the thread that slept most had the lock while others waited for it."""
        waits = self.waits
        if lock.key < 0 or not asleep.threads or waits.data is None:
            return False
        mine = np.flatnonzero((waits.key == lock.key) & (waits.end > window[0]) & (waits.start < window[1]))
        owner = waits.data.blocks.owner[waits.block[mine]]
        sleeper = self._who_slept_most(asleep, window)
        has_it = bool(np.any(waits.target[mine] == sleeper) or np.any(owner == sleeper))
        return has_it and (NAMES[lock.cause] == causes.LOCK or bool(np.any(waits.thread[mine] == sleeper)))

    def _who_slept_most(self, asleep: LossRow, window: tuple[int, int]) -> int:
        """Return the thread that slept most; of sleeps that the JVM tells of (those of virtual threads) by its waits."""
        if asleep.key < 0:
            return asleep.threads[0]
        thread, start, end = self._spans(asleep, window)
        return int(np.bincount(thread, weights=end - start).argmax()) if len(thread) else -2

    def _explained(self, row: LossRow, loss: Loss, window: tuple[int, int]) -> Loss:
        """Return a loss with its evidence, doubts first."""
        text, figures = self.evidence.of(loss.cause, row.key, row.threads, window)
        unknown = (UNKNOWN_GAIN,) if self._hangs_on_clients(row, window) else ()
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

    def _replayed_gains(
        self, rows: Sequence[LossRow], window: tuple[int, int], inputs: BoundInputs
    ) -> Mapping[int, _ReplayedGain]:
        """Return what the program gains without a row, by its number, for the largest rows of waits.

        Without a record of who waited for whom nothing can be replayed.
        """
        if self.waits.data is None:
            return {}
        vanishing = [
            number
            for number, row in enumerate(rows)
            if NAMES[row.cause] in REPLAYED and not row.is_rest
            if row.key >= 0 or NAMES[row.cause] in (*CALLS, causes.CARRIERS)
        ][: self.replay.groups()]
        groups = {rows[number].key: group for group, number in enumerate(vanishing) if rows[number].key >= 0}
        calls = {
            group: self.times.calls(NAMES[rows[number].cause], rows[number].threads)
            for group, number in enumerate(vanishing)
            if NAMES[rows[number].cause] in CALLS and rows[number].key < 0
        }
        carriers = [group for group, number in enumerate(vanishing) if NAMES[rows[number].cause] == causes.CARRIERS]
        ahead = self.replay.gains_ns(groups, calls, len(vanishing), window, next(iter(carriers), -1)).tolist()
        spans = [
            calls[group] if group in calls else self._spans(rows[number], window)
            for group, number in enumerate(vanishing)
        ]
        possible = possible_ns(ahead, spans, inputs, self.times, self.places.life, window, self.waits.platform_threads)
        goes_on = self.replay.goes_on(window)
        part = self.replay.unseen_part if goes_on else self.replay.part_for_the_end
        unknown_ns = 0 if goes_on else self.replay.unknown_ns(window)
        return {
            number: _ReplayedGain(ns, part(thread, end - start, window), unknown_ns)
            for number, ns, (thread, start, end) in zip(vanishing, possible, spans, strict=True)
        }

    def _spans(self, row: LossRow, window: tuple[int, int]) -> tuple[Ints, Ints, Ints]:
        """Return the waits behind a row of the account, those for its lock or for a carrier, as thread, start and end."""
        if NAMES[row.cause] == causes.CARRIERS:
            inside = (self.waits.end > window[0]) & (self.waits.start < window[1])
            mine = np.flatnonzero(inside & (self.waits.cause == row.cause))
        else:
            mine = self.places.pieces(NAMES[row.cause], row.key, window)
        return self.waits.thread[mine].astype(np.int64), self.waits.start[mine], self.waits.end[mine]

    def _paused(self, rows: Sequence[LossRow], window: tuple[int, int], inputs: BoundInputs) -> Mapping[int, int]:
        """Return by row of the JVM's pauses what the program would gain without them, and without what the collector took from it
        beside them.
        """
        found = {}
        for number, row in enumerate(rows):
            cause = NAMES[row.cause]
            if cause in OF_THREADS and row.thread < 0 and not row.is_rest:
                beside_ns = inputs.taken_ns / max(inputs.cores, 1e-9) if cause == causes.GC else 0.0
                found[number] = round(gained_ns(self._spans_of(PHASES[cause], window), inputs) + beside_ns)
        return found

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

    def _bound(
        self,
        row: LossRow,
        waited: WaitSummary | None,
        window: tuple[int, int],
        inputs: BoundInputs,
        lost_ns: int,
        slow: Mapping[int, int | None],
    ) -> float | None:
        cause = NAMES[row.cause]
        of_room = 0.0 if cause in STILL else inputs.share_of_room(row.core_ns, lost_ns)
        if waited is not None:
            maker = slow.get(row.key) if cause in SLOW else 0
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
        times = self._pauses(PHASES[cause], window) if cause in (causes.GC, causes.SAFEPOINT) else 0
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
        phases_ns = self._phases(PHASES[cause], window) if cause in PHASES else 0
        return phases_ns or min(row.core_ns, window[1] - window[0])

    def _started(self, rows: Sequence[LossRow], window: tuple[int, int]) -> int:
        """Return the core time that JVMs took to start within a window, if any core was lost to that."""
        if not any(NAMES[row.cause] == causes.START for row in rows):
            return 0
        pid, start, end = self._jvm_phases.get(PHASES[causes.START], (np.zeros(0, np.int64),) * 3)
        spans = zip(
            pid.tolist(), np.maximum(start, window[0]).tolist(), np.minimum(end, window[1]).tolist(), strict=True
        )
        return sum(self.times.jvm_ran(each, (begin, until)) for each, begin, until in spans)

    def _phases(self, kind: str, window: tuple[int, int]) -> int:
        """Return how long phases of a kind lasted within a window, those of several JVMs at once counted once."""
        return self._spans_of(kind, window).total

    def _spans_of(self, kind: str, window: tuple[int, int]) -> Spans:
        """Return the spans of phases of a kind within a window."""
        _, start, end = self._jvm_phases.get(kind, (np.zeros(0, np.int64),) * 3)
        return Spans.of(np.maximum(start, window[0]), np.minimum(end, window[1]))

    def _pauses(self, kind: str, window: tuple[int, int]) -> int:
        """Return how many phases of a kind there were within a window."""
        _, start, end = self._jvm_phases.get(kind, (np.zeros(0, np.int64),) * 3)
        return int(((start < window[1]) & (end > window[0])).sum())

    @cached_property
    def _jvm_phases(self) -> Mapping[str, tuple[Ints, Ints, Ints]]:
        """Phases by kind: processes, begins and ends."""
        origin = self.recording.window_ns[0]
        rows = self.recording.query("SELECT kind, pid, start_ns, dur_ns FROM jvm_phase").fetchall()
        found: dict[str, tuple[Ints, Ints, Ints]] = {}
        for kind in {row[0] for row in rows}:
            pid, start, dur = np.array([row[1:] for row in rows if row[0] == kind], dtype=np.int64).T
            found[kind] = pid, start - origin, start - origin + dur
        return found


def _as_if_alone(rows: Sequence[LossRow], idle_ns: int, inputs: BoundInputs) -> float:
    """Return how many times as much the program would have lost, had other processes not used the cores that it left idle.

    They had these at all times alike, as far as is known: while it lost cores, and while it waited for work from outside.
    """
    known_ns = sum(row.core_ns for row in rows if NAMES[row.cause] not in OF_THE_MACHINE) + idle_ns
    if known_ns < LEAST_LOST * inputs.cores * inputs.wall_ns:
        return 1.0
    return 1 + inputs.left_ns / max(known_ns, 1)
