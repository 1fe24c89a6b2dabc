"""The threads of a recording, and how long each was running, runnable and blocked.

Question   per thread: when it lived, what it is for, how long it ran, waited for a CPU, and was blocked, and how parallel
           the program was meanwhile.
Method     sums over the thread's states, made in the native pass at finalise (table `thread`). `mean_parallelism` is the
           time-weighted mean of active threads while this one runs. Bottle graphs: Du Bois, Sartor, Eyerman, Eeckhout,
           OOPSLA 2013: each moment's wall time is divided evenly among the active threads, so the boxes' heights add up
           to the time with at least one active thread; a box's width is its area (the thread's active time) by its
           height.
Assumes    thread kinds are right (they come from names where the JVM does not tell).
Wrong when records were lost. In mode perf-switch, waiting for a CPU after a wake-up counts as blocked.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common.limits import MOST_ROWS
from headway.analyses.common.notices import recorded_notices
from headway.errors import Notice

if TYPE_CHECKING:
    from headway.store import Recording


@dataclass(frozen=True, slots=True)
class ThreadRow:
    """One thread's times in ns; None where the mode does not record them.

    start_ns and end_ns count from the start of the recording: negative when it was born before, end_ns None while it
    lives on. `share` is running_ns of the sum over all threads (0..1). `mean_parallelism` is the mean number of active
    threads while this one runs. Bottle graph: the area of a thread's box is its active time, its height
    `bottle_height_ns` the part of the wall time that falls to it (sum of dt / active threads), its width `bottle_width`
    its parallelism (area / height). `collecting_ns` is the part of running_ns in which a thread of the VM collected garbage.
    """

    thread_id: int
    pid: int
    tid: int
    name: str
    kind: str
    start_ns: int
    end_ns: int | None
    running_ns: int | None
    exec_ns: int | None
    stolen_ns: int | None
    runnable_ns: int | None
    blocked_ns: int | None
    switches: int | None
    collecting_ns: int | None
    share: float | None
    mean_parallelism: float | None
    bottle_height_ns: int | None
    bottle_width: float | None
    from_snapshot: bool


@dataclass(frozen=True, slots=True)
class Threads:
    """The threads of the recording but headway's own, those that ran longest first; `left_out`: how many more there are."""

    rows: tuple[ThreadRow, ...]
    notices: tuple[Notice, ...]
    left_out: int = 0

    @property
    def count(self) -> int:
        """Return how many threads there are, listed or not."""
        return len(self.rows) + self.left_out


_ROWS = """
SELECT thread_id, pid, tid, name, kind, start_ns - $1, end_ns - $1, running_ns, exec_ns,
    CASE WHEN exec_ns > running_ns THEN 0 ELSE running_ns - exec_ns END,
    runnable_ns, blocked_ns, switches, collecting_ns, running_ns / NULLIF((SUM(running_ns) OVER ())::DOUBLE, 0),
    parallelism_running, bottle_height_ns, bottle_width, from_snapshot
FROM thread WHERE kind <> 'headway' ORDER BY running_ns DESC NULLS LAST, thread_id LIMIT $2
"""
"""The fields of ThreadRow in their order: a program may have a million threads.

stolen_ns is never below zero: the two clocks differ by microseconds, and a thread that lost nothing may seem to have gained.
"""


def threads(recording: Recording) -> Threads:
    """List the threads of a recording, MOST_ROWS at most.

    Raises HeadwayError HW306 or HW303 when its table can't be read.
    """
    found = recording.query(_ROWS, [recording.window_ns[0], MOST_ROWS]).fetchall()
    left_out = 0
    if len(found) == MOST_ROWS:
        (count,) = recording.query("SELECT count(*) FROM thread WHERE kind <> 'headway'").fetchone() or (0,)
        left_out = int(count) - len(found)
    return Threads(tuple(itertools.starmap(ThreadRow, found)), recorded_notices(recording), left_out)
