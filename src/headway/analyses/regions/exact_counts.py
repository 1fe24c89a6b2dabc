"""Cycles and instructions of a region, exactly: what its threads' running slices counted, where a recording has counters.

Question   cycles, instructions and cache misses of the threads of a region in its instances, each with bounds; of all threads,
           and of the thread that is busiest in each instance.
Method     sums of the counts of slices (counters.sums), scaled where groups took turns (counters.estimate). Cycles and
           instructions come from one group, which counted both in the same time.
           A slice that reaches over the border of an instance has its counts divided by time; what any processor does at most
           (counters.uncounted.ceiling) bounds its parts, so that a border in a long slice costs little, and running time that
           nobody counted.
Assumes    instances lie where regions.instances has them: the bounds are those of counting, not of a border found by samples.
Withheld   where the bounds are further than MOST_DOUBT from the count: then neither of both is known, and CPU time stands for
           both.
Checked    tests/property/test_exact_counts.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.intervals import Measure, Spans
from headway.analyses.counters.estimate import BLOCKS
from headway.analyses.counters.layout import Layout, layout
from headway.analyses.counters.parts.slices import Slices, slices
from headway.analyses.counters.rows import Columns
from headway.analyses.counters.sums import Sums, blocks_of
from headway.analyses.counters.types import Figure, Row
from headway.errors import HeadwayError
from headway.model.counter_ladder import NONE, plain_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

FIELDS: Mapping[str, str] = {"cycles": "cycles", "instructions": "instructions", "cache-misses": "cache_misses"}
"""Events, and what the primitives of a region call them."""
PAIR = ("cycles", "instructions")
MOST_DOUBT = 0.1
"""A count that may be so much of itself more or less does not tell more instructions from slower ones."""
_ALL, _BUSIEST = 0, 1


def step_of(recording: Recording) -> str:
    """Return the step of the ladder of counters that a recording stands on: NONE without any."""
    try:
        return layout(recording).step
    except HeadwayError:  # HW109: nothing was counted
        return NONE


def load_counts(recording: Recording, threads: Sequence[int]) -> ExactCounts | None:
    """Return the counts of some threads' slices; None for a recording that did not count cycles and instructions together."""
    try:
        there = layout(recording)
    except HeadwayError:  # HW109: nothing was counted
        return None
    places = _places(there)
    if places is None:
        return None
    begin, end = recording.window_ns
    groups = sorted({there.group_of[place] for place in places})
    kept = tuple(
        replace(there.groups[group], events=tuple(_name(there, p) for p in places if there.group_of[p] == group))
        for group in groups
    )
    order = [place for group in groups for place in places if there.group_of[place] == group]
    batches = [each.of(order, groups) for each in slices(recording, there, begin, end, [*threads])]
    return ExactCounts(Layout(there.step, kept, ()), batches, begin, end) if batches else None


def _name(there: Layout, place: int) -> str:
    return plain_name(there.events[place])


def _places(there: Layout) -> list[int] | None:
    """Return the counters of PAIR in the group that counted longest, and of other FIELDS; events of one side do not count."""
    found: list[int] | None = None
    longest = -1
    for group, counted in enumerate(there.groups):
        first = there.group_of.index(group)
        place_of = {plain_name(event): first + n for n, event in enumerate(counted.events) if _is_whole(event)}
        if {*PAIR} <= {*place_of} and counted.running_ns > longest:
            found, longest = [place_of[event] for event in PAIR], counted.running_ns
    if found is None:
        return None
    for place, event in enumerate(there.events):
        name = plain_name(event)
        if name in FIELDS and _is_whole(event) and name not in {_name(there, each) for each in found}:
            found.append(place)
    return found


def _is_whole(event: str) -> bool:
    """Return whether an event is counted in user space and in the kernel alike, as CPU time is."""
    return not event.endswith((":u", ":k"))


@dataclass(frozen=True, slots=True)
class RegionCounts:
    """What counters tell of a region's primitives, by field; `withheld`: why cycles and instructions are not known."""

    numbers: Mapping[str, int | None]
    withheld: str = ""


