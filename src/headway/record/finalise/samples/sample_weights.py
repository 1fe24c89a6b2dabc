"""Weighs CPU samples: each stands for the time that its thread executed since the thread's previous sample.

One pass over the scheduling records in batches, in order of the end of their running parts. For each sample the executed time
of its thread up to then is noted; the difference between two of them is the later one's weight.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.record.finalise.samples.sample_files import FileSamples
from headway.store.packing import TICK_NS

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SPAN_BITS = 44
"""Ticks of a recording's length: months."""


class ExecutedAt:
    """How long each thread had executed at each of its samples, which are in order of thread and time."""

    def __init__(
        self,
        samples: FileSamples,
        of_cpu_time: NDArray[np.bool_],
        start_ns: int,
        sampled_from_ns: NDArray[np.int64] | None = None,
    ) -> None:
        """`of_cpu_time`: which samples to weigh; `sampled_from_ns`: by thread_id, when its sampler had begun (0: not known)."""
        self._chosen = np.flatnonzero(of_cpu_time)
        self._start = start_ns // TICK_NS
        self._thread = samples.thread[self._chosen]
        self._ticks = np.clip(samples.ns[self._chosen] // TICK_NS - self._start, 0, (1 << _SPAN_BITS) - 1)
        self._keys = (self._thread << _SPAN_BITS) + self._ticks
        self._executed = np.full(len(self._chosen), -1.0)
        self._before: NDArray[np.float64] = np.zeros(0)
        began = np.zeros(0, np.int64) if sampled_from_ns is None else sampled_from_ns // TICK_NS - self._start
        self._began = np.maximum(began, 0)
        self._unsampled = np.zeros(len(began))
        """By thread_id, what it executed before its sampler began: no sample stands for that."""

    def add(self, batch: Mapping[str, Any]) -> None:
        """Process one batch of `Decoder.next()`."""
        if not len(self._chosen):
            return
        thread = batch["thread_id"].astype(np.int64)
        if len(thread) == 0:
            return
        most = int(thread.max()) + 1
        if most > len(self._before):
            self._before = np.concatenate([self._before, np.zeros(most - len(self._before))])
        end = np.clip(batch["end_ticks"].astype(np.int64) - self._start, 0, (1 << _SPAN_BITS) - 1)
        running = batch["running_ticks"].astype(np.int64)
        executed = (running - np.maximum(batch["stolen_ticks"], 0)).astype(np.float64)
        # How much each row's thread had executed before it: sums within the batch by thread, onto those of earlier batches.
        order = np.argsort(thread, kind="stable")
        sums = np.cumsum(executed[order])
        first = np.flatnonzero(np.diff(thread[order], prepend=-1))
        sums -= np.repeat(sums[first] - executed[order][first], np.diff(np.append(first, len(order))))
        before = np.empty(len(thread))
        before[order] = sums - executed[order] + self._before[thread[order]]
        self._note(thread, end, running, executed, before)
        self._note_unsampled(thread, end, running, executed)
        last = np.append(first[1:], len(order)) - 1
        self._before[thread[order][last]] += sums[last]

    def _note(self, thread: Any, end: Any, running: Any, executed: Any, before: Any) -> None:
        """Give each sample inside a running part what had been executed by then."""
        low = np.searchsorted(self._keys, (thread << _SPAN_BITS) + np.maximum(end - running, 0), side="left")
        high = np.searchsorted(self._keys, (thread << _SPAN_BITS) + end, side="right")
        hit = np.flatnonzero(high > low)
        counts = high[hit] - low[hit]
        row = np.repeat(hit, counts)
        offset = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        sample = low[row] + offset
        share = (self._ticks[sample] - (end - running)[row]) / np.maximum(1, running[row])
        self._executed[sample] = before[row] + np.clip(share, 0, 1) * executed[row]

    def _note_unsampled(self, thread: Any, end: Any, running: Any, executed: Any) -> None:
        """Add up what threads executed before their sampler began."""
        row = np.flatnonzero(thread < len(self._began))
        row = row[(end - running)[row] < self._began[thread[row]]]
        share = (self._began[thread[row]] - (end - running)[row]) / np.maximum(1, running[row])
        np.add.at(self._unsampled, thread[row], np.clip(share, 0, 1) * executed[row])

    def weights(self, intervals: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return the weights of all samples.

        One that lies in no running part of its thread (a switch was lost) leaves its share to the next. Of a thread whose
        scheduling is not known at all, each keeps its interval.
        """
        weights = intervals.copy()
        met = np.flatnonzero(self._executed >= 0)
        if not len(met):
            return weights
        executed, thread = self._executed[met], self._thread[met]
        is_first = np.diff(thread, prepend=-1) != 0
        known = np.append(self._unsampled, 0.0)
        unsampled = known[np.minimum(thread, len(self._unsampled))]
        since = np.where(is_first, executed - unsampled, np.diff(executed, prepend=0.0))
        weights[self._chosen[np.isin(self._thread, thread)]] = 0
        weights[self._chosen[met]] = np.rint(np.maximum(since, 0) * TICK_NS).astype(np.int64)
        return weights


def until_next(samples: FileSamples, weights: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return weights in which each wall-clock sample counts until its thread's next one; the last one keeps its weight.

    Samples are in order of thread and time.
    """
    codes = [code for code, name in enumerate(samples.events) if name == "wall"]
    chosen = np.flatnonzero(np.isin(samples.event, codes) & (samples.thread >= 0))
    follows = samples.thread[chosen][1:] == samples.thread[chosen][:-1]
    here, following = chosen[:-1][follows], chosen[1:][follows]
    changed = weights.copy()
    changed[here] = samples.ns[following] - samples.ns[here]
    return changed
