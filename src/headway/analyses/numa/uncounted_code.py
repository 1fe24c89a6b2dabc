"""How much of a program's accesses may be missing from their counts, and what shares of shared accesses that leaves possible.

Question   may the class of data dependencies of the counted accesses be another one than that of all accesses?
Method     CPU samples of the threads that have more than 4 % of the counted accesses: how many have, as the innermost Java
           method, one of a class that counts nothing (the JDK's own code, classes out of scope). Samples in the code that counts
           are left out, and those in the JVM. What such code may share is then tried in full: all of it reads, or writes, of what
           others wrote, or nothing.
Assumes    counted code is up to SLOWED times as slow as it is otherwise, beside what the counting itself takes: so much more of
           the accesses may be uncounted than of the samples. Samples fall evenly; their share has a 95 % interval.
Checked    tests/unit/analyses/numa/test_numa_sharing.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common.uncertainty import interval_of_share
from headway.analyses.scheduling.thread_work import WORKER_SHARE

if TYPE_CHECKING:
    from headway.store import Recording

SLOWED = 4.0
"""Times as slow, taken as the most: counts and look-ups themselves are not in it, only what they keep compilers from doing."""
Shares = tuple[float, float]
"""Percent of all accesses that are shared reads, and shared writes."""
_SAMPLES = f"""
    WITH counted AS (SELECT DISTINCT class_name FROM access WHERE pid = $1),
    worker AS (
      SELECT thread_id FROM access WHERE pid = $1 GROUP BY thread_id
      HAVING sum(tuple_reads::DOUBLE + tuple_writes + array_reads + array_writes) > {WORKER_SHARE} * (
        SELECT sum(tuple_reads::DOUBLE + tuple_writes + array_reads + array_writes) FROM access WHERE pid = $1)),
    taken AS (
      SELECT stack_id, count(*) AS samples FROM sample JOIN worker ON sample.thread_id IS NOT DISTINCT FROM worker.thread_id
      WHERE event = 'cpu' AND stack_id IS NOT NULL GROUP BY stack_id),
    framed AS (
      SELECT stack_id, samples, class_name, kind, depth FROM taken JOIN stack USING (stack_id) JOIN frame USING (frame_id)),
    innermost AS (
      SELECT stack_id, any_value(samples) AS samples, arg_min(kind, depth) AS innermost_kind,
        arg_min(class_name, depth) FILTER (kind IN ('java', 'interpreted', 'inlined', 'c1')) AS class_name,
        bool_or(class_name LIKE 'java.lang.HeadwayCount%') AS counts FROM framed GROUP BY stack_id)
    SELECT COALESCE(sum(samples), 0), COALESCE(sum(samples) FILTER (class_name NOT IN (SELECT class_name FROM counted)), 0)
    FROM innermost WHERE NOT counts AND class_name IS NOT NULL AND innermost_kind NOT IN ('jvm', 'kernel')"""


@dataclass(frozen=True, slots=True)
class Uncounted:
    """Of the workers' samples, the share in code that is not counted, and the most of all accesses that may be its."""

    samples: int
    share: float
    most_accesses: float


def most_uncounted(recording: Recording, pid: int) -> Uncounted | None:
    """Return what part of the accesses the JDK's own code may have made, which is not counted; None: no samples tell."""
    if not all(recording.has(table) for table in ("sample", "stack", "frame")):
        return None
    samples, outside = (int(each) for each in recording.query(_SAMPLES, (pid,)).fetchall()[0])
    if not samples:
        return None
    _, most = interval_of_share(outside, samples)
    return Uncounted(samples, outside / samples, SLOWED * most / (1 + (SLOWED - 1) * most))


def with_uncounted(shares: Shares, part: float) -> tuple[Shares, ...]:
    """Return what the shares may be with more accesses, which are `part` of all then.

    They are shared not at all, or all as reads, all as writes, or as reads and writes so that most is read of what others write.
    """
    reads, writes = (each * (1 - part) for each in shares)
    more = 100 * part
    written = min(more, max(0.0, (reads + more - writes) / 2))
    return (reads, writes), (reads + more, writes), (reads, writes + more), (reads + more - written, writes + written)


def without_serial(shares: Shares, part: float) -> Shares:
    """Return the shares without accesses that are `part` of all, none of them shared."""
    together = sum(shares)
    factor = min(1 / (1 - part) if part < 1 else float("inf"), 100 / together if together else 1.0)
    return shares[0] * factor, shares[1] * factor
