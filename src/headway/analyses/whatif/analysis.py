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
           who comes first. Neither how much runs differ nor that tasks may be shared out otherwise is in it.
Assumes    the same threads do the same work, each the tasks that it did; cores that do not slow each other down; sleeps, I/O
           and what comes from outside last as long as they lasted.
Wrong when threads spin or poll; when tasks would be shared out otherwise (work stealing, pools), or who is last at a
           barrier; when I/O between threads of the program goes by interrupts (sockets): then it lasts as it lasted. What was
           there already when a thread came for it is on no record: recorded on fewer cores, consumers come earlier than they
           could.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING

from headway.analyses.common.notices import recorded_notices
from headway.analyses.common.units import duration, percent
from headway.analyses.scheduling import processor_pools
from headway.analyses.waits.blocks import has_locks
from headway.analyses.whatif import lock_changes
from headway.analyses.whatif.predictions import LOCKS_UNSEEN, Runs, predict
from headway.analyses.whatif.run_steps import RecordedRun, load_run
from headway.analyses.whatif.step_changes import changed_steps
from headway.analyses.whatif.types import WHOLE_CORES, Change, LockChange, Predicted, UnchangedRun, WhatIf
from headway.errors import HeadwayError, Notice
from headway.model.machine_limits import MAX_CORES
from headway.store.manifest import damaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.whatif.recorded_locks import RecordedLocks
    from headway.store import Recording

MOST_ERROR = 0.05
"""Of the unchanged run's replay; with more there is no answer."""
MOST_UNKNOWN = 0.05
"""Part of the program's waiting on other threads of which it may be unknown who ended it."""
LOCKS_TELL = 0.01
"""Part of the wall time for which threads waited for locks on average, above which HW825 is shown."""
MOST_LOCKS = 5
"""Places of locks that a ranking goes through."""
MOST_IN_PAIRS = 3
"""So many of the best single changes are tried in pairs, two at a time."""
PAIR_GAINS = 0.01
"""A pair of changes is listed if it shortens the run by more than this part beyond the better one of the two alone."""
MOST_FACTOR = 64
"""So many times the recorded cores are predicted at most, as for `headway walltime`."""
LATEST_NS = 1 << 60
"""A replay takes no later time (kMostNs of native/python/bind_replay.cpp): no machine is up for 36 years."""


def whatif(
    recording: Recording, cores: Sequence[int], change: Change | None = None, beside: Recording | None = None
) -> WhatIf:
    """Predict the wall time on each of `cores` cores with the rest of `change`; with another recording, of both together.

    Raises HeadwayError HW820 (no wakings), HW821 (too long), HW402 (no recorded span), HW424 (cores unknown), HW827 (all of
    `cores` are too far from those recorded), HW860 (no whole cores), HW303 (damaged, or a window or number of cores that no
    machine has); of changes of locks HW430 (recorded without), HW830 to HW833; of changes of sleeps and methods as
    `changed_sleeps` and `changed_methods`.
    """
    wanted = change or Change(1)
    asked = [recording] if beside is None else [recording, beside]
    runs = [_loaded(each) for each in asked]
    locks: list[RecordedLocks | None] = [None] * len(asked)
    if wanted.locks:
        locks[0] = lock_changes.changed_locks(recording, wanted.locks)
    near, too_far = _near(runs, asked, cores)
    if odd := [k for k in near if k % wanted.smt.per_core]:
        raise HeadwayError("HW860", cores=", ".join(map(str, odd)), per_core=wanted.smt.per_core)
    changed = [changed_steps(recording, runs[0], wanted), *[None] * (len(runs) - 1)]
    all_runs = Runs(tuple(runs), tuple(locks), tuple(changed))
    replays = tuple(_replay(each, all_runs.alone(i)) for i, each in enumerate(asked))
    notices = [notice for each in asked for notice in recorded_notices(each)]
    notices += too_far
    for i, each in enumerate(asked):
        notices += _notices(each, all_runs.alone(i), near)
    notices += _of_change(wanted, recording, beside)
    if any(each.refused is not None for each in replays):
        return WhatIf(replays, (), tuple(notices))
    predicted: list[Predicted] = []
    for k in near:
        predicted += _alone(all_runs, replays, replace(wanted, cores=k))
        if beside is not None:
            predicted += predict(all_runs, replays, replace(wanted, cores=k))
    return WhatIf(replays, tuple(predicted), (*notices, *_reordered(recording, predicted)))


