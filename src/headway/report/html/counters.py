"""What counters counted, for the page: threads with their figures, and events over time by kind of threads."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from headway.analyses.common.units import percent
from headway.analyses.counters.analysis import counters
from headway.analyses.counters.course.kinds_over_time import rates_of_kinds
from headway.analyses.counters.totals.socket_units import amount, socket_units
from headway.analyses.counters.totals.thread_totals import has_thread_totals, thread_totals
from headway.analyses.counters.totals.whole_cpus import only_whole_cpus
from headway.errors import HeadwayError
from headway.model.counter_ladder import STEPS
from headway.report.analysis import View
from headway.report.html.flame_pack import json_bytes, visible
from headway.report.html.text import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.counters.types import CountedGroup, Counters, Figure, Row, UnitCounts
    from headway.store import Recording

COUNTERS_BYTES = 250_000
MAX_ROWS, MAX_REASONS, MAX_UNITS = 200, 8, 64
_NO_RATES: Mapping[str, Any] = {"start_ns": [], "dur_ns": [], "rates": []}
_BINS = (300, 100, 20)
"""Over time, at most: the first number with which everything fits."""
NAME_CHARS, REASON_CHARS = 80, 300


def counters_view(recording: Recording) -> View:
    """Return the view's values; neither values nor a reason of a recording for which no counters were asked."""
    sockets = socket_units(recording)
    if "counters" not in recording.manifest.extra:
        alone = only_whole_cpus(recording, None, "cpu", None) if sockets else None
        values = {**_values(alone, 0), **_NO_RATES, **_units(sockets, alone)} if alone is not None else None
        return View("counters", values, None)
    is_by_time = not has_thread_totals(recording)
    try:
        found = counters(recording) if is_by_time else thread_totals(recording)
    except HeadwayError as error:  # HW109: nothing was counted
        return View("counters", None, error.notice.message)
    values = {}
    rows = MAX_ROWS
    for bins in _BINS:
        rates = _rates(recording, bins) if is_by_time else _NO_RATES
        while True:
            values = {**_values(found, rows), **rates, **_units(sockets, found)}
            if json_bytes(values) <= COUNTERS_BYTES or rows <= MAX_ROWS // 16:
                break
            rows //= 2
        if json_bytes(values) <= COUNTERS_BYTES:
            break
    return View("counters", values, None, found.notices)


def _values(found: Counters, rows: int) -> dict[str, Any]:
    events, metrics = list(found.total.counts), list(found.total.metrics)
    figures = [each for row in found.rows for each in (*row.counts.values(), *row.metrics.values())]
    reasons = list(dict.fromkeys(each.withheld for each in figures if each.withheld))
    return {
        "step": found.step,
        "tells": STEPS[found.step],
        "events": [_text(event) for event in events],
        "metrics": [_text(metric) for metric in metrics],
        "rows": [_row(row, events, metrics) for row in found.rows[:rows]],
        "left_out": len(found.rows[rows:]),
        "withheld": [cut(visible(reason), REASON_CHARS) for reason in reasons[:MAX_REASONS]],
        "in_turn": [_in_turn(group) for group in found.groups if group.is_multiplexed],
    }


def _units(sockets: Sequence[UnitCounts], found: Counters) -> dict[str, Any]:
    """Return what units of whole sockets counted, and all that is absent, of theirs and of the rest."""
    units = [
        {
            "event": _text(event),
            "cpu": int(row.key["cpu"]),
            "socket": None if row.key["socket"] == -1 else int(row.key["socket"]),
            "of": _text(of),
            "counted": _figure(amount(figure, scale)),
        }
        for unit in sockets
        for row in (unit.counted.rows if unit.counted is not None else ())
        for event, figure in row.counts.items()
        for scale, of in [unit.scales.get(event, (1.0, ""))]
    ]
    absent = [*found.absent, *(each for unit in sockets for each in unit.absent)]
    return {
        "units": units[:MAX_UNITS],
        "absent": [{"event": _text(event), "reason": cut(visible(why), REASON_CHARS)} for event, why in absent],
    }


def _row(row: Row, events: list[str], metrics: list[str]) -> dict[str, Any]:
    key = row.key
    return {
        "name": _text(str(key["name"])),
        "kind": str(key["kind"]),
        "tid": int(key["tid"]),
        "pid": int(key["pid"]),
        "running_ns": row.cpu_ns,
        "counts": _figures(row.counts, events),
        "metrics": _figures(row.metrics, metrics),
    }


def _figures(of: Mapping[str, Figure], names: list[str]) -> list[dict[str, float | None]]:
    return [_figure(of[name]) for name in names]


def _figure(figure: Figure) -> dict[str, float | None]:
    return {"value": figure.value, "low": figure.low, "high": figure.high}


def _in_turn(group: CountedGroup) -> str:
    share = percent(group.running_ns / group.enabled_ns) if group.enabled_ns else percent(0)
    return cut(visible(f"{', '.join(group.events)}: {share} of the time"), REASON_CHARS)


def _rates(recording: Recording, bins: int) -> dict[str, Any]:
    edges, found = rates_of_kinds(recording, bins)
    rates = [
        {
            "kind": each.kind,
            "event": _text(each.event),
            "rates": [None if rate is None else float(f"{rate:.4g}") for rate in each.rates],
        }
        for each in found
    ]
    return {
        "start_ns": list(edges[:-1]),
        "dur_ns": [end - start for start, end in pairwise(edges)],
        "rates": rates,
    }


def _text(text: str) -> str:
    return cut(visible(text), NAME_CHARS)
