"""Sums of the counts of slices, by what they are divided by and by blocks of time."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.layout import Layout
from headway.analyses.counters.uncounted.ceiling import most_a_ns

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.counters.parts.slices import Slices

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_MOST_CELLS = 200_000
"""So many sums of one key in one block each, of several batches of slices, are kept before those of the same are added up."""


class Sums:
    """Sums of parts of slices by key (a row of each array) and by block of time. Times are ns.

    Of most keys most blocks are empty, as most threads live briefly: kept are the cells (key and block) that have something.
    `low` and `high`: how much less, and how much more, a count can be since slices that reach over a border were divided by time:
    a part of one has anything from none of its counts to all, but no more in its time than any processor does, as has the rest.
    `unknown_ns`: running time without any counts, `stolen_ns`: without those of each group, `lost_ns`: time in which any key may
    have run unseen (lost_records.py). `has_ceiling`: the upper ends have room for what ran in those.
    """

    def __init__(self, keys: int, blocks: int, layout: Layout, lost_ns: float = 0) -> None:
        """Sum nothing yet."""
        self.lost_ns = lost_ns
        self._keys, self._blocks, self._layout = keys, blocks, layout
        self._counters, self._groups = len(layout.events), len(layout.groups)
        self._most_a_ns: Floats = np.array([most_a_ns(event) for event in layout.events])
        self.cpu_ns: Floats = np.zeros(keys)
        self.unknown_ns: Floats = np.zeros(keys)
        self.stolen_ns: Floats = np.zeros((keys, self._groups))
        self.low: Floats = np.zeros((keys, self._counters))
        self.high: Floats = np.zeros((keys, self._counters))
        self.has_ceiling = False
        self._cells: list[tuple[Ints, Floats]] = []

    def add(self, each: Slices, key: Ints, inside_ns: Ints, block: Ints) -> None:
        """Add to each slice's key the part of it that is `inside_ns` long; keys below 0 are left out."""
        keep = (inside_ns > 0) & (key >= 0)
        self.cpu_ns += _by(key[keep], inside_ns[keep], self._keys)
        lacks = keep & ~each.is_known
        self.unknown_ns += _by(key[lacks], inside_ns[lacks], self._keys)
        keep &= each.is_known
        key, inside, ran, counts = key[keep], inside_ns[keep], each.running_ns[keep], each.counts[keep]
        share = inside / ran
        part = counts * share[:, None]
        beyond = np.zeros(len(ran), np.int64) if each.beyond_ns is None else each.beyond_ns[keep]
        cut = inside < ran + beyond
        if cut.any():
            less, more = _bounds(counts[cut], inside[cut], ran[cut], beyond[cut], self._most_a_ns)
            for place in range(self._counters):
                self.low[:, place] += _by(key[cut], less[:, place], self._keys)
                self.high[:, place] += _by(key[cut], more[:, place], self._keys)
        did = np.maximum(inside[:, None] - np.maximum(each.uncounted[keep], 0) * share[:, None], 0)
        if each.stolen is not None:
            for group, stolen in enumerate(each.stolen[keep].T):
                self.stolen_ns[:, group] += _by(key[stolen], inside[stolen], self._keys)
                did[stolen, group] = 0
        self._cells.append(_merged(key * self._blocks + block[keep], np.hstack((part, inside[:, None], did))))
        if sum(len(cells) for cells, _ in self._cells) > max(_MOST_CELLS, 2 * len(self._cells[0][0])):
            self._cells = [_merged_all(self._cells)]

    def cells(self) -> Cells:
        """Return what was summed up to now, by key and block."""
        if not self._cells:
            nothing = np.zeros((0, self._counters + 1 + self._groups))
            return Cells(self._keys, np.zeros(0, np.int64), np.zeros(0, np.int64), nothing, self._counters)
        self._cells = [_merged_all(self._cells)]
        cells, values = self._cells[0]
        return Cells(self._keys, cells // self._blocks, cells % self._blocks, values, self._counters)

    def with_ceiling(self) -> Sums:
        """Return these sums with an upper end for time that ran uncounted: what any processor counts in it at most.

        So short a time as lies before the first switch takes no upper end away then.
        """
        bounded = copy(self)
        lacks = self.unknown_ns[:, None] + self.stolen_ns[:, list(self._layout.group_of)] + self.lost_ns
        bounded.high = self.high + np.where(lacks > 0, np.maximum(lacks, 1) * self._most_a_ns, 0)
        bounded.has_ceiling = True
        return bounded

    def whole(self) -> Sums:
        """Return the sums of all keys together, as one."""
        one = Sums(1, self._blocks, self._layout, self.lost_ns)
        one.cpu_ns, one.unknown_ns = (each.sum(keepdims=True) for each in (self.cpu_ns, self.unknown_ns))
        one.low, one.high, one.stolen_ns = (
            each.sum(axis=0, keepdims=True) for each in (self.low, self.high, self.stolen_ns)
        )
        one._cells = [_merged(cells % self._blocks, values) for cells, values in self._cells]
        return one


def _bounds(counts: Ints, inside: Ints, ran: Ints, beyond: Ints, most_a_ns: Floats) -> tuple[Floats, Floats]:
    """Return how much less, and how much more, parts of slices can have counted than their share of the time, by counter.

    `beyond`: for how long slices may have been counted outside of the recording. Their counts are shares of all that they
    counted, rounded down.
    """
    within, without = inside[:, None], (ran + beyond - inside)[:, None]
    part = counts * (within / ran[:, None])
    longer = ((ran + beyond) / ran)[:, None]
    least = np.maximum(counts * longer - most_a_ns * without, 0.0)
    most = np.minimum((counts + (beyond > 0)[:, None]) * longer, most_a_ns * within)
    return np.maximum(part - least, 0.0), np.maximum(most - part, 0.0)


def blocks_of(each: Slices, begin_ns: int, end_ns: int, blocks: int) -> Ints:
    """Return in which of so many blocks of a window, of equal length, the middle of each slice lies."""
    middle = each.start_ns + each.running_ns // 2 - begin_ns
    block: Ints = np.clip(middle * blocks // max(1, end_ns - begin_ns), 0, blocks - 1)
    return block


def _by(key: Ints, values: Floats | Ints, keys: int) -> Floats:
    """Return the sums of values by key."""
    return np.bincount(key, values, keys).astype(np.float64)


def _merged(cells: Ints, values: Floats) -> tuple[Ints, Floats]:
    """Return each cell once, in order, with the sums of its values."""
    once, place = np.unique(cells, return_inverse=True)
    place = place.reshape(-1)
    sums: Floats = np.stack([_by(place, column, len(once)) for column in values.T], axis=1)
    return once.astype(np.int64), sums


def _merged_all(parts: Sequence[tuple[Ints, Floats]]) -> tuple[Ints, Floats]:
    if len(parts) == 1:
        return parts[0]
    return _merged(np.concatenate([cells for cells, _ in parts]), np.concatenate([values for _, values in parts]))


class Cells:
    """Sums by key and block of time, and what follows of them for each key.

    `cells`: how many there are. `seen`: what was counted, by counter. `could_ns`: in how much time it could be. `did_ns`: in how
    much it was, by group.
    """

    def __init__(self, keys: int, key: Ints, block: Ints, values: Floats, counters: int) -> None:
        """Sum the blocks of each key."""
        self._keys, self._key, self._block = keys, key, block
        self.cells = len(key)
        self._counts, self._could, self._did = values[:, :counters], values[:, counters], values[:, counters + 1 :]
        self.seen, self.did_ns = self._by_key(self._counts), self._by_key(self._did)
        self.could_ns = _by(key, values[:, counters], keys)

    def _by_key(self, values: Floats) -> Floats:
        sums: Floats = np.stack([_by(self._key, column, self._keys) for column in values.T], axis=1)
        return sums

    def counters(self, key: int, layout: Layout) -> dict[str, int]:
        """Return the counter of each event; of one in several groups that whose group counted longest for a key, as in rows."""
        found: dict[str, int] = {}
        did_ns = self.did_ns[key].tolist()
        for place, (event, group) in enumerate(zip(layout.events, layout.group_of, strict=True)):
            if event not in found or did_ns[group] > did_ns[layout.group_of[found[event]]]:
                found[event] = place
        return found

    def of(self, key: int, place: int, group: int) -> tuple[Ints, Floats, Floats]:
        """Return one key's counts over time: its blocks, what one counter counted in each, and how long its group did, ns."""
        of_key = slice(*np.searchsorted(self._key, (key, key + 1)).tolist())
        return self._block[of_key], self._counts[of_key, place], self._did[of_key, group]

    def scaled(self, key: int, place: int, group: int) -> tuple[list[int], list[float], list[float], list[float]]:
        """Return one key's counts over time as lists: blocks, counts, how long the group counted, and was to count, in ns."""
        block, counts, did_ns = self.of(key, place, group)
        of_key = slice(*np.searchsorted(self._key, (key, key + 1)).tolist())
        return block.tolist(), counts.tolist(), did_ns.tolist(), self._could[of_key].tolist()

    def spread(self, place: int, group: int) -> tuple[Floats, Floats]:
        """Return in how many blocks each key's group counted, and the squared deviations from its mean rate, summed up."""
        did, counts = self._did[:, group], self._counts[:, place]
        there = did > 0
        key = self._key[there]
        rate = self.seen[:, place] / np.maximum(self.did_ns[:, group], 1e-9)
        left_over = counts[there] - rate[key] * did[there]
        blocks = np.bincount(key, minlength=self._keys).astype(np.float64)
        return blocks, _by(key, np.square(left_over), self._keys)
