"""What the live table of a running JVM says: the paper's metrics of the sums so far. No single waits, no kernel.

Contention is told by kind and class alone; where that takes the stacks of all waits (conditions, Object.wait), it is left
open (None): there is only that of the first one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from headway.analyses.lock_metrics import Metrics, metrics
from headway.analyses.lock_rules import OTHER, Wait, classify, display
from headway.analyses.lock_sites import frame_text, line_of_frames

if TYPE_CHECKING:
    from headway.model.live_lock import LiveFrame, LiveLock, LiveTable


@dataclass(frozen=True, slots=True)
class LiveRow:
    """One object of a running JVM; `parks_per_s` and `waiters` are of the time since the snapshot before (None in the first).

    `first_line` is the place of the first wait, `first_stack` its stack, innermost frame first (empty: not taken).
    """

    name: str
    lock: LiveLock
    metrics: Metrics
    mean_hold_ns: float | None
    contention: bool | None
    waiting: str | None
    parks_per_s: float | None
    waiters: float | None
    first_line: str | None
    first_stack: tuple[str, ...]


SORT = ("thread-time", "now", "times", "real-time", "average", "peak")


def live_rows(
    table: LiveTable, before: LiveTable | None = None, sort: str = "thread-time", min_parks: int = 0
) -> list[LiveRow]:
    """Return the rows of a snapshot; with the one before, also how it went since then. Contention and the unknown first."""
    earlier = {_key(lock): lock for lock in before.rows} if before is not None else {}
    span_ns = table.now_ns - before.now_ns if before is not None else 0
    rows = [_row(table, lock, earlier.get(_key(lock)), span_ns) for lock in table.rows]
    kept = [row for row in rows if row.lock.sums.times_parked >= max(min_parks, 1)]  # an unused row is none
    return sorted(kept, key=lambda row: (row.contention is False, -_value(row, sort), row.lock.sums.first_ns))


def _key(lock: LiveLock) -> tuple[object, ...]:
    return lock.blocker_id, lock.kind, lock.class_name, lock.identity_hash, lock.sums.first_ns


def _row(table: LiveTable, lock: LiveLock, earlier: LiveLock | None, span_ns: int) -> LiveRow:
    rule = classify(Wait(lock.kind, lock.class_name))
    is_known = rule is not OTHER
    sums, past = lock.sums, earlier.sums if earlier is not None else None
    return LiveRow(
        name=display(lock.class_name, lock.identity_hash, lock.forgotten > 0),
        lock=lock,
        metrics=metrics(sums, table.now_ns - table.since_ns),
        mean_hold_ns=lock.hold_ns / lock.holds if lock.holds else None,
        contention=rule.contention if is_known else None,
        waiting=rule.waiting if is_known else None,
        parks_per_s=(sums.times_parked - (past.times_parked if past else 0)) * 1e9 / span_ns if span_ns else None,
        waiters=(sums.thread_time_ns - (past.thread_time_ns if past else 0)) / span_ns if span_ns else None,
        first_line=_texts(lock.first_stack)[0] if lock.first_stack else None,
        first_stack=_texts(lock.first_stack)[1],
    )


@lru_cache(maxsize=4096)
def _texts(stack: tuple[LiveFrame, ...]) -> tuple[str, tuple[str, ...]]:
    """Return a stack's place and its frames as people read them; thousands of locks share one."""
    return line_of_frames(stack), tuple(map(frame_text, stack))


def _value(row: LiveRow, sort: str) -> float:
    sums = row.lock.sums
    values = {
        "thread-time": sums.thread_time_ns,
        "now": sums.parked_now,
        "times": sums.times_parked,
        "real-time": sums.real_time_ns,
        "average": row.metrics.average_parking_time_ns or 0,
        "peak": sums.peak_parked,
    }
    return float(values[sort])
