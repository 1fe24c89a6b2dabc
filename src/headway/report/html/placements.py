"""When a program was placed on one memory node and when on all, for the page: what `headway place --json` wrote meanwhile."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.analyses.placement.records import PlacedProgram, PlacedSpell, read_placements
from headway.errors import HeadwayError
from headway.report.html.flame_pack import visible
from headway.report.html.text import cut

if TYPE_CHECKING:
    from headway.store import Recording

MOST_SPELLS, MOST_NOTES = 300, 40
TEXT_CHARS = 200


def placements_view(recording: Recording, path: Path) -> dict[str, Any]:
    """Return the view's values. Raises HeadwayError HW730, and HW731 for records of another program or another time."""
    placed = _of(recording, path, read_placements(path))
    origin, end_ns = recording.window_ns[0], recording.window_ns[1]
    seen = [each for each in placed.spells if each.start_ns < end_ns and (each.end_ns or placed.end_ns) > origin]
    notes = [(at_ns, text) for at_ns, text in placed.notes if origin <= at_ns < end_ns]
    return {
        "home": placed.home,
        "nodes": placed.nodes,
        "progress": cut(visible(placed.progress), TEXT_CHARS),
        "ended": None if placed.ended is None else cut(visible(placed.ended), TEXT_CHARS),
        "spells": [_spell(each, placed, origin, end_ns) for each in seen[:MOST_SPELLS]],
        "notes": [
            {"at_ns": at_ns - origin, "text": cut(visible(text), TEXT_CHARS)} for at_ns, text in notes[:MOST_NOTES]
        ],
        "left_out": max(0, len(seen) - MOST_SPELLS),
        "notes_left_out": max(0, len(notes) - MOST_NOTES),
    }


def _spell(spell: PlacedSpell, placed: PlacedProgram, origin: int, end_ns: int) -> dict[str, Any]:
    last_ns = spell.end_ns if spell.end_ns is not None else placed.end_ns
    return {
        "placement": spell.placement,
        "start_ns": max(spell.start_ns, origin) - origin,
        "end_ns": min(last_ns, end_ns) - origin,
        "why": cut(visible(spell.why), TEXT_CHARS),
        "threads_moved": spell.threads_moved,
        "speed": spell.speed,
        "memory_moved_bytes": spell.memory_moved_bytes,
    }


def _of(recording: Recording, path: Path, found: list[PlacedProgram]) -> PlacedProgram:
    """Return the records of the recorded program, the last of several."""
    begin, end = recording.window_ns
    meanwhile = [each for each in found if each.start_ns < end and each.end_ns > begin]
    if not meanwhile:
        raise HeadwayError("HW731", path=path, reason="nothing in it is of the time that was recorded")
    pids = {pid for (pid,) in recording.query("SELECT DISTINCT pid FROM thread").fetchall()}
    of_program = [each for each in meanwhile if each.pid in pids]
    if not of_program:
        others = ", ".join(str(each.pid) for each in meanwhile[:4])
        raise HeadwayError("HW731", path=path, reason=f"it tells of process {others}, which was not recorded")
    return of_program[-1]
