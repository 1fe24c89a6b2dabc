"""The table `sample` of an imported file."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headway.record.jfr.intervals import FileIntervals
from headway.record.jfr.own_time import StackWeights
from headway.record.jfr.samples import STATES, SampleBatch, event_of, told_once
from headway.record.jfr.sorted_runs import SortedRuns
from headway.record.jfr.threads import ThreadIds
from headway.store.column_writer import ColumnWriter, Numbers, Texts, Values
from headway.store.manifest import TableInfo
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.record.jfr.sorted_runs import Columns

_MOST_WEIGHT = 1 << 62
IN_MEMORY = 200_000_000
"""Bytes of rows that are sorted in memory; runs of this size go to disk, which costs little."""


class SampleTable:
    """Takes batches of samples, then writes them in order of time."""

    def __init__(self, folder: Path, in_memory: int = IN_MEMORY) -> None:
        """Begin with no samples; `folder` is for rows that memory does not hold."""
        self._staged = SortedRuns("ns", folder, in_memory)
        self._numbers: dict[tuple[str, int], int] = {}  # (source, chunk) -> its number in the staged rows
        self.cpu_weights = StackWeights()
        """Of what the CPU's sampler found, once written."""

    @property
    def rows(self) -> int:
        """Return how many samples were taken in."""
        return self._staged.rows

    def add(self, batch: SampleBatch, threads: ThreadIds) -> None:
        """Take samples of one event."""
        import numpy as np

        numbers = [self._numbers.setdefault((batch.source, chunk), len(self._numbers)) for chunk, _ in batch.chunks]
        self._staged.add(
            {
                "thread_id": threads.thread_ids(batch.thread),
                "ns": batch.ns,
                "number": np.repeat(np.array(numbers, dtype=np.int32), [rows for _, rows in batch.chunks]),
                "count": batch.count,
                "stack_id": batch.stack,
                "state": batch.state,
            }
        )

    def intervals(self, source: str, intervals: FileIntervals) -> list[int]:
        """Return what samples of an event of the file stand for, each once, in the order of the file."""
        chunks = [intervals.of_chunk(chunk) for of, chunk in self._numbers if of == source]
        return list(dict.fromkeys(each.of(source) for chunk in chunks for each in chunk.each))

    def write(self, directory: Path, intervals: FileIntervals) -> dict[str, TableInfo]:
        """Write the table; what two events of the file tell is in it once."""
        weights = _Weights(self._numbers, intervals)
        place, events, of_cpu = self._events(intervals)
        with ColumnWriter(directory, TABLES["sample"]) as writer:
            for rows in self._staged.sorted():
                weight, event = weights.of(rows), place.take(rows["number"])
                is_told = event >= 0
                if not is_told.all():
                    rows, weight, event = _where(rows, is_told), weight[is_told], event[is_told]
                is_cpu = of_cpu.take(rows["number"])
                self.cpu_weights.add(rows["stack_id"][is_cpu], weight[is_cpu])
                columns = {**_columns(rows), "weight": Numbers(weight, None), "event": Texts(event, events)}
                writer.write(len(event), columns)
        return {"sample": writer.info}

    def _events(self, intervals: FileIntervals) -> tuple[NDArray[np.int32], list[str], NDArray[np.bool_]]:
        """Return for each number the place of its event among the events (-1: others tell it), these, and if it is the CPU's."""
        import numpy as np

        own = [intervals.of_chunk(chunk).each[0] for _, chunk in self._numbers]
        told = [(event_of(source, each), source) for each, (source, _) in zip(own, self._numbers, strict=True)]
        names = told_once(told)
        events = list(dict.fromkeys(name for name in names.values() if name is not None))
        places = [-1 if names[each] is None else events.index(str(names[each])) for each in told]
        of_cpu = [each.event == event for each, (event, _) in zip(own, told, strict=True)]
        return np.array(places, dtype=np.int32), events, np.array(of_cpu, dtype=np.bool_)


class _Weights:
    """What samples stand for by the settings of their chunk: known when the file has been read."""

    def __init__(self, numbers: Iterable[tuple[str, int]], intervals: FileIntervals) -> None:
        import numpy as np

        chunks = [(source, intervals.of_chunk(chunk)) for source, chunk in numbers]
        self._factors = np.array([chunk.each[0].of(source) for source, chunk in chunks], dtype=np.int64)
        self._varying = {
            number: (source, chunk)
            for number, (source, chunk) in enumerate(chunks)
            if len({each.of(source) for each in chunk.each}) > 1
        }

    def of(self, rows: Columns) -> NDArray[np.int64]:
        import numpy as np

        factors = self._factors.take(rows["number"])
        for number, (source, chunk) in self._varying.items():
            of_it = (rows["number"] == number).nonzero()[0]
            factors[of_it] = chunk.of(source, rows["ns"][of_it])
        counts = rows["count"]
        if len(counts) and int(counts.max()) * int(factors.max()) > _MOST_WEIGHT:  # a damaged file
            counts = np.minimum(counts, _MOST_WEIGHT // factors)
        weights: NDArray[np.int64] = counts * factors
        return weights


def _where(rows: Columns, keep: NDArray[np.bool_]) -> Columns:
    return {name: values[keep] for name, values in rows.items()}


def _columns(rows: Columns) -> dict[str, Values]:
    return {
        "thread_id": Numbers(rows["thread_id"]),
        "ns": Numbers(rows["ns"], None),
        "stack_id": Numbers(rows["stack_id"]),
        "state": Texts(rows["state"], STATES),
    }
