"""What the counters counted, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from headway.analyses.counters.totals.socket_units import amount, per_second

if TYPE_CHECKING:
    from headway.analyses.counters.types import (
        ByRuns,
        CountedGroup,
        Counters,
        Figure,
        OverIterations,
        Row,
        Spread,
        UnitCounts,
        WholeCpus,
    )


def counters_json(found: Counters) -> dict[str, Any]:
    """Return the answer; times are ns, a figure that is withheld has value null and the reason.

    `high` of a count is null, and both ends of a metric, where the counts of some of the running time are not known; `low` of a
    count is then the least that there was.
    """
    return {
        "step": found.step,
        "from_ns": found.window_ns[0],
        "to_ns": found.window_ns[1],
        "windows": _windows(found),
        "groups": _groups(found.groups),
        "total": _figures(found.total.counts),
        "total_metrics": _figures(found.total.metrics),
        f"{found.by}s": [_row(row, found.by) for row in found.rows],
        **({} if found.over is None else {"iterations_by": found.marks, "over_iterations": _over(found.over)}),
        "imbalance": {
            event: {**_figure(each.figure), "threads": each.threads, "left_out": each.left_out}
            for event, each in found.imbalance.items()
        },
        **({} if found.whole is None else {"whole_cpus": _whole(found.whole)}),
        **({} if found.by_runs is None else {"by_runs": _by_runs(found.by_runs)}),
        **({"socket_units": [_unit(each) for each in found.sockets]} if found.sockets else {}),
        "absent": [{"event": event, "reason": reason} for event, reason in found.absent],
        "warnings": [notice.as_json() for notice in found.notices],
    }


def _windows(found: Counters) -> list[dict[str, Any]]:
    """Return the stretches of time that the counts are of: each iteration, or the whole."""
    if found.by == "iteration":
        return [{key: row.key[key] for key in ("iteration", "from_ns", "to_ns")} for row in found.rows]
    return [{"from_ns": found.window_ns[0], "to_ns": found.window_ns[1]}]


def _row(row: Row, by: str) -> dict[str, Any]:
    return {
        **row.key,
        **({"unassigned_hold_ns": row.unassigned_ns} if by == "lock" else {}),
        "cpu_ns": row.cpu_ns,
        "counted_ns": row.counted_ns,
        "counts": _figures(row.counts),
        "metrics": _figures(row.metrics),
    }


def _whole(whole: WholeCpus) -> dict[str, Any]:
    return {
        "step": whole.step,
        "from_ns": whole.window_ns[0],
        "to_ns": whole.window_ns[1],
        "groups": _groups(whole.groups),
        "total": _figures(whole.total.counts),
        "total_metrics": _figures(whole.total.metrics),
        "cpus": [_row(row, "cpu") for row in whole.rows],
        "absent": [{"event": event, "reason": reason} for event, reason in whole.absent],
    }


def _by_runs(found: ByRuns) -> dict[str, Any]:
    """Return how alike the runs are whose counts were joined, and what one more run counted of all groups."""
    each = found.alignment
    return {
        "alignment": {
            "cpu_ns": list(each.cpu_ns),
            "rows": each.rows,
            "unmatched": each.unmatched,
            "unmatched_share": each.unmatched_share,
            "difference": each.difference,
            "shared": {event: {"least": low, "most": high} for event, (low, high) in each.shared.items()},
        },
        "took_turns": found.took_turns,
        "in_turn": {
            event: {**_figure(figure), "difference": found.differences[event]}
            for event, figure in found.in_turn.items()
        },
        "left_out": [{"path": path, "reason": reason} for path, reason in found.left_out],
    }


def _unit(unit: UnitCounts) -> dict[str, Any]:
    """Return what a unit counted; `amounts` are the totals in what sysfs says that its events are counted in."""
    absent = [{"event": event, "reason": reason} for event, reason in unit.absent]
    counted = unit.counted
    if counted is None:
        return {"unit": unit.name, "cpus": [], "total": {}, "amounts": {}, "absent": absent}
    rows = [{**row.key, "counted_ns": row.counted_ns, "counts": _figures(row.counts)} for row in counted.rows]
    return {
        "unit": unit.name,
        "from_ns": counted.window_ns[0],
        "to_ns": counted.window_ns[1],
        "groups": _groups(counted.groups),
        "cpus": rows,
        "total": _figures(counted.total.counts),
        "amounts": {event: _amount(unit, event, figure) for event, figure in counted.total.counts.items()},
        "absent": absent,
    }


def _amount(unit: UnitCounts, event: str, figure: Figure) -> dict[str, Any]:
    scale, of = unit.scales.get(event, (1.0, ""))
    return {"unit": of, **_figure(amount(figure, scale)), "per_second": per_second(unit, event)}


def _groups(groups: Sequence[CountedGroup]) -> list[dict[str, Any]]:
    return [
        {"events": list(group.events), "enabled_ns": group.enabled_ns, "running_ns": group.running_ns}
        for group in groups
    ]


def _over(over: OverIterations) -> dict[str, Any]:
    return {
        "iterations": over.iterations,
        "counts": {name: _spread(each) for name, each in over.counts.items()},
        "metrics": {name: _spread(each) for name, each in over.metrics.items()},
    }


def _spread(each: Spread) -> dict[str, Any]:
    ends = {"deviation": each.deviation, "least": each.least, "most": each.most, "known": each.known}
    return {"mean": _figure(each.mean), **ends}


def _figures(figures: Mapping[str, Figure]) -> dict[str, dict[str, Any]]:
    return {name: _figure(figure) for name, figure in figures.items()}


def _figure(figure: Figure) -> dict[str, Any]:
    ends: dict[str, Any] = {"value": figure.value, "low": figure.low, "high": figure.high}
    return {**ends, "withheld": figure.withheld} if figure.withheld else ends
