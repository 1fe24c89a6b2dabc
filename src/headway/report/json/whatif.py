"""Wall times after a change, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.whatif.types import Change, Predicted, PredictedAccount, UnchangedRun, WhatIf


def whatif_json(result: WhatIf) -> dict[str, Any]:
    """Return how well the unchanged runs were replayed, and what was predicted."""
    replays = [_replay(each) for each in result.replays]
    first = {key: value for key, value in replays[0].items() if key not in ("recording", "quiet_ns")}
    return {
        **first,
        "recordings": replays,
        "changes": [_predicted(each) for each in result.predicted],
        "tried": result.tried,
        "outside_ns": None if result.idleness is None else result.idleness.outside_ns,
        "idle": None if result.idleness is None else result.idleness.sentence,
        "warnings": [notice.as_json() for notice in result.notices],
    }


def _replay(each: UnchangedRun) -> dict[str, Any]:
    refused = each.refused
    return {
        "recording": each.path,
        "recorded_cores": each.recorded_cores,
        "measured_ns": each.measured_ns,
        "replayed_ns": each.replayed_ns,
        "replay_error_pct": None if each.error is None else each.error * 100,
        "quiet_ns": each.quiet_ns,
        "refused": None if refused is None else {"id": refused.id, "reason": refused.message},
    }


def change_json(change: Change) -> dict[str, Any]:
    """Return a set of changes."""
    return {
        "cores": change.cores,
        "clock": change.clock,
        "faster_io": change.io,
        "no_gc": not change.has_gc,
        "locks": [
            {"lock": lock.lock, "removed": lock.is_removed, "held_part": lock.held_part, "parts": lock.parts}
            for lock in change.locks
        ],
        "sleeps": [{"place": sleep.place.pattern, "seconds": sleep.seconds} for sleep in change.sleeps],
        "methods": [{"method": method.method, "part": method.part} for method in change.methods],
        "pools": [{"pool": pool.pool, "workers": pool.workers} for pool in change.pools],
        "queues": [{"queue": queue.queue, "room": queue.room} for queue in change.queues],
        "balanced": [{"place": each.place} for each in change.balanced],
        "waits": [{"place": each.place} for each in change.waits],
        "smt": {"per_core": change.smt.per_core, "throughput": change.smt.throughput},
    }


def _predicted(each: Predicted) -> dict[str, Any]:
    return {
        "recording": each.path,
        "together": each.together,
        "change": change_json(each.change),
        "wall_ns": each.wall_ns,
        "low_ns": each.low_ns,
        "high_ns": each.high_ns,
        "speedup": each.speedup,
        "next": None if each.next_cause is None else {"cause": each.next_cause, "place": each.next_place},
        "levels": {name: round(ns) for name, ns in asdict(each.levels).items()},
        "account": None if each.account is None else _account(each.account),
        "further": [
            {"change": change_json(one.change), "wall_ns": one.wall_ns, "gain": one.gain, "tried": one.tried}
            for one in each.further
        ],
    }


def _account(account: PredictedAccount) -> dict[str, Any]:
    return {
        "cores": account.cores,
        "wall_ns": account.wall_ns,
        "core_ns": account.core_ns,
        "used": dict(account.used_ns),
        "idle_ns": account.idle_ns,
        "lost": [
            {"cause": loss.cause, "core_ns": loss.core_ns, "share": loss.share, "place": asdict(loss.place)}
            for loss in account.lost
        ],
        "locks": [asdict(each) for each in account.locks],
        "critical_path": [asdict(each) for each in account.path],
    }
