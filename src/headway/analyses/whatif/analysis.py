"""Predicts a program's wall time after a change, by replaying its recording on other cores.

Question   how long does the run take on k cores, alone or beside another program, with another clock, faster I/O, without
           collections?
Method     discrete-event simulation (native/replay/core_replay.h) of the recorded run (`whatif.run_steps`). Threads compute what
           they computed, without what the host stole; a wait that another thread ended is over when that one has computed
           as much as it had when it ended it, so that who comes when is decided anew. Cores are shared evenly among the
           threads that are ready: without waits that is the model of Peternier et al. (`headway walltime`).
           The unchanged run is replayed first, with what host and others took; above MOST_ERROR it is refused.
Interval   the error of that replay, both ways; waking a thread that takes no time, or three times what a quick waking took;
           at the lower end without waits for locks, whose order on other cores a recording does not know; on other numbers of
           cores WORK_PER_DOUBLING, as the work itself differs there; with another change the same cores without it, as it may
           gain nothing. Neither how much runs differ nor that tasks may be shared out otherwise is in it.
Assumes    the same threads do the same work, each the tasks that it did; cores that do not slow each other down; sleeps, I/O
           and what comes from outside last as long as they lasted.
Wrong when threads spin or poll; when tasks would be shared out otherwise (work stealing, pools), or who is last at a
           barrier; when I/O between threads of the program goes by interrupts (sockets): then it lasts as it lasted. What was
           there already when a thread came for it is on no record: recorded on fewer cores, consumers come earlier than they
           could.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from headway.analyses.common.notices import recorded_notices
from headway.analyses.common.units import duration, percent
from headway.analyses.scheduling import processor_pools
from headway.analyses.whatif.run_steps import RecordedRun, load_run
from headway.analyses.whatif.types import Change, Levels, Predicted, UnchangedRun, WhatIf
from headway.errors import HeadwayError, Notice
from headway.store.manifest import damaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.store import Recording

MOST_ERROR = 0.05
"""Of the unchanged run's replay; with more there is no answer."""
MOST_UNKNOWN = 0.05
"""Part of the program's waiting on other threads of which it may be unknown who ended it."""
LOCKS_TELL = 0.01
"""Part of the wall time for which threads waited for locks on average, above which HW825 is shown."""
MOST_FACTOR = 64
"""So many times the recorded cores are predicted at most, as for `headway walltime`."""
_SLOW_WAKING = 3.0
MOST_CORES = 8192
"""The largest number of CPUs that Linux can be built for (CONFIG_NR_CPUS on x86-64)."""
LATEST_NS = 1 << 60
"""A replay takes no later time (kMostNs of native/python/bind_replay.cpp): no machine is up for 36 years."""
WORK_PER_DOUBLING = 0.30
"""So much more or less CPU time a program may take for the same on twice as many cores: what it compiles, spins and shares. The
largest error of whole runs of cold programs (benchmarks/whatif_error.py), rounded up; not a bound."""


class _Replayed(NamedTuple):
    ns: float
    levels: Levels


def whatif(
    recording: Recording, cores: Sequence[int], change: Change | None = None, beside: Recording | None = None
) -> WhatIf:
    """Predict the wall time on each of `cores` cores with the rest of `change`; with another recording, of both together.

    Raises HeadwayError HW820 (no wakings), HW821 (too long), HW402 (no recorded span), HW424 (cores unknown), HW827 (all of
    `cores` are too far from those recorded), HW303 (damaged, or a window or number of cores that no machine has).
    """
    asked = [recording] if beside is None else [recording, beside]
    runs = [_loaded(each) for each in asked]
    near, too_far = _near(runs, asked, cores)
    replays = tuple(_replay(each, run) for each, run in zip(asked, runs, strict=True))
    notices = [notice for each in asked for notice in recorded_notices(each)]
    notices += too_far
    notices += [notice for each, run in zip(asked, runs, strict=True) for notice in _notices(each, run, near)]
    if any(each.refused is not None for each in replays):
        return WhatIf(replays, (), tuple(notices))
    wanted = change or Change(1)
    predicted: list[Predicted] = []
    for k in near:
        predicted += _alone(runs, replays, replace(wanted, cores=k))
        if beside is not None:
            predicted += _predicted(runs, replays, replace(wanted, cores=k))
    return WhatIf(replays, tuple(predicted), tuple(notices))


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
    if cores and not 1 <= cores <= MOST_CORES:
        raise damaged(recording.path / "manifest.json", f"{cores} cores, which no machine has", recording.path)
    return load_run(recording)


