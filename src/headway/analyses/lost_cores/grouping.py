"""Merges losses of the same cause and place into rows, and measures for how long each was present.

Question   which rows does a person see, and what do their bounds stand on?
Method     the sweep charges core time to (cause, object, thread). Rows of one object are one loss, at the thread that most of it
           was charged to; what has no object is told apart by the thread's name. Threads of a pool, whose names differ in
           numbers only, are one row, but for a straggler: one with as much of it as all the others together stands by itself.
           The largest get a place, evidence and a bound; the rest of a cause is one row without a place, so that the sums
           stay what they are. What was waited for long has a row however little it lost: where other processes have the
           cores, next to nothing is lost to a lock, or a file, that holds all up. How long a loss was there is the union of the
           waits for its object, whether or not cores were idle.
Assumes    and errs as waits.pieces and gains.bounds do.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import CARRIERS
from headway.analyses.common.columns import numbered, numbered_pairs
from headway.analyses.common.intervals import Spans
from headway.analyses.lost_cores.gains.bounds import WaitSummary
from headway.analyses.waits.wait_causes import CODE

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Hashable, Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.waits.pieces import Waits

    Ints = NDArray[np.int64]

NAMED = 60
"""Losses that get a place of their own; no smaller than LEAST of the core time, but for the first FIRST of each cause."""
LEAST = 0.0005
FIRST = 1
LONG = 0.1
"""What threads waited for so much of the time, all of them added up, may be worth something however little core time it lost;"""
MOST_LONG = 8
"""the first of these have rows of their own."""


@dataclass(frozen=True, slots=True)
class LossRow:
    """One loss: `cause` indexes CAUSES. `key`, `thread`: -1 for none; `is_rest`: the remainder of the cause.

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
    pool: Callable[[int, int], Hashable] | None = None,
    named_anyway: Collection[tuple[int, int]] = (),
    long_calls: Collection[tuple[int, Hashable]] = (),
) -> list[LossRow]:
    """Put what was charged together, largest first; the sum over all is that of core_ns, to the ns.

    `named_anyway`: causes and objects that have a row of their own however little was charged to them, be it nothing;
    `long_calls`: causes without an object, and what their threads have in common by `same`, that have one if anything was.
    `same`: what threads must have in common to be one for a cause (programs start threads of one name again and again);
    `pool`: what they must have in common to do the same kind of work.
    """
    groups: dict[tuple[int, int, Hashable], dict[int, float]] = {}
    columns = zip(cause.tolist(), key.tolist(), thread.tolist(), core_ns.tolist(), strict=True)
    for one_cause, one_key, one_thread, ns in columns:
        group = (one_cause, one_key, same(one_cause, one_thread) if one_key < 0 else -1)
        threads = groups.setdefault(group, {})
        threads[one_thread] = threads.get(one_thread, 0.0) + ns
    for one_cause, one_key in named_anyway:
        groups.setdefault((one_cause, one_key, same(one_cause, -1) if one_key < 0 else -1), {-1: 0.0})
    if pool is not None:
        groups = _pooled(groups, pool)
    sums = sorted(((sum(each.values()), group, each) for group, each in groups.items()), key=lambda row: -row[0])
    named: list[tuple[float, LossRow]] = []
    rest: dict[int, float] = {}
    seen: dict[int, int] = {}
    for ns, (one_cause, one_key, who), threads in sums:
        is_first = seen.get(one_cause, 0) < FIRST
        is_long = (one_cause, one_key) in named_anyway or (one_key < 0 and (one_cause, who) in long_calls)
        if is_first or is_long or (ns >= LEAST * total_ns and len(named) < NAMED):
            seen[one_cause] = seen.get(one_cause, 0) + 1
            most = tuple(sorted(threads, key=lambda each: -threads[each]))
            named.append((ns, LossRow(one_cause, one_key, most[0], 0, threads=most)))
        else:
            rest[one_cause] = rest.get(one_cause, 0.0) + ns
    named += [(ns, LossRow(one_cause, -1, -1, 0, is_rest=True)) for one_cause, ns in rest.items()]
    return _whole(named, named_anyway)


_Group = tuple[int, int, "Hashable"]
_Groups = dict[_Group, dict[int, float]]


def _pooled(groups: _Groups, pool: Callable[[int, int], Hashable]) -> _Groups:
    """Put the threads of each pool together, but for one that lost as much as all others of it."""
    alike: dict[_Group, list[_Group]] = {}
    for group, threads in groups.items():
        cause, key, _ = group
        alike.setdefault((cause, key, ("pool", pool(cause, next(iter(threads)))) if key < 0 else -1), []).append(group)
    found: _Groups = {}
    for together, members in alike.items():
        size = {group: sum(groups[group].values()) for group in members}
        first = max(members, key=lambda group: size[group])
        is_straggler = 2 * size[first] >= sum(size.values())
        if is_straggler:
            found[first] = groups[first]
        for group in members:
            if is_straggler and group == first:
                continue
            threads = found.setdefault(together, {})
            for thread, ns in groups[group].items():
                threads[thread] = threads.get(thread, 0.0) + ns
    return found


