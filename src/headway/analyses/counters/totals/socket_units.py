"""What counting units of whole sockets counted (memory controllers, energy meters): never divided by thread.

Question   how much each unit counted from begin to end of a recording, with all that ran on its socket or core.
Method     differences of two readings on each CPU of the unit's cpumask, as of whole CPUs (whole_cpus.py).
Assumes    nothing of who caused what was counted.
Wrong when a unit reads zero on all of its CPUs: nothing tells whether it counts at all, so that the figure is withheld.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from headway.analyses.counters.layout import BY_SOCKET, layout_of
from headway.analyses.counters.totals.whole_cpus import read_totals
from headway.analyses.counters.types import Figure, Row, UnitCounts, WholeCpus
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.store import Recording

_MOST_UNITS = 64
_LONGEST = 200
_LEAST, _MOST = 1e-30, 1e30
"""The least and the most that a scale may be; a manifest's that is outside is ignored. Those of sysfs are far inside."""
_NOT_TOLD_APART = "it read zero on every CPU of its unit from begin to end, which nothing tells from not counting"


def socket_units(recording: Recording) -> tuple[UnitCounts, ...]:
    """Return what each unit of whole sockets counted; none of a recording for which none was asked."""
    found = recording.manifest.extra.get(BY_SOCKET)
    listed = [each for each in found if isinstance(each, Mapping)] if isinstance(found, list) else []
    sockets = _sockets(recording)
    return tuple(_unit(recording, each, sockets) for each in listed[:_MOST_UNITS])


def _unit(recording: Recording, found: Mapping[str, Any], sockets: Mapping[int, int]) -> UnitCounts:
    name = str(found.get("unit", ""))[:_LONGEST]
    scales = _scales(found.get("scales"))
    try:
        counted = read_totals(recording, found, layout_of(recording, found))
    except HeadwayError:  # HW109: nothing of it could be counted
        return UnitCounts(name, None, scales, _absent(found.get("absent")))
    rows = [replace(row, key={**row.key, "socket": sockets.get(int(row.key["cpu"]), -1)}) for row in counted.rows]
    never = {event for event, figure in counted.total.counts.items() if figure.value == 0 and figure.low == figure.high}
    total, *rows = (_without(row, never) for row in (counted.total, *rows))
    return UnitCounts(name, replace(counted, total=total, rows=tuple(rows)), scales, counted.absent)


def _without(row: Row, never: set[str]) -> Row:
    """Return a row in which the counts of some events are withheld."""
    withheld = Figure(None, None, None, _NOT_TOLD_APART)
    return replace(row, counts={event: withheld if event in never else it for event, it in row.counts.items()})


def amount(figure: Figure, scale: float) -> Figure:
    """Return a count in the unit that sysfs gives it."""
    low, value, high = (None if each is None else each * scale for each in (figure.low, figure.value, figure.high))
    return Figure(value, low, high, figure.withheld)


def per_second(unit: UnitCounts, event: str) -> float | None:
    """Return an event's rate per second over all CPUs of its unit, in the measure that sysfs gives; None: unknown."""
    counted: WholeCpus | None = unit.counted
    if counted is None or not counted.total.counted_ns:
        return None
    value = counted.total.counts[event].value
    scale = unit.scales.get(event, (1.0, ""))[0]
    # Each CPU counted for a time of its own: what all have counted is of that of one of them.
    seconds = counted.total.counted_ns / len(counted.rows) / 1e9
    return None if value is None else value * scale / seconds


def _sockets(recording: Recording) -> dict[int, int]:
    """Return the socket of each CPU, as far as the machine told."""
    topology = recording.manifest.host.topology
    return {each.cpu: each.package for each in topology if each.package is not None}


def _scales(found: object) -> dict[str, tuple[float, str]]:
    scales = {}
    for row in found if isinstance(found, list) else []:
        if isinstance(row, Mapping) and isinstance(scale := row.get("scale"), float | int) and _LEAST <= scale <= _MOST:
            scales[str(row.get("event", ""))] = float(scale), str(row.get("unit", ""))[:_LONGEST]
    return scales


def _absent(found: object) -> tuple[tuple[str, str], ...]:
    rows = [row for row in found if isinstance(row, Mapping)] if isinstance(found, list) else []
    return tuple((str(row.get("event", ""))[:_LONGEST], str(row.get("reason", ""))[:_LONGEST]) for row in rows)
