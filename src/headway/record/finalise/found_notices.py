"""The notices of a finished recording: lost records, broken invariants, spools that were cut off."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from headway.errors import Notice
from headway.store.directory import without_descriptors

_LEFT_OUT_THREADS = "births"
"""The source of such a loss: threads beyond those that a recording may have (native/decode/threads/lifecycle.h)."""
_LOST_OF_A_SPOOL = "names of threads, phases, locks and facts of its JVM are lost or end there"


def notices_of(
    facts: Mapping[str, Any], result: Mapping[str, Any] | None, agents: Sequence[Mapping[str, Any]]
) -> list[Notice]:
    """Return the notices of a recording with these facts, of the pass over its slices, and of its agents."""
    found = []
    if result is not None:
        found += _loss_notices(result["losses"], facts["window"]["start_ns"])
        broken = [each["message"] for each in facts["invariants"] if not each["ok"]]
        found += [Notice.of("HW201", message=message) for message in broken]
        count = _strays_inside(result)
        if count:
            found.append(Notice.of("HW202", count=count))
        found += [Notice.of("HW203", problem=problem) for problem in result["problems"]]
    found += [
        Notice.of("HW229", path=Path(agent["path"]).name, what=_LOST_OF_A_SPOOL) for agent in agents if agent["is_cut"]
    ]
    lost = sum(agent["lost"] for agent in agents)
    if lost:
        found.append(Notice.of("HW204", count=lost))
    return found


def _strays_inside(result: Mapping[str, Any]) -> int:
    """Return how many threads of unknown birth have any time inside the window: some end before an attach is complete."""
    totals, count = result["threads"], len(result["strays"])
    if not count:
        return 0
    own = totals["running_ns"] + totals["runnable_ns"] + totals["blocked_ns"]
    return int((own[-count:] > 0).sum())


def _loss_notices(losses: Sequence[tuple[str, int, int, int, int]], start_ns: int) -> list[Notice]:
    """Return what to tell of losses (source, cpu, first_ns, last_ns, events): those of threads are no losses of records."""
    found = []
    if spans := [events for source, _, _, _, events in losses if source != _LEFT_OUT_THREADS]:
        found.append(Notice.of("HW200", events=sum(spans), spans=len(spans)))
    for source, _, first_ns, _, births in losses:
        if source == _LEFT_OUT_THREADS:
            found.append(Notice.of("HW235", count=births, after_s=max(0, first_ns - start_ns) / 1e9))
    return found


def merged(known: list[dict[str, str]], added: list[Notice]) -> list[dict[str, str]]:
    """Return notices with those that are new, in which files have the recording's path, not one of headway's descriptors."""
    named = [replace(notice, message=without_descriptors(notice.message)).as_json() for notice in added]
    return known + [notice for notice in named if notice not in known]
