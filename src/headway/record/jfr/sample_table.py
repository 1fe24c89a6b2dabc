"""The table `sample` of an imported file."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from headway.record.jfr.intervals import EXECUTION_SAMPLE, FileIntervals
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

ProgramOf = Callable[[int], int]
"""Tells which JVM a chunk is of."""
_MOST_WEIGHT = 1 << 62
_NARROW = (1 << 15) - 1
"""Numbers of (source, chunk) that two bytes hold."""
IN_MEMORY = 200_000_000
"""Bytes of rows that are sorted in memory; runs of this size go to disk, which costs little."""


class SampleTable:
    """Takes batches of samples, then writes them in order of time."""

    def __init__(self, folder: Path, in_memory: int = IN_MEMORY) -> None:
        """Begin with no samples; `folder` is for rows that memory does not hold."""
        self._staged = SortedRuns("ns", folder, in_memory)
        self._numbers: dict[tuple[str, int], int] = {}  # (source, chunk) -> its number in the staged rows
        self.cpu_weights = StackWeights()
        """Of async-profiler's main event, once written."""
        self.estimates_ns: dict[int, None] = {}
        """What samples stand for, once written, that count as CPU time and are of a sampler that is no clock."""

    @property
    def rows(self) -> int:
        """Return how many samples were taken in."""
        return self._staged.rows

    def add(self, batch: SampleBatch, threads: ThreadIds) -> None:
        """Take samples of one event."""
        import numpy as np

        numbers = [self._numbers.setdefault((batch.source, chunk), len(self._numbers)) for chunk, _ in batch.chunks]
        # Rows may be of both: less to sort and to write.
        narrow = np.int16 if len(self._numbers) <= _NARROW else np.int32
        self._staged.add(
            {
                "thread_id": threads.thread_ids(batch.thread),
                "ns": batch.ns,
                "number": np.repeat(np.array(numbers, dtype=narrow), [rows for _, rows in batch.chunks]),
                "count": batch.count,
                "stack_id": batch.stack,
                "state": batch.state,
            }
        )

    def intervals(self, source: str, intervals: FileIntervals) -> list[int]:
        """Return what samples of an event of the file stand for, each once, in the order of the file."""
        chunks = dict.fromkeys(intervals.of_chunk(chunk) for of, chunk in self._numbers if of == source)
        return list(dict.fromkeys(value for chunk in chunks for value in chunk.values(source).tolist()))

    def write(self, directory: Path, intervals: FileIntervals, program_of: ProgramOf) -> dict[str, TableInfo]:
        """Write the table; what two events of the same JVM tell is in it once."""
        weights = _Weights(self._numbers, intervals)
        place, events = self._events(intervals, program_of)
        of_profiler = self._of_profiler(intervals)
        with ColumnWriter(directory, TABLES["sample"]) as writer:
            for rows in self._staged.sorted():
                weight, event = weights.of(rows), place.take(rows["number"])
                is_told = event >= 0
                if not is_told.all():
                    rows, weight, event = _where(rows, is_told), weight[is_told], event[is_told]
                if of_profiler.any():
                    is_its = of_profiler.take(rows["number"])
                    self.cpu_weights.add(rows["stack_id"][is_its], weight[is_its])
                columns = {**_columns(rows), "weight": Numbers(weight, None), "event": Texts(event, events)}
                writer.write(len(event), columns)
        return {"sample": writer.info}

    def _events(self, intervals: FileIntervals, program_of: ProgramOf) -> tuple[NDArray[np.int32], list[str]]:
        """Return for each number the place of its event among the events, -1 for what others tell, and these."""
        import numpy as np

        told: dict[int, dict[tuple[str, str], list[int]]] = {}  # JVM -> (event, source) -> numbers
        for (source, chunk), number in self._numbers.items():
            pair = event_of(source, intervals.of_chunk(chunk).each[0]), source
            told.setdefault(program_of(chunk), {}).setdefault(pair, []).append(number)
        places = np.full(len(self._numbers), -1, dtype=np.int32)
        events: dict[str, int] = {}
        for pairs in told.values():
            for pair, name in told_once(pairs).items():
                if name is not None:
                    places[pairs[pair]] = events.setdefault(name, len(events))
                    if name == "cpu" and pair[1] == EXECUTION_SAMPLE:
                        self._note_estimates(pairs[pair], intervals)
        return places, list(events)

    def _note_estimates(self, numbers: Iterable[int], intervals: FileIntervals) -> None:
        chunks = [chunk for _, chunk in self._numbers]
        for found in dict.fromkeys(intervals.of_chunk(chunks[number]) for number in numbers):
            if found.each[0].is_estimate:
                self.estimates_ns.update(dict.fromkeys(found.values(EXECUTION_SAMPLE).tolist()))

    def _of_profiler(self, intervals: FileIntervals) -> NDArray[np.bool_]:
        """Return for each number whether it is async-profiler's main event."""
        import numpy as np

        first = [intervals.of_chunk(chunk).each[0] for _, chunk in self._numbers]
        pairs = zip(first, self._numbers, strict=True)
        return np.array([source == EXECUTION_SAMPLE and not each.is_estimate for each, (source, _) in pairs])


class _Weights:
    """What samples stand for by the settings of their chunk: known when the file has been read."""

    def __init__(self, numbers: Iterable[tuple[str, int]], intervals: FileIntervals) -> None:
        import numpy as np

        self._chunks = [(source, intervals.of_chunk(chunk)) for source, chunk in numbers]
        self._factors = np.array([chunk.values(source)[0] for source, chunk in self._chunks], dtype=np.int64)
        self._varies = np.array([chunk.varies(source) for source, chunk in self._chunks], dtype=np.bool_)

    def of(self, rows: Columns) -> NDArray[np.int64]:
        import numpy as np

        numbers, counts = rows["number"], rows["count"]
        factors = self._factors.take(numbers)
        if self._varies.any():
            self._vary(factors, rows)
        if len(counts) and (int(counts.max()) * int(factors.max()) > _MOST_WEIGHT or int(counts.min()) < 0):
            counts = np.clip(counts, 0, _MOST_WEIGHT // factors)  # a damaged file
        weights: NDArray[np.int64] = counts * factors
        return weights

    def _vary(self, factors: NDArray[np.int64], rows: Columns) -> None:
        """Give each row of a chunk whose settings change what holds at its time."""
        import numpy as np

        at = self._varies.take(rows["number"]).nonzero()[0]
        at = at[np.argsort(rows["number"][at], kind="stable")]
        numbers, begins = np.unique(rows["number"][at], return_index=True)
        for number, of_it in zip(numbers.tolist(), np.split(at, begins)[1:], strict=True):
            source, chunk = self._chunks[number]
            factors[of_it] = chunk.of(source, rows["ns"][of_it])


def _where(rows: Columns, keep: NDArray[np.bool_]) -> Columns:
    return {name: values[keep] for name, values in rows.items()}


def _columns(rows: Columns) -> dict[str, Values]:
    return {
        "thread_id": Numbers(rows["thread_id"]),
        "ns": Numbers(rows["ns"], None),
        "stack_id": Numbers(rows["stack_id"]),
        "state": Texts(rows["state"], STATES),
    }
