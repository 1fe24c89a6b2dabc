"""Figures about accesses to objects (tables 5.6 and 5.10): reads for each write, and how many are to other threads' objects.

Method     reads by writes of fields and array elements, static ones left out: exact counts of the whole recording
           (objects.accesses). Of others are objects that another thread allocated (objects.owners; owners by another rule are
           not used): a share of those accesses of
           which the owner is known; its ends take all others for the thread's own, and for those of others.
           These are not put beside the published programs, whose counts have the JVM's threads, too.
           Rates are by the time that another run of the program takes, which counts no accesses: one that counts them is slower.
           They are the least, as the JDK's own code is not counted. Accesses of the last level and of memory for each thousand
           allocations and accesses are of loads alone, by accesses of which some are not counted: their ends are not known.
Unknown    rates without such a run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.memory.allocated import figure
from headway.analyses.memory.counted import counted_in_all
from headway.analyses.memory.types import MemoryFigure
from headway.analyses.objects.accesses import accesses
from headway.model.object_owners import ALLOCATOR

if TYPE_CHECKING:
    from headway.analyses.objects.types import Counts, Owned
    from headway.errors import Notice
    from headway.store import Recording

RATIO = "reads_per_write"
TOTAL, RATE = "accesses_m", "accesses_m_per_s"
PER_OPERATION = {"llc_accesses_per_k_object_ops": "LLC-loads", "memory_accesses_per_k_object_ops": "LLC-load-misses"}
"""Metrics per thousand allocations and accesses of objects, each with the hardware event that it counts."""
SHARES = ("shared_reads_pct", "shared_writes_pct")
NAMES = (TOTAL, RATE, RATIO, *SHARES, *PER_OPERATION)
REMEDY = "headway record --objects accesses -o NAME.headway -- CMD"
_SLOWED = "a program that counts its accesses is slower: another run of it, which counts none, has the time"
TIMED = "headway record -o TIMED.headway -- CMD; headway memory NAME.headway TIMED.headway"
COUNTED = (
    "headway record --counters --objects allocations=512k -o TIMED.headway -- CMD; "
    "headway memory NAME.headway TIMED.headway"
)
_OWNERS = "which thread allocated an object that is read or written is not recorded"
OWNERS_REMEDY = "headway record --objects accesses,owners -o NAME.headway -- CMD"
_IN_PART = frozenset(("HW841", "HW842"))
"""Notices that some accesses are not counted."""


def access_figures(
    recording: Recording, at_speed: Recording | None = None, objects: int | None = None
) -> tuple[list[MemoryFigure], tuple[Notice, ...]]:
    """Return the figures, and what weakens them. `at_speed`: a run that counted no accesses; `objects`: those allocated."""
    found = accesses(recording, by="site", with_pairs=False)  # the sums alone: there are no groups by site
    owned = None if found is None or found.rule != ALLOCATOR else found.owned
    shares = [_shared(name, owned) for name in SHARES]
    if found is None:
        names = (TOTAL, RATE, RATIO, *PER_OPERATION)
        missing = {name: MemoryFigure(name, reason="accesses were not counted", remedy=REMEDY) for name in names}
        return [*(missing[name] for name in names[:3]), *shares, *(missing[name] for name in PER_OPERATION)], ()
    reads = found.total.tuple_reads + found.total.array_reads
    writes = found.total.tuple_writes + found.total.array_writes
    ratio = MemoryFigure(RATIO, reason="no write of a field or an array element was counted")
    if writes:
        value = reads / writes
        ratio = MemoryFigure(RATIO, value, value, value)
    notices = tuple(each for each in recording.notices if each.id in _IN_PART)
    millions = (reads + writes) / 1e6
    of_time = [MemoryFigure(TOTAL, millions, millions, None, is_least=True), _rate(millions, at_speed), ratio]
    operations_k = None if objects is None else objects / 1e3 + millions * 1e3
    return [*of_time, *shares, *(_by_operation(name, at_speed, operations_k) for name in PER_OPERATION)], notices


def _rate(millions: float, at_speed: Recording | None) -> MemoryFigure:
    if at_speed is None:
        return MemoryFigure(RATE, reason=_SLOWED, remedy=TIMED)
    if not at_speed.wall_ns:
        return MemoryFigure(RATE, reason="the recording that has the time has no length")
    value = millions / (at_speed.wall_ns / 1e9)
    return figure(RATE, value, value, None, is_least=True)


def _by_operation(name: str, at_speed: Recording | None, operations_k: float | None) -> MemoryFigure:
    """Return the figure `name`: loads per 1,000 allocations and accesses that went to the last-level cache, or to memory."""
    if at_speed is None:
        return MemoryFigure(name, reason=_SLOWED, remedy=COUNTED)
    if not operations_k:
        return MemoryFigure(name, reason="allocations were not recorded", remedy=COUNTED)
    loads = counted_in_all(at_speed, PER_OPERATION[name])
    if loads is None:
        return MemoryFigure(name, reason=f"{PER_OPERATION[name]} were not counted in the other run", remedy=COUNTED)
    return MemoryFigure(name, loads / operations_k)


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
