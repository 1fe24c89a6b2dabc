"""Counting units of whole sockets that a recording counts: their events are tried where they are read, and opened there.

Nothing that a loop does is known to make any such unit count, so that its events are only opened. What reads zero from begin to
end of a recording is withheld (analyses/counters/totals/socket_units.py), as nothing tells it from what does not count.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from headway.errors import HeadwayError
from headway.record.counters import events
from headway.record.counters.socket_units import scale_of
from headway.record.counters.usable import Absent, Group, Usable, native_events, why_refused
from headway.record.machine.host import parse_cpu_list


@dataclass(frozen=True, slots=True)
class CountedUnit:
    """A unit by its name in sysfs, the CPUs that it is read on, its groups that open there, and what one count of an event is.

    `scales`: event, number, and what it is a number of, such as 6.1e-05 and `MiB`; of events of which sysfs says so.
    """

    name: str
    cpus: tuple[int, ...]
    counted: Usable
    scales: tuple[tuple[str, float, str], ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return what the manifest keeps beside the counts: {unit, scales [{event, scale, unit}]}."""
        scales = [{"event": event, "scale": scale, "unit": unit} for event, scale, unit in self.scales]
        return {"unit": self.name, "scales": scales}


def counted_units(groups: Sequence[Group]) -> tuple[CountedUnit, ...]:
    """Return the units of some groups, each of which is of one unit, with those of their events that open.

    Raises HeadwayError HW117 where this user may not count for a whole socket, or HW104 for a group of too many events.
    """
    by_unit: dict[str, list[Group]] = {}
    for group in groups:
        by_unit.setdefault(group[0].unit, []).append(group)
    return tuple(_unit(name, of_unit) for name, of_unit in by_unit.items())


def _unit(name: str, groups: Sequence[Group]) -> CountedUnit:
    named = events.shared_by(events.DEVICES / name) or ""
    try:
        cpus = tuple(parse_cpu_list(named))
    except ValueError:
        why = f"sysfs names no CPU that {name} is read on"
        return CountedUnit(name, (), Usable(tuple(groups), ()).without_groups(why))
    absent: dict[str, Absent] = {}
    kept = tuple(left for group in groups if (left := tuple(_opening(group, cpus, absent))))
    if too_large := next((group for group in kept if len(group) > 1 and _refusal(group, cpus)), None):
        raise HeadwayError("HW104", events=",".join(each.name for each in too_large))
    scales = [(each.name, *scale) for group in kept for each in group if (scale := scale_of(each.name)) is not None]
    return CountedUnit(name, cpus, Usable(kept, tuple(absent.values())), tuple(dict.fromkeys(scales)))


def _opening(group: Group, cpus: tuple[int, ...], absent: dict[str, Absent]) -> Iterator[events.Event]:
    """Yield the events of a group that open alone; notes the others in `absent`. Raises HeadwayError HW117."""
    for each in group:
        reason = _refusal((each,), cpus)
        if reason in (errno.EACCES, errno.EPERM):
            raise HeadwayError("HW117", event=each.name, reason=why_refused(each, reason))
        if reason:
            absent[each.name] = Absent(each.name, why_refused(each, reason))
        else:
            yield each


def _refusal(group: Group, cpus: tuple[int, ...]) -> int:
    """Return the errno with which the kernel refuses a group on any of some CPUs; 0: it opens on all of them."""
    from headway import _native

    try:
        _native.CpuCounters(native_events([group]), list(cpus))
    except _native.CollectorError as error:
        return int(error.errno)
    return 0
