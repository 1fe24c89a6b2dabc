"""Combines runs of a sweep that sampled different CPU events: counts sampled in some runs complete the others.

One run samples one event: CPU time, cycles or instructions. The runs of one program at one number of threads do the same work, so

    instructions    of a run that did not sample them are the mean over the runs that did
    cycles          are those per ns of CPU time in the runs that did, times its own CPU time: a run that took longer, because
                    of what others did to its caches, spent more of them (and the clock's frequency is not taken to differ)
    spinning and    of a run by instructions come from the runs by time, where there are any: a loop that waits executes few
    frames          instructions for its time

Runs that counted cycles and instructions while their threads ran (`--counters`) need no samples of them: theirs are exact, and
what they do not know of a region they say themselves (HW456).

A region without a single sample of an event, in none of these runs, has a count that is not known, not one of 0: then CPU time
stands for both counts in it, in all runs. A run whose JVM could not sample its event has no regions: where others have, it is
left out.

Checked    tests/property/test_counts_in_turn.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from headway.analyses.regions.primitives import RegionPrimitives, RunPrimitives
from headway.analyses.stacks.labels import EVENTS
from headway.errors import Notice
from headway.errors.plurals import counted
from headway.model.counter_ladder import CPI, TOP_DOWN

Groups = Mapping[tuple[str, int], tuple[RunPrimitives, ...]]
"""Recorded runs by program and threads."""

COUNTS = ("cycles", "instructions")
_NO_TIME = "instructions"
_FRAMES = ("frames", "busiest_frames", "spin_frames")


def _count_fields(count: str) -> tuple[str, ...]:
    """Return the fields of a region that a count has."""
    return count, f"spin_{count}", f"busiest_{count}", f"{count}_low", f"{count}_high"


_FIELDS = tuple(field for count in COUNTS for field in _count_fields(count))


def with_sampled(groups: Groups, path: object) -> tuple[Groups, list[Notice]]:
    """Return the runs with counts that others of their group sampled; HW459 where these are incomplete."""
    runs = [run for group in groups.values() for run in group]
    if not all(_that_sampled(runs, count) for count in COUNTS):
        return groups, []
    there = [(key, name) for key, group in groups.items() for name in _names(group)]
    lacking = [
        (key, name, count)
        for key, name in there
        for count in COUNTS
        if not any(getattr(part, count) for part in _parts(groups[key], name))
    ]
    unknown = {name for _, name, _ in lacking}
    are_counted = all(run.step in (CPI, TOP_DOWN) for run in runs)
    notices = [_not_used(lacking, path)] if lacking and not are_counted else []
    if all(name in unknown for _, name in there):
        return groups, notices
    return {key: tuple(_counted(run, group, unknown) for run in group) for key, group in groups.items()}, notices


def _names(runs: Sequence[RunPrimitives]) -> list[str]:
    """Return the names of the regions with CPU time."""
    return list(dict.fromkeys(part.name for run in runs for part in run.regions if part.cpu_ns))


def _not_used(lacking: Sequence[tuple[tuple[str, int], str, str]], path: object) -> Notice:
    ((program, threads), name, count), *others = lacking
    parts = ", ".join(dict.fromkeys(name for _, name, _ in lacking))
    what = f"{count} of {name} at {counted(threads, 'thread')}, {program} program"
    more = f" and {len(others)} others" if others else ""
    return Notice.of("HW459", parts=parts, what=what, more=more, path=path)


def that_show_regions(groups: Groups) -> tuple[Groups, list[Notice]]:
    """Return the runs without those that lack CPU samples while others of their group have them (HW458)."""
    shown = {key: tuple(run for run in group if _event(run) is not None) or group for key, group in groups.items()}
    left_out = sum(len(group) - len(shown[key]) for key, group in groups.items())
    notices = [Notice.of("HW458", count=left_out, of=sum(map(len, groups.values())))] if left_out else []
    return shown, notices


def with_time(runs: Sequence[RunPrimitives]) -> tuple[RunPrimitives, ...]:
    """Return a group's runs; those that sampled instructions get spinning and frames from those that sampled time."""
    timed = [run for run in runs if _event(run) not in (None, _NO_TIME)]
    return tuple(_timed(run, timed) if timed and _event(run) == _NO_TIME else run for run in runs)


def _event(run: RunPrimitives) -> str | None:
    """Return the event that the regions of a run were found by."""
    return next((event for event in EVENTS if event in (run.events or ())), None)


def _parts(runs: Sequence[RunPrimitives], name: str) -> list[RegionPrimitives]:
    return [part for run in runs for part in run.regions if part.name == name]


def _that_sampled(runs: Sequence[RunPrimitives], count: str) -> list[RunPrimitives]:
    return [run for run in runs if any(getattr(part, count) is not None for part in run.regions)]


def _counted(run: RunPrimitives, group: Sequence[RunPrimitives], unknown: Collection[str]) -> RunPrimitives:
    lacks = [count for count in COUNTS if not _that_sampled([run], count)]
    filled = []
    for part in run.regions:
        if part.name in unknown:
            filled.append(replace(part, **dict.fromkeys(_FIELDS)))  # type: ignore[arg-type]
            continue
        numbers: dict[str, int | None] = {}
        for count in lacks:
            sampled = _that_sampled(group, count)
            if not sampled:
                numbers |= dict.fromkeys(_count_fields(count))
                continue
            there = _parts(sampled, part.name)
            cpu_ns = sum(each.cpu_ns for each in there)
            share = Fraction(part.cpu_ns, cpu_ns) if count == "cycles" and cpu_ns else Fraction(1, len(sampled))
            for field in _count_fields(count):
                numbers[field] = _scaled([getattr(each, field) for each in there], share)
        filled.append(replace(part, **numbers))  # type: ignore[arg-type]
    return replace(run, regions=tuple(filled))


def _scaled(values: Sequence[int | None], share: Fraction) -> int | None:
    known = [value for value in values if value is not None]
    return round(sum(known) * share) if len(known) == len(values) else None


def _timed(run: RunPrimitives, timed: Sequence[RunPrimitives]) -> RunPrimitives:
    filled = []
    for part in run.regions:
        there = _parts(timed, part.name)
        cpu_ns = sum(each.cpu_ns for each in there)
        spin = _scaled([each.spin_ns for each in there], Fraction(part.cpu_ns, cpu_ns)) if cpu_ns else part.spin_ns
        frames = {field: _mean([getattr(each, field) for each in there], len(timed)) for field in _FRAMES}
        filled.append(replace(part, spin_ns=spin, **frames) if cpu_ns else part)  # type: ignore[arg-type]
    return replace(run, regions=tuple(filled))


def _mean(evidence: Sequence[Mapping[str, int]], count: int) -> dict[str, int]:
    sums: dict[str, int] = {}
    for each in evidence:
        for frame, ns in each.items():
            sums[frame] = sums.get(frame, 0) + ns
    return {frame: round(Fraction(ns, count)) for frame, ns in sorted(sums.items(), key=lambda item: -item[1])}
