"""Confidence intervals of speedups by bootstrap over runs, and the number of repeats that would make a gain visible.

Question   95 % intervals of the computed, the real and every possible speedup; how many repeats would make a gain visible.
Method     bootstrap over runs: sequential and parallel runs are drawn anew, each on their own, pooled, and put into the model.
           Computed against real speedup: whole blocks are drawn, as each has all four runs soon after each other.
           As in `uncertainty`, the interval is stretched about the figure for few runs (here of the logarithm: a ratio stays
           above 0); with 2 runs it is honest, hence very wide. The seed is fixed: the same runs give the same interval.
Assumes    runs are independent and alike, which an interleaved order helps.
Wrong when runs drift; with one run of either program there is no interval, and none is invented.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from headway.analyses.regions.primitives import RunPrimitives
from headway.analyses.speedups.model import Model, make_model
from headway.analyses.speedups.parts import NUMBERS
from headway.model.students_t import stretch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.speedups.types import Block

Interval = tuple[float, float]
COMPUTED = "computed"
RESAMPLES = 400
MOST_REPEATS = 1000
_SEED = 20211223


def intervals(
    sequential: Sequence[RunPrimitives],
    parallel: Sequence[RunPrimitives],
    threads: int,
    counters: bool,
    figures: Mapping[str, float | None],
    region: str | None = None,
) -> dict[str, Interval]:
    """Return the intervals of `figures`: COMPUTED and the keys of the model's `possible`. Empty with one run of a program."""
    runs = min(len(sequential), len(parallel))
    if runs < 2:
        return {}
    drawn: dict[str, list[float]] = {}
    for model in resampled(sequential, parallel, threads, counters, region):
        for key, value in {COMPUTED: model.speedup(), **model.possible()}.items():
            if value is not None and value > 0:
                drawn.setdefault(key, []).append(float(value))
    return {
        key: _interval(figure, drawn[key], runs)
        for key, figure in figures.items()
        if figure and len(drawn.get(key, ())) == RESAMPLES
    }


def resampled(
    sequential: Sequence[RunPrimitives],
    parallel: Sequence[RunPrimitives],
    threads: int,
    counters: bool,
    region: str | None = None,
) -> Iterator[Model]:
    """Yield RESAMPLES models of resampled runs; the seed is fixed."""
    for pair in zip(_pooled(sequential, _SEED), _pooled(parallel, _SEED + 1), strict=True):
        model = make_model(*pair, threads, counters)
        yield model if region is None else model.of_region(region)


def reach_below(figure: float, drawn: Sequence[float], runs: int) -> float:
    """Return how far a figure's 95 % interval reaches below it, given its value in each resample."""
    import numpy as np

    return max(0.0, figure - float(np.percentile(np.asarray(drawn), 2.5))) * stretch(runs)


def real_interval(sequential_ns: Sequence[int], parallel_ns: Sequence[int]) -> Interval | None:
    """Return the interval of mean(sequential) / mean(parallel); None with fewer than two times of a program."""
    import numpy as np

    runs = min(len(sequential_ns), len(parallel_ns))
    if runs < 2:
        return None
    means = [
        np.asarray(times, dtype=float)[_picks(len(times), seed)].mean(axis=1)
        for times, seed in ((sequential_ns, _SEED), (parallel_ns, _SEED + 1))
    ]
    figure = math.fsum(sequential_ns) / len(sequential_ns) / (math.fsum(parallel_ns) / len(parallel_ns))
    return _interval(figure, (means[0] / means[1]).tolist(), runs)


def ratio_interval(blocks: Sequence[Block]) -> Interval | None:
    """Return the interval of computed over real speedup; None with fewer than two blocks.

    Whole blocks are drawn: what slows all runs of a block down alike (the machine, for a while) cancels out.
    """
    import numpy as np

    if len(blocks) < 2:
        return None
    times = np.asarray([astuple(block) for block in blocks], dtype=float)

    def ratios(times: NDArray[np.float64]) -> list[float]:
        alone, beside, plain_alone, plain_beside = times.T
        found: list[float] = ((alone / beside) / (plain_alone / plain_beside)).tolist()
        return found

    (figure,) = ratios(times.mean(axis=0, keepdims=True))
    return _interval(figure, ratios(times[_picks(len(times), _SEED)].mean(axis=1)), len(times))


def half_width(interval: Interval) -> float:
    """Return half an interval's width relative to its middle: 0.1 for 10 % either way."""
    low, high = interval
    return math.sqrt(high / low) - 1 if low > 0 else math.inf


def repeats_for(spread: float, gain: float, runs: int) -> int | None:
    """Return how many runs would narrow the half width `spread` of `runs` runs to `gain`; None for more than 1000."""
    if not gain > 0 or math.isinf(spread):
        return None

    def width(n: int) -> float:
        return stretch(n) * math.sqrt((n - 1) / n) / math.sqrt(n)

    return next((n for n in range(runs, MOST_REPEATS + 1) if spread * width(n) / width(runs) <= gain), None)


def _interval(figure: float, drawn: Sequence[float], runs: int) -> Interval:
    import numpy as np

    low, high = np.percentile(np.log(np.asarray(drawn)), (2.5, 97.5))
    middle, wide = math.log(figure), stretch(runs)
    # A figure outside its own resamples (a limit that is not the same in all runs) is still within its interval.
    return (
        math.exp(middle - max(0.0, middle - float(low)) * wide),
        math.exp(middle + max(0.0, float(high) - middle) * wide),
    )


def _picks(count: int, seed: int) -> NDArray[np.int64]:
    import numpy as np

    return np.random.default_rng(seed).integers(0, count, size=(RESAMPLES, count))


def _pooled(runs: Sequence[RunPrimitives], seed: int) -> Iterator[dict[str, dict[str, float | None]]]:
    """Yield the means of drawn runs, RESAMPLES times: as `speedup_parts.pool`, in floats."""
    import numpy as np

    names = list(dict.fromkeys(region.name for run in runs for region in run.regions))
    table = np.zeros((len(runs), len(names), len(NUMBERS)))
    for row, run in enumerate(runs):
        for region in run.regions:
            values = [getattr(region, field) for field in NUMBERS]
            table[row, names.index(region.name)] = [math.nan if value is None else value for value in values]
    for pick in _picks(len(runs), seed):
        means = table[pick].mean(axis=0).tolist()
        yield {
            name: {field: None if math.isnan(value) else value for field, value in zip(NUMBERS, row, strict=True)}
            for name, row in zip(names, means, strict=True)
        }
