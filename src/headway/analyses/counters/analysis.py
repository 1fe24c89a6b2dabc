"""Answers `headway counters`: what was counted for each thread, kind of threads, CPU, phase, lock, region or iteration.

Question   how many cycles, instructions, misses, page faults ... fall to each thread, kind of threads, CPU, phase
           of the JVM, parallel region, iteration, or lock while it is held; virtual threads where their mounts are recorded.
Method     the counters of a CPU are read at every switch, so that each running slice carries the difference; sums of slices.
           Groups that took turns on the counters are scaled (estimate.py), ratios are formed inside one group (metrics.py).
Assumes    of a slice that reaches over the border of a window or a phase, the counts are spread evenly over its time; the
           interval has room for all of it or none.
           Where records were lost (HW200), counts are the least that there were (lost_records.py).
Wrong when a CPU could not be read: what ran without counts is told (HW110), and so is when others had the counters (HW121). The
           kernel's work in interrupts counts for the thread that was interrupted, and the switch itself for the thread that
           comes. Of locks only contended holds are recorded, and most of them are shorter than a slice: what they counted is
           then known by its interval only. What virtual threads ran while they held one is in no slice of theirs: nothing
           then bounds the counts of that lock above.
Checked    tests/property/test_counted_slices.py, tests/property/test_counted_virtual_threads.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.notices import recorded_notices
from headway.analyses.common.units import duration
from headway.analyses.counters import estimate
from headway.analyses.counters.layout import Layout, layout
from headway.analyses.counters.parts.division import Division
from headway.analyses.counters.parts.slices import slices, stolen_in
from headway.analyses.counters.rows import Columns, imbalances
from headway.analyses.counters.sums import Sums, blocks_of
from headway.analyses.counters.types import Counters
from headway.analyses.counters.uncounted.lost_records import lost_ns
from headway.errors import Notice

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from headway.analyses.counters.parts.time_windows import TimeWindows
    from headway.analyses.counters.uncounted.stolen import Stolen
    from headway.store import Recording

_MOST_UNKNOWN = 0.001
"""So much of the running time may lack counts without a notice: the first and last moments of a recording."""


def counters(
    recording: Recording,
    window: tuple[int, int] | None = None,
    *,
    by: str = "thread",
    of_set: str | None = None,
    windows: TimeWindows | None = None,
) -> Counters:
    """Return what was counted in a window (ns from the start), divided by one of types.BY.

    `of_set`: only metrics of that set. `windows`: the regions or iterations that it is divided by, where it is. Raises
    HeadwayError HW109 for a recording without counters, HW430 by lock for one without locks.
    """
    there = layout(recording)
    begin, end = window or (0, recording.wall_ns)
    origin = recording.window_ns[0]
    division = Division(recording, by, origin + begin, origin + end, windows, with_virtual=True)
    blocks = estimate.BLOCKS if there.is_multiplexed else 1
    lost = lost_ns(recording, origin + begin, origin + end)
    sums = Sums(len(division.keys), blocks, there, lost)
    # What is counted outside of locks and iterations is in no row of theirs, and rows of phases, regions and virtual threads cut
    # slices in parts: the total is that of the threads then.
    is_whole = division.is_whole
    in_all = sums if is_whole else Sums(division.threads, blocks, there, lost)
    threads = in_all if by == "thread" or not is_whole else Sums(division.threads, 1, there, lost)
    stolen = stolen_in(recording, there)
    for each in slices(recording, there, origin + begin, origin + end):
        for part, key, inside_ns in division.parts(each):
            sums.add(part, key, inside_ns, blocks_of(part, origin + begin, origin + end, blocks))
        if threads is not sums:
            block = blocks_of(each, origin + begin, origin + end, 1 if is_whole else blocks)
            threads.add(each, division.counted(each.thread_id), division.inside(each), block)
    unassigned_ns = division.unassigned_ns
    columns = Columns(sums, there, of_set, unassigned_ns)
    has_row = np.full(len(division.keys), True) if windows is not None else (sums.cpu_ns > 0) | (unassigned_ns > 0)
    numbers = np.flatnonzero(has_row).tolist()
    rows = [columns.row(number, division.keys[number]) for number in numbers]
    total = Columns(in_all.whole(), there, of_set, np.zeros(1)).row(0, {})
    notices = (*recorded_notices(recording), *_notices_of(in_all, there, stolen, origin))
    order = sorted(rows, key=lambda row: (-row.cpu_ns, -row.unassigned_ns)) if by in ("thread", "lock") else rows
    uneven = imbalances(threads, division.app(np.arange(division.threads)) >= 0, there)
    return Counters(there.step, by, (begin, end), there.groups, total, tuple(order), uneven, there.absent, notices)


def _notices_of(sums: Sums, there: Layout, stolen: Stolen, origin_ns: int) -> Iterator[Notice]:
    """Yield a notice where too much of the running time has no counts, and one for each group that others had counters of."""
    ran, unknown = float(sums.cpu_ns.sum()), float(sums.unknown_ns.sum())
    if ran and unknown / ran > _MOST_UNKNOWN:
        yield Notice.of("HW110", share=unknown / ran)
    if ran and stolen:
        yield from _stolen_notices(there, stolen, sums.stolen_ns.sum(axis=0) / ran, origin_ns)


def _stolen_notices(there: Layout, stolen: Stolen, shares: NDArray[np.float64], origin_ns: int) -> Iterator[Notice]:
    """Yield a notice about each group that others had the counters of, in such a share of the running time."""
    for number, (group, share) in enumerate(zip(there.groups, shares.tolist(), strict=True)):
        begin, end = (duration(ns - origin_ns) for ns in stolen.span(number))
        if share > _MOST_UNKNOWN:
            yield Notice.of("HW121", share=share, events=", ".join(group.events), begin=begin, end=end)
