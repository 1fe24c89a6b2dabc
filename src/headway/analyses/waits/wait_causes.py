"""The cause of each block (by its rule), and the thread that it waits for.

Method     the rules of waits.rules tell the kind of waiting; a table gives each rule a cause. Who is waited for: for latches,
           joins, results and cyclic barriers, the thread that let everyone go. It wakes only the first of them itself, who wakes
           the next: so waits on one object are told apart as trips. A trip is over at its first waking; who has come before
           belongs to it, who comes later waits for the next. At a phaser, wakers are followed back likewise. For queues it is
           the thread of the other side that unparked (wakers that wait there themselves only pass on a lock); where none is
           seen, the next such one. For conditions it is the waker; who waits with a time limit again and again
           (classification.polls) waits for the next one. Locks are another matter (waits.lock_pieces).
Wrong when more threads than a cyclic barrier has parties use it at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import CAUSES, CONDITION, FEW, FULL, IDLE, IMBALANCE, IO, LOCK, SLEEP, STARVED
from headway.analyses.common.columns import numbered, numbered_pairs, places_of
from headway.analyses.waits.classification.polls import helpers
from headway.analyses.waits.classification.roles import OUTSIDE, ROLES
from headway.analyses.waits.rules import PUT_BACK, RULES
from headway.analyses.waits.threads.mounted import carriers_of, mounted
from headway.analyses.waits.threads.process_exit import parents
from headway.analyses.waits.threads.thread_states import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

CODE = {cause: code for code, cause in enumerate(CAUSES)}
"""Each cause's number: its place in CAUSES."""

NO_TASK = FEW
"""Threads that wait for a task from inside the program: a cause only where nobody at all has something to do."""

CAUSE_OF_RULE = {
    **dict.fromkeys(("class-initialisation", "monitor", "lock", "semaphore", "resource-pool", PUT_BACK), LOCK),
    **dict.fromkeys(("latch", "result", "barrier"), IMBALANCE),
    "queue-full": FULL,
    "network": IO,
    **dict.fromkeys(("queue-consumer", "queue-in-a-call"), STARVED),
    **dict.fromkeys(("sleep", "timed-park", "timed-wait"), SLEEP),
    **dict.fromkeys(("own-park", "condition"), CONDITION),
    **{rule: IDLE for rule, role in ROLES.items() if role in OUTSIDE},
}
_CODE_OF_RULE = np.array([CODE[CAUSE_OF_RULE.get(rule.id, NO_TASK)] for rule in RULES])
IS_IDLE = (CODE[NO_TASK], CODE[IDLE])
"""Causes of threads that wait for work or for their time to come."""
_RULE = {rule.id: number for number, rule in enumerate(RULES)}
_PART = 1 << 16
_AT_ONCE_NS = 200_000
_NEAR_NS = 50_000_000
_PROCESS = ("java.lang.", ("ProcessImpl", "ProcessHandleImpl"))
"""The package and classes in which a thread waits for a process."""


def causes_of(data: LockData, sites: Sites) -> Ints:
    """Return the code of each block's cause."""
    blocks = data.blocks
    cause = _CODE_OF_RULE[sites.rule].copy() if len(blocks) else np.zeros(0, np.int64)
    stacks, at = numbered(sites.stack)
    on_process = np.array([_is_in(data, int(stack), _PROCESS) for stack in stacks], dtype=bool)
    if on_process.any():
        # Who waits for a process that is recorded waits for the threads of that process.
        recorded = np.isin(data.blockers.pid[blocks.blocker], list(parents(data.recording)))
        is_other = np.isin(cause, [CODE[CONDITION], CODE[IMBALANCE]]) | (sites.rule == _RULE["timed-wait"])
        cause = np.where(on_process[at] & ~recorded & is_other, CODE[IO], cause)
    return cause.astype(np.int64)


def _is_in(data: LockData, stack: int, classes: tuple[str, tuple[str, ...]]) -> bool:
    package, names = classes
    return any(
        class_name.startswith(package) and class_name[len(package) :].split("$")[0] in names
        for class_name, _, _ in data.frames(stack)[:12]
    )


def is_directed(data: LockData, sites: Sites, cause: Ints) -> Bools:
    """Return which blocked threads would run if what they wait for came; who joins or serves has no work of its own."""
    blocks = data.blocks
    codes = [CODE[each] for each in (LOCK, FULL, CONDITION, SLEEP, IO)]
    directed = np.isin(cause, codes) | (sites.rule == _RULE["barrier"])
    forever = (cause == CODE[CONDITION]) & blocks.is_open & (blocks.waker < 0) & (blocks.owner < 0)
    return np.asarray(directed & ~forever)


