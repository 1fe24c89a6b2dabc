"""Bottle graphs (Du Bois et al., 2013): each thread's parallelism and its share of the wall time, as a stack of boxes.

Question   which threads make the program as slow as it is: those with a high and narrow box.
Method     Du Bois, Sartor, Eyerman, Eeckhout, OOPSLA 2013: each moment's wall time is divided evenly among the active threads
           (in the native pass at finalise). A thread's box has the height of its share, and the width of its parallelism:
           active time / height. Boxes are stacked, the widest at the bottom; together they are as high as the time with at
           least one active thread.
Assumes    a thread that is ready to run is as active as one that runs.
Wrong when records were lost.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common.notices import recorded_notices
from headway.analyses.scheduling.activity import no_scheduling, wall_ns
from headway.errors import Notice

if TYPE_CHECKING:
    from headway.store import Recording


@dataclass(frozen=True, slots=True)
class Bottle:
    """One thread's box: `height_ns` is its share of the wall time, `width` its mean parallelism; it starts at `bottom_ns`."""

    thread_id: int
    tid: int
    name: str
    kind: str
    bottom_ns: int
    height_ns: int
    width: float

    @property
    def active_ns(self) -> int:
        """Return the area of the box: the time for which the thread is active, in ns."""
        return round(self.height_ns * self.width)


@dataclass(frozen=True, slots=True)
class BottleGraph:
    """All boxes from the bottom upwards, the widest first. `idle_ns` is wall time without an active thread, in no box."""

    wall_ns: int
    idle_ns: int
    bottles: tuple[Bottle, ...]
    mode: str
    notices: tuple[Notice, ...]


def bottle_graph(recording: Recording) -> BottleGraph:
    """Compute the boxes of all threads of the program, JVM threads included, headway's own left out.

    Raises HeadwayError HW400 (thread states were not recorded) or HW402 (no span).
    """
    length = wall_ns(recording)
    rows = recording.query(
        "SELECT thread_id, tid, name, kind, bottle_height_ns, bottle_width FROM thread WHERE kind <> 'headway'"
        " AND bottle_height_ns IS NOT NULL AND bottle_width IS NOT NULL AND bottle_height_ns > 0"
        " ORDER BY bottle_width DESC, bottle_height_ns DESC, thread_id"
    ).fetchall()
    if not rows and not recording.has("slice"):
        raise no_scheduling(recording)
    found, bottom = [], 0
    for thread_id, tid, name, kind, height, width in rows:
        found.append(Bottle(thread_id, tid, name, kind, bottom, height, float(width)))
        bottom += height
    return BottleGraph(length, max(0, length - bottom), tuple(found), recording.mode, recorded_notices(recording))
