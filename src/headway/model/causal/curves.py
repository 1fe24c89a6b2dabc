"""Fits a line's effect: the program's speedup at each virtual speedup, and the straight or bent curve through them.

Question   program speedup per virtual speedup with a 95 % interval, slope, shape, maximum.
Method     per virtual speedup the ratio of effective times per visit, pooled over comparisons by Mantel and Haenszel (Statistical
           aspects of the analysis of data, 1959; for rates: Rothman, Greenland, Lash, Modern Epidemiology): a quotient of sums,
           so experiments of few visits or none count for what they are, and every experiment only meets its neighbours.
           Program speedup = (1 - ratio) x the share of time in which the line runs at all (`causal.phases`), as Coz has it.
           Intervals: every experiment's visits are drawn anew (residual bootstrap, `causal.noise`); a baseline that two
           comparisons share is drawn once for both. Percentiles, stretched for few residuals as in `students_t`.
           Slope: weighted least squares through the origin, weights 1 / variance; the variance is that expected from the fitted
           curve (`_weights`). Shape: the same with a knee, y = b min(s, k).
Assumes    comparisons with one virtual speedup have one true ratio.
Wrong when that is not so (phases): then the ratio is the mean over where experiments took place, and is scaled to the whole.
Checked    tests/property/test_causal_statistics.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from headway.model.causal.noise import residuals, terms
from headway.model.students_t import stretch

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headway.model.causal.comparisons import Floats, Measured, Pairs
    from headway.model.causal.noise import Noise, Terms

RESAMPLES = 1000
_SEED = 20151004
_KNEE = 6.63
"""Chi-square (1 degree) that a knee must win: one in a hundred straight lines is called bent."""
_NO_NOISE = 1e-6
_LEAST_RATIO = 0.02
_MOST = 3.0
"""Noise of more than a factor of 20 is no better known."""


@dataclass(frozen=True, slots=True)
class Fit:
    """One line's effect as fractions: `speedups` (virtual, ascending), `gains` (of the program), `drawn` (gains of resamples).

    `weights` are 1 / variance of the gains. `drawn` is None where nothing is known of the noise; weights have no unit then.
    `stretch` widens percentiles for few residuals. `most` are the largest gains that are possible (`causal.limits`).
    """

    speedups: Floats
    gains: Floats
    weights: Floats
    drawn: Floats | None
    degrees: float
    stretch: float
    most: Floats | None = None


@dataclass(frozen=True, slots=True)
class Slope:
    """The slope of a line's effect; `p_value` tests it against no effect, given that `most` is the largest possible slope."""

    value: float
    low: float | None
    high: float | None
    p_value: float | None
    most: float | None


@dataclass(frozen=True, slots=True)
class Knee:
    """The maximum of a fitted curve, the virtual speedup where it is reached, and whether it is flat beyond (`is_bent`)."""

    value: float
    low: float | None
    high: float | None
    at: float
    is_bent: bool


def ratios(pairs: Pairs, measured: Measured, speedup_pct: NDArray[np.int64]) -> tuple[list[int], Floats]:
    """Return the virtual speedups with visits on both sides, ascending, and their ratios of times per visit."""
    import numpy as np

    each = terms(pairs, measured.visits, measured.time_ns)
    found = {
        speedup: (each.over[rows].sum(), each.under[rows].sum())
        for speedup in np.unique(speedup_pct[pairs.treated]).tolist()
        for rows in [speedup_pct[pairs.treated] == speedup]
    }
    kept = {speedup: over / under for speedup, (over, under) in found.items() if over > 0 and under > 0}
    return list(kept), np.array(list(kept.values()))


@dataclass(frozen=True, eq=False)
class LineData:
    """The comparisons of one line, which a curve is fitted to: rows of experiments, `speedup_pct` and `rates` of each experiment.

    `rates`: the baselines' visits per time around it (`noise.local_rates`).
    """

    pairs: Pairs
    measured: Measured
    rates: Floats
    speedup_pct: NDArray[np.int64]

    @cached_property
    def terms(self) -> Terms:
        """Return the terms of each comparison."""
        return terms(self.pairs, self.measured.visits, self.measured.time_ns)

    @cached_property
    def fitted(self) -> tuple[list[int], Floats]:
        """Return the virtual speedups that have a ratio, ascending, and their ratios."""
        return ratios(self.pairs, self.measured, self.speedup_pct)

    @cached_property
    def curve_ratios(self) -> tuple[Floats, Floats]:
        """Return the ratios of the straight or bent curve, per comparison and per virtual speedup of `fitted`."""
        import numpy as np

        treated, under = self.speedup_pct[self.pairs.treated], self.terms.under
        if self.measured.spread is not None:
            under = under / self.measured.spread[self.pairs.treated]
        weights = np.array([under[treated == speedup].sum() for speedup in self.fitted[0]])
        at = np.array(self.fitted[0]) / 100
        _, rise, misfit = _bent(at, weights, (1 - self.fitted[1])[None, :])
        knee = int(np.argmin(misfit[0]))
        each, every = (
            np.maximum(1 - rise[0, knee] * np.minimum(speedups, at[knee]), _LEAST_RATIO)
            for speedups in (treated / 100, at)
        )
        return each, every

    def residuals(self) -> Floats:
        """Return the residuals of the comparisons about the fitted straight or bent curve (two parameters).

        About each ratio by itself there would be none to speak of: most speedups have an experiment or two.
        """
        import numpy as np

        if not len(self.fitted[0]):
            return np.zeros(0)
        return residuals(self.pairs, self.measured, self.rates, self.curve_ratios[0])


