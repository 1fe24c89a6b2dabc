"""What the HTML report shows, gathered from the analyses: plain JSON values of at most PAYLOAD_BYTES, always.

web/src/payload.ts describes every key; keep the two alike. Times are ns from the start of the recording. Whatever could
grow with the recording (levels, threads, names, pauses, messages) has a limit here, and what a limit leaves out is said.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from headway.analyses.lanes import MAX_LANES, STATES, Lane, Lanes, lanes
from headway.analyses.overview import Overview, overview
from headway.analyses.parallelism import KINDS, Level, Parallelism
from headway.analyses.walltime import Walltime
from headway.errors import MESSAGES, Notice
from headway.report.html.facts import facts, title
from headway.report.html.flame_graphs import FlameView, flame_view
from headway.report.html.flame_pack import json_bytes
from headway.report.html.locks import LockView, lock_view
from headway.report.html.text import cut
from headway.report.html.why import WhyView, why_view

if TYPE_CHECKING:
    from headway.store import Recording

PAYLOAD_BYTES = 2_000_000
EXACT_LEVELS = 160
MAX_PAUSES = 1000
MAX_NOTICES = 40
NAME_CHARS = 120
CAUSE_CHARS = 40
TEXT_CHARS = 600
IN_THE_VIEW = ("cores", "lost_most")


def build_payload(recording: Recording) -> dict[str, Any]:
    """Return everything the page shows of a recording, at most PAYLOAD_BYTES of UTF-8 JSON."""
    found = overview(recording)
    views = Views(lock_view(recording), flame_view(recording), why_view(recording, found))
    limit = MAX_LANES
    while True:
        payload = _payload(recording, found, lanes(recording, found.threads.rows, limit), views)
        if json_bytes(payload) <= PAYLOAD_BYTES or limit == 0:
            return payload
        limit //= 2


class Views(NamedTuple):
    """Values of views, or why there are none, and notices."""

    locks: LockView
    flames: FlameView
    why: WhyView


def _payload(recording: Recording, found: Overview, states: Lanes, views: Views) -> dict[str, Any]:
    manifest = recording.manifest
    told = [notice for view in views for notice in view[2]]
    return {
        "version": 1,
        "made": {
            "headway": manifest.headway_version or "unknown",
            "recorded_utc": manifest.created_utc,
            "recording": recording.path.name,
        },
        "title": cut(title(manifest), NAME_CHARS),
        "command": cut(" ".join(manifest.command), TEXT_CHARS),
        "mode": manifest.mode,
        "wall_ns": recording.wall_ns,
        "recorded_cores": manifest.recorded_cores,
        "findings": _findings(found),
        "notices": _notices((*found.notices, *states.notices, *told)),
        "parallelism": _parallelism(found.parallelism),
        "walltime": _walltime(found.walltime),
        **{name: view[0] for name, view in views._asdict().items()},
        "missing": {**_missing(recording, found), **{name: view[1] for name, view in views._asdict().items()}},
        "threads": {
            "total": len(found.threads.rows),
            "lanes": [_lane(lane) for lane in states.lanes],
            "rest": None if states.rest is None else _rest(states),
        },
        "phases": _phases(recording),
        "facts": facts(recording),
    }


def _findings(found: Overview) -> list[dict[str, Any]]:
    """Return the verdict's lines; what the view of lost cores shows above them is not said again."""
    shown = IN_THE_VIEW if found.why is not None else ()
    kept = [finding for finding in found.findings if finding.id not in shown]
    return [{"id": f.id, "text": cut(f.text, TEXT_CHARS), "figures": f.figures} for f in kept]


def _notices(notices: Sequence[Notice]) -> list[dict[str, str]]:
    """Return each notice once, in order; past the limit, one that says how many more there are."""
    rows = [notice.as_json() for notice in dict.fromkeys(notices)]
    kept = [{key: cut(value, TEXT_CHARS) for key, value in row.items()} for row in rows[:MAX_NOTICES]]
    if len(rows) > MAX_NOTICES:
        kept.append(Notice.of("HW503", more=len(rows) - MAX_NOTICES).as_json())
    return kept


def _missing(recording: Recording, found: Overview) -> dict[str, str | None]:
    """Return why a view has nothing to show; None where it has."""
    if recording.mode == "agent":
        reason = Notice.of("HW504").message
    elif recording.wall_ns <= 0:
        reason = Notice.of("HW505").message
    elif not recording.has("slice"):
        reason = Notice.of("HW506").message
    else:
        reason = ""
    return {
        "parallelism": (reason or _failed(found)) if found.parallelism is None else None,
        "walltime": (reason or _failed(found)) if found.walltime is None else None,
        "lanes": reason or None,
    }


