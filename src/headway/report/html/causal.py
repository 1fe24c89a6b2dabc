"""A causal recording as one HTML page: what each line would give if it got faster, beside what a flat profile says of it.

payloads/causal.py describes every key. Whatever could grow with the program (lines, progress points,
messages, source) has a limit here, and what a limit leaves out is said.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.report.html.facts import title
from headway.report.html.flame_pack import json_bytes, visible
from headway.report.html.page import write_page
from headway.report.html.source_lines import Sources
from headway.report.html.text import cut, with_levels
from headway.store.directory import is_untrusted_user

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.causal.types import Causal, Curve, CurvePoint, Line, ProgressPoint
    from headway.store import Recording

PAGE_BYTES = 2_000_000
"""What the page of a causal recording may hold in all."""
SOURCE_BYTES = 400_000
"""Of it: source."""
NAME_CHARS, TEXT_CHARS = 160, 600
MAX_NOTICES = 40
_SIZES = ((400, 8), (200, 4), (100, 2), (40, 1))
"""How many lines, and progress points: the first pair that fits."""
_CURVE = (
    *("shape", "significant", "slope", "slope_low", "slope_high", "maximum_pct", "maximum_low_pct", "maximum_high_pct"),
    *("maximum_at_pct", "flat_from_pct", "needs_s", "slope_most", "is_beyond_delays"),
)


def render_causal(
    recording: Recording, path: Path | str, *, sources: Sequence[Path | str] = (), overwrite: bool = False
) -> Path:
    """Write a causal recording's report to `path` and return it; the file appears whole or not at all.

    sources: directories with the program's sources (none: those that the recording names); lines around each place are shown.

    Raises HeadwayError HW500 (the file exists, unless `overwrite`), HW501 (it can't be written) or HW502 (this installation
    lacks the page), and what `causal` raises.
    """
    from headway.analyses.causal.analysis import causal

    manifest = recording.manifest
    directories = sources or _recorded_sources(recording)
    payload = build_causal(causal(recording), Sources(directories) if directories else None)
    payload["made"] = {
        "headway": manifest.headway_version or "unknown",
        "recorded_utc": manifest.created_utc,
        "recording": _name(recording.path.resolve().name),
    }
    payload["title"] = _name(title(manifest))
    return write_page(payload, path, overwrite=overwrite)


def build_causal(result: Causal, sources: Sources | None = None, *, name: str = "") -> dict[str, Any]:
    """Return everything the page shows, at most PAGE_BYTES of UTF-8 JSON."""
    payload: dict[str, Any] = {}
    for max_lines, max_points in _SIZES:
        payload = _payload(result, max_lines, max_points, name)
        if json_bytes(payload) <= PAGE_BYTES - SOURCE_BYTES:
            break
    payload["no_sources"] = _add_sources(payload["lines"], result.lines, sources)
    if sources is not None:
        payload["notices"] = _notices((*result.notices, *sources.notices))
    return payload


def _recorded_sources(recording: Recording) -> Sequence[str]:
    """Return the directories that a recording names, whose texts become part of the page; of a stranger's none, as root."""
    named = (recording.manifest.extra.get("causal") or {}).get("sources")
    if not isinstance(named, list) or is_untrusted_user(os.stat(recording.path).st_uid):
        return ()
    return [each for each in named if isinstance(each, str) and os.path.isabs(each) and "\0" not in each]


def _payload(result: Causal, max_lines: int, max_points: int, name: str) -> dict[str, Any]:
    points = result.progress_points[:max_points]
    plain = ("mode", "runs", "recorded_ns", "delay_ns", "experiments", "warm_up_experiments", "gc_experiments")
    left_out = []
    if len(result.lines) > max_lines:
        left_out.append(f"{len(result.lines) - max_lines:,} more lines are not on this page: headway causal has them.")
    if len(result.progress_points) > max_points:
        left_out.append(f"{len(result.progress_points) - max_points} more progress points are not on this page.")
    return {
        "version": 1,
        "page": "causal",
        "made": {"headway": "unknown", "recorded_utc": "", "recording": _name(name)},
        "title": _name(name),
        **{key: getattr(result, key) for key in plain},
        "verdict": _text(result.verdict),
        "next": _text(result.next),
        "progress_points": [_point(point) for point in points],
        "lines": [_line(line, points) for line in result.lines[:max_lines]],
        "left_out": left_out,
        "no_sources": None,
        "notices": _notices(result.notices),
    }


def _point(point: ProgressPoint) -> dict[str, Any]:
    plain = ("measure", "hits", "hits_per_s", "latency_ns")
    texts = ("name", "kind", "where")
    return {key: getattr(point, key) for key in plain} | {key: _name(getattr(point, key)) for key in texts}


def _line(line: Line, points: Sequence[ProgressPoint]) -> dict[str, Any]:
    curves = {(curve.progress_point, curve.measure): curve for curve in line.curves}
    found = [curves.get((point.name, point.measure)) for point in points]
    return {
        "name": _name(line.line),
        "kind": line.kind,
        "class_name": _name(line.class_name),
        "method": _name(line.method),
        "samples_pct": line.samples_pct,
        "blocked_pct": line.blocked_pct,
        "phase_share": line.phase_share,
        "experiments": line.experiments,
        "curves": [None if curve is None else _curve(curve) for curve in found],
        "source": None,
    }


def _curve(curve: Curve) -> dict[str, Any]:
    return {key: getattr(curve, key) for key in _CURVE} | {"points": [_curve_point(point) for point in curve.points]}


def _curve_point(point: CurvePoint) -> list[Any]:
    interval = [point.low_pct, point.high_pct]
    counts = [point.visits, point.experiments, point.gc_experiments]
    return [point.virtual_speedup_pct, point.program_speedup_pct, *interval, *counts]


def _add_sources(rows: list[dict[str, Any]], lines: Sequence[Line], sources: Sources | None) -> str | None:
    """Put the source of each line into its row, the first ones first, within SOURCE_BYTES; return what to say of the others."""
    if sources is None:
        return "Source lines: headway report --sources DIR shows them."
    room, missing, cut_off = SOURCE_BYTES, 0, 0
    for row, line in zip(rows, lines, strict=False):
        if line.line_number is None or not line.source_file:
            continue
        found = sources.around(line.class_name, line.source_file, line.line_number)
        if found is None:
            missing += 1
        elif (size := json_bytes(found)) > room:
            cut_off += 1
        else:
            row["source"], room = found, room - size
    sentences = [f"{missing:,} lines are in no file of the sources."] if missing else []
    if cut_off:
        sentences.append(f"The source of {cut_off:,} more lines has no room on this page.")
    return " ".join(sentences) or None


def _notices(notices: Sequence[Notice]) -> list[dict[str, str]]:
    rows = with_levels(dict.fromkeys(notices))
    kept = [{key: _text(value) for key, value in row.items()} for row in rows[:MAX_NOTICES]]
    if len(rows) > MAX_NOTICES:
        kept.append(Notice.of("HW503", more=len(rows) - MAX_NOTICES).as_json())
    return kept


def _name(text: str) -> str:
    return cut(visible(text), NAME_CHARS)


def _text(text: str) -> str:
    return cut(visible(text), TEXT_CHARS)
