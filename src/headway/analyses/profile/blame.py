"""Blame profiles: each lost core is attributed to the stacks of the threads that others waited for, or that worked alone.

Question   where to look first: not what uses the cores, but what keeps the others from being used.
Method     blame shifting (Tallent and Mellor-Crummey, PPoPP 2009; with Porterfield, PPoPP 2010) on the account of lost cores
           (lost_cores.account.attribution). Each CPU sample asks how many cores its thread kept idle at that instant: directed,
           because others waited for that thread (a lock's holder, whom a join waits for, the collector in its pauses);
           undirected, because it had work and there was too little for all. That, times the time the sample stands for, is
           its blame. Where the host stole from a thread, its samples stand for the stolen time, too: cores were idle then as
           well.
Exact      the sum over everything is the core time that the account has as lost, to the ns. Samples never get more than the
           account gave to their thread (directed) or to all (undirected); what they leave, and what nobody is to blame for,
           is under a root for its cause: whoever was waited for slept or waited itself. A thread's time that no sample is of
           (it lived shorter than the sampling period, or ran on after its last sample) asks from the middle of each of its
           slices, and is under "not sampled", by the thread's name, as in the profile of CPU time.
Assumes    what samples assume: that they fall evenly on what they stand for.
Wrong when few samples are behind a row. Samples of virtual threads don't tell which one it was, so they bear no blame.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import BLOCKED, CAUSES, END, FEW, GC, IO, SERIAL, SLEEP, START
from headway.analyses.lost_cores.account import attribution
from headway.analyses.lost_cores.types import USED
from headway.analyses.profile import cpu_time
from headway.analyses.scheduling import activity, available_cores
from headway.analyses.stacks.sources import (
    NO_BLAMED_THREAD,
    NO_THREAD,
    UNWALKED,
    Weights,
    blameless,
    note_number,
    summed,
)
from headway.analyses.waits import pieces

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from headway.errors import Notice
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]

_CODE = {cause: code for code, cause in enumerate(CAUSES)}
_UNDIRECTED = [_CODE[cause] for cause in (SERIAL, FEW, START, END)]
_MOST_SLICES = 1_000_000
"""Slices without a sample that are asked; there are few, as each thread's are shorter than the sampling period together."""
_ALL, _COLLECTORS, _NO_CODE = -1, -2, -3
"""Pools of core time beside those of the single threads: what is nobody's alone, what the collector's threads have, and what no
code that ran is to blame for."""
_OWN = [_CODE[cause] for cause in (SLEEP, IO, BLOCKED)]
"""The thread of their rows is the one that slept or read itself: no sample of it is of that time."""


def blame_weights(
    recording: Recording, window: tuple[int, int] | None
) -> tuple[Weights, tuple[str, ...], list[Notice]]:
    """Return lost core time by thread and stack, of a window (ns from the recording's start) or of all; texts of notes of its
    own, as `cpu_time.weights`; and what to say of it.

    Raises HeadwayError as `why_sweep.sweep`.
    """
    span = window or (0, recording.wall_ns)
    active = activity.load(recording, window)
    cores, quota = available_cores.available(recording, active)
    (ns, thread, stack, weight), notes = _with_unsampled(recording, _samples(recording, span), span)
    found = attribution.sweep(
        recording,
        pieces.load(recording, span),
        cores=float(cores),
        window=span,
        probes=(ns, thread.astype(np.int32)),
    )
    cause, who, lost = _lost_rows(found)
    kinds = _kinds_of(recording, thread)
    pool = _pools(cause, who)
    is_collector = (thread >= 0) & (kinds[np.maximum(thread, 0)] == USED.index("gc"))
    own = np.where(is_collector, _COLLECTORS, thread)
    stands_for = weight * _running_per_executed(recording, span, len(kinds))[thread]
    directed, left = _shared_out(own, found.directed * stands_for, pool, lost)
    everyone = np.full(len(ns), _ALL)
    undirected, left_of_all = _shared_out(everyone, found.undirected * stands_for, pool, lost)
    blame = directed + undirected
    left = np.where(pool == _ALL, left_of_all, left)
    # Virtual threads have numbers of their own that the table `thread` does not know.
    named = np.where((who >= 0) & (who < len(kinds)), who, np.where(who >= 0, NO_THREAD, NO_BLAMED_THREAD))
    keep = np.concatenate([blame > 0, left > 0])
    weights = summed(
        *(
            np.concatenate(both)[keep]
            for both in (
                (thread, named),
                (stack, blameless(cause)),
                (blame, left),
                (np.where(cpu_time.is_unsampled(stack), 0, 1), np.zeros_like(left)),
            )
        )
    )
    return weights, notes, [quota] if quota else []


def _lost_rows(found: attribution.Attribution) -> tuple[Ints, ...]:
    """Return of all that was lost the cause, the thread, and the core time."""
    names = ("cause", "thread", "core_ns")
    return tuple(np.concatenate([getattr(each, name) for each in found.segments]).astype(np.int64) for name in names)


def _kinds_of(recording: Recording, thread: Ints) -> NDArray[np.uint8]:
    """Return the kind of each thread; one with samples and no row counts as one of the application."""
    known = attribution.kinds_of(recording)
    kinds = np.zeros(max(len(known), int(thread.max(initial=-1)) + 1), dtype=np.uint8)
    kinds[: len(known)] = known
    return kinds


