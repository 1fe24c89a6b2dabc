"""Rows of the answer: sums of counts become figures, metrics, and how unevenly the program's threads have them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters import estimate, metrics
from headway.analyses.counters.layout import Layout
from headway.analyses.counters.metrics import Metric
from headway.analyses.counters.sums import Sums
from headway.analyses.counters.types import Figure, Imbalance, Row
from headway.model.counter_ladder import plain_name

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_MOST_LEFT_OUT = 0.01
"""So much of the program's running time may be of threads without counts, when the answer says how evenly threads count."""


@dataclass(frozen=True, slots=True)
class _Formula:
    """A metric, and where a group has its events: counters by the names that the metric has for them."""

    metric: Metric
    places: Mapping[str, int]


class Columns:
    """Sums by key, in columns of plain numbers, from which `row` makes the figures of one key."""

    def __init__(self, sums: Sums, layout: Layout, of_set: str | None, unassigned_ns: Floats) -> None:
        """Prepare figures of a layout's events, and those of its metrics that are of a set; None: of all.

        `unassigned_ns`: for how long threads whose slices are not known may have run for each key.
        """
        cells = sums.cells()
        self._layout = layout
        self._cpu_ns, self._unknown_ns = sums.cpu_ns.tolist(), sums.unknown_ns.tolist()
        self._stolen_ns, self._has_ceiling = sums.stolen_ns.T.tolist(), sums.has_ceiling
        self._lost_ns = sums.lost_ns
        self._unassigned_ns = unassigned_ns.tolist()
        self._low, self._high, self._seen = sums.low.T.tolist(), sums.high.T.tolist(), cells.seen.T.tolist()
        self._could_ns, self._did_ns = cells.could_ns.tolist(), cells.did_ns.T.tolist()
        spread = [cells.spread(place, group) for place, group in enumerate(layout.group_of)]
        self._blocks = [blocks.tolist() for blocks, _ in spread]
        self._squares = [squares.tolist() for _, squares in spread]
        self._formulas = list(_formulas(layout, of_set))

    def row(self, number: int, key: Mapping[str, str | int]) -> Row:
        """Return the row of a key."""
        figures = [self._figure(place, group, number) for place, group in enumerate(self._layout.group_of)]
        counts: dict[str, Figure] = {}
        longest: dict[str, float] = {}
        for event, group, figure in zip(self._layout.events, self._layout.group_of, figures, strict=True):
            did_ns = self._did_ns[group][number]
            if event not in counts or did_ns > longest[event]:
                counts[event], longest[event] = figure, did_ns
        ratios: dict[str, Figure] = {}
        for formula in self._formulas:
            if formula.metric.name not in ratios:
                seen = {name: self._seen[place][number] for name, place in formula.places.items()}
                of = {name: figures[place] for name, place in formula.places.items()}
                ratios[formula.metric.name] = estimate.ratio(formula.metric, seen, of)
        # What ran without some of the groups is counted: by the others.
        stolen_ns = min(each[number] for each in self._stolen_ns)
        ran, unknown = round(self._cpu_ns[number]), round(self._unknown_ns[number] + stolen_ns)
        return Row(key, ran, ran - unknown, counts, ratios, round(self._unassigned_ns[number]))

    def _figure(self, place: int, group: int, number: int) -> Figure:
        stolen_ns = self._stolen_ns[group][number]
        lacks_ns = 0.0 if self._has_ceiling else self._unknown_ns[number] + stolen_ns + self._lost_ns
        of = estimate.Counted(
            self._seen[place][number],
            self._could_ns[number] - stolen_ns,
            self._did_ns[group][number],
            self._blocks[place][number],
            self._squares[place][number],
            self._low[place][number],
            self._high[place][number],
            lacks_ns + self._unassigned_ns[number],
        )
        return estimate.count(of)


def _formulas(layout: Layout, of_set: str | None) -> Iterator[_Formula]:
    places = iter(range(len(layout.events)))
    for group in layout.groups:
        place_of = {plain_name(event): next(places) for event in group.events}
        for metric in metrics.metrics_of(group.events, of_set):
            yield _Formula(metric, {name: place_of[name] for name in metric.events})


def imbalances(sums: Sums, is_app: NDArray[np.bool_], layout: Layout) -> dict[str, Imbalance]:
    """Return equation 6.1 for each event over the program's threads that ran; main and short helpers count as well.

    `sums`: by thread. A thread whose counts are not known is no thread that counted nothing: it is left out, which is said.
    """
    cells = sums.cells()
    found: dict[str, Imbalance] = {}
    ran = is_app & (sums.cpu_ns > 0)
    threads, group_of = np.arange(len(ran)), np.array(layout.group_of)
    for event in dict.fromkeys(layout.events):
        places = np.array([place for place, name in enumerate(layout.events) if name == event])
        # Of each thread the group that counted longest, as in its row.
        place = places[np.argmax(cells.did_ns[:, group_of[places]], axis=1)]
        did, seen = cells.did_ns[threads, group_of[place]], cells.seen[threads, place]
        known = ran & (did > 0)
        stolen = sums.stolen_ns[threads, group_of[place]]
        could = cells.could_ns - stolen
        values = seen[known] * could[known] / did[known]
        value = metrics.imbalance(values.tolist())
        if value is None and not (ran & ~known).any():
            continue
        left_out = ran & ~known
        lacks_ns = sums.cpu_ns[left_out].sum() + (sums.unknown_ns + stolen)[known].sum()
        share = float(lacks_ns / sums.cpu_ns[ran].sum())
        is_whole = not lacks_ns and not sums.lost_ns and bool(np.all(did[known] >= could[known]))
        is_cut = any(bounds[threads, place][known].any() for bounds in (sums.low, sums.high))
        is_exact = is_whole and not is_cut
        found[event] = Imbalance(_uneven(value, share, is_exact), int(known.sum()), int(left_out.sum()))
    return found


def _uneven(value: float | None, unknown: float, is_exact: bool) -> Figure:
    if value is None or unknown > _MOST_LEFT_OUT:
        return Figure(
            None, None, None, f"of {unknown:.1%} of the running time of the program's threads counts are not known"
        )
    return Figure(value, value, value) if is_exact else Figure(value, None, None)
