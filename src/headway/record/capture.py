"""Everything that runs beside the program while it is recorded: the collector, the counters, the watch over the disk.

headway's part in the machine is kept small. Where the program is bound to some of the CPUs, headway runs on the others
(`keeping_off`): the thread that starts the collector has moved there, and the collector's threads inherit it. Their
priority is the collectors' own affair.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

from headway.errors import HeadwayError
from headway.record import host
from headway.record.capabilities import Mode
from headway.record.counters import PERIOD_NS, QUOTA_PERIOD_NS, CounterLog

_RESERVE_BYTES = 6 << 20
_RING_BYTES_LEAST, _RING_BYTES_MOST = 512 << 10, 16 << 20


@contextlib.contextmanager
def keeping_off(program_cpus: set[int]) -> Iterator[None]:
    """Run the calling thread, and those it starts, off the program's CPUs where that leaves any."""
    mine = os.sched_getaffinity(0)
    if spare := mine - program_cpus:
        os.sched_setaffinity(0, spare)
    try:
        yield
    finally:
        os.sched_setaffinity(0, mine)


class Collector(Protocol):
    """What the native collectors have in common. Every call may raise _native.CollectorError."""

    def add_process(self, pid: int) -> None:
        """Record this process and what it forks from now on; its running threads are noted as found."""

    def start(self) -> None:
        """Begin."""

    def snapshot_process(self, pid: int) -> None:
        """Record this process and all below it; once started, none of them is born unseen meanwhile."""

    def stats(self) -> dict[str, Any]:
        """Return counts so far."""

    def stop(self) -> None:
        """End, and write out what is buffered."""


class Capture:
    """A running recording of the process tree below the added processes, into one spool directory.

    Every method may raise HeadwayError HW009 when the machine refuses.
    """

    def __init__(self, spool: Path, mode: Mode, root_pid: int) -> None:
        """Prepare; nothing is touched before `start`."""
        self.mode: Mode = mode
        self.spool = spool
        self.counters = CounterLog(spool, root_pid)
        self.disk_full = False
        self.has_enough = False
        """Nothing more would be learned: never so here, but of experiments."""
        self._root = root_pid
        self._collector: Collector | None = None
        self._next_sample_ns = 0
        self._next_throttled_ns = 0  # only while there is a quota

    def start(self, is_running: bool) -> None:
        """Record the root and everything it forks from now on; where it runs already, also what is below it by now.

        Raises HeadwayError HW058 when the root has ended.
        """
        self.counters.open()
        self._next_sample_ns = time.monotonic_ns() + PERIOD_NS
        if self.mode == "agent":
            return
        try:
            self._collector = self._started(is_running)
        except BaseException:
            self.counters.close()
            raise

    def due_ms(self, now_ns: int) -> int:
        """Return how long nothing needs to be done here, in milliseconds."""
        next_ns = self._next_sample_ns
        if self.counters.has_quota:
            next_ns = min(next_ns, self._next_throttled_ns)
        return max(0, (next_ns - now_ns) // 1_000_000 + 1)

    def tick(self, now_ns: int) -> None:
        """Take a sample when one is due, and set `disk_full` when the recording must end to keep what it has.

        The same when its place is gone, or can't be written for another reason: the program must not suffer for it.
        """
        is_due = now_ns >= self._next_sample_ns
        is_throttled_due = self.counters.has_quota and now_ns >= self._next_throttled_ns
        try:
            if is_throttled_due:
                self._next_throttled_ns = now_ns + QUOTA_PERIOD_NS
                self.counters.sample_throttled()
            if not is_due:
                return
            self._next_sample_ns = now_ns + PERIOD_NS
            self.counters.sample()
            self.disk_full = self._room_is_short()
        except OSError:
            self.disk_full = True

    def stop(self) -> dict[str, Any]:
        """End the recording and return the collector's counts."""
        stats: dict[str, Any] = {}
        try:
            self.counters.sample()
        except OSError:
            self.disk_full = True
        self.counters.close()
        if self._collector is not None:
            self._collector.stop()
            stats = dict(self._collector.stats())
            self._collector = None
        self.disk_full = self.disk_full or bool(stats.get("disk_error"))
        return stats

    def _started(self, is_running: bool) -> Collector:
        """Return a collector that runs, with threads that inherit our CPUs."""
        from headway import _native  # type: ignore[attr-defined]

        try:
            collector: Collector = (
                _native.KernelCollector(str(self.spool), _ring_bytes())
                if self.mode == "ebpf"
                else _native.PerfCollector(str(self.spool))
            )
            if not is_running:
                collector.add_process(self._root)
            collector.start()
            if is_running:  # only now: what was forked between a look into /proc and the start would be missing
                collector.snapshot_process(self._root)
        except _native.CollectorError as error:
            if error.errno in (errno.ESRCH, errno.ENOENT) and error.step == "process":
                raise HeadwayError("HW058", pid=self._root) from error
            raise collector_error(self.mode, error) from error
        return collector

    def _room_is_short(self) -> bool:
        """Tell whether the disk is so full that finalising might not find room.

        Tables take less than a quarter of the raw records they are made from (benchmarks/), and both are there for a
        while.
        """
        stats = self._collector.stats() if self._collector is not None else {}
        if stats.get("disk_error"):
            return True
        room = os.statvfs(self.spool)
        written = sum(entry.stat().st_blocks * 512 for entry in os.scandir(self.spool))
        return room.f_bavail * room.f_frsize < _RESERVE_BYTES + written // 4


def _ring_bytes() -> int:
    """Return the size of one CPU's ring; 0 leaves it to the collector.

    The kernel charges the rings to our cgroup, which in a container is the program's: of a memory limit they may take one
    part in 16, but 512 KiB per CPU in any case.
    """
    limit = host.memory_limit(host.cgroups(os.getpid(), "memory"))
    bytes_per_cpu = (limit or 0) // 16 // len(host.online_cpus())
    if limit is None or bytes_per_cpu >= _RING_BYTES_MOST:
        return 0
    return max(_RING_BYTES_LEAST, 1 << max(0, bytes_per_cpu.bit_length() - 1))


def collector_error(mode: Mode, error: Any) -> HeadwayError:
    """Turn a native CollectorError (step, errno, detail) into the message for people."""
    reason = os.strerror(error.errno) if error.errno else ""
    if error.detail:
        reason = f"{reason}: {error.detail}" if reason else error.detail
    return HeadwayError("HW009", mode=mode, step=error.step, reason=reason)
