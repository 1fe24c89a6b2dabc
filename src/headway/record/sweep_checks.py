"""What the recordings of a sweep tell of its assumptions: is the sequential program sequential?"""

from __future__ import annotations

import contextlib

from headway.errors import HeadwayError, Notice
from headway.store.sweep import Sweep, SweepRun

_BESIDE = 0.02
"""Share of the busy time with two application threads active from which a program is no longer called sequential: a JVM's
primordial thread and its main thread are active together for moments only."""
_BUSY_THREAD = 0.02
"""Share of the application's CPU time from which a thread is named."""


def checks(sweep: Sweep) -> list[Notice]:
    """Return the warnings that the complete runs give rise to."""
    recorded = sweep.select("sequential", recorded=True)
    found = _beside_each_other(sweep, recorded[-1]) if recorded else None
    return [found] if found is not None else []


def _beside_each_other(sweep: Sweep, run: SweepRun) -> Notice | None:
    """Return HW086 when a run of the sequential program had application threads active beside each other."""
    with contextlib.suppress(HeadwayError), contextlib.closing(sweep.open(run)) as recording:
        if not recording.has("activity"):
            return None
        (row,) = recording.query(
            "SELECT coalesce(sum(dur_ns) FILTER (active_app > 1), 0), coalesce(sum(dur_ns) FILTER (active_app > 0), 0)"
            " FROM activity WHERE bin_start_ns >= $1",
            (recording.window_ns[0] + (run.warmup_excluded_ns or 0),),
        ).fetchall()
        beside, busy = int(row[0]), int(row[1])
        threads = recording.query(
            "SELECT name, coalesce(running_ns, 0) FROM thread WHERE kind IN ('app', 'carrier') ORDER BY 2 DESC, 1"
        ).fetchall()
        total = sum(spent for _, spent in threads)
        names = [name for name, spent in threads if spent > _BUSY_THREAD * total]
        if not busy or beside <= _BESIDE * busy or len(names) < 2:
            return None
        told = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        return Notice.of("HW086", threads=len(names), names=told, share=beside / busy)
    return None
