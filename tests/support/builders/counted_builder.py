"""Builds recordings whose slices have counts, and what each row of `headway counters` must then say, slice by slice."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from headway.store.tables import TABLES
from headway.store.writer import arrow_schema, write_recording

ORIGIN_NS = 5_000_000_000_000
PID = 4000
Phase = tuple[str, int, int] | tuple[str, int, int, str] | tuple[str, int, int, str, int]


@dataclass(frozen=True)
class CountedSlice:
    """A running slice. Times are ns from the start; `uncounted_ns`: of each group; counts None: not known."""

    thread: int
    cpu: int
    start_ns: int
    running_ns: int
    counts: tuple[int, ...] | None
    uncounted_ns: tuple[int, ...] = (0,)
    is_open: bool = False

    @property
    def end_ns(self) -> int:
        """Return when it ends."""
        return self.start_ns + self.running_ns

    def inside(self, begin_ns: int, end_ns: int) -> int:
        """Return how much of it lies within a window, ns."""
        return max(0, min(self.end_ns, end_ns) - max(self.start_ns, begin_ns))


def counted_recording(
    path: Path,
    slices: Sequence[CountedSlice],
    wall_ns: int,
    groups: Sequence[Sequence[str]],
    kinds: Sequence[str] = ("app",),
    phases: Sequence[Phase] = (),
    holds: Sequence[tuple[int | None, int, int, int]] | None = None,
    jvms: Sequence[tuple[int, str, str]] = (),
    mounts: Sequence[tuple[int, int, int, int]] | None = None,
    losses: Sequence[tuple[str, int, int, int]] = (),
    /,
    **counters: Any,
) -> Path:
    """Write a recording of these slices. `kinds`: of each thread; `phases`: kind, start and length from the start, and cause
    and process where they matter; `holds`: thread (None: virtual), lock, start and length, None for a recording without locks;
    `jvms`: what a JVM says of itself: process, key, value; `mounts`: carrier, id of the virtual thread, start and length;
    `losses`: source, CPU, start and length of spans of lost records.

    `counters` overrides keys of what the manifest says of them.
    """
    rows = sorted(slices, key=lambda each: each.end_ns)
    tables = {
        "thread": thread_table(kinds),
        "slice": slice_table(rows, groups),
        "activity": arrow_schema(TABLES["activity"]).empty_table(),  # when threads ran is known, by slices
        "jvm_phase": _phase_table(phases),
    }
    if jvms:
        columns = zip(("pid", "key", "value"), zip(*jvms, strict=True), strict=True)
        tables["jvm"] = pa.table({name: [*values] for name, values in columns}, arrow_schema(TABLES["jvm"]))
    if mounts is not None:
        tables["mount"] = _mount_table(mounts)
    if losses:
        tables["loss"] = _loss_table(losses)
    if holds is not None:
        tables |= _lock_tables(sorted(holds, key=lambda each: each[2]))
    manifest = {
        "state": "complete",
        "mode": "ebpf",
        "command": ["java"],
        "pid": PID,
        "window": {"start_ns": ORIGIN_NS, "end_ns": ORIGIN_NS + wall_ns},
        "counters": {**counters_of(rows, groups), **counters},
    }
    return write_recording(path, manifest, tables, overwrite=True)


def _phase_table(phases: Sequence[Phase]) -> pa.Table:
    return pa.table(
        {
            "pid": pa.array([each[4] if len(each) > 4 else PID for each in phases], pa.int32()),
            "start_ns": pa.array([ORIGIN_NS + each[1] for each in phases], pa.int64()),
            "dur_ns": pa.array([each[2] for each in phases], pa.int64()),
            "kind": pa.array([each[0] for each in phases], pa.string()),
            "cause": pa.array([each[3] if len(each) > 3 else None for each in phases], pa.string()),
        }
    )


def _mount_table(mounts: Sequence[tuple[int, int, int, int]]) -> pa.Table:
    carrier, java_id, start, length = zip(*sorted(mounts, key=lambda each: (each[0], each[2])), strict=True)
    columns = {"pid": [PID] * len(carrier), "thread_id": [*carrier], "java_id": [*java_id]}
    columns |= {"start_ns": [ORIGIN_NS + each for each in start], "dur_ns": [*length]}
    return pa.table(columns, arrow_schema(TABLES["mount"]))


def _loss_table(losses: Sequence[tuple[str, int, int, int]]) -> pa.Table:
    spans = [(source, cpu, ORIGIN_NS + start, length, 1) for source, cpu, start, length in losses]
    schema = arrow_schema(TABLES["loss"])
    return pa.table(dict(zip(schema.names, map(list, zip(*spans, strict=True)), strict=True)), schema)


def counters_of(rows: Sequence[CountedSlice], groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return what the manifest says of the counters."""
    could = sum(each.running_ns for each in rows)
    cpus = [
        {
            "cpu": 0,
            "group": number,
            "enabled_ns": could,
            "running_ns": could - sum(e.uncounted_ns[number] for e in rows),
        }
        for number in range(len(groups))
    ]
    step = "CPI" if any({"cycles", "instructions"} <= {*group} for group in groups) else "software clocks"
    return {"step": step, "groups": [{"events": [*group]} for group in groups], "absent": [], "cpus": cpus}


