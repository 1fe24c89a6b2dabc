"""What does waiting for a lock cost: cores that stood idle meanwhile, and how much faster could the program be at best?

Lost cores  While W threads of the program waited in contention and I of its cores were idle, min(W, I) more threads could have
            run. lost_core_ns of a lock is its waiters' part of that, integrated over time: sum over its blocks of the
            integral of min(1, I/W), so simultaneous waits share the idle cores in proportion to their waiters. I is the
            number of recorded cores, less the program's threads on CPUs, less what other processes and the recorder took
            (as `headway why` has it: spread evenly over each gap of a CPU; over the recording, where no gaps are known), and
            0 in GC pauses: nobody could have run in them. A thread on a CPU that the host has taken away counts as
            running, so stolen time is not idle.
Bound       that of `headway why`, by the same function (why_bounds): R, with at least one thread waiting, is its time D.
Assumes     the same work in any order; no timer that is just missed because of the wait (a delay of 1 ms that costs the next
            train can cost more than itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses import why_beside, why_ground
from headway.analyses.activity import has_scheduling
from headway.analyses.lock_arrays import distinct
from headway.analyses.lock_states import pauses

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.analyses.lock_data import LockData
    from headway.analyses.why_bounds import Ground
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Curve:
    """A function of time that grows in straight lines: values at increasing times."""

    time: Ints
    value: Floats

    def between(self, start: Ints, end: Ints) -> Floats:
        """Return how much it grows in each span."""
        grown: Floats = np.interp(end, self.time, self.value) - np.interp(start, self.time, self.value)
        return grown


@dataclass(frozen=True, eq=False)
class Cores:
    """The program's use of its cores: steps at `time`, each until the next one (the last is the window's end)."""

    time: Ints
    running: Ints
    runnable: Ints
    idle: Floats
    cores: int

    def integral(self, value: Floats | Ints) -> Curve:
        """Return the integral of a step function, from the begin of the window on."""
        grown = np.cumsum(value[:-1] * np.diff(self.time))
        return Curve(self.time, np.concatenate([[0.0], grown]))


@dataclass(frozen=True, eq=False)
class Cost:
    """Core-ns lost while cores were idle, per group; and what bounds of the speedup stand on."""

    lost_core_ns: Floats
    ground: Ground


def cost(data: LockData, group: Ints, contended: NDArray[np.bool_], groups: int) -> Cost | None:
    """Tell what each group of blocks cost. `contended` says which blocks are contention; others cost nothing.

    None where the mode recorded no scheduling or the number of cores is not known.
    """
    cores = use_of_cores(data, contended)
    ground = why_ground.of_waits(data.recording, data.window)
    if cores is None or ground is None:
        return None
    blocks = data.blocks
    start, end = blocks.start[contended], blocks.end[contended]
    waiting = _level(cores.time, start, end)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = np.where(waiting > 0, np.minimum(1.0, cores.idle / waiting), 0.0)
    lost = np.bincount(group[contended], weights=cores.integral(rate).between(start, end), minlength=groups)
    return Cost(np.maximum(lost, 0.0), ground)


def use_of_cores(data: LockData, contended: NDArray[np.bool_]) -> Cores | None:
    """Sweep over the states of the program's threads, once, with an edge also wherever a block begins or ends."""
    recording, (low, high) = data.recording, data.window
    count = recording.manifest.recorded_cores
    if not has_scheduling(recording) or not count:
        return None
    origin = recording.window_ns[0]
    rows = recording.query(
        "SELECT s.start_ns, coalesce(s.runnable_ns, 0) AS runnable_ns, s.running_ns FROM slice s"
        " JOIN thread t ON t.thread_id = s.thread_id WHERE t.kind <> 'headway' AND s.start_ns + s.running_ns > $1"
        " AND s.start_ns - coalesce(s.runnable_ns, 0) < $2",
        (origin + low, origin + high),
    ).fetchnumpy()
    column = {name: np.asarray(values).astype(np.int64) for name, values in rows.items()}
    begin = column["start_ns"] - origin
    woken, end = begin - column["runnable_ns"], begin + column["running_ns"]
    gc = [part for each in pauses(recording).values() for part in (each.start, each.end)]
    since, until, took = _others(recording, (origin + low, origin + high))
    since, until = np.clip(since - origin, low, high), np.clip(until - origin, low, high)
    edges = [woken, begin, end, since, until, data.blocks.start[contended], data.blocks.end[contended], *gc]
    time = distinct(np.clip(np.concatenate([*edges, np.array([low, high])]), low, high))
    running, runnable = _level(time, begin, end), _level(time, woken, begin)
    idle = np.maximum(count - running - _sum_of(time, since, until, took), 0.0)
    for each in pauses(recording).values():
        idle[_level(time, each.start, each.end) > 0] = 0.0
    return Cores(time, running, runnable, idle, count)


def _level(time: Ints, start: Ints, end: Ints) -> Ints:
    """Return how many of the spans are open at (and right after) each time."""
    begun = np.searchsorted(np.sort(start), time, side="right")
    ended = np.searchsorted(np.sort(end), time, side="right")
    return (begun - ended).astype(np.int64)


def _others(recording: Recording, window: tuple[int, int]) -> tuple[Ints, Ints, Floats]:
    """Return spans with the cores that other processes and the recorder had in them: from, to (CLOCK_MONOTONIC), cores."""
    of = why_beside.others(recording, window)
    if of.known_by == "none":
        average = sum(recording.manifest.other_ns.values()) / max(recording.wall_ns, 1)
        return np.array(window[:1]), np.array(window[1:]), np.array([average])
    start, end = of.columns["start_ns"], of.columns["end_ns"]
    return start, end, of.columns["other_ns"] / np.maximum(end - start, 1)


def _sum_of(time: Ints, start: Ints, end: Ints, value: Floats) -> Floats:
    """Return the sum of the values of the spans that are open at (and right after) each time; spans begin and end at such."""
    change = np.zeros(len(time) + 1)
    np.add.at(change, np.searchsorted(time, start), value)
    np.subtract.at(change, np.searchsorted(time, end), value)
    return np.cumsum(change[:-1])
