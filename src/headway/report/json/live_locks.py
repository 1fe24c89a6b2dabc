"""The locks of a running JVM as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.report.json.lock_row import LockRowEncoder, list_text
from headway.report.json.text import around, json_text

if TYPE_CHECKING:
    from headway.analyses.locks.live import LiveRow
    from headway.model.live_lock import LiveTable

_ROW = LockRowEncoder(
    2,
    of_first_wait="first_java_id",
    of_state="forgotten",
    others="mean_true_hold_time_ns true_holds parks_per_s waiters",
)


def live_locks_text(table: LiveTable, rows: list[LiveRow]) -> str:
    """Return a snapshot of a running JVM as JSON text, a key a line."""
    values = {
        "pid": json_text(table.pid),
        "recorded_ns": json_text(table.now_ns - table.since_ns),
        "dropped": json_text(table.dropped),
        "below_threshold": json_text(table.below_threshold),
        "capped": json_text(table.capped_ns > 0),
        "locks": list_text([_row(row, table.since_ns) for row in rows], 1),
    }
    return around(tuple(values), "\n") % tuple(values.values())


def _row(row: LiveRow, since_ns: int) -> str:
    lock = row.lock
    mean_hold_ns = None if row.mean_hold_ns is None else round(row.mean_hold_ns)
    return _ROW.text(
        row.name,
        row.first_line,
        lock.blocker_id,
        lock.class_name,
        lock.identity_hash,
        lock.kind,
        contention=row.contention,
        waiting=row.waiting,
        rule=json_text(row.rule),
        of_first_wait=(json_text(lock.first_java_id),),
        first_wait=(lock.first_thread, row.first_stack),
        is_dead=lock.is_dead,
        of_state=(json_text(lock.forgotten),),
        sums=lock.sums,
        since_ns=since_ns,
        metrics=row.metrics,
        others=map(json_text, (mean_hold_ns, lock.holds, row.parks_per_s, row.waiters)),
    )
