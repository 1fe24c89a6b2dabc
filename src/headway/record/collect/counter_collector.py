"""The collector of the machine's counters: steal, busy time, frequencies, throttling by a quota, and allowed CPUs."""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import Any

from headway.record.machine.counters import PERIOD_NS, QUOTA_PERIOD_NS, CounterLog


class CounterCollector:
    """Samples counters at a low rate, and those of a quota more often (collector.py says what the members are)."""

    def __init__(self, spool: Path, root_pid: int) -> None:
        """Prepare for the process whose quota and allowed CPUs are watched."""
        self.log = CounterLog(spool, root_pid)
        self._next_sample_ns = 0
        self._next_throttled_ns = 0  # only while there is a quota

    def add_process(self, pid: int) -> None:
        """Do nothing: counters are of the machine, quota and CPUs of the root process."""

    def start(self) -> None:
        """Write the first sample. Raises OSError."""
        self.log.open()
        self._next_sample_ns = time.monotonic_ns() + PERIOD_NS

    def snapshot_process(self, pid: int) -> None:
        """Do nothing, as `add_process`."""

    def due_ns(self) -> int:
        """Return when the next sample is due."""
        return min(self._next_sample_ns, self._next_throttled_ns) if self.log.has_quota else self._next_sample_ns

    def tick(self, now_ns: int) -> bool:
        """Take the samples that are due, and return whether that was one of all counters. Raises OSError."""
        is_due = now_ns >= self._next_sample_ns
        if self.log.has_quota and now_ns >= self._next_throttled_ns:
            self._next_throttled_ns = now_ns + QUOTA_PERIOD_NS
            self.log.sample_throttled()
        if is_due:
            self._next_sample_ns = now_ns + PERIOD_NS
            self.log.sample()
        return is_due

    def stats(self) -> dict[str, Any]:
        """Return what the host stole from each CPU, how long each was busy, and how long the quota throttled the program."""
        log = self.log
        return {"steal_ns": log.steal_ns(), "busy_ns": log.busy_ns(), "throttled_ns": log.throttled_ns()}

    def stop(self) -> None:
        """Write the last sample. Raises OSError when the disk refuses; the files are closed all the same."""
        with contextlib.closing(self.log):
            self.log.sample()
