"""Loads a recorded run, replays it unchanged, and says whether that is good enough to predict anything from it.

Question   how far is the replay of the run as it was from the run, and what weakens predictions from it?
Method     the run is replayed with and without what the host and other processes took of the machine; the former is compared with
           what was measured. Above MOST_ERROR there is no answer, nor where too much is unknown, or only as waits in a circle are
           ended.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import duration, percent
from headway.analyses.scheduling import processor_pools
from headway.analyses.whatif.predictions import LOCKS_UNSEEN, STARVED, answers_unseen
from headway.analyses.whatif.queues import polling_for_room
from headway.analyses.whatif.run_steps import load_run
from headway.analyses.whatif.types import Change, UnchangedRun
from headway.errors import HeadwayError, Notice
from headway.model.machine_limits import MAX_CORES
from headway.store.damage import damaged

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.whatif.predictions import Runs
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.types import Predicted
    from headway.store import Recording

MOST_ERROR = 0.05
"""Of the unchanged run's replay; with more there is no answer."""
MOST_UNKNOWN = 0.05
"""Part of the program's waiting on other threads of which it may be unknown who ended it."""
MOST_UNSURE = 0.10
"""Part of the unchanged run by which it may be longer or shorter, as sleeping threads ran late after a sample."""
NAPS_TELL = 0.01
"""Part of the wall time for which a JVM slept until its threads had stopped, above which HW871 is shown."""
LOCKS_TELL = 0.01
"""Part of the wall time for which threads waited for locks on average, above which HW825 is shown."""
LATEST_NS = 1 << 60
"""A replay takes no later time (kMostNs of native/python/bind_replay.cpp): no machine is up for 36 years."""


def loaded(recording: Recording, window: tuple[int, int] | None = None) -> RecordedRun:
    """Load a run that can be replayed, or a part of it. `window`: (from, to) in ns from the recording's start, None: all.

    Raises HeadwayError HW820 (no wakings), HW821 (too long), HW402 (no recorded span), HW424 (cores unknown), HW303 (damaged,
    or a window or number of cores that no machine has).
    """
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
    return load_run(recording, window)


def replayed(recording: Recording, runs: Runs) -> UnchangedRun:
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
    elif run.unsure_ns > MOST_UNSURE * quiet.ns:
        refused_for = Notice.of("HW870", path=path, time=duration(run.unsure_ns), limit=percent(MOST_UNSURE))
    return UnchangedRun(path, k, run.wall_ns, round(as_it_was.ns), error, round(quiet.ns), refused_for)


def notices_of(recording: Recording, runs: Runs, cores: Sequence[int]) -> list[Notice]:
    """Return what weakens the predictions from a recording on `cores`."""
    run, path, found = runs.runs[0], recording.path, []
    if run.last < 0:
        found.append(Notice.of("HW826", path=path))
    if answers_unseen(run):
        found.append(Notice.of("HW869", path=path, time=duration(run.without_sender_ns)))
    if run.naps_ns > NAPS_TELL * run.wall_ns:
        found.append(Notice.of("HW871", path=path, time=duration(run.naps_ns)))
    found += filter(None, (polling_for_room(recording),))
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
        # Until they ran again, as `headway locks` has it; the replay's own figure is until they were woken.
        found.append(Notice.of("HW825", path=path, time=duration(run.lock_wait_ns)))
    return found


def starved(replay: UnchangedRun) -> list[Notice]:
    """Return the notice that others had the cores for long, so that intervals are without time in which none was ready."""
    if replay.quiet_ns is None or replay.quiet_ns >= STARVED * replay.measured_ns:
        return []
    taken = replay.measured_ns - replay.quiet_ns
    share = percent(taken / replay.measured_ns)
    return [Notice.of("HW872", path=replay.path, time=duration(taken), share=share)]


def reordered(recording: Recording, predicted: Sequence[Predicted]) -> list[Notice]:
    """Return how many waits had to be ended at most, if any had."""
    most = max((each.reordered for each in predicted), default=0)
    return [Notice.of("HW834", path=recording.path, count=most)] if most else []
