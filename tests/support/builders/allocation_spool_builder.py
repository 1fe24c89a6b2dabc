"""Builds an agent's records of allocations, from native/wire/records.h alone."""

from __future__ import annotations

import math
import struct
from pathlib import Path

import pyarrow as pa

from headway.store.writer import write_recording
from support.builders.lock_spool_builder import LockAgent
from support.builders.recording_builder import ONE_THREAD
from support.builders.spool_builder import record

JAVA_CLASS, ALLOCATION = 50, 51


class AllocatingAgent(LockAgent):
    """An agent that counts allocations: every object, or samples."""

    def java_class(self, class_id: int, name: bytes) -> None:
        self.records.append(record(1, JAVA_CLASS, 1, struct.pack("<II", class_id, len(name)) + name))

    def allocated(
        self,
        java_id: int,
        class_id: int,
        objects: int,
        size: int,
        length: int = 0,
        stack_id: int = 0,
        estimates: tuple[float, ...] = (0,) * 6,
    ) -> None:
        """Add the sums of one row: objects of `size` bytes and arrays of `length` elements each."""
        sums = struct.pack("<QIIQQQ", java_id, class_id, stack_id, objects, objects * size, objects * length)
        self.records.append(record(1, ALLOCATION, 1, sums + struct.pack("<6d", *estimates)))

    def sampled(self, java_id: int, class_id: int, samples: int, size: int, interval: int, length: int = 0) -> None:
        """Add a row of samples of one size, with the estimates that follow from the interval."""
        chance = -math.expm1(-size / interval)
        values = (1, size, length)
        sums = [samples * each / chance for each in values]
        variances = [samples * each**2 * (1 - chance) / chance**2 for each in values]
        self.allocated(java_id, class_id, samples, size, length, estimates=(*sums, *variances))


def allocation_recording(path: Path) -> Path:
    """Write a recording in which one thread allocated an array."""
    thread = {**ONE_THREAD, "from_snapshot": [False]}
    allocation = {
        **{"pid": [1], "thread_id": [0], "java_id": [1], "class_name": ["int[]"], "site_class": [""]},
        **{"site_method": [""], "objects": [1], "bytes": [56], "array_length": [10]},
    }
    window = {"start_ns": 0, "end_ns": 1_000_000}
    tables = {"thread": pa.table(thread), "allocation": pa.table(allocation)}
    return write_recording(path, {"window": window, "mode": "agent"}, tables)
