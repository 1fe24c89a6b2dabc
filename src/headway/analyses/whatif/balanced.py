"""Makes the parts of parallel stages equal: what each thread does between two joins or barriers, as its steps are then.

Question   which stages does `--balanced PLACE` mean, and what does each thread do in them if all parts are equal?
Method     PLACE is the line at which threads wait for the others: a barrier, a join, a latch or results (waits.rules). At a
           barrier a stage ends whenever the last thread comes; its parts are those of the threads that waited, and of that one.
           Of joins a stage ends when a thread has waited for the last of them, one right after the other; its parts are those of
           the threads that are called as the one it waited for, but for their numbers (of fork and join also its own). A part is
           what its thread computes, sleeps and waits for I/O in the stage: it becomes the mean of the stage's parts.
Assumes    the parts can be cut anew at no cost; a thread that did less than LEAST_PART of the largest part has none.
Wrong when a thread does something else in the stage as well; when nobody waited as a stage ended, that one stays as it is.
Checked    tests/property/test_changed_waits_replay.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import IMBALANCE
from headway.analyses.common.columns import places_of
from headway.analyses.waits.classification.sites import lines_of, sites_of
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.tables import blocks
from headway.analyses.waits.wait_causes import CODE, causes_of
from headway.analyses.whatif.pools import called_alike
from headway.errors import HeadwayError
from headway.model.kinds import PROGRAM
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.critical_path.path_threads import PathThreadTable
    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

LEAST_PART = 0.01
"""Of the largest part of a stage: what takes less is no part."""
MOST_PARTS = 200_000
"""Parts of all stages at a place."""
_BARRIER = [rule.id for rule in RULES].index("barrier")
_LOOK_NS = 1_000_000
"""A thread that waits for one part after the other runs for less than this in between."""
_MOST_NAMES = 5
_MOST_LOOKS = 1 << 30
"""At threads, for those that lived in a stage: some seconds."""
_MOST_ALIVE = 1 << 22
"""Threads that lived in stages, of all stages: of each is looked for when it first ran in the stage, which takes some seconds."""
_MOST_OVERLAPS = 1 << 28
"""Steps that overlap stages, of all stages: a quarter of a minute. Stages of a program hardly overlap but where they nest."""


class _TooManyParts(Exception):  # noqa: N818 - the caller says it with the place
    """The stages have more than MOST_PARTS parts, or it takes too long to find out."""


@dataclass(frozen=True, slots=True)
class Stage:
    """A parallel stage: from when until when, and who may have a part of it. Times are CLOCK_MONOTONIC ns."""

    from_ns: int
    to_ns: int
    threads: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class BalancedSteps:
    """Steps with parts of stages that are equal: factors of what each runs, and how long it waits then, -1 as before."""

    step: Ints
    work_factor: Floats
    wait_ns: Floats
    parts: int


@dataclass(frozen=True, eq=False)
class _Joins:
    """Waits for other threads' parts, in order of their end. Times are CLOCK_MONOTONIC ns."""

    thread: Ints
    began: Ints
    ended: Ints
    waker: Ints
    is_barrier: NDArray[np.bool_]
    stack: Ints

    def where(self, rows: Ints | NDArray[np.bool_]) -> _Joins:
        return _Joins(*(getattr(self, name)[rows] for name in self.__dataclass_fields__))


def changed_stages(
    recording: Recording, threads: PathThreadTable, steps: Mapping[str, Ints], places: Sequence[str]
) -> BalancedSteps:
    """Return a run's steps with the parts of the stages at some places equal.

    Raises HeadwayError HW430 (recorded without locks), HW888 (nobody waits there for others), HW889 (there are no parts).
    """
    waits = _WaitsForParts(recording, threads, steps)
    every = (stage for place in places for stage in waits.stages_at(place))
    try:
        found = balanced_steps(steps, _with_few_parts(every))
    except _TooManyParts:
        reason = (
            f"its stages have more than {MOST_PARTS:,} parts, or overlap so often that it takes too long to find out"
        )
        raise HeadwayError("HW889", path=recording.path, place=", ".join(places), reason=reason) from None
    if not found.parts:
        reason = "no stage that ends there is done by two threads or more"
        raise HeadwayError("HW889", path=recording.path, place=", ".join(places), reason=reason)
    return found


def _with_few_parts(every: Iterable[Stage]) -> list[Stage]:
    """Return each stage once: two names of one place, or two that end one stage, make its parts equal once."""
    found, parts = dict[Stage, None](), 0
    for stage in every:
        if stage not in found:
            found[stage] = None
            parts += len(stage.threads)
        if parts > MOST_PARTS:
            raise _TooManyParts
    return [*found]


