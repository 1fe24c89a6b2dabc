"""Finds which virtual thread was mounted on a carrier when the carrier ended a wait.

Question   a join of a virtual thread is ended by its carrier, which acts for it once it is done. Whose end was it?
Method     a virtual thread goes on after a wait on a carrier that runs at that moment, and keeps it until it waits again or
           ends; a carrier that blocks for long has none. So it is the one whose wait ended last before, while the carrier
           ran, which has not begun another wait and since when the carrier has not been blocked for long. Nobody ends twice:
           whom an earlier end was told of is not taken for another one.
Assumes    clocks of the kernel and the agent agree, as in all of a recording.
Wrong when several carriers ran all the time, and the virtual thread that ended did not wait for long, or never: then another one
           may be taken for it. Where no wait is on record from which it could have come nothing is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_AT_ONCE_NS = 1_000_000
"""All that wait for an end are told of it within this time."""
_SHORT_NS = 100_000
"""A carrier that blocks for less waits for something within the JVM, and keeps its virtual thread."""
_MOST_STEPS = 64
_MOST_CARRIERS = 1024
"""A JVM has as many as CPUs, 256 at most unless it is told otherwise; of more nothing is known, as each looks at all waits."""
_NEVER = 1 << 62


def carriers_of(recording: Recording) -> Ints:
    """Return the threads that carry virtual ones, read once of each recording."""
    kept = recording.kept.get(carriers_of)
    if isinstance(kept, np.ndarray):
        return kept
    rows = recording.query("SELECT thread_id FROM thread WHERE kind = 'carrier' ORDER BY thread_id").fetchall()
    found = np.array([row[0] for row in rows], dtype=np.int64)
    recording.kept[carriers_of] = found
    return found


def mounted(data: LockData, carrier: Ints, moment: Ints) -> Ints:
    """Return the virtual thread that each carrier had at a moment, when that ended; -1 where it is not known."""
    found = np.full(len(carrier), -1, dtype=np.int64)
    rows = np.flatnonzero(data.blocks.thread >= data.platform_threads)
    if not len(rows) or not data.recording.has("slice"):
        return found
    rows, resumed_ns, blocked_again_ns = _resumed(data, rows)
    thread = data.blocks.thread[rows].astype(np.int64)
    process = data.blockers.pid[data.blocks.blocker[rows]]
    pid_of = dict(data.recording.query("SELECT thread_id, pid FROM thread WHERE kind = 'carrier'").fetchall())
    for one in np.unique(carrier)[:_MOST_CARRIERS].tolist():
        began, ended, woken = _runs(data.recording, one)
        on_carrier = np.flatnonzero((process == pid_of.get(one, -1)) & _is_within(resumed_ns, began, ended))
        on_carrier = on_carrier[np.argsort(resumed_ns[on_carrier], kind="stable")]
        asked = np.flatnonzero(carrier == one)
        last_woken = np.append(woken, -_NEVER)[np.searchsorted(woken, moment[asked], side="right") - 1]
        at = _last(resumed_ns[on_carrier], blocked_again_ns[on_carrier], moment[asked], last_woken)
        found[asked] = np.where(at >= 0, np.append(thread[on_carrier], -1)[at], -1)
    return _once(found, moment)


def _resumed(data: LockData, rows: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the waits among some that are over, when each thread resumed after it, and when that thread blocked again."""
    blocks = data.blocks
    rows = rows[np.lexsort((blocks.began[rows], blocks.thread[rows]))]
    again = np.full(len(rows), _NEVER, dtype=np.int64)
    again[:-1] = np.where(blocks.thread[rows[1:]] == blocks.thread[rows[:-1]], blocks.began[rows[1:]], _NEVER)
    over = ~blocks.is_open[rows]
    return rows[over], blocks.full[rows[over]].astype(np.int64), again[over]


def _runs(recording: Recording, carrier: int) -> tuple[Ints, Ints, Ints]:
    """Return when a carrier ran: begins and ends; and the begins before which it had been blocked for long."""
    origin = recording.window_ns[0]
    rows = recording.query(
        f"SELECT start_ns, running_ns, blocked_ns > {_SHORT_NS} AS woken FROM slice WHERE thread_id = ? ORDER BY start_ns",
        [carrier],
    ).fetchnumpy()
    start = np.asarray(rows["start_ns"]).astype(np.int64) - origin
    running = np.ma.filled(rows["running_ns"], 0).astype(np.int64)
    woken = np.ma.filled(rows["woken"], False).astype(bool)
    return start, start + running, start[woken]


def _is_within(time: Ints, begin: Ints, end: Ints) -> Bools:
    at = np.searchsorted(begin, time, side="right") - 1
    return np.asarray((at >= 0) & (time <= np.append(end, -_NEVER)[at]))


def _last(resumed_ns: Ints, blocked_again_ns: Ints, moment: Ints, since: Ints) -> Ints:
    """Return for each moment who resumed last before it, at or after `since`, and is not blocked then; -1: nobody."""
    at = np.searchsorted(resumed_ns, moment, side="right") - 1
    when, again = np.append(resumed_ns, -_NEVER), np.append(blocked_again_ns, _NEVER)
    for _ in range(_MOST_STEPS):
        skip = (at >= 0) & (again[at] <= moment)
        if not skip.any():
            break
        at = np.where(skip, at - 1, at)
    fits = (at >= 0) & (again[at] > moment) & (when[at] >= since)
    return np.where(fits, at, -1)


def _once(thread: Ints, moment: Ints) -> Ints:
    """Take away threads from moments after their end: the first one that each was found for."""
    known = np.flatnonzero(thread >= 0)
    if not len(known):
        return thread
    ends = np.full(int(thread.max()) + 1, _NEVER, dtype=np.int64)
    np.minimum.at(ends, thread[known], moment[known])
    late = known[moment[known] > ends[thread[known]] + _AT_ONCE_NS]
    found = thread.copy()
    found[late] = -1
    return found
