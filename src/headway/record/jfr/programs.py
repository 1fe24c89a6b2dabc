"""Which JVM each chunk of a file is of: files of several may be put one behind the other."""

from __future__ import annotations

import bisect

from headway.record.jfr.reader import NONE, EventBatch

_SAME_START_NS = 2_000_000_000
"""async-profiler and the JDK read when a JVM began from different places."""


class Programs:
    """Tells chunks apart by the process id and start that they give; one that gives none is of the JVM of the one before."""

    def __init__(self) -> None:
        """Begin with none."""
        self._numbers: dict[tuple[int, int], int] = {}  # (pid, start in units of _SAME_START_NS) -> number
        self._chunks: list[int] = []
        self._of: list[int] = []

    def note(self, batch: EventBatch) -> None:
        """Take the rows of jdk.JVMInformation."""
        pids, starts = batch.ints("pid", 0).tolist(), batch.ints("jvmStartTime").tolist()
        at = 0
        for chunk, rows in batch.chunks:
            if not self._chunks or chunk > self._chunks[-1]:
                self._chunks.append(chunk)
                self._of.append(self._number(pids[at], 0 if starts[at] == NONE else starts[at]))
            at += rows

    def _number(self, pid: int, start_ns: int) -> int:
        unit = start_ns // _SAME_START_NS
        near = ((pid, each) for each in (unit, unit - 1, unit + 1))
        known = next((self._numbers[key] for key in near if key in self._numbers), len(self._numbers))
        return self._numbers.setdefault((pid, unit), known)

    def of(self, chunk: int) -> int:
        """Return the number of a chunk's JVM, from 0."""
        return self._of[max(0, bisect.bisect_right(self._chunks, chunk) - 1)] if self._of else 0
