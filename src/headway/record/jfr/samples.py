"""The stack samples of a JFR file: who was where when, and what each sample stands for.

Weights: CPU and wall samples stand for nanoseconds (the interval that the file's settings tell), allocation samples for
bytes, samples of another perf event for counts of it. The JDK's ExecutionSample is no CPU clock: it looks at some of the
threads that run Java code every period, so that its weights are estimates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.record.jfr.reader import NONE, EventBatch, JfrFile, Times

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

STATES = ("running", "sleeping")
"""What the codes of `SampleBatch.state` mean; -1: unknown."""
_SLEEPING = {"STATE_SLEEPING", "STATE_PARKED", "STATE_IN_OBJECT_WAIT", "STATE_IN_OBJECT_WAIT_TIMED"}
_RUNNING = {"STATE_RUNNABLE"}
_CPU_EVENTS = {"cpu", "ctimer", "itimer", "cpu-clock", "task-clock", ""}
_SUFFIX_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
EXECUTION = "execution"
"""The event of jdk.ExecutionSample where the file has CPU time by CPUTimeSample: together they would be more than was used."""
_EXECUTION, _CPU_TIME = "jdk.ExecutionSample", "jdk.CPUTimeSample"
_IN_TLAB, _OUTSIDE_TLAB = "jdk.ObjectAllocationInNewTLAB", "jdk.ObjectAllocationOutsideTLAB"
_SAMPLED = "jdk.ObjectAllocationSample"
DEFAULT_NS = {"cpu": 10_000_000, "wall": 50_000_000, "period": 20_000_000}
"""Intervals where no setting tells: async-profiler's own of cpu and wall, the JDK's of its samplers."""


@dataclass(frozen=True, slots=True)
class SampleBatch:
    """Samples of one event, in columns of equal length."""

    event: str  # cpu, wall, alloc, native, cycles ...
    source: str  # the event of JFR: jdk.ExecutionSample
    ns: NDArray[np.int64]
    thread: NDArray[np.int32]  # place in the file's threads; -1: none
    weight: NDArray[np.int64]
    state: NDArray[np.int8]  # index of STATES; -1: unknown
    stack: NDArray[np.int32]  # -1: could not be walked


@dataclass(frozen=True, slots=True)
class Intervals:
    """What the settings of a file say of its samplers: the CPU event's name and intervals in ns (counts for others)."""

    event: str
    cpu: int
    wall: int
    execution: int
    native: int


def read_samples(path: Path | str, times: Times = Times.TICKS) -> SampleReader:
    """Open the samples of a JFR file: iterate over batches, then ask for stacks and frames.

    With `Times.TICKS` times are CLOCK_MONOTONIC if async-profiler wrote the file with clock=monotonic.

    Raises HeadwayError HW310 (no JFR file) or HW311 (of a newer format).
    """
    return SampleReader(path, times)


class SampleReader:
    """Yields `SampleBatch`es; afterwards, or between them, `stacks` gives the frames of stacks that are new."""

    def __init__(self, path: Path | str, times: Times) -> None:
        """Use `read_samples` instead."""
        self.intervals = read_intervals(path)
        self.file = JfrFile(path, tuple(_SOURCES), times)

    def __iter__(self) -> Iterator[SampleBatch]:
        """Yield batches, each of one event."""
        for batch in self.file:
            yield sample_batch(batch, self.intervals)

    def stacks(self) -> dict[str, NDArray[Any]]:
        """Return stacks new since the last call: stack_id, depth, frame_id, is_cut, one row per frame; ids from 0."""
        return self.file.stacks()

    def frames(self) -> pa.Table:
        """Return every frame, with the columns of the table `frame`; ids from 0."""
        return self.file.frames()

    def os_tids(self) -> NDArray[np.int64]:
        """Return the OS thread id of each thread so far, 0 for a virtual one, and a last 0 for none."""
        import numpy as np

        return np.array([each.os_tid for each in self.file.threads()] + [0], dtype=np.int64)

    @property
    def problems(self) -> list[str]:
        """Return what could not be read."""
        return self.file.problems


