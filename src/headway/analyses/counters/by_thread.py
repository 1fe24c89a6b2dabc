"""What each thread counted, for profiles: samples say where, counts say how much."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.estimate import BLOCKS
from headway.analyses.counters.layout import layout
from headway.analyses.counters.parts.division import Division
from headway.analyses.counters.parts.slices import slices
from headway.analyses.counters.rows import Columns
from headway.analyses.counters.sums import Sums, blocks_of
from headway.analyses.counters.uncounted.lost_records import lost_ns
from headway.errors import HeadwayError
from headway.model.counter_ladder import plain_name

if TYPE_CHECKING:
    from headway.analyses.counters.types import Figure
    from headway.store import Recording


def counts_by_thread(recording: Recording, event: str, window: tuple[int, int] | None) -> dict[int, Figure]:
    """Return how often each thread counted an event in user space and kernel alike, by thread_id; {}: it was not counted.

    `window`: ns from the recording's start. The figures are those of `headway counters`; virtual threads are in their carriers'.
    """
    try:
        there = layout(recording)
    except HeadwayError:  # HW109: nothing was counted
        return {}
    name = _name_of(event, there.events)
    if name is None:
        return {}
    begin, end = (recording.window_ns[0] + each for each in window or (0, recording.wall_ns))
    division = Division(recording, "thread", begin, end)
    blocks = BLOCKS if there.is_multiplexed else 1
    sums = Sums(division.threads, blocks, there, lost_ns(recording, begin, end))
    for each in slices(recording, there, begin, end):
        sums.add(each, division.counted(each.thread_id), division.inside(each), blocks_of(each, begin, end, blocks))
    columns = Columns(sums, there, None, np.zeros(division.threads))
    return {thread: _counts(columns, thread)[name] for thread in np.flatnonzero(sums.cpu_ns > 0).tolist()}


def _counts(columns: Columns, thread: int) -> Mapping[str, Figure]:
    return columns.row(thread, {}).counts


def _name_of(event: str, counted: tuple[str, ...]) -> str | None:
    """Return the name under which a sampled event was counted as well, such as `cycles` for `cpu-cycles`; None: it was not."""
    whole = [name for name in counted if not name.endswith((":u", ":k"))]
    return next((name for name in whole if plain_name(name) == plain_name(event)), None)
