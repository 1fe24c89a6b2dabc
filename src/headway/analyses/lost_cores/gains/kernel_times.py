"""How long threads ran, slept and did I/O within a window, from scheduling slices: inputs of bounds.

Method     running time is what the account counts as used: without what the host stole, which is spread evenly over its running
           interval. Sleeps and I/O of threads are read once for the whole span; windows in it only cut them.
Wrong when what a thread did was recorded without its system calls: then it did neither.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import IO, SLEEP
from headway.analyses.common.intervals import Spans
from headway.analyses.lost_cores.code import IN_IO, in_sleep
from headway.analyses.waits.tables.blocks import whole
from headway.store.sql import woken_ns

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

_AMONG = "thread_id IN (SELECT UNNEST($1::BIGINT[]))"
"""Is a slice of one of some threads. A list of them in the text would take longer to read than the slices."""


class KernelTimes:
    """Looks times up in the slices of one recording, within a span (ns from its start)."""

    def __init__(self, recording: Recording, span: tuple[int, int]) -> None:
        """Take the recording; data is loaded on first use."""
        self.recording = recording
        self.span = span
        self._ran: dict[tuple[int, int], dict[int, int | None]] = {}
        self._calls: dict[tuple[str, int], tuple[Ints, Ints]] = {}
        self._read: set[int] = set()

    def ran(self, threads: Collection[int], window: tuple[int, int]) -> Mapping[int, int]:
        """Return how long threads ran within a window; all slices are read for those that were not asked about before."""
        known = self._ran.setdefault(window, {})
        if missing := set(threads) - known.keys():
            known |= {**dict.fromkeys(missing), **self._look(missing, window)}
        return {thread: ns for thread in threads if (ns := known[thread]) is not None}

    def _look(self, threads: Collection[int], window: tuple[int, int]) -> dict[int, int]:
        if not self.recording.has("slice"):
            return {}
        low, high = self._monotonic_ns(window)
        inside = f"LEAST(start_ns + running_ns, {high}) - GREATEST(start_ns, {low})"
        # A slice may be shorter than the clock tells: it ran for 0 ns, and 0 / 0 is NaN to DuckDB, not NULL.
        rows = self.recording.query(
            f"SELECT thread_id, SUM(({inside}) * (1 - COALESCE(stolen_ns, 0) / running_ns)) FROM slice"
            f" WHERE running_ns > 0 AND {_AMONG}"
            f" AND start_ns < {high} AND start_ns + running_ns > {low} GROUP BY 1",
            (sorted(threads),),
        ).fetchall()
        return {thread: round(ns) for thread, ns in rows}

    def active(self, threads: Collection[int], window: tuple[int, int]) -> Mapping[int, tuple[int, int]]:
        """Return how long threads ran, and how long they ran or were ready to run, within a window."""
        if not threads or not self.recording.has("slice"):
            return {}
        low, high = self._monotonic_ns(window)
        ready, end = woken_ns(), "start_ns + running_ns"
        rows = self.recording.query(
            f"SELECT thread_id, SUM(GREATEST(LEAST({end}, {high}) - GREATEST(start_ns, {low}), 0)),"
            f" SUM(LEAST({end}, {high}) - GREATEST({ready}, {low})) FROM slice"
            f" WHERE {_AMONG} AND {ready} < {high} AND {end} > {low} GROUP BY 1",
            (sorted(threads),),
        ).fetchall()
        return {thread: (int(ran), int(active)) for thread, ran, active in rows}

    def _monotonic_ns(self, window: tuple[int, int]) -> tuple[int, int]:
        origin = self.recording.window_ns[0]
        return origin + window[0], origin + window[1]

    def jvm_ran(self, pid: int, window: tuple[int, int]) -> int:
        """Return how long all threads of a process ran within a window."""
        if window[0] >= window[1]:
            return 0
        found = self.recording.query("SELECT thread_id FROM thread WHERE pid = $1", (pid,)).fetchall()
        return sum(self.ran({thread for (thread,) in found}, window).values())

    def in_calls(self, cause: str, threads: Collection[int], window: tuple[int, int]) -> int:
        """Return how long at least one of some threads slept or did I/O (`cause`) within a window."""
        _, start, end = self.calls(cause, threads)
        return Spans.of(np.maximum(start, window[0]), np.minimum(end, window[1])).total

    def calls(self, cause: str, threads: Collection[int]) -> tuple[Ints, Ints, Ints]:
        """Return the sleeps or I/O of some threads within the span: thread, start, end."""
        self._read_calls(set(threads) - self._read)
        found = [(thread, *self._calls[cause, thread]) for thread in threads if (cause, thread) in self._calls]
        if not found:
            return (np.zeros(0, np.int64),) * 3
        thread = np.concatenate([np.full(len(start), one) for one, start, _ in found])
        start, end = (np.concatenate([each[side] for each in found]) for side in (1, 2))
        return thread, start, end

    @cached_property
    def _in_sleep(self) -> str:
        return in_sleep(self.recording)

    def _read_calls(self, threads: set[int]) -> None:
        self._read |= threads
        if not threads or not self.recording.has("slice"):
            return
        woken = f"{woken_ns('s.')} - {self.recording.window_ns[0]}"
        asleep = self._in_sleep
        found = self.recording.query(
            f"SELECT CAST(s.thread_id AS BIGINT) * 2 + {asleep}::INT AS who, {woken} AS until, s.blocked_ns FROM slice s"
            f" WHERE {_AMONG} AND ({asleep} OR {IN_IO}) AND s.blocked_ns > 0"
            f" AND {woken} > {self.span[0]} AND {woken} - s.blocked_ns < {self.span[1]} ORDER BY who",
            (sorted(threads),),
        ).fetchnumpy()
        who, until, blocked = (whole(found[name]) for name in ("who", "until", "blocked_ns"))
        first = np.flatnonzero(np.diff(who, prepend=-1))
        last = np.append(first[1:], len(who))[: len(first)]
        for one, a, b in zip(who[first].tolist(), first.tolist(), last.tolist(), strict=True):
            self._calls[SLEEP if one % 2 else IO, one // 2] = until[a:b] - blocked[a:b], until[a:b]
