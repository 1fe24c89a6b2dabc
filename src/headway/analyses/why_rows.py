"""Which losses are one and the same, and how long was each of them there?

Question   which rows does a person see, and what do their bounds stand on?
Method     the sweep charges core time to (cause, object, thread). Rows of one object are one loss, at the thread that most of it
           was charged to; what has no object is told apart by the thread's name (sleeps and I/O but for the numbers in it).
           The largest get a place, evidence and a bound; the rest of a cause is one row without a place, so that the sums
           stay what they are. How long a loss was there is the union of the waits for its object, whether or not cores were
           idle.
Assumes    and errs as why_waits and why_bounds do.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.spans import Spans

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.why_waits import Waits

    Ints = NDArray[np.int64]

NAMED = 60
"""Losses that get a place of their own; no smaller than LEAST of the core time, but for the first FIRST of each cause."""
LEAST = 0.0005
FIRST = 1


@dataclass(frozen=True, slots=True)
class Row:
    """A loss: `cause` is a place in CAUSES. `key`, `thread`: -1 for none; `is_rest`: all that is left of the cause.

    `threads` are the threads that the loss was charged to, those with most of it first.
    """

    cause: int
    key: int
    thread: int
    core_ns: int
    is_rest: bool = False
    threads: tuple[int, ...] = ()


def rows_of(
    cause: Ints,
    key: Ints,
    thread: Ints,
    core_ns: NDArray[np.float64],
    total_ns: int,
    same: Callable[[int, int], Hashable] = lambda _, thread: thread,
) -> list[Row]:
    """Put what was charged together, largest first; the sum over all is that of core_ns, to the ns.

    `same`: what threads must have in common to be one for a cause (programs start threads of one name again and again).
    """
    groups: dict[tuple[int, int, Hashable], dict[int, float]] = {}
    columns = zip(cause.tolist(), key.tolist(), thread.tolist(), core_ns.tolist(), strict=True)
    for one_cause, one_key, one_thread, ns in columns:
        group = (one_cause, one_key, same(one_cause, one_thread) if one_key < 0 else -1)
        threads = groups.setdefault(group, {})
        threads[one_thread] = threads.get(one_thread, 0.0) + ns
    sums = sorted(((sum(each.values()), group, each) for group, each in groups.items()), key=lambda row: -row[0])
    named: list[tuple[float, Row]] = []
    rest: dict[int, float] = {}
    seen: dict[int, int] = {}
    for ns, (one_cause, one_key, _), threads in sums:
        is_first = seen.get(one_cause, 0) < FIRST
        if is_first or (ns >= LEAST * total_ns and len(named) < NAMED):
            seen[one_cause] = seen.get(one_cause, 0) + 1
            most = tuple(sorted(threads, key=lambda each: -threads[each]))
            named.append((ns, Row(one_cause, one_key, most[0], 0, threads=most)))
        else:
            rest[one_cause] = rest.get(one_cause, 0.0) + ns
    named += [(ns, Row(one_cause, -1, -1, 0, is_rest=True)) for one_cause, ns in rest.items()]
    return _whole(named)


def _whole(rows: Sequence[tuple[float, Row]]) -> list[Row]:
    """Round to whole ns so that the sum is rounded once; largest first, rows of nothing are left out."""
    ends = np.rint(np.cumsum([ns for ns, _ in rows])).astype(np.int64) if rows else np.zeros(0, np.int64)
    sizes = np.diff(ends, prepend=0).tolist()
    found = [dataclasses.replace(row, core_ns=ns) for ns, (_, row) in zip(sizes, rows, strict=True)]
    return sorted((row for row in found if row.core_ns > 0), key=lambda row: -row.core_ns)


@dataclass(frozen=True, slots=True)
class There:
    """The waits for an object: time with at least one; of those that would run if it came: their time, and most at once."""

    wall_ns: int
    thread_ns: int
    peak: int


def there(waits: Waits, keys: Sequence[int], window: tuple[int, int]) -> Mapping[int, There]:
    """Return for each of some objects how long threads waited for it within a window."""
    wanted = np.unique(np.array([key for key in keys if key >= 0], dtype=np.int64))
    if not len(wanted) or not len(waits):
        return {}
    mine = np.flatnonzero(np.isin(waits.key, wanted) & (waits.end > window[0]) & (waits.start < window[1]))
    mine = mine[np.argsort(waits.key[mine], kind="stable")]
    key, directed = waits.key[mine], waits.is_directed[mine]
    start, end = np.maximum(waits.start[mine], window[0]), np.minimum(waits.end[mine], window[1])
    first, last = np.searchsorted(key, wanted, "left").tolist(), np.searchsorted(key, wanted, "right").tolist()
    return {
        one: _there(start[a:b], end[a:b], directed[a:b]) for one, a, b in zip(wanted.tolist(), first, last, strict=True)
    }


def waited_for(waits: Waits, cause: int, window: tuple[int, int]) -> int:
    """Return how long at least one thread waited because of a cause (a place in CAUSES) within a window."""
    mine = waits.cause == cause
    return Spans.of(np.maximum(waits.start[mine], window[0]), np.minimum(waits.end[mine], window[1])).total


def _there(start: Ints, end: Ints, directed: NDArray[np.bool_]) -> There:
    wall = Spans.of(start, end).total
    start, end = start[directed], end[directed]
    time = np.concatenate([end, start])
    change = np.concatenate([-np.ones(len(end), np.int64), np.ones(len(start), np.int64)])
    peak = int(np.cumsum(change[np.argsort(time, kind="stable")]).max(initial=0))
    return There(wall, int((end - start).sum()), peak)