def _replay(recording: Recording, run: RecordedRun) -> UnchangedRun:
    """Replay the unchanged run, with and without what others took, and decide whether that is good enough."""
    path, k = str(recording.path), run.recorded_cores
    as_it_was = _run([run], Change(k), has_stolen=True)[0]
    quiet = _run([run], Change(k))[0]
    if as_it_was.ns < 0 or quiet.ns < 0:
        refused = Notice.of("HW824", path=path)
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


def _notices(recording: Recording, run: RecordedRun, cores: Sequence[int]) -> list[Notice]:
    """Return what weakens the predictions from a recording on `cores`."""
    path, found = recording.path, []
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
    if lock_ns > LOCKS_TELL * run.wall_ns:
        found.append(Notice.of("HW825", path=path, time=duration(lock_ns)))
    return found


def _alone(runs: Sequence[RecordedRun], replays: Sequence[UnchangedRun], change: Change) -> list[Predicted]:
    return [
        each
        for run, replay in zip(runs, replays, strict=True)
        for each in _predicted([run], [replay], change, together=False)
    ]


def _predicted(
    runs: Sequence[RecordedRun], replays: Sequence[UnchangedRun], change: Change, *, together: bool = True
) -> list[Predicted]:
    """Return what becomes of runs that share the cores."""
    middle = _run(runs, change)
    others = [
        _run(runs, change, waking=0.0, has_lock_waits=False),
        _run(runs, change, waking=0.0),
        _run(runs, change, waking=_SLOW_WAKING),
    ]
    if change != Change(change.cores):
        others.append(_run(runs, Change(change.cores)))
    found = []
    for i, replay in enumerate(replays):
        ends = [each[i].ns for each in (middle, *others) if each[i].ns >= 0]
        off = abs(replay.error or 0.0)
        grown = (1 + WORK_PER_DOUBLING) ** abs(math.log2(change.cores / replay.recorded_cores))
        ns, quiet_ns = middle[i].ns, replay.quiet_ns or 0
        levels = middle[i].levels
        found.append(
            Predicted(
                path=replay.path,
                change=change,
                together=together,
                wall_ns=round(ns),
                low_ns=round(min(ends) * (1 - off) / grown),
                high_ns=round(max(ends) * (1 + off) * grown),
                speedup=quiet_ns / ns if ns > 0 else 1.0,
                next_cause=_limit(levels),
                levels=levels,
            )
        )
    return found


def _limit(levels: Levels) -> str | None:
    """Return what most of the time is limited by."""
    by_cause = {
        "cores": levels.all_ns + levels.many_ns,
        "serial": levels.one_ns,
        "waiting": levels.none_ns,
        "threads": levels.few_ns,
    }
    found = max(by_cause, key=lambda cause: by_cause[cause])
    return found if by_cause[found] > 0 else None


def _run(
    runs: Sequence[RecordedRun],
    change: Change,
    *,
    has_stolen: bool = False,
    waking: float = 1.0,
    has_lock_waits: bool = True,
) -> list[_Replayed]:
    """Replay runs beside each other."""
    from headway import _native

    found = _native.replay_on_cores(
        runs=[each.steps for each in runs],
        last=[each.last for each in runs],
        cores=float(change.cores),
        has_stolen=has_stolen,
        work_factor=1 / change.clock,
        io_factor=1 / change.io,
        waking_factor=waking,
        has_collections=change.has_gc,
        has_lock_waits=has_lock_waits,
    )
    return [_Replayed(ns, Levels(*levels)) for ns, levels in found]
