"""What is asked for of objects: --objects WHAT, as text and as options of the agent."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any

from headway.errors import HeadwayError
from headway.model.object_owners import ALLOCATOR, LAST_WRITER, OWNER_RULES, OwnerRule

_OF_RULE = {ALLOCATOR: "access_owners=1", LAST_WRITER: "access_writers=1"}
"""The agent's option for each rule of owners."""
_MORE = ("lines", "nodes")
"""What may be asked for of accesses beside owners, as words and as fields; the agent's options begin with access_."""
_LARGEST_INTERVAL = 2**31 - 1
LEAST_PERIOD_MS = 10_000
"""A window makes the JVM compile the program twice, some seconds of CPU time: more often is dearer than to count everything."""
_LEAST_WINDOW_MS, _LONGEST_PERIOD_MS = 50, 86_400_000
_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000}
_WINDOWS = re.compile(r"(\d{1,8})(ms|s|m)/(\d{1,8})(ms|s|m)", re.ASCII)
_SIZES = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}
_GLOB = re.compile(r"[^\s/:;\[\],'\"\\]+")
_SIZE = re.compile(r"(\d{1,10})([kmg]?)", re.ASCII | re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Windows:
    """How long everything is counted, once in each period, ms."""

    window_ms: int
    period_ms: int

    def as_json(self) -> dict[str, int]:
        """Return what the manifest keeps of it."""
        return {"window_ms": self.window_ms, "period_ms": self.period_ms}


@dataclass(frozen=True, slots=True)
class ObjectOptions:
    """How allocations or accesses are to be counted.

    `interval_bytes`: one object in so many bytes in the mean, 0 every one, None no allocations. `sites`: by the innermost Java
    frame, too; samples have it always, as it costs nothing there. `accesses`: reads and writes, by the code of the classes that
    a glob of `scope` fits; no glob: those of the program and its libraries. `owners`: also by the object's owner, by each of
    these rules. `lines`: also which threads write in turn to one cache line. `nodes`: also samples by memory node.
    `windows`: accesses are counted in these only.
    """

    interval_bytes: int | None = 0
    sites: bool = False
    accesses: bool = False
    scope: tuple[str, ...] = ()
    owners: tuple[OwnerRule, ...] = ()
    lines: bool = False
    nodes: bool = False
    windows: Windows | None = None

    def as_json(self) -> dict[str, Any]:
        """Return what the manifest keeps of it."""
        found: dict[str, Any] = {"interval_bytes": self.interval_bytes, "sites": self.sites}
        if not self.accesses:
            return found
        of_owners = {"owners": list(self.owners)} if self.owners else {}
        more = {name: True for name in _MORE if getattr(self, name)}
        windows = {} if self.windows is None else {"windows": self.windows.as_json()}
        return {**found, "accesses": True, "scope": list(self.scope), **of_owners, **more, **windows}

    @property
    def agent_parts(self) -> list[str]:
        """Return the agent's options for it, the scope still as text (jvm_options.encode_value)."""
        parts = [] if self.interval_bytes is None else [f"objects={self.interval_bytes}"]
        parts += ["object_sites=1"] if self.sites else []
        parts += ["accesses=1"] if self.accesses else []
        more = [f"access_{name}=1" for name in _MORE if getattr(self, name)]
        more += [] if self.windows is None else [f"access_windows={self.windows.window_ms}:{self.windows.period_ms}"]
        return [*parts, *(_OF_RULE[rule] for rule in self.owners), *more]


def parse(text: str, scope: tuple[str, ...] = (), owner: str | None = None) -> ObjectOptions:
    """Parse allocations, with `,sites` or `=512k`, or accesses, with `,owners`, `,lines` or `,nodes`.

    `owner`: rules of owners, by commas; `,owners` is the rule of the allocator, beside those.

    Raises ValueError with what is wrong.
    """
    what, _, more = text.partition(",")
    name, equals, size = what.strip().partition("=")
    words = [word.strip() for word in more.split(",")] if more.strip() else []
    if name == "accesses" and not equals and len({*words} & {"owners", *_MORE}) == len(words):
        named = [*([ALLOCATOR] if "owners" in words else []), *([] if owner is None else [owner])]
        rules = _rules(",".join(named)) if named else ()
        lines, nodes = "lines" in words, "nodes" in words
        return ObjectOptions(
            None, accesses=True, scope=tuple(map(_glob, scope)), owners=rules, lines=lines, nodes=nodes
        )
    if name != "allocations" or more.strip() not in ("", "sites"):
        raise ValueError(
            f"{text!r}: write allocations, allocations,sites, allocations=512k, accesses, accesses,owners, accesses,lines or "
            "accesses,nodes"
        )
    if owner is not None:
        raise ValueError("allocations: --owner is about accesses; add --objects accesses")
    if scope:
        raise ValueError("allocations: --object-scope is about accesses; allocations are counted of all classes")
    interval = _bytes(size.strip()) if equals else 0
    return ObjectOptions(interval, sites=bool(more.strip()) or interval > 0)


def with_windows(found: ObjectOptions, text: str) -> ObjectOptions:
    """Return how accesses are to be counted in windows, such as 300ms/60s: for so long, once in each period.

    Raises ValueError for what is no such text, HeadwayError HW898 for a period that costs more than to count everything, HW899
    for what can't be known from windows.
    """
    if not found.accesses:
        raise ValueError("--windows is about accesses: add --objects accesses")
    match = _WINDOWS.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"--windows {text!r}: write how long and how often, such as 300ms/60s")
    window_ms, period_ms = int(match[1]) * _UNITS_MS[match[2]], int(match[3]) * _UNITS_MS[match[4]]
    if what := _not_in_windows(found):
        raise HeadwayError("HW899", what=what)
    if period_ms < LEAST_PERIOD_MS:
        raise HeadwayError("HW898", text=text, least=f"{LEAST_PERIOD_MS // 1000} s")
    if not _LEAST_WINDOW_MS <= window_ms <= period_ms // 4 or period_ms > _LONGEST_PERIOD_MS:
        raise ValueError(
            f"--windows {text!r}: TIME is 50ms or more, a quarter of PERIOD at most, and that a day at most"
        )
    return replace(found, windows=Windows(window_ms, period_ms))


