"""Divides counts: which part of a slice falls to which thread, kind, CPU, phase, lock, region or iteration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.common.columns import places_of
from headway.analyses.common.intervals import NOTHING, Measure, Spans
from headway.analyses.counters.parts.lock_holds import LockHolds
from headway.analyses.counters.parts.mounts import Mounts
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.counters.parts.slices import Slices
    from headway.analyses.counters.parts.time_windows import TimeWindows
    from headway.store import Recording

    Ints = NDArray[np.int64]

_WHOLE = ("thread", "kind", "cpu")
"""Divided by these, each slice is in one row as a whole, unless virtual threads are told from their carriers."""
PHASES = ("program", "gc_pause", "startup", "shutdown")
"""What a thread's time is divided into; what is in several of the last three belongs to the first of them."""


class Division:
    """What the slices are divided by: the keys of the rows, and which slice falls to which of them."""

    def __init__(
        self,
        recording: Recording,
        by: str,
        begin_ns: int,
        end_ns: int,
        windows: TimeWindows | None = None,
        *,
        with_virtual: bool = False,
    ) -> None:
        """Read the threads of a recording, and phases or holds of a window (CLOCK_MONOTONIC ns) where it is divided by them.

        `windows`: the regions or iterations that it is divided by. `with_virtual`: by thread, virtual ones are told from their
        carriers, where their mounts are known. Raises HeadwayError HW430 where it is divided by locks of which none are recorded.
        """
        self._by, self._begin_ns, self._end_ns, self._windows = by, begin_ns, end_ns, windows
        self._path = recording.path
        rows = recording.query("SELECT thread_id, pid, tid, name, kind FROM thread ORDER BY thread_id").fetchall()
        largest = int(recording.query("SELECT COALESCE(MAX(thread_id), -1) FROM slice").fetchone()[0])  # type: ignore[index]
        self.threads = recording.places_of_threads(len(rows), max(largest, len(rows) - 1))
        self._pid = np.full(self.threads, -1, np.int64)
        self._kind = np.full(self.threads, -1, np.int64)
        self._kinds = sorted({kind for *_, kind in rows} - {"headway"})
        for thread_id, pid, _, _, kind in rows:
            self._pid[thread_id] = pid
            self._kind[thread_id] = -1 if kind == "headway" else self._kinds.index(kind)
        self._of_program = [number for number, kind in enumerate(self._kinds) if kind in PROGRAM]
        self._phases: dict[int, list[Measure]] = {}
        self._lock_holds = LockHolds(recording, begin_ns, end_ns) if by == "lock" else None
        self._mounts = Mounts(recording, begin_ns, end_ns) if by == "thread" and with_virtual else None
        self.keys: list[Mapping[str, str | int]] = self._row_keys(recording, rows)

    @property
    def unassigned_ns(self) -> NDArray[np.float64]:
        """Return for how long each lock was held by threads whose slices are not known; zeros where rows are no locks."""
        if self._lock_holds is not None:
            return self._lock_holds.unassigned_ns
        return np.zeros(len(self.keys))

    @property
    def is_whole(self) -> bool:
        """Return whether each slice is in one row as a whole, but for the borders of the window."""
        return self._by in _WHOLE and not self._mounts

    def _row_keys(self, recording: Recording, rows: Sequence[tuple[Any, ...]]) -> list[Mapping[str, str | int]]:
        if self._windows is not None:
            return self._windows.keys
        if self._lock_holds is not None:
            return self._lock_holds.keys
        if self._by == "thread":
            empty: dict[str, str | int] = {"pid": -1, "tid": -1, "name": "", "kind": ""}
            keys: list[Mapping[str, str | int]] = [empty] * self.threads
            for thread_id, pid, tid, name, kind in rows:
                keys[thread_id] = {"pid": pid, "tid": tid, "name": name, "kind": kind}
            return [*keys, *(self._mounts.keys if self._mounts is not None else [])]
        if self._by == "kind":
            return [{"kind": kind} for kind in self._kinds]
        if self._by == "phase":
            self._phases = phases(recording, self._begin_ns, self._end_ns)
            return [{"phase": phase} for phase in PHASES]
        cpus = recording.query("SELECT COALESCE(MAX(cpu), -1) FROM slice").fetchone()
        return [{"cpu": cpu} for cpu in range(int(cpus[0]) + 1)] if cpus else []

    def inside(self, each: Slices) -> Ints:
        """Return how much of each slice lies in the window, ns."""
        start, end = each.start_ns, each.start_ns + each.running_ns
        length: Ints = np.minimum(end, self._end_ns) - np.maximum(start, self._begin_ns)
        return length

    def app(self, thread_id: Ints) -> Ints:
        """Return ids of threads with -1 in place of those that do not run the program's own code (GC, JIT, headway)."""
        app = self._kinds.index("app") if "app" in self._kinds else -2
        return np.where(self._kind[thread_id] == app, thread_id, -1)

    def counted(self, thread_id: Ints) -> Ints:
        """Return ids of threads with -1 in place of those of headway's own threads, whose counts are left out."""
        return np.where(self._kind[thread_id] >= 0, thread_id, -1)

    def parts(self, each: Slices) -> list[tuple[Slices, Ints, Ints]]:
        """Divide slices among the rows: return each with a row and how much of it falls to that, ns, maybe for several rows."""
        kinds = self._kind[each.thread_id]
        if self._windows is not None:
            return self._window_parts(self._windows, each, kinds)
        if self._lock_holds is not None:
            return [self._lock_holds.parts(each, kinds >= 0)]
        if self._by == "phase":
            return [(each, *part) for part in self._phase_parts(each, kinds)]
        if self._mounts:
            return [self._of_thread(*part) for part in self._mounts.parts(each, kinds >= 0, self.inside(each))]
        key = {"thread": each.thread_id, "kind": kinds, "cpu": each.cpu}[self._by]
        return [(each, np.where(kinds >= 0, key, -1), self.inside(each))]

    def _of_thread(self, each: Slices, virtual: Ints, inside_ns: Ints) -> tuple[Slices, Ints, Ints]:
        """Return parts of slices with their rows: of the virtual threads, which come behind all others, or of their own."""
        return each, np.where(virtual >= 0, self.threads + virtual, each.thread_id), inside_ns

    def _window_parts(self, windows: TimeWindows, each: Slices, kinds: Ints) -> list[tuple[Slices, Ints, Ints]]:
        is_program = np.isin(kinds, self._of_program)
        parts = [windows.parts(each, is_program if windows.of_program else kinds >= 0, self._path)]
        if windows.has_others:
            others = np.where((kinds >= 0) & ~is_program, len(windows.keys) - 1, -1)
            parts.append((each, others, self.inside(each)))
        return parts

    def _phase_parts(self, each: Slices, kinds: Ints) -> list[tuple[Ints, Ints]]:
        rows = places_of(self._pid[each.thread_id])
        parts = []
        for number in range(len(PHASES)):
            inside = np.zeros(len(kinds), np.int64)
            for pid, of_process in rows:
                measure = self._phases.get(pid, self._phases[-1])[number]
                start = each.start_ns[of_process]
                inside[of_process] = measure.until(start + each.running_ns[of_process]) - measure.until(start)
            parts.append((np.where(kinds >= 0, number, -1), inside))
        return parts


def phases(recording: Recording, begin_ns: int, end_ns: int) -> dict[int, list[Measure]]:
    """Return per process the time of each of PHASES in a window, as measures; -1 has those of processes without any."""
    whole = Spans.single(begin_ns, end_ns) if end_ns > begin_ns else NOTHING
    rows: dict[int, dict[str, list[tuple[int, int]]]] = {}
    found: list[tuple[Any, ...]] = recording.query("SELECT pid, kind, start_ns, dur_ns FROM jvm_phase").fetchall()
    for pid, kind, start, length in found:
        if kind in PHASES:
            rows.setdefault(pid, {}).setdefault(kind, []).append((start, start + length))
    by_pid = {-1: [Measure.length(whole), *(Measure.length(NOTHING) for _ in PHASES[1:])]}
    for pid, kinds in rows.items():
        left, measures = whole, []
        for kind in PHASES[1:]:
            both = np.array(kinds.get(kind, []), np.int64).reshape(-1, 2)
            of_kind = Spans.of(both[:, 0], both[:, 1]) & left
            left = left - of_kind
            measures.append(Measure.length(of_kind))
        by_pid[pid] = [Measure.length(left), *measures]
    return by_pid
