"""Chains of waiting (a lock's holder waits for another lock, and so on), and deadlocks.

Method     a chain follows, from lock to lock, the holder that cost its waiters the most time blocked on another lock. It ends
           where the holder was not blocked for most of its time, or comes back to a lock it has met (a cycle in the sums:
           threads waited for each other, though not necessarily at the same time).
           A deadlock is told from single waits: threads that still wait at the end of the recording for a lock whose owner
           still waits for a lock of theirs, in a ring.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered_pairs
from headway.analyses.locks.types import Deadlock, Link
from headway.analyses.waits.threads.thread_states import BLOCKED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.waits.threads.holders import HolderStates

    Ints = NDArray[np.int64]

LEAST_SHARE = 0.1
"""A step is shown when holders were blocked on another lock for this part of the waiters' time."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Per object (row) what its waiters waited for most: its holder (-1: none known), and the lock that one was blocked on
    itself (-1: on none).
    """

    holder: Ints
    lock: Ints
    wait_ns: Ints


def steps_of(data: LockData, found: HolderStates, units_blocker: Ints) -> Steps:
    """Return the step of each object: to another lock if that took enough of the time, else to the main holder."""
    row = units_blocker[found.unit]
    total = np.zeros(len(data.blockers), dtype=np.int64)
    np.add.at(total, row, found.ns)
    steps = Steps(*(np.full(len(total), value, dtype=np.int64) for value in (-1, -1, 0)))
    has_holder = found.holder >= 0
    of_row, of_holder, at = numbered_pairs(row[has_holder], found.holder[has_holder])
    by_holder = np.zeros(len(of_row), dtype=np.int64)
    np.add.at(by_holder, at, found.ns[has_holder])
    blocked = has_holder & (found.state == BLOCKED) & (found.ns >= LEAST_SHARE * total[row])
    nothing = np.full(len(by_holder), -1, dtype=np.int64)
    for rows, holder, lock, ns in (
        (of_row, of_holder, nothing, by_holder),
        (row[blocked], found.holder[blocked], found.lock[blocked], found.ns[blocked]),
    ):
        order = np.argsort(ns, kind="stable")  # of several assignments to one place the last one stays: the largest
        steps.holder[rows[order]], steps.lock[rows[order]], steps.wait_ns[rows[order]] = (
            each[order] for each in (holder, lock, ns)
        )
    return steps


def chain(data: LockData, steps: Steps, start: int) -> tuple[tuple[Link, ...], bool]:
    """Return the chain that starts at an object, and whether it is a cycle."""
    links: list[Link] = []
    met: set[int] = set()
    at = start
    while at >= 0 and steps.holder[at] >= 0 and at not in met:
        met.add(at)
        links.append(link(data, at, int(steps.holder[at]), int(steps.wait_ns[at])))
        at = int(steps.lock[at])
    return tuple(links), at in met


def link(data: LockData, row: int, thread: int, ns: int) -> Link:
    """Return one step of a chain: the object's waiters wait for the thread."""
    return Link(data.blockers.blocker_id(row), data.blockers.name(row), data.names[thread], ns)


def deadlocks(data: LockData) -> tuple[Deadlock, ...]:
    """Return the cycles of threads that wait for each other at the end."""
    blocks = data.blocks
    # Who got a monitor just before the end is its owner, while the end of its own wait is not on record yet.
    is_others = (blocks.owner >= 0) & (blocks.owner != blocks.thread)
    still = np.flatnonzero(blocks.is_open & is_others & (blocks.waking < 0) & ~blocks.is_timed)
    waits = {int(blocks.thread[i]): (int(blocks.owner[i]), int(blocks.blocker[i]), int(i)) for i in still}
    found: list[Deadlock] = []
    seen: set[int] = set()
    for first in waits:
        path: list[int] = []
        at = first
        while at in waits and at not in seen:
            seen.add(at)
            path.append(at)
            at = waits[at][0]
        if at in path:
            ring = path[path.index(at) :]
            found.append(Deadlock(tuple(_link_of(data, waits[thread]) for thread in ring)))
    return tuple(found)


def _link_of(data: LockData, wait: tuple[int, int, int]) -> Link:
    owner, row, block = wait
    return link(data, row, owner, int(data.blocks.end[block] - data.blocks.start[block]))
