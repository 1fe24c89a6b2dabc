"""Reads the stack samples of a JFR file: thread, time and stack of each, and how much time (or bytes, events) it stands for.

Weights: CPU and wall samples stand for nanoseconds (the interval that the chunk's settings tell), allocation samples for
bytes, samples of another perf event for counts of it. The JDK's ExecutionSample is no CPU clock: it looks at some of the
threads that run Java code every period, so that its weights are estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.record.jfr.intervals import (
    DEFAULT_NS,
    EXECUTION_SAMPLE,
    NATIVE_SAMPLE,
    OF_EXECUTION,
    WALL_SAMPLE,
    SampleIntervals,
    read_intervals,
)
from headway.record.jfr.reader import NONE, EventBatch, FileTimes, JfrFile
from headway.store.shared_texts import MOST_BYTES

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

STATES = ("running", "sleeping")
"""What the codes of `SampleBatch.state` mean; -1: unknown."""
_SLEEPING = {"STATE_SLEEPING", "STATE_PARKED", "STATE_IN_OBJECT_WAIT", "STATE_IN_OBJECT_WAIT_TIMED"}
_RUNNING = {"STATE_RUNNABLE"}
EXECUTION = "execution"
"""The event of jdk.ExecutionSample where the file has CPU time by CPUTimeSample: together they would be more than was used."""
EITHER = "cpu-or-wall"
"""The event of samples that may be of CPU time or of wall time: their file holds both and does not tell them apart."""
_CPU_TIME = "jdk.CPUTimeSample"
_IN_TLAB, _OUTSIDE_TLAB = "jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"
_SAMPLED = "jdk.ObjectAllocationSample"


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """Samples of one event of a file, in columns of equal length; `SampleIntervals` says what each stands for."""

    source: str  # the event of JFR: jdk.ExecutionSample
    chunks: Sequence[tuple[int, int]]  # the chunks that the rows are of, in turn, with their numbers of rows
    ns: NDArray[np.int64]
    thread: NDArray[np.int32]  # place in the file's threads; -1: none
    count: NDArray[np.int64]  # times `SampleIntervals.of(source)`: what each stands for
    state: NDArray[np.int8]  # index of STATES; -1: unknown
    stack: NDArray[np.int32]  # -1: could not be walked


def read_samples(path: Path | str, times: FileTimes = FileTimes.TICKS) -> SampleReader:
    """Open the samples of a JFR file: iterate over batches, then ask for stacks and frames.

    With `FileTimes.TICKS` times are CLOCK_MONOTONIC if async-profiler wrote the file with clock=monotonic.

    Raises HeadwayError HW310 (no JFR file) or HW311 (of a newer format).
    """
    return SampleReader(path, times)


class SampleReader:
    """Yields `SampleBatch`es; `stacks` returns the frames of stacks that are new, at any time.

    `intervals` hold for the whole file: it is one that headway's own sampler wrote.
    """

    def __init__(self, path: Path | str, times: FileTimes) -> None:
        """Use `read_samples` instead."""
        self.intervals = read_intervals(path)
        self.file = JfrFile(path, tuple(_SOURCES), times)

    def __iter__(self) -> Iterator[SampleBatch]:
        """Yield batches, each of one event."""
        return map(sample_batch, self.file)

    def stacks(self) -> dict[str, NDArray[Any]]:
        """Return stacks new since the last call: stack_id (from 0), depth, frame_id, is_cut, one row per frame."""
        return self.file.stacks()

    def frames(self, most_name_bytes: int = MOST_BYTES) -> pa.Table:
        """Return every frame, with the columns of the table `frame`; ids from 0. `most_name_bytes`: as in `JfrFile.frames`."""
        return self.file.frames(most_name_bytes)

    def os_tids(self) -> NDArray[np.int64]:
        """Return each thread's OS thread id so far, 0 for a virtual thread, and a final 0 for no thread."""
        import numpy as np

        return np.array([each.os_tid for each in self.file.threads()] + [0], dtype=np.int64)

    @property
    def problems(self) -> list[str]:
        """Return what could not be read."""
        return self.file.problems


