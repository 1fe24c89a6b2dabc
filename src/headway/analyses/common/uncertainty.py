"""Confidence intervals of 95 %: of the mean of a figure over repeated runs, and of a share of which a sample was drawn.

Question   how far the mean of further runs may be from the mean of these; how far a share of all from that of a sample.
Method     shares: Wilson's interval. Means: percentile bootstrap of the mean (runs resampled with replacement), stretched about
           the mean so that it keeps its level for few runs: by t(n-1) / z for the unknown spread and sqrt(n / (n-1)) for
           the bootstrap's narrowness (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician
           2015, "expanded percentile interval", applied to the width). The seed is fixed: the same runs give the same interval.
Assumes    runs are independent and alike (same machine, same load).
Wrong when runs drift (a machine that heats up); with 2 runs the interval is honest, hence wide: 13 times their half range.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from headway.model.students_t import stretch

RESAMPLES = 4000
_Z = 1.959963984540054
"""Standard errors on each side of a 95 % interval."""


def interval_of_mean(values: Sequence[float]) -> tuple[float, float] | None:
    """Return (low, high) of the 95 % interval for the mean, in the values' unit; None for fewer than 2 values."""
    import numpy as np

    n = len(values)
    if n < 2:
        return None
    sample = np.asarray(values, dtype=float)
    picks = np.random.default_rng(20130321).integers(0, n, size=(RESAMPLES, n))
    low, high = np.percentile(sample[picks].mean(axis=1), (2.5, 97.5))
    mean, wide = sample.mean(), stretch(n)
    return float(mean - (mean - low) * wide), float(mean + (high - mean) * wide)


def interval_of_share(count: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share of which `count` of `total` were drawn; (0, 1) where there are none."""
    if not total:
        return 0.0, 1.0
    share, spread = count / total, _Z**2 / total
    middle = (share + spread / 2) / (1 + spread)
    half = _Z / (1 + spread) * math.sqrt(share * (1 - share) / total + spread / (4 * total))
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))
