"""Sampling intervals from the settings in a JFR file: what one sample stands for, per chunk and over time."""

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
RUNNING_SAMPLE, SLEEPING_SAMPLE = f"{EXECUTION_SAMPLE} of a running thread", f"{EXECUTION_SAMPLE} of a sleeping thread"
"""Rows of jdk.ExecutionSample whose state says that the thread ran, or that it slept. async-profiler writes wall samples so,
from version 3 on beside those of its main event, which have no state."""
OF_EXECUTION = (EXECUTION_SAMPLE, RUNNING_SAMPLE, SLEEPING_SAMPLE)
DEFAULT_NS = {"cpu": 10_000_000, "wall": 50_000_000, "period": 20_000_000}
"""Intervals where no setting tells: async-profiler's own of cpu and wall, the JDK's of its samplers."""
MOST_INTERVAL = 1 << 46
"""About 20 hours, in ns: longer ones are no intervals but damage."""
_TELLING = ("period", "interval", "wall")
_EVENT = "event"
"""The setting by which async-profiler names what it samples by."""
_RECORDING, _VERSION = "jdk.ActiveRecording", "version"
_STATES_SINCE = 3
"""The version of async-profiler that gives samples of its main event no state; before, they are those of a running thread."""
_COUNTS: Mapping[str, int] = {
    **dict.fromkeys(("cycles", "instructions", "cache-references", "branch-instructions", "bus-cycles"), 1_000_000),
    **dict.fromkeys(("cache-misses", "branch-misses", "LLC-load-misses", "dTLB-load-misses"), 1000),
    **{"L1-dcache-load-misses": 1_000_000, "page-faults": 1, "context-switches": 2},
}
"""How many of an event async-profiler lets pass for a sample where no interval is asked for."""
_EACH = re.compile(r"[.:]|^(mem|trace|kprobe|uprobe)\b")
"""Events that async-profiler samples each time: Java methods, tracepoints, breakpoints."""
_RAW_COUNTS = 1000
_RAW = re.compile(r"r[0-9a-fA-F]{2,16}|\w+/[^/]*/?")
_CPU_EVENTS = {"cpu", "ctimer", "itimer", "cpu-clock", "task-clock", ""}
_LONGEST = 200
_TIME = re.compile(r"\s*(\d{1,20}(?:\.\d*)?)\s*(ns|us|ms|s|m|h|d|)\s*", re.ASCII)
_SUFFIX_NS = {"": 1, "ns": 1, "us": 1_000, "ms": 1_000_000, "s": 10**9, "m": 60 * 10**9, "h": 3600 * 10**9}
_SUFFIX_NS["d"] = 24 * _SUFFIX_NS["h"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting of a sampler in a chunk, and when it was made."""

    ns: int
    event: str
    name: str
    value: str


def sampler_setting(ns: int, event: str | None, name: str | None, value: str | None) -> Setting | None:
    """Return a setting if it affects what samples are of or stand for, else None; long values are cut."""
    if name == _EVENT or (name == _VERSION and event == _RECORDING):
        return Setting(ns, "", name, (value or "")[:_LONGEST])
    return Setting(ns, event, name, (value or "")[:_LONGEST]) if event in SCALED and name in _TELLING else None


@dataclass(frozen=True, slots=True)
class SampleIntervals:
    """What one sample stands for: the CPU event's name, and intervals in ns (for counted events: counts)."""

    event: str
    is_estimate: bool  # the sampler is the JDK's, which is no clock
    wall: int
    execution: int
    native: int
    has_states: bool = False
    """Samples of the main event have no state, those of wall time have one: both are jdk.ExecutionSample."""
    is_known: bool = True
    """False: neither the settings nor the event's name tell what a sample of the main event stands for; it counts as one."""

    def of(self, source: str) -> int:
        """Return what one sample of an event stands for; 1 where the rows have weights of their own."""
        if source in OF_EXECUTION:
            return self.wall if self.event_of_state(source) == "wall" else self.execution
        return {NATIVE_SAMPLE: self.native, WALL_SAMPLE: self.wall}.get(source, 1)

    def event_of_state(self, source: str) -> str:
        """Return the event of jdk.ExecutionSample rows by thread state: samples of sleeping threads are not of CPU time."""
        if self.is_estimate or source == EXECUTION_SAMPLE:
            return self.event
        return "wall" if source == SLEEPING_SAMPLE or self.has_states else self.event


class ChunkIntervals:
    """The sampling intervals of one chunk, which change where settings do (a second recording starts)."""

    def __init__(self, first: SampleIntervals) -> None:
        """Take the intervals at the chunk's start."""
        self._starts_ns = [-(1 << 63)]
        self.each = [first]
        """Those in turn, each differs from the one before."""
        self._values: dict[str, NDArray[np.int64]] = {}

    @classmethod
    def from_settings(cls, settings: Iterable[Setting]) -> ChunkIntervals:
        """Build from a chunk's settings in any order; the first value of each holds from the chunk's start."""
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

    def _note(self, ns: int, intervals: SampleIntervals) -> None:
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
        """Return whether samples of an event stand for different amounts."""
        values = self.values(source)
        return bool((values != values[0]).any())

    def of(self, source: str, ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what a sample of an event stands for at each time."""
        import numpy as np

        found: NDArray[np.int64] = self.values(source)[np.searchsorted(np.array(self._starts_ns), ns, "right") - 1]
        return found


class FileIntervals:
    """The sampling intervals of a whole file: a chunk without settings inherits those before it of the same JVM."""

    def __init__(self, settings_by_chunk: Mapping[int, Sequence[Setting]], program_of: Callable[[int], int]) -> None:
        """Take the settings of each chunk that has some, by chunk number, and the JVM of each chunk."""
        self._program_of = program_of
        self._chunks: dict[int, list[int]] = {}
        for chunk in sorted(settings_by_chunk):
            self._chunks.setdefault(program_of(chunk), []).append(chunk)
        self._by_chunk = {
            chunk: ChunkIntervals.from_settings(settings) for chunk, settings in settings_by_chunk.items()
        }
        self._last = {chunk: ChunkIntervals(intervals.each[-1]) for chunk, intervals in self._by_chunk.items()}
        self._default = ChunkIntervals(intervals_of({}))

    def of_chunk(self, chunk: int) -> ChunkIntervals:
        """Return the intervals of a chunk."""
        if chunk in self._by_chunk:
            return self._by_chunk[chunk]
        chunks = self._chunks.get(self._program_of(chunk), [])
        place = bisect.bisect_right(chunks, chunk) - 1
        return self._last[chunks[max(0, place)]] if chunks else self._default


def read_intervals(path: Path | str) -> SampleIntervals:
    """Read the sampling intervals from the settings in a file's first chunk.

    Raises HeadwayError as `read_samples`.
    """
    found: dict[tuple[str, str], str] = {}
    for batch in JfrFile(path, ("jdk.ActiveSetting",), most_chunks=1):
        for row in zip(*map(batch.text_list, ("event", "name", "value")), strict=True):
            setting = sampler_setting(0, *row)
            if setting is not None:
                found[setting.event, setting.name] = setting.value
    return intervals_of(found)


def intervals_of(settings: Mapping[tuple[str, str], str]) -> SampleIntervals:
    """Return the intervals for samplers' settings, (event, name) -> value."""
    event = settings.get(("", _EVENT))

    def interval(source: str, name: str) -> int:
        ns = parse_ns(settings.get((source, name), ""))
        return ns if ns <= MOST_INTERVAL else 0

    own, wall = interval(EXECUTION_SAMPLE, "interval"), interval(EXECUTION_SAMPLE, "wall")
    period = interval(EXECUTION_SAMPLE, "period") or DEFAULT_NS["period"]
    main = "cpu" if event in _CPU_EVENTS or event in (None, "None") else str(event)
    wall = wall or (own if event == "wall" else 0) or DEFAULT_NS["wall"]
    default = wall if main == "wall" else default_interval(main)
    version = re.match(r"\d{1,4}", settings.get(("", _VERSION), ""))
    return SampleIntervals(
        event=main,
        is_estimate=event is None,
        wall=wall,
        execution=period if event is None else own or default or 1,
        native=interval(NATIVE_SAMPLE, "period") or DEFAULT_NS["period"],
        has_states=event is not None
        and ((EXECUTION_SAMPLE, "wall") in settings or (version is not None and int(version[0]) >= _STATES_SINCE)),
        is_known=bool(event is None or own or default),
    )


def default_interval(event: str) -> int:
    """Return what a sample of async-profiler's main event stands for by default; 0: unknown."""
    if event in _CPU_EVENTS:
        return DEFAULT_NS["cpu"]
    if event in _COUNTS:
        return _COUNTS[event]
    if _RAW.fullmatch(event):
        return _RAW_COUNTS
    return 1 if _EACH.search(event) else 0


def parse_ns(value: str) -> int:
    """Parse a setting's time into ns: "20 ms", "20ms", "1000000" (ns); 0 for other texts, such as "everyChunk"."""
    found = _TIME.fullmatch(value[:_LONGEST])
    return round(float(found[1]) * _SUFFIX_NS[found[2]]) if found else 0