def balanced_steps(steps: Mapping[str, Ints], stages: Sequence[Stage]) -> BalancedSteps:
    """Return the steps of stages whose parts are equal, given the program's steps (RunSteps.program_steps).

    Raises _TooManyParts where stages overlap too many steps.
    """
    waits = np.where(steps["is_by_thread"] == 0, steps["woken_ns"] - steps["begin_ns"], 0)
    more_work, more_wait = np.zeros(len(waits)), np.zeros(len(waits))
    of_thread = dict(places_of(steps["thread"]))
    parts = overlaps = 0
    for stage in stages:
        of_stage = [_overlap(steps, waits, of_thread[each], stage) for each in stage.threads if each in of_thread]
        overlaps += sum(len(rows) for rows, _, _ in of_stage)
        if overlaps > _MOST_OVERLAPS:
            raise _TooManyParts
        lengths = np.array([float((run + wait).sum()) for _, run, wait in of_stage])
        is_part = lengths >= max(LEAST_PART * lengths.max(initial=0), 1)
        if is_part.sum() < 2:
            continue
        mean = lengths[is_part].mean()
        for i in np.flatnonzero(is_part).tolist():
            rows, run, wait = of_stage[i]
            more = mean / lengths[i] - 1
            more_work[rows] += more * run / np.maximum(steps["work_ns"][rows], 1)
            more_wait[rows] += more * wait / np.maximum(waits[rows], 1)
            parts += 1
    at = np.flatnonzero((more_work != 0) | (more_wait != 0))
    wait_ns = np.where(more_wait[at] != 0, waits[at] * np.maximum(1 + more_wait[at], 0), -1.0)
    return BalancedSteps(
        np.asarray(steps["step"][at], np.int64), np.maximum(1 + more_work[at], 0), wait_ns.astype(np.float64), parts
    )


def _overlap(steps: Mapping[str, Ints], waits: Ints, of_thread: Ints, stage: Stage) -> tuple[Ints, Floats, Floats]:
    """Return the steps of one thread that overlap a stage, and how much each computes and waits in it of its own accord."""
    low = np.searchsorted(steps["end_ns"][of_thread], stage.from_ns, side="right")
    high = np.searchsorted(steps["begin_ns"][of_thread], stage.to_ns)
    rows = of_thread[low:high]

    def inside(begin: Ints, end: Ints) -> Floats:
        length = np.minimum(end, stage.to_ns) - np.maximum(begin, stage.from_ns)
        part: Floats = np.maximum(length, 0) / np.maximum(end - begin, 1)
        return part

    run: Floats = steps["work_ns"][rows] * inside(steps["start_ns"][rows], steps["end_ns"][rows])
    wait = waits[rows] * inside(steps["begin_ns"][rows], steps["woken_ns"][rows])
    return rows, run, wait


class _WaitsForParts:
    """The waits of a recording for others' parts, at all places."""

    def __init__(self, recording: Recording, threads: PathThreadTable, steps: Mapping[str, Ints]) -> None:
        self._recording = recording
        self._threads = threads
        self._data = data = blocks.load(recording, None)
        self._sites = sites = sites_of(data)
        is_for_parts = causes_of(data, sites) == CODE[IMBALANCE]
        self._rows = np.flatnonzero(is_for_parts & (sites.stack >= 0) & (data.blocks.thread >= 0))
        self._line = lines_of(data, sites.stack[self._rows])
        self._groups = _Groups(threads)
        self._steps = steps, dict(places_of(steps["thread"]))

    def stages_at(self, place: str) -> Iterator[Stage]:
        """Yield the stages that end at a place. Raises HeadwayError HW888 (none), HW889 (of virtual threads)."""
        joins = self._joins_at(place)
        barriers, others = joins.where(joins.is_barrier), joins.where(~joins.is_barrier)
        first_ns = self._recording.window_ns[0]
        yield from _barrier_stages(barriers, self._threads, first_ns)
        for _, rows in places_of(others.thread):
            yield from _join_stages(self._data, others.where(rows), self._groups, first_ns, self._steps)

    def _joins_at(self, place: str) -> _Joins:
        its, sites, path = self._data.blocks, self._sites, self._recording.path
        wanted = place.strip()
        at_place = [stack for stack, text in self._line.items() if _is_called(text, wanted)]
        rows = self._rows[np.isin(sites.stack[self._rows], at_place)]
        if not len(rows):
            near = nearest_first(place, sorted(set(self._line.values())), _MOST_NAMES)
            there = f"; there are: {', '.join(near)}" if near else "; nobody waited so at all"
            raise HeadwayError("HW888", path=path, place=place, there=there)
        if np.any(np.maximum(its.thread[rows], its.waker[rows]) >= self._data.platform_threads):
            reason = "virtual threads have parts there, and which of them runs when is their carriers'"
            raise HeadwayError("HW889", path=path, place=place, reason=reason)
        origin = self._recording.window_ns[0]
        full = its.full[rows]
        ended = np.where(its.waking[rows] >= 0, np.minimum(its.waking[rows], full), full) + origin
        order = np.argsort(ended, kind="stable")
        rows = rows[order]
        return _Joins(
            its.thread[rows].astype(np.int64),
            its.began[rows] + origin,
            ended[order],
            its.waker[rows].astype(np.int64),
            sites.rule[rows] == _BARRIER,
            sites.stack[rows].astype(np.int64),
        )


