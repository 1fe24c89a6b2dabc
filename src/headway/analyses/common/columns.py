"""Distinct values of long columns and pairs of columns, by sorting or counting: numpy's hash-based unique takes minutes here."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def distinct(values: Ints) -> Ints:
    """Return the different values in ascending order."""
    found = np.sort(values)
    return found[np.concatenate([[True], found[1:] != found[:-1]])] if len(found) else found


def numbered(values: Ints) -> tuple[Ints, Ints]:
    """Return the different values in ascending order, and each value's index among them."""
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


def places_of(values: Ints) -> list[tuple[int, Ints]]:
    """Return the different values in ascending order, each with the places where it is, in order."""
    order = np.argsort(values, kind="stable")
    found = values[order]
    begins = np.flatnonzero(np.append(True, found[1:] != found[:-1])[: len(found)])
    parts = np.split(order, begins[1:])  # of no values there is one part, and no value
    return list(zip(found[begins].tolist(), parts, strict=False))


def numbered_texts(texts: Sequence[str]) -> tuple[list[str], Ints]:
    """Return the different texts in ascending order, and each text's index among them.

    With numpy each would take as much as the longest.
    """
    found = sorted(set(texts))
    place = {text: number for number, text in enumerate(found)}
    return found, np.fromiter((place[text] for text in texts), np.int64, len(texts))


def shared_texts(batches: Iterable[pa.RecordBatch], names: Sequence[str]) -> dict[str, NDArray[np.object_]]:
    """Return the columns of texts of some batches by name, each different text once in memory."""
    parts: dict[str, list[NDArray[np.object_]]] = {name: [] for name in names}
    once: dict[str | None, str | None] = {}
    for batch in batches:
        for name in names:
            column = batch.column(name).dictionary_encode(null_encoding="encode")
            texts = [once.setdefault(text, text) for text in column.dictionary.to_pylist()]
            different = np.array(texts, dtype=object)
            parts[name].append(different[column.indices.to_numpy(zero_copy_only=False)])
    none = np.zeros(0, dtype=object)
    return {name: np.concatenate([none, *columns]) for name, columns in parts.items()}


def numbered_pairs(first: Ints, second: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the different pairs of non-negative numbers as two columns in ascending order, and each pair's index among them."""
    size = int(second.max(initial=0)) + 1
    if size * (int(first.max(initial=0)) + 1) >= 1 << 62:  # as with ids of threads, which may be any number
        kinds, place = numbered(second)
        rows, small, inverse = numbered_pairs(first, place)
        return rows, kinds[small], inverse
    found, inverse = numbered(first.astype(np.int64) * size + second)
    return found // size, found % size, inverse
