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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING, TypeVar

from headway.analyses.regions.primitives import RunPrimitives
from headway.analyses.speedups.model import Model, make_model
from headway.analyses.speedups.parts import NUMBERS
from headway.model.students_t import stretch

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.speedups.types import Block

Figures = TypeVar("Figures")
Interval = tuple[float, float]
Sums = Mapping[str, Mapping[str, float | None]]
COMPUTED = "computed"
RESAMPLES = 400
MOST_REPEATS = 1000
_SEED = 20211223


@dataclass(frozen=True, slots=True)
class Resamples:
    """RESAMPLES models of `runs` runs drawn anew; equal draws are one model, as few runs can be drawn in few ways."""

    runs: int
    models: tuple[Model, ...]

    def figures(self, of: Callable[[Model], Figures]) -> list[Figures]:
        """Return what `of` makes of each model; it is called once for those that are equal."""
        found = {id(model): of(model) for model in {id(each): each for each in self.models}.values()}
        return [found[id(model)] for model in self.models]


def resample(
    sequential: Sequence[RunPrimitives], parallel: Sequence[RunPrimitives], threads: int, counters: bool
) -> Resamples:
    """Return models of resampled runs, none with one run of a program; the seed is fixed."""
    runs = min(len(sequential), len(parallel))
    if runs < 2:
        return Resamples(runs, ())
    found: dict[tuple[int, int], Model] = {}
    models = []
    for alone, beside in zip(_pooled(sequential, _SEED), _pooled(parallel, _SEED + 1), strict=True):
        key = id(alone), id(beside)  # equal draws are one object
        if key not in found:
            found[key] = make_model(alone, beside, threads, counters)
        models.append(found[key])
    return Resamples(runs, tuple(models))


def intervals(
    resamples: Resamples, figures: Mapping[str, float | None], region: str | None = None
) -> dict[str, Interval]:
    """Return the intervals of `figures`: COMPUTED and the keys of the model's `possible`. Empty with one run of a program."""
    drawn: dict[str, list[float]] = {}
    for values in resamples.figures(lambda model: _speedups(model if region is None else model.of_region(region))):
        for key, value in values.items():
            drawn.setdefault(key, []).append(value)
    return {
        key: _interval(figure, drawn[key], resamples.runs)
        for key, figure in figures.items()
        if figure and len(drawn.get(key, ())) == RESAMPLES
    }


def _speedups(model: Model) -> dict[str, float]:
    """Return the computed and the possible speedups that are known and above 0."""
    found = {COMPUTED: model.speedup(), **model.possible()}
    return {key: float(value) for key, value in found.items() if value is not None and value > 0}


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


def _pooled(runs: Sequence[RunPrimitives], seed: int) -> list[Sums]:
    """Return the means of drawn runs, RESAMPLES times: as `parts.pool`, in floats. Equal draws are one object."""
    import numpy as np

    names = list(dict.fromkeys(region.name for run in runs for region in run.regions))
    table = np.zeros((len(runs), len(names), len(NUMBERS)))
    for row, run in enumerate(runs):
        for region in run.regions:
            values = [getattr(region, field) for field in NUMBERS]
            table[row, names.index(region.name)] = [math.nan if value is None else value for value in values]
    found: dict[tuple[int, ...], Sums] = {}
    picks = [tuple(pick) for pick in _picks(len(runs), seed).tolist()]
    for pick in dict.fromkeys(picks):
        means = table[list(pick)].mean(axis=0).tolist()
        found[pick] = {
            name: {field: None if math.isnan(value) else value for field, value in zip(NUMBERS, row, strict=True)}
            for name, row in zip(names, means, strict=True)
        }
    return [found[pick] for pick in picks]
