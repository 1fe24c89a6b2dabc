"""Builds recordings of a JVM whose agent watched cache lines, from native/wire/records.h alone."""

from __future__ import annotations

import struct
from pathlib import Path

from support.builders.access_agent import COMPLETE, JVM, accessing_agent, finished
from support.builders.allocation_spool_builder import AllocatingAgent
from support.builders.spool_builder import record

PLACE, WRITES, SHARE = 57, 58, 59
SAME, LINE, PAIR = 0, 1, 2
NAMES = {31: b"com.acme.Order.hits", 32: b"com.acme.Order.misses", 33: b"long[] in com.acme.Work.run"}
"""Of the places 1, 2 and 3."""
WITH_LINES = COMPLETE | {b"access_lines": b"on"}


def placed(agent: AllocatingAgent, place: int, name_id: int, offset: int) -> None:
    """Announce a field by its class's name and its offset."""
    agent.records.append(record(1, PLACE, JVM, struct.pack("<IIII", place, name_id, offset, 0)))


def wrote(agent: AllocatingAgent, java_id: int, place: int, times: int) -> None:
    """Add how often a thread wrote to a place so far."""
    agent.records.append(record(1, WRITES, JVM, struct.pack("<QIIQ", java_id, place, 0, times)))


def met(
    agent: AllocatingAgent,
    threads: tuple[int, int],
    places: tuple[int, int],
    kind: int,
    times: int,
    *,
    same_object: int = 1,
) -> None:
    """Add how often a thread's write met another thread's so far."""
    sums = struct.pack("<QQIIHHIQ", *threads, *places, kind, same_object, 0, times)
    agent.records.append(record(1, SHARE, JVM, sums))


def line_agent(facts: dict[bytes, bytes] | None = None) -> AllocatingAgent:
    """Return a JVM with the threads 1 and 21 and three places: two fields, 8 bytes apart, and elements of arrays."""
    agent = accessing_agent(WITH_LINES | (facts or {}))
    for place, (name_id, name) in enumerate(NAMES.items(), start=1):
        agent.java_class(name_id, name)
        placed(agent, place, name_id, 0 if place == 3 else 8 + 8 * place)
    return agent


def line_recording(folder: Path) -> Path:
    """Write a recording in which two threads share one line falsely; return where it is."""
    agent = line_agent()
    wrote(agent, 1, 1, 10)
    wrote(agent, 21, 2, 10)
    met(agent, (1, 21), (1, 2), LINE, 9)
    return finished(folder, agent).path
