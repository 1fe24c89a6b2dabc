"""Finds the fixed thread pools of a run, and which tasks their workers did, as far as the recording shows it.

Question   which threads are a pool's workers, where does one of their tasks end and the next one begin, and who submitted it?
Method     workers are threads that waited for a task (ThreadPoolExecutor.getTask) at the same queue, and those called alike. A
           wait there ends a task. While all workers are busy tasks queue, and a worker takes the next one without a wait; there
           the only ends that are seen are those for which a thread waited in FutureTask.get. What lies between is one task or
           several (native/replay/pool_tasks.h), so there are two runs: each such stretch whole, and cut in pieces.
           Who submitted what was in the queue is not seen, but when at the latest: before the threads that submit to this pool
           began to wait for results.
Assumes    workers do not submit to their own pool; who waits for a latch or for the pool's end waits for all that it was given.
Wrong when a pool's tasks wait for each other; when all of several CompletableFutures are waited for, of which another one is the
           last after the change.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered, places_of
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.object_names import display
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.tables import blocks
from headway.model.kinds import Kind

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.whatif.types import Extent, PoolChange
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_RULE = {rule.id: number for number, rule in enumerate(RULES)}
_NO_FIXED_POOL = re.compile(r"(?:^|[.$])(?:SynchronousQueue|DelayedWorkQueue)(?:\$|$)")
"""Queues of pools that start threads as they like, whose tasks wait for a time, or that share tasks out otherwise."""
_ENDS = ("awaitTermination", "close")
"""Methods that wait until a pool has done all that it was given."""
_LATE_NS = 20_000
"""Who ends another one's wait is seen to do so by the kernel and by the JVM, so near to each other."""
_TAIL_NS = 100_000
"""What a worker does at most between the end of a task and the wait for the next one."""
_LOOK_NS = 1_000_000
"""A thread that waits for one result after the other runs for less than this in between."""
_MOST_SUBMITTERS = 64
_LONGEST_NUMBER = 18
"""Digits at the end of a thread's name that number it."""


@dataclass(frozen=True, eq=False)
class Pool:
    """A pool of threads. `name`: that of its workers without their numbers; `queue`: the object they wait at for tasks."""

    name: str
    queue: str
    blocker: int
    workers: tuple[int, ...]
    is_fixed: bool

    def is_called(self, text: str) -> bool:
        """Return whether the pool goes by a name: that of its threads, with or without -thread, or its queue's condition."""
        names = (self.name, self.name.removesuffix("-thread"), self.queue, self.queue.rpartition("@")[2])
        return bool(text) and text in names


@dataclass(frozen=True, eq=False)
class RecordedWaits:
    """Waits of threads as the recording has them, in order of time, with times of CLOCK_MONOTONIC."""

    thread: Ints
    began_ns: Ints
    ended_ns: Ints
    waker: Ints
    waking_ns: Ints

    @property
    def middle_ns(self) -> Ints:
        """Return times between the begin of each wait and its waking."""
        is_known = (self.waking_ns > self.began_ns) & (self.waking_ns < self.ended_ns)
        return (self.began_ns + np.where(is_known, self.waking_ns, self.ended_ns)) // 2

    def where(self, keep: Bools) -> RecordedWaits:
        """Return some of them."""
        return RecordedWaits(*(getattr(self, name)[keep] for name in self.__dataclass_fields__))


@dataclass(frozen=True, eq=False)
class Tasks:
    """What a pool's workers did, in order of (thread, begin_ns), with columns of native/replay/pool_tasks.h.

    `start_ns`: where a worker waited, the wait is over; till then from `begin_ns` on it waits. `is_one`: known to be one task,
    not several after each other.
    """

    thread: Ints
    begin_ns: Ints
    start_ns: Ints
    end_ns: Ints
    has_wait: Bools
    submitter: Ints
    submitted_ns: Ints
    is_one: Bools
    join_thread: Ints
    join_ns: Ints
    join_since_ns: Ints


@dataclass(frozen=True, eq=False)
class PoolRun:
    """A recorded run whose thread pools' work is tasks that any worker of the pool may take, for the replay.

    `whole`: what a worker did without a wait between is one task; `likely`: those are cut that look like several; `pieces`: all
    are cut that may be several. `workers`: how many
    each pool had. `unseen_part`: of the tasks' time, that in which they can't be told apart.
    """

    whole: _native.RunSteps
    likely: _native.RunSteps
    pieces: _native.RunSteps
    pools: tuple[Pool, ...]
    workers: tuple[int, ...]
    unseen_part: float

    def steps(self, extent: Extent) -> _native.RunSteps:
        """Return the run with the fewest tasks, the likely ones, or the most."""
        return {"least": self.whole, "middle": self.likely, "most": self.pieces}[extent]

    def workers_after(self, changes: tuple[PoolChange, ...]) -> list[int]:
        """Return the number of workers of each pool after changes, which `with_pools` has found."""
        found = list(self.workers)
        for each in changes:
            for i, pool in enumerate(self.pools):
                if pool.is_called(each.pool):
                    found[i] = each.workers
        return found


