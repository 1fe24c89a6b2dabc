"""For how long threads may have run of which no record is there: what they counted then is in no slice.

Question   in how much of a time something may have been counted that nobody read.
Method     spans in which scheduling records were lost (table `loss`). One of a single CPU ends with the last lost record, and
           the next record is of known counts. One of no CPU in particular (a CPU that came online later, lost births) may go on.
Assumes    any thread may have run then.
Wrong when records were lost that the recorder does not know of.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.store import Recording

_SOURCES = ("sched", "lifecycle", "disk")
_NO_CPU = -1


def lost_ns(recording: Recording, begin_ns: int, end_ns: int) -> int:
    """Return the time of spans of lost records within some time, CLOCK_MONOTONIC ns, 1 at least of each; 0: there is none."""
    names = ", ".join(f"'{name}'" for name in _SOURCES)
    rows = recording.query(f"SELECT cpu, start_ns, dur_ns FROM loss WHERE source IN ({names})").fetchall()
    spans = [(start, end_ns if cpu == _NO_CPU else start + dur) for cpu, start, dur in rows]
    return sum(
        max(1, min(end, end_ns) - max(start, begin_ns)) for start, end in spans if start <= end_ns and end >= begin_ns
    )