def _failed(found: Overview) -> str:
    """Return the message of the notice that says why an analysis gave no result (they have ids HW4xx)."""
    told = next((notice for notice in found.notices if notice.id.startswith("HW4")), None)
    return told.message if told else MESSAGES["HW506"].title


# --- parallelism ----------------------------------------------------------------------------------------------------


def _parallelism(found: Parallelism | None) -> dict[str, Any] | None:
    if found is None:
        return None
    plain = [
        "wall_ns",
        "corrected_wall_ns",
        "mean_active",
        "mean_running",
        "max_active",
        "max_running",
        "idle_share",
        "serial_share",
        "stolen_core_ns",
    ]
    profile = found.profile
    return {
        **{name: getattr(found, name) for name in plain},
        "running_core_ns": {kind: found.running_core_ns.get(kind, 0) for kind in KINDS},
        "percentiles": [[p, j] for p, j in found.percentiles.items()],
        "levels": _levels(found),
        "profile": {
            "start_ns": list(profile.start_ns),
            "dur_ns": list(profile.dur_ns),
            "active": {kind: _short(profile.active.get(kind), len(profile.start_ns)) for kind in KINDS},
            "running": {kind: _short(profile.running.get(kind), len(profile.start_ns)) for kind in KINDS},
            "stolen": None if profile.stolen is None else _short(profile.stolen, len(profile.start_ns)),
        },
    }


def _short(values: Sequence[float] | None, size: int) -> list[float]:
    """Return means with as many digits as anyone can see."""
    return [round(value, 6) for value in values] if values is not None else [0.0] * size


def level_groups(top: int) -> list[tuple[int, int]]:
    """Return the levels 0..top as (from, to): each alone up to EXACT_LEVELS, then in ranges that double in length."""
    groups = [(j, j) for j in range(min(top, EXACT_LEVELS) + 1)]
    low, length = EXACT_LEVELS + 1, EXACT_LEVELS
    while low <= top:
        groups.append((low, min(top, low + length - 1)))
        low, length = low + length, length * 2
    return groups


def _levels(found: Parallelism) -> list[dict[str, Any]]:
    top = max(found.max_active, found.max_running, 1)
    return [
        {
            "from": low,
            "to": high,
            "active_ns": _sum(found.levels, low, high),
            "active_corrected_ns": _sum_corrected(found.levels, low, high),
            "running_ns": _sum(found.running_levels, low, high),
            "running_corrected_ns": _sum_corrected(found.running_levels, low, high),
            "by_kind": {kind: _sum(found.by_kind.get(kind, ()), low, high) for kind in KINDS},
        }
        for low, high in level_groups(top)
    ]


def _sum(levels: Sequence[Level], low: int, high: int) -> int:
    return sum(level.ns for level in levels if low <= level.threads <= high)


def _sum_corrected(levels: Sequence[Level], low: int, high: int) -> int | None:
    values = [level.corrected_ns for level in levels if low <= level.threads <= high]
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) and _corrects(levels) else None


def _corrects(levels: Sequence[Level]) -> bool:
    return any(level.corrected_ns is not None for level in levels)


def _walltime(found: Walltime | None) -> dict[str, Any] | None:
    if found is None:
        return None
    plain = ["recorded_cores", "runs", "measured_ns", "corrected_measured_ns", "critical_ns"]
    parts = ["cores", "ns", "corrected_ns", "low_ns", "high_ns", "interval", "withheld"]
    return {
        **{name: getattr(found, name) for name in plain},
        "predictions": [
            {**{name: getattr(prediction, name) for name in parts}, "ideal_ns": ideal_ns}
            for prediction, ideal_ns in zip(found.predictions, found.ideal_ns, strict=True)
        ],
    }


# --- threads --------------------------------------------------------------------------------------------------------

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


def _phases(recording: Recording) -> dict[str, Any]:
    """Return the JVM's phases, [start_ns, dur_ns, kind, cause]; past the limit the longest ones, in order of time."""
    if not recording.has("jvm_phase"):
        return {"items": [], "left_out": 0}
    origin = recording.window_ns[0]
    text = "SELECT start_ns, dur_ns, kind, COALESCE(cause, '') FROM jvm_phase ORDER BY dur_ns DESC, start_ns LIMIT ?"
    rows = recording.query(text, [MAX_PAUSES]).fetchall()
    total = recording.manifest.tables["jvm_phase"].rows
    items = sorted([start - origin, dur, kind, cut(cause, CAUSE_CHARS)] for start, dur, kind, cause in rows)
    return {"items": items, "left_out": total - len(items)}
