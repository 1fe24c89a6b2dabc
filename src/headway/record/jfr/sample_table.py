"""The table `sample` of an imported file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.record.jfr.columns import named, optional
from headway.record.jfr.samples import STATES, SampleBatch
from headway.record.jfr.sorted_runs import SortedRuns
from headway.record.jfr.threads import ThreadIds
from headway.store.manifest import TableInfo
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

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
        with TableWriter(directory, TABLES["sample"], indexed=True) as writer:
            for rows in self._staged.sorted():
                writer.write(self._table(rows))
        return {"sample": writer.info}

    def _table(self, rows: Columns) -> pa.Table:
        import pyarrow as pa

        return pa.table(
            {
                "thread_id": optional(rows["thread_id"]),
                "ns": rows["ns"],
                "event": named(rows["event"], list(self._events)),
                "weight": rows["weight"],
                "stack_id": optional(rows["stack_id"]),
                "state": named(rows["state"], STATES),
            }
        )
