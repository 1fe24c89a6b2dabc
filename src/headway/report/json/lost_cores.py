"""Where the cores went, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from headway.analyses.lost_cores.types import TOGETHER, USED

if TYPE_CHECKING:
    from headway.analyses.counters.types import Figure
    from headway.analyses.lost_cores.types import Account, Loss, Phase, Why


def why_json(result: Why) -> dict[str, Any]:
    """Return the whole answer."""
    return {
        **account_json(result.account),
        "by_cause": dict(result.by_cause),
        **_cpi(result.cpi),
        "phases": [_phase(phase) for phase in result.phases],
        "mode": result.mode,
        "warnings": [notice.as_json() for notice in result.notices],
    }


def account_json(account: Account) -> dict[str, Any]:
    """Return an account; its parts add up to core_ns, but for `invariant_error` of it."""
    used: dict[str, int | None] = {kind: account.used_ns.get(kind) for kind in USED}
    if TOGETHER in account.used_ns:
        used[TOGETHER] = account.used_ns[TOGETHER]
    return {
        "cores": account.cores,
        "wall_ns": account.wall_ns,
        "from_ns": account.start_ns,
        "to_ns": account.end_ns,
        "core_ns": account.core_ns,
        "used": used,
        "stolen_ns": account.stolen_ns,
        "other_processes_ns": account.other_processes_ns,
        "idle_ns": account.idle_ns,
        "outside_ns": account.outside_ns,
        "idle": [asdict(each) for each in account.idle],
        "lost_ns": account.lost_ns,
        "lost": [_loss(loss) for loss in account.lost],
        "invariant_error": account.invariant_error,
        "excess_ns": account.excess_ns,
    }


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "cause": loss.cause,
        "core_ns": loss.core_ns,
        "share": loss.share,
        "place": asdict(loss.place),
        "bound_speedup": loss.bound_speedup,
        "likely_speedup": loss.likely_speedup,
        "likely_low": None if loss.likely_interval is None else loss.likely_interval[0],
        "likely_high": None if loss.likely_interval is None else loss.likely_interval[1],
        "likely_refused": None if loss.unknown_gain is None else loss.unknown_gain.id,
        "evidence": list(loss.evidence),
        "figures": dict(loss.figures or {}),
        "doubts": list(loss.doubts),
    }


def _phase(phase: Phase) -> dict[str, Any]:
    return {"phase": phase.number, "active": phase.active, **_cpi(phase.cpi), **account_json(phase.account)}


def _cpi(figure: Figure | None) -> dict[str, Any]:
    """Return cycles per instruction under a key that recordings without counters do not have."""
    return {} if figure is None else {"cpi": asdict(figure)}
