"""A first estimate of what lines give while experiments still run: enough to tell how far they are, and when to stop.

The answer itself is analyses/causal.py's.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from headway.record.causal_notes import Notes

_Z = 1.96


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a line would give if it took no time: `gain` 0.2 is a fifth less time per visit. `half_width` of its 95 % interval."""

    name: str
    experiments: int
    gain: float
    half_width: float | None


@dataclass(slots=True)
class _Sums:
    visits: int = 0
    ns: int = 0

    def without(self, visits: int, ns: int) -> _Sums:
        return _Sums(self.visits - visits, self.ns - ns)


def estimates(all_notes: Iterable[Notes]) -> list[Estimate]:
    """Return an estimate of each line that was tried, of the progress point that is visited most."""
    found = []
    for notes in all_notes:
        point = _busiest_point(notes)
        if point is None:
            continue
        of_line: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for each in notes.experiments:
            row = (each["speedup_pct"], dict(each["visits"]).get(point, 0), each["dur_ns"] - each["delay_ns"])
            if each["complete"] and row[2] > 0:
                of_line[each["target"]].append(row)
        for line, rows in of_line.items():
            estimate = _estimate(_name(notes.lines.get(line)), rows)
            if estimate is not None:
                found.append(estimate)
    return found


def _busiest_point(notes: Notes) -> int | None:
    plain = [each["id"] for each in notes.points.values() if each["kind"] in ("method", "line", "api")]
    return max(plain, key=notes.hits, default=None)


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


def _estimate(name: str, rows: list[tuple[int, int, int]]) -> Estimate | None:
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
    return Estimate(name, len(rows), gain, half_width)


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
