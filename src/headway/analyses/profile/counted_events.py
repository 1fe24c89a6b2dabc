"""Events of counters by thread and stack, which add up to what was counted exactly where a recording counted them at each switch.

Question   where did cycles, instructions, misses ... fall, so that the sum is that of `headway counters`?
Method     samples of an event say how a thread's counts fall on its stacks; the counts of its slices say how many there were
           (counters.by_thread). The weights of a thread are scaled to that. What a thread without samples counted is kept apart.
Assumes    of samples, that they fall evenly on what they stand for.
Wrong when a thread's counts are not known, or have no upper end: its samples are then as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.by_thread import counts_by_thread
from headway.analyses.profile.cpu_time import with_unsampled
from headway.analyses.stacks.sources import Weights, sampled

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]


def weights(recording: Recording, event: str, window: tuple[int, int] | None) -> tuple[Weights, tuple[str, ...]]:
    """Return an event by thread and stack (of a window, in ns from the recording's start), and its own notes' texts.

    Stacks from `note_number(0)` down stand for these texts: what threads counted that no sample is of.
    """
    found = sampled(recording, event, window)
    figures = counts_by_thread(recording, event, window)
    exact = {
        thread: round(figure.value)
        for thread, figure in figures.items()
        if figure.value is not None and figure.high is not None
    }
    if not exact:
        return found, ()
    threads, counts = (np.array(each, np.int64) for each in (list(exact), list(exact.values())))
    order = np.argsort(found.thread, kind="stable")
    begins, ends = (np.searchsorted(found.thread[order], threads, side) for side in ("left", "right"))
    weight, rest = found.weight.copy(), counts.copy()
    for place, (begin, end) in enumerate(zip(begins.tolist(), ends.tolist(), strict=True)):
        of_thread = order[begin:end]
        if weight[of_thread].sum() > 0:
            weight[of_thread] = _scaled(weight[of_thread], int(counts[place]))
            rest[place] = 0
    scaled = Weights(found.thread, found.stack, weight, found.samples)
    return with_unsampled(recording, scaled, threads[rest > 0], rest[rest > 0])


def _scaled(weight: Ints, total: int) -> Ints:
    """Return whole numbers in the proportions of some weights that add up to a total."""
    ends = np.cumsum(weight.astype(np.float64))
    edges = np.rint(ends * (total / ends[-1])).astype(np.int64)
    edges[-1] = total
    parts: Ints = np.diff(edges, prepend=0)
    return parts
