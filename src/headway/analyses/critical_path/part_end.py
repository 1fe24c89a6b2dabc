"""Finds the thread that the end of a part of a run waited for: the one that the program's critical path is on there.

Question   a part of a run has no end of its own. Whose progress up to it is the program's?
Method     the path is walked back from the program's end, by who woke whom alone, to the last of the program's threads that it is
           on before that time. A program that a signal or somebody outside ended, or that went on, has no such path.
Assumes    and errs as the critical path does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.critical_path.path_end import program_end
from headway.analyses.critical_path.stopped import stop_of_program
from headway.analyses.critical_path.walk import Walk, no_waits
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.store import Recording


def thread_on_path(recording: Recording, threads: PathThreadTable, ns: int) -> int:
    """Return the program's thread that the critical path is on just before a time (CLOCK_MONOTONIC ns); -1: none is known."""
    if recording.mode != "ebpf" or not recording.has("slice") or stop_of_program(recording, threads) is not None:
        return -1
    end = program_end(recording, threads)
    if end is None:
        return -1
    is_program = np.array([kind in PROGRAM for kind in threads.kinds], bool)
    for piece in Walk(recording, threads, no_waits(len(threads)), end.thread, recording.window_ns).pieces():
        thread = np.asarray(piece["thread"], np.int64)
        before = np.flatnonzero((np.asarray(piece["start_ns"]) < ns) & is_program[thread])
        if len(before):
            return int(thread[before[0]])
    return -1
