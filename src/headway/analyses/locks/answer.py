"""Result type of `locks`: every lock of a recording, as rows built on demand. Times are ns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from headway.analyses.locks.lazy_rows import LazyRows
from headway.analyses.locks.types import Deadlock, Lock
from headway.errors import Notice


@dataclass(frozen=True, slots=True)
class Locks:
    """Every lock of a recording or window, in the requested order; `hidden` rows are below min_parks or the limit.

    A row is made when it is looked at: there may be a million. `contended` are the rows of contention, `idle` the others, both
    in the order of `rows`; for `waited_for` of the contended somebody waited longer than an instant, for `waited_for_ns` in all.
    `contended_ns` and `idle_ns` are the time waited in contention and in idle waiting, over all objects.
    """

    by: str
    wall_ns: int
    window_ns: tuple[int, int]
    mode: str
    rows: LazyRows
    contended: Sequence[Lock]
    idle: Sequence[Lock]
    waited_for: int
    waited_for_ns: int
    hidden: int
    contended_ns: int
    idle_ns: int
    deadlocks: tuple[Deadlock, ...]
    notices: tuple[Notice, ...]
