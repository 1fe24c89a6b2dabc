"""When the JVMs of a recording were in each phase: starting, paused for garbage or at a safepoint, shutting down."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.intervals import Spans

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]


class JvmPhases:
    """Looks up in the table `jvm_phase` when JVMs were in each kind of phase (`startup`, `gc_pause`, `safepoint`, `shutdown`).

    Times are ns from the recording's start; loaded on first use.
    """

    def __init__(self, recording: Recording) -> None:
        """Take the recording."""
        self._recording = recording

    def spans(self, kind: str, window: tuple[int, int]) -> Spans:
        """Return the spans of phases of a kind within a window; those of several JVMs at once are one."""
        _, start, end = self._of_kind(kind)
        return Spans.of(np.maximum(start, window[0]), np.minimum(end, window[1]))

    def count(self, kind: str, window: tuple[int, int]) -> int:
        """Return how many phases of one kind (`gc_pause`, say) all JVMs of the recording had in a window, wholly or in part."""
        _, start, end = self._of_kind(kind)
        return int(((start < window[1]) & (end > window[0])).sum())

    def of_each_jvm(self, kind: str, window: tuple[int, int]) -> list[tuple[int, int, int]]:
        """Return the process, start and end of each phase of a kind, cut at the window's ends."""
        pid, start, end = self._of_kind(kind)
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        return list(zip(pid.tolist(), start.tolist(), end.tolist(), strict=True))

    def _of_kind(self, kind: str) -> tuple[Ints, Ints, Ints]:
        return self._by_kind.get(kind, (np.zeros(0, np.int64),) * 3)

    @cached_property
    def _by_kind(self) -> Mapping[str, tuple[Ints, Ints, Ints]]:
        """Phases by kind: processes, starts and ends."""
        origin = self._recording.window_ns[0]
        rows = self._recording.query("SELECT kind, pid, start_ns, dur_ns FROM jvm_phase").fetchall()
        found: dict[str, tuple[Ints, Ints, Ints]] = {}
        for kind in {row[0] for row in rows}:
            pid, start, dur = np.array([row[1:] for row in rows if row[0] == kind], dtype=np.int64).T
            found[kind] = pid, start - origin, start - origin + dur
        return found
