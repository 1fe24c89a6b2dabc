"""Reads an agent's notes on a causal recording, causal-NAME.jsonl: one JSON object per line, complete or still growing.

The file may belong to the JVM's user, and a killed JVM cuts its last line off: what does not read as it should is counted and
left out.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.store.shared_texts import shortened

MOST_KEPT_BYTES = 64 << 20
"""Of the lines that say something new each, in memory ten times that: some 40 hours of experiments."""
_MOST_POINTS, _MOST_PROBLEMS = 1 << 16, 100
_MOST_ASKED = 1000
"""Progress points that somebody gave, found or not: each may be a warning."""
_MOST_NEAR = 8
_LONGEST_TEXT_BYTES = 4096
_LATEST_NS = 1 << 61
_MOST_OF_ONE = 1 << 55
"""Of times and counts, also in all: more than a year of CPU time. The tables hold the sums of a hundred such JVMs."""
_MOST_IN_FLIGHT = 1 << 62
"""Requests, and ns times requests; also below zero: where one was read half, it is far from what it should be, and not damage.
What the tables hold of each experiment; these are not added up."""


@dataclass(slots=True)
class Rate:
    """A progress point's visits per second over time, summarised as mean and variation."""

    count: int = 0
    ns: int = 0
    times: int = 0
    sum: float = 0.0
    squares: float = 0.0
    grew_ns: int | None = None
    """When it was last seen to have more visits than before."""

    def add(self, count: int, ns: int) -> None:
        """Add the cumulative count at a time."""
        if count > self.count:
            self.grew_ns = ns
        if self.ns and ns > self.ns:
            rate = (count - self.count) * 1e9 / (ns - self.ns)
            self.times, self.sum, self.squares = self.times + 1, self.sum + rate, self.squares + rate * rate
        self.count, self.ns = count, max(ns, self.ns)

    @property
    def variation(self) -> float | None:
        """Return standard deviation / mean over the seconds; None with fewer than three."""
        if self.times < 3 or self.sum <= 0:
            return None
        mean = self.sum / self.times
        return float(max(0.0, self.squares / self.times - mean * mean) ** 0.5 / mean)


@dataclass(slots=True)
class Notes:
    """The notes of one JVM so far."""

    begin: dict[str, Any] | None = None
    points: dict[int, dict[str, Any]] = field(default_factory=dict)
    near: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    lines: dict[int, dict[str, Any]] = field(default_factory=dict)
    experiments: list[dict[str, Any]] = field(default_factory=list)
    profile: dict[str, Any] = field(default_factory=dict)
    rates: dict[int, Rate] = field(default_factory=dict)
    health: dict[str, Any] = field(default_factory=dict)
    callers: dict[tuple[str, str], tuple[int, int]] = field(default_factory=dict)
    """By class and method: on how many stacks it is, and the sum of the frames in scope further out (--suggest)."""
    stacks: int = 0
    """So many were looked at for `callers`."""
    problems: list[tuple[str, str]] = field(default_factory=list)
    ended: bool = False
    last_ns: int = 0
    damaged: int = 0
    """Lines that could not be read, the last one, cut off, apart; and those of more than any agent notes."""
    left_out_latencies: int = 0
    """Experiments' figures of latency pairs that no table holds: their experiments count without them."""
    inside: dict[int, int] = field(default_factory=dict)
    """Visits within experiments, by point."""
    sums: Counter[str] = field(default_factory=Counter)
    """Of each amount, over all notes that say something new each."""
    most_kept_bytes: int = MOST_KEPT_BYTES
    """What there is room for of the lines that say something new each."""
    kept_bytes: int = 0
    read_bytes: int = 0
    """Of the whole file, where it was read at once."""

    def take(self, raw: bytes) -> None:
        """Add one line."""
        try:
            note = json.loads(raw)
            kind, ns = note["t"], _moment(note["ns"])
            if kind not in _REPLACED:
                if self.kept_bytes + len(raw) > self.most_kept_bytes:
                    raise ValueError("more than any agent notes")
                self.kept_bytes += len(raw)
            reader = _READERS.get(kind)
            if reader is not None:  # of a newer agent: no harm
                reader(self, note, ns)
            self.last_ns = max(self.last_ns, ns)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.damaged += 1

    def hits(self, point: int) -> int:
        """Return how many visits of a point are noted."""
        rate = self.rates.get(point)
        counted = rate.count if rate is not None else 0
        return max(counted, self.inside.get(point, 0))

    @property
    def sampled_ns(self) -> int:
        """Return the CPU time in ns that all samples stand for, out of scope included."""
        lines = sum(int(each[1] + each[2]) for each in self.profile.get("lines", ()))
        outside = sum(int(self.profile.get(key, 0)) for key in ("out_of_scope_ns", "unread_ns"))
        return lines + outside


