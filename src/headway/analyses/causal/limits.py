"""The largest effect that a line can have, given the delays that its experiments inserted.

Question   how much evidence is there for an effect that can be, where noise shows one that can't?
Method     a virtual speedup only makes others stand still. Unless they go on faster for that, an experiment has no more visits
           per time, delays included, than the program has without: its gain is at most delays / (time with them), each
           experiment by its weight in the gain. An effect is held against none by the likelihood of the best one that is
           possible: t^2 is lessened by the part of the estimate beyond it (restricted alternatives: Chernoff, On the
           distribution of the likelihood ratio, 1954). Where nothing is beyond it that is the usual t; where a line of 2 % of
           the time seems to gain 20 %, there is hardly any evidence. Never is there more of it than without the limit, so false
           findings do not increase.
Assumes    throughput and whole runs: a latency may fall by more than the delays (queues).
Wrong when threads disturb each other so much that standing still makes them faster (contention, caches). Then the line needs more
           evidence than others do, and is found with it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.model.causal.noise import terms

if TYPE_CHECKING:
    from headway.analyses.causal.data import Data
    from headway.model.causal.comparisons import Floats, Measured, Pairs


def possible_gains(data: Data, pairs: Pairs, measured: Measured, speedups: list[int]) -> Floats | None:
    """Return the largest gain that the delays allow, as a fraction, at each virtual speedup in percent; None: no known limit.

    By the weights of the gains themselves (`terms`): where visits come in bursts, delays do too, and count for as much. The
    larger of two: by the visits beside an experiment, and by its own, which differ where bursts are as short as experiments. With
    what delays cost taken off (`causal.stops`), which a faster line would not cost: that much more is possible.
    """
    import numpy as np

    if measured.measure == "latency":
        return None
    columns = data.columns
    each = terms(pairs, measured.visits, measured.time_ns)
    longer = columns["dur_ns"][pairs.treated] / np.maximum(measured.time_ns[pairs.treated], 1.0)
    found = []
    for speedup in speedups:
        rows = columns["speedup_pct"][pairs.treated] == speedup
        over, under, times = each.over[rows], each.under[rows], longer[rows]
        beside = float(over.sum()) / float((over * times).sum())
        own = float((under / times).sum()) / float(under.sum())
        found.append(1 - min(beside, own))
    return np.array(found)
