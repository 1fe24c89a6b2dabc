"""What `headway place --json` wrote, read back: when a program was on one memory node and when on all, why, and what came of it.

Bounds     A file is anybody's: it is read only if it is a regular one, up to a size, a number of lines and a length of each;
           values that are none of a record's are an error that names the line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.analyses.placement.types import ALL, ONE, Placement
from headway.errors import HeadwayError
from headway.store.files import read_named

MOST_BYTES = 64 << 20
MOST_LINES = 200_000
MOST_LINE_BYTES = 1 << 18
"""Of a record: its longest part is the numbers of all CPUs, twice. Parsed, JSON takes some thirty times as much."""
MOST_CHARACTERS = 600
"""Of a text that is kept."""
_LATEST_NS = 1 << 62
_FASTEST = 1e6


@dataclass(slots=True)
class PlacedSpell:
    """A time on one placement. `speed`: relative to the spell before; None where not known, as of the first."""

    placement: Placement
    start_ns: int
    why: str
    end_ns: int | None = None
    threads_moved: int = 0
    speed: float | None = None
    memory_moved_bytes: int = 0


@dataclass(slots=True)
class PlacedProgram:
    """What was recorded of placing one program. Times: CLOCK_MONOTONIC. `ended`: why; None where the records just stop."""

    pid: int
    home: int
    nodes: int
    progress: str
    start_ns: int
    spells: list[PlacedSpell]
    end_ns: int = 0
    ended: str | None = None
    notes: list[tuple[int, str]] = field(default_factory=list)

    @property
    def moves(self) -> int:
        """Return how often the program was moved."""
        return len(self.spells) - 1

    @property
    def on_one_share(self) -> float | None:
        """Return the share of the time that it was on one node; None of no time."""
        total = self.end_ns - self.start_ns
        ends = [each.end_ns if each.end_ns is not None else self.end_ns for each in self.spells]
        on_one = sum(end - each.start_ns for each, end in zip(self.spells, ends, strict=True) if each.placement == ONE)
        return on_one / total if total > 0 else None


def read_placements(path: Path) -> list[PlacedProgram]:
    """Return what a file has, each program that was placed by itself, in the order of the file; without a last line that was
    cut off while it was written. Raises HeadwayError HW730.
    """
    found: list[PlacedProgram] = []
    for number, line in _lines(path):
        where = f"{path}, line {number}"
        try:
            values = json.loads(line)
        except (ValueError, RecursionError):
            raise _error(where, "it is no JSON") from None
        if not isinstance(values, dict):
            raise _error(where, "it is no record")
        _take(found, _Record(where, values))
    if not found:
        raise _error(str(path), "no program was placed")
    return found


@dataclass(frozen=True, slots=True)
class _Record:
    """One line of a file of placements; its values are checked when they are read."""

    where: str
    values: Mapping[str, Any]

    def text(self, key: str) -> str:
        value = self.values.get(key)
        if not isinstance(value, str):
            raise _error(self.where, f"{key!r} is no text")
        return value[:MOST_CHARACTERS]

    def number(self, key: str) -> int:
        value = self.values.get(key)
        if type(value) is not int or not 0 <= value < _LATEST_NS:
            raise _error(self.where, f"{key!r} is no number of a record")
        return value

    def speed(self) -> float | None:
        value = self.values.get("speed_to_spell_before")
        return float(value) if isinstance(value, int | float) and 0 < value < _FASTEST else None

    def placement(self) -> Placement:
        value = self.text("placement")
        if value not in (ONE, ALL):
            raise _error(self.where, "'placement' is neither one nor all")
        return ONE if value == ONE else ALL


def _take(found: list[PlacedProgram], record: _Record) -> None:
    """Add one record to what was read before."""
    event, at_ns = record.text("event"), record.number("at_ns")
    if event == "start":
        words = (record.number("pid"), record.number("home"), record.number("nodes"), record.text("progress"))
        found.append(PlacedProgram(*words, at_ns, [PlacedSpell(ALL, at_ns, "as it was started")], at_ns))
        return
    if not found or found[-1].ended is not None:
        raise _error(record.where, "it comes before a record 'start'")
    placed = found[-1]
    if at_ns < placed.end_ns:
        raise _error(record.where, "it is earlier than the record before")
    placed.end_ns, spell = at_ns, placed.spells[-1]
    if event == "decision":
        _decide(placed, spell, record, at_ns)
    elif event == "spell":
        spell.speed = record.speed()
    elif event == "memory":
        spell.memory_moved_bytes += record.number("memory_moved_bytes")
    elif event == "end":
        spell.end_ns, placed.ended = at_ns, record.text("why")
    elif event == "note":
        placed.notes.append((at_ns, record.text("text")))


def _decide(placed: PlacedProgram, spell: PlacedSpell, record: _Record, at_ns: int) -> None:
    placement = record.placement()
    if placement == spell.placement:
        spell.why = record.text("why")
        return
    spell.end_ns = at_ns
    moved = record.number("threads_moved") if "threads_moved" in record.values else 0
    placed.spells.append(PlacedSpell(placement, at_ns, record.text("why"), threads_moved=moved))


def _lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file that have something, each with its number."""
    try:
        content = read_named(path, MOST_BYTES)
    except OSError as error:
        raise _error(str(path), error.strerror or str(error)) from error
    if content.count(b"\n") > MOST_LINES:
        raise _error(str(path), f"it has more than {MOST_LINES} lines")
    lines = content.split(b"\n")
    if len(lines) > 1 and not lines[-1].rstrip().endswith(b"}"):
        del lines[-1]
    for number, line in enumerate(lines, 1):
        if len(line) > MOST_LINE_BYTES:
            raise _error(f"{path}, line {number}", f"it has more than {MOST_LINE_BYTES >> 10} KiB")
        if line.strip():
            yield number, _text(line, f"{path}, line {number}")


def _text(line: bytes, where: str) -> str:
    try:
        return line.decode()
    except UnicodeDecodeError:
        raise _error(where, "it is no text") from None


def _error(where: str, reason: str) -> HeadwayError:
    return HeadwayError("HW730", where=where, reason=reason)
