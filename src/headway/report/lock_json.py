"""Locks as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.live import LiveRow
    from headway.analyses.lock_metrics import Metrics
    from headway.analyses.lock_types import Distribution, Holder, Lock, Locks, Site
    from headway.model.live_lock import LiveTable
    from headway.model.lock_sums import LockSums


def locks_json(result: Locks) -> Iterator[dict[str, Any]]:
    """Give every row."""
    return (_lock(row, result) for row in result.rows)


def _lock(row: Lock, result: Locks) -> dict[str, Any]:
    return {
        "name": row.name,
        "blocker_id": row.blocker_id,
        "class_name": row.class_name,
        "identity_hash": row.identity_hash,
        "kind": row.kind,
        "site": row.site,
        "objects": row.objects,
        "contention": row.contention,
        "waiting": row.waiting,
        "rule": {"id": row.rule.id, "text": row.rule.text, "share": row.rule_share},
        "first_thread": row.first_thread,
        "first_stack": row.first_stack,
        "dead": row.dead,
        **_sums(row.sums),
        "first_ns": row.first_ns,
        "last_ns": row.last_ns,
        **_metrics(row.metrics),
        "wait_time_ns": _distribution(row.wait),
        "true_hold_time_ns": _distribution(row.true_hold),
        "lost_core_ns": row.lost_core_ns,
        "speedup_bound": None if row.speedup_bound is None or math.isinf(row.speedup_bound) else row.speedup_bound,
        "sites": [_site(site) for site in row.sites],
        "more_sites": row.more_sites,
        "holders": [_holder(holder) for holder in row.holders],
        "more_holders": row.more_holders,
        "holding": None if row.holding is None else _doing(row.holding),
        "chain": [asdict(link) for link in row.chain],
        "chain_is_cycle": row.chain_is_cycle,
        "deadlocked": any(
            link.blocker_id == row.blocker_id
            for each in result.deadlocks
            for link in each.links
            if row.blocker_id is not None
        ),
        "patterns": [{"name": each.name, "text": each.text, **each.figures} for each in row.patterns],
    }


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


def _distribution(found: Distribution | None) -> dict[str, Any] | None:
    if found is None:
        return None
    plain = {"p50": found.p50_ns, "p99": found.p99_ns, "max": found.max_ns, "mean": round(found.mean_ns)}
    return {**plain, "count": found.count, **({} if found.source is None else {"source": found.source})}


def _site(site: Site) -> dict[str, Any]:
    return {
        "line": site.line,
        "stack": site.frames,
        "is_cut": site.is_cut,
        "share": site.share,
        "wait_ns": site.thread_time_ns,
        "times": site.times,
        "stacks_taken": site.stacks_taken,
        "rule": site.rule.id,
        "contention": site.rule.contention,
    }


def _holder(holder: Holder) -> dict[str, Any]:
    return {
        "thread": holder.thread,
        "tid": holder.tid,
        "java_id": holder.java_id,
        "seen_by": holder.seen_by,
        "share": holder.share,
        "wait_ns": holder.wait_ns,
        "doing": _doing(holder.doing),
        "blocked_on": [asdict(each) for each in holder.blocked_on],
    }


def _doing(doing: Mapping[str, int]) -> dict[str, int]:
    return {f"{what}_ns": ns for what, ns in doing.items()}


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
