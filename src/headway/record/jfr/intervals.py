"""What the settings in a JFR file say of its samplers: what one sample stands for, in each chunk and from when on."""

from __future__ import annotations

import bisect
import re
from collections.abc import Iterable, Mapping, Sequence
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
_TIME = re.compile(r"\s*(\d+(?:\.\d*)?)\s*(ns|us|ms|s|m|h|d|)\s*", re.ASCII)
_SUFFIX_NS = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SUFFIX_NS["d"] = 24 * _SUFFIX_NS["h"]


@dataclass(frozen=True, slots=True)
class Setting:
    """What a chunk says at a time."""

    ns: int
    event: str
    name: str
    value: str

    @property
    def tells_intervals(self) -> bool:
        """Return whether what samples stand for, or what they are of, may go by it."""
        return self.name == _EVENT or (self.event in SCALED and self.name in _TELLING)


@dataclass(frozen=True, slots=True)
class Intervals:
    """What samples stand for: the CPU event's name and intervals in ns (counts for others)."""

    event: str
    wall: int
    execution: int
    native: int

    def of(self, source: str) -> int:
        """Return what one sample of an event of the file stands for; 1 where its rows say it themselves."""
        return {EXECUTION_SAMPLE: self.execution, NATIVE_SAMPLE: self.native, WALL_SAMPLE: self.wall}.get(source, 1)


class ChunkIntervals:
    """The intervals of a chunk, whose settings may change: where a second recording begins, samples come more often."""

    def __init__(self, settings: Iterable[Setting]) -> None:
        """Take what the chunk says, in any order; what it says first of a setting holds from its beginning on."""
        in_order = sorted(settings, key=lambda each: each.ns)
        now: dict[tuple[str, str], str] = {}
        for each in in_order:
            now.setdefault((each.event, each.name), each.value)
        self.starts_ns = [-(1 << 63)]
        self.each = [intervals_of(now)]
        """Those in turn, each differs from the one before."""
        for each in in_order:
            if now[each.event, each.name] != each.value:
                now[each.event, each.name] = each.value
                self._note(each.ns, intervals_of(now))

    def _note(self, ns: int, found: Intervals) -> None:
        if found != self.each[-1]:
            self.starts_ns.append(ns)
            self.each.append(found)

    def of(self, source: str, ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what a sample of an event of the file stands for at each time."""
        import numpy as np

        values = np.array([each.of(source) for each in self.each], dtype=np.int64)
        found: NDArray[np.int64] = values[np.searchsorted(np.array(self.starts_ns), ns, side="right") - 1]
        return found


class FileIntervals:
    """The intervals of a whole file: a chunk that says nothing of them goes by the one before it."""

    def __init__(self, told: Mapping[int, Sequence[Setting]]) -> None:
        """Take what each chunk says that says something, by its number; numbers rise through the file."""
        self._chunks = sorted(told)
        self._each = [ChunkIntervals(told[chunk]) for chunk in self._chunks] or [ChunkIntervals(())]

    def of_chunk(self, chunk: int) -> ChunkIntervals:
        """Return the intervals of a chunk."""
        return self._each[max(0, bisect.bisect_right(self._chunks, chunk) - 1)]


def read_intervals(path: Path | str) -> Intervals:
    """Return the intervals that the settings in a file's first chunk tell.

    Raises HeadwayError as `read_samples`.
    """
    file = JfrFile(path, ("jdk.ActiveSetting",), most_chunks=1)
    found: dict[tuple[str, str], str] = {}
    for batch in file:
        columns = (batch.text_array(each).to_pylist() for each in ("event", "name", "value"))
        found |= {(str(event), str(name)): str(value) for event, name, value in zip(*columns, strict=True)}
    return intervals_of(found)


def intervals_of(settings: Mapping[tuple[str, str], str]) -> Intervals:
    """Return the intervals of settings, (event, name) -> value."""
    event = next((value for (_, name), value in settings.items() if name == _EVENT), None)
    period = parse_ns(settings.get((EXECUTION_SAMPLE, "period"), ""))
    own = parse_ns(settings.get((EXECUTION_SAMPLE, "interval"), ""))
    wall = parse_ns(settings.get((EXECUTION_SAMPLE, "wall"), ""))
    is_wall = event == "wall"
    return Intervals(
        event="cpu" if event in _CPU_EVENTS or event in (None, "None") else str(event),
        wall=wall or (own if is_wall else 0) or DEFAULT_NS["wall"],
        execution=(period or DEFAULT_NS["period"]) if event is None else own or DEFAULT_NS["cpu"],
        native=parse_ns(settings.get((NATIVE_SAMPLE, "period"), "")) or DEFAULT_NS["period"],
    )


def parse_ns(value: str) -> int:
    """Return a setting's time in ns: "20 ms", "20ms", "1000000" (ns); 0 for what is none, as "everyChunk", or can't be one."""
    found = _TIME.fullmatch(value[:40])
    ns = round(float(found[1]) * _SUFFIX_NS[found[2]]) if found else 0
    return ns if ns <= MOST_INTERVAL else 0
