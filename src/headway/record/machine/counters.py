"""Samples cumulative CPU counters (steal, idle, frequency, throttling) at a low rate while the program is recorded.

`spool/counters.jsonl` holds one row of the table `counter` per line: {"ns", "event", "cpu", "value"}. A line cut off
by a death is dropped by the reader.
"""

from __future__ import annotations

import contextlib
import json
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from headway.record.machine import host
from headway.record.machine.allowed_cpus import AllowedCpus
from headway.record.machine.host import CpuTimes
from headway.store.files import open_new

PERIOD_NS = 500_000_000
QUOTA_PERIOD_NS = 10_000_000
"""How often the throttled time is read while there is a quota: a tenth of the kernel's usual quota period."""
_MOST_LIMITED = 32
"""So many cgroups with a quota, the innermost ones, are read so often: whoever may make cgroups can nest a thousand of them."""


@dataclass(slots=True)
class CounterLog:
    """Writer of counter samples into a spool. `pid` is the process whose cgroup quota and CPUs are watched."""

    spool: Path
    pid: int
    first: dict[int, CpuTimes] = field(default_factory=dict)
    last: dict[int, CpuTimes] = field(default_factory=dict)
    throttled_first_ns: int | None = None
    throttled_last_ns: int | None = None
    allowed: AllowedCpus = field(init=False)
    _groups: list[Path] = field(default_factory=list)
    _limited: list[int] = field(default_factory=list)
    _throttled_before: tuple[int, int] | None = None
    _fd: int = -1

    def __post_init__(self) -> None:
        """Also watch the program's allowed CPUs."""
        self.allowed = AllowedCpus(self.pid)

    def open(self) -> None:
        """Create the file and write the first sample."""
        self._groups = list(host.cgroups(self.pid))  # now: a process that has ended has none
        self._fd = open_new(self.spool, "counters.jsonl")
        for group in host.limited(self._groups)[:_MOST_LIMITED]:
            with contextlib.suppress(OSError):
                self._limited.append(os.open(group / "cpu.stat", os.O_RDONLY | os.O_CLOEXEC))
        self.begin()

    @property
    def has_quota(self) -> bool:
        """Return whether a CPU quota applies, so that `sample_throttled` is worth calling every QUOTA_PERIOD_NS."""
        return bool(self._limited)

    def begin(self) -> None:
        """Write a sample and count from it: the recorded window starts now."""
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
            self._throttled_before = ns, throttled
        rows.append(("recorder_cpu", -1, time.process_time_ns()))
        self._write((ns, *row) for row in rows)
        self.allowed.look()

    def sample_throttled(self) -> None:
        """Append the time for which the quota has throttled the program, if it has grown; OSError as `sample`.

        The reading before it is told as well: between the two a throttled stretch was over, and the kernel added all of it.
        """
        ns, value = time.monotonic_ns(), max(map(_throttled_ns, self._limited), default=0)
        before, self._throttled_before = self._throttled_before, (ns, value)
        if before is not None and value > before[1]:
            self._write((at, "cgroup_throttled", -1, throttled) for at, throttled in (before, (ns, value)))

    def _write(self, rows: Iterable[tuple[int, str, int, int]]) -> None:
        lines = (json.dumps({"ns": ns, "event": event, "cpu": cpu, "value": value}) for ns, event, cpu, value in rows)
        os.write(self._fd, "".join(f"{line}\n" for line in lines).encode())

    def close(self) -> None:
        """Close the files."""
        for fd in (self._fd, *self._limited):
            os.close(fd)
        self._fd, self._limited = -1, []

    def steal_ns(self) -> dict[str, int]:
        """Return the time in ns that the host stole from each CPU between the first and the last sample."""
        return {str(cpu): self.last[cpu].steal_ns - self.first[cpu].steal_ns for cpu in self._always_online()}

    def busy_ns(self) -> dict[str, int]:
        """Return how long each CPU was busy, for any process, between the first and the last sample, in ns."""
        return {str(cpu): self.last[cpu].busy_ns - self.first[cpu].busy_ns for cpu in self._always_online()}

    def throttled_ns(self) -> int | None:
        """Return how long the quota throttled the program, in ns; None without a quota."""
        if self.throttled_first_ns is None or self.throttled_last_ns is None:
            return None
        return self.throttled_last_ns - self.throttled_first_ns

    def _always_online(self) -> list[int]:
        return sorted(self.first.keys() & self.last.keys())


def _throttled_ns(fd: int) -> int:
    """Return the throttled time that an open cpu.stat tells now; 0 when the cgroup is gone."""
    try:
        return host.parse_throttled(os.pread(fd, 4096, 0).decode(errors="replace")) or 0
    except OSError:
        return 0
