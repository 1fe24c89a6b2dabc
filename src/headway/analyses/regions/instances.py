"""Finds the instances of regions: scheduling records say when threads are busy, CPU samples say in which region.

An instance of a region is a stretch with at least one thread busy in it. Which threads are in it when:

* A *worker* is a thread other than the main one with at least four fifths of its telling samples in regions. It is in a
  region whenever it is busy, to the ns: what it does around the region's frames (its pool's code, loops around the work) is part
  of what the region costs. But while the main thread has something to do, only a worker that is on a CPU makes a region go on:
  one that still waits for a CPU, only to find that there is no more work, does not. Where workers have several regions, a
  stretch between two moments with all of them idle is divided at the middle between two neighbouring samples of different
  regions, whichever worker they came from.
* Any other thread (the main thread of a parallel program, the only one of a sequential program) is in a region between its own
  samples of that region, up to the middle towards its next sample of something else, as far as no worker is busy. A stretch
  between two instances of the workers that is too short to hold a sample of it counts as what its samples in such stretches
  mostly were.

Each moment belongs to one region: the first one given, where two go on at once; REST has what is left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.intervals import NOTHING, Spans, cells, union
from headway.analyses.stacks.labels import OUTSIDE, SILENT, LabelledSamples
from headway.model.names import is_main_thread

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.regions.threads import ThreadTime

    Ints = NDArray[np.int64]

_WORKER_SHARE = 0.8


@dataclass(frozen=True, eq=False)
class Instances:
    """The intervals of each region in the order given, REST last (`spans`); they fill the window and none overlap."""

    spans: list[Spans]
    workers: frozenset[int]
    """thread_id of the workers."""
    members: frozenset[int]
    """thread_id of all threads that work in a region, and of the main one."""


def instances(threads: list[ThreadTime], samples: LabelledSamples | None, regions: int, window: Spans) -> Instances:
    """Find the instances of regions 0 .. regions - 1; without samples, region 0 is where more than one thread is busy."""
    if samples is None:
        return _by_count(threads, regions, window)
    evidence = _Evidence(samples, regions)
    main = _main(threads, evidence)
    workers = [thread for thread in threads if thread is not main and evidence.is_worker(thread.thread_id)]
    of_main = main.active if main is not None else NOTHING
    of_workers = union([thread.runs for thread in workers]) | (union([thread.busy for thread in workers]) - of_main)
    found = _of_workers(of_workers, workers, evidence, regions)
    gaps = window - of_workers
    members = {thread.thread_id for thread in (*workers, *([main] if main else []))}
    for thread in threads:
        if thread not in workers and evidence.has_region(thread.thread_id):
            members.add(thread.thread_id)
            for region, spans in enumerate(_of_other(thread, gaps, evidence, regions)):
                found[region] = found[region] | spans
    taken, parts = NOTHING, []
    for spans in found:
        parts.append((spans & window) - taken)
        taken = taken | spans
    of_work = frozenset(thread.thread_id for thread in workers)
    return Instances([*parts, window - taken], of_work, frozenset(members))


def _by_count(threads: list[ThreadTime], regions: int, window: Spans) -> Instances:
    seen, twice = NOTHING, NOTHING
    for thread in threads:
        busy = thread.active
        twice, seen = twice | (seen & busy), seen | busy
    twice = twice & window
    return Instances([twice, *[NOTHING] * (regions - 1), window - twice], frozenset(), frozenset())


class _Evidence:
    """The samples that show a region or its absence, by thread."""

    def __init__(self, samples: LabelledSamples, regions: int) -> None:
        telling = np.flatnonzero((samples.label != SILENT) & (samples.thread >= 0))
        order = telling[np.argsort(samples.thread[telling], kind="stable")]
        self.thread, self.time = samples.thread[order], samples.time[order]
        self.label, self.weight = samples.label[order], samples.weight[order]
        count = int(self.thread.max(initial=-1)) + 1
        self._weights = np.zeros((count, regions + 1), np.int64)  # the last column (label -1) is outside
        np.add.at(self._weights, (self.thread, self.label), self.weight)

    def of(self, thread_id: int) -> slice:
        """Return the rows of one thread, in order of time."""
        return slice(*np.searchsorted(self.thread, [thread_id, thread_id + 1]).tolist())

    def outside(self, thread_id: int) -> int:
        """Return the weight of a thread's samples outside of all regions."""
        return int(self._weights[thread_id, OUTSIDE]) if thread_id < len(self._weights) else 0

    def has_region(self, thread_id: int) -> bool:
        """Return whether a thread has a sample in a region."""
        return thread_id < len(self._weights) and bool(self._weights[thread_id, :OUTSIDE].any())

    def is_worker(self, thread_id: int) -> bool:
        """Return whether most of a thread's samples are in regions."""
        if not self.has_region(thread_id):
            return False
        weights = self._weights[thread_id]
        return bool(weights[:OUTSIDE].sum() >= _WORKER_SHARE * weights.sum())


def _main(threads: list[ThreadTime], evidence: _Evidence) -> ThreadTime | None:
    """Return the thread that runs what is sequential: Java's first thread, else the one that was seen most outside of regions."""
    if not threads:
        return None
    first = [thread for thread in threads if is_main_thread(thread.java_id, thread.name)]
    return first[0] if first else max(threads, key=lambda thread: evidence.outside(thread.thread_id))


def _of_workers(busy: Spans, workers: list[ThreadTime], evidence: _Evidence, regions: int) -> list[Spans]:
    """Divide the workers' time among the regions."""
    rows = [evidence.of(thread.thread_id) for thread in workers]
    time = np.concatenate([evidence.time[each] for each in rows]) if rows else np.zeros(0, np.int64)
    label = np.concatenate([evidence.label[each] for each in rows]) if rows else np.zeros(0, np.int64)
    known = label >= 0
    order = np.argsort(time[known], kind="stable")
    time, label = time[known][order], label[known][order]
    seen = np.unique(label)
    if len(seen) == 1:
        return [busy if region == seen[0] else NOTHING for region in range(regions)]
    start, end, given = cells(busy, time, label, SILENT)
    blank = given == SILENT
    given[blank] = _nearest(time, label, (start + end)[blank] // 2)
    return [Spans.of(start[given == region], end[given == region]) for region in range(regions)]


def _nearest(time: Ints, label: Ints, moments: Ints) -> Ints:
    """Return the label that is nearest in time to each moment."""
    if not len(time):
        return np.full(len(moments), SILENT, np.int64)
    after = np.minimum(np.searchsorted(time, moments), len(time) - 1)
    before = np.maximum(after - 1, 0)
    return label[np.where(np.abs(time[after] - moments) < np.abs(time[before] - moments), after, before)]


def _of_other(thread: ThreadTime, gaps: Spans, evidence: _Evidence, regions: int) -> list[Spans]:
    """Return when a thread that is no worker was in each region, while no worker was busy."""
    rows = evidence.of(thread.thread_id)
    time, label, weight = evidence.time[rows], evidence.label[rows], evidence.weight[rows]
    in_gaps = gaps.index(time) >= 0
    weights = np.zeros(regions + 1, np.int64)
    np.add.at(weights, label[in_gaps], weight[in_gaps])
    mostly = OUTSIDE if not weights.any() or weights.argmax() == regions else int(weights.argmax())
    start, end, given = cells(gaps, time, label, mostly)
    busy = thread.busy
    return [Spans.of(start[given == region], end[given == region]) & busy for region in range(regions)]
