"""What the settings in a JFR file say of its samplers: what one sample stands for, in each chunk and from when on."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headway.record.jfr.reader import JfrFile

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

EXECUTION_SAMPLE, NATIVE_SAMPLE, WALL_SAMPLE = (
    "jdk.ExecutionSample",
    "jdk.NativeMethodSample",
    "profiler.WallClockSample",
)
SCALED = (EXECUTION_SAMPLE, NATIVE_SAMPLE, WALL_SAMPLE)
"""Events whose rows do not say what they stand for: the settings do."""
DEFAULT_NS = {"cpu": 10_000_000, "wall": 50_000_000, "period": 20_000_000}
"""Intervals where no setting tells: async-profiler's own of cpu and wall, the JDK's of its samplers."""
MOST_INTERVAL = 1 << 46
"""About 20 hours, in ns: longer ones are no intervals but damage."""
_TELLING = ("period", "interval", "wall")
_EVENT = "event"
"""The setting by which async-profiler names what it samples by."""
_CPU_EVENTS = {"cpu", "ctimer", "itimer", "cpu-clock", "task-clock", ""}
_LONGEST = 200
_TIME = re.compile(r"\s*(\d{1,20}(?:\.\d*)?)\s*(ns|us|ms|s|m|h|d|)\s*", re.ASCII)
_SUFFIX_NS = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SUFFIX_NS["d"] = 24 * _SUFFIX_NS["h"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a chunk says of its samplers at a time."""

    ns: int
    event: str
    name: str
    value: str


def of_samplers(ns: int, event: str | None, name: str | None, value: str | None) -> Setting | None:
    """Return a setting if what samples stand for, or what they are of, may go by it; it is short, whatever the file has."""
    if name == _EVENT:
        return Setting(ns, "", _EVENT, (value or "")[:_LONGEST])
    return Setting(ns, event, name, (value or "")[:_LONGEST]) if event in SCALED and name in _TELLING else None


@dataclass(frozen=True, slots=True)
class Intervals:
    """What samples stand for: the CPU event's name and intervals in ns (counts for others)."""

    event: str
    is_estimate: bool  # the sampler is the JDK's, which is no clock
    wall: int
    execution: int
    native: int

    def of(self, source: str) -> int:
        """Return what one sample of an event of the file stands for; 1 where its rows say it themselves."""
        return {EXECUTION_SAMPLE: self.execution, NATIVE_SAMPLE: self.native, WALL_SAMPLE: self.wall}.get(source, 1)


class ChunkIntervals:
    """The intervals of a chunk, whose settings may change: where a second recording begins, samples come more often."""

    def __init__(self, first: Intervals) -> None:
        """Begin with what holds from the beginning on."""
        self._starts_ns = [-(1 << 63)]
        self.each = [first]
        """Those in turn, each differs from the one before."""
        self._values: dict[str, NDArray[np.int64]] = {}

    @classmethod
    def told(cls, settings: Iterable[Setting]) -> ChunkIntervals:
        """Take what the chunk says, in any order; what it says first of a setting holds from its beginning on."""
        in_order = sorted(settings, key=lambda each: each.ns)
        now: dict[tuple[str, str], str] = {}
        for each in in_order:
            now.setdefault((each.event, each.name), each.value)
        found = cls(intervals_of(now))
        for each in in_order:
            if now[each.event, each.name] != each.value:
                now[each.event, each.name] = each.value
                found._note(each.ns, intervals_of(now))
        return found

    def _note(self, ns: int, intervals: Intervals) -> None:
        if intervals != self.each[-1]:
            self._starts_ns.append(ns)
            self.each.append(intervals)

    def values(self, source: str) -> NDArray[np.int64]:
        """Return what samples of an event of the file stand for in turn, the same for each of `each`."""
        import numpy as np

        if source not in self._values:
            self._values[source] = np.array([each.of(source) for each in self.each], dtype=np.int64)
        return self._values[source]

    def varies(self, source: str) -> bool:
        """Return whether samples of an event of the file do not all stand for the same."""
        values = self.values(source)
        return bool((values != values[0]).any())

    def of(self, source: str, ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what a sample of an event of the file stands for at each time."""
        import numpy as np

        found: NDArray[np.int64] = self.values(source)[np.searchsorted(np.array(self._starts_ns), ns, "right") - 1]
        return found


class FileIntervals:
    """The intervals of a whole file: a chunk that says nothing of them goes by the one before it of the same JVM."""

    def __init__(self, told: Mapping[int, Sequence[Setting]], program_of: Callable[[int], int]) -> None:
        """Take what each chunk says that says something, by its number, and which JVM a chunk is of."""
        self._program_of = program_of
        self._chunks: dict[int, list[int]] = {}
        for chunk in sorted(told):
            self._chunks.setdefault(program_of(chunk), []).append(chunk)
        self._told = {chunk: ChunkIntervals.told(settings) for chunk, settings in told.items()}
        self._last = {chunk: ChunkIntervals(intervals.each[-1]) for chunk, intervals in self._told.items()}
        self._default = ChunkIntervals(intervals_of({}))

    def of_chunk(self, chunk: int) -> ChunkIntervals:
        """Return the intervals of a chunk."""
        if chunk in self._told:
            return self._told[chunk]
        chunks = self._chunks.get(self._program_of(chunk), [])
        place = bisect.bisect_right(chunks, chunk) - 1
        return self._last[chunks[max(0, place)]] if chunks else self._default


def read_intervals(path: Path | str) -> Intervals:
    """Return the intervals that the settings in a file's first chunk tell.

    Raises HeadwayError as `read_samples`.
    """
    found: dict[tuple[str, str], str] = {}
    for batch in JfrFile(path, ("jdk.ActiveSetting",), most_chunks=1):
        for row in zip(*map(batch.text_list, ("event", "name", "value")), strict=True):
            setting = of_samplers(0, *row)
            if setting is not None:
                found[setting.event, setting.name] = setting.value
    return intervals_of(found)


def intervals_of(settings: Mapping[tuple[str, str], str]) -> Intervals:
    """Return the intervals of settings of samplers, (event, name) -> value."""
    event = settings.get(("", _EVENT))

    def interval(source: str, name: str) -> int:
        ns = parse_ns(settings.get((source, name), ""))
        return ns if ns <= MOST_INTERVAL else 0

    own, wall = interval(EXECUTION_SAMPLE, "interval"), interval(EXECUTION_SAMPLE, "wall")
    period = interval(EXECUTION_SAMPLE, "period") or DEFAULT_NS["period"]
    return Intervals(
        event="cpu" if event in _CPU_EVENTS or event in (None, "None") else str(event),
        is_estimate=event is None,
        wall=wall or (own if event == "wall" else 0) or DEFAULT_NS["wall"],
        execution=period if event is None else own or DEFAULT_NS["cpu"],
        native=interval(NATIVE_SAMPLE, "period") or DEFAULT_NS["period"],
    )


def parse_ns(value: str) -> int:
    """Return a setting's time in ns: "20 ms", "20ms", "1000000" (ns); 0 for what is none, such as "everyChunk"."""
    found = _TIME.fullmatch(value[:_LONGEST])
    return round(float(found[1]) * _SUFFIX_NS[found[2]]) if found else 0
