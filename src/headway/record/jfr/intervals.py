"""What the settings in a JFR file say of its samplers: what one sample stands for, and from when on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
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
TELLING = ("period", "interval", "wall")
"""Names of the settings that may change what a sample stands for while a file is written."""
DEFAULT_NS = {"cpu": 10_000_000, "wall": 50_000_000, "period": 20_000_000}
"""Intervals where no setting tells: async-profiler's own of cpu and wall, the JDK's of its samplers."""
_CPU_EVENTS = {"cpu", "ctimer", "itimer", "cpu-clock", "task-clock", ""}
_SUFFIX_NS = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

Settings = Mapping[tuple[str, str], str]
"""(event, name) -> value"""


@dataclass(frozen=True, slots=True)
class Intervals:
    """What samples stand for: the CPU event's name and intervals in ns (counts for others)."""

    event: str
    cpu: int
    wall: int
    execution: int
    native: int

    def of(self, source: str) -> int:
        """Return what one sample of an event of the file stands for; 1 where its rows say it themselves."""
        return {EXECUTION_SAMPLE: self.execution, NATIVE_SAMPLE: self.native, WALL_SAMPLE: self.wall}.get(source, 1)


@dataclass(frozen=True, slots=True)
class Change:
    """A setting as the file tells it at a time."""

    ns: int
    event: str
    name: str
    value: str


class IntervalsOverTime:
    """The intervals of a whole file, whose settings may change: where a second recording begins, samples come more often."""

    def __init__(self, settings: Settings, changes: Iterable[Change]) -> None:
        """Take the settings as a whole and, in any order, when each had which value; its first holds from the beginning on."""
        in_order = sorted(changes, key=lambda each: each.ns)
        now = dict(settings)
        for change in reversed(in_order):
            now[change.event, change.name] = change.value
        self._starts_ns: list[int] = [-(1 << 63)]
        self.each: list[Intervals] = [intervals_of(now)]
        """Those in turn, each differs from the one before."""
        for change in in_order:
            if now.get((change.event, change.name)) != change.value:
                now[change.event, change.name] = change.value
                self._note(change.ns, intervals_of(now))

    def _note(self, ns: int, found: Intervals) -> None:
        if found != self.each[-1]:
            self._starts_ns.append(ns)
            self.each.append(found)

    def of(self, source: str, ns: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return what a sample of an event of the file stands for at each time."""
        import numpy as np

        values = np.array([each.of(source) for each in self.each], dtype=np.int64)
        if len(values) == 1:
            return values.repeat(len(ns))
        found: NDArray[np.int64] = values[np.searchsorted(np.array(self._starts_ns), ns, side="right") - 1]
        return found

    def texts(self, source: str) -> list[str]:
        """Return the different intervals of an event of the file, as 20 ms, in the order in which they hold."""
        return [f"{ns / 1e6:g} ms" for ns in dict.fromkeys(each.of(source) for each in self.each)]


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


def intervals_of(settings: Settings) -> Intervals:
    """Return the intervals of settings. async-profiler's "event" names what it samples by."""
    event = next((value for (_, name), value in settings.items() if name == "event"), None)
    period = parse_ns(settings.get((EXECUTION_SAMPLE, "period"), ""))
    own = parse_ns(settings.get((EXECUTION_SAMPLE, "interval"), ""))
    wall = parse_ns(settings.get((EXECUTION_SAMPLE, "wall"), ""))
    is_wall = event == "wall"
    cpu = own or DEFAULT_NS["cpu"]
    return Intervals(
        event="cpu" if event in _CPU_EVENTS or event in (None, "None") else str(event),
        cpu=cpu,
        wall=wall or (own if is_wall else 0) or DEFAULT_NS["wall"],
        execution=(period or DEFAULT_NS["period"]) if event is None else cpu,
        native=parse_ns(settings.get((NATIVE_SAMPLE, "period"), "")) or DEFAULT_NS["period"],
    )


def parse_ns(value: str) -> int:
    """Return a setting's time in ns: "20 ms", "1000000" (ns); 0 for what is no time, such as "everyChunk"."""
    number, _, unit = value.strip().partition(" ")
    try:
        return max(0, round(float(number) * _SUFFIX_NS.get(unit or "ns", 0)))
    except ValueError:
        return 0
