"""The cost of waiting for a lock: cores idle meanwhile, and an upper bound of the speedup without the waits.

Lost cores  While W threads of the program waited in contention and I of its cores were idle, min(W, I) more threads could have
            run. lost_core_ns of a lock is its waiters' part of that, integrated over time: sum over its blocks of the
            integral of min(1, I/W), so simultaneous waits share the idle cores in proportion to their waiters. I is the
            number of recorded cores, less the program's threads on CPUs, less what other processes and the recorder took
            (as `headway why` has it: spread evenly over each gap of a CPU; over the recording, where no gaps are known),
            less the application's threads that are ready: a core that is idle beside these is idle for want of a switch, not
            of a lock. In a pause, start or end of one of n JVMs that live, 1/n of it belongs to that, and what lost records
            speak for belongs to nothing that is known: all as `headway why` divides the idle cores. A thread on a CPU that the
            host has taken away counts as running, so stolen time is not idle.
Bound       that of `headway why`, by the same function (gains.bounds there): R, with at least one thread waiting, is its time D.
Assumes     the same work in any order; no timer that is just missed because of the wait (a delay of 1 ms that costs the next
            train can cost more than itself).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct
from headway.analyses.lost_cores.gains import bound_inputs, slow_side
from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
from headway.analyses.scheduling import other_processes
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.scheduling.available_cores import known_cpus
from headway.analyses.scheduling.slice_chunks import slice_chunks
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.wait_causes import CAUSE_OF_RULE, other_side
from headway.model import Kind
from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.gains.bounds import BoundInputs
    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


_STOPS = (other_processes.GC_PAUSE, other_processes.SAFEPOINT, other_processes.STARTUP, other_processes.SHUTDOWN)
"""Phases of a JVM in which the program's own threads could not have run."""


@dataclass(frozen=True, eq=False)
class Cost:
    """Lost core time in ns per group, and the inputs of the bounds of speedups."""

    lost_core_ns: Floats
    inputs: BoundInputs


def cost(data: LockData, group: Ints, contended: NDArray[np.bool_], groups: int) -> Cost | None:
    """Compute the cost of each group of blocks. `contended` selects contention; other blocks cost nothing.

    None where the mode recorded no scheduling or the number of cores is not known.
    """
    count = data.recording.manifest.recorded_cores
    inputs = bound_inputs.of_waits(data.recording, data.window)
    if not has_scheduling(data.recording) or not count or inputs is None:
        return None
    blocks = data.blocks
    grown = _lost_by_block(data, blocks.start[contended], blocks.end[contended], count)
    lost = np.bincount(group[contended], weights=grown, minlength=groups)
    return Cost(np.maximum(lost, 0.0), inputs)


def slow_sides(data: LockData, sites: Sites, group: Ints) -> Mapping[tuple[int, str], int | None]:
    """Return by group of blocks on queues and cause of these how long the threads ran that they waited for; None where all work
    may be theirs.
    """
    causes = [CAUSE_OF_RULE.get(rule.id) for rule in RULES]
    found: dict[tuple[int, str], int | None] = {}
    waits = {}
    for cause in slow_side.SLOW:
        rows = np.flatnonzero(np.isin(sites.rule, [number for number, each in enumerate(causes) if each == cause]))
        target = other_side(data, rows)
        waits[cause] = group[rows], np.where(target == data.blocks.thread[rows], -1, target)
    times = KernelTimes(data.recording, data.window)
    slow_side.read(times, [target for _, target in waits.values()], data.platform_threads, data.window)
    for cause, (groups, target) in waits.items():
        of_cause = slow_side.work_ns(times, groups, target, data.platform_threads, data.window)
        found |= {(one, cause): ns for one, ns in of_cause.items()}
    return found


def _lost_by_block(data: LockData, start: Ints, end: Ints, cores: int) -> Floats:
    """Return how much core time stood idle for each contended block: waiting threads share idle cores, one each at most.

    From the window's end backwards, with the slices of one stretch of time in memory: `later` adds up min(1, idle cores / waiting
    threads) from a time to the window's end, and a block has what that is more at its start than at its end.
    """
    recording, (low, high) = data.recording, data.window
    origin = recording.window_ns[0]
    is_ours, is_app = _is_of(recording, set(Kind) - {Kind.HEADWAY}), _is_of(recording, PROGRAM)
    edges = (_Edges.of(np.clip(start, low, high)), _Edges.of(np.clip(end, low, high)))
    claims = _Claims.of(recording, (origin + low, origin + high))
    found, later = np.zeros(len(start)), 0.0
    for chunk in slice_chunks(recording, (low, high)):
        since, until = chunk.since, chunk.until
        inside = [each.between(since, until) for each in edges]
        if not any(len(each) for each in inside) and not _waiting(edges, np.array([since]))[0]:
            continue
        slices = chunk.where(is_ours[np.clip(chunk.thread, -1, len(is_ours) - 1)])
        ready = slices.where(is_app[np.clip(slices.thread, -1, len(is_app) - 1)] & (slices.woken < slices.start))
        times = [slices.start, slices.end, ready.woken, ready.start, *claims.changes(since, until), *inside]
        time = distinct(np.clip(np.concatenate([*times, np.array([since, until])]), since, until))
        room = cores - _level(time, slices.start, slices.end)
        idle = claims.idle(time, room, _level(time, ready.woken, ready.start))
        waiting = _waiting(edges, time)
        rate = np.where(waiting > 0, np.minimum(1.0, idle / np.maximum(waiting, 1)), 0.0)
        after = np.concatenate([[later], later + np.cumsum((rate[:-1] * np.diff(time))[::-1])])[::-1]
        for sign, of, part in zip((1, -1), edges, inside, strict=True):
            found[of.rows(since, until)] += sign * after[np.searchsorted(time, part)]
        later = float(after[0])
    return found


