"""Stretches of time that counts are divided by: regions and iterations, and which parts of slices lie in them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered
from headway.analyses.common.intervals import Spans, pairs, reached
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from headway.analyses.counters.parts.slices import Slices

    Ints = NDArray[np.int64]
    Key = Mapping[str, str | int]


MOST_PAIRS = 20_000_000
"""So many parts can some hundred thousand slices have: those of a thousand CPUs, with twenty thousand iterations each."""


class TimeWindows:
    """Sets of stretches of time, no two of which overlap, each with the key of its row; times are ns of CLOCK_MONOTONIC.

    `of_program`: only threads that run the program's own code count in them. All others count in a row of their own then, whose
    key is `others`.
    """

    def __init__(
        self, keys: Sequence[Key], spans: Sequence[Spans], *, of_program: bool = False, others: Key | None = None
    ) -> None:
        """Keep a set of stretches for each key."""
        self.keys: list[Key] = [*keys, *([others] if others is not None else [])]
        self.of_program, self.has_others = of_program, others is not None
        start, end = (
            np.concatenate([*(getattr(each, name) for each in spans), np.zeros(0, np.int64)])
            for name in ("start", "end")
        )
        key = np.repeat(np.arange(len(spans)), [len(each) for each in spans])
        order = np.argsort(start, kind="stable")
        self._start, self._end, self._key = (of[order].astype(np.int64) for of in (start, end, key))

    def parts(self, each: Slices, is_counted: NDArray[np.bool_], path: Path) -> tuple[Slices, Ints, Ints]:
        """Return the slices that have a part in a stretch, once for each key, with the key and how much lies in it, ns.

        Raises HeadwayError HW323 as `parts_of`. `path`: of the recording.
        """
        places = np.flatnonzero(is_counted)
        begin = each.start_ns[places]
        end = begin + each.running_ns[places]
        of_slice, theirs = parts_of(*reached(self._start, self._end, begin, end), len(self._start), path)
        inside = np.minimum(end[of_slice], self._end[theirs]) - np.maximum(begin[of_slice], self._start[theirs])
        keys = max(1, len(self.keys))
        pair, which = numbered(places[of_slice] * keys + self._key[theirs])
        total = np.bincount(which, inside, len(pair)).astype(np.int64)
        return each.at(pair // keys), pair % keys, total


def parts_of(first: Ints, count: Ints, stretches: int, path: Path) -> tuple[Ints, Ints]:
    """Return which slice and which stretch of time have a part in common, of the first one that each reaches and how many.

    Raises HeadwayError HW323 where so many slices have so many of them that no CPUs ran them: of real ones no more than there are
    CPUs go on at a time.
    """
    if (found := int(count.sum())) > MOST_PAIRS:
        what = f"{len(count)} slices that overlap, with {found} parts in {stretches} stretches of time"
        raise HeadwayError("HW323", path=path, table="slice", column="running_ns", what=what)
    return pairs(first, count)
