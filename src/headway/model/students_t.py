"""Student's t: how much wider an interval from few values has to be than one from many."""

from __future__ import annotations

_Z = 1.959964
# Student's t at 97.5 % for 1..30 degrees of freedom; beyond, z + 2.4 / df is within 0.002.
_T = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


def stretch(n: int) -> float:
    """Return the factor by which a percentile bootstrap of n runs (at least 2) is too narrow."""
    return float(t_quantile(n - 1) / _Z * (n / (n - 1)) ** 0.5)


def t_quantile(degrees: int) -> float:
    """Return Student's t at 97.5 % for so many degrees of freedom, at least 1."""
    return _T[degrees - 1] if degrees <= len(_T) else _Z + 2.4 / degrees
