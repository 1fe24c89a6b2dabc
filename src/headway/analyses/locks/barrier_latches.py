"""Detects latches that hold several threads up, as a barrier does; their waits then count as contention.

Question   a thread at a CountDownLatch mostly waits for the result of work that it gave away: no contention. Which do not?
Method     where two threads or more wait for one latch at the same time, and it was opened while it was recorded, their waits are
           those at a gate: each has something to do, and nobody gave that away to whom they wait for.
Assumes    that who waits for a result waits alone.
Wrong when several threads want one and the same result: they count as held up by it.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.waits.rules import GATE, RULES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import Blocks, LockData

_LATCH = next(number for number, rule in enumerate(RULES) if rule.id == "latch")
_GATE = RULES.index(GATE)


def with_gates(data: LockData, sites: Sites) -> Sites:
    """Return the sites with waits of several threads at one latch classified under a rule of their own."""
    latches = np.flatnonzero(sites.rule == _LATCH)
    if len(latches) < 2:
        return sites
    together = latches[_overlap(data.blocks, latches)]
    blocks = data.blocks
    opened = np.zeros(len(data.blockers), dtype=bool)
    opened[blocks.blocker[together[~blocks.is_open[together]]]] = True
    gates = together[opened[blocks.blocker[together]]]
    rule, contended = sites.rule.copy(), sites.contended.copy()
    rule[gates], contended[gates] = _GATE, True
    return dataclasses.replace(sites, rule=rule, contended=contended)


def _overlap(blocks: Blocks, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which of some blocks share a moment with another of them on the same object (a thread has one at a time)."""
    order = np.lexsort((blocks.began[rows], blocks.blocker[rows]))
    ordered = rows[order]
    of, start, end = blocks.blocker[ordered], blocks.began[ordered], blocks.full[ordered]
    # The latest end so far of each object: objects are laid out one behind the other on a common axis.
    low, length = int(start.min()), int(end.max() - start.min()) + 1
    _, number = np.unique(of, return_inverse=True)
    shift = number.reshape(-1).astype(np.int64) * length - low
    start, end = start + shift, end + shift
    latest = np.maximum.accumulate(end)
    after = np.concatenate([[False], start[1:] < latest[:-1]])  # begins before an earlier one ends
    before = np.concatenate([end[:-1] > start[1:], [False]])  # ends after the next one begins
    found = np.zeros(len(rows), dtype=bool)
    found[order] = after | before
    return found
