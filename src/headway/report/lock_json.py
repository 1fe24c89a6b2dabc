"""Locks as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from headway.report.lock_text import lock_texts

if TYPE_CHECKING:
    from headway.analyses.live import LiveRow
    from headway.analyses.lock_metrics import Metrics
    from headway.analyses.lock_types import Locks
    from headway.model.live_lock import LiveTable
    from headway.model.lock_sums import LockSums


def locks_json(result: Locks) -> Iterator[dict[str, Any]]:
    """Give every row."""
    return map(json.loads, lock_texts(result))


def _sums(sums: LockSums) -> dict[str, Any]:
    return {
        "times_parked": sums.times_parked,
        "times_measured": sums.times_measured,
        "parked_now": sums.parked_now,
        "peak_parked": sums.peak_parked,
        "parking_thread_time_ns": sums.thread_time_ns,
        "parking_real_time_ns": sums.real_time_ns,
    }


def _metrics(found: Metrics) -> dict[str, Any]:
    return {
        "average_parking_time_ns": _rounded(found.average_parking_time_ns),
        "average_hold_time_ns": _rounded(found.average_hold_time_ns),
        "real_time_util_pct": found.real_time_util_pct,
        "thread_time_util_pct": found.thread_time_util_pct,
        "real_life_time_util_pct": found.real_life_time_util_pct,
        "thread_life_time_util_pct": found.thread_life_time_util_pct,
    }


def _rounded(ns: float | None) -> int | None:
    return None if ns is None else round(ns)


def live_json(table: LiveTable, rows: list[LiveRow]) -> dict[str, Any]:
    """Return a snapshot of a running JVM."""
    return {
        "pid": table.pid,
        "recorded_ns": table.now_ns - table.since_ns,
        "dropped": table.dropped,
        "below_threshold": table.below_threshold,
        "capped": table.capped_ns > 0,
        "locks": [_live(row, table.since_ns) for row in rows],
    }


def _live(row: LiveRow, since_ns: int) -> dict[str, Any]:
    lock = row.lock
    return {
        "name": row.name,
        "blocker_id": lock.blocker_id,
        "class_name": lock.class_name,
        "identity_hash": lock.identity_hash,
        "kind": lock.kind,
        "contention": row.contention,
        "waiting": row.waiting,
        "first_java_id": lock.first_java_id,
        "first_thread": lock.first_thread,
        "first_stack": row.first_stack,
        "dead": lock.is_dead,
        "forgotten": lock.forgotten,
        **_sums(lock.sums),
        "first_ns": lock.sums.first_ns - since_ns,
        "last_ns": lock.sums.last_ns - since_ns,
        **_metrics(row.metrics),
        "mean_true_hold_time_ns": _rounded(row.mean_hold_ns),
        "true_holds": lock.holds,
        "parks_per_s": row.parks_per_s,
        "waiters": row.waiters,
    }
