"""Parses `--sample EVENT[:INTERVAL],...` and decides which of these events this machine can sample.

async-profiler takes one event of the CPU at a time (cpu, or an event of perf), and beside it alloc and wall. Intervals are
always passed on in full: a sample's weight is the interval, and no file should be needed to know the sampler's defaults.
"""

from __future__ import annotations

import difflib
import errno
import fcntl
import os
import platform
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import headway
from headway.errors import HeadwayError, Notice
from headway.model.cpu_events import CPU_TIME_EVENTS
from headway.model.native_part import build_command
from headway.store.files import open_ordinary

Unit = Literal["ns", "bytes", "events"]
LIBRARY = "libheadway_async_profiler.so"
_PLATFORMS = {"x86_64": "linux-x64", "aarch64": "linux-arm64"}
_CPU_NS, _WALL_NS, _ALLOC_BYTES = 10_000_000, 50_000_000, 1 << 19
BY_TIME = CPU_TIME_EVENTS
"""Events whose samples stand for CPU time: in the tables all of them are `cpu`."""
_HARDWARE: Mapping[str, int] = {
    "cycles": 10_000_000,
    "instructions": 10_000_000,
    "cache-references": 1_000_000,
    "cache-misses": 10_000,
    "branch-instructions": 1_000_000,
    "branch-misses": 10_000,
    "bus-cycles": 1_000_000,
    "L1-dcache-load-misses": 100_000,
    "LLC-load-misses": 10_000,
    "dTLB-load-misses": 10_000,
}
"""Events that need a performance monitoring unit, and how many of them a sample stands for by default."""
_SOFTWARE: Mapping[str, int] = {"page-faults": 100, "context-switches": 10}
_OTHERS_INTERVAL = 1000
_OF_PERF = ("ref-cycles", "cpu-clock")
_RAW = re.compile(r"r[0-9a-fA-F]+")
_PROBES = ("mem", "trace", "kprobe", "uprobe")
"""What async-profiler takes before a colon that is no group of tracepoints."""
_BREAKPOINT = "mem:"
_NOT_HERE = {
    "lock": "locks have exact records of their own: --locks",
    "nativemem": "native memory is not sampled",
    "nativelock": "native locks are not sampled",
    "itimer": "cpu is more exact",
    "ctimer": "it is what cpu means here",
    "task-clock": "of a thread it counts what cpu-clock does, and async-profiler has only that",
}
_EVENT = re.compile(r"[A-Za-z][A-Za-z0-9_/-]*(:[A-Za-z0-9_-]+)?")
_INTERVAL = re.compile(r"(\d+)(ns|us|ms|s|k|m|g)?", re.IGNORECASE)
_FACTORS: Mapping[Unit, Mapping[str, int]] = {
    "ns": {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000},
    "bytes": {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30},
    "events": {"": 1, "k": 1_000, "m": 1_000_000, "g": 1_000_000_000},
}
_LEAST: Mapping[Unit, int] = {"ns": 100_000, "bytes": 1, "events": 1}


@dataclass(frozen=True, slots=True)
class SampledEvent:
    """One sampled event, and what one sample of it stands for."""

    name: str
    interval: int

    @property
    def unit(self) -> Unit:
        """Return the unit of the interval."""
        return _unit(self.name)

    @property
    def is_of_cpu(self) -> bool:
        """Return whether the event is a CPU event, of which a JVM can sample only one at a time."""
        return self.name not in ("alloc", "wall")

    @property
    def argument(self) -> str:
        """Return async-profiler's arguments for the event."""
        if not self.is_of_cpu:
            return f"{self.name}={self.interval}"
        event = "ctimer" if self.name == "cpu" else self.name
        return f"event={event},interval={self.interval}"


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """The events to sample, the CPU event first; at least one."""

    events: tuple[SampledEvent, ...]

    @property
    def arguments(self) -> str:
        """Return the arguments that the agent passes on; where an event is unavailable those before `and` are left out."""
        return ",and,".join(filter(None, (self._joined(of_cpu=True), self._joined(of_cpu=False))))

    def _joined(self, *, of_cpu: bool) -> str:
        return ",".join(event.argument for event in self.events if event.is_of_cpu == of_cpu)

    @property
    def of_cpu(self) -> SampledEvent | None:
        """Return the CPU event, if there is one."""
        return next((event for event in self.events if event.is_of_cpu), None)

    def as_json(self) -> dict[str, Any]:
        """Return the manifest's value: {events, interval {event: ns, bytes or events}, interval_ns}."""
        times = [event.interval for event in self.events if event.unit == "ns" and event.is_of_cpu]
        return {
            "events": [event.name for event in self.events],
            "interval": {event.name: event.interval for event in self.events},
            "interval_ns": times[0] if times else None,
        }


