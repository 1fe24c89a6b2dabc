"""Performance events by name: the kernel's generic ones, raw codes, those of sysfs PMUs, and watched addresses.

New processors need nothing here: their events are files below /sys/bus/event_source/devices, or raw codes.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from headway.errors import HeadwayError

ARITHMETIC, MEMORY, FAULTS, SLEEP, MIGRATE = 1, 2, 4, 8, 16
"""What of the known loop makes an event count; native/counters/known_loop.h has the same."""
_HARDWARE_TYPE, _SOFTWARE_TYPE, _CACHE_TYPE, _RAW_TYPE, _BREAKPOINT_TYPE = 0, 1, 3, 4, 5
_HARDWARE: Mapping[str, tuple[int, int]] = {
    "cycles": (0, ARITHMETIC),
    "cpu-cycles": (0, ARITHMETIC),
    "instructions": (1, ARITHMETIC),
    "cache-references": (2, ARITHMETIC | MEMORY),
    "cache-misses": (3, ARITHMETIC | MEMORY),
    "branches": (4, ARITHMETIC),
    "branch-instructions": (4, ARITHMETIC),
    "branch-misses": (5, ARITHMETIC),
    "bus-cycles": (6, ARITHMETIC),
    "stalled-cycles-frontend": (7, ARITHMETIC | MEMORY),
    "stalled-cycles-backend": (8, ARITHMETIC | MEMORY),
    "ref-cycles": (9, ARITHMETIC),
}
_SOFTWARE: Mapping[str, tuple[int, int]] = {
    "cpu-clock": (0, ARITHMETIC),
    "task-clock": (1, ARITHMETIC),
    "page-faults": (2, FAULTS),
    "faults": (2, FAULTS),
    "context-switches": (3, SLEEP),
    "cs": (3, SLEEP),
    "cpu-migrations": (4, MIGRATE),
    "migrations": (4, MIGRATE),
    "minor-faults": (5, FAULTS),
    "major-faults": (6, 0),
    "alignment-faults": (7, 0),
    "emulation-faults": (8, 0),
    "cgroup-switches": (11, 0),
}
_CACHES: Mapping[str, int] = {
    "L1-dcache": 0,
    "L1-icache": 1,
    "LLC": 2,
    "dTLB": 3,
    "iTLB": 4,
    "branch": 5,
    "node": 6,
}
_ACCESSES: Mapping[str, tuple[int, int]] = {
    "loads": (0, 0),
    "load-misses": (0, 1),
    "stores": (1, 0),
    "store-misses": (1, 1),
    "prefetches": (2, 0),
    "prefetch-misses": (2, 1),
}
_RAW = re.compile(r"r([0-9a-fA-F]{1,16})")
_PMU = re.compile(r"(\w[\w.-]*)/([^/]*)/", re.ASCII)
_WATCHED = re.compile(r"mem:(0x[0-9a-fA-F]{1,16}|[0-9]{1,20})(?:/([1248]))?(?::(r|w|x|rw|wr))?")
_BREAKPOINT_BITS = {"r": 1, "w": 2, "x": 4}
_MODIFIER = re.compile(r"(.+):([uk])")
_BITS = re.compile(r"([0-9]{1,3})(?:-([0-9]{1,3}))?")
_NUMBER = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,20}")
_MOST_TYPE = 1 << 32
_MOST_NEAR, _LEAST_PART = 4, 3
_OFTEN = ("cycles", "instructions", "LLC-load-misses", "page-faults")
DEVICES = Path("/sys/bus/event_source/devices")


@dataclass(frozen=True, slots=True)
class Event:
    """One event as perf_event_open is asked for it. `exercise`: what of the known loop makes it count, 0: nothing does.

    `unit`: the counting unit of a whole socket or core that counts it, by its name in sysfs; empty: each CPU for itself.
    """

    name: str
    type: int
    config: int
    config1: int = 0
    config2: int = 0
    bp_type: int = 0
    user_only: bool = False
    kernel_only: bool = False
    exercise: int = 0
    unit: str = ""

    @property
    def is_breakpoint(self) -> bool:
        """Return whether it watches an address: a hit may end the program by SIGTRAP (HW124)."""
        return self.type == _BREAKPOINT_TYPE

    @property
    def needs_pmu(self) -> bool:
        """Return whether the processor counts it, and not the kernel."""
        return self.type in (_HARDWARE_TYPE, _CACHE_TYPE, _RAW_TYPE)


def generic_names() -> list[str]:
    """Return the names of the events that every Linux knows, whether or not a machine counts them."""
    return [*_HARDWARE, *_SOFTWARE, *(f"{cache}-{access}" for cache in _CACHES for access in _ACCESSES)]


def known_names() -> list[str]:
    """Return what can be counted by name: perf's generic events, and those that counting units (PMUs) of this machine name."""
    named = [
        f"{file.parent.parent.name}/{file.name}/" for file in sorted(DEVICES.glob("*/events/*")) if "." not in file.name
    ]
    return [*generic_names(), *named]


