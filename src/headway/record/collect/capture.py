"""Runs everything that records beside the program: the collector, the counters, the watch over disk space.

headway's part in the machine is kept small. Where the program is bound to some of the CPUs, headway runs on the others
(`keeping_off`): the thread that starts the collector has moved there, and the collector's threads inherit it. Their
priority is the collectors' own affair.
"""

from __future__ import annotations

import contextlib
import errno
import os
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from headway.errors import HeadwayError
from headway.record.collect.collector import Collector, PeriodicCollector
from headway.record.collect.counter_collector import CounterCollector
from headway.record.collect.cpu_totals import CpuTotals
from headway.record.collect.heap_nodes import HeapNodes
from headway.record.collect.thread_totals import ThreadTotals
from headway.record.collect.unit_totals import UnitTotals
from headway.record.counters.counted_units import CountedUnit
from headway.record.counters.descriptors import missing_descriptors
from headway.record.counters.usable import Usable, native_events
from headway.record.doctor.capabilities import Mode
from headway.record.machine import host
from headway.store.directory import pinned, without_descriptors

_RESERVE_BYTES = 6 << 20
_ROOM_PERIOD_NS = 500_000_000
_RING_BYTES_LEAST, _RING_BYTES_MOST = 512 << 10, 16 << 20


@contextlib.contextmanager
def keeping_off(program_cpus: set[int]) -> Iterator[None]:
    """Context manager: run the calling thread, and threads it starts, off the program's CPUs if any others exist."""
    own_cpus = os.sched_getaffinity(0)
    if spare := own_cpus - program_cpus:
        os.sched_setaffinity(0, spare)
    try:
        yield
    finally:
        os.sched_setaffinity(0, own_cpus)


