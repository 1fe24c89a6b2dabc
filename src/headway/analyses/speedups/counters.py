"""Reads hardware counters measured on another machine and substitutes them where a sweep's own machine has none.

They lie in the sweep as the recording `counters.headway` (`headway import counters.csv -o NAME.sweep/counters.headway`): per
number of threads, program and region the cycles and instructions of a run. Repeats are averaged. What a row of the whole run has
beyond its regions is the rest's. Rows of single threads tell the busiest one's, the one with most cycles; where a region has such
rows only, their sum is the region's.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.regions.primitives import REST, RegionPrimitives, RunPrimitives
from headway.errors import HeadwayError, Notice
from headway.errors.plurals import counted

if TYPE_CHECKING:
    from headway.store import Recording

NAME = "counters.headway"
FIELDS = ("cycles", "instructions", "cache_misses")
BUSIEST = ("busiest_cycles", "busiest_instructions")
Counts = Mapping[str, int | None]
ByRegion = Mapping[str, Counts]
"""Of one program at one number of threads: counts of each region, by name; empty: the whole run."""


def read_counters(sweep: Path) -> Mapping[tuple[str, int], ByRegion] | None:
    """Return a sweep's imported counters by program and threads; None when there are none.

    Raises HeadwayError HW476 (a recording without counters), and as `open_recording`.
    """
    from headway.store import open_recording

    if not (sweep / NAME).is_dir():
        return None
    recording = open_recording(sweep / NAME)
    if not recording.has("region_counter"):
        raise HeadwayError("HW476", path=recording.path)
    return _means(recording)


def _means(recording: Recording) -> Mapping[tuple[str, int], ByRegion]:
    means = ", ".join(f"CAST(round(avg({field})) AS BIGINT)" for field in FIELDS)
    rows = recording.query(
        f"SELECT program, threads, region, thread, {means} FROM region_counter GROUP BY ALL ORDER BY ALL"
    ).fetchall()
    found: dict[tuple[str, int], dict[str, Counts]] = {}
    by_thread: dict[tuple[str, int, str], list[Counts]] = {}
    for program, threads, region, thread, *counts in rows:
        own: Counts = dict(zip(FIELDS, counts, strict=True))
        if thread is None:
            found.setdefault((program, threads), {})[region] = own
        else:
            by_thread.setdefault((program, threads, region), []).append(own)
    for (program, threads, region), each in by_thread.items():
        regions = found.setdefault((program, threads), {})
        regions[region] = {**regions.get(region, _sum(each)), **_busiest(each)}
    return found


def _sum(threads: Sequence[Counts]) -> Counts:
    """Return the sums over threads; None where some thread's count is not known."""
    columns = {field: [each[field] for each in threads] for field in FIELDS}
    return {field: None if None in values else sum(filter(None, values)) for field, values in columns.items()}


def _busiest(threads: Sequence[Counts]) -> Counts:
    """Return the counts of the thread with most cycles; None where some thread lacks cycles or instructions."""
    if any(each["cycles"] is None or each["instructions"] is None for each in threads):
        return dict.fromkeys(BUSIEST)
    most = max(threads, key=lambda each: each["cycles"] or 0)
    return {"busiest_cycles": most["cycles"], "busiest_instructions": most["instructions"]}


def with_counters(
    groups: Mapping[tuple[str, int], Sequence[RunPrimitives]], counters: Mapping[tuple[str, int], ByRegion]
) -> tuple[Mapping[tuple[str, int], tuple[RunPrimitives, ...]], list[Notice]]:
    """Return runs, by program and threads, with these counters; HW477 and no counters at all where some run lacks them.

    Counters of every region with CPU time are needed in every run: efficiencies of some against others would not multiply up.
    """
    lacking = [(*key, name) for key, runs in groups.items() for name in _lacking(runs, counters.get(key, {}))]
    if lacking:
        program, threads, region = lacking[0]
        what = f"{region} at {counted(threads, 'thread')}, {program} program"
        more = f" and {len(lacking) - 1} others" if len(lacking) > 1 else ""
        return {key: tuple(runs) for key, runs in groups.items()}, [Notice.of("HW477", what=what, more=more)]
    return {key: tuple(_filled(run, counters[key]) for run in runs) for key, runs in groups.items()}, []


def _lacking(runs: Sequence[RunPrimitives], counts: ByRegion) -> list[str]:
    names = dict.fromkeys(part.name for run in runs for part in run.regions if part.cpu_ns)
    return [
        name
        for name in names
        if any(_region_counts(name, names, counts)[field] is None for field in ("cycles", "instructions"))
    ]


def _region_counts(name: str, names: Iterable[str], counts: ByRegion) -> Counts:
    """Return a region's counts; the rest's are what the whole run has beyond all regions, unless they were given."""
    if name in counts or name != REST or "" not in counts:
        return counts.get(name, dict.fromkeys(FIELDS))
    regions = [counts.get(other, dict.fromkeys(FIELDS)) for other in names if other != REST]
    found: dict[str, int | None] = {}
    for field in FIELDS:
        values = [counts[""][field], *(region[field] for region in regions)]
        known = [value for value in values if value is not None]
        left = known[0] - sum(known[1:]) if len(known) == len(values) else -1
        found[field] = left if left > 0 else None
    return found


def _filled(run: RunPrimitives, counts: ByRegion) -> RunPrimitives:
    names = [part.name for part in run.regions]

    def filled(part: RegionPrimitives) -> RegionPrimitives:
        of_region = _region_counts(part.name, names, counts)
        return replace(
            part,
            cycles=of_region["cycles"],
            instructions=of_region["instructions"],
            cache_misses=of_region["cache_misses"],
            busiest_cycles=of_region.get("busiest_cycles"),
            busiest_instructions=of_region.get("busiest_instructions"),
            cycles_low=None,  # of what the recording counted itself
            cycles_high=None,
            instructions_low=None,
            instructions_high=None,
        )

    return replace(run, regions=tuple(filled(part) for part in run.regions))