def _of_change(change: Change, recording: Recording, beside: Recording | None) -> list[Notice]:
    """Return what a change takes for granted."""
    found = []
    if change.smt != WHOLE_CORES:
        found.append(Notice.of("HW861", path=recording.path))
    if change.sleeps:
        found.append(Notice.of("HW855", path=recording.path))
    if beside is not None:
        found.append(Notice.of("HW838", one=recording.path, other=beside.path))
    return found


def ranking(recording: Recording) -> WhatIf:
    """Predict the wall time after each change that may be worth making, the best first.

    Those are: without one of the locks that threads waited for longest, without collections, with I/O twice as fast, on twice as
    many cores; and pairs of the best of them, where the second one gains something. Raises HeadwayError as `whatif`.
    """
    run = _loaded(recording)
    plain = Runs((run,), (None,), (None,))
    notices = [*recorded_notices(recording), *_notices(recording, plain, ())]
    replay = _replay(recording, plain)
    decided: Runs | None = None
    with_locks: UnchangedRun | None = None
    predicted: list[Predicted] = []
    if not has_locks(recording):
        notices.append(Notice.of("HW836", path=recording.path))
    else:
        decided = Runs((run,), (lock_changes.locks_of(recording),), (None,))
        with_locks = _replay(recording, decided)
        if with_locks.refused is not None:
            notices.append(Notice.of("HW837", path=recording.path, reason=with_locks.refused.message))
            decided = None
        else:
            replay = with_locks if replay.refused is not None else replay
            for change in _lock_candidates(decided):
                predicted += predict(decided, (with_locks,), change, together=False)
    if replay.refused is None:
        for change in _candidates(run):
            predicted += predict(plain, (replay,), change, together=False, limits=decided)
    for pair in _pairs(predicted):
        if pair.locks and decided is not None and with_locks is not None:
            predicted += predict(decided, (with_locks,), pair, together=False)
        elif not pair.locks:
            predicted += predict(plain, (replay,), pair, together=False, limits=decided)
    predicted = [each for each in predicted if _is_worth_making(each, predicted)]
    best = sorted(predicted, key=lambda each: each.wall_ns)
    return WhatIf((replay,), tuple(best), (*notices, *_reordered(recording, best)))


def _candidates(run: RecordedRun) -> list[Change]:
    found = [Change(2 * run.recorded_cores)]
    if run.has_collections:
        found.append(Change(run.recorded_cores, has_gc=False))
    if run.waited_ns["io"] > 0:
        found.append(Change(run.recorded_cores, io=2.0))
    return found


def _pairs(singles: Sequence[Predicted]) -> list[Change]:
    """Return the best changes that gain something, two at a time."""
    gaining = [each.change for each in sorted(singles, key=lambda each: each.wall_ns) if each.speedup > 1 + PAIR_GAINS]
    return [_both(one, other) for one, other in combinations(gaining[:MOST_IN_PAIRS], 2)]


def _both(one: Change, other: Change) -> Change:
    return Change(
        max(one.cores, other.cores),
        io=max(one.io, other.io),
        has_gc=one.has_gc and other.has_gc,
        locks=(*one.locks, *other.locks),
    )


def _is_worth_making(asked: Predicted, predicted: Sequence[Predicted]) -> bool:
    """Return False of a pair that takes about as long as one of its changes alone."""
    parts = [
        one.wall_ns
        for pair in combinations(predicted, 2)
        if asked not in pair and _both(pair[0].change, pair[1].change) == asked.change
        for one in pair
    ]
    return not parts or asked.wall_ns < (1 - PAIR_GAINS) * min(parts)


def _lock_candidates(runs: Runs) -> list[Change]:
    """Return the losses of the places that threads waited at longest."""
    locks = runs.locks[0]
    if locks is None:
        return []
    by_place: dict[str, int] = {}
    for i, ns in enumerate(locks.waited_ns.tolist()):
        text = locks.place[i] or locks.name[i]
        by_place[text] = by_place.get(text, 0) + ns
    longest = sorted(by_place, key=lambda text: -by_place[text])[:MOST_LOCKS]
    return [Change(runs.runs[0].recorded_cores, locks=(LockChange(text, is_removed=True),)) for text in longest]


