"""How far would the mean of other runs be from the mean of these?

Question   a 95 % interval for the mean of a figure over runs, from a few runs.
Method     percentile bootstrap of the mean (runs resampled with replacement), stretched about the mean so that it keeps
           its level for few runs: by t(n-1) / z for the unknown spread and sqrt(n / (n-1)) for the bootstrap's narrowness
           (Hesterberg, What Teachers Should Know About the Bootstrap, The American Statistician 2015, "expanded
           percentile interval", applied to the width). The seed is fixed: the same runs give the same interval.
Assumes    runs are independent and alike (same machine, same load).
Wrong when runs drift (a machine that heats up); with 2 runs the interval is honest, hence wide: 13 times their half range.
"""

from __future__ import annotations

from collections.abc import Sequence

RESAMPLES = 4000
_Z = 1.959964
# Student's t at 97.5 % for 1..30 degrees of freedom; beyond, z + 2.4 / df is within 0.002.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


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


def stretch(n: int) -> float:
    """Return by how much a percentile bootstrap of n runs (at least 2) is too narrow."""
    return float(_t(n - 1) / _Z * (n / (n - 1)) ** 0.5)


def _t(degrees: int) -> float:
    return _T[degrees - 1] if degrees <= len(_T) else _Z + 2.4 / degrees
