"""The plain numbers behind each row of `locks`, computed for some hundred groups at a time.

A number that is taken out of an array by itself costs more than most of what is then done with it, and a row has forty;
so they are taken out together. Not for all groups at once: as lists they take ten times the memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from headway.analyses.locks.metrics import nearest_rank
from headway.analyses.locks.row_parts import HolderSummary
from headway.analyses.locks.types import Distribution, Site, Waker

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

AT_ONCE = 512
"""Groups whose figures are taken out together."""


class RowFigures(NamedTuple):
    """The figures of one group. `representative` is the row of one of its objects, which stands for it in per-object facts.

    first_block to end_block are places among the blocks sorted by group. `rule` is a place in RULES, `main_holder` the thread
    that the object's waiters waited for most, -1 where none is known. `sites`, `wakers`: those that are told, and how many more.
    """

    group: int
    representative: int
    objects: int
    kind: int
    is_dead: bool
    is_object: bool
    blocker_id: int
    identity_hash: int
    first_stack: int
    first_thread: str
    class_name: str
    times_parked: int
    times_measured: int
    parked_now: int
    peak_parked: int
    thread_time_ns: int
    real_time_ns: int
    first_ns: int
    last_ns: int
    end_ns: int
    rule: int
    rule_share: float
    wait: Distribution | None
    true_hold: Distribution | None
    first_block: int
    end_block: int
    sites: tuple[tuple[Site, ...], int]
    wakers: tuple[tuple[Waker, ...], int]
    holders: HolderSummary
    main_holder: int
    lost_core_ns: float


def whole_ns(ns: float) -> int:
    """Return a sum of parts of ns as whole ns, halves to the even one, in whatever order it was summed up.

    Slices are read in stretches of time, and sums of floats differ by their order: 7.5 may be a little less, and be 7.
    """
    return round(round(ns, 3))


def figures_of(columns: Mapping[str, Iterable[Any]]) -> Iterator[RowFigures]:
    """Yield the figures of some groups in order. `columns`: by field name of RowFigures, one value per group."""
    lists = (columns[name] for name in RowFigures._fields)
    plain = (each.tolist() if isinstance(each, np.ndarray) else each for each in lists)
    return map(RowFigures._make, zip(*plain, strict=True))


@dataclass(frozen=True, eq=False)
class Distributions:
    """Of single times, per group: percentiles 50, 99 and 100, sums and counts; of holds also how many their owner told."""

    ranks: Ints
    total: Ints
    counts: Ints
    by_owner: Ints | None

    @classmethod
    def from_values(cls, group: Ints, value: Ints, groups: int, by_owner: Ints | None = None) -> Self:
        """Return those of some values, each of which belongs to a group."""
        total = np.zeros(groups, dtype=np.int64)
        np.add.at(total, group, value)
        ranks = nearest_rank(group, value, groups, (50, 99, 100))
        return cls(ranks, total, np.bincount(group, minlength=groups), by_owner)

    def of(self, groups: Ints) -> list[Distribution | None]:
        """Return some groups' distributions; None for groups without values."""
        owners = [None] * len(groups) if self.by_owner is None else self.by_owner[groups].tolist()
        rows = zip(
            self.counts[groups].tolist(), self.total[groups].tolist(), self.ranks[groups].tolist(), owners, strict=True
        )
        return [
            Distribution(count, total / count, p50, p99, most, _source(by_owner, count)) if count else None
            for count, total, (p50, p99, most), by_owner in rows
        ]


def _source(by_owner: int | None, count: int) -> str | None:
    """Say how holds were seen; None: these are no holds."""
    if by_owner is None:
        return None
    return "owner" if by_owner == count else "both" if by_owner else "waking"
