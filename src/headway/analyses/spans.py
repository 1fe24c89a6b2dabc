"""Sets of moments as sorted, disjoint intervals, and what happened inside them: the arithmetic under regions.

Times are int64 ns. An interval holds its begin and not its end. Every operation is a few searches in sorted arrays, so sets of
millions of intervals are no matter.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_FAR = 1 << 62


@dataclass(frozen=True, eq=False)
class Spans:
    """Intervals in order, none empty, none touching the next."""

    start: Ints
    end: Ints

    @classmethod
    def of(cls, start: Ints, end: Ints) -> Spans:
        """Return the moments that some intervals hold, in any order, overlapping or empty as they are."""
        keep = end > start
        start, end = np.asarray(start[keep], np.int64), np.asarray(end[keep], np.int64)
        if not len(start):
            return NOTHING
        order = np.argsort(start, kind="stable")
        start, reach = start[order], np.maximum.accumulate(end[order])
        first = np.concatenate([[True], start[1:] > reach[:-1]])
        last = np.append(np.flatnonzero(first)[1:] - 1, len(start) - 1)
        return cls(start[first], reach[last])

    @classmethod
    def one(cls, start: int, end: int) -> Spans:
        """Return a single interval."""
        return cls.of(np.array([start], np.int64), np.array([end], np.int64))

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self.start)

    @property
    def total(self) -> int:
        """Return how long all of them last."""
        return int((self.end - self.start).sum())

    def __and__(self, other: Spans) -> Spans:
        """Return the moments in both."""
        first = np.searchsorted(other.end, self.start, side="right")
        counts = np.maximum(np.searchsorted(other.start, self.end, side="left") - first, 0)
        mine = np.repeat(np.arange(len(self)), counts)
        theirs = np.arange(len(mine)) - np.repeat(np.cumsum(counts) - counts, counts) + first[mine]
        start = np.maximum(self.start[mine], other.start[theirs])
        return Spans(start, np.minimum(self.end[mine], other.end[theirs]))

    def __or__(self, other: Spans) -> Spans:
        """Return the moments in one of them."""
        if not len(other) or not len(self):
            return other if len(other) else self
        return Spans.of(np.concatenate([self.start, other.start]), np.concatenate([self.end, other.end]))

    def __sub__(self, other: Spans) -> Spans:
        """Return the moments that the other does not hold."""
        return self & Spans(np.concatenate([[-_FAR], other.end]), np.concatenate([other.start, [_FAR]]))

    def index(self, time: Ints) -> Ints:
        """Return which interval holds each moment, -1 for none."""
        if not len(self):
            return np.full(len(time), -1, np.int64)
        found = np.searchsorted(self.start, time, side="right") - 1
        inside = (found >= 0) & (time < self.end[np.maximum(found, 0)])
        return np.where(inside, found, -1)


NOTHING = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))


def union(sets: list[Spans]) -> Spans:
    """Return the moments in any of them."""
    if not sets:
        return NOTHING
    return Spans.of(np.concatenate([each.start for each in sets]), np.concatenate([each.end for each in sets]))


@dataclass(frozen=True, eq=False)
class Measure:
    """An amount spread evenly over each of some disjoint intervals in order; all of it is counted once, to the ns."""

    start: Ints
    end: Ints
    amount: Ints
    before: Ints

    @classmethod
    def of(cls, start: Ints, end: Ints, amount: Ints) -> Measure:
        """Return the measure of intervals (those that are empty hold nothing)."""
        keep = end > start
        amount = amount[keep]
        return cls(start[keep], end[keep], amount, np.cumsum(amount) - amount)

    @classmethod
    def length(cls, spans: Spans) -> Measure:
        """Return the measure that counts time itself."""
        return cls.of(spans.start, spans.end, spans.end - spans.start)

    @property
    def total(self) -> int:
        """Return all of it."""
        return int(self.amount.sum())

    def until(self, time: Ints) -> Ints:
        """Return what there is before each moment."""
        if not len(self.start):
            return np.zeros(len(time), np.int64)
        at = np.maximum(np.searchsorted(self.start, time, side="right") - 1, 0)
        length = self.end[at] - self.start[at]
        passed = np.clip(time - self.start[at], 0, length)
        share = np.where(
            passed == length, self.amount[at], np.rint(self.amount[at] * (passed / length)).astype(np.int64)
        )
        return self.before[at] + np.where(self.amount[at] == length, passed, share)

    def within(self, spans: Spans) -> Ints:
        """Return what falls into each of some intervals."""
        return self.until(spans.end) - self.until(spans.start)


def cells(inside: Spans, time: Ints, label: Ints, default: int) -> tuple[Ints, Ints, Ints]:
    """Give every moment of `inside` the label of the nearest of some labelled moments in the same interval: (start, end, label).

    `time` is in order. An interval without any of them has the label `default`.
    """
    at = inside.index(time)
    time, label, at = time[at >= 0], label[at >= 0], at[at >= 0]
    same = at[1:] == at[:-1]
    middle = (time[1:] + time[:-1]) // 2 + 1
    start, end = inside.start[at], inside.end[at]
    start[1:][same], end[:-1][same] = middle[same], middle[same]
    empty = np.ones(len(inside), dtype=bool)
    empty[at] = False
    starts = np.concatenate([start, inside.start[empty]])
    labels = np.concatenate([label, np.full(int(empty.sum()), default)])
    return starts, np.concatenate([end, inside.end[empty]]), labels.astype(np.int64)
