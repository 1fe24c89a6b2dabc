"""Resolves changes of pools by the names that users write, and makes a run of their tasks, which any number of workers may do.

Question   which pool does `--pool NAME=16` mean, and what do its workers do then?
Method     whatif.pools finds pools and tasks. The run is replayed with each stretch of a worker in which tasks are not told
           apart whole, and cut in pieces of a sixteenth and wherever the worker waits: what tasks as they were take lies between.
           Most likely is that tasks are like each other: where most stretches have the same number of long waits, those with a
           multiple of it are so many tasks. Tasks are taken in the order in which they were submitted, by whichever worker is
           free first.
Interval   from the run with pieces to that with whole stretches. Further apart than MOST_APART nothing is predicted.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import places_of
from headway.analyses.common.units import duration, percent
from headway.analyses.waits.tables.blocks import has_all_waits
from headway.analyses.whatif.pools import PoolRun, most_at_once, pools_of, tasks_of
from headway.errors import HeadwayError, Notice
from headway.model.interruptible import interruptible
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.whatif.pools import Pool, Tasks
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.types import Change, Predicted
    from headway.store import Recording

    Ints = NDArray[np.int64]

MOST_APART = 0.25
"""Part of the predicted time by which it may be shorter if each stretch with unknown tasks is many small ones."""
MOST_BETWEEN = 0.05
"""Part of their time for which a pool's tasks may have waited for each other."""
MOST_TASKS = 2_000_000
"""Of all pools that are changed, those that may be several in pieces."""
_MOST_NAMES = 5
_PIECES = 16
_LONG_WAIT_NS = 100_000
_USUAL = 0.5
"""Part of a pool's stretches that must have the same number of long waits, to be what its tasks look like."""


def with_pools(recording: Recording, run: RecordedRun, change: Change) -> RecordedRun:
    """Return a run with the tasks of the pools that a change names; the same where it names none.

    Raises HeadwayError HW430 (recorded without locks), HW833 (waits are missing), HW882 (no such pool), HW874 (several), HW875
    (no fixed pool), HW876 (changed twice), HW877 (with changes that know the run's threads alone), HW880 (tasks wait for each
    other), HW881 (too many tasks).
    """
    if not change.pools:
        return run
    if change.locks or change.reaches_steps:
        raise HeadwayError("HW877", path=recording.path)
    every = pools_of(recording, run.threads)
    if not has_all_waits(recording):
        raise HeadwayError("HW833", path=recording.path)
    pools: list[Pool] = []
    for each in change.pools:
        pool = _named(recording, every, each.pool)
        if pool in pools:
            raise HeadwayError("HW876", pool=pool.name)
        pools.append(pool)
    found = _pool_run(recording, run, pools)
    return replace(run, steps=found.likely, pools=found)


def _pool_run(recording: Recording, run: RecordedRun, pools: Sequence[Pool]) -> PoolRun:
    """Return the run of the tasks of some pools. Raises HeadwayError HW880, HW881."""
    names = ", ".join(each.name for each in pools)
    too_many = HeadwayError("HW881", path=recording.path, pool=names, limit=f"{MOST_TASKS:,}")
    tasks = [tasks_of(recording, pool, run.threads) for pool in pools]
    if sum(len(each.is_one) + (_PIECES - 1) * int((~each.is_one).sum()) for each in tasks) > MOST_TASKS:
        raise too_many
    waits = _LongWaits(run)
    likely, cut = ([_cut_tasks(each, cuts(each, waits)) for each in tasks] for cuts in (_likely_cuts, _all_cuts))
    if sum(len(each.thread) for each in cut) > MOST_TASKS:
        raise too_many
    lengths = sum(int((each.end_ns - each.start_ns).sum()) for each in tasks)
    unseen = sum(int((each.end_ns - each.start_ns)[~each.is_one].sum()) for each in tasks)
    whole, guess, pieces = (_native_run(run, each) for each in (tasks, likely, cut))
    between = int(whole.figures()["between_tasks_ns"]) / max(lengths, 1)
    if between > MOST_BETWEEN:
        facts = {"share": percent(between), "limit": percent(MOST_BETWEEN)}
        raise HeadwayError("HW880", path=recording.path, pool=names, **facts)
    if not all(each.figures()["has_all_task_signals"] for each in (whole, guess, pieces)):
        raise too_many
    workers = tuple(most_at_once(pool, run.threads) for pool in pools)
    return PoolRun(whole, guess, pieces, tuple(pools), workers, unseen / max(lengths, 1))


def refusal(recording: Recording, run: RecordedRun, predicted: Sequence[Predicted]) -> Notice | None:
    """Return why nothing is predicted: tasks that are not told apart decide what the change brings."""
    if run.pools is None:
        return None
    apart = [each.tasks_ns for each in predicted if not each.together and each.tasks_ns is not None]
    far = [(most - least, least, most) for least, most in apart if most - least > MOST_APART * most]
    if not far:
        return None
    _, least, most = max(far)
    facts = {"least": duration(least), "most": duration(most)}
    return Notice.of(
        "HW878", path=recording.path, pool=run.pools.pools[0].name, share=percent(run.pools.unseen_part), **facts
    )


