"""What takes CPUs from the program: pauses of its JVM, a CPU quota, lost records, other processes and headway itself.

Columns as the native account wants them (native/lost_cores/changes.h). Times are CLOCK_MONOTONIC ns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headway.analyses.scheduling import activity
from headway.analyses.scheduling.activity import wall_ns

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Columns = dict[str, NDArray[Any]]

LOST, GC_PAUSE, STARTUP, SHUTDOWN, THROTTLED, SAFEPOINT = range(6)
"""SpanCode of native/lost_cores/changes.h."""

_CODES = {"gc_pause": GC_PAUSE, "safepoint": SAFEPOINT, "startup": STARTUP, "shutdown": SHUTDOWN}
_AT_ONCE_NS = 25_000_000
"""CPUs of which one reading after the other tells that they were let go within this time were let go together."""


@dataclass(frozen=True, eq=False)
class OtherProcessesTime:
    """CPU time of other processes and of the recorder; `known_by` says from what: gaps, counter or none."""

    columns: Columns
    known_by: str

    def took_ns(self, begin_ns: int, end_ns: int, *, recorder: bool) -> float:
        """Return their CPU time from `begin_ns` to `end_ns`; amounts that reach beyond the span are spread evenly."""
        of = self.columns
        start, until = of["start_ns"], of["end_ns"]
        inside = np.maximum(np.minimum(until, end_ns) - np.maximum(start, begin_ns), 0) / np.maximum(until - start, 1)
        other = of["other_ns"] if recorder else of["other_ns"] - of["headway_ns"]
        return float((inside * other).sum())


def spans(recording: Recording, cpus: int) -> Columns:
    """Return the spans that speak for idle cores, and those in which the program's CPU quota was used up; `pid`: whose, or -1."""
    phases = recording.query("SELECT pid, start_ns, dur_ns, kind FROM jvm_phase WHERE dur_ns > 0").fetchall()
    phases = [each for each in phases if each[3] in _CODES]
    alive = _alive(_lives(recording), [each[0] for each in phases], [each[1] for each in phases])
    rows: list[tuple[int, int, int, float, int]] = [
        (start, start + dur, _CODES[kind], 1 / each, pid)
        for (pid, start, dur, kind), each in zip(phases, alive, strict=True)
    ]
    for cpu, start, dur in recording.query("SELECT cpu, start_ns, dur_ns FROM loss WHERE source = 'sched'").fetchall():
        rows.append((start, start + dur, LOST, 1 / max(cpus, 1) if cpu >= 0 else 1.0, -1))
    rows += [(start, end, THROTTLED, 1.0, -1) for start, end in _throttled(recording, cpus)]
    start, end, code, weight, pid = zip(*rows, strict=True) if rows else ((), (), (), (), ())
    return {
        "start_ns": np.array(start, np.int64),
        "end_ns": np.array(end, np.int64),
        "code": np.array(code, np.uint8),
        "weight": np.array(weight, np.float64),
        "pid": np.array(pid, np.int64),
    }


def _lives(recording: Recording) -> dict[int, tuple[int, int]]:
    """Return from when to when each JVM lived, by its threads."""
    rows = recording.query(
        "SELECT pid, MIN(start_ns), MAX(COALESCE(end_ns, 9223372036854775807)) FROM thread WHERE pid IN"
        " (SELECT pid FROM jvm UNION SELECT pid FROM jvm_phase) GROUP BY pid"
    ).fetchall()
    return {pid: (start, end) for pid, start, end in rows}


def _alive(lives: dict[int, tuple[int, int]], pids: Sequence[int], times_ns: Sequence[int]) -> list[int]:
    """Return how many JVMs lived at each time, that of each pid included: one that stands still is no reason for the others."""
    starts, ends = (np.sort([each[place] for each in lives.values() if each[0] < each[1]]) for place in (0, 1))
    found = np.searchsorted(starts, times_ns, "right") - np.searchsorted(ends, times_ns, "right")
    for place, (pid, ns) in enumerate(zip(pids, times_ns, strict=True)):
        start, end = lives.get(pid, (ns, ns + 1))
        found[place] += not start <= ns < end
    return [max(each, 1) for each in found.tolist()]


def _counter(recording: Recording, event: str) -> tuple[Ints, Ints, Ints]:
    """Return readings of a counter in order: ns, CPU, value."""
    found = recording.query("SELECT ns, cpu, value FROM counter WHERE event = $1 ORDER BY ns", (event,)).fetchnumpy()
    ns, cpu, value = (np.asarray(found[name], dtype=np.int64) for name in ("ns", "cpu", "value"))
    return ns, cpu, value


def _throttled(recording: Recording, cpus: int) -> list[tuple[int, int]]:
    """Return when the cgroup was throttled. The kernel adds a stretch to its counter when that is over, once per CPU with
    threads kept off: so a reading that grew tells of a stretch as long as the growth of one CPU that ended since the reading
    before. Returned is all that it may have taken in: while threads run, that they may have been throttled does not matter.
    """
    ns, _, value = _counter(recording, "cgroup_throttled")
    grew = np.flatnonzero(np.diff(value) > 0)
    if not len(grew):
        return []
    end, growth = ns[grew + 1], np.diff(value)[grew]
    # CPUs go on one after another: a reading in between tells of a part of them only.
    is_first = np.concatenate([[True], (ns[grew[1:]] > end[:-1]) | (np.diff(end) > _AT_ONCE_NS)])
    first = np.flatnonzero(is_first)
    last = np.append(first[1:] - 1, len(end) - 1)
    end, length = end[last], np.add.reduceat(growth, first) / _kept_off(recording, cpus)
    before = np.concatenate([ns[:1], end[:-1]])
    start = np.maximum(ns[grew[first]] - length.astype(np.int64), before)
    return list(zip(start.tolist(), end.tolist(), strict=True))


