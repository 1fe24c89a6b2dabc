"""Joins the parks of one acquisition into one wait: a thread that is woken but loses the lock parks again.

Question   a thread that is woken for a lock which another one got first parks again: how often did it wait, and for how long?
Method     a block of which the agent saw that the thread was still queued as before (`is_repark`) goes on with the wait of the
           thread's block before it, if that is about the same object. A wait lasts as long as its blocks do.
Sums       exact: the lengths of waits add up to those of the blocks.
Assumes    a thread's blocks come in order of start.
Wrong when the block before is not there (the agent's file was full): then the rest of the wait is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class WholeWaits:
    """Per block: whether a wait starts with it, whether one ends with it, and the length of the wait that starts with it."""

    begins: Bools
    ends: Bools
    ns: Ints


def waits_of(thread: Ints, blocker: Ints, length: Ints, is_repark: Bools) -> WholeWaits:
    """Join parks of one acquisition into one wait; blocks are given in order of start."""
    count = len(thread)
    if not is_repark.any():
        return WholeWaits(np.ones(count, bool), np.ones(count, bool), length)
    order = np.argsort(thread, kind="stable")
    who, what = thread[order], blocker[order]
    goes_on = np.zeros(count, bool)
    goes_on[1:] = is_repark[order][1:] & (who[1:] == who[:-1]) & (what[1:] == what[:-1])
    first = np.flatnonzero(~goes_on)
    total = np.zeros(count, dtype=np.int64)
    total[order[first]] = np.add.reduceat(length[order], first)
    ends = np.ones(count, bool)
    ends[order[:-1]] = ~goes_on[1:]
    return WholeWaits(~is_repark, ends, total)
