"""The seam for collectors: what records beside a program, from its start to its end, into the recording's spool.

A collector is made with the spool it writes to, and touches nothing until `start`. It is then used in this order: `add_process`
for a program that has not begun, `start`, `snapshot_process` for one that runs already (only then is nothing missed that is
born meanwhile), `stats` any number of times from the thread that started it, `stop`. Its threads inherit the CPUs of the thread
that starts it, which has moved off the program's (capture.py). What it writes are files of the spool, in the format of
native/wire; finalising makes tables of them (record/finalise).

There are two native ones, which record every switch of a thread: `_native.KernelCollector` (eBPF) and `_native.PerfCollector`
(perf events). `CounterCollector` samples the machine's counters. Agents in JVMs are started by the JVM or by attaching, and
stop by a file: they are `record.agent`'s. A new collector is a class with these members, made in capture.py.

None may harm the program: what a collector can't do it says, by an OSError, or as the native ones by CollectorError (step,
errno, detail), from `add_process`, `start` and `snapshot_process`, and in `stats` under `disk_error` when it can't write.
"""

from __future__ import annotations

from typing import Any, Protocol


class Collector(Protocol):
    """Something that records beside a program. Every call may raise what the module says."""

    def add_process(self, pid: int) -> None:
        """Record this process and its future children; its running threads are stored with their current state."""

    def start(self) -> None:
        """Start recording."""

    def snapshot_process(self, pid: int) -> None:
        """Record this process and its descendants; once started, none of them is born unseen meanwhile."""

    def stats(self) -> dict[str, Any]:
        """Return what the manifest says of it: counts, and whether something was lost."""

    def stop(self) -> Any:
        """Stop recording, and write out what is buffered."""


class PeriodicCollector(Collector, Protocol):
    """A collector without threads of its own: the recording's loop calls it when it is due."""

    def due_ns(self) -> int:
        """Return when `tick` has something to do next, by CLOCK_MONOTONIC."""

    def tick(self, now_ns: int) -> bool:
        """Record what is due, and return whether anything of the full period was. Raises OSError when the disk refuses."""
