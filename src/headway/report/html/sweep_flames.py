"""Flame graphs of a sweep: of each metric at some numbers of threads, and what changes from one number to the next."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.analyses.common.units import duration
from headway.analyses.profile.analysis import profile
from headway.analyses.profile.diff import diff
from headway.errors import HeadwayError
from headway.errors.plurals import counted
from headway.report.html.flame_pack import Graph, pack
from headway.report.html.profile import LABELS, events, flame_graph

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.stacks.types import Profile
    from headway.store import Recording
    from headway.store.sweep import Sweep, SweepRun

    _ByEvent = dict[str, "_Run"]

MAX_RUNS = 4
MAX_EVENTS = 8
"""So a page has at most 32 graphs of single runs and 24 of the steps between them. A sweep that samples CPU time, wall time and
allocation and records locks has six; one that hides locks behind what was sampled would hide the limit itself."""


@dataclass(frozen=True)
class _Run:
    name: str
    recording: Recording
    warmup_ns: int
    """What the figures leave out of its begin; the graphs do, too."""


def sweep_flames(sweep: Sweep, limit_bytes: int) -> dict[str, Any] | None:
    """Return the graphs, those of the most threads first; None where nothing was sampled."""
    programs, left_out = _programs(sweep)
    wanted: dict[str, None] = {}
    for runs in reversed(programs):
        wanted |= dict.fromkeys(runs)
    notes = _left_out(left_out, list(wanted)[MAX_EVENTS:])
    graphs: list[Graph] = []
    steps: list[Graph] = []
    for event in list(wanted)[:MAX_EVENTS]:
        having = [runs[event] for runs in programs if event in runs]
        found = [(run, each) for run in having if (each := _profile(run, event)) is not None]
        label = LABELS.get(event, event)
        graphs += [_graph(each, f"{label}, {run.name}", (*notes, *_without(run))) for run, each in reversed(found)]
        for (before, old), (after, new) in itertools.pairwise(found):
            text = f"{label}, {after.name} against {before.name}"
            steps.insert(0, flame_graph(diff(old, new), label=text, versus=before.name, notes=_without(before, after)))
    return pack([*graphs, *steps], limit_bytes) if graphs else None


def _left_out(runs: int, events: Sequence[str]) -> tuple[str, ...]:
    """Return what the page says of numbers of threads and events that have no graph on it."""
    notes = []
    if runs:
        notes.append(f"{runs} more numbers of threads have no flame graph on this page.")
    if events:
        names = ", ".join(LABELS.get(event, event) for event in events)
        notes.append(f"Not on this page: flame graphs of {names}. headway flame draws them.")
    return tuple(notes)


def _without(*runs: _Run) -> tuple[str, ...]:
    """Return what the page says of warm-up that is not in a graph."""
    left = [f"the first {duration(run.warmup_ns)} of {run.name}" for run in runs if run.warmup_ns]
    return (f"Without the warm-up: {' and '.join(left)}.",) if left else ()


def _graph(found: Profile, label: str, notes: tuple[str, ...]) -> Graph:
    return flame_graph(found, label=label, notes=notes)


def _programs(sweep: Sweep) -> tuple[list[_ByEvent], int]:
    """Return the runs to show of at most MAX_RUNS programs, ascending, always the last; and how many are left out."""
    found: list[_ByEvent] = []
    if sweep.sequential is not None:
        found += _first(sweep, "the sequential program", sweep.select("sequential", recorded=True))
    for n in sorted({run.threads for run in sweep.select("parallel", recorded=True)}):
        name = counted(n, "thread")
        found += _first(sweep, name, sweep.select("parallel", n, recorded=True))
    if len(found) <= MAX_RUNS:
        return found, 0
    last = len(found) - 1
    return [found[i * last // (MAX_RUNS - 1)] for i in range(MAX_RUNS)], len(found) - MAX_RUNS


def _first(sweep: Sweep, name: str, runs: Sequence[SweepRun]) -> list[_ByEvent]:
    """Return for each event the first recorded run that has it: runs may sample some in turn. Nothing without recordings."""
    found: _ByEvent = {}
    for run in runs[:MAX_EVENTS]:
        try:
            shown = _Run(name, sweep.open(run), run.warmup_excluded_ns or 0)
        except HeadwayError:
            continue  # lost or damaged: `speedups` has said so
        found |= {event: shown for event in events(shown.recording) if event not in found}
    return [found] if found else []


def _profile(run: _Run, event: str) -> Profile | None:
    window = (run.warmup_ns, run.recording.wall_ns) if run.warmup_ns else None
    try:
        return profile(run.recording, event, window=window)
    except HeadwayError:
        return None  # recorded in another run, or nothing of it in this one
