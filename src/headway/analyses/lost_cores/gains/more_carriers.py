"""Estimates what more carriers would likely gain a program whose virtual threads waited for one.

Question   virtual threads could run and had no carrier. Would they have run with one, or waited for a lock at once?
Method     the recording is replayed without these waits (gains.replay). A lock stays busy for as long as threads waited for
           it, however many carriers there are: its holders follow each other. Only while its holder itself waited for a carrier
           that would be shorter. So the program takes at least that time, of the lock that was waited for longest, and the time
           before the first wait for a carrier and after the last one. What is
           between the replay and the time in which it is not known who ended what the program's end hangs on may be gained, too:
           where that makes a difference, or nothing can be said of the end, the gain is not known.
Assumes    a lock that nobody waited for is no obstacle with more carriers, either. With a single carrier nobody can wait for a
           monitor whose owner keeps that carrier: then the gain is not known.
Wrong when threads that never wait for a lock come to it together with more carriers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.intervals import Spans
from headway.analyses.waits.wait_causes import CODE

if TYPE_CHECKING:
    from headway.analyses.waits.pieces import Waits

MOST_LOCKS = 32
"""Locks that are looked at, those that were waited for longest."""
SAME = 1.1
"""Speedups that differ by less are the same, as far as an estimate tells."""


def likely_saved_ns(
    waits: Waits, window: tuple[int, int], replayed_ns: int, unknown_ns: int, carriers: int
) -> int | None:
    """Return the wall time that more carriers likely save; None where it is not known.

    `replayed_ns`: what the replay without waits for carriers gains; `unknown_ns`: for how long nobody knows who ended the waits
    that the end hangs on; `carriers`: how many there were.
    """
    if (
        carriers == 1
        and waits.data is not None
        and np.any(waits.data.blocks.is_pinned & waits.data.blocks.owns_monitor)
    ):
        return None
    wall_ns = window[1] - window[0]
    span = _span_without(waits, window)
    most_ns = span[1] - span[0] - _longest_busy_ns(waits, span)
    least_ns, up_to_ns = min(replayed_ns, most_ns), min(replayed_ns + unknown_ns, most_ns)
    is_known = wall_ns - least_ns <= SAME * max(wall_ns - up_to_ns, 1)
    return least_ns if is_known else None


def _span_without(waits: Waits, window: tuple[int, int]) -> tuple[int, int]:
    """Return the part of a window from where a thread was first without a carrier to where one last was."""
    rows = np.flatnonzero((waits.cause == CODE[causes.CARRIERS]) & (waits.end > window[0]) & (waits.start < window[1]))
    if not len(rows):
        return window[0], window[0]
    return max(window[0], int(waits.start[rows].min())), min(window[1], int(waits.end[rows].max()))


def _longest_busy_ns(waits: Waits, window: tuple[int, int]) -> int:
    """Return for how long a lock was waited for while its holder had a carrier, of the lock for which that is longest."""
    inside = (waits.end > window[0]) & (waits.start < window[1])
    locks = np.flatnonzero(inside & (waits.cause == CODE[causes.LOCK]) & (waits.key >= 0))
    if not len(locks):
        return 0
    start, end = np.maximum(waits.start, window[0]), np.minimum(waits.end, window[1])
    total = np.bincount(waits.key[locks], weights=(end - start)[locks])
    longest = np.argsort(-total)[:MOST_LOCKS]
    unmounted = np.flatnonzero(inside & (waits.cause == CODE[causes.CARRIERS]))
    most = 0
    for key in longest[total[longest] > 0].tolist():
        rows = locks[waits.key[locks] == key]
        parts = []
        for holder in np.unique(waits.target[rows]).tolist():
            its = rows[waits.target[rows] == holder]
            without = unmounted[waits.thread[unmounted] == holder]
            had = Spans.of(start[its], end[its]) - Spans.of(start[without], end[without])
            parts.append(had)
        begins, ends = (np.concatenate([getattr(each, name) for each in parts]) for name in ("start", "end"))
        most = max(most, Spans.of(begins, ends).total)
    return most
