"""What the HTML report shows, gathered from the analyses: plain JSON values of at most PAYLOAD_BYTES, always.

Each analysis of headway's own gives the values of its view (report/analysis.py), packages give sections; here they get into
one object, and the lanes of threads take the room that is left. Times are ns from the start of the recording. Whatever could
grow with the recording (levels, threads, names, pauses, messages) has a limit, and what a limit leaves out is said.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from headway.analyses.overview import Overview, overview
from headway.analyses.scheduling.lanes import MAX_LANES, Lanes, lanes
from headway.errors import Notice
from headway.errors.message import WARNING
from headway.report.analysis import View
from headway.report.html.facts import facts, title
from headway.report.html.flame_pack import json_bytes
from headway.report.html.missing import no_thread_states
from headway.report.html.placements import placements_view
from headway.report.html.sections import Sections, sections
from headway.report.html.text import cut, with_levels
from headway.report.html.threads import NAME_CHARS, lane_values
from headway.report.registry import analysis, own_analyses

if TYPE_CHECKING:
    from pathlib import Path

    from headway.store import Recording

PAYLOAD_BYTES = 2_000_000
MAX_PAUSES = 1000
MAX_NOTICES = 40
CAUSE_CHARS = 40
TEXT_CHARS = 600
IN_THE_VIEW = ("cores", "lost_most")


def build_payload(
    recording: Recording, found: Overview | None = None, placements: Path | None = None
) -> dict[str, Any]:
    """Return everything the page shows of a recording, at most PAYLOAD_BYTES of UTF-8 JSON.

    `found`: its overview, by those who have made it already. `placements`: what `headway place --json` wrote meanwhile.
    """
    placed = None if placements is None else placements_view(recording, placements)
    found = overview(recording) if found is None else found
    asked = [analysis(plugin).view(recording, found) for plugin in own_analyses()]
    views = [view for view in asked if view is not None]
    added = sections(recording)
    limit = MAX_LANES
    while True:
        payload = _payload(recording, found, lanes(recording, found.threads.rows, limit), views, added)
        payload["placements"] = placed
        if json_bytes(payload) <= PAYLOAD_BYTES or limit == 0:
            return payload
        limit //= 2


def _payload(
    recording: Recording, found: Overview, states: Lanes, views: Sequence[View], added: Sections
) -> dict[str, Any]:
    manifest = recording.manifest
    account = found.why.account if found.why is not None else None
    of_views = [notice for view in views for notice in view.notices]
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
        "notices": _notices((*found.notices, *states.notices, *of_views, *added[1])),
        **{view.name: view.values for view in views},
        "missing": {**{view.name: view.missing for view in views}, "lanes": no_thread_states(recording) or None},
        "threads": lane_values(states, found.threads.count),
        "phases": _phases(recording),
        "sections": added[0],
        "facts": facts(recording, *((account.stolen_ns, account.other_processes_ns) if account is not None else ())),
    }


def _findings(found: Overview) -> list[dict[str, Any]]:
    """Return the verdict's lines; what the view of lost cores shows above them is not said again."""
    shown = IN_THE_VIEW if found.why is not None else ()
    kept = [finding for finding in found.findings if finding.id not in shown]
    return [{"id": f.id, "text": cut(f.text, TEXT_CHARS), "figures": f.figures} for f in kept]


def _notices(notices: Sequence[Notice]) -> list[dict[str, str]]:
    """Return each notice once, warnings before notes; past the limit, one that says how many more there are."""
    rows = with_levels(sorted(dict.fromkeys(notices), key=lambda each: each.level != WARNING))
    kept = [{key: cut(value, TEXT_CHARS) for key, value in row.items()} for row in rows[:MAX_NOTICES]]
    if len(rows) > MAX_NOTICES:
        kept.append(Notice.of("HW503", more=len(rows) - MAX_NOTICES).as_json())
    return kept


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
