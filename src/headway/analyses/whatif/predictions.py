"""Replays recorded runs after a change, and says between which wall times the result lies, and what limits it next.

Question   how long does a run take after a change, how sure is that, and what would have to be changed then?
Method     whatif.analysis says how runs are replayed, and what is in an interval. What limits a run is what keeps a core idle for
           most of its time (whatif.predicted_run), or that no core is; start and end of the JVM come last. Where that is not
           known, levels of parallelism say it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple, cast

from headway.analyses.common import causes
from headway.analyses.whatif import lock_changes
from headway.analyses.whatif.predicted_run import CORES, PredictedTimeline
from headway.analyses.whatif.threads_together import OF_EACH
from headway.analyses.whatif.types import Change, Levels, Predicted
from headway.errors import HeadwayError, Notice
from headway.model.interruptible import interruptible

if TYPE_CHECKING:
    from headway import _native
    from headway.analyses.whatif.predicted_run import PredictedRuns
    from headway.analyses.whatif.recorded_locks import RecordedLocks
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.step_changes import ChangedSteps
    from headway.analyses.whatif.types import Extent, LockChange, PredictedAccount, UnchangedRun

_SLOW_WAKING = 3.0
STARVED = 0.8
"""A run that waited for cores that others had for the rest: what ran late changed who slept, and for how long."""
_MOST_TRACED = 3_000_000
"""Slices of a run whose predictions are traced unasked."""
LONG = "of a long recording --explain makes one"
"""Why there is no account of a prediction whose run has more."""
WORK_PER_DOUBLING = 0.30
"""So much more or less CPU time a program may take for the same on twice as many cores: what it compiles, spins and shares. The
largest error of whole runs of cold programs (benchmarks/whatif_error.py), rounded up; not a bound."""
RUNS_DIFFER = 0.13
"""So much more or less time another run of the same program computes, without what others took: in 85 of 100 pairs no more
(benchmarks/whatif_changes.py)."""
LOCKS_UNSEEN = 0.10
"""So much more or less may be gained by a change of a lock: acquisitions that nobody waited for are not recorded."""
ANSWERS_UNSEEN = 0.1
"""Threads that wait longer than this part of the run for answers whose senders were not seen may come earlier after a change;"""
_NO_IO = 1e9
"""at the lower end no I/O takes time."""
_FAR: tuple[Extent, Extent] = ("least", "most")
"""How far changes of steps and pools reach: both are in the interval."""
_ORDERS = (2, 3)
"""Seeds of further replays: who comes first to a free lock, and which part of a split one is whose."""


class Replayed(NamedTuple):
    """What native replays return of a run: its end in ns (negative: stuck), and what became of the cores' time."""

    ns: float
    levels: Levels
    free_ns: float
    lock_limited_ns: float
    lock_waits_ns: Sequence[float]
    reordered: int
    most_ahead: int


