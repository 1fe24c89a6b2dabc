"""Predicts how many times as fast a program would be without its largest losses: what `headway why` calls their likely gain.

Question   how long does the run take without a lock, a sleep, I/O, a condition, or with room in a full queue?
Method     each loss is a change, predicted by the replay of `headway whatif`, with its interval: a lock is removed as by
           --without-lock, a queue has room as by --queue, parts are equal as by --balanced. Sleeps, I/O, conditions and locks
           that several threads may have at once are waits that take no time. Where the order of locks can't be decided anew,
           the waits for a lock are left out, and all others get theirs in the recorded order.
           The speedup is that of `headway whatif`: of a machine that runs nothing else. Of a window it is that of the thread
           which the program's critical path is on at its end; of a program that would have gone on (also of one that
           somebody outside told to end) that of what its threads do together (whatif.together); of other cores that of the
           run there, with the loss and without.
Bounded    by MOST_SLICES slices, or waits, in all replays; nothing is asked of a run that takes more for one loss. The replay has
           no virtual threads: of these nothing is predicted. Nor is anything where threads looked for room in a queue again and
           again (HW903).
"""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.critical_path.stopped import stop_of_program
from headway.analyses.lost_cores.changes import Gain
from headway.analyses.lost_cores.gains.ongoing import unseen_part
from headway.analyses.whatif.predictions import Runs, predict
from headway.analyses.whatif.queues import polling_for_room
from headway.analyses.whatif.ranking import Candidates
from headway.analyses.whatif.step_changes import ChangedSteps, program_steps
from headway.analyses.whatif.together import together
from headway.analyses.whatif.types import BalanceChange, Change, LockChange, QueueChange
from headway.analyses.whatif.unchanged import loaded
from headway.analyses.whatif.waiting_steps import waiting_steps
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.changes import AvoidedLoss
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.types import Predicted, UnchangedRun
    from headway.store import Recording

    Ints = NDArray[np.int64]

MOST_SLICES = 6_000_000
"""Slices of a run, or waits of which the JVM told if these are more, times its replays: some two seconds."""
_REPLAYS_OF_A_RUN, _REPLAYS_OF_A_LOSS = 4, 6
MOST_UNSEEN = 0.05
"""Part of a loss's waiting that may be of threads which come and go with their tasks, in a program that goes on."""
_ENOUGH_ROOM = 1_000_000
"""Elements of a queue in which nobody waits for room."""
_COME_AND_GO = "those that waited come and go with their tasks"
_NOBODY = "no thread that was there for most of the time ran in the second half"
_NAMED = {causes.FULL, causes.IMBALANCE}
"""Causes that are removed by a change of what goes by a name, and in no other way."""


