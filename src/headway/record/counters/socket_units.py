"""Counting units of whole sockets (uncore: memory controllers, caches, interconnects), as sysfs lists them.

Such a unit counts what all CPUs of its socket do and is read on one of them, which `cpumask` names. What a single thread did is
not in it: its events are never divided by thread, and counted in scopes with cpu alone (counted_units.py).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

from headway.record.counters import events

_EVENT = re.compile(r"([^/]+)/([^/]+)/(?::[uk])?")


@dataclass(frozen=True, slots=True)
class SocketUnit:
    """A unit by its name in sysfs, the CPUs that it is read on, and its events, each with what it is counted in ("": times)."""

    name: str
    cpus: str
    named: tuple[tuple[str, str], ...]

    def as_json(self) -> dict[str, Any]:
        """Return the form that `headway doctor --json` has."""
        named = [{"event": event, "unit": unit} for event, unit in self.named]
        return {"unit": self.name, "cpus": self.cpus, "events": named}


def socket_units() -> list[SocketUnit]:
    """Return the units of this machine that count for more than one CPU, by name."""
    found = []
    for device in sorted(events.DEVICES.glob("*")):
        cpus = events.shared_by(device)
        if cpus is None:
            continue
        names = [file for file in sorted(device.glob("events/*")) if "." not in file.name]
        named = tuple((f"{device.name}/{file.name}/", _unit(device.name, file.name)) for file in names)
        found.append(SocketUnit(device.name, cpus, named))
    return found


def _unit(device: str, event: str) -> str:
    """Return in what an event is counted, such as `MiB`, and how many of it one count is, where sysfs says so."""
    place = events.DEVICES / device / "events"
    unit, scale = (events.text_of(place / f"{event}.{what}") or "" for what in ("unit", "scale"))
    return f"{scale} {unit}".strip() if unit else ""


def scale_of(event: str) -> tuple[float, str] | None:
    """Return how much one count of a unit's event is, and of what, such as 6.1e-05 and `MiB`; None: sysfs does not say so."""
    found = _EVENT.fullmatch(event)
    if found is None:
        return None
    place = events.DEVICES / found[1] / "events"
    scale, unit = (events.text_of(place / f"{found[2]}.{what}") for what in ("scale", "unit"))
    if not unit:
        return None
    try:
        number = float(scale or "1")
    except ValueError:
        return None
    return (number, unit) if math.isfinite(number) and number > 0 else None