def _samples(recording: Recording, span: tuple[int, int]) -> tuple[Ints, Ints, Ints, Ints]:
    """Return the CPU samples of a span in order of time: ns from the recording's start, thread, stack, weight."""
    origin = recording.window_ns[0]
    rows = recording.query(
        f"SELECT CAST(ns - {origin} AS BIGINT) AS ns, CAST(COALESCE(thread_id, {NO_THREAD}) AS BIGINT) AS thread,"
        f" CAST(COALESCE(stack_id, {UNWALKED}) AS BIGINT) AS stack, weight FROM sample WHERE event = 'cpu'"
        f" AND ns >= {origin + span[0]} AND ns < {origin + span[1]} ORDER BY ns"
    ).fetchnumpy()
    ns, thread, stack, weight = (
        np.asarray(rows[name]).astype(np.int64) for name in ("ns", "thread", "stack", "weight")
    )
    return ns, thread, stack, weight


def _with_unsampled(
    recording: Recording, samples: tuple[Ints, Ints, Ints, Ints], span: tuple[int, int]
) -> tuple[tuple[Ints, ...], tuple[str, ...]]:
    """Put the middles of slices that no sample is of among the samples, in order of time; and the texts that stand for them."""
    if not cpu_time.is_exact(recording):
        return samples, ()
    low, high = (recording.window_ns[0] + each for each in span)
    begin, end = f"GREATEST(s.start_ns, {low})", f"LEAST(s.start_ns + s.running_ns, {high})"
    rows = recording.query(
        "WITH last AS (SELECT thread_id, MAX(ns) AS ns FROM sample WHERE event = 'cpu' AND thread_id IS NOT NULL GROUP BY 1)"
        f" SELECT CAST(s.thread_id AS BIGINT) AS thread, ({begin} + {end}) // 2 - {recording.window_ns[0]} AS ns,"
        f" CAST(({end} - {begin}) * (1 - COALESCE(s.stolen_ns, 0) / CAST(s.running_ns AS DOUBLE)) AS BIGINT) AS weight"
        " FROM slice s JOIN thread t ON t.thread_id = s.thread_id LEFT JOIN last l ON l.thread_id = s.thread_id"
        f" WHERE t.kind <> 'headway' AND s.running_ns > 0 AND s.start_ns < {high} AND s.start_ns + s.running_ns > {low}"
        f" AND (l.ns IS NULL OR s.start_ns >= l.ns) ORDER BY 2 LIMIT {_MOST_SLICES}"
    ).fetchnumpy()
    thread, ns, weight = (np.asarray(rows[name]).astype(np.int64) for name in ("thread", "ns", "weight"))
    labels, texts = cpu_time.labels(recording), dict[str, int]()
    who, at = np.unique(thread, return_inverse=True)
    number = [texts.setdefault(labels.get(each, "(not sampled)"), len(texts)) for each in who.tolist()]
    stack = note_number(0) - np.array(number, dtype=np.int64)[at.reshape(-1)]
    together = [np.concatenate(both) for both in zip(samples, (ns, thread, stack, weight), strict=True)]
    order = np.argsort(together[0], kind="stable")
    return tuple(each[order] for each in together), tuple(texts)


def _running_per_executed(recording: Recording, span: tuple[int, int], threads: int) -> Floats:
    """Return for each thread how long it was on a CPU for each ns it executed, in a span; the last one is for NO_THREAD."""
    low, high = (recording.window_ns[0] + each for each in span)
    rows = recording.query(
        "SELECT thread_id, SUM(running_ns), SUM(running_ns - COALESCE(stolen_ns, 0)) FROM slice"
        f" WHERE start_ns < {high} AND start_ns + running_ns > {low} GROUP BY 1"
    ).fetchall()
    ratio = np.ones(max(threads, *(row[0] + 1 for row in rows), 0) + 1)
    for thread, running, executed in rows:
        ratio[thread] = running / executed if executed else 1.0
    return ratio


def _pools(cause: Ints, thread: Ints) -> Ints:
    """Return the pool of each row of the account: a thread_id, _ALL, _COLLECTORS or _NO_CODE."""
    pool = np.where((thread >= 0) & ~np.isin(cause, _OWN), thread, _NO_CODE)
    pool[np.isin(cause, _UNDIRECTED)] = _ALL
    pool[cause == _CODE[GC]] = _COLLECTORS
    return pool


def _shared_out(own: Ints, wanted: Floats, pool: Ints, lost: Ints) -> tuple[Ints, Ints]:
    """Give rows' core time to the samples of their pool (`own`): return what each sample gets, and what is left of each row.

    A pool that has less than its samples want is divided in proportion; one that has more keeps the rest, row by row alike.
    """
    pools, place = np.unique(np.concatenate([own, pool]), return_inverse=True)
    of_sample, of_row = place[: len(own)], place[len(own) :]
    has = np.zeros(len(pools))
    np.add.at(has, of_row, lost.astype(np.float64))
    wants = np.bincount(of_sample, weights=wanted, minlength=len(pools))
    given = np.minimum(has, wants)
    got = wanted * np.divide(given, wants, out=np.zeros(len(pools)), where=wants > 0)[of_sample]
    got_ns = _whole(of_sample, got)
    taken = np.zeros(len(pools))
    np.add.at(taken, of_sample, got_ns.astype(np.float64))
    kept = lost * np.divide(has - taken, has, out=np.zeros(len(pools)), where=has > 0)[of_row]
    left = _whole(of_row, np.maximum(kept, 0.0))
    return got_ns, left


def _whole(group: Ints, values: Floats) -> Ints:
    """Round values so that the sums of groups stay what they are, rounded: what is cut off one goes to the next."""
    order = np.argsort(group, kind="stable")
    sums = np.cumsum(values[order])
    begins = np.searchsorted(group[order], group[order])
    before = np.where(begins > 0, sums[begins - 1], 0.0)
    whole = np.rint(sums - before).astype(np.int64)
    steps = np.diff(whole, prepend=0)
    first = begins == np.arange(len(begins))
    steps[first] = whole[first]
    found = np.empty(len(values), np.int64)
    found[order] = steps
    return found
