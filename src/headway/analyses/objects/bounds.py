"""The interval of a sum that was estimated from a sample of objects.

Question   between which values does the true sum lie, with 95 % confidence.
Method     each sampled object counts 1/p, p its chance to be sampled: the sum is unbiased (Horvitz and Thompson), and the sum of
           (1 - p)/p^2 estimates its variance. The sum is taken for a multiple of a Poisson count with the same mean and variance,
           whose exact interval is that of a gamma distribution (Fay and Feuer, Statistics in Medicine 1997); its quantiles are
           those of Wilson and Hilferty.
Assumes    objects are sampled independently of each other, as the JVM does.
Wrong when the sum is of very few samples of very different weight: then it is too narrow at the top.
"""

from __future__ import annotations

from headway.analyses.objects.types import Allocated, Quantity

_Z = 1.959963985
_MOST_UNSEEN = 3.689
"""-ln 0.025: of so many intervals the chance that nothing of them is sampled is 2.5 %."""
_LEAST_OBJECT_BYTES = 8
"""With compact headers."""
_LEAST_ERROR = 1e-9
"""Of less the interval has no other whole number; a recording may state any error, and its square be out of range."""


def quantity(value: int, error: float | None, least: int = 0) -> Quantity:
    """Return a sum with its interval; `error`: its standard error, None where it is exact. `least`: what was seen."""
    if error is None or error < _LEAST_ERROR:
        return Quantity(value, value, value)
    shape = (value / error) ** 2
    scale = value / shape if shape else 0.0
    low, high = scale * _gamma(shape, -_Z), scale * _gamma(shape + 1, _Z)
    return Quantity(value, min(value, max(least, int(low))), max(value, round(high)))


def _gamma(shape: float, z: float) -> float:
    """Return a quantile of the gamma distribution of scale 1, by that of the normal one."""
    if shape <= 0:
        return 0.0
    root = 1 - 1 / (9 * shape) + z / (3 * shape**0.5)
    return float(shape * max(0.0, root) ** 3)


def none_sampled(interval_bytes: int) -> Allocated:
    """Return what may have been allocated, by all JVMs together, where none of it was sampled, one in so many bytes."""
    most_bytes = round(_MOST_UNSEEN * interval_bytes)
    objects = Quantity(0, 0, most_bytes // _LEAST_OBJECT_BYTES)
    return Allocated(objects, Quantity(0, 0, most_bytes), objects, Quantity(0, 0, most_bytes))
