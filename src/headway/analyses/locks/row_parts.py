"""Sites and holders of rows, for some hundred groups at a time: numpy calls per group would take most of the time.

A part is given its rows (blocks, or what holders did) sorted by group, and for each row the group's place, from 0 on.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.locks.types import Holder, OtherLock, Site, Waker
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.threads.holders import SEEN_BY
from headway.analyses.waits.threads.thread_states import BLOCKED, DOING

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.waits.threads.holders import HolderStates

    Ints = NDArray[np.int64]
    StackTexts = Callable[[int], tuple[str, tuple[str, ...], bool]]

MOST_SITES = 100
MOST_HOLDERS = 100
MOST_WAKERS = 20
"""Per lock; what is left out is counted."""


@dataclass(frozen=True, slots=True)
class HolderSummary:
    """Who held what a group waits for: the first ones, how many more, and what they all did (None: nothing is known)."""

    holders: tuple[Holder, ...] = ()
    more: int = 0
    holding: dict[str, int] | None = None


def parts_of(begins: Ints, groups: Ints) -> tuple[Ints, Ints]:
    """Return the rows of some groups, of rows sorted by group, and for each of them the place of its group in `groups`.

    begins[g] to begins[g + 1] are the rows of group g.
    """
    first, counts = begins[groups], begins[groups + 1] - begins[groups]
    place = np.repeat(np.arange(len(groups), dtype=np.int64), counts)
    within = np.arange(len(place), dtype=np.int64) - np.repeat(np.cumsum(counts) - counts, counts)
    return np.repeat(first, counts) + within, place


def _starts(*sorted_keys: Ints) -> Ints:
    """Return where the rows begin that differ from the row before them in one of the keys."""
    changed = np.any([np.diff(key) != 0 for key in sorted_keys], axis=0)
    return np.concatenate([[0], np.flatnonzero(changed) + 1]).astype(np.int64)


# --- where -------------------------------------------------------------------------------------------------------------


def sites_of_groups(
    data: LockData, sites: Sites, blocks: Ints, place: Ints, groups: int, texts: StackTexts
) -> list[tuple[tuple[Site, ...], int]]:
    """Return each group's waiting sites by time, and how many more there are; `blocks` are in order of start."""
    if not len(blocks):
        return [((), 0)] * groups
    order = np.lexsort((sites.stack[blocks], place))
    ordered, group = blocks[order], place[order]
    stack = sites.stack[ordered]
    starts = _starts(group, stack)
    ends = np.append(starts[1:], len(ordered))
    waited = np.add.reduceat((data.blocks.end - data.blocks.start)[ordered], starts)
    taken = np.add.reduceat(sites.taken[ordered].astype(np.int64), starts)
    waits = np.add.reduceat(data.blocks.waits.begins[ordered].astype(np.int64), starts)
    times, rule, of_group = waits, sites.rule[ordered[ends - 1]], group[starts]
    share = _shares(of_group, waited, times, groups)
    order = np.lexsort((-times, -waited, of_group))
    columns = (stack[starts], share, waited, times, taken, rule)
    plain = zip(*(column[order].tolist() for column in columns), strict=True)
    rows = [Site(*texts(of), part, ns, many, own, RULES[number]) for of, part, ns, many, own, number in plain]
    bounds = np.searchsorted(of_group, np.arange(groups + 1)).tolist()
    return [
        (tuple(rows[low : min(high, low + MOST_SITES)]), max(0, high - low - MOST_SITES))
        for low, high in itertools.pairwise(bounds)
    ]


def _shares(group: Ints, waited: Ints, times: Ints, groups: int) -> NDArray[np.float64]:
    """Return each site's share of its group's time; of its waits, where they took no time."""
    total, count = np.zeros(groups, dtype=np.int64), np.zeros(groups, dtype=np.int64)
    np.add.at(total, group, waited)
    np.add.at(count, group, times)
    return np.where(total[group] > 0, waited / np.maximum(total[group], 1), times / np.maximum(count[group], 1))


# --- who ends the waits ------------------------------------------------------------------------------------------------


def wakers_of_groups(
    data: LockData, stacks: Ints, blocks: Ints, place: Ints, groups: int, texts: StackTexts
) -> list[tuple[tuple[Waker, ...], int]]:
    """Return each group's wakers and their places by count, and how many more; `stacks`: each block's waker stack."""
    woken = np.flatnonzero((data.blocks.waker[blocks] >= 0) & data.blocks.waits.ends[blocks])
    if not len(woken):
        return [((), 0)] * groups
    thread, stack, group = data.blocks.waker[blocks[woken]], stacks[blocks[woken]], place[woken]
    order = np.lexsort((stack, thread, group))
    starts = _starts(group[order], thread[order], stack[order])
    times = np.diff(np.append(starts, len(order)))
    first = order[starts]
    by_times = np.lexsort((stack[first], thread[first], -times, group[first]))
    share = times / np.bincount(group, minlength=groups)[group[first]]
    columns = (thread[first], stack[first], share, times)
    plain = zip(*(column[by_times].tolist() for column in columns), strict=True)
    rows = [
        Waker(data.names[who], data.tids[who], data.java_ids[who], texts(of)[0] if of >= 0 else None, part, many)
        for who, of, part, many in plain
    ]
    bounds = np.searchsorted(group[first][by_times], np.arange(groups + 1)).tolist()
    return [
        (tuple(rows[low : min(high, low + MOST_WAKERS)]), max(0, high - low - MOST_WAKERS))
        for low, high in itertools.pairwise(bounds)
    ]