def pools_of(recording: Recording, threads: PathThreadTable) -> list[Pool]:
    """Return the pools of a recording, the one with most workers first. Raises HeadwayError HW430 (recorded without locks)."""
    data = blocks.load(recording, None)
    sites = sites_of(data)
    is_worker = np.isin(sites.rule, [_RULE["pool-worker"], _RULE["fork-join-worker"], _RULE["scheduled-delay"]])
    rows = np.flatnonzero(is_worker & (data.blocks.thread >= 0) & (data.blocks.thread < len(threads)))
    others = _stacks_of_others(data, set(sites.stack[rows].tolist()))
    found = []
    for blocker, of in places_of(data.blocks.blocker[rows].astype(np.int64)):
        of_pool = rows[of]
        workers = sorted(set(data.blocks.thread[of_pool].tolist()))
        name = stem(threads.names[workers[0]])
        queue = _queue_name(data, blocker)
        is_other = _is_other(data, blocker) or not others.isdisjoint(sites.stack[of_pool].tolist())
        is_fixed = bool(np.all(sites.rule[of_pool] == _RULE["pool-worker"])) and not is_other
        found.append(Pool(name, queue, blocker, tuple(workers), is_fixed))
    found += _without_waits(data, sites, threads, {each.name for each in found})
    names, alike = Counter(each.name for each in found), called_alike(threads, {Kind.APP.value})
    found = [_with_busy(each, threads, alike) if names[each.name] == 1 else each for each in found]
    return sorted(found, key=lambda each: -len(each.workers))


def _without_waits(data: LockData, sites: Sites, threads: PathThreadTable, known: set[str]) -> list[Pool]:
    """Return pools whose workers never waited for a task: those of which others waited for results, by FutureTask."""
    ended = data.blocks.waker[_is_future(data, sites) & (sites.rule == _RULE["result"])]
    of_stem: dict[tuple[int, str], list[int]] = {}
    for thread in sorted({each for each in ended.tolist() if 0 <= each < len(threads)}):
        of_stem.setdefault((int(threads.pid[thread]), stem(threads.names[thread])), []).append(thread)
    return [
        Pool(name, "", -1, tuple(workers), True)
        for (_, name), workers in of_stem.items()
        if name not in known and name != threads.names[workers[0]]
    ]


def stem(name: str) -> str:
    """Return a thread's name without the number at its end: pool-1-thread of pool-1-thread-7."""
    end = len(name)
    while end > max(0, len(name) - _LONGEST_NUMBER) and name[end - 1].isdecimal():
        end -= 1
    return name if end == len(name) else name[:end].rstrip("-_#. ") or name


def called_alike(threads: PathThreadTable, kinds: Collection[str]) -> dict[tuple[int, str], list[int]]:
    """Return the threads of some kinds by process and name without its number."""
    found: dict[tuple[int, str], list[int]] = {}
    for thread, kind in enumerate(threads.kinds):
        if kind in kinds:
            found.setdefault((int(threads.pid[thread]), stem(threads.names[thread])), []).append(thread)
    return found


def _queue_name(data: LockData, blocker: int) -> str:
    table = data.blockers.table
    return display(str(table["class_name"][blocker]), int(table["identity_hash"][blocker]))


def _is_other(data: LockData, blocker: int) -> bool:
    name = str(data.blockers.table["class_name"][blocker])
    return not data.blockers.is_object[blocker] or _NO_FIXED_POOL.search(name) is not None


def _stacks_of_others(data: LockData, stacks: Iterable[int]) -> frozenset[int]:
    """Return the stacks with a queue of pools that are no fixed ones. Each stack and class is looked at once for all pools."""
    is_other = functools.cache(lambda name: _NO_FIXED_POOL.search(name) is not None)
    return frozenset(stack for stack in stacks if any(is_other(name) for name, _, _ in data.frames(stack)))