def slice_table(rows: Sequence[CountedSlice], groups: Sequence[Sequence[str]]) -> pa.Table:
    """Return the table `slice` of these slices."""
    columns: dict[str, Any] = {
        "thread_id": [each.thread for each in rows],
        "start_ns": [ORIGIN_NS + each.start_ns for each in rows],
        "blocked_ns": [0] * len(rows),
        "runnable_ns": [0] * len(rows),
        "running_ns": [each.running_ns for each in rows],
        "stolen_ns": [0] * len(rows),
        "cpu": [each.cpu for each in rows],
        "blocked_state": [0] * len(rows),
        "waker_id": [-1] * len(rows),
        "waker_irq": [False] * len(rows),
        "is_open": [each.is_open for each in rows],
    }
    for place in range(sum(map(len, groups))):
        values = [None if each.counts is None else each.counts[place] for each in rows]
        columns[f"count_{place}"] = pa.array(values, pa.int64())
    for number in range(len(groups)):
        values = [None if each.counts is None else each.uncounted_ns[number] for each in rows]
        columns[f"uncounted_{number}"] = pa.array(values, pa.int64())
    return pa.table(columns)


def thread_table(kinds: Sequence[str]) -> pa.Table:
    """Return the table `thread`: one thread of each kind."""
    names = [f"thread-{thread}" for thread in range(len(kinds))]
    return pa.table(
        {
            "thread_id": list(range(len(kinds))),
            "pid": [PID] * len(kinds),
            "tid": [4000 + thread for thread in range(len(kinds))],
            "start_ns": [ORIGIN_NS] * len(kinds),
            "name": names,
            "comm": names,
            "kind": list(kinds),
            "from_snapshot": [False] * len(kinds),
        }
    )


def _lock_tables(holds: Sequence[tuple[int | None, int, int, int]]) -> dict[str, pa.Table]:
    locks = sorted({lock for _, lock, _, _ in holds})
    blocker: dict[str, Any] = {
        "blocker_id": locks,
        "pid": [PID] * len(locks),
        "kind": ["park"] * len(locks),
        "class_name": ["org.example.Lock"] * len(locks),
        "identity_hash": [0x1000 + lock for lock in locks],
    }
    hold = {
        "blocker_id": pa.array([lock for _, lock, _, _ in holds], pa.int32()),
        "thread_id": pa.array([thread for thread, *_ in holds], pa.int32()),
        "java_id": pa.array([1 if thread is None else thread + 1 for thread, *_ in holds], pa.int64()),
        "start_ns": pa.array([ORIGIN_NS + start for _, _, start, _ in holds], pa.int64()),
        "dur_ns": pa.array([length for *_, length in holds], pa.int64()),
        "source": pa.array(["owner"] * len(holds), pa.string()),
    }
    for column in TABLES["blocker"].columns:
        if column.name not in blocker:
            blocker[column.name] = ["" if column.type == "VARCHAR" else 0] * len(locks)
    schema = arrow_schema(TABLES["blocker"])
    return {"blocker": pa.table({name: blocker[name] for name in schema.names}, schema), "hold": pa.table(hold)}


@dataclass
class Summed:
    """What an oracle adds up of slices: running time, of which `unknown_ns` without counts, and counts with their bounds."""

    ran_ns: int
    unknown_ns: int
    counts: list[float]
    low: list[float]
    high: list[float]
    most_a_ns: tuple[float, ...]
    """Of each event: no processor counts more in a ns."""

    @classmethod
    def nothing(cls, most_a_ns: Sequence[float]) -> Summed:
        """Return sums of no slice."""
        counts, low, high = ([0.0] * len(most_a_ns) for _ in range(3))
        return cls(0, 0, counts, low, high, tuple(most_a_ns))

    def add(self, each: CountedSlice, inside_ns: int) -> None:
        """Add a part of a slice."""
        self.ran_ns += inside_ns
        if each.counts is None:
            self.unknown_ns += inside_ns
            return
        for place, count in enumerate(each.counts):
            self.counts[place] += count * inside_ns / each.running_ns
            most = self.most_a_ns[place]
            outside_ns = each.running_ns - inside_ns
            self.low[place] += max(0.0, count - most * outside_ns) if outside_ns else count
            self.high[place] += min(count, most * inside_ns) if outside_ns else count


def sums(
    slices: Sequence[CountedSlice],
    key: Callable[[CountedSlice], Any],
    most_a_ns: Sequence[float],
    begin_ns: int,
    end_ns: int,
) -> dict[Any, Summed]:
    """Return sums by key, of a window, with slices divided by time; an oracle that looks at each alone."""
    found: dict[Any, Summed] = {}
    for each in slices:
        if inside := each.inside(begin_ns, end_ns):
            found.setdefault(key(each), Summed.nothing(most_a_ns)).add(each, inside)
    return found
