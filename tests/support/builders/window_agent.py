"""Builds recordings of one JVM whose agent counted accesses in windows, through the decoder and all of finalising."""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from pathlib import Path

from support.builders.access_agent import COMPLETE, accessing_agent, finished
from support.builders.allocation_spool_builder import AllocatingAgent
from support.builders.spool_builder import record

ACCESS_WINDOW = 63
GROUP_SHIFT = 27
GROUPS, KNOWN = 10, 11
SUMS = ("in", "own", "between", "before", "unseen", "marks", "marks_in", "marks_wrong", "marks_largest")
WINDOWED = COMPLETE | {
    b"access_windows": b"300:60000",
    b"accesses_coverage": COMPLETE[b"accesses_coverage"] + b",windows=11,windows_incomplete=0",
}
"""What an agent says of itself that has counted in windows."""
CPU_TICK_NS = 4_000_000
"""What one of the small numbers is that tests give for CPU time: threads with little of a core are unknown."""
IN_TICKS = SUMS[:5]
Kinds = tuple[int, int, int, int, int, int]


def windowed_agent(facts: Mapping[bytes, bytes] | None = None) -> AllocatingAgent:
    """Return a JVM with the threads main (1) and w1 (21), and what its agent says of itself."""
    return accessing_agent(dict(WINDOWED if facts is None else facts))


def worked(agent: AllocatingAgent, java_id: int, block: int, group: int, **sums: int) -> None:
    """Add what a thread did in and between the windows of a group, by the names of SUMS: CPU time in ticks, and marks."""
    values = [sums.get(name, 0) * (CPU_TICK_NS if name in IN_TICKS else 1) for name in SUMS]
    body = struct.pack("<QII9Q", java_id, block | group << GROUP_SHIFT, 0, *values)
    agent.records.append(record(1, ACCESS_WINDOW, 1, body))


def steady(
    agent: AllocatingAgent,
    java_id: int,
    block: int,
    *,
    reads: int = 500,
    groups: Sequence[int] = range(1, GROUPS + 1),
    times: int = 20,
    wrong: int = 0,
    largest: int = 500,
) -> int:
    """Add a thread that reads as often in each spell; between windows are `times` as many as there are windows.

    Returns how often it read.
    """
    for group in groups:
        worked(agent, java_id, block, group, **{"in": 400, "own": 100, "between": 100 * times, "before": 100})
        agent.accessed(java_id, 1, block | group << GROUP_SHIFT, (reads, 0, 0, 0, 0, 0))
    count = len(groups)
    marks = {"marks": 100 * count, "marks_in": 100 * count, "marks_wrong": wrong, "marks_largest": largest}
    worked(agent, java_id, block, 0, **{"in": 300, "own": 300, **marks})
    for group, windows in ((0, count + 1), (KNOWN, count)):
        agent.accessed(java_id, 1, block | group << GROUP_SHIFT, (reads * windows, 0, 0, 0, 0, 0))
    return reads * (count + 1) + reads * count * times


def window_recording(folder: Path) -> Path:
    """Return a recording in which w1 read steadily."""
    agent = windowed_agent()
    steady(agent, 21, 1)
    return finished(folder, agent).path
