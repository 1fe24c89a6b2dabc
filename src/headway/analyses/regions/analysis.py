"""The cost of each parallel region of a run: its duration, its CPU time, and what keeps its threads from computing.

Question   per named region, and for all that lies in none (REST): how long its instances took, the CPU time in them, and what
           kept its threads from computing: locks, the scheduler, the collector, the compilers, stolen time, I/O, spinning.
Method     instances by the exact trace and samples (regions.instances); inside them every thread's time is exact and each moment
           has one part (regions.threads). Only what samples alone can tell is split by their weights: frames, spinning and, where
           no slice has counts of its own (regions.exact_counts), counts.
           So the sum over regions of the CPU time is the CPU time of all application threads in the window.
           Where a virtual thread waited for a lock in the window, lock time is not known (HW457), and platform threads' is none.
Assumes    a thread that works in a region shows it: it is sampled there.
Wrong when a sequential stretch and a region alternate faster than the sampling interval on the same thread, with no worker that
           shows where the region ends: then the times are right on average only, and instances are too few. A worker that waits
           in native code (no record of the wait) counts as doing I/O. A carrier without a virtual thread to run has nothing to
           do, whatever these wait for.
Checked    tests/property/test_region_parts.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.intervals import Measure, Spans, union
from headway.analyses.common.units import duration
from headway.analyses.regions.exact_counts import load_counts
from headway.analyses.regions.instances import Instances, instances
from headway.analyses.regions.primitives import PARALLEL, REST, RegionPrimitives
from headway.analyses.regions.short_regions import unresolvable_regions
from headway.analyses.regions.threads import ThreadTime, ThreadTimes, load_threads, lock_evidence
from headway.analyses.stacks.labels import LabelledSamples, StackLabels, load_samples, load_stacks
from headway.errors import HeadwayError, Notice
from headway.store.sweep import SweepRegion

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

_SHOWN = 20
_EVERYTHING = 0.995
_TAKES_PART = 0.1
"""A thread counts in a region from this share of the CPU time of the largest one on: a main thread that only starts the others
does not."""


@dataclass(frozen=True, slots=True)
class Regions:
    """The primitives of one run's regions, REST last, with notices about them; `windows` holds each region's instances."""

    primitives: tuple[RegionPrimitives, ...]
    notices: tuple[Notice, ...]
    windows: tuple[Spans, ...]
    workers: tuple[str, ...]
    busiest_cpu_ns: int | None


def primitives(
    recording: Recording, regions: Sequence[SweepRegion], window: tuple[int, int] | None = None
) -> list[RegionPrimitives]:
    """Return the primitives of each region and of REST; raises as `regions_of`."""
    return list(regions_of(recording, regions, window).primitives)


def regions_of(recording: Recording, regions: Sequence[SweepRegion], window: tuple[int, int] | None = None) -> Regions:
    """Split a run, or its `window` (from, to) in ns from its start, by regions; without any region there is PARALLEL.

    Raises HeadwayError HW400 (no thread states), HW401 (window outside) or those of DuckDB.
    """
    at = _located(recording, regions, window)
    times, stacks, samples, within, found = at.times, at.stacks, at.samples, at.within, at.found
    awake = union([thread.active for thread in times.threads if thread.thread_id in found.workers])
    unplaced = times.unplaced_in(within)
    parts = _Parts(recording, times, stacks, samples, found.members, awake, knows_lock=not unplaced[0])
    labels = (*range(len(regions)), *[None] * (len(found.spans) - len(regions)))
    rows = tuple(parts.of(*each) for each in zip(at.names, found.spans, labels, strict=True))
    names = tuple(thread.name for thread in times.threads if thread.thread_id in found.workers)
    busiest = max((int(thread.cpu.within(within).sum()) for thread in times.threads), default=None)
    notices = at.notices
    if parts.withheld:
        what = ", ".join(parts.withheld)
        why = next(iter(parts.withheld.values()))
        notices += (Notice.of("HW456", path=recording.path, parts=what, why=why),)
    if unplaced[0]:
        time = duration(unplaced[1])
        notices += (Notice.of("HW457", path=recording.path, count=unplaced[0], time=time),)
    return Regions(rows, notices, tuple(found.spans), names, busiest)


@dataclass(frozen=True, eq=False)
class _Located:
    """Where each region lies in a window, and what that follows from."""

    names: tuple[str, ...]
    times: ThreadTimes
    stacks: StackLabels
    samples: LabelledSamples | None
    within: Spans
    found: Instances
    notices: tuple[Notice, ...]


def region_spans(
    recording: Recording, regions: Sequence[SweepRegion], window: tuple[int, int] | None = None
) -> tuple[list[tuple[str, Spans]], tuple[Notice, ...]]:
    """Return when each region goes on, REST last, in ns from the start, with notices about that; raises as `regions_of`."""
    at = _located(recording, regions, window)
    return [*zip(at.names, at.found.spans, strict=True)], at.notices


def _located(recording: Recording, regions: Sequence[SweepRegion], window: tuple[int, int] | None) -> _Located:
    low, high = window or (0, recording.wall_ns)
    if not 0 <= low < high <= recording.wall_ns:
        length = recording.wall_ns / 1e9
        raise HeadwayError("HW401", path=recording.path, start=low / 1e9, end=high / 1e9, length=length)
    times = load_threads(recording)
    stacks = load_stacks(recording, regions)
    samples = load_samples(recording, stacks)
    named = [region.name for region in regions] or [PARALLEL]
    within = Spans.single(low, high)
    found = instances(times.threads, samples if regions else None, len(named), within)
    notices = _notices(recording, regions, samples, within) + _pace(recording, regions, samples, found.workers)
    return _Located((*named, REST), times, stacks, samples, within, found, notices)


def _notices(
    recording: Recording, regions: Sequence[SweepRegion], samples: LabelledSamples | None, window: Spans
) -> tuple[Notice, ...]:
    """Return HW490 to HW492: regions that match nothing or everything, or can't be looked for."""
    if not regions:
        return ()
    if samples is None:
        return (Notice.of("HW492", path=recording.path),)
    there = window.index(samples.time) >= 0
    total = int(samples.weight[there].sum())
    found = []
    for number, region in enumerate(regions):
        share = int(samples.weight[there & (samples.label == number)].sum()) / total if total else 0.0
        if not share:
            found.append(Notice.of("HW490", name=region.name, pattern=region.pattern, path=recording.path))
        elif share >= _EVERYTHING:
            found.append(Notice.of("HW491", name=region.name, pattern=region.pattern, path=recording.path, share=share))
    return tuple(found)


