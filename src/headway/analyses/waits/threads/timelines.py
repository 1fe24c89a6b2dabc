"""Timelines of groups (threads, objects): piecewise constant values over time, and spans cut at their changes.

A group and a time are put together to one sorted number, so that a million spans are placed by binary search at once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.waits.threads.thread_states import Scale

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

_BEFORE = -(1 << 60)
NOTHING = -1


@dataclass(frozen=True, eq=False)
class Timeline:
    """A piecewise constant value for each of `groups` groups: `value` from `time` on, until the group's next point.

    Sorted by (group, time); each group begins with a point before all times.
    """

    groups: int
    scale: Scale
    group: Ints
    time: Ints
    value: Ints
    position: Ints

    def over(self, group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints, Ints, Ints]:
        """Cut non-empty spans at the changes: (index of the span, start, end, value) of each piece."""
        first, count = self._reach(group, start, end)
        span = np.repeat(np.arange(len(group), dtype=np.int64), count)
        offset = np.arange(len(span), dtype=np.int64) - np.repeat(np.cumsum(count) - count, count)
        point = first[span] + offset
        begin = np.maximum(self.time[point], start[span])
        following = self.time[np.minimum(point + 1, len(self.time) - 1)]
        until = np.where(offset == count[span] - 1, end[span], following)
        longer = until > begin
        return span[longer], begin[longer], until[longer], self.value[point][longer]

    def pieces(self, group: Ints, start: Ints, end: Ints) -> int:
        """Return how many pieces `over` would cut."""
        return int(self._reach(group, start, end)[1].sum())

    def _reach(self, group: Ints, start: Ints, end: Ints) -> tuple[Ints, Ints]:
        place = group * self.scale.size
        first = np.searchsorted(self.position, place + self.scale.until(start), side="right") - 1
        last = np.searchsorted(self.position, place + self.scale.until(end - 1), side="right") - 1
        return first, np.maximum(last - first + 1, 1)

    def thinned(self, least_ns: int) -> Timeline:
        """Return a timeline with at most one change per group in any `least_ns`, keeping each stretch's longest value."""
        following = np.append(self.time[1:], 0)
        alone = np.append(self.group[1:] != self.group[:-1], True)
        length = np.where(alone, 1 << 60, following - self.time)
        bin_ = np.where(self.time <= _BEFORE, -1, (self.time - self.scale.first) // least_ns)
        order = np.lexsort((length, bin_, self.group))
        group, bin_ = self.group[order], bin_[order]
        last = np.append((group[1:] != group[:-1]) | (bin_[1:] != bin_[:-1]), True)
        first = np.append(True, last[:-1])
        # Points come in order of time, so of a bin the smallest time is the one at its first place before sorting.
        time = np.minimum.reduceat(self.time[order], np.flatnonzero(first))
        return timeline(self.groups, group[last], time, self.value[order][last])


def timeline(groups: int, group: Ints, time: Ints, value: Ints) -> Timeline:
    """Build a timeline from points; of several points of a group at one time the last given one counts."""
    group = np.concatenate([np.arange(groups, dtype=np.int64), group])
    time = np.concatenate([np.full(groups, _BEFORE, dtype=np.int64), time])
    value = np.concatenate([np.full(groups, NOTHING, dtype=np.int64), value])
    order = np.lexsort((time, group))
    group, time, value = group[order], time[order], value[order]
    # A point that the next one overrides at once says nothing; nor does one that says what holds already.
    overridden = np.append((group[1:] == group[:-1]) & (time[1:] == time[:-1]), False)
    group, time, value = group[~overridden], time[~overridden], value[~overridden]
    same = np.append(False, (group[1:] == group[:-1]) & (value[1:] == value[:-1]))[: len(group)]
    group, time, value = group[~same], time[~same], value[~same]
    scale = Scale.of(time, groups)
    return Timeline(groups, scale, group, time, value, scale.place(group, time))


def intervals(groups: int, group: Ints, start: Ints, end: Ints, value: Ints) -> Timeline:
    """Build a timeline from intervals that are disjoint within their group; NOTHING in between."""
    count = len(group)
    both = np.concatenate([np.full(count, NOTHING, dtype=np.int64), value])
    return timeline(groups, np.concatenate([group, group]), np.concatenate([end, start]), both)
