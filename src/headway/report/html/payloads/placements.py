"""When a program was on one memory node and when on all (report/html/placements.py)."""

from __future__ import annotations

from typing import Literal, TypedDict


class PlacedSpellPayload(TypedDict):
    """A time on one placement."""

    placement: Literal["one", "all"]
    start_ns: int
    end_ns: int
    why: str
    threads_moved: int
    speed: float | None
    """Relative to the spell before; null where not known."""
    memory_moved_bytes: int


class PlacementNote(TypedDict):
    """Something that was found meanwhile."""

    at_ns: int
    text: str


class PlacementsView(TypedDict):
    """The placements of the recorded program, in order of time."""

    home: int
    """The number of the one node."""
    nodes: int
    progress: str
    ended: str | None
    """Why placing ended; null where its records just stop."""
    spells: list[PlacedSpellPayload]
    notes: list[PlacementNote]
    left_out: int
    notes_left_out: int
