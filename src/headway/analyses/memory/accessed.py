"""Figures about accesses to objects (tables 5.6 and 5.10): reads for each write, and how many are to other threads' objects.

Method     reads by writes of fields and array elements, static ones left out: exact counts of the whole recording
           (objects.accesses). Of others are objects that another thread allocated (objects.owners; owners by another rule are
           not used): a share of those accesses of
           which the owner is known; its ends take all others for the thread's own, and for those of others.
           Nothing is put beside the published programs, whose counts have the JVM's threads, too.
Unknown    rates, as the program that counts is slower.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.memory.types import MemoryFigure
from headway.analyses.objects.accesses import accesses
from headway.model.object_owners import ALLOCATOR

if TYPE_CHECKING:
    from headway.analyses.objects.types import Counts, Owned
    from headway.errors import Notice
    from headway.store import Recording

RATIO = "reads_per_write"
RATES = ("accesses_m_per_s", "llc_accesses_per_k_object_ops", "memory_accesses_per_k_object_ops")
SHARES = ("shared_reads_pct", "shared_writes_pct")
NAMES = ("accesses_m_per_s", RATIO, *SHARES, *RATES[1:])
REMEDY = "headway record --objects accesses -o NAME.headway -- CMD"
_SLOWED = "a program that counts its accesses is slower, and so are its rates and counters"
_OWNERS = "which thread allocated an object that is read or written is not recorded"
OWNERS_REMEDY = "headway record --objects accesses,owners -o NAME.headway -- CMD"
_IN_PART = frozenset(("HW841", "HW842"))
"""Notices that some accesses are not counted."""


def access_figures(recording: Recording) -> tuple[list[MemoryFigure], tuple[Notice, ...]]:
    """Return the figures, and what weakens them."""
    found = accesses(recording, by="site")  # the sums alone: there are no groups by site
    missing = {name: MemoryFigure(name, reason=_SLOWED) for name in RATES}
    owned = None if found is None or found.rule != ALLOCATOR else found.owned
    missing |= {name: _shared(name, owned) for name in SHARES}
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


def _shared(name: str, owned: Owned | None) -> MemoryFigure:
    """Return which percentage of reads, or of writes, is of objects that another thread allocated."""
    if owned is None:
        return MemoryFigure(name, reason=_OWNERS, remedy=OWNERS_REMEDY)
    local, shared, unknown = (_sum(each, name) for each in (owned.local, owned.shared, owned.unknown))
    if not local + shared:
        return MemoryFigure(name, reason="of no object that was accessed is it known which thread allocated it")
    least, most = shared / (local + shared + unknown), (shared + unknown) / (local + shared + unknown)
    return MemoryFigure(name, 100 * shared / (local + shared), 100 * least, 100 * most)


def _sum(counts: Counts, name: str) -> int:
    is_of_reads = name == SHARES[0]
    return counts.tuple_reads + counts.array_reads if is_of_reads else counts.tuple_writes + counts.array_writes
