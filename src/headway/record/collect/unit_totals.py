"""What counting units of whole sockets count while a program is recorded: read when the recording begins and ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from headway.record.collect.cpu_totals import CpuTotals
from headway.record.counters.counted_units import CountedUnit
from headway.record.counters.usable import Usable


class UnitTotals:
    """Counters of units, each on the CPUs that it is read on. None of its calls fails, as those of CpuTotals."""

    def __init__(self, units: Sequence[CountedUnit]) -> None:
        """Prepare to count units; none: nothing is asked for."""
        self._units = [(unit, CpuTotals(unit.counted, unit.cpus)) for unit in units]

    def start(self) -> None:
        """Open the counters."""
        for _, totals in self._units:
            totals.start()

    def begin(self) -> None:
        """Count from now on."""
        for _, totals in self._units:
            totals.begin()

    def stop(self) -> None:
        """Count until now, and close the counters."""
        for _, totals in self._units:
            totals.stop()

    def planned_and_counted(self) -> list[tuple[Usable, Usable]]:
        """Return of each unit what was to be counted, and what could be."""
        return [(unit.counted, totals.counted or unit.counted) for unit, totals in self._units]

    def as_json(self) -> list[dict[str, Any]]:
        """Return what the manifest keeps of each unit: {unit, scales}, and what CpuTotals has of its CPUs."""
        return [{**unit.as_json(), **(totals.as_json() or {})} for unit, totals in self._units]