@dataclass(frozen=True, eq=False)
class _Edges:
    """Begins, or ends, of blocks in order of time; `order`: the block of each."""

    time: Ints
    order: Ints

    @classmethod
    def of(cls, time: Ints) -> _Edges:
        """Sort the starts, or ends, of blocks by time."""
        order = np.argsort(time, kind="stable")
        return cls(time[order], order)

    def _places(self, since: int, until: int) -> slice:
        first, last = np.searchsorted(self.time, [since, until]).tolist()
        return slice(first, last)

    def between(self, since: int, until: int) -> Ints:
        """Return the times from `since` on, before `until`. (At the window's end nothing is lost any more.)"""
        return self.time[self._places(since, until)]

    def rows(self, since: int, until: int) -> Ints:
        """Return the blocks of the same ones."""
        return self.order[self._places(since, until)]


def _waiting(edges: tuple[_Edges, _Edges], time: Ints) -> Ints:
    """Return how many blocks are open at (and right after) each time."""
    begun, ended = (np.searchsorted(each.time, time, side="right") for each in edges)
    return (begun - ended).astype(np.int64)


def _is_of(recording: Recording, kinds: Collection[str]) -> NDArray[np.bool_]:
    """Return by thread_id whether a thread is of some kinds; the last one stands for ids that are in no table."""
    rows = recording.query("SELECT thread_id, kind FROM thread WHERE thread_id >= 0").fetchall()
    found = np.zeros(max((thread for thread, _ in rows), default=-1) + 2, dtype=bool)
    found[[thread for thread, kind in rows if kind in kinds]] = True
    return found


def _level(time: Ints, start: Ints, end: Ints) -> Ints:
    """Return how many of the spans are open at (and right after) each time; they may reach beyond all times."""
    change = np.zeros(len(time) + 1, dtype=np.int64)
    change += np.bincount(np.searchsorted(time, start), minlength=len(change))
    change -= np.bincount(np.searchsorted(time, end), minlength=len(change))
    return np.cumsum(change[:-1])


@dataclass(frozen=True, eq=False)
class _Steps:
    """A value that changes at each `time`, and stays until the next one; 0 before the first."""

    time: Ints
    value: Floats

    @classmethod
    def of(cls, start: Ints, end: Ints, value: Floats) -> _Steps:
        """Add up the values of the spans that are open at a time."""
        time = distinct(np.concatenate([start, end]))
        change = np.zeros(len(time))
        np.add.at(change, np.searchsorted(time, start), value)
        np.subtract.at(change, np.searchsorted(time, end), value)
        return cls(time, np.cumsum(change))

    def between(self, since: int, until: int) -> Ints:
        """Return the changes from `since` on, before `until`."""
        return self.time[slice(*np.searchsorted(self.time, [since, until]).tolist())]

    def at(self, time: Ints) -> Floats:
        """Return the value at (and right after) each time."""
        step = np.searchsorted(self.time, time, side="right") - 1
        return np.append(self.value, 0.0)[step]  # before the first change the step is -1: the last value, 0


@dataclass(frozen=True, eq=False)
class _Claims:
    """What has a claim on cores before those who wait for locks, in the order of docs/decisions/0007-lost-cores.md."""

    others: _Steps
    """The cores that other processes and the recorder had."""
    lost: _Steps
    """The part of the idle cores that lost records speak for."""
    stops: _Steps
    """The part of the idle cores that JVMs speak for which pause, start or end: of one of n that live 1/n."""

    @classmethod
    def of(cls, recording: Recording, window: tuple[int, int]) -> _Claims:
        """Build the steps for a window (CLOCK_MONOTONIC), in one pass over the phases of all JVMs."""
        origin = recording.window_ns[0]

        def steps(start: Ints, end: Ints, value: Floats) -> _Steps:
            return _Steps.of(np.clip(start, *window) - origin, np.clip(end, *window) - origin, value)

        spans = other_processes.spans(recording, known_cpus(recording) or 1)
        found = [steps(*_others(recording, window))]
        for codes in ((other_processes.LOST,), _STOPS):
            in_state = np.isin(spans["code"], codes)
            found.append(steps(*(spans[name][in_state] for name in ("start_ns", "end_ns", "weight"))))
        return cls(*found)

    def changes(self, since: int, until: int) -> tuple[Ints, ...]:
        """Return when any of it changes, from `since` on, before `until`."""
        return tuple(each.between(since, until) for each in (self.others, self.lost, self.stops))

    def idle(self, time: Ints, room: Ints, ready: Ints) -> Floats:
        """Return the cores that are left at each time, of `room` that the program does not run on, beside its ready threads."""
        free = np.maximum(room - self.others.at(time), 0.0) * (1.0 - np.minimum(self.lost.at(time), 1.0))
        return np.maximum(free - ready, 0.0) * (1.0 - np.minimum(self.stops.at(time), 1.0))


def _others(recording: Recording, window: tuple[int, int]) -> tuple[Ints, Ints, Floats]:
    """Return spans with the cores that other processes and the recorder had in them: from, to (CLOCK_MONOTONIC), cores."""
    of = other_processes.others(recording, window)
    if of.known_by == "none":
        average = sum(recording.manifest.other_ns.values()) / max(recording.wall_ns, 1)
        return np.array(window[:1]), np.array(window[1:]), np.array([average])
    start, end = of.columns["start_ns"], of.columns["end_ns"]
    return start, end, of.columns["other_ns"] / np.maximum(end - start, 1)
