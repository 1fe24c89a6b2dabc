"""The table `sample` of an imported file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from headway.record.jfr.intervals import SCALED, IntervalsOverTime
from headway.record.jfr.samples import STATES, SampleBatch, told_once
from headway.record.jfr.sorted_runs import SortedRuns
from headway.record.jfr.threads import ThreadIds
from headway.store.column_writer import ColumnWriter, Numbers, Texts, Values
from headway.store.manifest import TableInfo
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.record.jfr.sorted_runs import Columns

IN_MEMORY = 200_000_000
"""Bytes of rows that are sorted in memory; runs of this size go to disk, which costs little."""


class SampleTable:
    """Takes batches of samples, then writes them in order of time."""

    def __init__(self, folder: Path, in_memory: int = IN_MEMORY) -> None:
        """Begin with no samples; `folder` is for rows that memory does not hold."""
        self._staged = SortedRuns("ns", folder, in_memory)
        self._sources: dict[tuple[str, str], int] = {}  # (event, source) -> its number in the staged rows

    @property
    def rows(self) -> int:
        """Return how many samples were taken in."""
        return self._staged.rows

    def add(self, batch: SampleBatch, threads: ThreadIds) -> None:
        """Take samples of one event."""
        import numpy as np

        thread_id = threads.thread_ids(batch.thread)
        number = self._sources.setdefault((batch.event, batch.source), len(self._sources))
        self._staged.add(
            {
                "thread_id": thread_id,
                "ns": batch.ns,
                "source": np.full(len(batch.ns), number, dtype=np.int16),
                "weight": batch.weight,
                "stack_id": batch.stack,
                "state": batch.state,
            }
        )

    def write(self, directory: Path, intervals: IntervalsOverTime) -> dict[str, TableInfo]:
        """Write the table; what two events of the file tell is in it once."""
        place, events = self._events()
        with ColumnWriter(directory, TABLES["sample"]) as writer:
            for rows in self._staged.sorted():
                self._weigh(rows, intervals)
                event = place.take(rows["source"])
                kept = _where(rows, event >= 0) if (place < 0).any() else rows
                event = event[event >= 0]
                writer.write(len(event), {**_columns(kept), "event": Texts(event, events)})
        return {"sample": writer.info}

    def _weigh(self, rows: Columns, intervals: IntervalsOverTime) -> None:
        """Give each row the weight that the settings of its time give it: they are known when the file has been read."""
        for number, (_, source) in enumerate(self._sources):
            if source not in SCALED:
                continue
            of_it = (rows["source"] == number).nonzero()[0]
            rows["weight"][of_it] *= intervals.of(source, rows["ns"][of_it])

    def _events(self) -> tuple[NDArray[np.int16], list[str]]:
        """Return for each number of a source the place of its event among the events, -1 for what is told by others."""
        import numpy as np

        names = told_once(self._sources)
        events = list(dict.fromkeys(name for name in names.values() if name is not None))
        places = [-1 if names[source] is None else events.index(str(names[source])) for source in self._sources]
        return np.array(places, dtype=np.int16), events


def _where(rows: Columns, keep: NDArray[np.bool_]) -> Columns:
    return {name: values[keep] for name, values in rows.items()}


def _columns(rows: Columns) -> dict[str, Values]:
    return {
        "thread_id": Numbers(rows["thread_id"]),
        "ns": Numbers(rows["ns"], None),
        "weight": Numbers(rows["weight"], None),
        "stack_id": Numbers(rows["stack_id"]),
        "state": Texts(rows["state"], STATES),
    }
