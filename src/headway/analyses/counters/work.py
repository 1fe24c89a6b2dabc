"""How many instructions and cycles a program's threads took in all, to be compared with another recording of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.estimate import BLOCKS
from headway.analyses.counters.layout import Layout, layout
from headway.analyses.counters.parts.division import Division
from headway.analyses.counters.parts.slices import slices
from headway.analyses.counters.rows import Columns
from headway.analyses.counters.sums import Sums, blocks_of
from headway.analyses.counters.uncounted.lost_records import lost_ns
from headway.analyses.scheduling.work_growth import CountedAmount, CountedWork, WorkGrowth, growth
from headway.errors import HeadwayError, Notice
from headway.errors.plurals import counted
from headway.model.counter_ladder import plain_name

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.analyses.counters.types import Figure
    from headway.store import Recording


def growth_between(recording: Recording, other: Recording) -> WorkGrowth | Notice:
    """Return how much more a program works in the other recording, on another number of cores; HW427 where nothing tells that."""
    cores, others = recording.manifest.recorded_cores, other.manifest.recorded_cores
    reason = ""
    if not cores or not others:
        reason = f"{(recording if not cores else other).path} does not say on how many cores it was recorded"
    elif cores == others:
        reason = f"both are recorded on {counted(cores, 'core')}"
    elif other.manifest.state != "complete" or other.manifest.ended_by != recording.manifest.ended_by:
        reason = "one of them is a part of a run"
    works = [] if reason else [_work(each) for each in (recording, other)]
    lacking = [each.path for each, work in zip((recording, other), works, strict=False) if work is None]
    if lacking:
        reason = f"{lacking[0]} has no count of instructions"
    if reason:
        return Notice.of("HW427", path=other.path, reason=reason)
    ours, theirs = works
    assert ours is not None  # else it is lacking
    assert theirs is not None
    return growth(ours, theirs)


def _work(recording: Recording) -> CountedWork | None:
    """Return what was counted of all threads but headway's own; None without instructions."""
    try:
        recorded = layout(recording)
    except HeadwayError:  # HW109: nothing was counted
        return None
    counts = _counts(recording, recorded)
    instructions, cycles = (_amount(counts, event) for event in ("instructions", "cycles"))
    if instructions is None:
        return None
    return CountedWork(recording.path, recording.manifest.recorded_cores or 0, instructions, cycles)


def _counts(recording: Recording, recorded: Layout) -> Mapping[str, Figure]:
    """Return the counts of a whole recording, with a ceiling of what ran before the first switch and after the last one."""
    begin, end = recording.window_ns
    division = Division(recording, "kind", begin, end)
    blocks = BLOCKS if recorded.is_multiplexed else 1
    sums = Sums(1, blocks, recorded, lost_ns(recording, begin, end))
    for each in slices(recording, recorded, begin, end):
        key = np.where(division.counted(each.thread_id) >= 0, 0, -1)
        sums.add(each, key, division.inside(each), blocks_of(each, begin, end, blocks))
    return Columns(sums.with_ceiling(), recorded, None, np.zeros(1)).row(0, {}).counts


def _amount(counts: Mapping[str, Figure], event: str) -> CountedAmount | None:
    """Return a count in user space and kernel alike; None where it is not known, or nothing was counted."""
    for name, figure in counts.items():
        if plain_name(name) == event and not name.endswith((":u", ":k")) and figure.value:
            return CountedAmount(figure.value, figure.low, figure.high)
    return None
