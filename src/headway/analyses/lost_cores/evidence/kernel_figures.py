"""Figures from kernel and JVM records that support a cause: running times, pauses, sleeps, waits for a core.

Each is asked for one loss. Where a table has more than MOST_ROWS rows, what needs all of them in order is left out.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.waits.tables.blocks import whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Window = tuple[int, int]

MOST_ROWS = 3_000_000
LONG_NS = 10_000_000
"""A thread that is ready for longer than this has lost its place: schedulers give turns of a few milliseconds."""


class KernelFigures:
    """Queries the recording's tables; times and windows are ns from its start."""

    def __init__(self, recording: Recording) -> None:
        """Take the recording; data is loaded on first use."""
        self.recording = recording
        self._wakings: dict[int, Ints] = {}

    @cached_property
    def is_small(self) -> bool:
        """Return whether slices are few enough to be looked at one by one for a sentence."""
        return self.recording.has("slice") and self.recording.manifest.tables["slice"].rows <= MOST_ROWS

    def ran(self, begin: Ints, end: Ints) -> tuple[Ints, Ints]:
        """Return the application's threads, and how long each ran in each span (threads x spans); spans are apart, in order."""
        threads = self.recording.query(
            "SELECT thread_id FROM thread WHERE kind IN ('app', 'carrier') ORDER BY 1"
        ).fetchall()
        keys = np.array([row[0] for row in threads], dtype=np.int64)
        total = np.zeros((len(keys), len(begin)), dtype=np.int64)
        if not len(keys) or not len(begin) or not self.recording.has("slice"):
            return keys, total
        origin = self.recording.window_ns[0]
        low, high = int(begin[0]) + origin, int(end[-1]) + origin
        for batch in self.recording.batches(
            "SELECT CAST(s.thread_id AS BIGINT) AS thread, s.start_ns - "
            + str(origin)
            + " AS start, s.running_ns FROM slice s"
            f" JOIN thread t ON t.thread_id = s.thread_id WHERE t.kind IN ('app', 'carrier') AND s.running_ns > 0"
            f" AND s.start_ns < {high} AND s.start_ns + s.running_ns > {low}"
        ):
            thread, start, running = (
                column.to_numpy(zero_copy_only=False).astype(np.int64) for column in batch.columns
            )
            stop = start + running
            first = np.searchsorted(end, start, side="right")
            count = np.maximum(np.searchsorted(begin, stop, side="left") - first, 0)
            which = np.repeat(np.arange(len(thread)), count)
            span = first[which] + np.arange(len(which)) - np.repeat(np.cumsum(count) - count, count)
            length = np.minimum(stop[which], end[span]) - np.maximum(start[which], begin[span])
            np.add.at(total, (np.searchsorted(keys, thread[which]), span), np.maximum(length, 0))
        return keys, total

    def wakings(self, thread: int) -> Ints | None:
        """Return when a thread woke or started others of the application, in order; None where there are too many slices."""
        if not self.is_small:
            return None
        if thread not in self._wakings:
            found = self.recording.query(
                "SELECT s.start_ns - COALESCE(s.runnable_ns, 0) AS woken FROM slice s JOIN thread t ON t.thread_id = s.thread_id"
                f" WHERE s.waker_id = {thread} AND t.kind IN ('app', 'carrier') ORDER BY 1"
            ).fetchnumpy()
            self._wakings[thread] = whole(found["woken"]) - self.recording.window_ns[0]
        return self._wakings[thread]

    def ready(self, window: Window) -> dict[str, int]:
        """Return how long threads waited for a core, the VM's too, how often for long, and how often one changed its CPU."""
        low, high = (self.recording.window_ns[0] + each for each in window)
        inside = "thread_id IN (SELECT thread_id FROM thread WHERE kind <> 'headway')"
        if (low, high) != self.recording.window_ns:  # to know when each slice was costs as much again
            inside += f" AND start_ns > {low} AND start_ns - COALESCE(runnable_ns, 0) < {high}"
        row = self._row(
            f"SELECT COALESCE(SUM(runnable_ns), 0), COUNT(*) FILTER (runnable_ns > {LONG_NS}), COALESCE(MAX(runnable_ns), 0)"
            f" FROM slice WHERE {inside}"
        )
        found = {"ready_ns": int(row[0]), "long_waits": int(row[1]), "longest_ns": int(row[2])}
        if self.is_small:
            moved = self._row(
                "SELECT COUNT(*) FILTER (cpu <> before) FROM (SELECT cpu, LAG(cpu) OVER (PARTITION BY thread_id ORDER BY"
                f" start_ns) AS before FROM slice WHERE cpu >= 0 AND {inside})"
            )
            found["migrations"] = int(moved[0])
        return found

    def phases(self, kind: str, window: Window) -> list[tuple[int, str | None]]:
        """Return the JVM phases of a kind in a window, longest first: (length, cause)."""
        low, high = (self.recording.window_ns[0] + each for each in window)
        rows = self.recording.query(
            "SELECT LEAST(start_ns + dur_ns, $3) - GREATEST(start_ns, $2) AS ns, cause FROM jvm_phase"
            " WHERE kind = $1 AND start_ns < $3 AND start_ns + dur_ns > $2 ORDER BY 1 DESC",
            (kind, low, high),
        ).fetchall()
        return [(int(ns), cause) for ns, cause in rows]

    def active(self, window: Window) -> tuple[float, int] | None:
        """Return the mean of active application threads, and how long exactly one was; None where it is not known."""
        if "activity" not in self.recording.manifest.tables:
            return None
        low, high = (self.recording.window_ns[0] + each for each in window)
        row = self._row(
            "SELECT SUM(active_app::HUGEINT * dur_ns) * 1.0 / NULLIF(SUM(dur_ns), 0),"
            " SUM(dur_ns) FILTER (active_app = 1) FROM activity"
            f" WHERE bin_start_ns + 1 > {low} AND bin_start_ns < {high}"
        )
        return None if row[0] is None else (float(row[0]), int(row[1] or 0))

    def longest_alone(self, thread: int, window: Window) -> int | None:
        """Return the longest time for which a thread alone of the application was running or ready to."""
        if not self.is_small:
            return None
        origin = self.recording.window_ns[0]
        found = self.recording.query(
            f"SELECT s.start_ns - COALESCE(s.runnable_ns, 0) - {origin} AS woken, s.start_ns + s.running_ns - {origin} AS stop,"
            " s.thread_id FROM slice s JOIN thread t ON t.thread_id = s.thread_id WHERE t.kind IN ('app', 'carrier')"
        ).fetchnumpy()
        woken, stop = (np.clip(whole(found[name]), *window) for name in ("woken", "stop"))
        is_own = whole(found["thread_id"]) == thread
        time = np.concatenate([stop, woken])
        order = np.lexsort((np.arange(len(time)), time))
        sign = np.concatenate([-np.ones(len(stop), np.int64), np.ones(len(woken), np.int64)])
        level = np.cumsum(sign[order])
        own = np.cumsum((sign * np.concatenate([is_own, is_own]))[order])
        time = time[order]
        alone = (level == 1) & (own == 1)
        length = np.append(np.diff(time), 0)
        # A slice that follows at once continues the stretch: what lasts for no time does not end it.
        lasting = length > 0
        alone, length = alone[lasting], length[lasting]
        if not alone.any():
            return 0
        begins = np.flatnonzero(np.concatenate([[True], alone[1:] != alone[:-1]]))
        return int(np.where(alone[begins], np.add.reduceat(length, begins), 0).max())

    def carriers(self) -> tuple[int, int]:
        """Return how many carriers there were, and in how many parks a virtual thread kept one."""
        count = self._row("SELECT COUNT(*) FROM thread WHERE kind = 'carrier'")
        pinned = (0,)
        if "block" in self.recording.manifest.tables:
            pinned = self._row("SELECT COUNT(*) FROM block WHERE is_virtual AND is_pinned")
        return int(count[0]), int(pinned[0])

    def _row(self, text: str) -> Any:
        return self.recording.query(text).fetchall()[
            0
        ]  # all of it: a result that is not at its end holds the connection
