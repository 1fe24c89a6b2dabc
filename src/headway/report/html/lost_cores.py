"""Where the cores went, for the page: `headway why` as plain values, within WHY_BYTES whatever names and evidence hold."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from headway.analyses.common.causes import CAUSES, TITLES
from headway.analyses.critical_path.analysis import critical_path
from headway.analyses.critical_path.types import STATES, CriticalPath
from headway.analyses.lost_cores.crowded import doubt_text
from headway.analyses.lost_cores.speedup_stack import speedup_stack
from headway.analyses.lost_cores.text import interval_text, is_worth_a_line
from headway.analyses.lost_cores.types import TOGETHER, USED, Account, Loss, Why
from headway.analyses.scheduling.activity import no_scheduling
from headway.analyses.scheduling.bottle_graph import Bottle, BottleGraph, bottle_graph
from headway.report.analysis import View
from headway.report.html.flame_pack import json_bytes, visible
from headway.report.html.text import cut

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.critical_path.types import PathThread
    from headway.analyses.overview import Overview
    from headway.store import Recording

WHY_BYTES = 400_000
MAX_BINS = 300
MAX_PHASES = 12
MAX_BOTTLES = 24
BOUNDS = ((30, 8, 400), (20, 4, 200), (10, 2, 100), (5, 1, 60))
"""Losses, lines of evidence and characters of a text: the first of these that fit into WHY_BYTES."""
_KEYS = {*(f"used_{kind}" for kind in (*USED, TOGETHER)), "stolen", "other_processes", *CAUSES}
MAX_PATH_ROWS = 8


def why_view(recording: Recording, found: Overview) -> View:
    """Return the view's values, or why there are none."""
    if found.why is None:
        return View("why", None, no_scheduling(recording).notice.message)
    known = recording.has("slice")
    graph = bottle_graph(recording) if known else None
    path = critical_path(recording, limit=1) if known else None
    return View("why", why_values(found.why, graph, path), None, found.why.notices)


def why_values(found: Why, graph: BottleGraph | None = None, path: CriticalPath | None = None) -> dict[str, Any]:
    """Return the view's values."""
    bin_ns, bins = _bins(found)
    values: dict[str, Any] = {}
    for losses, lines, chars in BOUNDS:
        phases = [
            {"number": phase.number, "active": round(phase.active, 4), "account": _account(phase.account, 10, 3, chars)}
            for phase in found.phases[:MAX_PHASES]
        ]
        values = {
            "account": _account(found.account, losses, lines, chars),
            "phases": phases,
            "bin_ns": bin_ns,
            "bins": bins,
            "titles": dict(TITLES),
            "meanings": dict(CAUSES),
            "bottles": [] if graph is None else bottles(graph, chars),
            "path": None if path is None else _path_values(path, chars),
        }
        if json_bytes(values) <= WHY_BYTES:
            break
    return values


def _account(account: Account, losses: int, lines: int, chars: int) -> dict[str, Any]:
    ranked = sorted(account.lost, key=lambda loss: not is_worth_a_line(loss))  # what is small is folded away
    return {
        "start_ns": account.start_ns,
        "end_ns": account.end_ns,
        "cores": account.cores,
        "core_ns": account.core_ns,
        "used_ns": sum(account.used_ns.values()),
        "stolen_ns": account.stolen_ns,
        "other_processes_ns": account.other_processes_ns,
        "lost_ns": account.lost_ns,
        "parts": [[part.name, part.title, part.core_ns] for part in speedup_stack(account).parts if part.core_ns > 0],
        "losses": [_loss(loss, lines, chars) for loss in ranked[:losses]],
        "more": {"losses": len(ranked[losses:]), "core_ns": sum(loss.core_ns for loss in ranked[losses:])},
    }


def _loss(loss: Loss, lines: int, chars: int) -> dict[str, Any]:
    place = loss.place
    shown = loss.evidence[: lines + len(loss.doubts)]  # doubts come first in it
    sentences = (*map(doubt_text, loss.doubts), *filter(None, (interval_text(loss),)), *shown)
    return {
        "cause": loss.cause,
        "core_ns": loss.core_ns,
        "share": loss.share,
        "method": _text(place.method, chars),
        "line": place.line,
        "lock": _text(place.lock, chars),
        "thread": _text(place.thread, chars),
        "threads": place.threads,
        "pid": place.pid,
        "bound": loss.bound_speedup,
        "likely": loss.likely_speedup,
        "evidence": [_text(line, chars) for line in dict.fromkeys(sentences)],
    }


def _text(text: str | None, chars: int) -> str | None:
    return None if text is None else cut(visible(text), chars)


def _distinct_names(threads: Sequence[Bottle | PathThread], chars: int) -> list[str]:
    """Return the names of threads; those that several have, as in several processes, with their number for the kernel."""
    names = [cut(visible(each.name), chars) for each in threads]
    times = Counter(names)
    return [f"{name} (tid {each.tid})" if times[name] > 1 else name for name, each in zip(names, threads, strict=True)]


def _path_values(path: CriticalPath, chars: int) -> dict[str, Any]:
    """Return the path by state and by thread; what is left out of the threads is one row."""
    shown = path.by_thread[:MAX_PATH_ROWS]
    threads = [[name, each.ns] for name, each in zip(_distinct_names(shown, chars), shown, strict=True)]
    if rest := path.by_thread[MAX_PATH_ROWS:]:
        threads.append([f"{len(rest)} other threads", sum(each.ns for each in rest)])
    states = [[state, STATES.get(state, ""), ns] for state, ns in path.by_state]
    return {"length_ns": path.wall_ns, "states": states, "threads": threads}


def _bins(found: Why) -> tuple[int, dict[str, list[int]]]:
    """Return the width of a bin and the core-ns of what is not nothing; more bins than MAX_BINS are added up."""
    count = max((len(values) for values in found.bins.values()), default=0)
    step = max(1, -(-count // MAX_BINS))
    sums = {
        key: [round(sum(values[i : i + step])) for i in range(0, count, step)]
        for key, values in found.bins.items()
        if key in _KEYS
    }
    return found.bin_ns * step, {key: values for key, values in sums.items() if any(values)}


def bottles(graph: BottleGraph, chars: int = 120) -> list[dict[str, Any]]:
    """Return the boxes of the bottle graph, highest first; past MAX_BOTTLES they share one of their mean width."""
    ranked = sorted(graph.bottles, key=lambda box: -box.height_ns)
    shown = ranked[:MAX_BOTTLES]
    names = _distinct_names(shown, chars)
    plain = [(name, box.kind, box.height_ns, box.width, 1) for name, box in zip(names, shown, strict=True)]
    if rest := ranked[MAX_BOTTLES:]:
        height = sum(box.height_ns for box in rest)
        kinds = {box.kind for box in rest}
        kind = kinds.pop() if len(kinds) == 1 else "several kinds"
        plain.append(("", kind, height, sum(box.height_ns * box.width for box in rest) / height, len(rest)))
    return [dict(zip(("name", "kind", "height_ns", "width", "threads"), box, strict=True)) for box in plain]