def _is_called(line: str, wanted: str) -> bool:
    return bool(wanted) and (line == wanted or line.endswith(f".{wanted}"))


class _Groups:
    """The threads of the program that are called alike, but for their numbers, and when they lived.

    A program may start new ones for each stage, thousands of times: only those that lived then are parts of it.
    """

    def __init__(self, threads: PathThreadTable) -> None:
        self._end_ns = threads.end_ns
        self._looks = self._alive = 0
        self._of: dict[int, int] = {}
        self._members: list[tuple[Ints, Ints, Ints]] = []
        for alike in called_alike(threads, PROGRAM).values():
            by_birth = np.array(alike)[np.argsort(threads.birth_ns[alike], kind="stable")]
            self._of |= dict.fromkeys(alike, len(self._members))
            births, last_ends = threads.birth_ns[by_birth], np.maximum.accumulate(threads.end_ns[by_birth])
            self._members.append((by_birth, births, last_ends))

    def alive(self, like: Iterable[int], from_ns: int, to_ns: int) -> set[int]:
        """Return the threads called like some that lived between two times. Raises _TooManyParts."""
        found = set[int]()
        for group in {self._of[each] for each in like if each in self._of}:
            by_birth, births, last_ends = self._members[group]
            there = by_birth[np.searchsorted(last_ends, from_ns, side="right") : np.searchsorted(births, to_ns)]
            self._looks += len(there)
            if self._looks > _MOST_LOOKS:
                raise _TooManyParts
            alive = there[self._end_ns[there] > from_ns]
            self._alive += len(alive)
            if self._alive > _MOST_ALIVE:
                raise _TooManyParts
            found.update(alive.tolist())
        return found


def _barrier_stages(joins: _Joins, threads: PathThreadTable, first_ns: int) -> list[Stage]:
    """Return the stages between two times at which the last thread came: who waits since before then belongs to it."""
    found: list[Stage] = []
    begin, members, ended = 0, set[int](), -1
    rows = zip(*(getattr(joins, name).tolist() for name in ("thread", "began", "ended", "waker")), strict=True)
    trips: list[tuple[int, set[int]]] = []
    for thread, began, end, waker in rows:
        if ended < 0 or began >= ended:
            ended, members = end, set()
            trips.append((end, members))
        members.update(each for each in (thread, waker) if 0 <= each < len(threads))  # of lost ones nothing is known
    for end, among in trips:
        born = [int(threads.birth_ns[each]) for each in among]
        begin = begin or max([first_ns, *born])
        if begin < end:
            found.append(Stage(begin, end, tuple(sorted(among))))
        begin = end
    return found


def _join_stages(
    data: LockData,
    joins: _Joins,
    groups: _Groups,
    first_ns: int,
    its: tuple[Mapping[str, Ints], Mapping[int, Ints]],
) -> Iterator[Stage]:
    """Return the stages that one thread waits for: each begins when the first of those that it waits for begins to work."""
    steps, of_thread = its
    is_new = np.append(True, joins.began[1:] - joins.ended[:-1] > _LOOK_NS)
    chains = np.split(np.arange(len(is_new)), np.flatnonzero(is_new)[1:])
    before = first_ns
    for chain in chains:
        end = int(joins.ended[chain[-1]])
        workers = groups.alive(set(joins.waker[chain].tolist()), before, end) - set(joins.thread[chain].tolist())
        starts = [_first_run(steps, of_thread.get(each), before) for each in workers]
        begin = min((ns for ns in starts if before <= ns < end), default=end)
        own = joins.thread[chain[:1]].tolist() if _is_forked(data, int(joins.stack[chain[0]])) else []
        if begin < end:
            yield Stage(begin, end, tuple(sorted({*workers, *own})))
        before = end


def _first_run(steps: Mapping[str, Ints], of_thread: Ints | None, after_ns: int) -> int:
    """Return when a thread first begins to run after a time, that time if it runs then; far away if it never does."""
    if of_thread is None:
        return 1 << 62
    at = int(np.searchsorted(steps["end_ns"][of_thread], after_ns, side="right"))
    return max(int(steps["start_ns"][of_thread[at]]), after_ns) if at < len(of_thread) else 1 << 62


def _is_forked(data: LockData, stack: int) -> bool:
    """Return whether a thread waits for parts of which it does some itself: fork and join, parallel streams."""
    return any("ForkJoin" in name or "CountedCompleter" in name for name, _, _ in data.frames(stack))