def _kept_off(recording: Recording, cpus: int) -> float:
    """Return on how many CPUs threads were ready while any was, on average: at least one, at most all."""
    counts = activity.load(recording)
    ready = np.minimum((counts.active - counts.running).sum(axis=1), max(cpus, 1))
    time = np.where(ready > 0, counts.dur_ns, 0)
    return max(1.0, float((ready * time).sum() / time.sum())) if time.any() else 1.0


def others(recording: Recording, window: tuple[int, int]) -> OtherProcessesTime:
    """Return the CPU time of other processes on the program's CPUs, with the recorder's share of it."""
    cpus = recording.manifest.affinity
    gaps = _gaps(recording, cpus, window)
    if gaps is not None:
        start, end, other = gaps
        return OtherProcessesTime(_columns(start, end, other, _recorder_part(recording, start, end, other)), "gaps")
    between = _from_counter(recording, cpus)
    if between is None:
        none = np.zeros(0, np.int64)
        return OtherProcessesTime(_columns(none, none, none, none), "none")
    start, end, other = between
    return OtherProcessesTime(_columns(start, end, other, _recorder_part(recording, start, end, other)), "counter")


def _columns(start: Ints, end: Ints, other: Ints, headway: Ints) -> Columns:
    columns = {"start_ns": start, "end_ns": end, "other_ns": other, "headway_ns": headway}
    return {name: np.ascontiguousarray(values, np.int64) for name, values in columns.items()}


def _gaps(recording: Recording, cpus: tuple[int, ...], window: tuple[int, int]) -> tuple[Ints, Ints, Ints] | None:
    if "cpu_gap" not in recording.manifest.tables:
        return None
    of = f" AND cpu IN ({', '.join(map(str, cpus))})" if cpus else ""
    found = recording.query(
        f"SELECT start_ns, dur_ns, other_ns FROM cpu_gap WHERE start_ns < $2 AND start_ns + dur_ns > $1{of}", window
    ).fetchnumpy()
    start, dur, other = (np.asarray(found[name], dtype=np.int64) for name in ("start_ns", "dur_ns", "other_ns"))
    return start, start + dur, np.minimum(other, dur)


def _from_counter(recording: Recording, cpus: tuple[int, ...]) -> tuple[Ints, Ints, Ints] | None:
    """Return, between readings of the CPUs' clocks, what they did for others, with what the host took from those."""
    busy, stolen = (_sums(recording, event, cpus) for event in ("cpu_busy", "cpu_steal"))
    times = np.intersect1d(busy[0], stolen[0])
    if len(times) < 2:
        return None
    both = [sums[np.searchsorted(ns, times)] for ns, sums in (busy, stolen)]
    worked = np.diff(both[0] + both[1])
    return times[:-1], times[1:], np.maximum(worked - _ran(recording, times), 0)


def _sums(recording: Recording, event: str, cpus: tuple[int, ...]) -> tuple[Ints, Ints]:
    """Return when a counter was read, and its sum over the CPUs; a reading that lacks one can't be compared with the next."""
    ns, cpu, value = _counter(recording, event)
    wanted = np.isin(cpu, cpus) if cpus else np.ones(len(cpu), bool)
    times, at = np.unique(ns[wanted], return_inverse=True)
    counts, sums = np.bincount(at, minlength=len(times)), np.zeros(len(times), np.int64)
    np.add.at(sums, at, value[wanted])
    whole = counts == counts.max(initial=0)
    return times[whole], sums[whole]


def _ran(recording: Recording, times: Ints) -> Ints:
    """Return how long the program had CPUs between each two times; as exactly as the bins of the table `activity` tell, and
    without headway's threads in it.
    """
    origin, length = recording.window_ns[0], wall_ns(recording)
    counts = activity.load(recording)
    starts, at = np.unique(counts.bin_start_ns, return_inverse=True)
    ran = np.bincount(at, weights=counts.on_cpu * counts.dur_ns, minlength=len(starts))
    so_far = np.concatenate([[0], np.cumsum(ran)])
    between: Ints = np.diff(np.interp(times - origin, np.append(starts, length), so_far)).astype(np.int64)
    return between


def _recorder_part(recording: Recording, start: Ints, end: Ints, other: Ints) -> Ints:
    """Return which part of others' time was headway's: between two readings of its CPU clock, the same part everywhere."""
    ns, _, value = _counter(recording, "recorder_cpu")
    if len(ns) < 2 or not len(start):
        return np.zeros(len(start), np.int64)
    middle = start + (end - start) // 2
    reading = np.clip(np.searchsorted(ns, middle, side="right") - 1, 0, len(ns) - 2)
    total = np.bincount(reading, weights=other, minlength=len(ns) - 1)
    used = np.diff(value + _agents_ran(recording, ns))
    part = np.divide(used, total, out=np.zeros_like(used), where=total > 0)
    recorder: Ints = np.minimum(other * np.clip(part, 0, 1)[reading], other).astype(np.int64)
    return recorder


def _agents_ran(recording: Recording, ns: Ints) -> NDArray[np.float64]:
    """Return how long headway's threads inside the JVMs had run by each time: they have no slices, so it is taken evenly over
    their lives, as far as the recording reaches.
    """
    lives = recording.query(
        "SELECT GREATEST(start_ns, $1), LEAST(COALESCE(end_ns, $2), $2), exec_ns FROM thread"
        " WHERE kind = 'headway' AND exec_ns > 0",
        recording.window_ns,
    ).fetchall()
    ran = np.zeros(len(ns), np.float64)
    for start, end, exec_ns in lives:
        ran += np.interp(ns, (start, max(end, start + 1)), (0, exec_ns))
    return ran