def targets_of(data: LockData, sites: Sites, cause: Ints, key: Ints) -> Ints:
    """Return the thread that each block waits for, -1 where unknown; locks are left out."""
    blocks = data.blocks
    target = np.where(np.isin(cause, [CODE[CONDITION], CODE[IMBALANCE]]), blocks.waker, -1)
    rows = trip_rows(data, sites, cause)
    target[rows] = trips(data, rows)[1]
    rows = np.flatnonzero((sites.rule == _RULE["barrier"]) & _class_ends(data, "Phaser$QNode") & (blocks.waking >= 0))
    target[rows] = _passed_on(data, rows, key)
    # Who signals all of a condition's waiters wakes the first only; each of them wakes the next at once.
    rows = np.flatnonzero((cause == CODE[CONDITION]) & (blocks.waking >= 0) & data.blockers.is_object[blocks.blocker])
    target[rows] = _passed_on(data, rows, key, _AT_ONCE_NS)
    # Who looks at a condition now and then waits for the one that brings it on in the end.
    rows = np.flatnonzero((cause == CODE[CONDITION]) & blocks.is_timed & data.blockers.is_object[blocks.blocker])
    order = np.lexsort((blocks.full[rows], blocks.thread[rows], blocks.blocker[rows]))
    _, _, group = numbered_pairs(blocks.blocker[rows].astype(np.int64), blocks.thread[rows].astype(np.int64))
    target[rows] = _filled(group[order], target[rows][order], order)
    helped = np.isin(target, helpers(data))
    target[helped] = _ended_then(data, np.flatnonzero(helped), sites)
    # A virtual thread's end is told by its carrier, which does nothing that is waited for itself.
    carried = np.flatnonzero(np.isin(target, carriers_of(data.recording)))
    found = mounted(data, target[carried], np.where(blocks.waking >= 0, blocks.waking, blocks.full)[carried])
    target[carried] = np.where(found >= 0, found, target[carried])
    for one in (FULL, STARVED):
        of_cause = np.flatnonzero(cause == CODE[one])
        target[of_cause] = other_side(data, of_cause)
    return np.where(target == blocks.thread, -1, target)


def trip_rows(data: LockData, sites: Sites, cause: Ints) -> Ints:
    """Return the blocks that end together on one object: at latches, results and cyclic barriers."""
    together = (sites.rule != _RULE["barrier"]) | _class_ends(data, "ConditionObject")
    return np.flatnonzero((cause == CODE[IMBALANCE]) & together & data.blockers.is_object[data.blocks.blocker])


def _class_ends(data: LockData, ending: str) -> Bools:
    """Return which blocks are on an object whose class ends so."""
    found: Bools = data.blockers.class_ends(ending)[data.blocks.blocker]
    return found


def trips(data: LockData, rows: Ints) -> tuple[Ints, Ints]:
    """Return for some blocks the number of their trip and the thread that ended it (-1: not known)."""
    if not len(rows):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    blocks = data.blocks
    objects, group = numbered(blocks.blocker[rows])
    order = np.lexsort((blocks.began[rows], group))
    group, began, waking = group[order], blocks.began[rows][order], blocks.waking[rows][order]
    scale = Scale.of(np.concatenate([began, waking]), len(objects) + 1)
    come = scale.place(group, began)
    woken = group * scale.size + np.where(waking >= 0, scale.until(waking), scale.size - 1)
    # Later objects have larger numbers, so the least one from here on is of this object.
    first = np.minimum.accumulate(woken[::-1])[::-1]
    is_first = np.where(woken == first, np.arange(len(rows)), len(rows))
    who = np.minimum.accumulate(is_first[::-1])[::-1]
    following = np.searchsorted(come, first).tolist()
    starts = np.zeros(len(rows), dtype=np.int64)
    at = 0
    while at < len(rows):
        starts[at] = 1
        at = max(following[at], at + 1)
    number = np.cumsum(starts) - 1
    ended_by = blocks.waker[rows][order][who][np.flatnonzero(starts)][number]
    trip, target = np.empty_like(number), np.empty_like(number)
    trip[order], target[order] = number, ended_by
    return trip, target


def _ended_then(data: LockData, rows: Ints, sites: Sites) -> Ints:
    """Return for joins among some blocks the thread that ended right at their waking; -1 for others."""
    found = np.full(len(rows), -1, dtype=np.int64)
    ends_in = _ends_of_threads(data)
    blocks = data.blocks
    pids = data.blockers.pid[blocks.blocker[rows]]
    for at, (row, pid) in enumerate(zip(rows.tolist(), pids.tolist(), strict=True)):
        when = int(blocks.waking[row])
        if when < 0 or not any(method == "join" for _, method, _ in data.frames(int(sites.stack[row]))):
            continue
        near = _nearest_end(ends_in, pid, when)
        found[at] = near[1] if near is not None and near[0] <= _NEAR_NS else -1
    return found


