"""Predicts how many times as fast a program would be without its largest losses: what `headway why` calls their likely gain.

Question   how long does the run take without a lock, a sleep, I/O, a condition, or with room in a full queue?
Method     each loss is a change, predicted by the replay of `headway whatif`, with its interval: a lock is removed as by
           --without-lock, a queue has room as by --queue, parts are equal as by --balanced. Sleeps, I/O, conditions and locks
           that several threads may have at once are waits that take no time. Where the order of locks can't be decided anew,
           the waits for a lock are left out, and all others get theirs in the recorded order.
           The speedup is that of `headway whatif`: of a machine that runs nothing else.
Bounded    by MOST_SLICES slices, or waits, in all replays; nothing is asked of a run that takes more for one loss. The replay has
           no virtual threads, and no end of a program that would have gone on, also of one that was told to end (by a signal of
           somebody outside, or since a time was over): of these nothing is predicted.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

from headway.analyses.common import causes
from headway.analyses.critical_path.stopped import stop_of_program
from headway.analyses.lost_cores.changes import Gain
from headway.analyses.whatif.predictions import Runs, predict
from headway.analyses.whatif.ranking import Candidates
from headway.analyses.whatif.step_changes import ChangedSteps, program_steps
from headway.analyses.whatif.types import BalanceChange, Change, LockChange, QueueChange
from headway.analyses.whatif.unchanged import loaded
from headway.analyses.whatif.waiting_steps import waiting_steps
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.lost_cores.changes import AvoidedLoss
    from headway.analyses.whatif.types import Predicted, UnchangedRun
    from headway.store import Recording

MOST_SLICES = 6_000_000
"""Slices of a run, or waits of which the JVM told if these are more, times its replays: some two seconds."""
_REPLAYS_OF_A_RUN, _REPLAYS_OF_A_LOSS = 4, 6
_ENOUGH_ROOM = 1_000_000
"""Elements of a queue in which nobody waits for room."""
_NAMED = {causes.FULL, causes.IMBALANCE}
"""Causes that are removed by a change of what goes by a name, and in no other way."""


class PredictedGains:
    """Predicts the gains of one recording; nothing is loaded until a loss is asked about."""

    def __init__(self, recording: Recording) -> None:
        """Take the recording."""
        self._recording = recording

    def without(self, losses: Sequence[AvoidedLoss]) -> list[Gain | None]:
        """Return what would be gained without each of some losses, the most important one first; None where nothing is asked."""
        room = MOST_SLICES // max(self._rows("slice"), self._rows("block"), 1) - _REPLAYS_OF_A_RUN
        asked = losses[: max(room // _REPLAYS_OF_A_LOSS, 0)]
        if not asked or self._candidates is None:
            return [None] * len(losses)
        refused = self._candidates.unchanged.refused
        if refused is not None:  # of the whole run: those that are not asked about are no better known
            return [Gain(refused=refused)] * len(losses)
        return [*map(self._gain, asked), *[None] * (len(losses) - len(asked))]

    def _rows(self, table: str) -> int:
        return self._recording.manifest.tables[table].rows if self._recording.has(table) else 0

    @cached_property
    def _candidates(self) -> Candidates | None:
        """The run and its unchanged replays; None where it can't be replayed, or has no end of its own."""
        try:
            run = loaded(self._recording)
        except HeadwayError:
            return None
        if run.last < 0 or stop_of_program(self._recording, run.threads) is not None:
            return None
        return Candidates(self._recording, run)

    def _gain(self, loss: AvoidedLoss) -> Gain | None:
        candidates = self._candidates
        assert candidates is not None
        change = self._named_change(candidates, loss)
        try:
            if change is not None:
                runs, replay = candidates.runs(change)
            elif loss.cause in _NAMED:
                return None
            else:
                change, runs, replay = self._without_waits(candidates, loss)
            (predicted,) = predict(runs, (replay,), change, together=False)
        except HeadwayError:  # there is no such change: nothing is known of it
            return None
        return _gain_of(predicted, replay)

    def _named_change(self, candidates: Candidates, loss: AvoidedLoss) -> Change | None:
        """Return the change of `headway whatif` that removes a loss; None where there is none."""
        cores = candidates.run.recorded_cores
        locks = candidates.decided.locks[0] if candidates.decided is not None else None
        if loss.cause == causes.LOCK and loss.name and locks is not None and locks.numbers(loss.name):
            return Change(cores, locks=(LockChange(loss.name, is_removed=True),))
        if loss.cause == causes.FULL and loss.name:
            return Change(cores, queues=(QueueChange(loss.name, _ENOUGH_ROOM),))
        if loss.cause == causes.IMBALANCE and loss.line:
            return Change(cores, balanced=(BalanceChange(loss.line),))
        return None

    def _without_waits(self, candidates: Candidates, loss: AvoidedLoss) -> tuple[Change, Runs, UnchangedRun]:
        """Return the change that leaves waits out, the runs that it is made in, and their unchanged replay."""
        change = Change(candidates.run.recorded_cores, without=(loss.cause,))
        runs, replay = candidates.runs(change)
        origin, steps = self._recording.window_ns[0], program_steps(candidates.run)
        waits = waiting_steps(steps, loss.thread, loss.start + origin, loss.end + origin)
        changed = ChangedSteps(candidates.run, waits=steps["step"][waits])
        return change, Runs(runs.runs, runs.locks, (changed,)), replay


def _gain_of(predicted: Predicted, replay: UnchangedRun) -> Gain | None:
    """Return a prediction as speedups; None where nothing of the run is left, or it is stuck."""
    quiet_ns = replay.quiet_ns or 0
    if predicted.wall_ns <= 0 or not quiet_ns:
        return None
    likely, low, high = (quiet_ns / max(ns, 1) for ns in (predicted.wall_ns, predicted.high_ns, predicted.low_ns))
    return Gain(likely, low, high)
