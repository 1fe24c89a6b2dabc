"""The class of data dependencies, from the shares of accesses to objects that another thread wrote last, and locality.

Method     Papadakis, PhD thesis, Manchester 2022, sections 6.3 (three classes) and 6.4 (the change of the last-level cache's miss
           rates between one node and two, with as many cores).
Beyond     The author gives no borders. Two programs with the same share of shared writes (0.9 %) are of different classes, so no
           border on that share alone has both right; the product of shared reads and writes has: what is written by one thread
           and read by others is what nodes take from each other.
Checked    tests/golden/test_numa_classes.py.
"""

from __future__ import annotations

from headway.analyses.numa.tables import ProgramFigures
from headway.analyses.numa.types import (
    DATA_PARALLEL,
    DEPENDENCIES,
    IRREGULAR,
    LOCALITY,
    NO,
    READ_ONLY,
    READ_WRITE,
    SHARED_WRITES,
    SINGLE,
    WRITE_CONFLICTS,
    YES,
    ClassFinding,
    near_border,
)

CONSIDERABLE_READS = 5.0
"""Percent of all accesses; the published programs leave room from 3.2 (data-parallel) to 7.7 (read-only)."""
CONFLICTS = 38.0
"""Percent of shared reads x percent of shared writes; the published leave room from 31.8 (read-only) to 45.8 (read-write)."""
WRITE_RISE = 15.0
"""Points by which the miss rate of writes rises; the published read-only programs leave room from 10 to 19."""
READ_RISE = 5.0
"""Points by which the miss rate of reads rises where threads write what others read (section 6.4.2: movie-lens has 5)."""


def dependencies_of(program: ProgramFigures, parallelism: str | None) -> ClassFinding:
    """Return a program's class of data dependencies (table 6.3); none for a program with hardly more than one thread at work."""
    found = ClassFinding(DEPENDENCIES)
    if parallelism == SINGLE:
        found.add("hardly more than one thread works: what is shared is not asked")
        return found
    reads, writes = program.number("shared_read_pct"), program.number("shared_write_pct")
    if reads is None or writes is None:
        columns = [name for name in ("shared_read_pct", "shared_write_pct") if program.number(name) is None]
        found.undetermined.append(f"data dependencies: no accesses by last writer ({', '.join(columns)})")
        return found
    product = reads * writes
    is_shared, is_near = product >= CONFLICTS, near_border(product, CONFLICTS)
    lesser = READ_ONLY if reads > CONSIDERABLE_READS else DATA_PARALLEL
    found.answer = READ_WRITE if is_shared else lesser
    found.near(
        (lesser if is_shared else READ_WRITE) if is_near else None,
        f"{reads:g} % shared reads x {writes:g} % shared writes = {product:.1f}; from {CONFLICTS:g} on others read the writes",
        "shared_reads_x_shared_writes",
        product,
        CONFLICTS,
    )
    if is_shared:
        found.causes.append(SHARED_WRITES)
        return found
    other = DATA_PARALLEL if lesser == READ_ONLY else READ_ONLY
    found.near(
        other if near_border(reads, CONSIDERABLE_READS) else None,
        f"{reads:g} % of all accesses read what another thread wrote last, over {CONSIDERABLE_READS:g} % is considerable",
        "shared_read_pct",
        reads,
        CONSIDERABLE_READS,
    )
    return found


def locality_of(program: ProgramFigures, parallelism: str | None, dependencies: str | None) -> ClassFinding:
    """Return whether two nodes break the locality of a program by how it accesses memory, not by what its threads share."""
    found = ClassFinding(LOCALITY)
    if parallelism == SINGLE:
        found.add("one thread stays on one node: not asked")
        return found
    rises = [_rise(program, kind) for kind in ("read", "write")]
    read_rise, write_rise = rises
    if read_rise is None or write_rise is None:
        found.undetermined.append(
            "locality: no miss rates of the last-level cache on one node and on two, with as many cores"
        )
        return found
    text = f"misses of the last-level cache on two nodes: reads {read_rise:+g} points, writes {write_rise:+g} points"
    if dependencies is None:
        found.undetermined.append(
            "locality: whether more misses come from shared data is not known without shared accesses"
        )
        found.add(text)
        return found
    if dependencies == READ_WRITE:
        found.answer = NO
        found.add(
            f"{text}; what rises is put down to the data that threads share", "write_miss_rise_points", write_rise
        )
        return found
    found.answer = YES if write_rise >= WRITE_RISE else NO
    other = NO if found.answer == YES else YES
    found.near(
        other if near_border(write_rise, WRITE_RISE) else None,
        f"{text}; from {WRITE_RISE:g} points of writes on, hardly any of them shared, accesses are irregular",
        "write_miss_rise_points",
        write_rise,
        WRITE_RISE,
    )
    if found.answer == YES:
        found.causes.append(IRREGULAR)
    elif dependencies == READ_ONLY and read_rise >= READ_RISE:
        found.causes.append(WRITE_CONFLICTS)
        found.add(
            f"reads miss {read_rise:+g} points more: what threads read, its writer changes",
            "read_miss_rise_points",
            read_rise,
        )
    return found


def _rise(program: ProgramFigures, kind: str) -> float | None:
    """Return by how many points a miss rate rises from one node to two."""
    one, two = program.number(f"{kind}_single_node_pct"), program.number(f"{kind}_dual_node_pct")
    return None if one is None or two is None else two - one