def _whole(rows: Sequence[tuple[float, LossRow]], anyway: Collection[tuple[int, int]]) -> list[LossRow]:
    """Round to whole ns so that the sum is rounded once; largest first, rows of nothing are left out, but for some."""
    ends = np.rint(np.cumsum([ns for ns, _ in rows])).astype(np.int64) if rows else np.zeros(0, np.int64)
    sizes = np.diff(ends, prepend=0).tolist()
    found = [dataclasses.replace(row, core_ns=ns) for ns, (_, row) in zip(sizes, rows, strict=True)]
    return sorted(
        (row for row in found if row.core_ns > 0 or (row.cause, row.key) in anyway), key=lambda row: -row.core_ns
    )


def wait_totals_of(waits: Waits, keys: Sequence[int], window: tuple[int, int]) -> Mapping[int, WaitSummary]:
    """Return how long threads waited for each of some objects within a window."""
    wanted = np.unique(np.array([key for key in keys if key >= 0], dtype=np.int64))
    if not len(wanted) or not len(waits):
        return {}
    within = np.flatnonzero(np.isin(waits.key, wanted) & (waits.end > window[0]) & (waits.start < window[1]))
    within = within[np.argsort(waits.key[within], kind="stable")]
    key, directed = waits.key[within], waits.is_directed[within]
    start, end = np.maximum(waits.start[within], window[0]), np.minimum(waits.end[within], window[1])
    first, last = np.searchsorted(key, wanted, "left").tolist(), np.searchsorted(key, wanted, "right").tolist()
    return {
        one: _summary_of_waits(start[a:b], end[a:b], directed[a:b])
        for one, a, b in zip(wanted.tolist(), first, last, strict=True)
    }


def waited_long_for(waits: Waits, chosen: Collection[int], window: tuple[int, int]) -> frozenset[tuple[int, int]]:
    """Return those causes (of some) and objects that threads of a program waited for longest, if for long: at most MOST_LONG.

    On a machine that others keep busy no core is idle meanwhile, and hardly any core time is lost to them.
    """
    inside = (waits.end > window[0]) & (waits.start < window[1])
    has_row = (waits.key >= 0) | (waits.cause == CODE[CARRIERS])
    rows = np.flatnonzero(has_row & np.isin(waits.cause, list(chosen)) & waits.is_directed & inside)
    if not len(rows):
        return frozenset()
    causes, keys, at = numbered_pairs(waits.cause[rows].astype(np.int64), waits.key[rows].astype(np.int64) + 1)
    keys = keys - 1
    length = np.minimum(waits.end[rows], window[1]) - np.maximum(waits.start[rows], window[0])
    total = np.bincount(at, weights=length)
    longest = [one for one in np.argsort(-total)[:MOST_LONG].tolist() if total[one] >= LONG * (window[1] - window[0])]
    return frozenset((int(causes[one]), int(keys[one])) for one in longest)


def long_calls_of(
    calls: Mapping[int, tuple[Ints, Ints, Ints]], same: Callable[[int, int], Hashable], window: tuple[int, int]
) -> frozenset[tuple[int, Hashable]]:
    """Return which threads slept or did I/O for long, all of those together that are one by `same`: at most MOST_LONG of them.

    `calls`: by cause (an index into CAUSES) the thread, start and end of each sleep or I/O that only the kernel tells of.
    """
    total: dict[tuple[int, Hashable], float] = {}
    for cause, (thread, start, end) in calls.items():
        length = np.maximum(np.minimum(end, window[1]) - np.maximum(start, window[0]), 0)
        threads, at = numbered(thread)
        for one, ns in zip(threads.tolist(), np.bincount(at, weights=length).tolist(), strict=True):
            group = cause, same(cause, one)
            total[group] = total.get(group, 0.0) + ns
    longest = sorted(total, key=lambda each: -total[each])[:MOST_LONG]
    return frozenset(each for each in longest if total[each] >= LONG * (window[1] - window[0]))


def waited_for(waits: Waits, cause: int, window: tuple[int, int]) -> int:
    """Return how long at least one thread waited for a cause (an index into CAUSES) within a window."""
    of_cause = waits.cause == cause
    return Spans.of(np.maximum(waits.start[of_cause], window[0]), np.minimum(waits.end[of_cause], window[1])).total


def _summary_of_waits(start: Ints, end: Ints, directed: NDArray[np.bool_]) -> WaitSummary:
    wall, first = Spans.of(start, end).total, int(start.min())
    start, end = start[directed], end[directed]
    time = np.concatenate([end, start])
    change = np.concatenate([-np.ones(len(end), np.int64), np.ones(len(start), np.int64)])
    peak = int(np.cumsum(change[np.argsort(time, kind="stable")]).max(initial=0))
    return WaitSummary(wall, first, int((end - start).sum()), peak)
