"""Computes the critical path: at each instant the one thread that the program's end depends on, from who woke whom.

Question   which threads, doing what, would have to be faster for the program to end earlier; and for which locks it waited.
Method     backwards from the end of the span. Where the thread runs or is ready to run, it is on the path. Where it is blocked
           and another thread ended that, the path goes over to that thread at the waking, and comes back where the block
           began (Giraldeau and Dagenais, TPDS 2016, and Perfetto's critical paths: bounded by the blocking window). Where an
           interrupt ended the block (a timer, a disk, the network) the block itself is on the path. Who ended a block is the
           kernel's word for it, but for who ended the process and so all waits in it; where that is missing, what the JVM
           recorded of its waits: who unparked, who held the lock. Some kernels hide wakings from every tracer, but never those by
           a recorded thread: a wait with a time limit that nobody is known to have ended was a sleep.
           Before a thread's birth comes the thread that made it. Running time goes to methods by the CPU samples that fall on it.
Assumes    that a thread which wakes another was what the other waited for. The path ends in the program's first thread where
           the program ended with the span (in the thread that ended it, where that is another one: System.exit), else in the
           application thread that was active last.
Wrong when threads spin instead of blocking (the path stays on who spins), and when a thread is woken by one that happened to be
           there: a batch of wakings, a cascade of parked readers. A lost record of a waking makes a sleep of a wait with a time
           limit, where the JVM recorded no wait. Virtual threads are seen as their carriers. The path is one
           chain of many: making it shorter may bring another to light, so its shares are upper bounds of what can be gained.
Bounded    linear in slices, one row group and the waits in memory; the path's length is that of the span, exactly.
Checked    tests/property/test_critical_path_walk.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from headway.analyses.common.notices import recorded_notices
from headway.analyses.critical_path.lock_names import LockNames
from headway.analyses.critical_path.methods import Methods
from headway.analyses.critical_path.path_end import choose_end
from headway.analyses.critical_path.path_threads import PathThreadTable, load_threads
from headway.analyses.critical_path.segments import Segments
from headway.analyses.critical_path.sums import NAMES, PathSums, PieceNamer
from headway.analyses.critical_path.types import CriticalPath, PathThread
from headway.analyses.critical_path.walk import Walk, load_waits
from headway.analyses.scheduling.activity import checked_window, no_scheduling
from headway.errors import Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

LIMIT = 2000
"""Segments of a result."""


def critical_path(
    recording: Recording,
    *,
    window: tuple[int, int] | None = None,
    thread: re.Pattern[str] | None = None,
    limit: int = LIMIT,
) -> CriticalPath:
    """Return the critical path of a recording, or of a window (from, to) in ns from its start.

    thread: the path ends in the thread, of those whose name it is found in, that was active last. limit: of segments.

    Raises HeadwayError HW400 or HW450 (no scheduling recorded), HW401 (window empty or outside), HW402 (no span), HW495 (no such
    thread) or HW303 (damaged).
    """
    asked = checked_window(recording, window)
    if not recording.has("slice") or not recording.has("thread"):
        raise no_scheduling(recording)
    origin = recording.window_ns[0]
    span = (origin + asked[0], origin + asked[1])
    threads = load_threads(recording)
    waits = load_waits(recording, len(threads))
    end = choose_end(recording, threads, span, thread)
    walk = Walk(recording, threads, waits, end.thread, span)
    namer, sums = PieceNamer(recording, threads, waits), PathSums(threads, waits)
    methods, segments = Methods(recording, waits, span), Segments(threads, waits, span, limit)
    for columns in walk.pieces():
        named = namer.name(columns)
        sums.add(named)
        methods.add(named)
        segments.add(named)
    names = LockNames(waits.locks) if waits.locks is not None else None
    return CriticalPath(
        window_ns=asked,
        mode=recording.mode,
        thread=_thread(threads, end.thread, sums.by_thread[end.thread]),
        chosen=end.chosen,
        segments=segments.result(origin, names),
        by_state=_by_state(sums.by_thread.sum(axis=0)),
        by_thread=_by_thread(threads, sums.by_thread),
        by_lock=sums.by_lock(names),
        by_method=methods.rows(sums.by_thread),
        followed=walk.followed,
        pieces=sums.pieces,
        has_samples=methods.has_samples,
        notices=(*recorded_notices(recording), *_notices(recording, waits.locks is not None)),
    )


def _by_state(sums: NDArray[np.int64]) -> tuple[tuple[str, int], ...]:
    rows = [(name, int(sums[code])) for code, name in enumerate(NAMES) if sums[code]]
    return tuple(sorted(rows, key=lambda row: -row[1]))


def _by_thread(threads: PathThreadTable, sums: NDArray[np.int64]) -> tuple[PathThread, ...]:
    import numpy as np

    there = np.flatnonzero(sums.any(axis=1)).tolist()
    rows = [_thread(threads, each, sums[each]) for each in there]
    return tuple(sorted(rows, key=lambda row: (-row.ns, row.thread_id)))


def _thread(threads: PathThreadTable, thread: int, sums: NDArray[np.int64]) -> PathThread:
    return PathThread(
        thread,
        int(threads.tid[thread]),
        threads.names[thread],
        threads.kinds[thread],
        int(sums.sum()),
        dict(_by_state(sums)),
    )


def _notices(recording: Recording, has_locks: bool) -> tuple[Notice, ...]:
    """Say so where the kernel did not tell who woke whom."""
    if recording.mode == "ebpf":
        return ()
    known = "waits for locks are followed by the JVM's records alone" if has_locks else "no wait is followed"
    return (Notice.of("HW494", mode=recording.mode, known=known),)
