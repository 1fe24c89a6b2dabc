"""A first estimate of what lines give while experiments still run: enough to tell how far they are, and when to stop.

The answer itself is analyses/causal.py's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from headway.record.causal_notes import Notes

_Z = 1.96


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a line would give if it took no time: `gain` 0.2 is a fifth less time per visit of `point`, or in flight for a pair.

    `half_width` of its 95 % interval.
    """

    name: str
    point: str
    experiments: int
    gain: float
    half_width: float | None


_Row = tuple[int, float, int]
"""Of an experiment: virtual speedup in percent, visits, and nanoseconds that they took together."""


@dataclass(slots=True)
class _Sums:
    visits: float = 0
    ns: int = 0

    def without(self, visits: float, ns: int) -> _Sums:
        return _Sums(self.visits - visits, self.ns - ns)


def estimates(all_notes: Iterable[Notes], names: Collection[str]) -> list[Estimate]:
    """Return an estimate of each line that was tried, for each progress point and latency pair of these names."""
    found = []
    for notes in all_notes:
        for point, rows_of in _measured(notes, names):
            found += [
                estimate
                for line in dict.fromkeys(each["target"] for each in notes.experiments)
                if (estimate := _estimate(_name(notes.lines.get(line)), point, rows_of.get(line, []))) is not None
            ]
    return found


def _measured(notes: Notes, names: Collection[str]) -> Iterator[tuple[str, dict[int, list[_Row]]]]:
    """Yield the points of these names with what experiments on each line measured of them."""
    compared = [each for each in notes.experiments if not each["control"]]
    whole = [each for each in compared if each["complete"] and each["dur_ns"] > each["delay_ns"]]
    for name in names:
        mine = [each for each in notes.points.values() if each["name"] == name]
        if ids := {each["id"] for each in mine if each["latency"] < 0}:
            yield name, _by_line(whole, [_visited(each, ids) for each in whole])
        for pair in sorted({each["latency"] for each in mine if each["latency"] >= 0}):
            yield name, _by_line(whole, _in_flight(whole, pair))


def _by_line(whole: list[dict[str, Any]], rows: list[_Row]) -> dict[int, list[_Row]]:
    found: dict[int, list[_Row]] = defaultdict(list)
    for each, row in zip(whole, rows, strict=True):
        found[each["target"]].append(row)
    return found


def _visited(each: dict[str, Any], points: Collection[int]) -> _Row:
    visits = sum(count for point, count in each["visits"] if point in points)
    return each["speedup_pct"], visits, each["dur_ns"] - each["delay_ns"]


def _in_flight(whole: list[dict[str, Any]], pair: int) -> list[_Row]:
    """Return a pair's rows by Little's law: the time in flight, and as visits the mean of begins and ends.

    After an attach requests end that had begun before: they were in flight all the while, as analyses/causal_data.py has it.
    """
    rows = [next((row for row in each["latency"] if row[0] == pair), [pair, 0, 0, 0, 0]) for each in whole]
    missing = max([0, *(-min(flying, flying + begun - ended) for _, begun, ended, flying, _ in rows)])
    found: list[_Row] = []
    for each, (_, begun, ended, flying, in_flight_ns) in zip(whole, rows, strict=True):
        effective_ns = each["dur_ns"] - each["delay_ns"]
        spent_ns = in_flight_ns + missing * effective_ns
        is_possible = 0 <= spent_ns <= (flying + missing + begun) * effective_ns  # else a visit was read half
        found.append((each["speedup_pct"], (begun + ended) / 2 if is_possible else 0, spent_ns if is_possible else 0))
    return found


def _name(line: dict[str, Any] | None) -> str:
    if line is None:
        return "?"
    if line["kind"] == "gc":
        return "GC pauses"
    if line["kind"] == "lock":
        return f"lock {line['class']}:{line['line']}" if line["line"] > 0 else f"lock {line['class']}"
    return (
        f"{line['file']}:{line['line']}" if line["line"] > 0 and line["file"] else f"{line['class']}.{line['method']}"
    )


def _estimate(name: str, point: str, rows: list[_Row]) -> Estimate | None:
    sums: dict[int, _Sums] = defaultdict(_Sums)
    for pct, visits, ns in rows:
        sums[pct].visits += visits
        sums[pct].ns += ns
    gain = _gain(sums)
    if gain is None:
        return None
    left_out = [_gain({**sums, pct: sums[pct].without(visits, ns)}) for pct, visits, ns in rows]
    known = [each for each in left_out if each is not None]
    half_width = None
    if len(known) == len(rows) > 2:  # the jackknife
        mean = sum(known) / len(known)
        spread = sum((each - mean) ** 2 for each in known) * (len(known) - 1) / len(known)
        half_width = _Z * math.sqrt(spread)
    return Estimate(name, point, len(rows), gain, half_width)


def _gain(sums: dict[int, _Sums]) -> float | None:
    """Return the slope, through the origin, of program speedup over virtual speedup; None without baseline or visits."""
    base = sums.get(0)
    if base is None or base.visits <= 0 or base.ns <= 0:
        return None
    weighted = squares = 0.0
    for pct, each in sums.items():
        if pct and each.visits > 0 and each.ns > 0:
            speedup = 1 - (each.ns / each.visits) / (base.ns / base.visits)
            weighted += each.ns * (pct / 100) * speedup
            squares += each.ns * (pct / 100) ** 2
    return weighted / squares if squares else None
