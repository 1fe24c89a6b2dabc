"""Marks the losses of an attached recording that depend on what happened before the attach.

Question   what would the account say otherwise, had it been recorded from the start?
Method     the agent sees a wait that had begun before it came when that is over, and not sooner. As long as an application
           thread is in such a wait, all that is said because nobody is known to wait is in doubt: serial sections, too few
           tasks, and what only the kernel tells of. So is a join of a background thread that was there already, for one that
           was there, too: such a thread may watch over the one that started it, which is no join of the program's
           (account.attribution), and who started it nobody saw.
Assumes    a thread that is born in the recording has its parent in the table of threads.
Wrong when a loss comes out larger than it is: it is in doubt as a whole, be that because of one wait of many, or of one that
           nobody needs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.lost_cores.account.work_roles import BACKGROUND, WATCHER, work_roles
from headway.analyses.waits.tables.blocks import has_locks

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.grouping import LossRow
    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Bools = NDArray[np.bool_]

ATTACHED = "HW498"
_NAMES = tuple(causes.CAUSES)
_JOINS = (causes.IMBALANCE, causes.FEW)
_NOBODY_WAITS = (causes.SERIAL, causes.FEW, causes.OTHERS_WAIT, causes.BLOCKED, causes.UNKNOWN)


class Doubts:
    """Finds doubtful losses; loads data on first use."""

    def __init__(self, recording: Recording, waits: Waits) -> None:
        """Take the recording and its waits."""
        self.recording = recording
        self.waits = waits

    def of(self, row: LossRow, window: tuple[int, int]) -> tuple[str, ...]:
        """Return the ids of the messages that say why a loss in a window (ns from the recording's start) is doubtful."""
        if not self.recording.manifest.attached or not has_locks(self.recording):
            return ()
        if row.key < 0:
            is_touched = _NAMES[row.cause] in _NOBODY_WAITS and window[0] < self._waited_until
            return (ATTACHED,) if is_touched else ()
        waits = self.waits
        of_row = self._doubtful & (waits.key == row.key) & (waits.end > window[0]) & (waits.start < window[1])
        return (ATTACHED,) if of_row.any() else ()

    @cached_property
    def _waited_until(self) -> int:
        """Until when some thread was in a wait from before the recording. A JVM's first thread, which waits for main, is none."""
        begin, end = self.recording.window_ns
        rows = self.recording.query(
            "SELECT MIN(s.start_ns - COALESCE(s.runnable_ns, 0)), ARG_MIN(s.blocked_ns, s.start_ns) FROM thread t"
            " LEFT JOIN slice s USING (thread_id) WHERE t.from_snapshot AND t.kind = 'app' AND t.tid <> t.pid"
            " GROUP BY t.thread_id"
        ).fetchall()
        ends = [end if woken is None else woken for woken, blocked in rows if woken is None or blocked]
        return max(ends, default=begin) - begin

    @cached_property
    def _doubtful(self) -> Bools:
        """Which pieces hang on what came before."""
        waits = self.waits
        if waits.data is None:
            return np.zeros(len(waits), bool)
        joins = np.isin(waits.cause, [_NAMES.index(cause) for cause in _JOINS]) & ~waits.is_directed
        codes = np.isin(work_roles(self.recording, waits), (BACKGROUND, WATCHER))
        watching = joins & (waits.target >= 0) & codes[waits.thread] & self._ran_before(waits.thread)
        found: Bools = waits.data.blocks.is_attached[waits.block] | (watching & self._ran_before(waits.target))
        return found

    def _ran_before(self, thread: NDArray[np.int32]) -> Bools:
        """Return which threads ran before the recording; of virtual threads nothing tells."""
        rows = self.recording.query("SELECT thread_id, from_snapshot FROM thread").fetchall()
        size = max((one for one, _ in rows), default=-1) + 2
        was_there = np.zeros(size, bool)
        was_there[[one for one, before in rows if before]] = True
        return was_there[np.where((thread >= 0) & (thread < size), thread, size - 1)]
