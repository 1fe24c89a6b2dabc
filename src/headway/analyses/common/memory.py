"""The memory limit of an analysis (HEADWAY_MEMORY), and how many waits fit in it.

What headway reads of switches is bounded by itself: it goes over them in stretches of time. Waits of Java threads are joined over
the whole recording, so each takes memory. 1 GiB is what a process of headway takes at most, and HEADWAY_MEMORY another limit.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from headway.errors import HeadwayError

if TYPE_CHECKING:
    from headway.store import Recording

VARIABLE = "HEADWAY_MEMORY"
"""The environment variable that sets the limit: 512M, 8G ..."""
LIMIT = 1 << 30
BASE = 470 << 20
"""What a process takes without waits: its libraries, DuckDB's buffers, a stretch of switches."""
PER_WAIT = 320
"""Bytes at the peak of the report, which takes most: measured, with some more (benchmarks/memory_and_time.py)."""
PER_OBJECT = 650
"""Bytes that each object takes that threads waited for (a row of the table `blocker`)."""
PER_FOLDED = 48
"""Bytes that an object takes that shares its row with others: what is read of the file, and the number of its row."""
LEAST = 100_000
"""So many waits are read whatever the limit is."""
LEAST_OBJECTS = 10_000
"""So many objects have a row of their own whatever the limit is."""
_PER_ROW = {"thread": 1000, "frame": 1000, "jvm_phase": 1000}
"""Bytes for each row of a table beyond BASE, at the peak of the report: measured with a million rows."""
_PER_DISTINCT_OBJECT = 300
"""Bytes that an object takes which shares its class or place with no other, so that it can't share a row."""
_LITTLE = 150 << 20
"""What a process takes for a recording with few rows."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}


def limit() -> int:
    """Return the limit in bytes. Raises HeadwayError HW436 where the variable has no size."""
    given = os.environ.get(VARIABLE, "").strip()
    if not given:
        return LIMIT
    size = parsed(given)
    if not size:
        raise HeadwayError("HW436", variable=VARIABLE, value=given)
    return size


def parsed(text: str) -> int | None:
    """Parse a size such as 512M or 8G into bytes; None for any other text."""
    found = re.fullmatch(r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*([KMGT]?)(?:I?B)?\s*", text.upper(), re.ASCII)
    return int(float(found[1]) * _UNITS[found[2]]) if found else None


def most_waits(recording: Recording) -> int:
    """Return how many waits of a recording may be in memory."""
    return max(LEAST, (limit() - BASE - _of_objects(recording)) // PER_WAIT)


def most_objects(objects: int) -> int:
    """Return how many of so many objects may have a row of their own: half of the memory is theirs."""
    room = limit() - BASE
    if PER_OBJECT * objects <= room // 2:
        return objects
    return max(min(objects, LEAST_OBJECTS), (room - PER_FOLDED * objects) // 2 // PER_OBJECT)


def needed(recording: Recording, waits: int) -> int:
    """Return the limit in bytes that allows so many waits to be read."""
    objects = _objects(recording)
    return max(BASE + PER_OBJECT * objects + PER_WAIT * waits, needed_for_objects(objects))


def needed_for_objects(objects: int) -> int:
    """Return the limit in bytes under which so many objects each have their row."""
    return BASE + 2 * PER_OBJECT * objects if objects > LEAST_OBJECTS else 0


def expected(recording: Recording) -> int:
    """Return about how many bytes analyses of a recording take for what no limit bounds: rows of some tables."""
    rows = {name: table.rows for name, table in recording.manifest.tables.items()}
    taken = sum(size * rows.get(name, 0) for name, size in _PER_ROW.items())
    return _LITTLE + taken + _PER_DISTINCT_OBJECT * min(rows.get("blocker", 0), rows.get("frame", 0))


def _objects(recording: Recording) -> int:
    tables = recording.manifest.tables
    return tables["blocker"].rows if "blocker" in tables else 0


def _of_objects(recording: Recording) -> int:
    """Return the bytes that objects take: those with rows of their own, and the places of others, at most one a frame."""
    objects = _objects(recording)
    own = most_objects(objects)
    if own == objects:
        return PER_OBJECT * own
    tables = recording.manifest.tables
    places = min(objects - own, tables["frame"].rows if "frame" in tables else 0)
    return PER_OBJECT * (own + places) + PER_FOLDED * objects


def text(size: int) -> str:
    """Format a size in the form that the variable takes, rounded up to whole MiB."""
    return f"{-(-size >> 20)}M"