def _pace(
    recording: Recording, regions: Sequence[SweepRegion], samples: LabelledSamples | None, workers: frozenset[int]
) -> tuple[Notice, ...]:
    """Return HW496 for the region that comes and goes fastest, if samples can't tell its instances."""
    found = unresolvable_regions(samples, workers, len(regions)) if samples is not None else {}
    if not found:
        return ()
    region = min(found, key=lambda each: found[each])
    return (Notice.of("HW496", name=regions[region].name, samples=found[region], path=recording.path),)


class _Parts:
    """Sums over the threads' time inside the instances of a region."""

    def __init__(
        self,
        recording: Recording,
        times: ThreadTimes,
        stacks: StackLabels,
        samples: LabelledSamples | None,
        members: frozenset[int],
        awake: Spans,
        *,
        knows_lock: bool,
    ) -> None:
        self._knows_lock = knows_lock and times.locks is not None
        self._times, self._stacks, self._samples, self._members, self._awake = times, stacks, samples, members, awake
        self.withheld: dict[str, str] = {}
        self._exact = load_counts(recording, [thread.thread_id for thread in times.threads])
        events = recording.query("SELECT DISTINCT event FROM sample").fetchall() if recording.has("sample") else []
        self._counters = {event: load_samples(recording, stacks, event) for (event,) in events if event in _COUNTERS}

    def of(self, name: str, spans: Spans, label: int | None) -> RegionPrimitives:
        """Return the primitives of the region with these instances; `label` selects its stacks, None all."""
        times = self._times
        each = [
            _ThreadParts.of(thread, spans, thread.thread_id in self._members, knows_lock=self._knows_lock)
            for thread in times.threads
        ]
        present = [part for part in each if part.total_busy]
        most = max((part.total("cpu") for part in present), default=0)
        overall = max(present, key=lambda part: part.total_busy, default=None)
        busiest, busiest_busy = _busiest(present, len(spans))
        evidence = _Samples.of(self._samples, spans)
        cpu = {part.thread.thread_id: part.total("cpu") for part in present}
        spin, spin_frames = evidence.spinning(cpu, self._stacks)
        locks, sites = lock_evidence(times, spans)
        return RegionPrimitives(
            name=name,
            instances=len(spans),
            wall_ns=spans.total,
            cpu_ns=sum(cpu.values()),
            lock_wait_ns=_sum(present, "lock") if self._knows_lock else None,
            runnable_ns=_sum(present, "runnable") if times.knows_runnable else None,
            steal_ns=_sum(present, "steal") if times.knows_steal else None,
            gc_ns=_sum(present, "gc") if times.knows_gc else None,
            jit_ns=_sum(present, "jit") if times.knows_runnable else None,
            io_ns=_sum(present, "io") if times.locks is not None else None,
            spin_ns=spin,
            busiest_busy_ns=busiest_busy,
            busiest_unhindered_ns=_unhindered(present, _meetings(spans, self._awake)),
            overall_busiest_busy_ns=overall.total_busy if overall else 0,
            busiest_cpu_ns=_of_busiest(present, busiest),
            threads=max(1, sum(part.total("cpu") >= _TAKES_PART * most for part in present)),
            frames=evidence.frames(cpu, self._stacks),
            busiest_frames=evidence.frames(cpu, self._stacks, overall.thread.thread_id) if overall else {},
            spin_frames=spin_frames,
            locks=_largest(locks),
            lock_sites=_largest(sites),
            thread_cpu_ns=_largest(_by_name(present)),
            sampled=evidence.threads(label, present) if evidence.known else None,
            **self._counted(name, spans, [part.thread.thread_id for part in present], busiest),
        )

    def _counted(self, name: str, spans: Spans, threads: list[int], busiest: Ints) -> dict[str, int | None]:
        """Return what was counted while the threads ran, or else what the samples of hardware events add up to."""
        found: dict[str, int | None] = {}
        who = np.array(threads, np.int64)[busiest] if threads and len(busiest) else np.zeros(len(spans), np.int64) - 1
        if self._exact is not None:
            exact = self._exact.of(spans, threads, who)
            if exact.withheld:
                self.withheld[name] = exact.withheld
            return {**exact.numbers}
        for event, key in _COUNTERS.items():
            samples = self._counters.get(event)
            if samples is None:
                continue
            at = spans.index(samples.time)
            inside = (at >= 0) & np.isin(samples.thread, threads)  # compilers and collectors are no work of the region
            found[key] = int(samples.weight[inside].sum())
            if key == "cache_misses":
                continue
            found[f"spin_{key}"] = int(samples.weight[inside & samples.spins].sum())
            of_busiest = inside & (samples.thread == who[at]) if len(who) else inside
            found[f"busiest_{key}"] = int(samples.weight[of_busiest].sum())
        return found


