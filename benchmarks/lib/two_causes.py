"""Programs that lose time to two known causes, with a parameter that removes each of them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from lib import programs

ROUNDS = 150


def _lock(change: dict[str, Any]) -> bool:
    return len(change["locks"]) == 1 and change["locks"][0]["removed"]


def _sleep(change: dict[str, Any]) -> bool:
    asleep = change["sleeps"]
    return len(asleep) == 1 and asleep[0]["seconds"] == 0 and _is_in("Adjustable.rest", asleep[0]["place"])


def _method(change: dict[str, Any]) -> bool:
    faster = change["methods"]
    return len(faster) == 1 and faster[0]["part"] == 0.5 and _is_in("Adjustable.parse", faster[0]["method"])


def _collections(change: dict[str, Any]) -> bool:
    return bool(change["no_gc"])


def _is_in(method: str, place: str) -> bool:
    return re.search(rf"\b{re.escape(method)}\b", re.sub(r"\\(.)", r"\1", place)) is not None


NAMED = {"lock": _lock, "sleep": _sleep, "method": _method, "collections": _collections}
"""By cause: whether a single change that `headway whatif` names is the one that removes it, or half of a method."""
LISTS = ("locks", "sleeps", "methods", "pools", "queues", "balanced")


@dataclass(frozen=True, slots=True)
class TwoCauses:
    """A program whose numbers (headway.bench.Adjustable) make two causes, and what of them is other without each."""

    numbers: dict[str, int]
    causes: tuple[str, str]

    def command(self, without: str | None = None) -> list[str]:
        """Return the command of the program, without one of the causes if asked for."""
        numbers = {"threads": 4, "rounds": ROUNDS, **self.numbers}
        if without == "lock":
            numbers["locks"] = 0
        if without == "sleep":
            numbers["sleep"] = 0
        if without == "method":
            numbers["parse"] //= 2
        heap = ["-Xmn2500m", "-Xms3g", "-Xmx3g"] if without == "collections" else ["-Xmn6m", "-Xms1g", "-Xmx1g"]
        words = ["java", "-XX:+UseSerialGC", "-XX:+UseTransparentHugePages", *heap, "-cp"]
        jar = str(programs.TARGET / "benchmarks.jar")
        return [*words, jar, "headway.bench.Adjustable", *(f"{name}={number}" for name, number in numbers.items())]


def first_named(changes: list[dict[str, Any]], causes: tuple[str, str], cores: int) -> str | None:
    """Return whose single change comes first among those that `whatif` ranks, given as its JSON; None where neither is there."""
    for each in changes:
        change = each["change"]
        if change["cores"] != cores or sum(len(change[name]) for name in LISTS) + change["no_gc"] != 1:
            continue
        for cause in causes:
            if NAMED[cause](change):
                return cause
    return None


def _of(one: str, other: str, **numbers: int) -> TwoCauses:
    return TwoCauses(numbers, (one, other))


CASES: dict[str, TwoCauses] = {
    "lock 3000 and sleep 2": _of("lock", "sleep", held=3000, sleep=2),
    "lock 2000 and sleep 4": _of("lock", "sleep", held=2000, sleep=4),
    "lock 1500 and sleep 3": _of("lock", "sleep", held=1500, sleep=3),
    "lock 1000 and sleep 8": _of("lock", "sleep", held=1000, sleep=8),
    "lock 800 and sleep 5": _of("lock", "sleep", held=800, sleep=5),
    "lock 500 and sleep 10": _of("lock", "sleep", held=500, sleep=10),
    "lock 2000 and method 1000": _of("lock", "method", held=2000, parse=1000),
    "lock 3000 and method 1500": _of("lock", "method", held=3000, parse=1500),
    "lock 1000 and method 3000": _of("lock", "method", held=1000, parse=3000),
    "lock 500 and method 3000": _of("lock", "method", held=500, parse=3000),
    "lock 300 and method 4000": _of("lock", "method", held=300, parse=4000),
    "sleep 10 and method 1000": _of("sleep", "method", sleep=10, parse=1000),
    "sleep 8 and method 2000": _of("sleep", "method", sleep=8, parse=2000),
    "sleep 12 and method 2000": _of("sleep", "method", sleep=12, parse=2000),
    "sleep 2 and method 4000": _of("sleep", "method", sleep=2, parse=4000),
    "sleep 1 and method 5000": _of("sleep", "method", sleep=1, parse=5000),
    "lock 2000 and collections 50": _of("lock", "collections", held=2000, garbage=50_000),
    "lock 200 and collections 800": _of("lock", "collections", held=200, after=500, garbage=800_000),
    "sleep 5 and collections 50": _of("sleep", "collections", sleep=5, after=500, garbage=50_000),
    "sleep 1 and collections 800": _of("sleep", "collections", sleep=1, after=500, garbage=800_000),
}
"""Computing in us, sleeps in ms, garbage of a round in kB."""
