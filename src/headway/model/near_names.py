"""Finds the names that are written most like one that is not there: it may be mistyped."""

from __future__ import annotations

import difflib
import heapq
import itertools
from collections.abc import Iterable

_MOST_NAMES = 2000
_MOST_COMPARED = 20
_MOST_CHARACTERS = 80
"""Names may be a stranger's: so many are looked at, so many compared letter by letter, and so much of one."""
_LEAST_LIKENESS = 0.6
_PARTS = 3


def nearest_first(wanted: str, names: Iterable[str], most: int) -> list[str]:
    """Return up to `most` of `names`: those that are written nearly like `wanted` first, then the others in their order.

    A name is like what is wanted if it is as a whole, or from one of its last dots on: as org.example.Store.put is like Stor.put.
    """
    every = list(dict.fromkeys(itertools.islice(names, _MOST_NAMES)))
    matcher = difflib.SequenceMatcher(b=wanted.lower()[:_MOST_CHARACTERS])

    def is_at_most(text: str) -> float:
        matcher.set_seq1(text)
        return matcher.quick_ratio()

    def likeness(text: str) -> float:
        matcher.set_seq1(text)
        return matcher.ratio()

    endings = ((is_at_most(text), name, text) for name in every for text in _endings(name.lower()))
    compared = heapq.nlargest(_MOST_COMPARED, (each for each in endings if each[0] >= _LEAST_LIKENESS))
    alike = sorted(((likeness(text), name) for _, name, text in compared), key=lambda each: -each[0])
    near = [name for value, name in alike if value >= _LEAST_LIKENESS]
    return list(dict.fromkeys((*near, *every)))[:most]


def _endings(name: str) -> list[str]:
    """Return a name, and what of it begins after one of its last dots."""
    parts = name[-_MOST_CHARACTERS:].split(".")
    return [".".join(parts[first:]) for first in {0, *range(max(0, len(parts) - _PARTS), len(parts))}]