@dataclass(frozen=True, eq=False)
class Runs:
    """Recorded runs on the same cores. `locks` of each: None where threads get locks in the recorded order.

    `changed` of each: steps that changes of sleeps and methods reach, None: no steps.
    """

    runs: tuple[RecordedRun, ...]
    locks: tuple[RecordedLocks | None, ...]
    changed: tuple[ChangedSteps | None, ...]

    def alone(self, i: int) -> Runs:
        """Return one of the runs."""
        return Runs((self.runs[i],), (self.locks[i],), (self.changed[i],))

    def replay(
        self,
        change: Change,
        *,
        has_stolen: bool = False,
        waking: float = 1.0,
        has_lock_waits: bool = True,
        order: int = 1,
        extent: Extent = "middle",
        timeline: _native.ReplayTimeline | None = None,
        plans: list[_native.LockPlan | None] | None = None,
    ) -> list[Replayed]:
        """Replay the runs beside each other. `timeline`: of a single one; `plans`: of all, where they are there already."""
        from headway import _native

        planned = self._plans(change.locks, order) if plans is None else plans
        together = self.runs[0].together if len(self.runs) == 1 else None
        if together is not None and timeline is None:
            timeline = _native.ReplayTimeline(self.runs[0].steps)
        found = interruptible(
            _native.replay_on_cores,
            runs=[each.steps if each.pools is None else each.pools.steps(extent) for each in self.runs],
            last=[each.last for each in self.runs],
            cores=float(change.cores),
            has_stolen=has_stolen,
            work_factor=1 / change.clock,
            io_factor=1 / change.io,
            waking_factor=waking,
            has_collections=change.has_gc,
            has_lock_waits=has_lock_waits,
            plans=cast("list[_native.LockPlan]", planned),  # its stub knows no None in lists
            changed=cast("list[_native.StepChanges]", self._changed(change, extent)),
            per_core=float(change.smt.per_core),
            throughput=change.smt.throughput,
            timelines=[] if timeline is None else [timeline],
            workers=[
                [] if each.pools is None else each.pools.workers_after(change.pools if i == 0 else ())
                for i, each in enumerate(self.runs)
            ],
        )
        replays = [
            Replayed(ns + run.cut_ns if ns >= 0 else ns, Levels(*levels), *rest)
            for run, (ns, levels, *rest) in zip(self.runs, found, strict=True)
        ]
        if together is None or timeline is None or replays[0].ns < 0:
            return replays
        is_of_each = not OF_EACH.isdisjoint(change.without)
        ns = together.replayed_ns(timeline, change.cores * change.clock, is_of_each=is_of_each)
        return [replays[0]._replace(ns=ns)]

    def _plans(self, changes: tuple[LockChange, ...], seed: int) -> list[_native.LockPlan | None]:
        return [
            None if locks is None else lock_changes.plan(run, locks, changes if i == 0 else (), seed)
            for i, (run, locks) in enumerate(zip(self.runs, self.locks, strict=True))
        ]

    def _changed(self, change: Change, extent: Extent) -> list[_native.StepChanges | None]:
        is_changed = change.reaches_steps or change.without
        return [each.native(extent) if each is not None and is_changed else None for each in self.changed]

    def traced(self, change: Change) -> tuple[list[Replayed], PredictedTimeline]:
        """Replay a single run, and return what its threads do, too."""
        from headway import _native

        plans = self._plans(change.locks, 1)
        timeline = _native.ReplayTimeline(self.runs[0].steps)
        found = self.replay(change, timeline=timeline, plans=plans)
        return found, PredictedTimeline(timeline, round(found[0].ns), change.cores, self.locks[0], plans[0])


def answers_unseen(run: RecordedRun) -> bool:
    """Return whether a run's threads wait for answers of each other for long, of which nobody was seen to send them."""
    return run.without_sender_ns > ANSWERS_UNSEEN * run.wall_ns


def _is_short(run: RecordedRun) -> bool:
    """Return whether a run's predicted slices fit beside its steps in 2 GiB; they take more than the steps themselves."""
    return int(run.steps.figures()["slices"]) <= _MOST_TRACED


@dataclass(frozen=True, slots=True)
class _Known:
    """What the timeline of a replay tells: the account if it was asked for, cause and place of what limits the run next.

    `without_account`: why there is neither.
    """

    account: PredictedAccount | None = None
    limit: tuple[str | None, str | None] | None = None
    without_account: str | None = None


def _known_of(accounts: PredictedRuns, timeline: PredictedTimeline, is_explained: bool) -> _Known:
    unknown = accounts.why_unknown(timeline)
    if unknown is not None:
        return _Known(without_account=unknown)
    account = accounts.account(timeline) if is_explained else None
    first = accounts.limits(timeline)[0]
    return _Known(account, (first.cause, accounts.place_of(first)))


def _interval(
    run: RecordedRun, replay: UnchangedRun, change: Change, replays: Sequence[Replayed], unseen_ns: float
) -> tuple[int, int]:
    """Return between which wall times a run ends, of its replays after a change, the most likely one first."""
    ends = [each.ns for each in replays if each.ns >= 0]
    # Nobody knows whose end it waits for, or how late everything was: who sleeps may be no part of that.
    is_end_unknown = run.last < 0 and run.together is None
    if is_end_unknown or (replay.quiet_ns or 0) < STARVED * run.wall_ns:
        ends.append(max(replays[0].ns - replays[0].levels.none_ns, 0.0))
    off = abs(replay.error or 0.0)
    grown = (1 + WORK_PER_DOUBLING) ** abs(math.log2(change.cores / replay.recorded_cores))
    another_ns = RUNS_DIFFER * max(replays[0].ns - replays[0].levels.none_ns, 0.0)
    low_ns = max(min(ends) - unseen_ns - another_ns - run.naps_ns, 0.0) * (1 - off) / grown
    return round(low_ns), round((max(ends) + unseen_ns + another_ns) * (1 + off) * grown)


