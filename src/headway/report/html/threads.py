"""What threads did over time, for the page: a lane each for those that ran longest, exact or in shares, and a sum of the rest."""

from __future__ import annotations

import base64
from typing import Any

from headway.analyses.scheduling.lanes import STATES, Lane, Lanes
from headway.report.html.text import cut

NAME_CHARS = 120


def lane_values(states: Lanes, total: int) -> dict[str, Any]:
    """Return the lanes of `total` threads."""
    return {
        "total": total,
        "lanes": [_lane(lane) for lane in states.lanes],
        "rest": None if states.rest is None else _rest(states),
    }


_PLAIN = [
    "pid",
    "tid",
    "kind",
    "start_ns",
    "end_ns",
    "running_ns",
    "stolen_ns",
    "runnable_ns",
    "blocked_ns",
    "switches",
    "share",
    "mean_parallelism",
    "bottle_height_ns",
    "bottle_width",
]


def _lane(lane: Lane) -> dict[str, Any]:
    exact = lane.exact
    pairs = zip(exact.codes, exact.dur_ns, strict=True) if exact else ()
    return {
        "id": lane.thread.thread_id,
        "name": cut(lane.thread.name, NAME_CHARS),
        **{name: getattr(lane.thread, name) for name in _PLAIN},
        "exact": [value for pair in pairs for value in pair] if exact else None,
        "exact_from_ns": exact.start_ns if exact else 0,
        "bins": {"n": lane.shares.bins, **{s: _base64(lane.shares.of[s]) for s in STATES}} if lane.shares else None,
    }


def _base64(shares: bytes) -> str:
    return base64.b64encode(shares).decode("ascii") if any(shares) else ""


def _rest(states: Lanes) -> dict[str, Any]:
    assert states.rest is not None
    rest = states.rest
    plain = ["threads", "running_ns", "runnable_ns", "blocked_ns", "switches"]
    return {**{name: getattr(rest, name) for name in plain}, "by_kind": dict(rest.by_kind)}
