"""Counts over time by kind of threads: how many events a second they counted together, in bins of equal length."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.course.over_time import all_known, edges_of, in_bins
from headway.analyses.counters.layout import layout
from headway.analyses.counters.parts.division import Division
from headway.analyses.counters.parts.slices import slices
from headway.analyses.counters.sums import Sums
from headway.model.kinds import COUNTED, Kind

if TYPE_CHECKING:
    from headway.store import Recording

BINS = 300


@dataclass(frozen=True, slots=True)
class KindRates:
    """Events a second of wall time that the threads of a kind counted in each bin.

    None: some of them ran in it, and no group with the event counted; 0 only where none of them ran, or nothing was counted.
    """

    kind: str
    event: str
    rates: tuple[float | None, ...]


def rates_of_kinds(recording: Recording, bins: int = BINS) -> tuple[tuple[int, ...], list[KindRates]]:
    """Return where bins begin and the last ends, ns from the start, and the rates of each kind that ran and each event.

    Where a group counted for a part of a bin its count is scaled to all of it. Raises HeadwayError HW109 for a recording without
    counters.
    """
    there = layout(recording)
    begin, end = recording.window_ns
    division = Division(recording, "thread", begin, end)
    kind_of = np.full(division.threads, -1, np.int64)
    for thread, key in enumerate(division.keys):
        kind = str(key["kind"])
        if kind and kind != Kind.HEADWAY.value:
            kind_of[thread] = COUNTED.index(Kind(kind).counted_as.value)
    length = max(1, end - begin)
    bins = min(bins, length)
    sums = Sums(len(COUNTED), bins, there)
    for each in slices(recording, there, begin, end):
        part, inside_ns, number = in_bins(all_known(each), begin, length, bins)
        sums.add(part, kind_of[part.thread_id], inside_ns, number)
    cells, edges = sums.cells(), edges_of(length, bins)
    places = [cells.counters(row, there) for row in range(len(COUNTED))]
    found = []
    for event in dict.fromkeys(there.events):
        for row, kind in enumerate(COUNTED):
            if not sums.cpu_ns[row]:
                continue
            place = places[row][event]
            rates: list[float | None] = [0.0] * bins
            for one, count, did, could in zip(*cells.scaled(row, place, there.group_of[place]), strict=True):
                length_ns = int(edges[one + 1] - edges[one])
                rates[one] = count * could / did / length_ns * 1e9 if did > 0 else None
            found.append(KindRates(kind, event, tuple(rates)))
    return tuple(edges.tolist()), found