def _not_in_windows(found: ObjectOptions) -> str | None:
    """Return what is asked for that windows can't tell."""
    if found.owners:
        return "whose objects are accessed"
    if found.lines:
        return "which threads write to one cache line"
    return "on which memory node objects are" if found.nodes else None


def _rules(text: str) -> tuple[OwnerRule, ...]:
    """Return the rules that a text names, each once. Raises ValueError."""
    names = [name.strip() for name in text.split(",")]
    if wrong := [name for name in names if name not in OWNER_RULES]:
        raise ValueError(
            f"accesses: --owner {wrong[0]!r}: write allocator, last-writer, or both with a comma between them"
        )
    return tuple(rule for rule in OWNER_RULES if rule in names)


def _glob(text: str) -> str:
    """Return a glob of class names with dots. Raises ValueError for what no class's name can be like."""
    if _GLOB.fullmatch(text) is None:
        raise ValueError(f"accesses: {text!r} is no name of classes: write 'com.acme.*' or com.acme.Order")
    return text


def _bytes(size: str) -> int:
    match = _SIZE.fullmatch(size)
    if match is None:
        raise ValueError(f"{size!r} is no number of bytes: write 512k, 1m or 65536")
    count = int(match[1]) * _SIZES[match[2].lower()]
    if not count:
        raise ValueError("allocations=0: one in so many bytes, 1 at least; every object is --objects allocations")
    if count > _LARGEST_INTERVAL:
        raise ValueError(f"{size}: the JVM takes less than 2g")
    return count