def _ends_of_threads(data: LockData) -> dict[int, tuple[Ints, Ints]]:
    """Return when threads of each process ended, ns from the start of the recording, and which they are, in that order."""
    rows = data.recording.query(
        "SELECT thread_id, pid, end_ns FROM thread WHERE kind = 'app' AND end_ns IS NOT NULL ORDER BY end_ns, thread_id"
    ).fetchnumpy()
    thread, pid, end = (np.asarray(rows[name]).astype(np.int64) for name in ("thread_id", "pid", "end_ns"))
    end -= data.recording.window_ns[0]
    return {process: (end[places], thread[places]) for process, places in places_of(pid)}


def _nearest_end(ends_in: Mapping[int, tuple[Ints, Ints]], pid: int, when: int) -> tuple[int, int] | None:
    """Return how far from a time the nearest end of a process's threads is, and of which (of several the first); None: none."""
    if pid not in ends_in:
        return None
    end, thread = ends_in[pid]
    after = int(np.searchsorted(end, when))
    before = int(np.searchsorted(end, end[after - 1])) if after > 0 else after
    return min((abs(int(end[one]) - when), int(thread[one])) for one in (before, after) if one < len(end))


def _passed_on(data: LockData, rows: Ints, key: Ints, at_once_ns: int | None = None) -> Ints:
    """Return who ended each wait where those who are let go help to wake the others (who has a key of their own in common).

    A waker that was let go itself, after the other one had begun to wait, only passes on what somebody else began; with
    `at_once_ns` if it does so within that time.
    """
    blocks = data.blocks
    size = len(data.names) + 1
    waits_too = _are_pairs(key[rows], blocks.waker[rows], key[rows], blocks.thread[rows], size)
    if not waits_too.any():
        return blocks.waker[rows]
    found = np.full(len(rows), -1, dtype=np.int64)
    let_go: dict[tuple[int, int], tuple[int, int, int]] = {}
    woke: dict[tuple[int, int], int] = {}
    order = np.argsort(blocks.waking[rows], kind="stable")
    facts = (key, blocks.thread, blocks.waker, blocks.began, blocks.waking, blocks.full)
    for at, place, thread, waker, began, waking, ended in _one_by_one(order, rows, facts):
        when, who, since = let_go.get((place, waker), (-1, -1, 0))
        if began >= when or (at_once_ns is not None and waking - since > at_once_ns):
            # Whom it woke first told when all could go on: who was quick may wait for the next time when it wakes the others.
            first = woke.get((place, waker), -1)
            when, who = first if began < first else waking, waker
            woke[place, waker] = when
        let_go[place, thread] = when, who, ended
        found[at] = who
    return found


def _one_by_one(order: Ints, rows: Ints, facts: Sequence[Ints]) -> Iterator[tuple[int, ...]]:
    """Yield (place in rows, its facts) in some order; as Python's numbers, which take much memory, a part at a time."""
    for low in range(0, len(order), _PART):
        part = order[low : low + _PART]
        yield from zip(part.tolist(), *(fact[rows[part]].tolist() for fact in facts), strict=True)


def _are_pairs(first: Ints, second: Ints, among_first: Ints, among_second: Ints, size: int) -> Bools:
    """Return which pairs are among others; `size` is above all second numbers."""
    wide = (each.astype(np.int64) * size for each in (first, among_first))
    return np.asarray(np.isin(next(wide) + second, next(wide) + among_second))


def other_side(data: LockData, rows: Ints) -> Ints:
    """Return who let each block on a queue continue: its waker, or the next thread there that does not wait itself.

    The blocks are all of producers, or all of consumers.
    """
    blocks = data.blocks
    count = len(rows)
    if not count:
        return np.zeros(0, np.int64)
    thread, waker, group = blocks.thread[rows], blocks.waker[rows], blocks.blocker[rows]
    size = len(data.names) + 1
    waits_here = _are_pairs(group, waker, group, thread, size)
    known = np.where((waker >= 0) & ~waits_here, waker, -1)
    order = np.lexsort((blocks.full[rows], group))
    return _filled(group[order], known[order], order)


def _filled(group: Ints, value: Ints, order: Ints) -> Ints:
    """Fill each -1 with the next value of its group, else with the one before; put it back in the places of `order`."""
    count, index = len(value), np.arange(len(value))
    after = np.minimum.accumulate(np.where(value >= 0, index, count)[::-1])[::-1]
    before = np.maximum.accumulate(np.where(value >= 0, index, -1))
    there, back = np.minimum(after, count - 1), np.maximum(before, 0)
    use_after = (after < count) & (group[there] == group)
    use_before = (before >= 0) & (group[back] == group)
    found = np.empty_like(value)
    found[order] = np.where(use_after, value[there], np.where(use_before, value[back], -1))
    return found
