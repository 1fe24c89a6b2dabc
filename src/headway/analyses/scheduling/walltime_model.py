"""The arithmetic of the wall-time model: exact predictions from parallelism levels, without reading recordings.

Peternier, Binder, Yokokawa and Chen, ICPE 2013, section 3. Let T_j(k1) be the time with j active threads on k1 cores. While
j threads are active, min(j, k1) cores work; the same work on k2 cores keeps min(j, k2) of them busy:

    E(k2) = T_0(k1) + sum over j >= 1 of T_j(k1) * min(j, k1) / min(j, k2)

which is the paper's three cases in one: the factor is 1 for j <= min(k1, k2); k1 / min(j, k2) for k1 <= k2, k1 <= j; and
min(j, k1) / k2 for k2 <= k1, k2 <= j. Hence E(k1) is the measured time, E never grows with k2, E(k2) >= T_0 + T_1, and
going to k2 and back returns the same levels. All of it exact: fractions of whole nanoseconds.

Checked    tests/golden/test_dacapo_walltime.py, tests/property/test_walltime_model.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

Time = int | Fraction


def predict_levels(levels: Sequence[Time], k1: int, k2: int) -> tuple[Fraction, ...]:
    """Convert levels measured on k1 cores into levels on k2 cores.

    levels[j] is the time with j active threads, in any unit; so is the result. Raises ValueError for core counts below 1
    or a negative time.
    """
    if k1 < 1 or k2 < 1:
        raise ValueError(f"a machine has at least 1 core, not {min(k1, k2)}")
    if any(time < 0 for time in levels):
        raise ValueError("a time is never negative")
    return tuple(
        Fraction(time) if j == 0 else Fraction(time) * min(j, k1) / min(j, k2) for j, time in enumerate(levels)
    )


def predict(levels: Sequence[Time], k1: int, k2: int) -> Fraction:
    """Return E(k2), the wall time on k2 cores, from levels measured on k1 cores (unit and errors of `predict_levels`)."""
    return sum(predict_levels(levels, k1, k2), Fraction(0))


def critical(levels: Sequence[Time]) -> Fraction:
    """Return T_0 + T_1, the lower bound of the program's time on any number of cores."""
    return sum((Fraction(time) for time in levels[:2]), Fraction(0))


def ideal(levels: Sequence[Time], k1: int, k2: int) -> Fraction:
    """Return the time on k2 cores if the program always had work for all of them: T_0 + work / k2."""
    work = sum((Fraction(time) * min(j, k1) for j, time in enumerate(levels)), Fraction(0))
    return sum((Fraction(time) for time in levels[:1]), Fraction(0)) + work / k2
