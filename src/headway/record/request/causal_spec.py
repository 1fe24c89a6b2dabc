"""The request of `headway causal`: progress points, scope and targets, and their encoding in the agent option `causal=`.

SPEC is `key:value` pairs with semicolons between, each value percent-encoded; the whole is encoded once more as a value of the
option string.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Any, Literal

from headway.record.request.jvm_options import encode_value

Mode = Literal["experiments", "end-to-end", "suggest"]

_NAME = re.compile(r"[\w$-]+")
_CLASS = r"[\w$]+(?:\.[\w$]+)*"
_LINE = re.compile(rf"{_CLASS}:[1-9]\d{{0,8}}")
_METHOD = re.compile(rf"{_CLASS}\.(?:[\w$]+|<init>|<clinit>)(?:\([\w$/;\[]*\)?[\w$/;\[]*)?")
_LOCK = re.compile(rf"{_CLASS}(?::[1-9]\d{{0,8}})?")
_GLOB = re.compile(r"[\w$.*?]+")


@dataclass(frozen=True, slots=True)
class Point:
    """A named progress point. `where` is CLASS.METHOD or CLASS:LINE; empty: the program calls it by name itself."""

    name: str
    where: str


@dataclass(frozen=True, slots=True)
class Latency:
    """A pair of progress points, a begin and an end, between which time is measured."""

    name: str
    begin: str
    end: str


@dataclass(frozen=True, slots=True)
class CausalOptions:
    """The options of one causal recording. `speedup_pct` None: the agent chooses lines and speedups.

    `target` is as the agent takes it (`line=C:42`, `method=C.m`, `lock=C`, `gc`), empty for lines chosen by samples.
    `repeat` is how often the command is run; end-to-end that is the number of runs in all.
    """

    mode: Mode = "experiments"
    progress: tuple[Point, ...] = ()
    latency: tuple[Latency, ...] = ()
    scope: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    target: str = ""
    speedup_pct: int | None = None
    period_us: int | None = None
    warmup_ms: int | None = None
    repeat: int = 1
    sources: tuple[str, ...] = ()

    @property
    def spec(self) -> str:
        """Return the agent's SPEC before it is encoded as an option value. Never empty, which would mean no recording."""
        pairs = [("progress", f"{point.name}={point.where}") for point in self.progress if point.where]
        pairs += [("latency", f"{pair.name}={pair.begin},{pair.end}") for pair in self.latency]
        pairs += [("scope", pattern) for pattern in self.scope]
        if self.target:
            pairs.append(("target", self.target))
        speedup = self.speedup_pct if self.mode == "end-to-end" else None
        numbers = {"speedup": speedup, "period_us": self.period_us, "warmup_ms": self.warmup_ms}
        if self.mode == "suggest":
            numbers["suggest"] = 1
        pairs += [(key, str(value)) for key, value in numbers.items() if value is not None]
        return ";".join(f"{key}:{encode_value(value)}" for key, value in pairs or [("warmup_ms", "0")])

    def as_json(self) -> dict[str, Any]:
        """Return the manifest's value under `causal`."""
        return {
            "mode": self.mode,
            "progress": [{"name": point.name, "where": point.where} for point in self.progress],
            "latency": [{"name": pair.name, "begin": pair.begin, "end": pair.end} for pair in self.latency],
            "scope": list(self.scope),
            "targets": list(self.targets),
            "target": self.target,
            "speedup_pct": self.speedup_pct,
            "period_us": self.period_us,
            "warmup_ms": self.warmup_ms,
            "sources": list(self.sources),
        }

    def with_points_of(self, known: dict[str, Any]) -> CausalOptions:
        """Return these options with the points and scope of an earlier recording where none are given."""
        if self.progress or self.latency or self.mode != "end-to-end":
            return self
        progress = tuple(Point(str(each["name"]), str(each["where"])) for each in known.get("progress", ()))
        latency = tuple(
            Latency(str(each["name"]), str(each["begin"]), str(each["end"])) for each in known.get("latency", ())
        )
        scope = self.scope or tuple(map(str, known.get("scope", ())))
        return replace(self, progress=progress, latency=latency, scope=scope)


def differences(known: dict[str, Any], options: CausalOptions) -> list[str]:
    """Return what prevents the runs of two recordings of one command from being added up; [] for nothing."""
    wanted = options.as_json()
    kinds = {"progress": "progress points", "latency": "latency points", "scope": "scope"}
    found = [what for key, what in kinds.items() if (known.get(key) or []) != wanted[key]]
    # Whole runs and experiments within one can't be compared: to either, the others are of another length.
    modes = {known.get("mode") or "experiments", wanted["mode"]}
    if len(modes) > 1:
        found.append("--suggest" if "suggest" in modes else "--end-to-end")
    return found


def parse_point(text: str) -> Point:
    """Parse `--progress TEXT`. Raises ValueError with what is wrong."""
    name, equals, where = text.partition("=")
    if not equals:
        name, where = text, text
    where = where.strip()
    if not equals and _NAME.fullmatch(name):
        return Point(name, "")
    if not name.strip() or not (_LINE.fullmatch(where) or _METHOD.fullmatch(where)):
        raise ValueError(
            f"{text!r} is no progress point: write com.acme.Server.handle, Orders=com.acme.Order:42, or the name of a "
            "headway.api.Progress"
        )
    return Point(name.strip(), where)


def parse_latency(text: str) -> Latency:
    """Parse `--latency [NAME=]BEGIN,END`. Raises ValueError with what is wrong."""
    name, equals, ends = text.partition("=")
    if not equals:
        name, ends = text, text
    begin, comma, end = (part.strip() for part in ends.partition(","))
    if not comma or not all(_LINE.fullmatch(each) or _METHOD.fullmatch(each) for each in (begin, end)):
        raise ValueError(f"{text!r} is no pair: write com.acme.Req.begin,com.acme.Req.end (methods or CLASS:LINE)")
    return Latency(name.strip(), begin, end)


def parse_scope(text: str) -> str:
    """Parse a pattern of class names. Raises ValueError with what is wrong."""
    if _GLOB.fullmatch(text.strip()) is None:
        raise ValueError(f"{text!r} is no pattern of class names: write com.acme.*, or a class")
    return text.strip()


def parse_target(text: str) -> str:
    """Parse a target into the agent's form (`line:C:42`). Raises ValueError with what is wrong."""
    kind, colon, where = text.strip().partition(":")
    if text.strip() == "gc":
        return "gc"
    fits = {"line": _LINE, "method": _METHOD, "lock": _LOCK}.get(kind)
    if not colon or fits is None or fits.fullmatch(where) is None:
        raise ValueError(
            f"{text!r} is no target: write line:com.acme.Order:42, method:com.acme.Order.price, lock:com.acme.Store (a class "
            "that takes locks, or that of a lock), or gc"
        )
    return f"{kind}={where}"