def told_once(found: Iterable[tuple[str, str]]) -> dict[tuple[str, str], str | None]:
    """Return what the samples of each (event, source) count for, None for those that repeat what others tell.

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
        is_second = event == "cpu" and source == _EXECUTION and _CPU_TIME in sources
        names[event, source] = None if source in repeated else EXECUTION if is_second else event
    return names


def is_sample(event: str) -> bool:
    """Return whether a JFR event is a stack sample."""
    return event in _SOURCES


def sample_batch(batch: EventBatch, intervals: Intervals) -> SampleBatch:
    """Turn rows of a sampling event into samples."""

    source = _SOURCES[batch.event]
    event, weight = source(batch, intervals)
    thread = batch.ids("thread", "sampledThread" if "sampledThread" in batch.columns else "eventThread")
    return SampleBatch(
        event=event,
        source=batch.event,
        ns=batch.ints("startTime", 0),
        thread=thread,
        weight=weight,
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

_Weighed = tuple[str, "NDArray[np.int64]"]


def _each(batch: EventBatch, weight: int) -> NDArray[np.int64]:
    import numpy as np

    return np.full(batch.rows, weight, dtype=np.int64)


def _execution(batch: EventBatch, intervals: Intervals) -> _Weighed:
    return intervals.event, _each(batch, intervals.execution)


def _native(batch: EventBatch, intervals: Intervals) -> _Weighed:
    return "native", _each(batch, intervals.native)


def _cpu_time(batch: EventBatch, intervals: Intervals) -> _Weighed:
    import numpy as np

    period = batch.ints("samplingPeriod", DEFAULT_NS["cpu"])
    return "cpu", np.where(period == NONE, DEFAULT_NS["cpu"], period)


def _wall(batch: EventBatch, intervals: Intervals) -> _Weighed:
    return "wall", batch.ints("samples", 1) * intervals.wall


def _in_tlab(batch: EventBatch, intervals: Intervals) -> _Weighed:
    """async-profiler puts what the sample stands for where the JDK has the size of the new buffer: the same sense."""
    return "alloc", batch.ints("tlabSize", 0)


def _outside_tlab(batch: EventBatch, intervals: Intervals) -> _Weighed:
    return "alloc", batch.ints("allocationSize", 0)


def _allocation(batch: EventBatch, intervals: Intervals) -> _Weighed:
    return "alloc", batch.ints("weight", 0)


_SOURCES: Mapping[str, Callable[[EventBatch, Intervals], _Weighed]] = {
    _EXECUTION: _execution,
    _CPU_TIME: _cpu_time,
    "jdk.NativeMethodSample": _native,
    "profiler.WallClockSample": _wall,
    _IN_TLAB: _in_tlab,
    _OUTSIDE_TLAB: _outside_tlab,
    _SAMPLED: _allocation,
}


# --- settings ---------------------------------------------------------------------------------------------------------


def read_intervals(path: Path | str) -> Intervals:
    """Return the intervals that the settings in a file's first chunk tell.

    Raises HeadwayError as `read_samples`.
    """
    file = JfrFile(path, ("jdk.ActiveSetting",), most_chunks=1)
    found: dict[tuple[str, str], str] = {}
    for batch in file:
        names, types = batch.text_array("name").to_pylist(), file.type_names()
        for number, name, value in zip(batch.ints("id"), names, batch.text_array("value").to_pylist(), strict=True):
            found[types.get(int(number), ""), str(name)] = str(value)
    return intervals_of(found)


def intervals_of(settings: Mapping[tuple[str, str], str]) -> Intervals:
    """Return the intervals of settings, (event, name) -> value. async-profiler's "event" names what it samples by."""
    event = next((value for (_, name), value in settings.items() if name == "event"), None)
    period = parse_ns(settings.get((_EXECUTION, "period"), ""))
    own = parse_ns(settings.get((_EXECUTION, "interval"), ""))
    wall = parse_ns(settings.get((_EXECUTION, "wall"), ""))
    is_wall = event == "wall"
    cpu = own or DEFAULT_NS["cpu"]
    return Intervals(
        event="cpu" if event in _CPU_EVENTS or event in (None, "None") else str(event),
        cpu=cpu,
        wall=wall or (own if is_wall else 0) or DEFAULT_NS["wall"],
        execution=(period or DEFAULT_NS["period"]) if event is None else cpu,
        native=parse_ns(settings.get(("jdk.NativeMethodSample", "period"), "")) or DEFAULT_NS["period"],
    )


def parse_ns(value: str) -> int:
    """Return a setting's time in ns: "20 ms", "1000000" (ns); 0 for what is no time, such as "everyChunk"."""
    number, _, unit = value.strip().partition(" ")
    try:
        return max(0, round(float(number) * _SUFFIX_NS.get(unit or "ns", 0)))
    except ValueError:
        return 0
