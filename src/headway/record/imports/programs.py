"""Assigns each chunk of a JFR file to a JVM: files of several JVMs may be concatenated."""

from __future__ import annotations

import bisect
from collections.abc import Callable

from headway.record.jfr.reader import NONE, EventBatch

_SAME_START_NS = 2_000_000_000
"""async-profiler and the JDK read when a JVM began from different places."""


class Programs:
    """Tells JVMs apart by process id and start time; a chunk that has neither belongs to the JVM of the chunk before."""

    def __init__(self) -> None:
        """Start without JVMs."""
        self._numbers: dict[tuple[int, int], int] = {}  # (pid, start in units of _SAME_START_NS) -> number
        self._of: dict[int, int] = {}  # chunk -> number

    def note(self, batch: EventBatch) -> None:
        """Add rows of jdk.JVMInformation."""
        pids, starts = batch.ints("pid", 0).tolist(), batch.ints("jvmStartTime").tolist()
        at = 0
        for chunk, rows in batch.chunks:
            if chunk not in self._of:
                self._of[chunk] = self._number(pids[at], 0 if starts[at] == NONE else starts[at])
            at += rows

    def _number(self, pid: int, start_ns: int) -> int:
        unit = start_ns // _SAME_START_NS
        near = ((pid, each) for each in (unit, unit - 1, unit + 1))
        known = next((self._numbers[key] for key in near if key in self._numbers), len(self._numbers))
        return self._numbers.setdefault((pid, unit), known)

    def of_chunks(self) -> Callable[[int], int]:
        """Return a function from chunk to JVM number (from 0); call this after the whole file has been read.

        Events that two writers lay out differently come in tables of their own, so chunks are not noted in their order.
        """
        chunks = sorted(self._of)
        numbers = [self._of[chunk] for chunk in chunks] or [0]
        return lambda chunk: numbers[max(0, bisect.bisect_right(chunks, chunk) - 1)]
