"""Builds recordings of a program whose threads allocate and count: what `headway memory` and `headway numa` are asked of."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headway.model.kinds import COUNTED
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema, write_recording
from support.builders.counted_builder import ORIGIN_NS, PID, CountedSlice, counters_of, slice_table, thread_table

CYCLES = (("cycles", "instructions"),)


@dataclass(frozen=True)
class Worker:
    """A thread: its name and Thread.getId(), how long it ran, its counts, and what it allocated. `cpu`: where it ran.

    `uncounted_ns`: for how long it ran before its counters were read, so that nothing is known of that part.
    """

    name: str
    java_id: int | None
    cpu_ns: int
    counts: tuple[int, ...] = (2, 1)
    objects: int = 0
    bytes: int = 0
    arrays: int = 0
    array_length: int = 0
    cpu: int = 0
    start_ns: int = 0
    kind: str = "app"
    uncounted_ns: int = 0
    pid: int = PID


def memory_recording(
    path: Path,
    threads: Sequence[Worker],
    wall_ns: int,
    groups: Sequence[Sequence[str]] = CYCLES,
    *,
    allocations: bool = True,
    more: Mapping[str, pa.Table] | None = None,
    **manifest: Any,
) -> Path:
    """Write a recording of these threads, each with one slice, or two where it is counted in part.

    `more`: further tables. `manifest` sets keys of its manifest. Threads may run on one CPU at the same time: nothing here looks
    at that.
    """
    slices = _slices(threads, len(groups))
    tables = {
        "thread": _threads(threads),
        "slice": slice_table(slices, groups),
        "activity": _activity(threads, wall_ns),
        **({"allocation": _allocations(threads)} if allocations else {}),
        **(more or {}),
    }
    objects = {"interval_bytes": 0, "sites": False, "jvms": [{"pid": PID, "interval_bytes": 0}]}
    facts = {
        "state": "complete",
        "mode": "ebpf",
        "command": ["java", "App"],
        "pid": PID,
        "window": {"start_ns": ORIGIN_NS, "end_ns": ORIGIN_NS + wall_ns},
        **({"counters": counters_of(slices, groups)} if groups else {}),
        **({"objects": objects} if allocations else {}),
        **manifest,
    }
    return write_recording(path, facts, tables, overwrite=True)


def _slices(threads: Sequence[Worker], groups: int) -> list[CountedSlice]:
    return sorted(
        (
            CountedSlice(n, each.cpu, each.start_ns + begin_ns, ns, counts, (0,) * groups)
            for n, each in enumerate(threads)
            for begin_ns, ns, counts in (
                (0, each.uncounted_ns, None),
                (each.uncounted_ns, each.cpu_ns - each.uncounted_ns, each.counts),
            )
            if ns
        ),
        key=lambda each: each.end_ns,
    )


def _threads(threads: Sequence[Worker]) -> pa.Table:
    found = thread_table([each.kind for each in threads])
    columns = {name: found.column(name) for name in found.column_names}
    columns["pid"] = pa.array([each.pid for each in threads])
    columns["name"] = pa.array([each.name for each in threads])
    columns["java_id"] = pa.array([each.java_id for each in threads], pa.int64())
    columns["running_ns"] = pa.array([each.cpu_ns for each in threads], pa.int64())
    return pa.table(columns)


def _activity(threads: Sequence[Worker], wall_ns: int) -> pa.Table:
    """Return for how long how many threads of each kind ran: one bin, a row for each stretch between two changes."""
    ends = {0, wall_ns, *(each.start_ns for each in threads), *(each.start_ns + each.cpu_ns for each in threads)}
    rows: list[dict[str, int]] = []
    for begin, end in itertools.pairwise(sorted(ends)):
        row = {"bin_start_ns": ORIGIN_NS, "dur_ns": end - begin, "stolen_ns": 0}
        for kind in COUNTED:
            of_kind = [each for each in threads if each.kind == kind]
            there = sum(each.start_ns <= begin < each.start_ns + each.cpu_ns for each in of_kind)
            row |= {f"active_{kind}": there, f"running_{kind}": there}
        rows.append(row)
    schema = arrow_schema(TABLES["activity"])
    return pa.table({name: [row[name] for row in rows] for name in schema.names}, schema)


def _allocations(threads: Sequence[Worker]) -> pa.Table:
    rows: list[dict[str, Any]] = []
    for n, each in enumerate(threads):
        known = {"pid": PID, "thread_id": n, "java_id": each.java_id, "site_class": "", "site_method": ""}
        plain = each.objects - each.arrays
        array_bytes = each.bytes * each.arrays // each.objects if each.objects else 0
        rows.append(
            {**known, "class_name": "app.Pair", "objects": plain, "bytes": each.bytes - array_bytes, "array_length": 0}
        )
        rows.append(
            {
                **known,
                "class_name": "int[]",
                "objects": each.arrays,
                "bytes": array_bytes,
                "array_length": each.array_length,
            }
        )
    types = {"pid": pa.int32(), "thread_id": pa.int32(), "java_id": pa.int64()}
    names = list(rows[0])
    return pa.table({name: pa.array([row[name] for row in rows], types.get(name)) for name in names})
