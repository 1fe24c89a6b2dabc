"""Flattens a thread's nested waits: at each moment the innermost wait counts."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class FlatWaits:
    """The waits of all threads without overlaps, ordered by (thread, start)."""

    thread: Ints
    start: Ints
    end: Ints
    stack: Ints


def flattened(thread: Ints, start: Ints, end: Ints, stack: Ints) -> FlatWaits:
    """Return intervals, ordered by (thread, start), without overlaps: at each moment the one that started last counts."""
    same = thread[1:] == thread[:-1]
    if not (same & (end[:-1] > start[1:])).any():
        return FlatWaits(thread, start, end, stack)
    begins = np.concatenate([[True], ~same])
    reach = np.empty_like(end)
    borders = [*np.flatnonzero(begins).tolist(), len(thread)]
    for low, high in itertools.pairwise(borders):
        reach[low:high] = np.maximum.accumulate(end[low:high])
    alone = np.concatenate([[True], ~(same & (reach[:-1] > start[1:]))])  # begins when all before it are over
    alone_to_next = np.concatenate([alone[1:], [True]])
    simple = alone & alone_to_next
    pieces: list[tuple[Ints, ...]] = [(thread[simple], start[simple], end[simple], stack[simple])]
    nested: list[tuple[int, int, int, int]] = []
    heads = np.flatnonzero(alone & ~alone_to_next)
    tails = np.flatnonzero(~alone & alone_to_next) + 1
    for low, high in zip(heads.tolist(), tails.tolist(), strict=True):
        nested += _nested(thread[low], start[low:high].tolist(), end[low:high].tolist(), stack[low:high].tolist())
    pieces.append(tuple(np.array(column, dtype=np.int64) for column in zip(*nested, strict=True)))
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    order = np.lexsort((columns[1], columns[0]))
    return FlatWaits(*(column[order] for column in columns))


def _nested(thread: int, start: list[int], end: list[int], stack: list[int]) -> list[tuple[int, int, int, int]]:
    """Lay out a group of overlapping intervals of one thread."""
    found: list[tuple[int, int, int, int]] = []
    under: list[int] = []
    now = start[0]
    for i, begin in enumerate([*start, max(end)]):
        while under and now < begin:
            top = under[-1]
            if end[top] <= now:
                under.pop()
                continue
            stop = min(end[top], begin)
            found.append((int(thread), now, stop, stack[top]))
            now = stop
        now = max(now, begin)
        if i < len(start):
            under.append(i)
    return found