class PredictedGains:
    """Predicts the gains of one recording; nothing is loaded until a loss is asked about."""

    def __init__(self, recording: Recording, window: tuple[int, int] | None = None, cores: int | None = None) -> None:
        """Take the recording, a window (ns from its start) and the cores if they are others than those that it had."""
        self._recording = recording
        self._window = window
        self._cores = cores

    def of_part(self, window: tuple[int, int] | None, cores: int | None) -> PredictedGains:
        """Return what predicts the gains of a part of the recording, or of other cores."""
        return PredictedGains(self._recording, window, cores)

    def without(self, losses: Sequence[AvoidedLoss]) -> list[Gain | None]:
        """Return what would be gained without each of some losses, the most important one first; None where nothing is asked."""
        room = MOST_SLICES // max(self._rows("slice"), self._rows("block"), 1) - _REPLAYS_OF_A_RUN
        asked = losses[: max(room // _REPLAYS_OF_A_LOSS, 0)]
        if not asked:
            return [None] * len(losses)
        candidates = self._candidates
        refused = candidates if isinstance(candidates, Notice) else candidates.unchanged.refused
        refused = refused or polling_for_room(self._recording, self._window)
        if refused is not None:  # of the whole run: those that are not asked about are no better known
            return [Gain(refused=refused)] * len(losses)
        return [*map(self._gain, asked), *[None] * (len(losses) - len(asked))]

    def _rows(self, table: str) -> int:
        return self._recording.manifest.tables[table].rows if self._recording.has(table) else 0

    @cached_property
    def _candidates(self) -> Candidates | Notice:
        """The run and its unchanged replays; why there are none where it can't be replayed."""
        try:
            run = loaded(self._recording, self._window)
            stop = stop_of_program(self._recording, run.threads)
            if stop is not None or run.last < 0:
                return self._going_on(run, None if stop is None else stop.start_ns)
        except HeadwayError as error:
            return error.notice
        return Candidates(self._recording, run, self._window)

    def _going_on(self, run: RecordedRun, stop_ns: int | None) -> Candidates | Notice:
        """Return a run that would have gone on, up to where somebody outside told it to end."""
        begin, end = self._window or (0, self._recording.wall_ns)
        window = self._window
        if stop_ns is not None and stop_ns - self._recording.window_ns[0] < end:
            window = (begin, max(stop_ns - self._recording.window_ns[0], begin + 1))
            run = loaded(self._recording, window)
        found = together(self._recording, run, window)
        if found is None:
            return Notice.of("HW455", path=self._recording.path, why=_NOBODY)
        return Candidates(self._recording, dataclasses.replace(run, last=-1, cut_ns=0, together=found), window)

    def _refused(self, run: RecordedRun, loss: AvoidedLoss) -> Notice | None:
        """Return why nothing is known of one loss of a program that goes on; None where something is."""
        if run.together is None:
            return None
        if loss.cause in (causes.CONDITION, causes.FULL):
            return Notice.of("HW454", path=self._recording.path)
        origin = self._recording.window_ns[0]
        begin, end = self._window or (0, self._recording.wall_ns)
        span = (origin + begin, origin + end)
        unseen = unseen_part(run.threads, len(run.threads), loss.thread, loss.end - loss.start, span)
        return Notice.of("HW455", path=self._recording.path, why=_COME_AND_GO) if unseen > MOST_UNSEEN else None

    def _gain(self, loss: AvoidedLoss) -> Gain | None:
        candidates = self._candidates
        assert isinstance(candidates, Candidates)
        refused = self._refused(candidates.run, loss)
        if refused is not None:
            return Gain(refused=refused, is_of_run=False)
        change = self._named_change(candidates, loss)
        try:
            if change is not None:
                change, runs, replay = self._with_change(candidates, change, loss)
            elif loss.cause in _NAMED:
                return None
            else:
                change, runs, replay = self._without_waits(candidates, loss)
            (predicted,) = predict(runs, (replay,), change, together=False)
            with_it = self._with_the_loss(candidates, change)
        except HeadwayError:  # there is no such change: nothing is known of it
            return None
        return _gain_of(predicted, (replay.quiet_ns or 0) if with_it is None else with_it)

    def _with_the_loss(self, candidates: Candidates, change: Change) -> float | None:
        """Return how long the run takes with the loss, in ns, to compare with the run without it; None: as its unchanged replay.

        That replay is on the recorded cores, and of a run with an end: other cores, and threads that go on, need an own one.
        """
        if self._cores is None and candidates.run.together is None:
            return None
        as_it_was = Change(self._cores or candidates.run.recorded_cores, without=change.without)
        # With the locks decided anew if they are where the loss is left out, and only then.
        runs, _ = candidates.runs(change)
        return Runs(runs.runs, runs.locks, (None,)).replay(as_it_was)[0].ns

    def _named_change(self, candidates: Candidates, loss: AvoidedLoss) -> Change | None:
        """Return the change of `headway whatif` that removes a loss; None where there is none."""
        cores = self._cores or candidates.run.recorded_cores
        locks = candidates.decided.locks[0] if candidates.decided is not None else None
        if loss.cause == causes.LOCK and loss.name and locks is not None and locks.numbers(loss.name):
            return Change(cores, locks=(LockChange(loss.name, is_removed=True),))
        if loss.cause == causes.FULL and loss.name:
            return Change(cores, queues=(QueueChange(loss.name, _ENOUGH_ROOM),))
        if loss.cause == causes.IMBALANCE and loss.line:
            return Change(cores, balanced=(BalanceChange(loss.line),))
        return None

    def _with_change(
        self, candidates: Candidates, change: Change, loss: AvoidedLoss
    ) -> tuple[Change, Runs, UnchangedRun]:
        """Return a change, the runs that it is made in, and their unchanged replay.

        A wait for a lock that goes on when a window begins was not asked for in it: what is left of it takes no time.
        """
        if loss.cause == causes.LOCK and self._window is not None:
            cut = np.flatnonzero(loss.start <= self._window[0])
            if len(cut):
                change = dataclasses.replace(change, without=(loss.cause,))
                return change, *self._skipping(candidates, change, loss, cut)
        return change, *candidates.runs(change)

    def _without_waits(self, candidates: Candidates, loss: AvoidedLoss) -> tuple[Change, Runs, UnchangedRun]:
        """Return the change that leaves waits out, the runs that it is made in, and their unchanged replay."""
        change = Change(self._cores or candidates.run.recorded_cores, without=(loss.cause,))
        return change, *self._skipping(candidates, change, loss, np.arange(len(loss.thread)))

    def _skipping(
        self, candidates: Candidates, change: Change, loss: AvoidedLoss, rows: Ints
    ) -> tuple[Runs, UnchangedRun]:
        """Return the runs of a change in which some of a loss's waits take no time, too, and their unchanged replay."""
        run = candidates.run
        runs, replay = candidates.runs(change)
        origin, steps = self._recording.window_ns[0], program_steps(run)
        waits = waiting_steps(steps, loss.thread[rows], loss.start[rows] + origin, loss.end[rows] + origin)
        changed = ChangedSteps(run, waits=steps["step"][waits])
        if run.cut_ns and self._window is not None and _lasts(loss, run.last, self._window[1]):
            run = dataclasses.replace(run, cut_ns=0)  # it is one of the waits that take no time
        return Runs((run,), runs.locks, (changed,)), replay


def _lasts(loss: AvoidedLoss, thread: int, ns: int) -> bool:
    """Return whether one of a loss's waits is of a thread and lasts beyond a time."""
    return bool(((loss.thread == thread) & (loss.start < ns) & (loss.end >= ns)).any())


def _gain_of(predicted: Predicted, quiet_ns: float) -> Gain | None:
    """Return how many times as fast a predicted run is as one of `quiet_ns`; None: its replay has no end or no length."""
    if predicted.wall_ns <= 0 or quiet_ns <= 0:
        return None
    likely, low, high = (quiet_ns / max(ns, 1) for ns in (predicted.wall_ns, predicted.high_ns, predicted.low_ns))
    return Gain(likely, low, high)
