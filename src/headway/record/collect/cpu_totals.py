"""What is counted on each CPU as a whole, whatever runs there: counters that are read when a recording begins and ends."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from typing import Any

from headway.record.counters.descriptors import missing_descriptors
from headway.record.counters.usable import Usable, native_events
from headway.record.machine import host

_Place = tuple[int, int]
_Totals = tuple[int, int, int]


class CpuTotals:
    """Counters of whole CPUs. None of its calls fails: what can't be counted is absent, with its reason."""

    def __init__(self, counted: Usable | None, cpus: Sequence[int] | None = None) -> None:
        """Prepare to count groups; None: nothing is asked for. `cpus`: on these alone, not on all that are online."""
        self.counted = counted
        self._asked_cpus = cpus
        self._counters: Any = None
        self._first: dict[_Place, _Totals] = {}
        self._from_ns = self._to_ns = 0
        self._rows: list[dict[str, int]] = []
        self._cpus: list[int] = []

    def start(self) -> None:
        """Open the counters on every CPU that is online."""
        from headway import _native

        if self.counted is None or not self.counted.groups:
            return
        cpus = self._cpus = list(host.online_cpus() if self._asked_cpus is None else self._asked_cpus)
        if lacks := missing_descriptors(sum(map(len, self.counted.groups)), len(cpus)):
            self.counted = self.counted.without_groups(lacks)
            return
        try:
            self._counters = _native.CpuCounters(native_events(self.counted.groups), cpus)
        except _native.CollectorError as error:
            self.counted = self.counted.without_groups(f"{error.detail}: {os.strerror(error.errno)}")

    def begin(self) -> None:
        """Count from now on; the counters are read before and after the time that begins the window."""
        if self._counters is not None:
            self._first, self._from_ns = self._read(), time.monotonic_ns()

    def stop(self) -> None:
        """Count until now, and close the counters."""
        if self._counters is None:
            return
        self._to_ns, last = time.monotonic_ns(), self._read()
        self._counters = None
        names = ("value", "enabled_ns", "running_ns")
        for (cpu, counter), totals in last.items():
            if (before := self._first.get((cpu, counter))) is not None:
                since = (now - then for now, then in zip(totals, before, strict=True))
                self._rows.append({"cpu": cpu, "counter": counter, **dict(zip(names, since, strict=True))})

    def as_json(self) -> dict[str, Any] | None:
        """Return what the manifest keeps: {step, groups, absent, from_ns, to_ns, cpus, rows}; None: nothing was asked for.

        A row has what a counter, numbered over all groups, counted on a CPU: {cpu, counter, value, enabled_ns, running_ns}.
        It is missing where the counter could not be read.
        """
        if self.counted is None:
            return None
        when = {"from_ns": self._from_ns, "to_ns": self._to_ns}
        return {**self.counted.as_json(), **when, "cpus": self._cpus, "rows": self._rows}

    def _read(self) -> dict[_Place, _Totals]:
        return {
            (cpu, counter): (value, enabled_ns, running_ns)
            for cpu, counter, value, enabled_ns, running_ns in self._counters.read()
        }
