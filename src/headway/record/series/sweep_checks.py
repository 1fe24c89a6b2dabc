"""Checks a sweep's assumptions against its runs: whether the sequential program is sequential, and which time is not its work."""

from __future__ import annotations

import contextlib
import statistics

from headway.errors import HeadwayError, Notice
from headway.store.sweep import Sweep, SweepRun

_BESIDE = 0.02
"""Share of the busy time with two application threads active from which a program is no longer called sequential: a JVM's
primordial thread and its main thread are active together for moments only."""
_LARGE_START = 0.1
_BUSY_THREAD = 0.02
"""Share of the application's CPU time from which a thread is named."""


def checks(sweep: Sweep) -> list[Notice]:
    """Return warnings about the complete runs."""
    recorded = sweep.select("sequential", recorded=True)
    found = (_left_out(sweep), _jvm_start(sweep), _beside_each_other(sweep, recorded[-1]) if recorded else None)
    return [notice for notice in found if notice is not None]


def _left_out(sweep: Sweep) -> Notice | None:
    """Return HW088, which says what a marker leaves out; None where nothing is."""
    spans = [run.warmup_excluded_ns for run in sweep.runs if run.warmup_excluded_ns is not None]
    if not spans or sweep.from_marker is None:
        return None
    return Notice.of("HW088", marker=sweep.from_marker, least=min(spans) / 1e9, most=max(spans) / 1e9)


def _jvm_start(sweep: Sweep) -> Notice | None:
    """Return HW090 when the JVM's start is a large part of the runs, and nothing is left out."""
    started = [run for run in sweep.runs if run.startup_ns is not None and run.state == "complete" and run.wall_ns]
    if not started or any(run.warmup_excluded_ns is not None for run in sweep.runs):
        return None
    share = statistics.median((run.startup_ns or 0) / (run.wall_ns or 1) for run in started)
    return Notice.of("HW090", share=share) if share > _LARGE_START else None


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
        shown = ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")
        return Notice.of("HW086", threads=len(names), names=shown, share=beside / busy)
    return None
