"""Estimates what a program would likely gain without each of its losses: by replays, and by the pauses of its JVM.

Question   how much earlier would the program have ended, had it not waited for this?
Method     waits for locks and conditions, sleep, I/O and waits for carriers are taken out of a replay of the recording
           (gains.replay), as far as the cores allowed it (gains.room); pauses of the JVM end at once
           (gains.stops); of other causes the lost core time counts, as if other processes had not used the cores.
           Where clients outside decide when a server has work, a gain is not known (gains.outside_clients).
Assumes    and errs as these modules do.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common import causes
from headway.analyses.lost_cores.cause_kinds import CALLS, NAMES, OF_THE_MACHINE, OF_THREADS, PHASES, REPLAYED
from headway.analyses.lost_cores.gains.more_carriers import likely_saved_ns
from headway.analyses.lost_cores.gains.outside_clients import OutsideClients
from headway.analyses.lost_cores.gains.replay import Replay
from headway.analyses.lost_cores.gains.room import possible_ns
from headway.analyses.lost_cores.gains.stops import gained_ns

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headway.analyses.lost_cores.account.jvm_phases import JvmPhases
    from headway.analyses.lost_cores.evidence.sentences import Evidence
    from headway.analyses.lost_cores.gains.bounds import BoundInputs
    from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
    from headway.analyses.lost_cores.grouping import LossRow
    from headway.store import Recording

LEAST_LOST = 0.01
"""The part of the core time that must be lost to tell where the rest would be, had nobody else used the machine."""


@dataclass(frozen=True, slots=True)
class _ReplayedGain:
    """The wall time (ns) that a program saves without some of its waits, by a replay of its recording without them.

    `part_for_the_end`: which part of the waits its end may hang on, as far as is known; for `unknown_ns` that is not known.
    """

    ns: int
    part_for_the_end: float
    unknown_ns: int

    def of_the_end(self, core_ns: float, cores: float) -> float:
        """Return how much of some lost core time may have delayed the program's end."""
        return min(core_ns, core_ns * self.part_for_the_end + self.unknown_ns * cores)


@dataclass(frozen=True, slots=True)
class LikelyGain:
    """What a program would likely gain without one loss: ns of wall time, and the lost core time that may have delayed its end.

    Where it is not known, that core time alone orders the losses.
    """

    ns: int
    core_ns: float
    is_known: bool


