"""The parallelism profile: for how long exactly j threads are active, for each j.

Question   T_j for j = 0..J: the wall time during which exactly j threads were active, in total and per kind of thread.
Method     Peternier, Binder, Yokokawa and Chen, ICPE 2013, section 2: a thread is active while running or runnable, and
           T_j adds up the spans with j active threads. The counts come from one exact native sweep over every state
           change, done when the recording was finalised (table `activity`) or on demand for a window; nothing here is
           sampled. The paper left garbage collection and compilation for later work: here every level is also given
           per kind. `corrected_ns` of a level is its time without what the host stole: of a span of d ns in which r
           threads were on CPUs and s core-ns were stolen, the program got r*d - s core-ns of work done, which r
           undisturbed cores do in d - s/r ns.
Assumes    one clock for all CPUs; every switch of every thread recorded (else a notice); steal falls evenly on the
           threads that run at the same time.
Wrong when records were lost; a spinning thread counts as active though it does nothing useful; in mode perf-switch a
           woken thread counts only once it runs, so levels above the number of CPUs are too low.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.analyses.common.notices import recorded_notices
from headway.analyses.scheduling import activity as activities
from headway.analyses.scheduling.activity import BINS as PROFILE_BINS
from headway.analyses.scheduling.activity import KINDS, Activity, sum_columns
from headway.errors import Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

__all__ = [
    "KINDS",
    "PERCENTILES",
    "PROFILE_BINS",
    "Parallelism",
    "ParallelismLevel",
    "ParallelismProfile",
    "parallelism",
]

PERCENTILES: tuple[int, ...] = (5, 25, 50, 75, 95)
_MOST_CELLS = 1 << 22
"""So many pairs (threads active, threads running) get a place each, whether they occur or not."""


@dataclass(frozen=True, slots=True)
class ParallelismLevel:
    """One level T_j: `ns` of wall time with exactly `threads` threads active (or running).

    `corrected_ns` is the same without what the host stole, None where the mode can't tell.
    """

    threads: int
    ns: int
    corrected_ns: int | None


@dataclass(frozen=True, slots=True)
class ParallelismProfile:
    """Parallelism over time in at most PROFILE_BINS bins: every tuple has one element per bin.

    Times are ns from the start of the recording. `active[kind]` and `running[kind]` are time-weighted mean thread
    counts within the bin; `stolen[i]` is the mean number of cores the host took (None where the mode can't tell).
    """

    start_ns: tuple[int, ...]
    dur_ns: tuple[int, ...]
    active: Mapping[str, tuple[float, ...]]
    running: Mapping[str, tuple[float, ...]]
    stolen: tuple[float, ...] | None


@dataclass(frozen=True, slots=True)
class Parallelism:
    """The parallelism of a recording, or of a window of it, over the threads of `kinds`.

    Shares are fractions of wall_ns. `window_ns` is (from, to) in ns from the start of the recording. Levels run densely
    from 0 to the maximum seen; those of one kind ignore threads of the others. `percentiles[p]` is the smallest number
    j such that at most j threads were active during p % of the wall time. *_core_ns are core-nanoseconds.
    `stolen_core_ns` and the corrected times are None where the mode can't tell.
    """

    wall_ns: int
    corrected_wall_ns: int | None
    window_ns: tuple[int, int]
    mode: str
    kinds: tuple[str, ...]
    mean_active: float
    mean_running: float
    max_active: int
    max_running: int
    idle_share: float
    serial_share: float
    levels: tuple[ParallelismLevel, ...]
    running_levels: tuple[ParallelismLevel, ...]
    by_kind: Mapping[str, tuple[ParallelismLevel, ...]]
    running_by_kind: Mapping[str, tuple[ParallelismLevel, ...]]
    running_core_ns: Mapping[str, int]
    stolen_core_ns: int | None
    percentiles: Mapping[int, int]
    profile: ParallelismProfile
    notices: tuple[Notice, ...]


def parallelism(
    recording: Recording, window: tuple[int, int] | None = None, kinds: Collection[str] | None = None
) -> Parallelism:
    """Compute T_j of a recording.

    window: (from, to) in ns from the recording's start, None for all of it. kinds: the kinds of threads to count, of
    KINDS, None for all.

    Raises HeadwayError HW400 (the mode recorded no scheduling), HW401 (window empty or outside) or HW402 (no span);
    ValueError for a kind that is none.
    """
    chosen = tuple(KINDS) if kinds is None else tuple(kind for kind in KINDS if kind in kinds)
    if kinds is not None and (unknown := set(kinds) - set(KINDS)):
        raise ValueError(f"no kinds of thread: {sorted(unknown)}")
    activity = activities.load(recording, window)
    columns = [KINDS.index(kind) for kind in chosen]
    return _summarise(activity, chosen, columns, recording)


def _summarise(activity: Activity, chosen: tuple[str, ...], columns: list[int], recording: Recording) -> Parallelism:
    active, running = (sum_columns(counts[:, columns]) for counts in (activity.active, activity.running))
    levels, running_levels = levels_of(activity, active), levels_of(activity, running)
    per_kind = {kind: levels_of(activity, activity.active[:, KINDS.index(kind)]) for kind in chosen}
    running_per_kind = {kind: levels_of(activity, activity.running[:, KINDS.index(kind)]) for kind in chosen}
    wall = activity.wall_ns
    known = activity.stolen_ns is not None
    return Parallelism(
        wall_ns=wall,
        corrected_wall_ns=sum(level.corrected_ns or 0 for level in levels) if known else None,
        window_ns=(activity.start_ns, activity.end_ns),
        mode=recording.manifest.mode,
        kinds=chosen,
        mean_active=_mean(levels, wall),
        mean_running=_mean(running_levels, wall),
        max_active=levels[-1].threads,
        max_running=running_levels[-1].threads,
        idle_share=levels[0].ns / wall,
        serial_share=levels[1].ns / wall if len(levels) > 1 else 0.0,
        levels=levels,
        running_levels=running_levels,
        by_kind=per_kind,
        running_by_kind=running_per_kind,
        running_core_ns={kind: sum(x.threads * x.ns for x in rows) for kind, rows in running_per_kind.items()},
        stolen_core_ns=int(activity.stolen_ns.sum()) if activity.stolen_ns is not None else None,
        percentiles={p: _percentile(levels, p) for p in PERCENTILES},
        profile=_profile(activity, chosen, columns),
        notices=(*recorded_notices(recording), *_sum_notice(levels, wall)),
    )


def levels_of(activity: Activity, counts: Ints) -> tuple[ParallelismLevel, ...]:
    """Return T_j for any count of threads per row of an activity, dense from 0 and exact in ns.

    Steal is taken out per (count, threads running) and not per row: the two clocks behind it differ by microseconds, so
    single rows may come out negative and only their sum means something.
    """
    import numpy as np

    # bincount sums in float64: exact for whole ns below 2^53, which is 104 days.
    top = int(counts.max(initial=0))
    ns = np.bincount(counts, weights=activity.dur_ns, minlength=top + 1)
    if activity.stolen_ns is None:
        return tuple(ParallelismLevel(j, int(t), None) for j, t in enumerate(ns.tolist()))
    width = int(activity.on_cpu.max(initial=0)) + 1
    cell, cells = counts * width + activity.on_cpu, (top + 1) * width
    found: Ints = np.arange(cells) if cells <= _MOST_CELLS else np.unique(cell)
    if cells > _MOST_CELLS:  # far more than there are rows: few of them occur
        cell, cells = np.searchsorted(found, cell), len(found)
    stolen = np.bincount(cell, weights=activity.stolen_ns, minlength=cells)
    spans = np.bincount(cell, weights=activity.dur_ns, minlength=cells)
    on_cpu = found % width
    left = np.where(on_cpu == 0, spans, np.clip(spans - stolen / np.maximum(on_cpu, 1), 0, spans))
    corrected = np.bincount(found // width, weights=left, minlength=top + 1)
    return tuple(
        ParallelismLevel(j, int(t), round(c))
        for j, (t, c) in enumerate(zip(ns.tolist(), corrected.tolist(), strict=True))
    )


def _mean(levels: tuple[ParallelismLevel, ...], wall: int) -> float:
    return sum(level.threads * level.ns for level in levels) / wall


def _percentile(levels: tuple[ParallelismLevel, ...], percent: int) -> int:
    """Return the smallest j with T_0 + ... + T_j at least percent % of the time (integers: no rounding)."""
    total, so_far = sum(level.ns for level in levels), 0
    for level in levels:
        so_far += level.ns
        if so_far * 100 >= percent * total:
            return level.threads
    return levels[-1].threads


def _profile(activity: Activity, chosen: tuple[str, ...], columns: list[int]) -> ParallelismProfile:
    """Fold the activity's bins into at most PROFILE_BINS of equal length, means weighted by time.

    An activity bin counts where it begins; the ones of the table are far shorter than those made here, or become them.
    """
    import numpy as np

    # The first bin of the sweep may begin before the window does.
    in_window = np.maximum(activity.bin_start_ns, activity.start_ns)
    starts = np.unique(in_window)
    fold = -(-len(starts) // PROFILE_BINS) or 1
    group = np.searchsorted(starts, in_window) // fold
    begins = starts[::fold]
    ends = np.append(begins[1:], activity.end_ns)
    size = len(begins)
    weight = np.bincount(group, weights=activity.dur_ns, minlength=size)

    def mean(counts: Floats | Ints) -> tuple[float, ...]:
        total = np.bincount(group, weights=counts, minlength=size)
        return tuple(np.divide(total, weight, out=np.zeros(size), where=weight > 0).tolist())

    pairs = tuple(zip(chosen, columns, strict=True))
    return ParallelismProfile(
        start_ns=tuple(begins.tolist()),
        dur_ns=tuple((ends - begins).tolist()),
        active={kind: mean(activity.active[:, i] * activity.dur_ns) for kind, i in pairs},
        running={kind: mean(activity.running[:, i] * activity.dur_ns) for kind, i in pairs},
        stolen=None if activity.stolen_ns is None else mean(activity.stolen_ns),
    )


def _sum_notice(levels: tuple[ParallelismLevel, ...], wall: int) -> tuple[Notice, ...]:
    """Check that the levels add up to the wall time, to the nanosecond."""
    total = sum(level.ns for level in levels)
    return () if total == wall else (Notice.of("HW403", total=total / 1e9, wall=wall / 1e9),)