def event(text: str, *, by_socket: bool = False) -> Event:
    """Return the event of a name. `by_socket`: also one that is counted for a whole socket or core, never by thread.

    Raises HeadwayError HW103 (there is none) or HW106 (it can't be counted by thread).
    """
    plain, user_only, kernel_only = text, False, False
    found = _MODIFIER.fullmatch(text)
    if found and not text.startswith("mem:"):
        plain, user_only, kernel_only = found[1], found[2] == "u", found[2] == "k"
    pmu = _PMU.fullmatch(plain)
    unit = pmu[1] if pmu is not None else ""
    cpus = shared_by(DEVICES / unit) if unit else None
    if cpus is not None and not by_socket:
        raise HeadwayError("HW106", event=text, reason=why_shared(unit, cpus))
    parsed = _plain(plain)
    if parsed is None:
        raise HeadwayError("HW103", event=text, near=_near(plain))
    kind, config, config1, config2, bp_type, exercise = parsed
    shared = unit if cpus is not None else ""
    return Event(text, kind, config, config1, config2, bp_type, user_only, kernel_only, exercise, shared)


def _plain(name: str) -> tuple[int, int, int, int, int, int] | None:
    """Return type, config, config1, config2, bp_type and exercise of a name without modifier; None: there is no such event."""
    if name in _HARDWARE:
        config, exercise = _HARDWARE[name]
        return _HARDWARE_TYPE, config, 0, 0, 0, exercise
    if name in _SOFTWARE:
        config, exercise = _SOFTWARE[name]
        return _SOFTWARE_TYPE, config, 0, 0, 0, exercise
    for cache, place in _CACHES.items():
        access = _ACCESSES.get(name.removeprefix(f"{cache}-")) if name.startswith(f"{cache}-") else None
        if access is not None:
            return _CACHE_TYPE, place | access[0] << 8 | access[1] << 16, 0, 0, 0, ARITHMETIC | MEMORY
    if found := _RAW.fullmatch(name):
        return _RAW_TYPE, int(found[1], 16), 0, 0, 0, ARITHMETIC | MEMORY
    if found := _WATCHED.fullmatch(name):
        address, length = _number(found[1]), int(found[2] or 4)
        bits = sum({_BREAKPOINT_BITS[each] for each in found[3] or "rw"})
        if address is not None:
            return _BREAKPOINT_TYPE, 0, address, 8 if bits == 4 else length, bits, 0
    if found := _PMU.fullmatch(name):
        return _of_pmu(found[1], found[2])
    return None


def _of_pmu(pmu: str, terms: str) -> tuple[int, int, int, int, int, int] | None:
    """Return the same of PMU/TERMS/."""
    device = DEVICES / pmu
    kind = text_of(device / "type")
    number_of_kind = _number(kind or "")
    if number_of_kind is None or number_of_kind >= _MOST_TYPE or not terms:
        return None
    configs = {"config": 0, "config1": 0, "config2": 0}
    named = text_of(device / "events" / terms) if re.fullmatch(r"\w[\w.-]*", terms, re.ASCII) else None
    for term in (named or terms).split(","):
        key, _, value = term.partition("=")
        form = text_of(device / "format" / key) if re.fullmatch(r"\w+", key, re.ASCII) else None
        number = _number(value or "1")
        if form is None or number is None:
            return None
        place, _, bits = form.partition(":")
        if place not in configs:
            return None
        configs[place] |= _spread(number, bits)
    return number_of_kind, configs["config"], configs["config1"], configs["config2"], 0, ARITHMETIC | MEMORY


def _spread(number: int, bits: str) -> int:
    """Return a value put into the bits that a format file names, such as 0-7,32-35."""
    out = 0
    for part in bits.split(","):
        found = _BITS.fullmatch(part.strip())
        if found is None:
            continue
        low, high = int(found[1]), int(found[2] or found[1])
        width = max(0, min(high, 63) - low + 1)
        out |= (number & ((1 << width) - 1)) << low
        number >>= width
    return out


def _number(text: str) -> int | None:
    """Return a number of 64 bits in decimal, whatever zeros are in front, or in hexadecimal; None for any other text."""
    if not _NUMBER.fullmatch(text):
        return None
    number = int(text, 16 if text[:2] in ("0x", "0X") else 10)
    return number if number < 1 << 64 else None


def shared_by(device: Path) -> str | None:
    """Return the CPUs on which a counting unit of several CPUs is read, such as `0,18`; None for one of a single CPU."""
    return text_of(device / "cpumask")


def why_shared(unit: str, cpus: str) -> str:
    """Return why a unit that several CPUs share can't be divided by thread."""
    return f"{unit} counts for all CPUs of a socket or core, whatever thread runs (it is read on CPUs {cpus})"


def text_of(path: Path) -> str | None:
    """Return what a file of sysfs says, None where there is none."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError:
        return None


def _near(name: str) -> str:
    """Return which names are written nearly like one, or have it as a part, if any, and which are asked for most."""
    wanted = name.lower()
    lower = {each.lower(): each for each in known_names() if each != name}
    parts = [each for each in lower if wanted in each] if len(wanted) >= _LEAST_PART else []
    close = difflib.get_close_matches(wanted, lower, n=_MOST_NEAR, cutoff=0.5)
    found = list(dict.fromkeys([*close[:1], *parts, *close]))[:_MOST_NEAR]
    near = [lower[each] for each in found]
    often = [each for each in _OFTEN if each not in near]
    alike = f"near: {', '.join(near)}; " if near else ""
    return f"{alike}often counted: {', '.join(often)}"
