"""The number of threads waiting for a lock over time.

Question   when is a lock waited for, and by how many threads?
Method     the mean number of waiting threads in bins of equal length: the time that threads are blocked on the object inside a
           bin, by the bin's length. With F(t) = sum over blocks of the part before t, a bin holds F(end) - F(begin); F comes
           from prefix sums over the sorted begins and ends, so a bin is exact to the ns.
Assumes    nothing.
Wrong when single blocks are missing (the agent's file was full): bins after that are too low.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

_LISTED = 1000
"""Objects that are asked for one by one; more of them are found among all."""


def waiters_over_time(recording: Recording, rows: Sequence[Sequence[int]], bins: int) -> list[NDArray[np.float64]]:
    """Return per row of blocker_ids the mean number of waiters in each of `bins` equal bins of the recording.

    An object is in one row at most. Raises HeadwayError HW303 or HW306 when the table can't be read.
    """
    origin, end_ns = recording.window_ns
    row_of = {int(blocker): number for number, ids in enumerate(rows) for blocker in ids}
    if not row_of or end_ns <= origin:
        return [np.zeros(bins)] * len(rows)
    wanted = f"blocker_id IN ({', '.join(map(str, row_of))})" if len(row_of) <= _LISTED else ""
    columns = recording.columns("block", "blocker_id", "start_ns", "dur_ns", where=wanted)
    row = _rows_of(np.asarray(columns["blocker_id"], dtype=np.int64), row_of)
    start = np.asarray(columns["start_ns"], dtype=np.int64) - origin
    stop = start + np.asarray(columns["dur_ns"], dtype=np.int64)
    edges = np.linspace(0, end_ns - origin, bins + 1)
    found = []
    for number in range(len(rows)):
        of_row = row == number
        before = _sum_below(stop[of_row], edges) - _sum_below(start[of_row], edges)
        found.append(np.diff(before) / np.diff(edges))
    return found


def _rows_of(blocker: NDArray[np.int64], row_of: Mapping[int, int]) -> NDArray[np.int64]:
    """Return for each blocker_id its row; -1: in none."""
    ids = np.array(sorted(row_of), dtype=np.int64)
    rows = np.array([row_of[each] for each in ids.tolist()], dtype=np.int64)
    at = np.minimum(np.searchsorted(ids, blocker), len(ids) - 1)
    return np.where(ids[at] == blocker, rows[at], -1)


def _sum_below(points: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of min(point, edge) over all points, for each edge."""
    ordered = np.sort(points)
    sums = np.concatenate([[0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, edges)
    return sums[below] + (len(ordered) - below) * edges
