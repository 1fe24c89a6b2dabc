"""Finds regions that start and end too fast for CPU samples to resolve their single instances.

Question   whether the stretches of a region, and those between them, last several samples.
Method     where samples alone say when a region goes on (a program without workers; workers that have several regions), the
           samples of a thread are a sequence of in and out. The mean length of its stretches, in samples, says how often the
           region changes between two samples: where it alternates faster than they come, stretches are one or two samples long,
           whatever its real length is.
Assumes    samples come about evenly while a thread runs.
Wrong when a region has a few long instances and very many short ones: the mean is then long.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import places_of
from headway.analyses.stacks.labels import SILENT, LabelledSamples

if TYPE_CHECKING:
    from numpy.typing import NDArray

FEWEST = 3.0
"""Samples per stretch: below, half of the stretches are not even seen or run into each other."""
_ENOUGH = 10
_SHARE = 0.1
"""From so many samples on each side, and such a share, there is something to tell apart."""


def unresolvable_regions(samples: LabelledSamples, workers: Collection[int], regions: int) -> dict[int, float]:
    """Return samples per stretch, by region, of the regions too short-lived for their samples to resolve."""
    found: dict[int, float] = {}
    for label in _sequences(samples, workers):
        for region in range(regions):
            mean = _mean_stretch(label == region)
            if mean is not None and mean < found.get(region, FEWEST):
                found[region] = mean
    return found


def _sequences(samples: LabelledSamples, workers: Collection[int]) -> Iterator[NDArray[np.int64]]:
    """Yield the labels, in order of time, of each thread whose samples alone say which region goes on."""
    telling = (samples.label >= 0) if workers else (samples.label != SILENT)
    there = np.flatnonzero(telling & (samples.thread >= 0))
    for thread, places in places_of(samples.thread[there]):
        if workers and thread not in workers:
            continue
        rows = there[places]
        yield samples.label[rows[np.argsort(samples.time[rows], kind="stable")]]


def _mean_stretch(inside: NDArray[np.bool_]) -> float | None:
    """Return the mean length, in samples, of the shorter kind of stretch; None where there is too little of one kind."""
    count = int(inside.sum())
    least = min(count, len(inside) - count)
    if least < max(_ENOUGH, _SHARE * len(inside)):
        return None
    begins = np.append(True, inside[1:] != inside[:-1])
    stretches = int((begins & inside).sum()), int((begins & ~inside).sum())
    return min(count / stretches[0], (len(inside) - count) / stretches[1])
