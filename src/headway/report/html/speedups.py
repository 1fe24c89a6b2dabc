"""A sweep as one HTML page: the verdict, the speedups and what limits them, and the views that show where.

payloads/sweep.py describes every key. Whatever could grow with the sweep (numbers of threads,
regions, frames, messages, flame graphs) has a limit here, and what a limit leaves out is said.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.analyses.regions.primitives import REST
from headway.analyses.speedups.analysis import speedups
from headway.errors import Notice
from headway.report.html.flame_pack import json_bytes, visible
from headway.report.html.page import write_page
from headway.report.html.sweep_flames import sweep_flames
from headway.report.html.text import cut, with_levels
from headway.report.json.speedups import speedups_json
from headway.report.terminal.speedups import EFFICIENCY_LABELS, LABELS

if TYPE_CHECKING:
    from headway.analyses.speedups.types import Speedups
    from headway.store.sweep import Sweep

PAGE_BYTES = 2_000_000
"""What a sweep's page may hold in all."""
MAX_ROWS, MAX_NOTICES = 24, 40
MAX_REGIONS = 12
_SIZES = ((MAX_REGIONS, 12), (6, 6), (3, 3), (0, 1))
"""How many regions, and frames of each, the flat profiles have: the first pair that fits."""
NAME_CHARS, TEXT_CHARS = 160, 600
_MIN_ROOM = 200_000
"""What the flame graphs have at least."""


def render_sweep(sweep: Sweep, path: Path | str, *, overwrite: bool = False) -> Path:
    """Write a sweep's report to `path` and return it; the file appears whole or not at all.

    Raises HeadwayError HW500 (the file exists, unless `overwrite`), HW501 (it can't be written) or HW502 (this installation
    lacks the page), and what `speedups` raises.
    """
    payload = build_sweep(sweep, speedups(sweep))
    return write_page(payload, path, overwrite=overwrite)


def build_sweep(sweep: Sweep, result: Speedups) -> dict[str, Any]:
    """Return everything the page shows of a sweep, at most PAGE_BYTES of UTF-8 JSON."""
    for regions, frames in _SIZES:
        payload = sweep_payload(result, regions, frames, name=sweep.path.resolve().name, created_utc=sweep.created_utc)
        if json_bytes(payload) <= PAGE_BYTES - _MIN_ROOM:
            break
    payload["made"]["headway"] = sweep.headway_version or "unknown"
    payload["commands"] = {
        "parallel": _text(sweep.parallel),
        "sequential": None if sweep.sequential is None else _text(sweep.sequential),
        "repeat": sweep.repeat,
    }
    payload["flames"] = sweep_flames(sweep, PAGE_BYTES - json_bytes(payload) - 1000)
    if payload["flames"] is None:
        payload["no_flames"] = Notice.of("HW509").message
    return payload


def sweep_payload(
    result: Speedups, max_regions: int = MAX_REGIONS, max_frames: int = 12, *, name: str, created_utc: str = ""
) -> dict[str, Any]:
    """Return the figures alone: no commands and no flame graphs."""
    answer = speedups_json(result)
    rows = answer["threads"]
    kept = rows if len(rows) <= MAX_ROWS else [rows[i * (len(rows) - 1) // (MAX_ROWS - 1)] for i in range(MAX_ROWS)]
    regions = answer["regions"][:max_regions]
    left_out = []
    if len(rows) > MAX_ROWS:
        left_out.append(f"{len(rows) - MAX_ROWS} more numbers of threads")
    if len(answer["regions"]) > max_regions:
        left_out.append(f"{len(answer['regions']) - max_regions} more regions")
    return {
        "version": 1,
        "page": "sweep",
        "made": {"headway": "unknown", "recorded_utc": created_utc, "recording": _name(name)},
        "title": _name(name),
        "commands": None,
        "mode": answer["mode"],
        "counters": answer["counters"],
        "cores": answer["cores"],
        "regions": [_name(each) for each in regions],
        "region": None if result.region is None else _name(result.region),
        "labels": dict(LABELS),
        "efficiency_labels": dict(EFFICIENCY_LABELS),
        "sequential": answer["sequential"],
        "rows": [_row(row, regions, max_frames) for row in kept],
        "verdict": {key: _texts(value) for key, value in answer["verdict"].items()},
        "notices": _notices(result),
        "left_out": left_out,
        "flames": None,
        "no_flames": None,
    }


def _row(row: Mapping[str, Any], regions: list[str], max_frames: int) -> dict[str, Any]:
    """Return a number of threads; of its regions only what the page draws."""
    shared = ("computed_speedup", "low", "high", "efficiencies", "possible", "possible_intervals", "stack")
    plain = (
        "threads",
        "runs",
        "plain_runs",
        "real_speedup",
        "real_low",
        "real_high",
        "pop",
        "metrics",
        "imbalance",
        *shared,
    )
    flat = [(name, frames) for name, frames in row["flat"].items() if name in (*regions, REST)]
    return {
        **{key: row[key] for key in plain},
        "pairs": row["pairs"],
        "flat": [{"region": _name(name), "frames": _frames(frames, max_frames)} for name, frames in flat],
        "regions": [
            {"name": _name(name), **{key: row["regions"][name][key] for key in shared}}
            for name in regions
            if name in row["regions"]
        ],
    }


def _frames(frames: Mapping[str, float], limit: int) -> list[list[Any]]:
    most = sorted(frames.items(), key=lambda item: (-item[1], item[0]))[:limit]
    return [[_name(name), ns] for name, ns in most]


def _notices(result: Speedups) -> list[dict[str, str]]:
    rows = with_levels(dict.fromkeys(result.notices))
    kept = [{key: _text(value) for key, value in row.items()} for row in rows[:MAX_NOTICES]]
    if len(rows) > MAX_NOTICES:
        kept.append(Notice.of("HW503", more=len(rows) - MAX_NOTICES).as_json())
    return kept


def _texts(value: Any) -> Any:
    if isinstance(value, str):
        return _text(value)
    return [_texts(each) for each in value] if isinstance(value, list) else value


def _name(text: str) -> str:
    return cut(visible(text), NAME_CHARS)


def _text(text: str) -> str:
    return cut(visible(text), TEXT_CHARS)
