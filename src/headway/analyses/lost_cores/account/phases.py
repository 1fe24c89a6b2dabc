"""Divides a run into phases of about constant parallelism by change-point detection.

Question   where does the parallelism change, so that each stretch between two changes has an account of its own?
Method     the mean number of active application threads per time bin, at most as many as there are cores (more make no
           difference to lost cores), is cut where that is worth it: optimal partitioning (Jackson et al. 2005, what PELT
           prunes) finds the exact minimum over all ways to cut of: sum over phases of the squared distance from the phase's
           mean + a penalty per phase. Bins are weighed with their length. Bins are few (600), so all pairs are looked at.
Penalty    the larger of two. 2 s^2 ln n: cuts that noise alone would pay for (BIC: a cut costs a place and a mean; s from the
           median difference of neighbouring bins, which jumps don't move). And what it pays to tell apart a quarter
           of the cores for 2 % of the time; less of a change has to last longer. Both rise together until at most 12 phases
           are left: more is no summary.
Assumes    a phase has one mean. A slow ramp becomes a staircase, a fast alternation (below 2 % of the time) one phase.
Wrong when the recording is shorter than some bins' length, and in a window so short that a bin holds a single switch.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.scheduling.activity import KINDS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.scheduling.activity import Activity

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

MOST = 12
SHORTEST = 0.02
"""A phase lasts at least this part of the span."""
STEP = 0.25
"""What is told apart: such a part of the cores, for SHORTEST of the span."""


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of about constant parallelism, ns from the recording's start; `active` is its mean of active threads."""

    start_ns: int
    end_ns: int
    active: float


def stretches(activity: Activity, cores: float) -> tuple[Stretch, ...]:
    """Cut the span of an activity into at least one and at most MOST stretches."""
    app = KINDS.index("app")
    starts, bins = np.unique(activity.bin_start_ns, return_inverse=True)
    lengths: Floats = np.bincount(bins, weights=activity.dur_ns.astype(float)).astype(np.float64)
    active = activity.active[:, app]
    capped = np.bincount(bins, weights=np.minimum(active, cores) * activity.dur_ns) / np.maximum(lengths, 1)
    total = np.bincount(bins, weights=active.astype(float) * activity.dur_ns)
    cuts = [
        cut for cut in change_points(capped, lengths, cores) if activity.start_ns < int(starts[cut]) < activity.end_ns
    ]  # bins of a recording that somebody made may lie anywhere
    first, last = [0, *cuts], [*cuts, len(starts)]
    edges = [activity.start_ns, *(int(starts[cut]) for cut in cuts), activity.end_ns]
    means = [total[i:j].sum() / max(lengths[i:j].sum(), 1) for i, j in zip(first, last, strict=True)]
    rows = zip(edges[:-1], edges[1:], means, strict=True)
    return tuple(Stretch(start, end, float(mean)) for start, end, mean in rows)


def change_points(level: Floats, weight: Floats, cores: float) -> tuple[int, ...]:
    """Return the first bins of every phase but the first."""
    count = len(level)
    shortest = max(2, math.ceil(SHORTEST * count))
    if count < 2 * shortest:
        return ()
    weight = weight / weight.mean() if weight.mean() > 0 else np.ones(count)
    penalty = max(2 * _noise(level) ** 2 * math.log(count), shortest * (STEP * cores) ** 2)
    while len(found := _partition(level, weight, penalty, shortest)) >= MOST:
        penalty *= 1.3
    return found


def _noise(level: Floats) -> float:
    """Return the standard deviation of bins around their phase's mean, whatever jumps there are."""
    return float(np.median(np.abs(np.diff(level)))) / (0.6745 * math.sqrt(2))


def _partition(level: Floats, weight: Floats, penalty: float, shortest: int) -> tuple[int, ...]:
    """Return the cuts of the partition with the least sum of squares + penalty per phase: the exact minimum."""
    count = len(level)
    zero = np.zeros(1)
    mass, first, second = (np.concatenate([zero, np.cumsum(weight * level**power)]) for power in (0, 1, 2))
    best = np.full(count + 1, np.inf)
    best[0] = -penalty
    before = np.zeros(count + 1, dtype=np.int64)
    for end in range(shortest, count + 1):
        begin = np.arange(end - shortest + 1)
        moment = first[end] - first[begin]
        squares = second[end] - second[begin] - moment**2 / np.maximum(mass[end] - mass[begin], 1e-12)
        total = best[begin] + squares + penalty
        before[end] = int(np.argmin(total))
        best[end] = total[before[end]]
    cuts = []
    at = int(before[count])
    while at > 0:
        cuts.append(at)
        at = int(before[at])
    return tuple(reversed(cuts))