def _named(recording: Recording, pools: Sequence[Pool], name: str) -> Pool:
    found = [each for each in pools if each.is_called(name.strip())]
    if not found:
        near = nearest_first(name, [each.name for each in pools], _MOST_NAMES)
        there = f"; there are: {', '.join(near)}" if near else "; no thread waited for a task of one"
        raise HeadwayError("HW882", path=recording.path, pool=name, there=there)
    if len(found) > 1:
        queues = ", ".join(each.queue for each in found[:_MOST_NAMES])
        raise HeadwayError("HW874", path=recording.path, pool=name, queues=queues)
    if not found[0].is_fixed:
        raise HeadwayError("HW875", path=recording.path, pool=name)
    return found[0]


def _native_run(run: RecordedRun, tasks: Sequence[Tasks]) -> _native.RunSteps:
    pool = np.concatenate([np.full(len(each.thread), i) for i, each in enumerate(tasks)])
    join_pool = np.concatenate([np.full(len(each.join_thread), i) for i, each in enumerate(tasks)])

    def column(name: str) -> Ints:
        return np.concatenate([getattr(each, name) for each in tasks])

    order = np.lexsort((column("begin_ns"), column("thread")))
    return interruptible(
        run.steps.with_tasks,
        thread=column("thread")[order].astype(np.int32),
        begin_ns=column("begin_ns")[order],
        pool=pool[order].astype(np.int32),
        has_wait=column("has_wait")[order].astype(np.uint8),
        submitter=column("submitter")[order].astype(np.int32),
        submitted_ns=column("submitted_ns")[order],
        join_thread=column("join_thread").astype(np.int32),
        join_ns=column("join_ns"),
        join_since_ns=column("join_since_ns"),
        join_pool=join_pool.astype(np.int32),
    )


class _LongWaits:
    """The long waits of a run's threads, in order."""

    def __init__(self, run: RecordedRun) -> None:
        steps = run.steps.program_steps()
        is_long = steps["woken_ns"] - steps["begin_ns"] >= _LONG_WAIT_NS
        begin, woken = steps["begin_ns"][is_long], steps["woken_ns"][is_long]
        of_thread = places_of(steps["thread"][is_long].astype(np.int64))
        self._of_thread = {thread: (begin[of], woken[of]) for thread, of in of_thread}

    def count(self, tasks: Tasks) -> Ints:
        """Return how many there are in each stretch."""
        found = np.zeros(len(tasks.thread), np.int64)
        for thread, rows in places_of(tasks.thread.astype(np.int64)):
            if thread in self._of_thread:
                began, woken = self._of_thread[thread]
                last = np.searchsorted(woken, tasks.end_ns[rows], side="right")
                found[rows] = np.maximum(last - np.searchsorted(began, tasks.start_ns[rows]), 0)
        return found

    def within(self, tasks: Tasks, i: int) -> tuple[Ints, Ints]:
        """Return begin and end of those of a stretch."""
        none = np.zeros(0, np.int64)
        began, woken = self._of_thread.get(int(tasks.thread[i]), (none, none))
        first = int(np.searchsorted(began, tasks.start_ns[i]))
        there = slice(first, max(first, int(np.searchsorted(woken, tasks.end_ns[i], side="right"))))
        return began[there], woken[there]


def _all_cuts(tasks: Tasks, waits: _LongWaits) -> dict[int, Ints]:
    """Return where stretches that may be several tasks can be cut: at long waits, and in sixteenths."""
    found = {}
    for i in np.flatnonzero(~tasks.is_one).tolist():
        began, woken = waits.within(tasks, i)
        first = int(tasks.start_ns[i])
        evenly = np.linspace(first, int(tasks.end_ns[i]), _PIECES + 1).astype(np.int64)[1:-1]
        is_awake = np.insert(woken, 0, first)[np.searchsorted(began, evenly)] <= evenly
        found[i] = np.unique(np.concatenate([(began + woken) // 2, evenly[is_awake]]))
    return found


def _likely_cuts(tasks: Tasks, waits: _LongWaits) -> dict[int, Ints]:
    """Return where they are cut that are several tasks if these have as many long waits as most stretches."""
    count = waits.count(tasks)
    numbers, often = np.unique(count, return_counts=True)
    usual = int(numbers[often.argmax()]) if len(count) else 0
    if not usual or often.max() < _USUAL * len(count):
        return {}
    found = {}
    for i in np.flatnonzero(~tasks.is_one & (count > usual) & (count % usual == 0)).tolist():
        began, woken = waits.within(tasks, i)
        found[i] = ((began + woken) // 2)[usual::usual]
    return found


def _cut_tasks(tasks: Tasks, cuts: dict[int, Ints]) -> Tasks:
    """Return tasks with some of them cut at times within them."""
    row, begin = [np.arange(len(tasks.thread))], [tasks.begin_ns]
    for i, more in cuts.items():
        row.append(np.full(len(more), i))
        begin.append(more)
    rows, begins = np.concatenate(row), np.concatenate(begin)
    is_first = np.arange(len(rows)) < len(tasks.thread)
    later = begins[len(tasks.thread) :]
    # While a worker waited nothing was in the queue.
    there_by = np.where(tasks.has_wait, tasks.start_ns, tasks.submitted_ns)
    return replace(
        tasks,
        thread=tasks.thread[rows],
        begin_ns=begins,
        start_ns=np.concatenate([tasks.start_ns, later]),
        end_ns=np.concatenate([tasks.end_ns, later]),
        has_wait=tasks.has_wait[rows] & is_first,
        submitter=tasks.submitter[rows],
        submitted_ns=np.where(is_first, tasks.submitted_ns[rows], there_by[rows]),
        is_one=np.ones(len(rows), bool),
    )