def _with_busy(pool: Pool, threads: PathThreadTable, alike: Mapping[tuple[int, str], Sequence[int]]) -> Pool:
    """Add the workers that never waited: threads of the process that are called like the others."""
    busy = alike.get((int(threads.pid[pool.workers[0]]), pool.name), ())
    return Pool(pool.name, pool.queue, pool.blocker, tuple(sorted({*pool.workers, *busy})), pool.is_fixed)


def most_at_once(pool: Pool, threads: PathThreadTable) -> int:
    """Return how many workers a pool had at the same time."""
    workers = list(pool.workers)
    times = np.concatenate([threads.birth_ns[workers], threads.end_ns[workers]])
    change = np.repeat([1, -1], len(workers))
    return int(np.cumsum(change[np.lexsort((change, times))]).max())


def tasks_of(recording: Recording, pool: Pool, threads: PathThreadTable) -> Tasks:
    """Return what the workers of a pool did, task by task as far as that is seen."""
    data = blocks.load(recording, None)
    sites = sites_of(data)
    idle = _waits(data, (data.blocks.blocker == pool.blocker) & (sites.rule == _RULE["pool-worker"]))
    results = _waits(data, np.isin(sites.rule, [_RULE["result"], _RULE["latch"], _RULE["gate"]]))
    futures = _waits(data, _is_future(data, sites) & (sites.rule == _RULE["result"]))
    begin, start, end, has_wait, thread = _stretches(pool, threads, idle, futures, recording.window_ns)
    is_one = ~_overlaps(start, end, *_busy(pool, threads, idle, recording.window_ns))
    submitter, submitted = _submissions(pool, threads, idle, results, begin)
    joins = _joins(data, sites, pool)
    since = np.full(len(joins.thread), recording.window_ns[0] - 1)
    for _, of in places_of(joins.thread):
        since[of[1:]] = joins.ended_ns[of[:-1]]
    return Tasks(
        thread, begin, start, end, has_wait, submitter, submitted, is_one, joins.thread, joins.middle_ns, since
    )


def _waits(data: LockData, keep: Bools) -> RecordedWaits:
    """Return waits of threads that the kernel has."""
    its, origin = data.blocks, data.recording.window_ns[0]
    rows = np.flatnonzero(keep & (its.thread >= 0) & (its.thread < data.platform_threads))
    rows = rows[np.argsort(its.began[rows], kind="stable")]
    return RecordedWaits(
        its.thread[rows].astype(np.int64),
        its.began[rows] + origin,
        its.full[rows] + origin,
        its.waker[rows].astype(np.int64),
        np.where(its.waking[rows] >= 0, its.waking[rows] + origin, -1),
    )


def _with_frame(data: LockData, sites: Sites, is_wanted: Callable[[str, str], bool]) -> Bools:
    """Return which waits have a frame whose class and method are wanted. Each stack is looked at once."""
    stacks, at = numbered(sites.stack)
    found = [any(is_wanted(name, method) for name, method, _ in data.frames(stack)) for stack in stacks.tolist()]
    return np.asarray(np.array(found, bool)[at], bool)


def _is_future(data: LockData, sites: Sites) -> Bools:
    """Return which waits are for one FutureTask: it is done when its task is."""
    return _with_frame(data, sites, lambda name, _: name.endswith(".FutureTask"))


def _joins(data: LockData, sites: Sites, pool: Pool) -> RecordedWaits:
    """Return the waits of others until the pool had done all that it was given, which one of its workers ended."""
    ends = _with_frame(data, sites, lambda _, method: method in _ENDS)
    is_all = np.isin(sites.rule, [_RULE["latch"], _RULE["gate"]]) | (ends & (sites.rule == _RULE["result"]))
    is_by_worker = np.isin(data.blocks.waker, pool.workers) & ~np.isin(data.blocks.thread, pool.workers)
    return _waits(data, is_all & is_by_worker)