def deduplicated_sources(found: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str | None]:
    """Return the event that the samples of each (event, source) count for, None for duplicates of other samples.

    A recording of the JDK may have the same twice: CPU time by two samplers; allocations by every buffer (InNewTLAB, and
    OutsideTLAB for what is in none) and by samples of these, whose weights add up to the same bytes. One of the two events of
    buffers alone is a part of what the samples tell.
    """
    pairs = list(found)
    sources = {source for _, source in pairs}
    buffers = {_IN_TLAB, _OUTSIDE_TLAB}
    repeated = set() if _SAMPLED not in sources else {_SAMPLED} if buffers <= sources else buffers
    names: dict[tuple[str, str], str | None] = {}
    for event, source in pairs:
        is_second = event == "cpu" and source in OF_EXECUTION and _CPU_TIME in sources
        names[event, source] = None if source in repeated else EXECUTION if is_second else event
    return names


def is_sample(event: str) -> bool:
    """Return whether a JFR event is a stack sample."""
    return event in _SOURCES


def event_of(source: str, intervals: SampleIntervals) -> str:
    """Return the sampled quantity of a file's event: cpu, wall, alloc, native, cycles ..."""
    return intervals.event_of_state(source) if source in OF_EXECUTION else _SOURCES[source][0]


def sample_batch(batch: EventBatch) -> SampleBatch:
    """Convert rows of a sampling event to samples."""
    return SampleBatch(
        source=batch.event,
        chunks=batch.chunks,
        ns=batch.ints("startTime", 0),
        thread=batch.ids("thread", "sampledThread" if "sampledThread" in batch.columns else "eventThread"),
        count=_SOURCES[batch.event][1](batch),
        state=_states(batch),
        stack=batch.ids("stack", "stackTrace"),
    )


def _states(batch: EventBatch) -> NDArray[np.int8]:
    import numpy as np

    column = batch.columns.get("state")
    if column is None or column.kind != "text":
        return np.full(batch.rows, -1, dtype=np.int8)
    codes = [0 if each in _RUNNING else 1 if each in _SLEEPING else -1 for each in batch.texts] + [-1]
    states: NDArray[np.int8] = np.array(codes, dtype=np.int8)[column.values]
    return states


# --- what a sample stands for ----------------------------------------------------------------------------------------


def _one(batch: EventBatch) -> NDArray[np.int64]:
    import numpy as np

    return np.ones(batch.rows, dtype=np.int64)


def _cpu_time(batch: EventBatch) -> NDArray[np.int64]:
    import numpy as np

    period = batch.ints("samplingPeriod", DEFAULT_NS["cpu"])
    return np.where(period == NONE, DEFAULT_NS["cpu"], period)


def _wall(batch: EventBatch) -> NDArray[np.int64]:
    return batch.ints("samples", 1)


def _in_tlab(batch: EventBatch) -> NDArray[np.int64]:
    """async-profiler puts what the sample stands for where the JDK has the size of the new buffer: the same sense."""
    return batch.ints("tlabSize", 0)


def _outside_tlab(batch: EventBatch) -> NDArray[np.int64]:
    return batch.ints("allocationSize", 0)


def _allocation(batch: EventBatch) -> NDArray[np.int64]:
    return batch.ints("weight", 0)


_SOURCES: Mapping[str, tuple[str, Callable[[EventBatch], NDArray[np.int64]]]] = {
    EXECUTION_SAMPLE: ("", _one),  # named by what async-profiler samples by
    _CPU_TIME: ("cpu", _cpu_time),
    NATIVE_SAMPLE: ("native", _one),
    WALL_SAMPLE: ("wall", _wall),
    _IN_TLAB: ("alloc", _in_tlab),
    _OUTSIDE_TLAB: ("alloc", _outside_tlab),
    _SAMPLED: ("alloc", _allocation),
}