# --- one kind of line each -------------------------------------------------------------------------------------------


# What an agent's user wrote is left out where no agent would: tables have 32 or 64 bits, their sums too.


def _integer(value: Any, least: int = -(1 << 63), most: int = (1 << 63) - 1) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
        raise ValueError("no integer, or one that can't be")
    return value


def _id(value: Any) -> int:
    """Check a number that a 32-bit column of a table has: an id or a small count, -1 for none."""
    return _integer(value, -1, (1 << 31) - 1)


def _moment(value: Any) -> int:
    return _integer(value, 0, _LATEST_NS)


def _amount(value: Any) -> int:
    return _integer(value, 0, _MOST_OF_ONE)


def _percent(value: Any) -> int:
    return _integer(value, -(1 << 31), (1 << 31) - 1)


_Check = Callable[[Any], int]


def _integers(note: dict[str, Any], check: _Check, *keys: str) -> dict[str, Any]:
    return {key: check(note[key]) for key in keys}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    # lone surrogates are escaped: tables hold UTF-8
    return shortened(value.encode("utf-8", "backslashreplace").decode(), _LONGEST_TEXT_BYTES)


def _texts(note: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: _text(note[key]) for key in keys}


def _rows(value: Any, *checks: _Check) -> list[list[int]]:
    rows = [[check(each) for check, each in zip(checks, row, strict=False)] for row in value]
    if any(len(row) != len(checks) for row in rows):
        raise ValueError("a row is too short")
    return rows


def _spend(sums: Counter[str], amounts: dict[str, int]) -> None:
    """Add to sums, or raise ValueError and add none, where one would be more than any agent's."""
    if any(sums[key] + amount > _MOST_OF_ONE for key, amount in amounts.items()):
        raise ValueError("more than any agent notes")
    sums.update(amounts)


def _begin(notes: Notes, note: dict[str, Any], ns: int) -> None:
    numbers = {**_integers(note, _id, "pid", "cores"), "period_ns": _amount(note["period_ns"])}
    notes.begin = {"ns": ns, **numbers, **_texts(note, "timer", "mode"), "jdk": _text(str(note.get("jdk", "")))}


