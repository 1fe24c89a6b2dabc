"""The noise of experiments: how much visits vary between experiments that should be equal, for use in resampling.

Question   the dispersion of visits per experiment about their local mean, as a factor on that of independent visits (1: Poisson;
           below: steadier, as loops are; above: bursts, garbage collection, a host that takes CPUs).
Method     quasi-Poisson residuals. A comparison of experiment t with its neighbours b has d = V_b E_t/(E_t+E_b) -
           r V_t E_b/(E_t+E_b), with visits V, times E and the ratio r of the fit; its variance is the dispersion times
           q = L E_t E_b (E_t + r E_b) / (E_t+E_b)^2, L the local rate of visits. Baselines compared among themselves (r = 1) give
           most residuals; a line's own experiments count beside them, and alone where they differ by more than chance would
           have it (delays may make a program less steady).
           Delays: time that others take from the program is noise on all of an experiment's length, and weighs more on the
           effective time the less of that is left; visits that vary by themselves do not. Whether the variance goes with
           (dur / effective)^2 or not is chosen by the likelihood of all residuals (`spread`).
Assumes    residuals of all comparisons are alike after division by sqrt(q).
Wrong when noise lasts longer than an experiment: it is then in several comparisons at once, and less is known than it seems.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.model.causal.comparisons import Floats, Measured, Pairs

_LOCAL = 2
"""Baselines on either side that make the local rate."""
_INDEPENDENT = 0.6
"""Neighbouring comparisons of baselines share two of three experiments: so many of them are worth one by itself."""
_LEAST = 3
_LOUDER = 1.5


@dataclass(frozen=True, slots=True)
class Noise:
    """Residuals to resample from, with mean 0 and the dispersion as mean square, and their `degrees` of freedom."""

    residuals: Floats
    degrees: float


@dataclass(frozen=True, slots=True)
class Terms:
    """The terms of one comparison each: the sum of `over` divided by the sum of `under` is the ratio of times per visit."""

    over: Floats
    under: Floats
    treated_ns: Floats
    beside_ns: Floats


def terms(pairs: Pairs, visits: Floats, time_ns: Floats) -> Terms:
    """Return the terms of the Mantel-Haenszel estimator; `visits` may have leading axes (resamples)."""
    import numpy as np

    treated_ns, beside_ns = time_ns[pairs.treated], pairs.sums_of_baselines(time_ns)
    total = np.maximum(treated_ns + beside_ns, 1)
    return Terms(
        over=pairs.sums_of_baselines(visits) * (treated_ns / total),
        under=visits[..., pairs.treated] * (beside_ns / total),
        treated_ns=treated_ns,
        beside_ns=beside_ns,
    )


def local_rates(measured: Measured, compared: Pairs, known: Pairs, groups: NDArray[np.int64]) -> Floats:
    """Return for each experiment the baselines' visits per time around it, within its group (`neighbourhoods`).

    All baselines count, those that only one experiment was compared with, too: what is taken to have a rate of 0 is taken to
    have no noise.
    """
    import numpy as np

    every = (known.treated, known.before, known.after, compared.before, compared.after)
    is_base = np.isin(np.arange(len(groups)), np.concatenate(every))
    rates = np.zeros(len(groups))
    for group in np.unique(groups).tolist():
        rows = np.flatnonzero(groups == group)
        base = rows[is_base[rows]]
        if not len(base):
            continue
        sums = [np.concatenate([[0.0], np.cumsum(values[base])]) for values in (measured.visits, measured.time_ns)]
        at = np.searchsorted(base, rows)
        low, high = np.maximum(at - _LOCAL, 0), np.minimum(at + _LOCAL + 1, len(base))
        visits, time_ns = (each[high] - each[low] for each in sums)
        rates[rows] = np.divide(visits, time_ns, out=np.zeros(len(rows)), where=time_ns > 0)
    return rates


def residuals(pairs: Pairs, measured: Measured, rates: Floats, ratio: Floats | float) -> Floats:
    """Return the standardised residuals of comparisons about `ratio`, leaving out those without expected visits."""
    import numpy as np

    differences, variance = _differences(pairs, measured, rates, ratio)
    return np.asarray((differences / np.sqrt(np.where(variance > 0, variance, 1)))[variance > 0])


def _differences(pairs: Pairs, measured: Measured, rates: Floats, ratio: Floats | float) -> tuple[Floats, Floats]:
    """Return the comparisons' residuals, and their variances for a dispersion of 1."""
    import numpy as np

    each = terms(pairs, measured.visits, measured.time_ns)
    spread = 1.0 if measured.spread is None else measured.spread[pairs.treated]
    scale = (
        rates[pairs.treated] * each.treated_ns * each.beside_ns * (each.treated_ns + ratio * each.beside_ns * spread)
    )
    variance = scale / np.maximum(each.treated_ns + each.beside_ns, 1) ** 2
    return each.over - ratio * each.under, variance


def is_spread(pairs: Pairs, measured: Measured, spread: Floats, rates: Floats, ratio: Floats) -> bool:
    """Return whether `spread` describes residuals about `ratio` (one per comparison) better than no spread does."""
    import numpy as np

    misfits = []
    for each in (replace(measured, spread=None), replace(measured, spread=spread)):
        differences, variance = _differences(pairs, each, rates, ratio)
        known = variance > 0
        if known.sum() < _LEAST:
            return False
        squares, logs = differences[known] ** 2 / variance[known], np.log(variance[known])
        misfits.append(known.sum() * np.log(max(float(squares.mean()), 1e-12)) + logs.sum())
    return bool(misfits[1] < misfits[0])


def noise_of(known: Floats, own: Floats, fitted: int) -> Noise | None:
    """Return the residuals to resample from: the baselines' and a line's own about `fitted`; None when there are too few."""
    import numpy as np

    base = Noise(known - known.mean(), len(known) * _INDEPENDENT) if len(known) >= _LEAST else None
    degrees = len(own) - fitted
    # A residual about a fit is too small by what the fit took of it.
    line_noise = Noise(own * (len(own) / degrees) ** 0.5, degrees) if degrees >= _LEAST else None
    if base is None or line_noise is None:
        return base or line_noise
    quiet, loud = float(np.mean(base.residuals**2)), float(np.mean(line_noise.residuals**2))
    chance = (2 / base.degrees + 2 / line_noise.degrees) ** 0.5
    if loud > quiet * np.exp(_LOUDER * chance):
        return line_noise
    pooled = (quiet * base.degrees + loud * line_noise.degrees) / (base.degrees + line_noise.degrees)
    together = np.concatenate([_scaled(base.residuals, pooled), _scaled(line_noise.residuals, pooled)])
    return Noise(together, base.degrees + line_noise.degrees)


def _scaled(values: Floats, mean_square: float) -> Floats:
    """Return residuals of another mean square: one shape, one dispersion."""
    own = float((values**2).mean())
    return values * (mean_square / own) ** 0.5 if own > 0 else values
