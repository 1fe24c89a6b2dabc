"""What the CPUs did besides the program, sampled at a low rate while it is recorded.

`spool/counters.jsonl` holds one row of the table `counter` per line: {"ns", "event", "cpu", "value"}. A line cut off
by a death is dropped by the reader.
"""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from headway.record import host
from headway.record.host import CpuTimes

PERIOD_NS = 500_000_000


@dataclass(slots=True)
class CounterLog:
    """Samples cumulative counters into a spool. `pid` is the process whose cgroup quota is watched."""

    spool: Path
    pid: int
    first: dict[int, CpuTimes] = field(default_factory=dict)
    last: dict[int, CpuTimes] = field(default_factory=dict)
    throttled_first_ns: int | None = None
    throttled_last_ns: int | None = None
    _groups: list[Path] = field(default_factory=list)
    _fd: int = -1

    def open(self) -> None:
        """Create the file and take the first sample."""
        self._groups = list(host.cgroups(self.pid))  # now: a process that has ended has none
        self._fd = os.open(self.spool / "counters.jsonl", os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o666)
        self.begin()

    def begin(self) -> None:
        """Take a sample and count from it: the window begins now."""
        self.sample()
        self.first, self.throttled_first_ns = self.last, self.throttled_last_ns

    def sample(self) -> None:
        """Append one sample of every counter. Raises OSError when the disk refuses."""
        ns = time.monotonic_ns()
        self.last = host.cpu_times()
        rows: list[tuple[str, int, int]] = []
        for cpu, times in self.last.items():
            rows += [("cpu_steal", cpu, times.steal_ns), ("cpu_busy", cpu, times.busy_ns)]
        rows += [("cpu_khz", cpu, khz) for cpu, khz in host.frequencies_khz().items()]
        throttled = host.quota(self._groups).throttled_ns
        if throttled is not None:
            self.throttled_first_ns = throttled if self.throttled_first_ns is None else self.throttled_first_ns
            self.throttled_last_ns = throttled
            rows.append(("cgroup_throttled", -1, throttled))
        lines = (json.dumps({"ns": ns, "event": event, "cpu": cpu, "value": value}) for event, cpu, value in rows)
        os.write(self._fd, "".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Close the file."""
        os.close(self._fd)
        self._fd = -1

    def steal_ns(self) -> dict[str, int]:
        """Return what the host stole from each CPU between the first and the last sample."""
        return {str(cpu): self.last[cpu].steal_ns - self.first[cpu].steal_ns for cpu in self._seen_throughout()}

    def busy_ns(self) -> dict[str, int]:
        """Return how long each CPU worked, for the program or for others, between the first and the last sample."""
        return {str(cpu): self.last[cpu].busy_ns - self.first[cpu].busy_ns for cpu in self._seen_throughout()}

    def throttled_ns(self) -> int | None:
        """Return how long the quota kept the program off the CPUs; None without a quota."""
        if self.throttled_first_ns is None or self.throttled_last_ns is None:
            return None
        return self.throttled_last_ns - self.throttled_first_ns

    def _seen_throughout(self) -> list[int]:
        return sorted(self.first.keys() & self.last.keys())