def _point(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    found = {**_integers(note, _id, "id", "latency", "places"), **_texts(note, "name", "kind", "where")}
    if found["id"] not in notes.points:
        _count(notes, "points", _MOST_POINTS)
        if found["kind"] != "candidate":
            _count(notes, "asked points", _MOST_ASKED)
    notes.points[found["id"]] = found


def _count(notes: Notes, what: str, most: int) -> None:
    if notes.sums[what] >= most:
        raise ValueError("more than any agent notes")
    notes.sums[what] += 1


def _near(notes: Notes, note: dict[str, Any], ns: int) -> None:
    near = [_text(each) for each in note["near"][:_MOST_NEAR]]
    found = {"ns": ns, **_texts(note, "name", "where", "reason"), "near": near}
    key = found["name"], found["where"]
    if key not in notes.near:
        _count(notes, "near", _MOST_ASKED)
    notes.near[key] = found


def _line(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    found = {**_integers(note, _id, "id", "line"), **_texts(note, "kind", "class", "method", "file")}
    notes.lines[found["id"]] = found


_AMOUNTS_OF_EXPERIMENT = (
    *("dur_ns", "delay_ns", "gc_ns", "hits_ns", "hits", "samples", "sampled_ns", "waited_ns"),
    *("all_hits_ns", "ran_ns", "stood_ns"),
)


def _experiment(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    # later than the first agents: those did not tell
    note = {"all_hits_ns": note["hits_ns"], "ran_ns": 0, "stood_ns": 0, "control": 0, **note}
    found = _integers(note, _amount, *_AMOUNTS_OF_EXPERIMENT)
    found |= _integers(note, _id, "id", "target", "gcs") | _integers(note, _integer, "spin", "complete", "control")
    found |= {"speedup_pct": _percent(note["speedup_pct"]), "start_ns": _moment(note["start_ns"])}
    visits = _rows(note["visits"], _id, _amount)
    latency = _rows(note.get("latency", ()), _id, _integer, _integer, _integer, _integer)
    amounts = {key: found[key] for key in _AMOUNTS_OF_EXPERIMENT}
    amounts["visits"] = sum(count for _, count in visits)
    _spend(notes.sums, amounts)
    fit = [row for row in latency if _is_spent(notes, row)]
    notes.left_out_latencies += len(latency) - len(fit)
    notes.experiments.append({**found, "visits": visits, "latency": fit})
    for point, count in {each[0]: each[1] for each in visits}.items():
        notes.inside[point] = notes.inside.get(point, 0) + count


def _is_spent(notes: Notes, latency: list[int]) -> bool:
    """Add what an experiment has of a latency pair to the sums, if the tables hold it; and return whether they do."""
    _, begun, ended, *in_flight = latency
    if min(begun, ended) < 0 or max(map(abs, in_flight)) > _MOST_IN_FLIGHT:
        return False
    try:
        _spend(notes.sums, {"latency begun": begun, "latency ended": ended})
    except ValueError:
        return False
    return True


def _profile(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    lines = _rows(note["lines"], _id, _amount, _amount, _amount)
    _spend(Counter(), {str(at): sum(row[at] for row in lines) for at in range(1, 4)})
    notes.profile = {
        "lines": lines,
        **_integers(note, _amount, "out_of_scope_ns", "unread_ns"),
        "out_of_scope_methods": [_text(each) for each in note.get("out_of_scope_methods", ())[:_MOST_NEAR]],
    }


def _hits(notes: Notes, note: dict[str, Any], ns: int) -> None:
    for point, count in _rows(note["points"], _id, _amount):
        if point not in notes.rates and len(notes.rates) >= _MOST_POINTS:
            raise ValueError("more than any agent notes")
        rate = notes.rates.setdefault(point, Rate())
        _spend(notes.sums, {"counted": max(0, count - rate.count)})
        rate.add(count, ns)


def _callers(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    found = {(_text(c), _text(m)): (_amount(stacks), _amount(outer)) for c, m, stacks, outer in note["methods"]}
    notes.stacks, notes.callers = _amount(note["samples"]), found


_NESTED = ("refused", "unread")


def _health(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    plain = {_text(key): _integer(value) for key, value in note.items() if key not in ("t", "ns", *_NESTED)}
    nested = {f"{key}.{_text(name)}": _integer(value) for key in _NESTED for name, value in note.get(key, {}).items()}
    notes.health = {**plain, **nested}


def _problem(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    found = (_text(note["id"]), _text(note["text"]))
    if found not in notes.problems:
        if len(notes.problems) >= _MOST_PROBLEMS:
            raise ValueError("more than any agent notes")
        notes.problems.append(found)


def _end(notes: Notes, _note: dict[str, Any], _ns: int) -> None:
    notes.ended = True


_READERS: dict[str, Callable[[Notes, dict[str, Any], int], None]] = {
    "begin": _begin,
    "point": _point,
    "near": _near,
    "line": _line,
    "experiment": _experiment,
    "profile": _profile,
    "hits": _hits,
    "health": _health,
    "callers": _callers,
    "problem": _problem,
    "end": _end,
}
_REPLACED = ("profile", "hits", "health", "callers")
"""Kinds of lines of which the last one counts."""


# --- files ------------------------------------------------------------------------------------------------------------


def notes_of(spool: Path) -> Path:
    """Return the path of the notes of the agent that writes agent-NAME.spool: causal-NAME.jsonl beside it."""
    return spool.with_name(f"causal{spool.stem.removeprefix('agent')}.jsonl")