@dataclass(frozen=True, slots=True)
class Sampler:
    """What an agent needs to sample: async-profiler's library for this processor, and the events."""

    library: Path
    options: SampleOptions


def _unit(name: str) -> Unit:
    if name == "alloc":
        return "bytes"
    return "ns" if name == "wall" or name in BY_TIME else "events"


def parse(text: str, *, allow_breakpoints: bool = False) -> SampleOptions:
    """Parse a text such as `cpu,alloc:1m,wall:20ms`.

    Raises ValueError with what is wrong, and HeadwayError HW068 for an event that there is not, or HW124 for one that a
    breakpoint of the processor takes, unless `allow_breakpoints`.
    """
    events: dict[str, SampledEvent] = {}
    for word in text.split(","):
        name, interval = _split(word.strip())
        if name in _NOT_HERE:
            raise ValueError(f"{name}: {_NOT_HERE[name]}")
        if _EVENT.fullmatch(name) is None:
            raise ValueError(
                f"{word.strip()!r} is no event: write cpu, alloc, wall, cycles, instructions, cache-misses, ..."
            )
        if name in events:
            raise ValueError(f"{name} is asked for twice")
        if not is_known(name):
            raise HeadwayError("HW068", event=name, known=", ".join(KNOWN), near=_nearest(name))
        if name.startswith(_BREAKPOINT) and not allow_breakpoints:
            raise HeadwayError("HW124", option="--sample", events=name)
        events[name] = SampledEvent(name, _default(name) if interval is None else _count(name, interval))
    return SampleOptions(tuple(sorted(events.values(), key=lambda event: not event.is_of_cpu)))


KNOWN = ("cpu", "alloc", "wall", *_HARDWARE, *_SOFTWARE, *_OF_PERF)
_DEVICES = Path("/sys/bus/event_source/devices")
_TRACING = (Path("/sys/kernel/tracing/events"), Path("/sys/kernel/debug/tracing/events"))


def is_known(name: str) -> bool:
    """Return whether this machine may have an event to take samples by; False only where it certainly has not."""
    if name in KNOWN or _RAW.fullmatch(name):
        return True
    if "/" in name:  # an event of a device: cpu/mem-loads/
        return not _DEVICES.is_dir() or (_DEVICES / name.split("/")[0]).exists()
    group, colon, point = name.partition(":")
    if not colon:
        return False
    if group in _PROBES:
        return True
    seen = [each for each in _TRACING if os.access(each / "sched", os.R_OK | os.X_OK)]
    return not seen or any((each / group / point).exists() for each in seen)


def _nearest(name: str) -> str:
    found = difflib.get_close_matches(name, KNOWN, 1)
    return found[0] if found else "cpu"


def _split(word: str) -> tuple[str, str | None]:
    """Return an event's name and its interval; a tracepoint's name has a colon of its own (sched:sched_switch)."""
    name, colon, tail = word.rpartition(":")
    return (name, tail) if colon and tail[:1].isdigit() else (word, None)


def _default(name: str) -> int:
    known = {"alloc": _ALLOC_BYTES, "wall": _WALL_NS, **dict.fromkeys(BY_TIME, _CPU_NS), **_HARDWARE, **_SOFTWARE}
    return known.get(name, _OTHERS_INTERVAL)