def predict(
    runs: Runs,
    replays: Sequence[UnchangedRun],
    change: Change,
    *,
    together: bool = True,
    accounts: PredictedRuns | None = None,
    is_explained: bool = False,
) -> list[Predicted]:
    """Return what becomes of runs that share the cores.

    `accounts`: of a single run; without them, and for long runs unless asked for, levels of parallelism say what limits it.
    """
    middle, known = _likely(runs, change, accounts, together=together, is_explained=is_explained)
    is_reached = change.reaches_steps or change.pools
    reached = [runs.replay(change, extent=extent) for extent in _FAR] if is_reached else []
    others = _ends(runs, change, reached)
    _check_circles(change, replays[0].path, [middle, *others])
    unseen = _unseen_ns(runs, change, middle)
    found = []
    for i, replay in enumerate(replays):
        low_ns, high_ns = _interval(runs.runs[i], replay, change, [each[i] for each in (middle, *others)], unseen[i])
        ns, quiet_ns = middle[i].ns, replay.quiet_ns or 0
        cause, place = known.limit or (_limit(middle[i].levels), None)
        found.append(
            Predicted(
                path=replay.path,
                change=change,
                together=together,
                wall_ns=round(ns),
                low_ns=low_ns,
                high_ns=high_ns,
                speedup=quiet_ns / ns if ns > 0 else 1.0,
                next_cause=cause,
                levels=middle[i].levels,
                next_place=place,
                reordered=middle[i].reordered,
                account=known.account,
                most_ahead=middle[i].most_ahead,
                tasks_ns=(round(reached[1][i].ns), round(reached[0][i].ns)) if change.pools else None,
                without_account=known.without_account,
            )
        )
    return found


def _likely(
    runs: Runs, change: Change, accounts: PredictedRuns | None, *, together: bool, is_explained: bool
) -> tuple[list[Replayed], _Known]:
    """Return the likeliest replays after a change, and what the timeline of a single one that is not too long tells."""
    if accounts is None or not (is_explained or _is_short(runs.runs[0])):
        unknown = "a pool is changed" if change.pools else "several run together" if together else LONG
        return runs.replay(change), _Known(without_account=unknown)
    replays, timeline = runs.traced(change)
    return replays, _known_of(accounts, timeline, is_explained)


def _unseen_ns(runs: Runs, change: Change, replays: Sequence[Replayed]) -> list[float]:
    """Return how much earlier or later each run may end for what no record tells: of its samples, and of changed locks."""
    of_locks = 0.0
    if change.locks:
        of_locks = LOCKS_UNSEEN * abs(runs.replay(replace(change, locks=()))[0].ns - replays[0].ns)
    return [(of_locks if i == 0 else 0.0) + run.unsure_ns for i, run in enumerate(runs.runs)]


def unexplained(predicted: Sequence[Predicted]) -> list[Notice]:
    """Return of which predictions there is no account though it was asked for, and why, each recording and reason once."""
    reasons = {(each.path, each.without_account) for each in predicted if each.without_account and not each.together}
    return [Notice.of("HW862", path=path, reason=reason) for path, reason in sorted(reasons)]


def _ends(runs: Runs, change: Change, reached: list[list[Replayed]]) -> list[list[Replayed]]:
    """Return the replays whose ends lie in the interval; `reached`: with how far changes of steps or pools may reach."""
    found = [runs.replay(change, waking=0.0), runs.replay(change, waking=_SLOW_WAKING)]
    # Where the order of a lock is decided, this would be the end without all other locks.
    if any(each is None for each in runs.locks):
        found.append(runs.replay(change, waking=0.0, has_lock_waits=False))
    if any(each is not None for each in runs.locks):
        found += [runs.replay(change, order=order) for order in _ORDERS]
    found += reached
    if any(answers_unseen(run) and change != Change(run.recorded_cores) for run in runs.runs):
        found.append(runs.replay(replace(change, io=_NO_IO)))
    kept = replace(change, clock=1.0, io=1.0, has_gc=True)
    if kept != change:
        found.append(runs.replay(kept))
    return found


def _check_circles(change: Change, path: str, replays: Sequence[Sequence[Replayed]]) -> None:
    """Raise HeadwayError HW883 if tasks of a changed pool and others wait for each other in a circle in any replay.

    That is seen only when nothing else happens any more: whatever sleeps beside it is over before, and in the time.
    """
    if change.pools and any(each[0].ns < 0 or each[0].reordered for each in replays):
        raise HeadwayError("HW883", path=path, change=change.pools[0].text)


def _limit(levels: Levels) -> str | None:
    """Return what most of the time is limited by, as far as the number of ready threads tells."""
    by_cause = {
        CORES: levels.all_ns + levels.many_ns,
        causes.SERIAL: levels.one_ns,
        causes.BLOCKED: levels.none_ns,
        causes.FEW: levels.few_ns,
    }
    found = max(by_cause, key=lambda cause: by_cause[cause])
    return found if by_cause[found] > 0 else None