_COUNTERS = {"instructions": "instructions", "cycles": "cycles", "cache-misses": "cache_misses"}


@dataclass(frozen=True, eq=False)
class _ThreadParts:
    """How one thread's time divides into parts, per instance."""

    thread: ThreadTime
    parts: dict[str, Ints]
    busy: Ints
    total_busy: int

    @classmethod
    def of(cls, thread: ThreadTime, spans: Spans, is_member: bool, *, knows_lock: bool) -> _ThreadParts:
        """Measure a thread inside some instances; the sleep of a thread that works in no region (a timer) counts as idle.

        Lock time that is not known as a whole is in no thread's: its part would pass for imbalance between them.
        """
        parts = {"cpu": thread.cpu.within(spans), "steal": thread.steal.within(spans)}
        for name in ("gc", "lock", "jit", "runnable", "io"):
            parts[name] = Measure.length(getattr(thread, name)).within(spans)
        if not knows_lock:
            parts["lock"] = np.zeros(len(spans), np.int64)
        runs = Measure.length(thread.runs).within(spans)
        for name in ("gc", "io"):  # a thread that does not run in an instance does nothing in it, whatever blocks it
            parts[name] = np.where((runs > 0) & (is_member or name != "io"), parts[name], 0)
        busy = np.sum(list(parts.values()), axis=0).astype(np.int64)
        return cls(thread, parts, busy, int(busy.sum()))

    def total(self, name: str) -> int:
        """Return a part summed over all instances."""
        return int(self.parts[name].sum())


def _sum(present: list[_ThreadParts], name: str) -> int:
    return sum(part.total(name) for part in present)


def _busiest(present: list[_ThreadParts], count: int) -> tuple[Ints, int]:
    """Return for each instance the place of its busiest thread, and the sum of these threads' busy times."""
    most, place = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    for number, part in enumerate(present):
        more = part.busy > most
        most, place = np.where(more, part.busy, most), np.where(more, number, place)
    return place, int(np.maximum(most, 0).sum())


