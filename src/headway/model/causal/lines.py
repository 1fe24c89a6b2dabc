"""Estimates how much the program gains when one line gets faster, from experiments on that line and the noise of all.

`headway causal` fits so afterwards, and so does the recorder while experiments run.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from headway.model.causal import curves, noise

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.model.causal.comparisons import Floats, Measured, Pairs
    from headway.model.causal.curves import Fit

    Ints = NDArray[np.int64]


def with_spread(
    measured: Measured, compared: Pairs, known: Pairs, *, groups: Ints, line: Ints, speedup_pct: Ints, longer: Floats
) -> Measured:
    """Return a measure that knows whether delays make its experiments noisier.

    `longer`: how many times as long each experiment was with its delays as without.
    """
    import numpy as np

    if measured.measure == "run":
        return measured
    spread = longer**2.0
    rates = noise.local_rates(measured, compared, known, groups)
    ratio = np.ones(len(compared.treated))
    for each in set(line[compared.treated].tolist()):
        at = line[compared.treated] == each
        fitted = curves.ratios(compared.of(at), measured, speedup_pct)
        for speedup, found in zip(fitted[0], fitted[1].tolist(), strict=True):
            ratio[at & (speedup_pct[compared.treated] == speedup)] = found
    is_noisier = noise.is_spread(compared, measured, spread, rates, ratio)
    return replace(measured, spread=spread) if is_noisier else measured


def fit_line(
    measured: Measured,
    pairs: Pairs,
    *,
    rates: Floats,
    quiet: Floats,
    speedup_pct: Ints,
    seed: int,
    resamples: int = curves.RESAMPLES,
) -> Fit:
    """Estimate one line's effect from its comparisons `pairs`; `quiet`: residuals of baselines compared among themselves."""
    line = curves.LineData(pairs, measured, rates, speedup_pct)
    known = noise.noise_of(quiet, line.residuals(), curves.PARAMETERS)
    return curves.fit(line, known, seed, resamples)
