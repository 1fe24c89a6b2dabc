"""Which code was a thread in during some stretches of time? Asked for the largest losses only, so it asks the samples each time.

Method     the samples of one thread inside the stretches; of each stack the innermost frame that is Java code and not the JDK's
           counts. The method with most weight is the answer, with its most frequent line.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.lock_arrays import distinct
from headway.analyses.lock_data import whole
from headway.analyses.lock_rules import is_jdk, is_proxy
from headway.analyses.why_exits import exits
from headway.analyses.why_types import SLEEP

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.why_waits import Waits
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Where = tuple[str | None, int | None]

_RUNNING = "event IN ('cpu', 'cycles') OR (event = 'wall' AND state = 'running')"
_WALL = "event = 'wall' AND state IS DISTINCT FROM 'running'"
_JAVA = ("java", "interpreted", "inlined", "c1")
_SAMPLER = "SELECT thread_id FROM thread WHERE kind = 'headway'"
IN_IO = "s.blocked_in IN (4, 5, 6, 7, 9)"
"""What slice.blocked_in says of I/O."""
_MOST_SAMPLES = 50_000
_NEAR_NS = 1_000_000
"""A wall sample is taken by a signal, for which a sleeping thread wakes up: it lies right beside the time asleep."""


def in_sleep(recording: Recording) -> str:
    """Return the condition for a sleep, of a slice s: Thread.sleep is a futex with a timeout that nobody wakes but to die."""
    woken = "s.start_ns - COALESCE(s.runnable_ns, 0)"
    nobody = ["s.waker_id < 0", f"s.waker_id IN ({_SAMPLER})"]
    for each in exits(recording):
        own = f"SELECT thread_id FROM thread WHERE pid = {each.pid}"
        nobody.append(f"(s.waker_id = {each.waker} AND {woken} >= {each.start_ns} AND s.thread_id IN ({own}))")
    return f"(s.blocked_in = 3 OR (s.blocked_in = 2 AND ({' OR '.join(nobody)})))"


class Code:
    """Looks code up in the samples of one recording."""

    def __init__(self, recording: Recording) -> None:
        """Nothing is loaded until it is needed."""
        self.recording = recording

    def running(self, thread: int, start: Ints, end: Ints) -> Where:
        """Return where a thread ran during some stretches, which may overlap."""
        time, stack, weight = self._samples(thread, _RUNNING)
        inside = _inside(time, start, end)
        return self._hottest(stack[inside], weight[inside])

    def alone(self, thread: int, window: tuple[int, int]) -> Where:
        """Return where a thread ran while no other application thread was running or ready to."""
        time, stack, weight = self._samples(thread, _RUNNING)
        inside = np.flatnonzero((time >= window[0]) & (time < window[1]))
        if not len(inside):
            return None, None
        inside = inside[np.linspace(0, len(inside) - 1, min(len(inside), _MOST_SAMPLES)).astype(np.int64)]
        by_itself = inside[self.active(time[inside]) <= 1]
        return self._hottest(stack[by_itself], weight[by_itself])

    def blocked(self, threads: Sequence[int], cause: str, window: tuple[int, int], waits: Waits) -> Where:
        """Return where some threads slept or waited for I/O while the kernel says so, and not in a wait that the JVM told."""
        stacks, weights = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
        for thread, start, end in self.asleep(threads, cause, window, waits):
            time, stack, weight = self._samples(thread, _WALL)
            inside = _inside(time, start - _NEAR_NS, end + _NEAR_NS)
            stacks.append(stack[inside])
            weights.append(weight[inside])
        return self._hottest(np.concatenate(stacks), np.concatenate(weights))

    def asleep(
        self, threads: Sequence[int], cause: str, window: tuple[int, int], waits: Waits
    ) -> list[tuple[int, Ints, Ints]]:
        """Return when threads (thread, starts, ends) slept or waited for I/O within a window, apart from waits in the JVM."""
        found = []
        thread, start, end = self._in_calls(threads, self._in_sleep if cause == SLEEP else IN_IO)
        start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
        for one in distinct(thread).tolist():
            mine = np.flatnonzero((thread == one) & (end > start))
            known = waits.thread == one
            waited = _inside((start[mine] + end[mine]) // 2, waits.start[known], waits.end[known])
            mine = np.delete(mine, waited)
            found.append((int(one), start[mine], end[mine]))
        return found

    def active(self, times: Ints) -> Ints:
        """Return how many application threads were running or ready to run at some moments, in order. One pass over slices."""
        change = np.zeros(len(times) + 1, dtype=np.int64)
        origin = self.recording.window_ns[0]
        if not self.recording.has("slice"):
            return change[:-1]
        rows = (
            f"SELECT s.start_ns - COALESCE(s.runnable_ns, 0) - {origin} AS woken, s.start_ns + s.running_ns - {origin} AS stop"
            " FROM slice s JOIN thread t ON t.thread_id = s.thread_id WHERE t.kind IN ('app', 'carrier')"
        )
        for batch in self.recording.batches(rows):
            woken, stop = (column.to_numpy(zero_copy_only=False).astype(np.int64) for column in batch.columns)
            np.add.at(change, np.searchsorted(times, woken), 1)
            np.add.at(change, np.searchsorted(times, stop), -1)
        return np.cumsum(change)[:-1]

    def _samples(self, thread: int, which: str) -> tuple[Ints, Ints, Ints]:
        none = np.zeros(0, dtype=np.int64)
        if thread < 0 or not self.recording.has("sample"):
            return none, none, none
        found = self.recording.query(
            f"SELECT ns, stack_id, weight FROM sample WHERE thread_id = {thread} AND stack_id IS NOT NULL AND ({which})"
            " ORDER BY ns"
        ).fetchnumpy()
        return whole(found["ns"]) - self.recording.window_ns[0], whole(found["stack_id"]), whole(found["weight"])

    @cached_property
    def _in_sleep(self) -> str:
        return in_sleep(self.recording)

    @cached_property
    def _knows_calls(self) -> bool:
        return "blocked_in" in column_names(self.recording, "slice")

    def _in_calls(self, threads: Sequence[int], calls: str) -> tuple[Ints, Ints, Ints]:
        none = np.zeros(0, dtype=np.int64)
        if not threads or not self.recording.has("slice") or not self._knows_calls:
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

    def _hottest(self, stack: Ints, weight: Ints) -> Where:
        if not len(stack):
            return None, None
        stacks, at = np.unique(stack, return_inverse=True)
        total = np.bincount(at.reshape(-1), weights=weight)
        own = self._own_frames(stacks)
        methods: Counter[str] = Counter()
        lines: Counter[tuple[str, int | None]] = Counter()
        for number, ns in zip(stacks.tolist(), total.tolist(), strict=True):
            if number in own:
                method, line = own[number]
                methods[method] += ns
                lines[method, line] += ns
        if not methods:
            return None, None
        method = max(methods, key=lambda each: methods[each])
        return max((each for each in lines if each[0] == method), key=lambda each: lines[each])

    def _own_frames(self, stacks: Ints) -> dict[int, tuple[str, int | None]]:
        """Return the innermost own frame of each stack that has one."""
        wanted = ", ".join(map(str, distinct(stacks).tolist()))
        rows = self.recording.query(
            "SELECT s.stack_id, f.class_name, f.method, f.line, f.kind FROM stack s JOIN frame f ON f.frame_id = s.frame_id"
            f" WHERE s.stack_id IN ({wanted}) ORDER BY s.stack_id, s.depth"
        ).fetchall()
        found: dict[int, tuple[str, int | None]] = {}
        for number, class_name, method, line, kind in rows:
            if number not in found and kind in _JAVA and not is_jdk(class_name) and not is_proxy(class_name):
                found[number] = f"{class_name}.{method}", line
        return found


def column_names(recording: Recording, table: str) -> set[str]:
    """Return the columns that a table has in this recording."""
    found = recording.query(f"SELECT * FROM {table} LIMIT 0")
    names = {column[0] for column in found.description or ()}
    found.fetchall()
    return names


def _inside(time: Ints, start: Ints, end: Ints) -> Ints:
    """Return which moments lie in at least one of some stretches."""
    begun = np.searchsorted(np.sort(start), time, side="right")
    over = np.searchsorted(np.sort(np.maximum(end, start)), time, side="right")
    return np.flatnonzero(begun > over)
