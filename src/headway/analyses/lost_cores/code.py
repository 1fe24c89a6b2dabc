"""Finds the code that a thread was in during given times, by its samples, for the largest losses only.

Method     the samples of the threads inside the stretches, and the one place that stands for them (spots).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import SLEEP
from headway.analyses.common.columns import places_of
from headway.analyses.lost_cores.spots import Spot, spot
from headway.analyses.waits.tables.blocks import whole
from headway.analyses.waits.threads.process_exit import woken_to_die

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.waits.pieces import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Where = tuple[str | None, int | None]

_RUNNING = "event IN ('cpu', 'cycles') OR (event = 'wall' AND state = 'running')"
_WALL = "event = 'wall' AND state IS DISTINCT FROM 'running'"
_SAMPLER = "SELECT thread_id FROM thread WHERE kind = 'headway'"
IN_IO = "s.blocked_in IN (4, 5, 6, 7, 9)"
"""What slice.blocked_in says of I/O."""
_MOST_SAMPLES = 50_000
_NEAR_NS = 1_000_000
"""A wall sample is taken by a signal, for which a sleeping thread wakes up: it lies right beside the time asleep."""


def in_sleep(recording: Recording) -> str:
    """Return the condition for a sleep, of a slice s: Thread.sleep is a futex with a timeout that nobody wakes but to die.

    A timer's interrupt wakes on behalf of nobody, whichever thread it came across on the CPU.
    """
    nobody = ["s.waker_irq", "s.waker_id < 0", f"s.waker_id IN ({_SAMPLER})", woken_to_die(recording)]
    return f"(s.blocked_in = 3 OR (s.blocked_in = 2 AND ({' OR '.join(nobody)})))"


class CodeFinder:
    """Looks up code in one recording's samples."""

    def __init__(self, recording: Recording) -> None:
        """Take the recording; data is loaded on first use."""
        self.recording = recording

    def running(self, thread: int, start: Ints, end: Ints) -> Where:
        """Return where a thread ran during some stretches, which may overlap."""
        time, stack, weight = self._samples((thread,), _RUNNING)
        inside = _inside(time, start, end)
        return spot(self.recording, stack[inside], weight[inside])[:2]

    def alone(self, threads: Sequence[int], window: tuple[int, int]) -> Spot:
        """Return where threads ran while no other application thread was running or ready to."""
        time, stack, weight = self._samples(threads, _RUNNING)
        inside = np.flatnonzero((time >= window[0]) & (time < window[1]))
        if not len(inside):
            return Spot()
        inside = inside[np.linspace(0, len(inside) - 1, min(len(inside), _MOST_SAMPLES)).astype(np.int64)]
        by_itself = inside[self.active(time[inside]) <= 1]
        return spot(self.recording, stack[by_itself], weight[by_itself])

    def blocked(self, threads: Sequence[int], cause: str, window: tuple[int, int], waits: Waits) -> Where:
        """Return where some threads slept or waited for I/O as the kernel has it, apart from waits that the JVM recorded."""
        stacks, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for thread, start, end in self.asleep(threads, cause, window, waits):
            time, stack, weight = self._samples((thread,), _WALL)
            inside = _inside(time, start - _NEAR_NS, end + _NEAR_NS)
            stacks.append(stack[inside])
            weights.append(weight[inside])
        return spot(self.recording, np.concatenate(stacks), np.concatenate(weights))[:2]

    def asleep(
        self, threads: Sequence[int], cause: str, window: tuple[int, int], waits: Waits
    ) -> list[tuple[int, Ints, Ints]]:
        """Return when threads (thread, starts, ends) slept or waited for I/O within a window, apart from waits in the JVM."""
        found = []
        thread, start, end = self._in_calls(threads, self._in_sleep if cause == SLEEP else IN_IO)
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        in_jvm = np.flatnonzero(np.isin(waits.thread, thread))
        in_jvm_of = {one: in_jvm[places] for one, places in places_of(waits.thread[in_jvm].astype(np.int64))}
        for one, places in places_of(thread):
            of_thread, known = places[end[places] > start[places]], in_jvm_of.get(one, in_jvm[:0])
            waited = _inside((start[of_thread] + end[of_thread]) // 2, waits.start[known], waits.end[known])
            of_thread = np.delete(of_thread, waited)
            found.append((one, start[of_thread], end[of_thread]))
        return found

    def active(self, times: Ints) -> Ints:
        """Return the number of running or runnable application threads at given times, in order, in one pass over slices."""
        change = np.zeros(len(times) + 1, dtype=np.int64)
        origin = self.recording.window_ns[0]
        if not self.recording.has("slice") or not len(times):
            return change[:-1]
        woken_ns, stop_ns = "s.start_ns - COALESCE(s.runnable_ns, 0)", "s.start_ns + s.running_ns"
        rows = (
            f"SELECT {woken_ns} - {origin} AS woken, {stop_ns} - {origin} AS stop"
            " FROM slice s JOIN thread t ON t.thread_id = s.thread_id WHERE t.kind IN ('app', 'carrier')"
            f" AND {stop_ns} > {origin + int(times[0])} AND {woken_ns} <= {origin + int(times[-1])}"
        )
        for batch in self.recording.batches(rows):
            woken, stop = (column.to_numpy(zero_copy_only=False).astype(np.int64) for column in batch.columns)
            change += np.bincount(np.searchsorted(times, woken), minlength=len(change))
            change -= np.bincount(np.searchsorted(times, stop), minlength=len(change))
        return np.cumsum(change)[:-1]

    def _samples(self, threads: Sequence[int], which: str) -> tuple[Ints, Ints, Ints]:
        none = np.zeros(0, dtype=np.int64)
        known = [thread for thread in threads if thread >= 0]
        if not known or not self.recording.has("sample"):
            return none, none, none
        found = self.recording.query(
            f"SELECT ns, stack_id, weight FROM sample WHERE thread_id IN ({', '.join(map(str, known))}) AND stack_id"
            f" IS NOT NULL AND ({which}) ORDER BY ns"
        ).fetchnumpy()
        return whole(found["ns"]) - self.recording.window_ns[0], whole(found["stack_id"]), whole(found["weight"])

    @cached_property
    def _in_sleep(self) -> str:
        return in_sleep(self.recording)

    def _in_calls(self, threads: Sequence[int], calls: str) -> tuple[Ints, Ints, Ints]:
        none = np.zeros(0, dtype=np.int64)
        if not threads or not self.recording.has("slice"):
            return none, none, none
        found = self.recording.query(
            "SELECT CAST(s.thread_id AS BIGINT) AS thread, s.start_ns - COALESCE(s.runnable_ns, 0) AS woken, s.blocked_ns,"
            f" s.waker_id IN ({_SAMPLER}) AS sampled FROM slice s WHERE s.thread_id IN ({', '.join(map(str, threads))})"
            f" AND s.blocked_ns > 0 AND {calls} ORDER BY 1, 2"
        ).fetchnumpy()
        thread, end = whole(found["thread"]), whole(found["woken"]) - self.recording.window_ns[0]
        start = end - whole(found["blocked_ns"])
        # What a sample cut in two is one sleep.
        sampled = np.asarray(found["sampled"]).astype(bool)[:-1]
        goes_on = sampled & (start[1:] - end[:-1] <= _NEAR_NS) & (thread[1:] == thread[:-1])
        first, last = np.append(True, ~goes_on)[: len(start)], np.append(~goes_on, True)[: len(end)]
        return thread[first], start[first], end[last]


def _inside(time: Ints, start: Ints, end: Ints) -> Ints:
    """Return which moments lie in at least one of some stretches."""
    starts_before = np.searchsorted(np.sort(start), time, side="right")
    ends_before = np.searchsorted(np.sort(np.maximum(end, start)), time, side="right")
    return np.flatnonzero(starts_before > ends_before)
