"""How many threads wait for a lock at each time?

Question   when is a lock waited for, and by how many threads?
Method     the mean number of waiting threads in bins of equal length: the time that threads are blocked on the object inside a
           bin, by the bin's length. With F(t) = sum over blocks of the part before t, a bin holds F(end) - F(begin); F comes
           from prefix sums over the sorted begins and ends, so a bin is exact to the ns.
Assumes    nothing.
Wrong when single blocks are missing (the agent's file was full): bins after that are too low.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording


def waiters_over_time(recording: Recording, blockers: Sequence[int], bins: int) -> dict[int, NDArray[np.float64]]:
    """Return for each blocker_id the mean number of its waiters in each of `bins` equal bins of the recorded span.

    Raises HeadwayError HW303 or HW306 when the table can't be read.
    """
    origin, end_ns = recording.window_ns
    if not blockers or end_ns <= origin:
        return {}
    wanted = ", ".join(str(int(blocker)) for blocker in blockers)
    columns = recording.columns("block", "blocker_id", "start_ns", "dur_ns", where=f"blocker_id IN ({wanted})")
    blocker, start = np.asarray(columns["blocker_id"]), np.asarray(columns["start_ns"], dtype=np.int64) - origin
    stop = start + np.asarray(columns["dur_ns"], dtype=np.int64)
    edges = np.linspace(0, end_ns - origin, bins + 1)
    found = {}
    for each in blockers:
        mine = blocker == each
        before = _sum_below(stop[mine], edges) - _sum_below(start[mine], edges)
        found[each] = np.diff(before) / np.diff(edges)
    return found


def _sum_below(points: NDArray[np.int64], edges: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the sum of min(point, edge) over all points, for each edge."""
    ordered = np.sort(points)
    sums = np.concatenate([[0], np.cumsum(ordered)])
    below = np.searchsorted(ordered, edges)
    return sums[below] + (len(ordered) - below) * edges
