"""Finds how much of a run's CPU time was spent in methods, step by step, and what those steps compute when methods are faster.

Question   how much less does each step compute, if `--faster METHOD=PART` holds?
Method     a CPU sample stands for what its thread executed since the one before. Laid over a thread's steps, samples whose stack
           has the method, with whatever it calls, say how much of each step is the method's.
Interval   the binomial one (95 %) of the number of samples in the method; time without a stack may be all the method's.
Assumes    samples at even steps of CPU time, so that they fall on methods as CPU time does.
Wrong when a method that is faster does something else otherwise, too: what it caches, allocates or waits for stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct, places_of
from headway.analyses.common.units import percent
from headway.analyses.profile.cpu_time import CPU
from headway.analyses.stacks.labels import plain_lambda
from headway.analyses.stacks.table import CUT, NOT_STORED, load_stacks
from headway.analyses.waits.object_names import is_jdk
from headway.analyses.waits.tables.blocks import whole
from headway.errors import HeadwayError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.stacks.table import StackTable
    from headway.analyses.whatif.types import Extent, MethodChange
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Bools = NDArray[np.bool_]

MOST_UNREAD = 0.1
"""Part of the CPU time of the program's threads for which no stack may have been read."""
LEAST_SHARE = 0.05
"""Part of the program's CPU samples from which on a method is a candidate."""
_NORMAL = 1.96
"""Standard errors to each side of an interval of 95 %."""


@dataclass(frozen=True, eq=False)
class ChangedMethods:
    """How much of each step's work is a method's (a row for each change), and how much has no stack."""

    step: Ints
    work_ns: Floats
    inside_ns: Floats
    unread_ns: Floats
    part: Floats
    error: Floats

    def factor(self, extent: Extent) -> Floats:
        """Return what is left of each step's work, as a factor."""
        less = 1 - self.part
        sign = {"least": -1, "middle": 0, "most": 1}[extent]
        saved = (less * np.maximum(1 + sign * self.error, 0)) @ self.inside_ns
        if extent == "most":
            saved += less.max() * self.unread_ns
        left: Floats = 1 - np.minimum(saved, less.max() * self.work_ns) / np.maximum(self.work_ns, 1)
        return left


def changed_methods(
    recording: Recording, steps: Mapping[str, Ints], changes: tuple[MethodChange, ...]
) -> ChangedMethods:
    """Return what methods have of the program's steps (RunSteps.program_steps).

    Raises HeadwayError HW856 (no CPU samples), HW857 (no such method), HW858 (too many unread stacks), HW859 (one calls another).
    """
    samples = _samples(recording)
    if samples is None or not len(samples["ns"]):
        raise HeadwayError("HW856", path=recording.path)
    stacks = distinct(samples["stack"][samples["stack"] >= 0])
    table = load_stacks(recording, stacks)
    hits = np.array([_hits(recording, table, each) for each in changes]).reshape(len(changes), len(stacks))
    _refuse_nested(recording, hits, changes)
    is_read = ~_is_cut(table) | hits.any(axis=0)
    row = np.searchsorted(stacks, samples["stack"]) if len(stacks) else np.zeros(len(samples["stack"]), np.int64)
    row = np.minimum(row, max(len(stacks) - 1, 0))
    is_known = samples["stack"] >= 0
    inside = hits[:, row] & is_known if len(stacks) else np.zeros((len(changes), len(row)), bool)
    unread = ~(is_known & is_read[row]) if len(stacks) else np.ones(len(row), bool)
    work_ns = steps["work_ns"].astype(np.float64)
    inside_ns, unread_ns = _by_step(steps, samples, inside, unread)
    share = float(unread_ns.sum()) / max(float(work_ns.sum()), 1.0)
    if share > MOST_UNREAD:
        raise HeadwayError("HW858", path=recording.path, share=percent(share), limit=percent(MOST_UNREAD))
    is_program = np.isin(samples["thread"], distinct(steps["thread"].astype(np.int64)))
    count = np.maximum((inside & is_program).sum(axis=1), 1)
    error = _NORMAL * np.sqrt(np.maximum(1 - count / max(int(is_program.sum()), 1), 0) / count)
    part = np.array([each.part for each in changes])
    return ChangedMethods(steps["step"].astype(np.int64), work_ns, inside_ns, unread_ns, part, error)