def _stretches(
    pool: Pool, threads: PathThreadTable, idle: RecordedWaits, futures: RecordedWaits, window_ns: tuple[int, int]
) -> tuple[Ints, Ints, Ints, Bools, Ints]:
    """Return begin, start, end, whether its worker waited for it, and worker, of what workers did between two ends of tasks."""
    ended = futures.where(futures.waking_ns >= 0)
    idle_of, ended_by = dict(places_of(idle.thread)), dict(places_of(ended.waker))
    none = np.zeros(0, np.int64)
    rows: list[tuple[Ints, Ints, Ints, Ints, Ints]] = []
    for worker in pool.workers:
        of_worker = idle_of.get(worker, none)
        began, middle, over = idle.began_ns[of_worker], idle.middle_ns[of_worker], idle.ended_ns[of_worker]
        first = max(int(threads.birth_ns[worker]), window_ns[0])
        last = max(min(int(threads.end_ns[worker]), window_ns[1]), first)
        done = np.sort(ended.waking_ns[ended_by.get(worker, none)]) + _LATE_NS
        after = np.append(began, last)[np.searchsorted(began, done)]
        done = done[after - done > _TAIL_NS]
        begin = np.concatenate([[first], middle, done])
        start = np.concatenate([[first], over, done])
        end_before = np.concatenate([[first], began, done])
        waits = np.repeat([True, True, False], [1, len(middle), len(done)])
        order = np.argsort(begin, kind="stable")
        end = np.append(end_before[order][1:], last)
        rows.append((np.full(len(order), worker), begin[order], start[order], end, waits[order]))
    thread, begin, start, end, has_wait = (np.concatenate(column) for column in zip(*rows, strict=True))
    return begin, np.minimum(start, end), end, has_wait.astype(bool), thread


def _busy(pool: Pool, threads: PathThreadTable, idle: RecordedWaits, window_ns: tuple[int, int]) -> tuple[Ints, Ints]:
    """Return from when until when all workers had been started, and none waited for a task: then tasks may queue."""
    workers = list(pool.workers)
    ended = np.where(idle.waking_ns >= 0, np.minimum(idle.waking_ns, idle.ended_ns), idle.ended_ns)
    births = np.maximum(threads.birth_ns[workers], window_ns[0])
    starts_at = np.sort(births)[most_at_once(pool, threads) - 1]
    times = np.concatenate([idle.began_ns, ended, [starts_at]])
    change = np.concatenate([np.ones(len(ended), np.int64), np.full(len(ended), -1), [0]])
    order = np.lexsort((-change, times))
    times, waiting = times[order], np.cumsum(change[order])
    is_busy = (waiting == 0) & (times >= starts_at)
    return times[is_busy], np.append(times[1:], window_ns[1])[is_busy]


def _overlaps(begin: Ints, end: Ints, from_ns: Ints, to_ns: Ints) -> Bools:
    """Return which stretches overlap any of some times in order, by more than it takes to wake a worker."""
    length = np.concatenate([[0], np.cumsum(to_ns - from_ns)])

    def until(ns: Ints) -> Ints:
        at = np.searchsorted(from_ns, ns)
        inside = (
            np.minimum(ns, np.append(to_ns, 0)[np.maximum(at - 1, 0)]) - np.append(from_ns, 0)[np.maximum(at - 1, 0)]
        )
        return np.where(at > 0, length[np.maximum(at - 1, 0)] + inside, 0)

    return np.asarray(until(end) - until(begin) > _LOOK_NS)


def _submissions(
    pool: Pool, threads: PathThreadTable, idle: RecordedWaits, results: RecordedWaits, begin: Ints
) -> tuple[Ints, Ints]:
    """Return for tasks that were in the queue who submitted them, -1 unknown, and when at the latest."""
    started_by = [int(threads.parent[each]) for each in pool.workers]
    known = {each for each in (*started_by, *idle.waker.tolist()) if 0 <= each < len(threads)} - set(pool.workers)
    submitter, latest = np.full(len(begin), -1), begin.copy()
    for at, each in enumerate(sorted(known)[:_MOST_SUBMITTERS]):
        of_thread = results.where(results.thread == each)
        first = _first_of_chain(of_thread)
        before = np.searchsorted(of_thread.began_ns, begin) - 1
        there = np.maximum(before, 0)
        is_waiting = (before >= 0) & (np.append(of_thread.ended_ns, 0)[there] >= begin - _LOOK_NS)
        since = np.where(is_waiting, np.append(first, 0)[there], begin)
        is_later = (since > latest) | (submitter < 0) if at else np.ones(len(begin), bool)
        submitter, latest = np.where(is_later, each, submitter), np.where(is_later, since, latest)
    if len(known) > _MOST_SUBMITTERS:
        return np.full(len(begin), -1), begin
    return submitter, latest


def _first_of_chain(waits: RecordedWaits) -> Ints:
    """Return for each of a thread's waits the begin of the first of those after each other that it belongs to."""
    if not len(waits.began_ns):
        return waits.began_ns
    is_new = np.append(True, waits.began_ns[1:] - waits.ended_ns[:-1] > _LOOK_NS)
    at = np.maximum.accumulate(np.where(is_new, np.arange(len(is_new)), 0))
    return np.asarray(waits.began_ns[at])