# --- who holds it ------------------------------------------------------------------------------------------------------


def holder_summaries(data: LockData, found: HolderStates, rows: Ints, place: Ints, groups: int) -> list[HolderSummary]:
    """Return who held what each group waits for, and what they did meanwhile; by the time waited for them."""
    result = [HolderSummary()] * groups
    if not len(rows):
        return result
    ns, state = found.ns[rows], found.state[rows]
    total, holding = np.zeros(groups, dtype=np.int64), np.zeros((groups, len(DOING)), dtype=np.int64)
    np.add.at(total, place, ns)
    np.add.at(holding, (place, state), ns)
    holders = _Holders.from_states(data, found, rows, place)
    bounds = np.searchsorted(holders.group, np.arange(groups + 1)).tolist()
    totals, all_holding = total.tolist(), holding.tolist()
    for group in place[_starts(place)].tolist():
        low, high = bounds[group : group + 2]
        shown = tuple(holders.holder(i, totals[group]) for i in range(low, min(high, low + MOST_HOLDERS)))
        holding_of = dict(zip(DOING, all_holding[group], strict=True))
        result[group] = HolderSummary(shown, max(0, high - low - MOST_HOLDERS), holding_of)
    return result


@dataclass(frozen=True, eq=False)
class _Holders:
    """The holders of some groups, sorted by group, then by the time waited for them."""

    data: LockData
    group: Ints
    thread: list[int]
    seen_by: list[int]
    doing: list[list[int]]
    others: dict[int, dict[int, int]]

    @classmethod
    def from_states(cls, data: LockData, found: HolderStates, rows: Ints, place: Ints) -> _Holders:
        known = np.flatnonzero(found.holder[rows] >= 0)
        if not len(known):
            return cls(data, np.zeros(0, np.int64), [], [], [], {})
        by_holder = known[np.lexsort((found.holder[rows[known]], place[known]))]
        ordered, group = rows[by_holder], place[by_holder]
        starts = _starts(group, found.holder[ordered])
        number = np.repeat(np.arange(len(starts)), np.diff(np.append(starts, len(ordered))))
        doing = np.zeros((len(starts), len(DOING)), dtype=np.int64)
        np.add.at(doing, (number, found.state[ordered]), found.ns[ordered])
        seen = found.seen_by[ordered]
        seen_by = np.bitwise_or.reduceat(np.where(seen >= 0, 1 << np.maximum(seen, 0), 0), starts)
        # Equal ones in the order in which the rows tell of them.
        order = np.lexsort((by_holder[starts], -doing.sum(axis=1), group[starts]))
        rank = np.empty_like(order)
        rank[order] = np.arange(len(order))
        others: dict[int, dict[int, int]] = {}
        blocked = np.flatnonzero(found.state[ordered] == BLOCKED)
        columns = (rank[number[blocked]], found.lock[ordered[blocked]], found.ns[ordered[blocked]])
        for holder, lock, ns in zip(*(column.tolist() for column in columns), strict=True):
            its = others.setdefault(holder, {})
            its[lock] = its.get(lock, 0) + ns
        thread = found.holder[ordered[starts]][order].tolist()
        return cls(data, group[starts][order], thread, seen_by[order].tolist(), doing[order].tolist(), others)

    def holder(self, i: int, total_ns: int) -> Holder:
        """Return one, of whose group `total_ns` was waited in all."""
        data, thread, doing, seen = self.data, self.thread[i], self.doing[i], self.seen_by[i]
        waited = sum(doing)
        others = sorted(self.others.get(i, {}).items(), key=lambda item: -item[1])
        return Holder(
            thread=data.names[thread],
            tid=data.tids[thread],
            java_id=data.java_ids[thread],
            seen_by=tuple(name for bit, name in enumerate(SEEN_BY) if seen >> bit & 1),
            share=waited / total_ns if total_ns else 0.0,
            wait_ns=waited,
            doing=dict(zip(DOING, doing, strict=True)),
            blocked_on=tuple(
                OtherLock(data.blockers.blocker_id(lock), data.blockers.name(lock), ns) for lock, ns in others
            ),
        )
