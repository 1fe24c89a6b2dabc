"""The agent's notes on a causal recording, causal-NAME.jsonl: one JSON object a line, read whole or while it grows.

The file may belong to the JVM's user, and a killed JVM cuts its last line off: what does not read as it should is counted and
left out.
"""

from __future__ import annotations

import gzip
import json
import os
import stat
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

_READ_BYTES = 1 << 20
_MOST_LINE_BYTES = 1 << 26


@dataclass(slots=True)
class Rate:
    """Visits of a point per second, as they were noted: enough for their mean and their variation."""

    count: int = 0
    ns: int = 0
    times: int = 0
    sum: float = 0.0
    squares: float = 0.0
    grew_ns: int | None = None
    """When it was last seen to have more visits than before."""

    def add(self, count: int, ns: int) -> None:
        """Take the cumulative count at a time."""
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
    """What one JVM has noted so far."""

    begin: dict[str, Any] | None = None
    points: dict[int, dict[str, Any]] = field(default_factory=dict)
    near: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    lines: dict[int, dict[str, Any]] = field(default_factory=dict)
    experiments: list[dict[str, Any]] = field(default_factory=list)
    profile: dict[str, Any] = field(default_factory=dict)
    rates: dict[int, Rate] = field(default_factory=dict)
    health: dict[str, Any] = field(default_factory=dict)
    problems: list[tuple[str, str]] = field(default_factory=list)
    ended: bool = False
    last_ns: int = 0
    damaged: int = 0
    """Lines that could not be read, the last one, cut off, apart."""

    def take(self, raw: bytes) -> None:
        """Take one line."""
        try:
            note = json.loads(raw)
            kind, ns = note["t"], _integer(note["ns"])
            reader = _READERS.get(kind)
            if reader is not None:  # of a newer agent: no harm
                reader(self, note, ns)
            self.last_ns = max(self.last_ns, ns)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            self.damaged += 1

    def hits(self, point: int) -> int:
        """Return how often a point was visited, as far as was noted."""
        rate = self.rates.get(point)
        inside = sum(dict(each["visits"]).get(point, 0) for each in self.experiments)
        counted = rate.count if rate is not None else 0
        return max(counted, int(inside))

    @property
    def sampled_ns(self) -> int:
        """Return the time that all samples stand for, those outside the scope, too."""
        lines = sum(int(each[1] + each[2]) for each in self.profile.get("lines", ()))
        outside = sum(int(self.profile.get(key, 0)) for key in ("out_of_scope_ns", "unread_ns"))
        return lines + outside


# --- one kind of line each -------------------------------------------------------------------------------------------


def _integer(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not -(1 << 63) <= value < 1 << 63:
        raise ValueError("no integer")
    return value


def _integers(note: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: _integer(note[key]) for key in keys}


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("no text")
    return value.encode("utf-8", "backslashreplace").decode()  # lone surrogates are escaped: tables hold UTF-8


def _texts(note: dict[str, Any], *keys: str) -> dict[str, Any]:
    return {key: _text(note[key]) for key in keys}


def _rows(value: Any, width: int) -> list[list[int]]:
    rows = [[_integer(each) for each in row[:width]] for row in value]
    if any(len(row) != width for row in rows):
        raise ValueError("a row is too short")
    return rows


def _begin(notes: Notes, note: dict[str, Any], ns: int) -> None:
    numbers = _integers(note, "pid", "period_ns", "cores")
    notes.begin = {"ns": ns, **numbers, **_texts(note, "timer", "mode"), "jdk": str(note.get("jdk", ""))}


def _point(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    numbers = _integers(note, "id", "latency", "places")
    notes.points[numbers["id"]] = {**numbers, **_texts(note, "name", "kind", "where")}


def _near(notes: Notes, note: dict[str, Any], ns: int) -> None:
    found = {"ns": ns, **_texts(note, "name", "where", "reason"), "near": [_text(each) for each in note["near"]]}
    notes.near[found["name"], found["where"]] = found


def _line(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    found = {**_integers(note, "id", "line"), **_texts(note, "kind", "class", "method", "file")}
    notes.lines[found["id"]] = found


_OF_EXPERIMENT = (
    *("id", "target", "speedup_pct", "start_ns", "dur_ns", "delay_ns", "gc_ns", "gcs", "hits_ns", "hits"),
    *("samples", "sampled_ns", "waited_ns", "spin", "complete"),
)


def _experiment(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    found = _integers(note, *_OF_EXPERIMENT)
    found |= _integers(note, "all_hits_ns") if "all_hits_ns" in note else {"all_hits_ns": found["hits_ns"]}
    later = {"ran_ns": 0, "stood_ns": 0, "control": 0}  # than the first agents: those did not tell
    found |= _integers({**later, **note}, *later)
    notes.experiments.append(
        {**found, "visits": _rows(note["visits"], 2), "latency": _rows(note.get("latency", ()), 5)}
    )


def _profile(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    notes.profile = {
        "lines": _rows(note["lines"], 4),
        **_integers(note, "out_of_scope_ns", "unread_ns"),
        "out_of_scope_methods": [_text(each) for each in note.get("out_of_scope_methods", ())],
    }


def _hits(notes: Notes, note: dict[str, Any], ns: int) -> None:
    for point, count in _rows(note["points"], 2):
        notes.rates.setdefault(point, Rate()).add(count, ns)


def _health(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    refused = {str(code): _integer(count) for code, count in note.get("refused", {}).items()}
    plain = {key: _integer(value) for key, value in note.items() if key not in ("t", "ns", "refused")}
    notes.health = {**plain, **{f"refused.{code}": count for code, count in refused.items()}}


def _problem(notes: Notes, note: dict[str, Any], _ns: int) -> None:
    found = (_text(note["id"]), _text(note["text"]))
    if found not in notes.problems:
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
    "problem": _problem,
    "end": _end,
}


# --- files ------------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tail:
    """One notes file that may still grow."""

    path: Path
    notes: Notes = field(default_factory=Notes)
    _at: int = 0
    _rest: bytes = b""

    def poll(self) -> None:
        """Take the whole lines that came since. A file that is gone, or is none of the agent's, gives none."""
        try:
            fd = os.open(self.path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return
            while piece := os.pread(fd, _READ_BYTES, self._at):
                self._at += len(piece)
                *lines, self._rest = (self._rest + piece).split(b"\n")
                for line in lines:
                    self.notes.take(line)
                if len(self._rest) > _MOST_LINE_BYTES:
                    self._rest = b""
                    self.notes.damaged += 1
        except OSError:
            return
        finally:
            os.close(fd)


def read_notes(path: Path) -> Notes:
    """Read a notes file, compressed or not; a last line without its end is a killed JVM's."""
    notes = Notes()
    with gzip.open(path, "rb") if path.suffix == ".gz" else open(path, "rb") as file:
        for line in file:
            if line.endswith(b"\n"):
                notes.take(line)
    return notes


def notes_of(spool: Path) -> Path:
    """Return where the agent that writes agent-NAME.spool keeps its notes: causal-NAME.jsonl beside it."""
    return spool.with_name(f"causal{spool.stem.removeprefix('agent')}.jsonl")
