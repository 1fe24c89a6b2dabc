"""Finds the thread that the end of the program, or of a part of it, waited for, and the threads that may have delayed it.

Question   whose gain is the program's? That a background thread waits less helps nobody, if nobody waits for that thread.
Method     the critical path is walked back from the end of the program, by who woke whom alone. At the program's end the JVM's
           main thread may only wait for the last thread that is no daemon: then that one counts, which died right after it
           woke main. A part of the recording ends with the thread that the path is on there. A program that a signal or
           somebody outside ended, or that went on, has no such thread.
           Its end may hang on all threads that ended a wait of it or started it, and on those that did so for them. Who
           reads what somebody outside wrote hangs on all that do so, too. While one of these is in a wait of which nobody
           knows who ended it, the end may hang on anybody: for no longer than that (gains.replay).
Assumes    what threads tell each other by memory alone (flags that are polled) hangs on a wait as well.
Wrong when they do not: then a gain that such a thread would bring is left out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered_pairs
from headway.analyses.critical_path.path_end import program_end
from headway.analyses.critical_path.stopped import SIGNAL_HANDLER, stop_of_program
from headway.analyses.critical_path.walk import Walk, no_waits
from headway.analyses.lost_cores.code import IN_IO
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

STEP_NS = 1_000_000
"""The thread that the path is on is kept for points in time so far apart."""
DYING_NS = 1_000_000_000
"""Between its last wait and its death a thread that ends takes no longer than that, even on a busy machine."""


class ProgramEnd:
    """Finds the threads that ends of windows waited for; times are CLOCK_MONOTONIC ns."""

    def __init__(self, recording: Recording, threads: PathThreadTable, program: list[int], last_wait_ns: Ints) -> None:
        """Take the threads of the program that count, and by thread until when it was in a wait that the JVM told of."""
        self._recording = recording
        self._threads = threads
        self._is_program = np.zeros(len(threads), bool)
        self._is_program[program] = True
        self._last_wait_ns = last_wait_ns
        self._last: tuple[int | None] | None = None
        self._path: Ints | None = None

    def thread(self, ns: int) -> int | None:
        """Return the thread that a window's end waited for; None where the program's end is not known to wait for any."""
        if self._last is None:
            self._last = (self._find_last(),)
        (last,) = self._last
        if last is None or ns >= self._recording.window_ns[1]:
            return last
        if self._path is None:
            self._path = self._find_path()
        at = (ns - self._recording.window_ns[0]) // STEP_NS
        found = int(self._path[at]) if 0 <= at < len(self._path) else -1
        return found if found >= 0 else None

    def _batches(self) -> Iterator[tuple[Ints, Ints, Ints, Ints]]:
        """Yield the path from the program's end backwards: thread, start, end, and who waits for that thread."""
        recording, threads = self._recording, self._threads
        end = program_end(recording, threads) if recording.mode == "ebpf" and recording.has("slice") else None
        if end is None:
            return
        span = (recording.window_ns[0], recording.window_ns[1])
        for piece in Walk(recording, threads, no_waits(len(threads)), end.thread, span).pieces():
            columns = (piece[name].astype(np.int64) for name in ("thread", "start_ns", "end_ns", "waiter"))
            thread, start, until, waiter = columns
            yield thread, start, until, waiter

    def _find_last(self) -> int | None:
        """Return the thread that the program's end waited for."""
        if stop_of_program(self._recording, self._threads) is not None:
            return None
        last = -1
        for thread, start, end, waiter in self._batches():
            ours = self._is_program[thread]
            if last < 0 and ours.any():
                last = int(thread[np.argmax(ours)])
            if last < 0:
                continue
            of_last = thread == last
            # Before its own last wait another one is not its end any more.
            settled = np.flatnonzero((of_last & (start < self._last_wait_ns[last])) | (ours & ~of_last))
            if len(settled):
                at = int(settled[0])
                other = int(thread[at])
                is_replayed = int(end[at]) <= self._last_wait_ns[last]  # a wait that the JVM reported
                if int(waiter[at]) == last and not is_replayed and self._died_then(other, int(end[at])):
                    last = other
                break
        if last < 0 or SIGNAL_HANDLER.match(self._threads.names[last]):
            return None
        return last

    def _died_then(self, thread: int, ns: int) -> bool:
        died = int(self._threads.end_ns[thread])
        return ns <= died <= ns + DYING_NS and int(self._last_wait_ns[thread]) <= ns

    def _find_path(self) -> Ints:
        """Return the program's thread that the path is on at the end of each step, or is on next before that; -1: none."""
        begin, end = self._recording.window_ns[0], self._recording.window_ns[1]
        found = np.full((end - begin) // STEP_NS + 1, -1)
        open_to = len(found)  # from here on all is known, and steps before that wait for a thread of the program
        for thread, start, _, _ in self._batches():
            ours = np.flatnonzero(self._is_program[thread])
            if not len(ours):
                continue
            first = np.maximum((start[ours] - begin) // STEP_NS + 1, 0)  # the first step that ends behind the start
            until = np.minimum(np.append(open_to, first[:-1]), open_to)
            for at in np.flatnonzero(first < until).tolist():
                found[first[at] : until[at]] = thread[ours[at]]
            open_to = min(open_to, int(first[-1]))
        return found


def reaching(recording: Recording, threads: PathThreadTable, last: int, woken: Ints, waker: Ints, size: int) -> Bools:
    """Return by thread whether it may have delayed the end of thread `last`: `waker` ended a wait of `woken` or started it.

    `size`: how many threads there are, virtual ones included.
    """
    first, second, _ = numbered_pairs(waker, woken)
    outside = size
    talks = _talks(recording, threads, outside)
    if talks is None:
        return np.ones(size, bool)
    source, target = np.append(first, talks[0]), np.append(second, talks[1])
    found = np.zeros(size + 1, bool)
    found[last] = True
    while True:
        more = source[found[target] & ~found[source]]
        if not len(more):
            return found[:size]
        found[more] = True


def _talks(recording: Recording, threads: PathThreadTable, outside: int) -> tuple[Ints, Ints] | None:
    """Return who let whom go on in I/O; `outside` is all that is not a thread of the program. None where that is unknown.

    Threads that are not on record count as outside: nothing tells what they are.
    """
    if not recording.has("slice"):
        return None
    has_calls = recording.query("SELECT BOOL_OR(blocked_in > 0) FROM slice").fetchone()
    if has_calls is None or not has_calls[0]:
        return None
    rows = recording.query(
        f"SELECT DISTINCT s.waker_id, s.thread_id FROM slice s WHERE {IN_IO} AND s.blocked_ns > 0 AND s.thread_id >= 0"
    ).fetchall()
    source, target = (np.array([row[side] for row in rows], np.int64) for side in (0, 1))
    is_program = np.array([kind in PROGRAM for kind in threads.kinds], bool)
    known = (source >= 0) & (source < len(is_program))
    inside = known & is_program[np.where(known, source, 0)]
    source, target = np.where(inside, source, outside), np.where(target < len(is_program), target, outside)
    return np.append(source, target[~inside]), np.append(target, np.full(int((~inside).sum()), outside))
