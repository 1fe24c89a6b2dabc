"""Figures of reads and writes of objects (tables 5.6 and 5.10): so far how many reads there are for each write.

Method     reads by writes of fields and array elements, static ones left out: exact counts of the whole recording
           (objects.accesses). Nothing is put beside the published programs, whose counts have the JVM's threads, too.
Unknown    rates, as the program that counts is slower; shares of shared objects, as owners are not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.memory.types import MemoryFigure
from headway.analyses.objects.accesses import accesses

if TYPE_CHECKING:
    from headway.errors import Notice
    from headway.store import Recording

RATIO = "reads_per_write"
RATES = ("accesses_m_per_s", "llc_accesses_per_k_object_ops", "memory_accesses_per_k_object_ops")
SHARES = ("shared_reads_pct", "shared_writes_pct")
NAMES = ("accesses_m_per_s", RATIO, *SHARES, *RATES[1:])
REMEDY = "headway record --objects accesses -o NAME.headway -- CMD"
_SLOWED = "a program that counts its accesses is slower, and so are its rates and counters"
_OWNERS = "which thread allocated an object that is read or written is not recorded"
_IN_PART = frozenset(("HW841", "HW842"))
"""Notices that some accesses are not counted."""


def access_figures(recording: Recording) -> tuple[list[MemoryFigure], tuple[Notice, ...]]:
    """Return the figures, and what weakens them."""
    found = accesses(recording, by="site")  # the sums alone: there are no groups by site
    reasons = dict.fromkeys(RATES, _SLOWED) | dict.fromkeys(SHARES, _OWNERS)
    missing = {name: MemoryFigure(name, reason=reason) for name, reason in reasons.items()}
    if found is None:
        ratio = MemoryFigure(RATIO, reason="accesses were not counted", remedy=REMEDY)
        return [missing.get(name, ratio) for name in NAMES], ()
    reads = found.total.tuple_reads + found.total.array_reads
    writes = found.total.tuple_writes + found.total.array_writes
    ratio = MemoryFigure(RATIO, reason="no write of a field or an array element was counted")
    if writes:
        value = reads / writes
        ratio = MemoryFigure(RATIO, value, value, value)
    notices = tuple(each for each in recording.notices if each.id in _IN_PART)
    return [missing.get(name, ratio) for name in NAMES], notices
