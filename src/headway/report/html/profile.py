"""Profiles as the page's packer takes them: one of them, or all that a recording's report shows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.profile.analysis import profile, recorded_events, weigh
from headway.analyses.stacks.types import Profile, ProfileDiff
from headway.errors import HeadwayError, Notice
from headway.report.analysis import View
from headway.report.html.flame_pack import Graph, PackedColumns, pack, visible
from headway.report.html.text import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.store import Recording

REPORT_FLAME_BYTES = 600_000
"""What all flame graphs of a recording's report may hold together."""
MAX_GRAPHS = 8
LABEL_CHARS = 120
LABELS = {
    "cpu": "CPU time",
    "blame": "code that kept cores idle",
    "wall": "wall time",
    "alloc": "allocation",
    "lock": "blocked in contention",
    "off-cpu": "off CPU",
}


def flame_graph(
    found: Profile | ProfileDiff,
    *,
    by_thread: Profile | None = None,
    label: str | None = None,
    versus: str = "the other recording",
    notes: tuple[str, ...] = (),
) -> Graph:
    """Return a profile as the page's packer takes it."""
    text = cut(visible(label or LABELS.get(found.event, found.event)), LABEL_CHARS)
    if isinstance(found, ProfileDiff):
        tree = PackedColumns(
            found.depth,
            found.frame,
            found.kind,
            found.after_self,
            found.after_total,
            found.before_self,
            found.before_total,
        )
        name = cut(visible(versus), LABEL_CHARS)
        return Graph(found.event, text, found.unit, found.frames, tree, versus=name, notes=notes)
    return Graph(
        found.event,
        text,
        found.unit,
        found.frames,
        _columns(found),
        by_thread=None if by_thread is None else _columns(by_thread),
        by_thread_frames=() if by_thread is None else by_thread.frames,
        notes=notes,
    )


def _columns(found: Profile) -> PackedColumns:
    tree = found.tree
    return PackedColumns(tree.depth, tree.frame, tree.kind, tree.self_weight, tree.total_weight)


def flame_view(recording: Recording, limit_bytes: int = REPORT_FLAME_BYTES) -> View:
    """Return the graphs of everything a recording can say where it happened, or why there are none."""
    if recording.wall_ns <= 0:
        return View("flames", None, Notice.of("HW505").message)
    graphs: list[Graph] = []
    notices: list[Notice] = []
    for event in events(recording):
        try:
            weighed = weigh(recording, event)
            found = profile(recording, event, weighed=weighed)
            by_thread = profile(recording, event, by_thread=True, weighed=weighed)
            graphs.append(flame_graph(found, by_thread=by_thread))
        except HeadwayError:
            continue  # recorded, but nothing of it in this program's threads
        notices += found.notices
    if not graphs:
        return View("flames", None, Notice.of("HW509").message)
    return View("flames", pack(graphs, limit_bytes), None, tuple(notices))


def events(recording: Recording) -> Sequence[str]:
    """Return the events with stacks, those that most people ask for first; off-cpu without stacks would say nothing."""
    found = [
        event for event in recorded_events(recording) if event not in ("off-cpu", "lock") or recording.has("stack")
    ]
    if "cpu" in found and recording.has("slice"):
        found.append("blame")  # made of both
    known = list(LABELS)
    return sorted(found, key=lambda event: (known.index(event) if event in known else len(known), event))[:MAX_GRAPHS]