PARAMETERS = 2
"""Of the curve that residuals are about."""


def _bent(speedups: Floats, weights: Floats, gains: Floats) -> tuple[Floats, Floats, Floats]:
    """Return every knee's form, and per row of gains its rise and its chi-square; the last knee is a straight line."""
    import numpy as np

    forms = np.minimum(speedups[None, :], speedups[:, None])
    rise = gains @ (weights * forms).T / (weights * forms**2).sum(axis=1)
    misfit = (weights * (gains[:, None, :] - rise[:, :, None] * forms[None]) ** 2).sum(axis=2)
    return forms, rise, misfit


def fit(line: LineData, noise: Noise | None, seed: int, resamples: int = RESAMPLES) -> Fit:
    """Return the program's speedups and their resamples, before scaling to the share of time in which the line runs."""
    import numpy as np

    pairs, measured, rates, speedup_pct = line.pairs, line.measured, line.rates, line.speedup_pct
    speedups, found = line.fitted
    gains = 1 - found
    at = np.array(speedups) / 100
    if not len(speedups):
        return Fit(at, gains, np.ones(0), None, 0, 1)
    weights = _weights(line, noise)
    if noise is None:
        return Fit(at, gains, weights, None, 0, 1)
    ratio_of = dict(zip(speedups, found.tolist(), strict=True))
    ratio = np.array([ratio_of.get(int(each), 1.0) for each in speedup_pct])
    used, inside = pairs.compact()
    expected = rates[used] * measured.time_ns[used] / ratio[used]
    if measured.spread is not None:
        expected = expected * measured.spread[used]
    random = np.random.default_rng((_SEED, seed))
    draws = noise.residuals[random.integers(0, len(noise.residuals), size=(resamples, len(used)))]
    each = terms(inside, np.sqrt(expected) * draws, measured.time_ns[used])
    plain = line.terms
    drawn = np.empty((resamples, len(speedups)))
    for column, speedup in enumerate(speedups):
        rows = speedup_pct[pairs.treated] == speedup
        over = each.over[:, rows].sum(axis=1) / plain.over[rows].sum()
        under = each.under[:, rows].sum(axis=1) / plain.under[rows].sum()
        # Of the logarithm, to first order: a quotient of few visits has no variance, its logarithm is near to normal.
        drawn[:, column] = 1 - found[column] * np.exp(np.clip(over - under, -_MOST, _MOST))
    return Fit(at, gains, weights, drawn, noise.degrees, stretch(max(2, round(noise.degrees) + 1)))


def _weights(line: LineData, noise: Noise | None) -> Floats:
    """Return 1 / variance of the gain at each virtual speedup that has a ratio, as the fitted curve lets expect it.

    Not as each ratio by itself would: an experiment of more visits than expected shows a larger gain, and would have the greater
    weight for the same luck, so that lines without effect seemed to have one where visits are few. Weights in proportion to the
    visits themselves take out what remains: slopes are quotients of sums, as the ratios are.
    """
    import numpy as np

    pairs, measured, rates = line.pairs, line.measured, line.rates
    (each, every), under = line.curve_ratios, line.terms.under
    ratio = np.ones(len(rates))
    ratio[pairs.treated] = each
    expected = rates * measured.time_ns / ratio
    plain = terms(pairs, expected, measured.time_ns)
    total = np.maximum(plain.treated_ns + plain.beside_ns, 1)
    spread = np.ones(len(rates)) if measured.spread is None else measured.spread
    dispersion = 1.0 if noise is None else float(np.mean(noise.residuals**2))
    weights = np.empty(len(every))
    for column, speedup in enumerate(line.fitted[0]):
        rows = line.speedup_pct[pairs.treated] == speedup
        over, below = max(float(plain.over[rows].sum()), _NO_NOISE), max(float(plain.under[rows].sum()), _NO_NOISE)
        # Of the logarithm, by every experiment's own part: two comparisons share a baseline.
        pull = np.zeros(len(rates) + 1)  # -1: no neighbour on this side
        for near in (pairs.before, pairs.after):
            np.add.at(pull, near[rows], plain.treated_ns[rows] / total[rows] / over)
        pull[pairs.treated[rows]] = plain.beside_ns[rows] / total[rows] / below
        variance = dispersion * float((pull[:-1] ** 2 * expected * spread).sum())
        weights[column] = under[rows].sum() / below / (every[column] ** 2 * max(variance, _NO_NOISE**2))
    return weights


