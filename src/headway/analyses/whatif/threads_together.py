"""Threads of a program that goes on, and how long they take in a replay for what they did together (whatif.together)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway import _native

    Ints = NDArray[np.int64]

OF_EACH = frozenset({causes.SLEEP, causes.IO})
"""Causes without which threads come round more often for nothing, as those do that look for something from time to time."""


@dataclass(frozen=True, eq=False)
class ThreadsTogether:
    """Threads that go on: thread_id, how long each ran in the second half, and from when to when it did something, in ns.

    `work_ns`: what all of them computed.
    """

    thread: NDArray[np.int32]
    running_ns: NDArray[np.float64]
    begin_ns: int
    end_ns: Ints
    wall_ns: int
    work_ns: float

    def replayed_ns(self, timeline: _native.ReplayTimeline, cores: float, *, is_of_each: bool) -> float:
        """Return in how much time they do what they did in `wall_ns`, by what they do in a replay. `is_of_each`: see OF_EACH."""
        needed = np.maximum(np.asarray(timeline.times(self.thread, self.end_ns), float), 1.0)
        life = np.maximum(self.end_ns - self.begin_ns, 1).astype(float)
        part = float(np.average(needed / life, weights=self.running_ns))
        if not is_of_each:
            part = 1 / float(np.average(life / needed, weights=self.running_ns))
        return max(self.wall_ns * part, self.work_ns / cores)