def _count(name: str, text: str) -> int:
    unit, found = _unit(name), _INTERVAL.fullmatch(text)
    factor = _FACTORS[unit].get((found[2] or "").lower()) if found else None
    if found is None or factor is None:
        examples = {"ns": "10ms, 500us", "bytes": "512k, 1m", "events": "10000, 10m"}
        raise ValueError(f"{name}:{text}: the interval of {name} is written {examples[unit]}")
    value = int(found[1]) * factor
    if not _LEAST[unit] <= value < 1 << 62:
        least = "100us" if unit == "ns" else "1"
        raise ValueError(f"{name}:{text}: the interval is at least {least}")
    return value


# --- what can be had here ----------------------------------------------------------------------------------------------


def library() -> Path | None:
    """Return the path of async-profiler's library for this processor (it may be missing); None for other processors."""
    kind = _PLATFORMS.get(platform.machine())
    return None if kind is None else Path(headway.__file__).resolve().parent / "async_profiler" / kind / LIBRARY


def usable(wanted: SampleOptions) -> tuple[Sampler | None, list[Notice]]:
    """Return how to sample the events that this machine allows, and a notice for each that it does not."""
    path = library()
    if path is None:
        reason = f"there is none for the processor {platform.machine()}"
        return None, [Notice.of("HW066", reason=reason, next="record without --sample")]
    if not path.exists():
        return None, [Notice.of("HW066", reason=f"{path} is missing", next=build_command())]
    kept: list[SampledEvent] = []
    notices: list[Notice] = []
    for event in wanted.events:
        reason = why_not(event)
        if not reason and event.is_of_cpu and any(each.is_of_cpu for each in kept):
            reason = f"one event of the CPU at a time, and {kept[0].name} is it"
        if reason:
            notices.append(Notice.of("HW067", event=event.name, reason=reason))
        else:
            kept.append(event)
    return (Sampler(path, SampleOptions(tuple(kept))) if kept else None), notices


def why_not(event: SampledEvent) -> str:
    """Return what an event lacks on this machine, '' if nothing is known to be missing before a JVM tries."""
    if event.name not in _HARDWARE:
        return ""
    from headway import _native

    number = _native.probe_hardware_counter()["errno"]
    if number in (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV):
        return "this machine shows no performance monitoring unit (PMU) to its programs"
    return os.strerror(number) if number else ""


def is_counted() -> bool:
    """Return whether this machine counts cycles and instructions, as far as is known before a JVM tries."""
    return not any(why_not(SampledEvent(name, _HARDWARE[name])) for name in ("cycles", "instructions"))


# --- the sampler's files in the spool ----------------------------------------------------------------------------------


SAMPLE_ENDINGS = (".txt", ".jfr", ".jfr.part")
"""How the names of the sampler's files end."""


def files_of(spool: Path) -> list[Path]:
    """Return the sampler's files that exist beside the agent's file `spool`: sample-NAME.txt, .jfr, .jfr.part."""
    name = f"sample{spool.stem.removeprefix('agent')}"
    paths = [spool.with_name(name + ending) for ending in SAMPLE_ENDINGS]
    return [path for path in paths if path.exists()]


def wait_until_complete(spool_dir: Path, limit_s: float = 5.0) -> None:
    """Wait until JVMs that still sample have completed their files, which they do after they are told to stop.

    Each holds a lock on its text file while it samples; that of a JVM that has died is free.
    """
    end = time.monotonic() + limit_s
    while time.monotonic() < end and any(_is_at_work(path) for path in spool_dir.glob("sample-*.txt")):
        time.sleep(0.02)


def _is_at_work(notes: Path) -> bool:
    try:
        fd = open_ordinary(notes)
    except OSError:
        return False
    try:
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:  # a file system without locks: its JVM is not waited for
        return False
    finally:
        os.close(fd)
    return False
