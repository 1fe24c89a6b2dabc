"""The table `sample` of an imported file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.record.jfr.samples import STATES, SampleBatch
from headway.record.jfr.sorted_runs import SortedRuns
from headway.record.jfr.threads import ThreadIds
from headway.store.column_writer import ColumnWriter, Numbers, Texts, Values
from headway.store.manifest import TableInfo
from headway.store.tables import TABLES

if TYPE_CHECKING:
    from headway.record.jfr.sorted_runs import Columns

IN_MEMORY = 200_000_000
"""Bytes of rows that are sorted in memory; runs of this size go to disk, which costs little."""


class SampleTable:
    """Takes batches of samples, then writes them in order of time."""

    def __init__(self, folder: Path, in_memory: int = IN_MEMORY) -> None:
        """Begin with no samples; `folder` is for rows that memory does not hold."""
        self._staged = SortedRuns("ns", folder, in_memory)
        self._events: dict[str, int] = {}

    @property
    def rows(self) -> int:
        """Return how many samples there are."""
        return self._staged.rows

    def add(self, batch: SampleBatch, threads: ThreadIds) -> None:
        """Take samples of one event."""
        import numpy as np

        thread_id = threads.thread_ids(batch.thread)
        event = self._events.setdefault(batch.event, len(self._events))
        self._staged.add(
            {
                "thread_id": thread_id,
                "ns": batch.ns,
                "event": np.full(len(batch.ns), event, dtype=np.int16),
                "weight": batch.weight,
                "stack_id": batch.stack,
                "state": batch.state,
            }
        )

    def write(self, directory: Path) -> dict[str, TableInfo]:
        """Write the table."""
        with ColumnWriter(directory, TABLES["sample"]) as writer:
            for rows in self._staged.sorted():
                writer.write(len(rows["ns"]), self._columns(rows))
        return {"sample": writer.info}

    def _columns(self, rows: Columns) -> dict[str, Values]:
        return {
            "thread_id": Numbers(rows["thread_id"]),
            "ns": Numbers(rows["ns"], None),
            "event": Texts(rows["event"], list(self._events)),
            "weight": Numbers(rows["weight"], None),
            "stack_id": Numbers(rows["stack_id"]),
            "state": Texts(rows["state"], STATES),
        }