def _meetings(spans: Spans, awake: Spans) -> Ints:
    """Return the number of the first instance of each group in which the threads did not meet: a worker was awake throughout.

    A region whose workers are all kept off their CPUs has an end there, though none of them has waited for the others.
    """
    if not len(spans):
        return np.zeros(0, np.int64)
    covered, end, start = Measure.length(awake), spans.end[:-1], spans.start[1:]
    met = covered.until(start) - covered.until(end) < start - end
    return np.concatenate([[0], np.flatnonzero(met) + 1]).astype(np.int64)


def _unhindered(present: list[_ThreadParts], groups: Ints) -> int:
    """Return the sum, over groups of instances, of the longest time that a thread was busy, not counting that it had no CPU."""
    most = np.zeros(len(groups), np.int64)
    for part in present if len(groups) else ():
        own = part.busy - part.parts["runnable"] - part.parts["steal"]
        most = np.maximum(most, np.add.reduceat(own, groups))
    return int(most.sum())


def _of_busiest(present: list[_ThreadParts], busiest: Ints) -> int:
    return sum(int(part.parts["cpu"][busiest == number].sum()) for number, part in enumerate(present))


def _by_name(present: list[_ThreadParts]) -> dict[str, int]:
    found: dict[str, int] = {}
    for part in present:
        found[part.thread.name] = found.get(part.thread.name, 0) + part.total("cpu")
    return found


def _largest(found: dict[str, int]) -> dict[str, int]:
    top = sorted(((value, key) for key, value in found.items() if value > 0), key=lambda each: (-each[0], each[1]))
    return {key: value for value, key in top[:_SHOWN]}


@dataclass(frozen=True, eq=False)
class _Samples:
    """The samples inside a region's instances."""

    thread: Ints
    weight: Ints
    stack: Ints
    spins: NDArray[np.bool_]
    label: Ints
    known: bool

    @classmethod
    def of(cls, samples: LabelledSamples | None, spans: Spans) -> _Samples:
        """Return the samples inside some instances."""
        none = np.zeros(0, np.int64)
        if samples is None:
            return cls(none, none, none, none.astype(bool), none, False)
        inside = spans.index(samples.time) >= 0
        columns = (samples.thread[inside], samples.weight[inside], samples.stack[inside])
        return cls(*columns, samples.spins[inside], samples.label[inside], True)

    def threads(self, label: int | None, present: list[_ThreadParts]) -> frozenset[str]:
        """Return which of the given threads have a sample in the stacks of a label (None: in any stack), by name."""
        seen = set(self.thread[slice(None) if label is None else self.label == label].tolist())
        return frozenset(part.thread.name for part in present if part.thread.thread_id in seen)

    def spinning(self, cpu: dict[int, int], stacks: StackLabels) -> tuple[int | None, dict[str, int]]:
        """Return the CPU time spent spinning and its frames: each thread's CPU time divided by its samples' shares."""
        if not self.known:
            return None, {}
        exact = self._exact(cpu)
        by_frame = self._by_leaf(exact * self.spins, stacks)
        return round(float(exact[self.spins].sum())), by_frame

    def frames(self, cpu: dict[int, int], stacks: StackLabels, thread: int | None = None) -> dict[str, int]:
        """Return the CPU time of the innermost frames with most of it, of all threads or of one."""
        exact = self._exact(cpu)
        return self._by_leaf(exact if thread is None else exact * (self.thread == thread), stacks)

    def _exact(self, cpu: dict[int, int]) -> NDArray[np.float64]:
        """Return what each sample stands for once each thread's samples add up to its CPU time."""
        count = max(int(self.thread.max(initial=-1)), *cpu, -1) + 2  # the last place: samples without a thread, -1
        place = self.thread % count
        total = np.bincount(place, weights=self.weight, minlength=count)
        spent, share = np.zeros(count), np.zeros(count)
        spent[list(cpu)] = list(cpu.values())
        np.divide(spent, total, out=share, where=total > 0)
        return np.asarray(self.weight * share[place], np.float64)

    def _by_leaf(self, exact: NDArray[np.float64], stacks: StackLabels) -> dict[str, int]:
        sums = np.bincount(stacks.leaf[self.stack], weights=exact, minlength=len(stacks.texts))
        return _largest({stacks.texts[i]: round(float(sums[i])) for i in np.flatnonzero(sums).tolist()})