def hottest(recording: Recording, count: int) -> list[str]:
    """Return the program's methods in which most CPU samples are, each with what it calls of the JDK, LEAST_SHARE or more."""
    if not recording.has("sample"):
        return []
    rows = recording.query(
        f"SELECT s.stack_id, COUNT(*) AS samples FROM sample s JOIN thread t USING (thread_id) WHERE s.event = '{CPU}'"
        " AND t.kind = 'app' AND s.stack_id IS NOT NULL GROUP BY s.stack_id ORDER BY s.stack_id"
    ).fetchnumpy()
    ids, samples = whole(rows["stack_id"]), whole(rows["samples"])
    table = load_stacks(recording, ids)
    is_own = np.array([bool(each.class_name) and not is_jdk(each.class_name) for each in table.frames], bool)
    is_own &= table.is_code
    places = np.flatnonzero(is_own[table.stacks.frames])
    places = np.append(places, len(table.stacks.frames))
    innermost = places[np.searchsorted(places, table.stacks.begin[:-1])]
    sums: dict[str, int] = {}
    for row, at in enumerate(innermost.tolist()):
        if at < table.stacks.begin[row + 1]:
            name = table.frames[int(table.stacks.frames[at])]._replace(line=None).text
            sums[name] = sums.get(name, 0) + int(samples[row])
    least = LEAST_SHARE * int(samples.sum())
    return [name for name in sorted(sums, key=lambda each: -sums[each]) if sums[name] >= least][:count]


def _samples(recording: Recording) -> dict[str, Ints] | None:
    if not recording.has("sample"):
        return None
    rows = recording.query(
        f"SELECT thread_id, ns, COALESCE(stack_id, -1) AS stack FROM sample WHERE event = '{CPU}'"
        " AND thread_id IS NOT NULL ORDER BY thread_id, ns"
    ).fetchnumpy()
    return {to: whole(rows[name]) for to, name in (("thread", "thread_id"), ("ns", "ns"), ("stack", "stack"))}


def _hits(recording: Recording, table: StackTable, change: MethodChange) -> Bools:
    """Return which stacks a method is on; a lambda's code goes by the method around it, too."""

    def is_meant(name: str) -> bool:
        return any(each == change.method or each.endswith(f".{change.method}") for each in (name, plain_lambda(name)))

    names = [frame._replace(line=None).text for frame in table.frames]
    found = np.array([is_meant(name) for name in names], bool) & table.is_code
    counts = np.concatenate([[0], np.cumsum(found[table.stacks.frames])])
    hit = counts[table.stacks.begin[1:]] > counts[table.stacks.begin[:-1]]
    if not hit.any():
        near = table.examples(change.method)
        raise HeadwayError("HW857", path=recording.path, method=change.method, methods=near)
    return np.asarray(hit)


def _refuse_nested(recording: Recording, hits: Bools, changes: Sequence[MethodChange]) -> None:
    """Refuse changes of methods of which one calls the other: whose time that is, nobody says."""
    twice = np.flatnonzero(hits.sum(axis=0) > 1)
    if len(twice):
        one, other = np.flatnonzero(hits[:, twice[0]])[:2].tolist()
        raise HeadwayError("HW859", path=recording.path, one=changes[one].method, other=changes[other].method)


def _is_cut(table: StackTable) -> Bools:
    """Return which stacks lack their outer frames, or all: a method may be among those."""
    is_end = np.array([frame.text in (CUT, NOT_STORED) for frame in table.frames], bool)
    return np.asarray(is_end[table.stacks.frames[table.stacks.begin[1:] - 1]], bool)


def _by_step(
    steps: Mapping[str, Ints], samples: Mapping[str, Ints], inside: Bools, unread: Bools
) -> tuple[Floats, Floats]:
    """Return how much CPU time of each step is each change's, and how much nobody read a stack for."""
    size = len(steps["step"])
    inside_ns, unread_ns = np.zeros((len(inside), size)), np.zeros(size)
    of_thread = dict(places_of(samples["thread"]))
    for thread, rows in places_of(steps["thread"].astype(np.int64)):
        work = steps["work_ns"][rows].astype(np.float64)
        done = np.concatenate([[0.0], np.cumsum(work)])
        taken = of_thread.get(thread, np.zeros(0, np.int64))
        at = _executed(steps, rows, done, samples["ns"][taken])
        lengths = np.diff(at, prepend=0.0)
        knots = np.concatenate([[0.0], at])
        for row, flags in enumerate(inside):
            sums = np.concatenate([[0.0], np.cumsum(lengths * flags[taken])])
            inside_ns[row, rows] = np.diff(np.interp(done, knots, sums))
        sums = np.concatenate([[0.0], np.cumsum(lengths * unread[taken])])
        unread_ns[rows] = np.diff(np.interp(done, knots, sums) + np.maximum(done - knots[-1], 0))
    return inside_ns, unread_ns


def _executed(steps: Mapping[str, Ints], of_thread: Ints, done: Floats, ns: Ints) -> Floats:
    """Return how much a thread had executed at some times, in order."""
    start, end = steps["start_ns"][of_thread], steps["end_ns"][of_thread]
    step = np.maximum(np.searchsorted(start, ns, side="right") - 1, 0)
    ran = np.clip(ns - start[step], 0, end[step] - start[step]) / np.maximum(end[step] - start[step], 1)
    return np.maximum.accumulate(done[step] + ran * (done[step + 1] - done[step])) if len(ns) else np.zeros(0)