class LikelyGains:
    """Estimates the gains without the losses of one recording."""

    def __init__(
        self,
        recording: Recording,
        evidence: Evidence,
        times: KernelTimes,
        phases: JvmPhases,
        span: tuple[int, int],
    ) -> None:
        """Nothing is loaded until it is needed. All windows lie within the span."""
        self._evidence = evidence
        self._places = evidence.places
        self._waits = evidence.places.waits
        self._times = times
        self._phases = phases
        self._replay = Replay(recording, self._waits, span)
        self._clients = OutsideClients(recording, self._waits, times)

    def of(
        self, rows: Sequence[LossRow], window: tuple[int, int], inputs: BoundInputs, idle_ns: int
    ) -> list[LikelyGain]:
        """Return the gain without each row of a window. `idle_ns`: core time that nobody lost, for want of work from outside."""
        replayed = self._replayed_gains(rows, window, inputs)
        ahead = {**{number: each.ns for number, each in replayed.items()}, **self._paused(rows, window, inputs)}
        as_if_alone = _as_if_alone(rows, idle_ns, inputs)
        return [
            self._of_row(
                row,
                row.core_ns * (as_if_alone if NAMES[row.cause] not in OF_THE_MACHINE else 1),
                replayed.get(number),
                ahead.get(number),
                window,
                inputs.cores,
            )
            for number, row in enumerate(rows)
        ]

    def _of_row(
        self,
        row: LossRow,
        core_ns: float,
        replayed: _ReplayedGain | None,
        ns: int | None,
        window: tuple[int, int],
        cores: float,
    ) -> LikelyGain:
        """Return a row's gain. `ns`: what the program gains without it by a replay or by its pauses, None where neither tells."""
        cause = NAMES[row.cause]
        if replayed is not None:
            core_ns = replayed.of_the_end(core_ns, cores)
            core_ns *= self._part_of_awake_holders(row, window) if core_ns / cores > replayed.ns else 1
        is_known = cause not in REPLAYED or ns is not None
        if cause == causes.CARRIERS:
            ns = self._of_carriers(replayed, window)
            core_ns, is_known = 0, ns is not None
        is_known = is_known and not self.hangs_on_clients(row, window)
        if replayed is not None and not is_known:  # ordered by lost core time, then
            return LikelyGain(0, row.core_ns, is_known)
        return LikelyGain(ns or 0, core_ns, is_known)

    def hangs_on_clients(self, row: LossRow, window: tuple[int, int]) -> bool:
        """Return whether what would be gained without some waits hangs on when clients outside ask again."""
        if NAMES[row.cause] not in REPLAYED or row.is_rest or not self._replay.goes_on(window):
            return False
        if row.key < 0 and NAMES[row.cause] in CALLS:
            return self._clients.are_served_by(row.threads, self._places.thread(row.thread)[1], window)
        pid = self._waits.places[row.key].pid if row.key >= 0 else None
        return self._clients.are_served_by(
            self._places.waits_for(NAMES[row.cause], row.key, window)[0].tolist(), pid, window
        )

    def _of_carriers(self, replayed: _ReplayedGain | None, window: tuple[int, int]) -> int | None:
        """Return the wall time that more carriers likely save; None where it is not known."""
        if replayed is None or self._replay.goes_on(window):  # how much virtual threads would do more nothing tells
            return None
        carriers, _ = self._evidence.kernel.carriers()
        return likely_saved_ns(self._waits, window, replayed.ns, replayed.unknown_ns, carriers)

    def _part_of_awake_holders(self, row: LossRow, window: tuple[int, int]) -> float:
        """Return the part of waits for a lock in which its holder was awake: it would sleep as long without the lock."""
        return 1 - self._evidence.holder_asleep(row.key, window) if NAMES[row.cause] == causes.LOCK else 1.0

    def _replayed_gains(
        self, rows: Sequence[LossRow], window: tuple[int, int], inputs: BoundInputs
    ) -> Mapping[int, _ReplayedGain]:
        """Return what the program gains without a row, by its number, for the largest rows of waits.

        Without a record of who waited for whom nothing can be replayed.
        """
        if self._waits.data is None:
            return {}
        vanishing = [
            number
            for number, row in enumerate(rows)
            if NAMES[row.cause] in REPLAYED and not row.is_rest
            if row.key >= 0 or NAMES[row.cause] in (*CALLS, causes.CARRIERS)
        ][: self._replay.groups()]
        groups = {rows[number].key: group for group, number in enumerate(vanishing) if rows[number].key >= 0}
        calls = {
            group: self._times.calls(NAMES[rows[number].cause], rows[number].threads)
            for group, number in enumerate(vanishing)
            if NAMES[rows[number].cause] in CALLS and rows[number].key < 0
        }
        carriers = [group for group, number in enumerate(vanishing) if NAMES[rows[number].cause] == causes.CARRIERS]
        ahead = self._replay.gains_ns(groups, calls, len(vanishing), window, next(iter(carriers), -1)).tolist()
        spans = [
            calls[group]
            if group in calls
            else self._places.waits_for(NAMES[rows[number].cause], rows[number].key, window)
            for group, number in enumerate(vanishing)
        ]
        possible = possible_ns(
            ahead, spans, inputs, self._times, self._places.life, window, self._waits.platform_threads
        )
        goes_on = self._replay.goes_on(window)
        part = self._replay.unseen_part if goes_on else self._replay.part_for_the_end
        unknown_ns = 0 if goes_on else self._replay.unknown_ns(window)
        return {
            number: _ReplayedGain(ns, part(thread, end - start, window), unknown_ns)
            for number, ns, (thread, start, end) in zip(vanishing, possible, spans, strict=True)
        }

    def _paused(self, rows: Sequence[LossRow], window: tuple[int, int], inputs: BoundInputs) -> Mapping[int, int]:
        """Return by row of the JVM's pauses what the program would gain without them, and without what the collector took from it
        beside them.
        """
        found = {}
        for number, row in enumerate(rows):
            cause = NAMES[row.cause]
            if cause in OF_THREADS and row.thread < 0 and not row.is_rest:
                beside_ns = inputs.taken_ns / max(inputs.cores, 1e-9) if cause == causes.GC else 0.0
                found[number] = round(gained_ns(self._phases.spans(PHASES[cause], window), inputs) + beside_ns)
        return found


def _as_if_alone(rows: Sequence[LossRow], idle_ns: int, inputs: BoundInputs) -> float:
    """Return how many times as much the program would have lost, had other processes not used the cores that it left idle.

    They had these at all times alike, as far as is known: while it lost cores, and while it waited for work from outside.
    """
    known_ns = sum(row.core_ns for row in rows if NAMES[row.cause] not in OF_THE_MACHINE) + idle_ns
    if known_ns < LEAST_LOST * inputs.cores * inputs.wall_ns:
        return 1.0
    return 1 + inputs.left_ns / max(known_ns, 1)
