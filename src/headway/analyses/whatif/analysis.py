"""Predicts a program's wall time after a change, by replaying its recording on other cores.

Question   how long does the run take on k cores, alone or beside another program, with another clock, faster I/O, without
           collections, without a lock, with other sleeps, a faster method? Which of these is worth making?
Method     discrete-event simulation (native/replay/core_replay.h) of the recorded run (`whatif.run_steps`). Threads compute what
           they computed, without what the host stole; a wait that another thread ended is over when that one has computed
           as much as it had when it ended it, so that who comes when is decided anew. Cores are shared evenly among the
           threads that are ready: without waits that is the model of Peternier et al. (`headway walltime`).
           The unchanged run is replayed first, with what host and others took; above MOST_ERROR it is refused.
           Where a lock is changed, who gets which exclusive lock next is decided anew (whatif.recorded_locks,
           native/replay/lock_plan.h), in the replay of the unchanged run, too.
Interval   the error of that replay, both ways; waking a thread that takes no time, or three times what a quick waking took;
           what of single steps is uncertain (whatif.sleeps, whatif.methods);
           at the lower end without waits for locks, whose order on other cores a recording does not know; on other numbers of
           cores WORK_PER_DOUBLING, as the work itself differs there; with another clock, faster I/O or no collections the same
           cores without that, as it may gain nothing; where locks change LOCKS_UNSEEN of what is gained, and several orders of
           who comes first; where threads of the program wait for each other over sockets, and who sent an answer was not seen, at
           the lower end the change without any I/O; what samples of threads that slept and ran
           late leave unsure; at the lower end no naps of a JVM until its threads have
           stopped; RUNS_DIFFER of the time in which anything is computed, as the changed program is another run. That tasks
           may be shared out otherwise is not in it.
Assumes    the same threads do the same work, each the tasks that it did; cores that do not slow each other down; sleeps, I/O
           and what comes from outside last as long as they lasted.
Wrong when threads spin or poll; when tasks would be shared out otherwise (work stealing, pools), or who is last at a
           barrier; when packets from outside come while threads of the program have the CPUs, and are taken for theirs
           (lost_cores.account.io_wakers). What
           was there already when a thread came for it is on no record: recorded on fewer cores, consumers come earlier than
           they could.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headway.analyses.common.notices import recorded_notices
from headway.analyses.whatif import lock_changes, pool_changes, shared_waits
from headway.analyses.whatif.predicted_run import PredictedRuns
from headway.analyses.whatif.predictions import Runs, predict, unexplained
from headway.analyses.whatif.ranking import Candidates, with_further
from headway.analyses.whatif.step_changes import changed_steps
from headway.analyses.whatif.types import WHOLE_CORES, Change, WhatIf
from headway.analyses.whatif.unchanged import loaded, notices_of, reordered, replayed, starved
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.types import Predicted, UnchangedRun
    from headway.store import Recording

MOST_FACTOR = 64
"""So many times the recorded cores are predicted at most, as for `headway walltime`."""


def whatif(
    recording: Recording,
    cores: Sequence[int],
    change: Change | None = None,
    beside: Recording | None = None,
    *,
    is_explained: bool = False,
) -> WhatIf:
    """Predict the wall time on each of `cores` cores with the rest of `change`; with another recording, of both together.

    `is_explained`: with the whole account of each predicted run, and what would be gained by a further change.

    Raises HeadwayError HW820 (no wakings), HW821 (too long), HW402 (no recorded span), HW424 (cores unknown), HW827 (all of
    `cores` are too far from those recorded), HW860 (no whole cores), HW303 (damaged, or a window or number of cores that no
    machine has); of changes of locks HW430 (recorded without), HW830 to HW833; of changes of sleeps, methods,
    queues and stages as `changed_steps`, of pools as `with_pools`; HW883 (its tasks wait for each other in a circle).
    """
    wanted = change or Change(1)
    asked = [recording] if beside is None else [recording, beside]
    runs, near, notices = _runs(asked, cores, wanted)
    replays = tuple(replayed(each, runs.alone(i)) for i, each in enumerate(asked))
    for i, each in enumerate(asked):
        notices += notices_of(each, runs.alone(i), near)
    notices += _of_change(wanted, recording, beside)
    notices += lock_changes.unchanged_at(recording, wanted.locks, runs.locks[0])
    notices += shared_waits.enough(recording, wanted.waits)
    if any(each.refused is not None for each in replays):
        return WhatIf(replays, (), tuple(notices))
    notices += [notice for each in replays for notice in starved(each)]
    predicted: list[Predicted] = []
    accounts = [PredictedRuns(each, run) for each, run in zip(asked, runs.runs, strict=True)]
    for k in near:
        predicted += _alone(runs, replays, replace(wanted, cores=k), accounts, is_explained=is_explained)
        if beside is not None:
            predicted += predict(runs, replays, replace(wanted, cores=k))
    if refused := pool_changes.refusal(recording, runs.runs[0], predicted):
        return WhatIf((replace(replays[0], refused=refused), *replays[1:]), (), tuple(notices))
    notices += _room(wanted, recording, predicted)
    if is_explained and beside is None and not wanted.pools:
        predicted = with_further(Candidates(recording, runs.runs[0]), predicted)
    if is_explained:  # two runs together have no account in any case
        notices += unexplained(predicted)
    return WhatIf(replays, tuple(predicted), (*notices, *reordered(recording, predicted)))


def _runs(asked: Sequence[Recording], cores: Sequence[int], change: Change) -> tuple[Runs, list[int], list[Notice]]:
    """Return the recorded runs, the first of them with what a change reaches, the numbers of cores that are near enough, and what
    is to be known of the recordings and of the numbers that are not.
    """
    runs = [loaded(each) for each in asked]
    runs[0] = pool_changes.with_pools(asked[0], runs[0], change)
    locks = lock_changes.changed_locks(asked[0], change.locks) if change.locks else None
    near, too_far = _near(runs, asked, cores)
    if odd := [k for k in near if k % change.smt.per_core]:
        raise HeadwayError("HW860", cores=", ".join(map(str, odd)), per_core=change.smt.per_core)
    others = (None,) * (len(runs) - 1)
    changed = changed_steps(asked[0], runs[0], change)
    notices = [notice for each in asked for notice in recorded_notices(each)]
    return Runs(tuple(runs), (locks, *others), (changed, *others)), near, notices + too_far


def _of_change(change: Change, recording: Recording, beside: Recording | None) -> list[Notice]:
    """Return what a change takes for granted."""
    found = []
    if change.smt != WHOLE_CORES:
        found.append(Notice.of("HW861", path=recording.path))
    if not change.has_gc:
        found.append(Notice.of("HW893", path=recording.path))
    if change.sleeps:
        found.append(Notice.of("HW855", path=recording.path))
    if change.pools:
        found.append(Notice.of("HW879", path=recording.path))
    if change.balanced:
        found.append(Notice.of("HW890", path=recording.path))
    if beside is not None:
        found.append(Notice.of("HW838", one=recording.path, other=beside.path))
    return found


def _room(change: Change, recording: Recording, predicted: Sequence[Predicted]) -> list[Notice]:
    """Return how much more room a queue needs at least, so that nobody waits for it; worse where that is more than asked for."""
    if not change.queues:
        return []
    most = max((each.most_ahead for each in predicted), default=0)
    room = sum(each.room for each in change.queues)  # the waits that are left out are counted for all of them together
    facts = {"path": recording.path, "queue": ", ".join(each.queue for each in change.queues), "count": most}
    if most < room:
        return [Notice.of("HW887", **facts)]
    return [Notice.of("HW891", room=room, example=change.queues[0].queue, **facts)]


def _near(
    runs: Sequence[RecordedRun], recordings: Sequence[Recording], cores: Sequence[int]
) -> tuple[list[int], list[Notice]]:
    """Return the numbers of cores that are not too far from those recorded, and a notice of those that are."""
    near = [k for k in cores if all(_factor(k, run) <= MOST_FACTOR for run in runs)]
    far = [k for k in cores if k not in near]
    if not far:
        return near, []
    i = max(range(len(runs)), key=lambda i: max(_factor(k, runs[i]) for k in far))
    recorded = runs[i].recorded_cores
    facts = {"path": recordings[i].path, "cores": ", ".join(map(str, far)), "limit": MOST_FACTOR, "recorded": recorded}
    if not near:
        raise HeadwayError("HW827", **facts)
    return near, [Notice.of("HW827", **facts)]


def _factor(k: int, run: RecordedRun) -> float:
    return max(k / run.recorded_cores, run.recorded_cores / k)


def _alone(
    runs: Runs,
    replays: Sequence[UnchangedRun],
    change: Change,
    accounts: Sequence[PredictedRuns],
    *,
    is_explained: bool,
) -> list[Predicted]:
    found: list[Predicted] = []
    for i, replay in enumerate(replays):
        its = (
            change
            if i == 0
            else replace(change, locks=(), sleeps=(), methods=(), pools=(), queues=(), balanced=(), waits=())
        )
        known = None if its.pools else accounts[i]  # tasks are threads that no recording has
        found += predict(runs.alone(i), [replay], its, together=False, accounts=known, is_explained=is_explained)
    return found