class ExactCounts:
    """The slices of a program's threads with their counts, to be added up inside the instances of regions."""

    def __init__(self, there: Layout, batches: Sequence[Slices], begin_ns: int, end_ns: int) -> None:
        """Keep slices of a window, CLOCK_MONOTONIC ns, whose counts are those of `layout`."""
        self._layout = there
        self._begin_ns, self._length = begin_ns, max(1, end_ns - begin_ns)
        every = _joined(batches)
        order = np.argsort(every.thread_id, kind="stable")
        self._slices = every.at(order)
        self._start = self._slices.start_ns - begin_ns

    def of(self, spans: Spans, threads: Sequence[int], busiest: Ints) -> RegionCounts:
        """Return what `threads` counted in the instances `spans`; `busiest`: the thread that is busiest in each, -1 for none."""
        return _counted(*self.rows(spans, threads, busiest))

    def rows(self, spans: Spans, threads: Sequence[int], busiest: Ints) -> tuple[Row, Row]:
        """Return the same as figures with their bounds: of all threads, and of the busiest ones."""
        sums = Sums(2, BLOCKS if self._layout.is_multiplexed else 1, self._layout)
        every = self._slices.thread_id
        self._add(sums, np.flatnonzero(np.isin(every, np.array([*threads], np.int64))), spans, _ALL)
        for thread in np.unique(busiest[busiest >= 0]).tolist():
            at = busiest == thread
            rows = np.arange(*np.searchsorted(every, [thread, thread + 1]).tolist())
            self._add(sums, rows, Spans(spans.start[at], spans.end[at]), _BUSIEST)
        columns = Columns(sums.with_ceiling(), self._layout, None, np.zeros(2))
        return columns.row(_ALL, {}), columns.row(_BUSIEST, {})

    def _add(self, sums: Sums, rows: Ints, spans: Spans, key: int) -> None:
        """Add the parts of some slices inside of some spans."""
        each, measure, start = self._slices.at(rows), Measure.length(spans), self._start[rows]
        inside = measure.until(start + each.running_ns) - measure.until(start)
        blocks = BLOCKS if self._layout.is_multiplexed else 1
        block = blocks_of(each, self._begin_ns, self._begin_ns + self._length, blocks)
        sums.add(each, np.full(len(rows), key, np.int64), inside, block)


def _joined(batches: Sequence[Slices]) -> Slices:
    names = [each.name for each in fields(Slices) if getattr(batches[0], each.name) is not None]
    return Slices(**{name: np.concatenate([getattr(each, name) for each in batches]) for name in names})


def _counted(every: Row, busiest: Row) -> RegionCounts:
    """Return the numbers of a region; where one of PAIR is not known well enough, of neither."""
    numbers: dict[str, int | None] = {}
    reasons = {event: _doubt(every, event) for event in every.counts}
    withheld = next((reasons[event] for event in PAIR if reasons[event]), "")
    for event, figure in every.counts.items():
        field, is_pair = FIELDS[event], event in PAIR
        is_known = not (withheld if is_pair else reasons[event])
        numbers[field] = _number(figure) if is_known else None
        if is_pair:
            of_busiest = is_known and not _doubt(busiest, event)
            numbers[f"busiest_{field}"] = _number(busiest.counts[event]) if of_busiest else None
            numbers[f"spin_{field}"] = None
            numbers[f"{field}_low"] = math.floor(figure.low) if is_known and figure.low is not None else None
            numbers[f"{field}_high"] = math.ceil(figure.high) if is_known and figure.high is not None else None
    return RegionCounts(numbers, withheld)


def _number(figure: Figure) -> int | None:
    return None if figure.value is None else round(figure.value)


def _doubt(row: Row, event: str) -> str:
    """Return why a count is not known well enough; empty where it is."""
    figure = row.counts[event]
    if figure.value is None:
        return figure.withheld
    low, high = figure.low, figure.high
    away = max(figure.value - low if low is not None else 0.0, high - figure.value if high is not None else 0.0)
    if away <= MOST_DOUBT * figure.value:
        return ""
    if row.counted_ns < row.cpu_ns:
        return f"of {(row.cpu_ns - row.counted_ns) / row.cpu_ns:.1%} of the running time the counts are not known"
    return f"{event} may be {away / figure.value:.0%} more or less" if figure.value else f"no {event} are certain"
