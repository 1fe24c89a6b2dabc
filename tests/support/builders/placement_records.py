"""Records of placing a program, as `headway place --json` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

S = 1_000_000_000


def placement_records(pid: int, start_ns: int) -> list[dict[str, Any]]:
    """Return records of two moves in ten seconds: to one node after 2 s, with its memory, and back to all after 6 s."""

    def record(event: str, at_s: float, **facts: Any) -> dict[str, Any]:
        return {"event": event, "at_ns": start_ns + round(at_s * S), "text": f"{event} at {at_s}", **facts}

    return [
        record("start", 0, pid=pid, home=1, nodes=2, progress="lines of work.log", home_cpus=[1], cpus=[0, 1]),
        record("decision", 0, placement="all", why="as it was started", is_move=False),
        record("spell", 2, placement="all", seconds=2.0, readings=5, seconds_per_unit=0.2),
        record("decision", 2, placement="one", why="to compare", is_move=True, threads_moved=7),
        record("memory", 4, placement="one", memory_moved_bytes=64 << 20, seconds=1.0),
        record("note", 5, kernel_balances=True),
        record("spell", 6, placement="one", seconds=4.0, seconds_per_unit=0.4, speed_to_spell_before=0.5),
        record("decision", 6, placement="all", why="the interval tells", is_move=True, threads_moved=8),
        record("decision", 7, placement="all", why="decided", is_move=False),
        record("end", 10, why="somebody asked to end", threads_moved=0),
    ]


def write_records(path: Path, records: list[dict[str, Any]]) -> Path:
    """Write records as lines of JSON."""
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return path