def _loaded(recording: Recording) -> RecordedRun:
    if recording.mode != "ebpf":
        raise HeadwayError("HW820", path=recording.path, mode=recording.mode)
    if recording.wall_ns <= 0:
        raise HeadwayError("HW402", path=recording.path)
    begin_ns, end_ns = recording.window_ns
    if begin_ns < 0 or end_ns > LATEST_NS:
        reason = (
            f"its window begins at {begin_ns} ns and ends at {end_ns} ns, which no clock of a machine that is up says"
        )
        raise damaged(recording.path / "manifest.json", reason, recording.path)
    cores = recording.manifest.recorded_cores
    if cores and not 1 <= cores <= MAX_CORES:
        raise damaged(recording.path / "manifest.json", f"{cores} cores, which no machine has", recording.path)
    return load_run(recording)


def _replay(recording: Recording, runs: Runs) -> UnchangedRun:
    """Replay the unchanged run, with and without what others took, and decide whether that is good enough."""
    run = runs.runs[0]
    path, k = str(recording.path), run.recorded_cores
    as_it_was = runs.replay(Change(k), has_stolen=True)[0]
    quiet = runs.replay(Change(k))[0]
    if as_it_was.ns < 0 or quiet.ns < 0:
        refused = Notice.of("HW824", path=path)
        return UnchangedRun(path, k, run.wall_ns, None, None, None, refused)
    if reordered := max(as_it_was.reordered, quiet.reordered):
        refused = Notice.of("HW839", path=path, count=reordered)
        return UnchangedRun(path, k, run.wall_ns, None, None, None, refused)
    error = as_it_was.ns / run.wall_ns - 1
    unknown = run.waited_ns["unknown"]
    share = unknown / max(unknown + run.waited_ns["thread"], 1)
    refused_for = None
    if share > MOST_UNKNOWN:
        refused_for = Notice.of("HW823", path=path, share=percent(share))
    elif abs(error) > MOST_ERROR:
        times = {"replayed": duration(round(as_it_was.ns)), "measured": duration(run.wall_ns)}
        refused_for = Notice.of("HW822", path=path, **times, error=percent(abs(error)), limit=percent(MOST_ERROR))
    return UnchangedRun(path, k, run.wall_ns, round(as_it_was.ns), error, round(quiet.ns), refused_for)


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


def _notices(recording: Recording, runs: Runs, cores: Sequence[int]) -> list[Notice]:
    """Return what weakens the predictions from a recording on `cores`."""
    run, path, found = runs.runs[0], recording.path, []
    if run.last < 0:
        found.append(Notice.of("HW826", path=path))
    quota = recording.manifest.quota_cores
    if quota is not None and 0 < quota < run.recorded_cores:
        facts = {"path": path, "quota": f"{quota:g}", "cores": run.recorded_cores, "advice": max(1, int(quota))}
        found.append(Notice.of("HW829", **facts))
    pools = processor_pools.find(recording)
    affected = [k for k in cores if pools is not None and k != pools.seen]
    if pools is not None and affected:
        facts = {"path": path, "seen": pools.seen, "pools": pools.text, "advice": affected[-1]}
        found.append(Notice.of("HW828", s="s" if pools.seen != 1 else "", **facts))
    lock_ns = run.steps.figures()["lock_wait_ns"]
    if runs.locks[0] is not None:
        found.append(Notice.of("HW835", path=path, share=percent(LOCKS_UNSEEN)))
    elif lock_ns > LOCKS_TELL * run.wall_ns:
        found.append(Notice.of("HW825", path=path, time=duration(lock_ns)))
    return found


def _reordered(recording: Recording, predicted: Sequence[Predicted]) -> list[Notice]:
    most = max((each.reordered for each in predicted), default=0)
    return [Notice.of("HW834", path=recording.path, count=most)] if most else []


def _alone(runs: Runs, replays: Sequence[UnchangedRun], change: Change) -> list[Predicted]:
    found: list[Predicted] = []
    for i, replay in enumerate(replays):
        its = change if i == 0 else replace(change, locks=(), sleeps=(), methods=())
        found += predict(runs.alone(i), [replay], its, together=False)
    return found