def scaled(fit: Fit, share: float, relative_error: float, seed: int) -> Fit:
    """Return the fit scaled to the whole program, given the `share` of its time in which the line runs."""
    import numpy as np

    if share == 1 and not relative_error:
        return fit
    drawn = None
    if fit.drawn is not None:
        shares = share * (1 + relative_error * np.random.default_rng((_SEED, seed, 1)).standard_normal(len(fit.drawn)))
        drawn = fit.drawn * np.clip(shares, 0, 1)[:, None]
    most = None if fit.most is None else fit.most * share
    return replace(
        fit, gains=fit.gains * share, weights=fit.weights / max(share, _NO_NOISE) ** 2, drawn=drawn, most=most
    )


def bounds(value: float, drawn: Floats, wide: float) -> tuple[float, float]:
    """Return the 95 % interval about `value` from its resamples."""
    import numpy as np

    low, high = np.percentile(drawn, (2.5, 97.5)).tolist()
    return value - max(0.0, value - low) * wide, value + max(0.0, high - value) * wide


def slope(fit: Fit) -> Slope | None:
    """Fit a straight line through the origin; None without points."""
    import numpy as np

    if not len(fit.speedups):
        return None
    weights = fit.weights
    pull = weights * fit.speedups / (weights * fit.speedups**2).sum()
    value = float((pull * fit.gains).sum())
    most = None if fit.most is None else float((pull * fit.most).sum())
    if fit.drawn is None:
        return Slope(value, None, None, None, most)
    drawn = fit.drawn @ pull
    low, high = bounds(value, drawn, fit.stretch)
    error = max(float(np.std(drawn)), _NO_NOISE)
    return Slope(value, low, high, _two_sided(evidence(value, error, most), fit.degrees), most)


def evidence(value: float, error: float, most: float | None) -> float:
    """Return Student's t of an effect against none, given that `most` is the largest possible effect."""
    beyond = 0.0 if most is None else max(value - max(most, 0.0), 0.0)
    return math.sqrt(max(value * value - beyond * beyond, 0.0)) / error


def knee(fit: Fit) -> Knee | None:
    """Fit a curve that rises straight and is flat from a knee on, and return its maximum; None without points."""
    import numpy as np

    if not len(fit.speedups):
        return None
    weights, speedups = fit.weights, fit.speedups
    forms = np.minimum(speedups[None, :], speedups[:, None])
    norm = (weights * forms**2).sum(axis=1)

    def best(gains: Floats) -> tuple[NDArray[np.intp], Floats, Floats]:
        """Return per row of gains the best knee, its maximum, and each knee's chi-square."""
        _, rise, misfit = _bent(speedups, weights, gains)
        chosen = np.argmin(misfit, axis=1)
        each = np.arange(len(gains))
        return chosen, rise[each, chosen] * speedups[chosen], misfit

    chosen, maxima, misfit = best(fit.gains[None, :])
    at, value = int(chosen[0]), float(maxima[0])
    is_bent = (
        value > 0 and fit.drawn is not None and bool(misfit[0, -1] - misfit[0, at] > _KNEE) and at < len(speedups) - 1
    )
    if not is_bent:
        at = len(speedups) - 1
        value = float(fit.gains @ (weights * forms[at]) / norm[at] * speedups[at])
    if fit.drawn is None:
        return Knee(value, None, None, float(speedups[at]), False)
    rising = fit.drawn @ (weights * forms[at]) / norm[at] * speedups[at]
    bent = best(fit.drawn)[1]
    if is_bent:
        # Resamples are as noisy as what was measured, once more: their spread counts, not where they lie.
        low, high = bounds(value, bent - np.median(bent) + value, fit.stretch)
    else:
        # A knee that is not seen may be there all the same: then the maximum is lower than that of the straight line.
        low, high = bounds(value, rising, fit.stretch)
        low = min(low, bounds(value, bent, fit.stretch)[0])
    return Knee(value, low, high, float(speedups[at]), is_bent)


def _two_sided(t: float, degrees: float) -> float:
    """Return how often Student's t is beyond `t` either way (Wallace's approximation by the normal distribution)."""
    degrees = max(degrees, 1.0)
    z = math.sqrt(degrees * math.log1p(t * t / degrees)) * (8 * degrees + 1) / (8 * degrees + 3)
    return math.erfc(z / math.sqrt(2))


def significant(p_values: Sequence[float | None], level: float = 0.05) -> list[bool]:
    """Return which effects to report, so that on average at most `level` of the reported ones are due to chance.

    Benjamini and Hochberg, Controlling the False Discovery Rate, 1995: with hundreds of lines tried, one in twenty would look
    like a finding by chance alone.
    """
    known = sorted((p, at) for at, p in enumerate(p_values) if p is not None)
    last = max((rank for rank, (p, _) in enumerate(known, 1) if p <= level * rank / len(known)), default=0)
    found = {at for _, at in known[:last]}
    return [at in found for at in range(len(p_values))]
