"""Detects polling: waits with a time limit, repeated until another thread notifies, count as waits for that thread.

Question   a wait with a time limit is over because its time is. Was it the time that was waited for, or a condition that is
           looked at now and then, as `while (!done) lock.wait(1000)` does?
Method     by what others do. A thread polls an object if another thread has ended one of its waits there, or of anybody's on the
           same object. A loop near a thread's run() may as well be a housekeeper that does its round each time and that is
           notified once, to stop: there it takes two of its own waits that were ended. Nor is a pool's idle thread a poller,
           which parks near its run() for as long as it is kept alive, and is unparked for each task (`only_in_calls`).
Assumes    what is notified once is notified for the same reason again.
Wrong when a scheduler waits within a call for the time of its next task, and is notified of new ones: its time counts as a
           condition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered, numbered_pairs
from headway.analyses.waits.rules import Wait

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_LEAST_NEAR_RUN = 2


def polls(data: LockData, timed: Ints, stack: Ints, *, only_in_calls: bool = False) -> Bools:
    """Return which of some blocks with a time limit (`timed`: their rows) are of threads that poll. `stack`: of all blocks."""
    if not len(timed):
        return np.zeros(0, bool)
    blocks = data.blocks
    is_ended = (blocks.waker >= 0) & (blocks.waker != blocks.thread) & ~np.isin(blocks.waker, helpers(data))
    _, _, group = numbered_pairs(blocks.thread[timed].astype(np.int64), blocks.blocker[timed].astype(np.int64))
    own = np.bincount(group, weights=is_ended[timed])[group]
    anybody = np.bincount(blocks.blocker[is_ended], minlength=len(data.blockers))[blocks.blocker[timed]]
    anybody = np.where(data.blockers.is_object[blocks.blocker[timed]], anybody, 0)
    stacks, at = numbered(stack[timed])
    near = np.array([_is_near_run(data, int(each)) for each in stacks], dtype=bool)[at]
    return np.asarray(np.where(near, (own >= _LEAST_NEAR_RUN) & (not only_in_calls), (own > 0) | (anybody > 0)))


def _is_near_run(data: LockData, stack: int) -> bool:
    """Return whether a stack is that of a loop that a thread consists of; where it is not known, it may be."""
    wait = Wait("", "", tuple((name, method) for name, method, _ in data.frames(stack)), False, data.is_cut(stack))
    is_main = bool(wait.own) and wait.own[-1].endswith(".main")
    return not wait.frames or (wait.is_near_run and not is_main)


def helpers(data: LockData) -> Ints:
    """Return the threads of the JVM and of headway. One may wake a thread that stopped for the JVM's sake at the end of its wait,
    but nobody waits for what it does.
    """
    rows = data.recording.query("SELECT thread_id FROM thread WHERE kind NOT IN ('app', 'carrier')").fetchall()
    return np.array([row[0] for row in rows], dtype=np.int64)
