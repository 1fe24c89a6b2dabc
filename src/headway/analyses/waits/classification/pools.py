"""Distinguishes pools of resources from queues of work where no name does: in a pool, threads put back what they took.

Question   threads wait in `take()` of a queue: for work that somebody makes, or for one of a few things (connections, buffers)
           that others of them have and will put back?
Method     by object, the wakings that ended such waits. In a pool they come from threads that take there themselves: each has the
           thing for a while, and puts it back once. A queue of work is filled by others, or by a worker that adds several
           tasks for each one that it took, and these shortly after each other. Who wakes somebody as soon as its own wait is
           over only passes on what a third one did (take() signals the next taker, or hands on the queue's lock): that
           tells nothing.
Assumes    a thread has one thing of a pool at a time.
Wrong when tasks each add one to the queue that they came from, as pages of a crawler may: nothing but the elements themselves
           tells these from a pool of so many things, whose users wait for each other. More of them would gain the same, so the
           figures hold; the rule and the evidence say that it may be either. A pool that hardly anybody waits for is not told
           apart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered_pairs
from headway.analyses.waits.classification.polls import helpers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_AT_ONCE_NS = 100_000
"""Who wakes the next one so soon after its own wait had nothing in between."""
_LEAST_PUT_BACK = 8
_MOST = 0.75
"""Part of the wakings by which somebody must have put back what it took: of a worker that adds two tasks for each, half are."""
_AS_LONG = 0.5
"""Who wakes two after each other had the second thing for this part of how long things are had, at least."""


def of_pools(data: LockData, takes: Ints) -> Bools:
    """Return which of some waits for an element of a queue (`takes`: their rows) are for an element that another taker has."""
    blocks, count = data.blocks, len(data.blockers)
    if not len(takes):
        return np.zeros(0, bool)
    is_known = (blocks.waker[takes] >= 0) & (blocks.waking[takes] >= 0) & (blocks.waker[takes] != blocks.thread[takes])
    known = takes[
        is_known & data.blockers.is_object[blocks.blocker[takes]] & ~np.isin(blocks.waker[takes], helpers(data))
    ]
    ended = takes[~blocks.is_open[takes]]
    # The ends of each thread's own waits for an object, and the wakings by which it ended others' waits there, in order.
    thread = np.concatenate([blocks.thread[ended], blocks.waker[known]]).astype(np.int64)
    queue = np.concatenate([blocks.blocker[ended], blocks.blocker[known]]).astype(np.int64)
    time = np.concatenate([blocks.full[ended], blocks.waking[known]])
    is_waking = np.arange(len(time)) >= len(ended)
    _, _, group = numbered_pairs(queue, thread)
    order = np.lexsort((is_waking, time, group))
    order = order[~_follows(group[order], is_waking[order], time[order], _AT_ONCE_NS)]
    queue, thread, time, group = (each[order] for each in (queue, thread, time, group))
    is_waking = is_waking[order]
    is_first = np.diff(group, prepend=-1) != 0
    since = np.diff(time, prepend=0)
    after_own = is_waking & ~is_first & ~np.roll(is_waking, 1)
    usual = _medians(queue[after_own], since[after_own], count)
    puts_back = after_own | (is_waking & ~is_first & (since >= _AS_LONG * usual[queue]))
    wakings, back = (np.bincount(queue[which], minlength=count) for which in (is_waking, puts_back))
    users, _, _ = numbered_pairs(queue[puts_back], thread[puts_back])
    is_shared = np.bincount(users, minlength=count) > 1
    is_pool = (back >= _LEAST_PUT_BACK) & (back >= _MOST * wakings) & is_shared
    return np.asarray(is_pool[blocks.blocker[takes]])


def _follows(group: Ints, is_waking: Bools, time: Ints, within_ns: int) -> Bools:
    """Return which rows are wakings so soon after the end of an own wait; rows are in order of group and time."""
    is_after_own = is_waking & (np.diff(group, prepend=-1) == 0) & ~np.roll(is_waking, 1)
    return np.asarray(is_after_own & (np.diff(time, prepend=0) < within_ns))


def _medians(key: Ints, value: Ints, count: int) -> NDArray[np.float64]:
    """Return the median value by key (of `count`); infinite where there is none."""
    order = np.lexsort((value, key))
    number = np.bincount(key, minlength=count)
    middle = np.cumsum(number) - number + number // 2
    found = np.full(count, np.inf)
    found[number > 0] = value[order][middle[number > 0]]
    return found
