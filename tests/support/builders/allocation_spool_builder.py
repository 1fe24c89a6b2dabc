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

JAVA_CLASS, ALLOCATION, ACCESS = 50, 51, 52
ACCESS_OWNERS = {"allocator": 53, "last-writer": 55}
ACCESS_PAIR = {"allocator": 54, "last-writer": 56}
Sums4 = tuple[int, int, int, int]


class AllocatingAgent(LockAgent):
    """An agent that counts allocations: every object, or samples."""

    def java_class(self, class_id: int, name: bytes) -> None:
        """Announce a class by its number and name."""
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

    def accessed(self, java_id: int, class_id: int, block: int, counts: tuple[int, int, int, int, int, int]) -> None:
        """Add the sums of one row: tuple reads and writes, array reads and writes, static reads and writes."""
        self.records.append(record(1, ACCESS, 1, struct.pack("<QII6Q", java_id, class_id, block, *counts)))

    def owned(
        self, java_id: int, class_id: int, block: int, local: Sums4, shared: Sums4, rule: str = "allocator"
    ) -> None:
        """Add whose the objects of a row of `accessed` are by a rule: the thread's own, another one's."""
        sums = struct.pack("<QII8Q", java_id, class_id, block, *local, *shared)
        self.records.append(record(1, ACCESS_OWNERS[rule], 1, sums))

    def paired(self, java_id: int, owner_id: int, block: int, counts: Sums4, rule: str = "allocator") -> None:
        """Add how often a thread used objects of one owner by a rule."""
        sums = struct.pack("<QQII4Q", java_id, owner_id, block, 0, *counts)
        self.records.append(record(1, ACCESS_PAIR[rule], 1, sums))

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


OWNED = ("tuple_reads", "tuple_writes", "array_reads", "array_writes")


def _owner_tables() -> dict[str, pa.Table]:
    """Return of `access_recording` whose the objects are, where that is known, and one pair each of threads."""
    keys = {"pid": [1, 1], "thread_id": [0, None], "java_id": [1, -2], "class_name": ["Order", "Order"]}
    local = {f"{name}_local": [1, 0] for name in OWNED}
    shared = {f"{name}_shared": [n % 3, 10] for n, name in enumerate(OWNED)}
    pairs = {
        **{"pid": [1, 1, 1, 1], "thread_id": [0, 0, None, 0], "java_id": [1, 1, -2, 1]},
        **{"owner_thread_id": [0, None, 0, None], "owner_java_id": [1, -2, 1, 0]},
    }
    counts = {name: [1, n % 3, 10, 5 - n - 1 - n % 3] for n, name in enumerate(OWNED)}
    return {"access_owner": pa.table(keys | local | shared), "access_pair": pa.table(pairs | counts)}


def access_recording(path: Path, *, with_owners: bool = False) -> Path:
    """Write a recording in which one thread, and all virtual threads, read and wrote, `with_owners` also whose objects."""
    thread = {**ONE_THREAD, "from_snapshot": [False]}
    access = {
        **{
            "pid": [1, 1, 1],
            "thread_id": [0, None, None],
            "java_id": [1, -2, -1],
            "class_name": ["Order", "Order", "Book"],
        },
        **{"tuple_reads": [5, 50, 500], "tuple_writes": [4, 40, 400], "array_reads": [3, 30, 300]},
        **{"array_writes": [2, 20, 200], "static_reads": [1, 10, 100], "static_writes": [0, 0, 0]},
    }
    window = {"start_ns": 0, "end_ns": 1_000_000}
    coverage = {"pid": 1, "problem": None, "is_complete": True, "classes": 2, "classes_left_out": 0, "loaded_before": 0}
    coverage |= {"methods_left_out": 1, "instructions": 15, "instructions_left_out": 2, "threads_left_out": 0}
    facts = {"window": window, "mode": "agent", "accesses": {"jvms": [coverage]}}
    tables = {"thread": pa.table(thread), "access": pa.table(access)}
    return write_recording(path, facts, tables | (_owner_tables() if with_owners else {}))
