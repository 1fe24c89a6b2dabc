"""Distinct values and pairs of long columns, by sorting or a table: numpy's own unique hashes, which takes minutes here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def distinct(values: Ints) -> Ints:
    """Return the different values, in order."""
    found = np.sort(values)
    return found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found


def numbered(values: Ints) -> tuple[Ints, Ints]:
    """Return the different values, in order, and for each value its place among them."""
    if not len(values):
        return np.zeros(0, np.int64), np.zeros(0, np.int64)
    low, high = int(values.min()), int(values.max())
    if high - low > 8 * len(values) + 1024:
        found, inverse = np.unique(values, return_inverse=True)
        return found, inverse.reshape(-1).astype(np.int64)
    there = np.zeros(high - low + 1, dtype=bool)
    there[values - low] = True
    place = np.cumsum(there) - 1
    return np.flatnonzero(there) + low, place[values - low]


def numbered_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the different pairs of numbers from 0 on as two columns, in order, and for each pair its place among them."""
    size = int(second.max(initial=0)) + 1
    found, inverse = numbered(first * size + second)
    return found // size, found % size, inverse
