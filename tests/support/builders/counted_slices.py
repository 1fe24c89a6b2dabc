"""Adds counts to the slices of a finished recording, as if it had been made with --counters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from headway.model.counter_ladder import step_of
from headway.store.manifest import read_manifest
from headway.store.packing import COUNTS, UNCOUNTED, count_columns
from support.builders.edited_manifest import edit, take_tables_as_they_are


@dataclass(frozen=True)
class Ran:
    """A running slice; its start is ns from the recording's start. `uncounted_ns`: how long no group counted in it."""

    thread: int
    start_ns: int
    running_ns: int


def add_counts(
    path: Path,
    groups: Sequence[Sequence[str]],
    counted: Callable[[Ran], tuple[int, ...] | None],
    uncounted: Callable[[Ran], tuple[int, ...]] | None = None,
) -> list[Ran]:
    """Give each slice of a recording what `counted` says of it (None: not known), and return them.

    `uncounted`: for how long each group did not count in a slice, ns; None: every group counted all the time.
    """
    table = pq.read_table(path / "slice.parquet")
    window = read_manifest(path).window
    assert window is not None
    slices = [
        Ran(row["thread_id"], (row["end_ticks"] - row["running_ticks"]) * row["tick_ns"] - window.start_ns, running)
        for row in table.to_pylist()
        for running in [row["running_ticks"] * row["tick_ns"]]
    ]
    events = sum(map(len, groups))
    rows = [counted(each) for each in slices]
    lacks = [uncounted(each) if uncounted else (0,) * len(groups) for each in slices]
    values: list[list[int]] = [[-1 if row is None else row[place] for row in rows] for place in range(events)]
    values += [
        [-1 if row is None else lack[number] for row, lack in zip(rows, lacks, strict=True)]
        for number in range(len(groups))
    ]
    table = table.drop_columns([name for name in (*COUNTS, *UNCOUNTED) if name in table.column_names])
    for name, column in zip(count_columns(events, len(groups)), values, strict=True):
        table = table.append_column(pa.field(name, pa.int64(), nullable=False), pa.array(column, pa.int64()))
    pq.write_table(table, path / "slice.parquet")
    take_tables_as_they_are(path)
    edit(path, counters=_manifest(slices, groups, lacks))
    return slices


def _manifest(
    slices: Sequence[Ran], groups: Sequence[Sequence[str]], lacks: Sequence[tuple[int, ...]]
) -> dict[str, Any]:
    could = sum(each.running_ns for each in slices)
    cpus = [
        {"cpu": 0, "group": number, "enabled_ns": could, "running_ns": could - sum(lack[number] for lack in lacks)}
        for number in range(len(groups))
    ]
    return {"step": step_of(groups), "groups": [{"events": [*group]} for group in groups], "absent": [], "cpus": cpus}
