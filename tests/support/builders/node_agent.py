"""Builds records of an agent that sampled accesses by memory node, from native/wire/records.h alone."""

from __future__ import annotations

import struct

from support.builders.access_agent import COMPLETE, JVM
from support.builders.allocation_spool_builder import AllocatingAgent
from support.builders.spool_builder import record

NODES, PAIR, WRITER_PAIR = 64, 65, 66
UNKNOWN = 0xFFFF
TUPLE_READ, TUPLE_WRITE, ARRAY_READ, ARRAY_WRITE = range(4)
WITH_NODES = COMPLETE | {b"access_nodes": b"on"}


def sampled(
    agent: AllocatingAgent,
    java_id: int,
    kind: int,
    nodes: tuple[int, int],
    samples: int,
    *,
    of: int = 1,
    record_type: int = NODES,
    accesses: int | None = None,
) -> None:
    """Add how many samples there were so far of a thread's accesses from the CPUs of one node to the pages of another."""
    counts = (samples, 1000 * samples if accesses is None else accesses)
    sums = struct.pack("<QQHHHHQQ", java_id, of, kind, *nodes, 0, *counts)
    agent.records.append(record(1, record_type, JVM, sums))
