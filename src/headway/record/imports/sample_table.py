"""Writes the table `sample` of an imported file."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.record.imports.own_time import StackWeights
from headway.record.imports.sorted_runs import SortedRuns
from headway.record.imports.threads import ThreadIds
from headway.record.jfr.intervals import (
    EXECUTION_SAMPLE,
    OF_EXECUTION,
    RUNNING_SAMPLE,
    SLEEPING_SAMPLE,
    FileIntervals,
)
from headway.record.jfr.samples import EITHER, STATES, SampleBatch, deduplicated_sources, event_of
from headway.store.column_writer import ColumnWriter, Numbers, Texts, Values
from headway.store.manifest import TableInfo
from headway.store.shared_texts import shortened
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.record.imports.sorted_runs import Columns

ProgramOf = Callable[[int], int]
"""Tells which JVM a chunk is of."""
_MOST_WEIGHT = 1 << 62
_MOST_TOTAL = 1 << 63
_NARROW = (1 << 15) - 1
"""Numbers of (source, chunk) that two bytes hold."""
IN_MEMORY = 200_000_000
"""Bytes of rows that are sorted in memory; runs of this size go to disk, which costs little."""


class SampleTable:
    """Collects batches of samples, then writes them in order of time."""

    def __init__(self, folder: Path, in_memory: int = IN_MEMORY) -> None:
        """Start without samples; `folder` is for rows that do not fit in memory."""
        self._staged = SortedRuns("ns", folder, in_memory)
        self._numbers: dict[tuple[str, int], int] = {}  # (source, chunk) -> its number in the staged rows
        self._counted: set[int] = set()
        """Numbers of rows that are counted, as nobody knows what they stand for."""
        self.either = False
        """Whether samples, once written, may be of CPU time or of wall time."""
        self.not_known: dict[str, None] = {}
        """Events, once written, of whose samples nobody says what they stand for."""
        self.out_of_range = 0
        """How many samples, once written, stand for nothing, as all together would not fit 64 bits."""
        self._total = 0
        self.cpu_weights = StackWeights()
        """Of async-profiler's main event, once written."""
        self.estimates_ns: dict[int, None] = {}
        """What samples stand for, once written, that count as CPU time and are of a sampler that is no clock."""

    @property
    def rows(self) -> int:
        """Return how many samples were added."""
        return self._staged.rows

    def add(self, batch: SampleBatch, threads: ThreadIds) -> None:
        """Add samples of one event."""
        import numpy as np

        number = self._numbered(batch)
        # Rows may be of both: less to sort and to write.
        narrow = np.int16 if len(self._numbers) <= _NARROW else np.int32
        self._staged.add(
            {
                "thread_id": threads.thread_ids(batch.thread),
                "ns": batch.ns,
                "number": number.astype(narrow),
                "count": batch.count,
                "stack_id": batch.stack,
                "state": batch.state,
            }
        )

    def _numbered(self, batch: SampleBatch) -> NDArray[np.int64]:
        """Return the number of each row's source and chunk; jdk.ExecutionSample is one source for each state of a thread."""
        import numpy as np

        lengths = [rows for _, rows in batch.chunks]
        if batch.source != EXECUTION_SAMPLE:
            each = [self._number(batch.source, chunk) for chunk, _ in batch.chunks]
            return np.repeat(np.array(each, dtype=np.int64), lengths)
        place = np.repeat(np.arange(len(lengths)), lengths)
        numbers = np.zeros((len(lengths), len(OF_EXECUTION)), dtype=np.int64)
        for at, code in zip(*np.nonzero(_occurring_pairs(place, batch.state + 1, numbers.shape)), strict=True):
            numbers[at, code] = self._number(OF_EXECUTION[code], batch.chunks[at][0])
        found: NDArray[np.int64] = numbers[place, batch.state + 1]
        return found

    def _number(self, source: str, chunk: int) -> int:
        return self._numbers.setdefault((source, chunk), len(self._numbers))

    def intervals(self, source: str, intervals: FileIntervals) -> list[int]:
        """Return the sampling intervals of an event of the file, each once, in the file's order."""
        sources = OF_EXECUTION if source == EXECUTION_SAMPLE else (source,)
        chunks = dict.fromkeys((of, intervals.of_chunk(chunk)) for of, chunk in self._numbers if of in sources)
        return list(dict.fromkeys(value for of, chunk in chunks for value in chunk.values(of).tolist()))

    def write(self, directory: Path, intervals: FileIntervals, program_of: ProgramOf) -> dict[str, TableInfo]:
        """Write the table; samples that two events of a JVM share are written once."""
        place, events = self._events(intervals, program_of)
        weights = _Weights(self._numbers, intervals, self._counted)
        of_profiler = self._of_profiler(intervals)
        with ColumnWriter(directory, TABLES["sample"]) as writer:
            for rows in self._staged.sorted():
                weight, event = self._bounded(weights.of(rows)), place.take(rows["number"])
                has_event = event >= 0
                if not has_event.all():
                    rows, weight, event = _where(rows, has_event), weight[has_event], event[has_event]
                if of_profiler.any():
                    is_its = of_profiler.take(rows["number"])
                    self.cpu_weights.add(rows["stack_id"][is_its], weight[is_its])
                columns = {
                    **_columns(rows),
                    "weight": Numbers(weight, None),
                    "event": Texts(event, [shortened(each) for each in events]),
                }
                writer.write(len(event), columns)
        return {"sample": writer.info}

    def _bounded(self, weight: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return weights whose sum with all before fits 64 bits: a damaged file may claim anything."""
        if not len(weight) or self._total + int(weight.max()) * len(weight) < _MOST_TOTAL:
            self._total += int(weight.sum())
            return weight
        for at, each in enumerate(weight.tolist()):
            if self._total + each >= _MOST_TOTAL:
                weight[at] = 0
                self.out_of_range += 1
            self._total += int(weight[at])
        return weight

    def _events(self, intervals: FileIntervals, program_of: ProgramOf) -> tuple[NDArray[np.int32], list[str]]:
        """Return for each number the place of its event among the events, -1 for what others tell, and these."""
        import numpy as np

        numbers_by_jvm: dict[int, dict[tuple[str, str], list[int]]] = {}  # JVM -> (event, source) -> numbers
        mixed = self._mixed(intervals, program_of)
        for (source, chunk), number in self._numbers.items():
            first = intervals.of_chunk(chunk).each[0]
            pair = event_of(source, first), source
            if source == RUNNING_SAMPLE and pair[0] not in ("wall", "execution") and program_of(chunk) in mixed:
                pair = EITHER, source
                self._counted.add(number)
                self.either = True
            if source in OF_EXECUTION and pair[0] == first.event and not first.is_known:
                self.not_known[first.event] = None
            numbers_by_jvm.setdefault(program_of(chunk), {}).setdefault(pair, []).append(number)
        places = np.full(len(self._numbers), -1, dtype=np.int32)
        events: dict[str, int] = {}
        for pairs in numbers_by_jvm.values():
            for pair, name in deduplicated_sources(pairs).items():
                if name is not None:
                    places[pairs[pair]] = events.setdefault(name, len(events))
                    if name == "cpu" and pair[1] in OF_EXECUTION:
                        self._note_estimates(pairs[pair], intervals)
        return places, list(events)

    def _mixed(self, intervals: FileIntervals, program_of: ProgramOf) -> set[int]:
        """Return the JVMs in whose files samples of running threads may be of the main event or of wall time.

        They have samples of sleeping threads, which are no CPU time, and are of a version without states to tell by.
        """
        found = set()
        for source, chunk in self._numbers:
            first = intervals.of_chunk(chunk).each[0]
            if source == SLEEPING_SAMPLE and not first.is_estimate and not first.has_states and first.event != "wall":
                found.add(program_of(chunk))
        return found

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
        return np.array(
            [
                source in OF_EXECUTION and not each.is_estimate and event_of(source, each) == each.event
                for each, (source, _) in pairs
            ]
        )


class _Weights:
    """What samples stand for by their chunk's settings, known once the whole file has been read."""

    def __init__(self, numbers: Iterable[tuple[str, int]], intervals: FileIntervals, counted: Collection[int]) -> None:
        import numpy as np

        self._chunks = [(source, intervals.of_chunk(chunk)) for source, chunk in numbers]
        self._factors = np.array([chunk.values(source)[0] for source, chunk in self._chunks], dtype=np.int64)
        self._varies = np.array([chunk.varies(source) for source, chunk in self._chunks], dtype=np.bool_)
        self._factors[list(counted)] = 1
        self._varies[list(counted)] = False

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


def _occurring_pairs(place: NDArray[Any], state: NDArray[Any], shape: tuple[int, int]) -> NDArray[np.bool_]:
    """Return which pairs of place and state rows have."""
    import numpy as np

    found = np.zeros(shape, dtype=np.bool_)
    found[place, state] = True
    return found


def _where(rows: Columns, keep: NDArray[np.bool_]) -> Columns:
    return {name: values[keep] for name, values in rows.items()}


def _columns(rows: Columns) -> dict[str, Values]:
    return {
        "thread_id": Numbers(rows["thread_id"]),
        "ns": Numbers(rows["ns"], None),
        "stack_id": Numbers(rows["stack_id"]),
        "state": Texts(rows["state"], STATES),
    }
