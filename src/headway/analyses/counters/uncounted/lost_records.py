"""How much time has lost scheduling records: what threads counted then is in no slice.

Question   in how much of a time something may have been counted that nobody read.
Method     spans in which scheduling records were lost (table `loss`). One of a single CPU goes on until the next slice there:
           what the last lost record let run has no begin. One of no CPU in particular (CPUs online later, threads left out)
           may go on to the end, on any number of CPUs: nothing bounds it.
Assumes    any thread may have run then.
Wrong when records were lost that the recorder does not know of.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.store import Recording

_SOURCES = ("sched", "lifecycle", "disk", "births")
_NO_CPU = -1


def lost_ns(recording: Recording, begin_ns: int, end_ns: int) -> float:
    """Return the time of spans of lost records within some time, CLOCK_MONOTONIC ns, 1 at least of each; 0: there is none.

    Infinite where nothing bounds it.
    """
    if not recording.has("loss"):
        return 0
    names = ", ".join(f"'{name}'" for name in _SOURCES)
    rows = recording.query(
        f"SELECT l.cpu, l.start_ns, s.start_ns FROM (SELECT *, start_ns + dur_ns AS last_ns FROM loss WHERE source IN ({names}))"
        " l ASOF LEFT JOIN (SELECT cpu, start_ns FROM slice WHERE running_ns > 0) s"
        " ON s.cpu = l.cpu AND s.start_ns >= l.last_ns"
    ).fetchall()
    found = 0
    for cpu, start, following in rows:
        end = end_ns if following is None else min(following, end_ns)
        if start > end_ns or end < begin_ns:
            continue
        if cpu == _NO_CPU:
            return math.inf
        found += max(1, end - max(start, begin_ns))
    return found