class Capture:
    """A running recording of the process tree below the added processes, into one spool directory.

    Every method may raise HeadwayError HW009 when the machine refuses.
    """

    def __init__(
        self,
        spool: Path,
        mode: Mode,
        root_pid: int,
        counted: Usable | None = None,
        cpu_counted: Usable | None = None,
        units: Sequence[CountedUnit] = (),
        thread_counted: Usable | None = None,
        heap_interval_ns: int | None = None,
    ) -> None:
        """Prepare; nothing is touched before `start`.

        `counted`: what to count at each switch; `cpu_counted`: on whole CPUs; `units`: for whole sockets; `thread_counted`: of
        each thread from outside. `heap_interval_ns`: how often to ask on which memory nodes heaps are, None: never.
        """
        self.counted = counted
        self.cpu_totals = CpuTotals(cpu_counted)
        self.unit_totals = UnitTotals(units)
        self.thread_totals = ThreadTotals(thread_counted, root_pid)
        self.heap_nodes = HeapNodes(spool, root_pid, heap_interval_ns)
        self.mode: Mode = mode
        self.spool = spool
        self.counters = CounterCollector(spool, root_pid)
        self._periodic: PeriodicCollector = self.counters
        self.disk_full = False
        self.has_enough = False
        """Whether more experiments would not help: always False for plain recordings."""
        self._next_room_ns = 0
        self._root = root_pid
        self._collector: Collector | None = None

    def start(self, is_running: bool) -> None:
        """Record the root and everything it forks from now on; where it runs already, also what is below it by now.

        Raises HeadwayError HW058 when the root has ended.
        """
        self._periodic.start()
        self.cpu_totals.start()
        self.unit_totals.start()
        if self.mode != "ebpf" and self.counted is not None and self.counted.groups:
            self.thread_totals.counted = self.counted
            self.counted = self.counted.without_mode(self.mode)
        if self.mode != "agent":
            try:
                self._collector = self._started(is_running)
            except BaseException:
                self.counters.log.close()
                raise
        self.thread_totals.start()  # last: its descriptors are those that are left

    def begin(self) -> None:
        """Take what is counted from now on: the recorded window begins."""
        self.counters.log.begin()
        self.cpu_totals.begin()
        self.unit_totals.begin()
        self.thread_totals.begin()
        self.heap_nodes.begin()

    def due_ms(self, now_ns: int) -> int:
        """Return the time in ms until `tick` has something to do."""
        due_ns, threads_ns = self._periodic.due_ns(), self.thread_totals.due_ns()
        return max(0, (min(due_ns, threads_ns or due_ns) - now_ns) // 1_000_000 + 1)

    def tick(self, now_ns: int) -> None:
        """Take a counter sample when due, and set `disk_full` when the recording must end to keep its data.

        The same when its place is gone, or can't be written for another reason: the program must not suffer for it.
        """
        self.thread_totals.tick(now_ns)
        try:
            is_due = self._periodic.tick(now_ns)
        except OSError:
            self.disk_full = True
            return
        if is_due:
            self.disk_full = self._room_is_short()

    def must_end(self) -> bool:
        """Return whether the disk is so full that the recording must end; for the time before `tick` is called.

        Until agents are attached minutes may pass, and records are written. Looks twice a second at most.
        """
        now_ns = time.monotonic_ns()
        if not self.disk_full and now_ns >= self._next_room_ns:
            self._next_room_ns = now_ns + _ROOM_PERIOD_NS
            self.disk_full = self._room_is_short()
        return self.disk_full

    def stop(self) -> dict[str, Any]:
        """Stop recording and return the collector's counts."""
        stats: dict[str, Any] = {}
        self.heap_nodes.stop()
        self.thread_totals.stop()
        self.cpu_totals.stop()
        self.unit_totals.stop()
        try:
            self._periodic.stop()
        except OSError:
            self.disk_full = True
        if self._collector is not None:
            self._collector.stop()
            stats = dict(self._collector.stats())
            self._collector = None
        self.disk_full = self.disk_full or bool(stats.get("disk_error"))
        return stats

    def _started(self, is_running: bool) -> Collector:
        """Return a collector that runs, with threads that inherit our CPUs."""
        from headway import _native

        try:
            collector: Collector = (
                self._kernel_collector() if self.mode == "ebpf" else _native.PerfCollector(str(pinned(self.spool)))
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

    def _kernel_collector(self) -> Collector:
        """Return the collector of mode ebpf: without counters where some CPU refuses them, which `counted` tells."""
        from headway import _native

        if self.counted is not None and self.counted.groups:
            counters = sum(map(len, self.counted.groups))
            if lacks := missing_descriptors(counters, len(host.online_cpus())):
                self.counted = self.counted.without_groups(lacks)
        groups = native_events(self.counted.groups) if self.counted is not None else []
        try:
            collector: Collector = _native.KernelCollector(str(pinned(self.spool)), _ring_bytes(), False, groups)
        except _native.CollectorError as error:
            if error.step != "counter" or self.counted is None:
                raise
            self.counted = self.counted.without_groups(f"{error.detail}: {os.strerror(error.errno)}")
            collector = _native.KernelCollector(str(pinned(self.spool)), _ring_bytes())
        return collector

    def _room_is_short(self) -> bool:
        """Return whether the disk is so full that finalising might not find room, or the spool is there no more.

        Tables take less than a quarter of the raw records they are made from (benchmarks/), and both are there for a
        while.
        """
        stats = self._collector.stats() if self._collector is not None else {}
        if stats.get("disk_error"):
            return True
        try:
            room = os.statvfs(pinned(self.spool))
            written = sum(entry.stat().st_blocks * 512 for entry in os.scandir(pinned(self.spool)))
        except OSError:
            return True
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
    """Convert a native CollectorError (step, errno, detail) into a message for people."""
    reason = os.strerror(error.errno) if error.errno else ""
    if error.detail:
        reason = f"{reason}: {error.detail}" if reason else error.detail
    return HeadwayError("HW009", mode=mode, step=error.step, reason=without_descriptors(reason))
