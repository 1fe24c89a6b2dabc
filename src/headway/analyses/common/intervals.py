"""Sets of points in time as sorted, disjoint intervals, with union, intersection, difference and sums inside them.

Times are int64 ns. An interval holds its begin and not its end. Every operation is a few searches in sorted arrays, so sets of
millions of intervals are no matter.

Checked    tests/property/test_spans.py.
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
    """A set of points in time as disjoint half-open intervals in ascending order, none empty and none touching the next."""

    start: Ints
    end: Ints

    @classmethod
    def of(cls, start: Ints, end: Ints) -> Spans:
        """Return the union of intervals given as arrays of starts and ends, which may overlap, be empty and have any order."""
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
    def single(cls, start: int, end: int) -> Spans:
        """Return the set that holds a single interval."""
        return cls.of(np.array([start], np.int64), np.array([end], np.int64))

    def __len__(self) -> int:
        """Return the number of intervals."""
        return len(self.start)

    @property
    def total(self) -> int:
        """Return the summed length of all intervals."""
        return int((self.end - self.start).sum())

    def __and__(self, other: Spans) -> Spans:
        """Return the intersection of both sets."""
        ours, theirs = pairs(*reached(other.start, other.end, self.start, self.end))
        start = np.maximum(self.start[ours], other.start[theirs])
        return Spans(start, np.minimum(self.end[ours], other.end[theirs]))

    def __or__(self, other: Spans) -> Spans:
        """Return the union of both sets."""
        if not len(other) or not len(self):
            return other if len(other) else self
        return Spans.of(np.concatenate([self.start, other.start]), np.concatenate([self.end, other.end]))

    def __sub__(self, other: Spans) -> Spans:
        """Return the points in time of this set that the other one does not hold."""
        return self & Spans(np.concatenate([[-_FAR], other.end]), np.concatenate([other.start, [_FAR]]))

    def index(self, time: Ints) -> Ints:
        """Return for each point in time the index of the interval that holds it, -1 for none."""
        if not len(self):
            return np.full(len(time), -1, np.int64)
        found = np.searchsorted(self.start, time, side="right") - 1
        inside = (found >= 0) & (time < self.end[np.maximum(found, 0)])
        return np.where(inside, found, -1)


NOTHING = Spans(np.zeros(0, np.int64), np.zeros(0, np.int64))


def reached(start: Ints, end: Ints, begin: Ints, until: Ints) -> tuple[Ints, Ints]:
    """Return of intervals (begin, until) the first of some others (start, end) that each overlaps, and how many it does.

    The others are disjoint and in order; those that are asked about may be any.
    """
    first = np.searchsorted(end, begin, side="right")
    return first, np.maximum(np.searchsorted(start, until, side="left") - first, 0)


def pairs(first: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Return each row as often as its count says, with numbers that go up from its first one."""
    row = np.repeat(np.arange(len(count)), count)
    return row, np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count) + first[row]


def union(sets: list[Spans]) -> Spans:
    """Return the union of several sets."""
    if not sets:
        return NOTHING
    return Spans.of(np.concatenate([each.start for each in sets]), np.concatenate([each.end for each in sets]))


@dataclass(frozen=True, eq=False)
class Measure:
    """An amount spread evenly over each of some disjoint, ordered intervals; sums over parts add up to the whole exactly."""

    start: Ints
    end: Ints
    amount: Ints
    before: Ints

    @classmethod
    def of(cls, start: Ints, end: Ints, amount: Ints) -> Measure:
        """Return the measure with `amount[i]` spread over interval i; empty intervals hold nothing."""
        keep = end > start
        amount = amount[keep]
        return cls(start[keep], end[keep], amount, np.cumsum(amount) - amount)

    @classmethod
    def length(cls, spans: Spans) -> Measure:
        """Return the measure whose amount is time itself."""
        return cls.of(spans.start, spans.end, spans.end - spans.start)

    @property
    def total(self) -> int:
        """Return the whole amount."""
        return int(self.amount.sum())

    def until(self, time: Ints) -> Ints:
        """Return the amount before each point in time."""
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
        """Return the amount inside each of some intervals."""
        return self.until(spans.end) - self.until(spans.start)


def cells(inside: Spans, time: Ints, label: Ints, default: int) -> tuple[Ints, Ints, Ints]:
    """Split `inside` by the nearest labelled point in time of the same interval; return start, end and label of each piece.

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
