"""Counts over time: how many events a second of its running time each thread counted, in bins of equal length."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.layout import layout
from headway.analyses.counters.parts.division import Division
from headway.analyses.counters.parts.slices import Slices, slices
from headway.analyses.counters.sums import Sums

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

BINS = 1000
_MOST_CELLS = 400_000
_LEAST_BINS = 20
THREADS = 200
"""So many threads are shown at most: those that ran longest."""
_LONGEST_RUNNING = """
    SELECT s.thread_id FROM slice s JOIN thread t USING (thread_id)
    WHERE t.kind <> 'headway' AND s.running_ns > 0 AND s.start_ns < {end} AND s.start_ns + s.running_ns > {begin}
    GROUP BY s.thread_id
    ORDER BY sum(least(s.start_ns + s.running_ns, {end}) - greatest(s.start_ns, {begin})) DESC, s.thread_id LIMIT {most}
"""


@dataclass(frozen=True, slots=True)
class ThreadRates:
    """Events of one group a second of running time of one thread. Times are ns from the recording's start.

    `points`: of each event when its rate changes, and the rate from then on; 0 only where the thread did not run. `unknown_ns`:
    from when until when it ran, and nothing is known of what it counted. Over that time the rate is the last that is known;
    before the first that is known there is no point.
    """

    key: Mapping[str, str | int]
    points: Mapping[str, tuple[tuple[int, float], ...]]
    unknown_ns: tuple[tuple[int, int], ...]


def rates(recording: Recording) -> Iterator[ThreadRates]:
    """Yield the rates of each group, thread by thread. Raises HeadwayError HW109 for a recording without counters."""
    there = layout(recording)
    begin, end = recording.window_ns
    division = Division(recording, "thread", begin, end)
    query = _LONGEST_RUNNING.format(begin=begin, end=end, most=THREADS)
    threads = np.array(recording.query(query).fetchall(), np.int64).reshape(-1)
    if not len(threads):
        return
    bins = max(_LEAST_BINS, min(BINS, _MOST_CELLS // (len(threads) * len(there.events))))
    place_of = np.full(division.threads, -1, np.int64)
    place_of[threads] = np.arange(len(threads))
    sums = Sums(len(threads), bins, there)
    length = max(1, end - begin)
    for each in slices(recording, there, begin, end, threads.tolist()):
        part, inside_ns, number = in_bins(all_known(each), begin, length, bins)
        sums.add(part, place_of[part.thread_id], inside_ns, number)
    cells = sums.cells()
    edges = edges_of(length, bins)
    for thread, thread_id in enumerate(threads.tolist()):
        places = cells.counters(thread, there)
        for group in range(len(there.groups)):
            number, _, did_ns = cells.of(thread, there.group_of.index(group), group)
            points = {
                event: _points(number, cells.of(thread, place, group)[1], did_ns, edges)
                for event, place in places.items()
                if there.group_of[place] == group
            }
            if points:
                yield ThreadRates(division.keys[thread_id], points, _unknown(number, did_ns, edges))


def all_known(each: Slices) -> Slices:
    """Return slices with those whose counts are unknown as ones that no group counted in: their running time has no rate."""
    known = each.is_known[:, None]
    uncounted = np.where(known, each.uncounted, each.running_ns[:, None])
    return dataclasses.replace(
        each, counts=np.where(known, each.counts, 0), uncounted=uncounted, is_known=np.ones(len(known), bool)
    )


def in_bins(each: Slices, begin_ns: int, length: int, bins: int) -> tuple[Slices, Ints, Ints]:
    """Return slices once for each bin that they reach into, with how much of each lies in it, ns, and which it is."""
    start = np.clip(each.start_ns - begin_ns, 0, length)
    end = np.clip(each.start_ns + each.running_ns - begin_ns, 0, length)
    edges = edges_of(length, bins)
    first = np.searchsorted(edges, start, "right") - 1
    last = np.maximum(np.searchsorted(edges, end, "left") - 1, first)
    many = last - first + 1
    place = np.repeat(np.arange(len(many)), many)
    number = np.minimum(first[place] + np.arange(len(place)) - np.repeat(np.cumsum(many) - many, many), bins - 1)
    inside = np.minimum(end[place], edges[number + 1]) - np.maximum(start[place], edges[number])
    return each.at(place), inside, number


def edges_of(length: int, bins: int) -> Ints:
    """Return where each bin begins, and the last ends, ns."""
    edges: Ints = np.arange(bins + 1, dtype=np.int64) * length // bins
    return edges


def _points(number: Ints, counts: Floats, did: Floats, edges: Ints) -> tuple[tuple[int, float], ...]:
    """Return when a thread's rate changes, and to what; of the bins that it ran in their numbers, counts, and time counted.

    Whoever draws them keeps each value until the next: where the thread runs on unknown after a gap, the 0 of the gap must end.
    """
    points: dict[int, float] = {}
    known: float | None = None
    is_dark = False  # it has run, and no rate is known yet
    after = 0
    for at, count, did_ns in zip(number.tolist(), counts.tolist(), did.tolist(), strict=True):
        if at > after and not is_dark:
            points[int(edges[after])] = 0.0
        if did_ns > 0:
            known, is_dark = count / did_ns * 1e9, False
            points[int(edges[at])] = known
        elif known is None:
            is_dark = True
            points.clear()
        elif at > after:
            points[int(edges[at])] = known
        after = at + 1
    if known is None:
        return ()
    if after < len(edges) - 1:
        points[int(edges[after])] = 0.0
    return tuple(points.items())


def _unknown(number: Ints, did: Floats, edges: Ints) -> tuple[tuple[int, int], ...]:
    """Return the spans of bins that a thread ran in without any of its counts."""
    dark = number[did <= 0]
    if not len(dark):
        return ()
    is_first = np.concatenate(([True], np.diff(dark) > 1))
    first, last = dark[is_first], dark[np.append(is_first[1:], True)]
    return tuple(zip(edges[first].tolist(), edges[last + 1].tolist(), strict=True))
