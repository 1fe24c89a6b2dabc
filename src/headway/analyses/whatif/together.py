"""Says how long threads of a program that goes on take for what they did together, in a replay: it has no end of its own.

Question   how much faster is a program whose end is nobody's? The end of one thread tells nothing: one that was let in seldom
           would be far ahead, one that had a lock not at all.
Method     a closed loop: a thread that needs a part of the time for what it did does so much more of it. The threads that were
           there for most of the time and ran in its second half are looked at, each weighted by what it ran there; all
           together do no more than the cores can. Without sleep or I/O a thread that does little between is no faster
           program: there their times are weighted, not how often they would come round.
Assumes    threads that ran in the second half would go on as they did.
Wrong when threads begin and end with their tasks: others take their place. Losses of such threads are refused (HW455), and so are
           waits for each other's work (HW454), without which a thread does not do what it did.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.lost_cores.gains.ongoing import acting, ongoing_threads
from headway.analyses.whatif.step_changes import program_steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.store import Recording

    Ints = NDArray[np.int64]

OF_EACH = frozenset({causes.SLEEP, causes.IO})
"""Causes without which threads come round more often for nothing, as those do that look for something from time to time."""


@dataclass(frozen=True, eq=False)
class Together:
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


def together(recording: Recording, run: RecordedRun, window: tuple[int, int] | None) -> Together | None:
    """Return the threads of a run, or of a window of it (ns from the recording's start), that go on; None: there are none."""
    origin, end = recording.window_ns
    span = (origin, end) if window is None else (origin + window[0], origin + window[1])
    found = ongoing_threads(recording, run.threads, acting(recording, run.threads), span)
    steps = program_steps(run)
    last = np.zeros(len(run.threads), np.int64)
    np.maximum.at(last, steps["thread"], steps["end_ns"])
    use = [i for i, thread in enumerate(found.threads) if last[thread] > span[0]]
    if not use:
        return None
    thread = np.array(found.threads, np.int32)[use]
    work_ns = float(steps["work_ns"][np.isin(steps["thread"], thread)].sum())
    return Together(thread, found.running_ns[use], span[0], last[thread], run.wall_ns, work_ns)
