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

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lost_cores.gains.ongoing import acting, ongoing_threads
from headway.analyses.whatif.step_changes import program_steps
from headway.analyses.whatif.threads_together import ThreadsTogether

if TYPE_CHECKING:
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.store import Recording


def together(recording: Recording, run: RecordedRun, window: tuple[int, int] | None) -> ThreadsTogether | None:
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
    return ThreadsTogether(thread, found.running_ns[use], span[0], last[thread], run.wall_ns, work_ns)
