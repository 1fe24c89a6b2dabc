"""Computes profiles: the weight of an event (CPU time, allocations, blocked time, blame ...) by method, caller and thread.

Question   where CPU time, allocation, contention, blocked time or a hardware event falls: as a call tree and as a flat profile.
Method     weights by thread and stack (stacks.sources), filtered by thread and by region, merged into one tree (stacks.tree).
           cpu, wall, alloc and counters are samples: a sample's weight is what it stands for. lock and off-cpu are no samples:
           they are the exact records of contended blocks and of the kernel's blocked intervals. blame is lost core time, under
           the CPU samples of those who kept the cores idle (module blame). cpu adds up to what threads executed, exactly:
           time that no sample is of is there under a node that names its threads (module profile.cpu_time). Events that were
           counted at each switch as well add up to those counts, thread by thread (module profile.counted_events).
Assumes    of samples, that they fall evenly on what they stand for; nothing of lock and off-cpu, but that a block whose stack
           was not taken has that of its thread's last block on the same object (stacks are taken about once a millisecond).
Wrong when few samples are behind a row (`samples` says how many there are in all). What has no stack is not left out: it is
           in the tree, under a node that says so.
Checked    tests/property/test_profiles.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headway.analyses.common import patterns
from headway.analyses.common.columns import distinct
from headway.analyses.common.notices import recorded_notices
from headway.analyses.profile import counted_events, cpu_time
from headway.analyses.profile.blame import blame_weights
from headway.analyses.profile.off_cpu import off_cpu
from headway.analyses.scheduling.activity import checked_window
from headway.analyses.stacks.labels import RETURN_BARRIER
from headway.analyses.stacks.sources import (
    BLAME,
    LIGHTER,
    LOCK,
    NO_BLAMED_THREAD,
    NO_THREAD,
    OFF_CPU,
    Weights,
    contended,
    recorded_events,
    sampled,
    summed,
    unit_of,
)
from headway.analyses.stacks.table import StackTable, load_stacks
from headway.analyses.stacks.tree import TooManyNodes, build_tree
from headway.analyses.stacks.types import COUNT, CallTree, Frame, Profile, ThreadWeight
from headway.analyses.waits.tables import blocks
from headway.errors import HeadwayError, Notice
from headway.model.kinds import COUNTED, PROGRAM
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from collections.abc import Collection

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

__all__ = ["busiest_thread", "profile", "recorded_events"]

ALL_KINDS = (*PROGRAM, *(kind for kind in COUNTED if kind not in PROGRAM))
MOST_NODES, MOST_FRAMES = 1 << 22, 1 << 28
"""How large a profile may be: the nodes of its call tree (140 bytes each while it is built), and the frames of all stacks
together, as exports write each stack out."""
_VIRTUAL_CODE = re.compile(rf"^java\.lang\.VirtualThread\.run$|{RETURN_BARRIER}")
"""The outermost frame of a virtual thread's own stack; runContinuation is its carrier's. After a wait the JVM brings back one or
two frames of it; what these return to, once they do, is its stub."""
VIRTUAL = "(virtual threads)"
UNTOLD = "(threads not told)"
NO_CODE = "(nobody)"
"""Who samples without a thread belong to: virtual threads, or, in what was imported without any thread, nobody knows; and what
no thread is to blame for."""


def profile(
    recording: Recording,
    event: str,
    *,
    thread: re.Pattern[str] | None = None,
    region: re.Pattern[str] | None = None,
    window: tuple[int, int] | None = None,
    only: Collection[int] | None = None,
    by_thread: bool = False,
    by_line: bool = False,
    paths: int | None = None,
    kinds: tuple[str, ...] | None = None,
    weighed: Weighed | None = None,
) -> Profile:
    """Compute the profile of an event of a recording.

    thread: threads whose name it is found in. region: stacks with a frame (Class.method, dotted) that it is found in.
    window: (from, to) in ns from the recording's start. only: thread_ids. by_thread: a root per thread instead of merging them.
    by_line: nodes are lines, not methods. paths: at most so many stacks (of each thread, with by_thread) are told apart, the
    lighter ones are put together. kinds: of threads; by default all, for off-cpu those of the program alone.
    weighed: what `weigh` gave for the same recording, event, window and kinds, to those who ask for several profiles of it.

    `event` is one of `recorded_events`, or "blame": the core time lost, by who kept the cores idle. It needs CPU samples.

    Raises HeadwayError HW440 (event not recorded), HW441 (no such thread), HW442 (no such region), HW443 (nothing in the
    window), HW401 (window outside the recording) or HW402 (no span).
    """
    span = checked_window(recording, window)
    kinds = kinds or (PROGRAM if event == OFF_CPU else ALL_KINDS)
    weights, notes, first = weigh(recording, event, span, kinds) if weighed is None else weighed
    earlier_notices = list(first)
    if not len(weights.weight):
        raise HeadwayError("HW443", path=recording.path, event=event, start=span[0] / 1e9, end=span[1] / 1e9)
    weights, threads = _of_threads(recording, event, weights, thread, only, kinds)
    stacks = load_stacks(recording, np.append(weights.stack, LIGHTER), by_line, notes)
    found, notices = _of_region(recording, weights, stacks, region, event)
    if event == cpu_time.CPU:
        notices += cpu_time.notices(recording, found, notes)
    earlier_notices += _of_virtual_threads(recording, event, found, threads, stacks)
    return _profile(recording, event, span, found, threads, stacks, (by_thread, paths), [*earlier_notices, *notices])


class Weighed(NamedTuple):
    """An event's weight by thread and stack, labels of the frames, and notices about it."""

    weights: Weights
    notes: tuple[str, ...]
    notices: tuple[Notice, ...]


def weigh(
    recording: Recording, event: str, window: tuple[int, int] | None = None, kinds: tuple[str, ...] | None = None
) -> Weighed:
    """Weigh an event once for several profiles of it; arguments and errors as `profile`."""
    span = checked_window(recording, window)
    events = recorded_events(recording)
    if not events_of(event) <= set(events):
        raise HeadwayError("HW440", path=recording.path, event=event, recorded=_list(events), how=_how(event))
    kinds = kinds or (PROGRAM if event == OFF_CPU else ALL_KINDS)
    part = None if span == (0, recording.wall_ns) else span
    if event == cpu_time.CPU:
        return Weighed(*cpu_time.weights(recording, part), ())
    if event == BLAME:
        weights, notes, notices = blame_weights(recording, part)
        return Weighed(weights, notes, tuple(notices))
    if unit_of(event) == COUNT:
        return Weighed(*counted_events.weights(recording, event, part), ())
    weights, own_notices = _weights(recording, event, events, part, kinds)
    return Weighed(weights, (), tuple(own_notices))


def busiest_thread(recording: Recording, window: tuple[int, int] | None = None) -> int:
    """Return the thread_id of the program's thread with most CPU time, by scheduling records, else by CPU samples.

    Raises HeadwayError HW440 when neither is there, HW401 and HW402 as `profile`.
    """
    low, high = (recording.window_ns[0] + each for each in checked_window(recording, window))
    kinds = ", ".join(f"'{kind}'" for kind in PROGRAM)
    if recording.has("slice"):
        time = f"SUM(GREATEST(0, LEAST(s.start_ns + s.running_ns, {high}) - GREATEST(s.start_ns, {low})))"
        text = f"SELECT s.thread_id, {time} AS time FROM slice s JOIN thread t ON t.thread_id = s.thread_id"
        text += f" WHERE t.kind IN ({kinds})"
    else:
        text = "SELECT s.thread_id, SUM(s.weight) AS time FROM sample s JOIN thread t ON t.thread_id = s.thread_id"
        text += f" WHERE t.kind IN ({kinds}) AND s.event = 'cpu' AND s.ns >= {low} AND s.ns < {high}"
    row = recording.query(f"{text} GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 1").fetchone()
    if row is None:
        events = recorded_events(recording)
        raise HeadwayError("HW440", path=recording.path, event="cpu", recorded=_list(events), how=_how("cpu"))
    return int(row[0])


def _weights(
    recording: Recording, event: str, events: Collection[str], window: tuple[int, int] | None, kinds: tuple[str, ...]
) -> tuple[Weights, list[Notice]]:
    if event == OFF_CPU:
        return off_cpu(recording, window, kinds), []
    if event == LOCK and blocks.has_locks(recording):
        return contended(recording, window), []
    assert event in events
    return sampled(recording, event, window), []


def events_of(event: str) -> set[str]:
    """Return the events that a profile of this one needs in the recording; blame needs two."""
    return {"cpu", OFF_CPU} if event == BLAME else {event}


def _list(events: Collection[str]) -> str:
    names = (*events, BLAME) if events_of(BLAME) <= set(events) else events
    return ", ".join(names) if names else "none"


def _how(event: str) -> str:
    if event == LOCK:
        return "--locks"
    if event == BLAME:
        return "--locks --sample cpu"
    return "--mode ebpf" if event == OFF_CPU else f"--sample {event}"


# --- threads -----------------------------------------------------------------------------------------------------------

_ThreadFacts = dict[int, tuple[int | None, str, str]]


def _of_threads(
    recording: Recording,
    event: str,
    weights: Weights,
    pattern: re.Pattern[str] | None,
    only: Collection[int] | None,
    kinds: tuple[str, ...],
) -> tuple[Weights, _ThreadFacts]:
    """Return the weights of the selected threads, and every selected thread as {thread_id: (tid, name, kind)}."""
    rows = recording.query("SELECT thread_id, tid, name, kind FROM thread").fetchall()
    facts: _ThreadFacts = {row[0]: (row[1], row[2], row[3]) for row in rows if row[3] in kinds}
    if "app" in kinds:
        facts[NO_THREAD] = (None, _nameless(recording, bool(rows)), "app")
        if event == BLAME:
            facts[NO_BLAMED_THREAD] = (None, NO_CODE, "app")
    if pattern is not None:
        with patterns.in_time(pattern.pattern, recording.path):
            facts = {key: each for key, each in facts.items() if pattern.search(each[1])}
    if only is not None:
        facts = {key: each for key, each in facts.items() if key in only}
    wanted = np.array(sorted(facts), dtype=np.int64)
    found = weights.where(np.isin(weights.thread, wanted))
    if not len(found.weight):
        asked = [pattern.pattern] if pattern is not None else [row[2] for row in rows if row[0] in (only or ())]
        asked = asked or [f"a thread of kind {' or '.join(kinds)}"]
        examples = _names(rows, weights, _nameless(recording, bool(rows)), ", ".join(asked))
        raise HeadwayError("HW441", path=recording.path, event=event, pattern=", ".join(asked), examples=examples)
    return found, facts


def _nameless(recording: Recording, has_threads: bool) -> str:
    """Return what samples without a thread are called: virtual threads only where samples of these have none."""
    source = str((recording.manifest.extra.get("import") or {}).get("source", ""))
    names_platform_threads = has_threads and source != "collapsed stacks" and not source.endswith("async-profiler")
    return VIRTUAL if names_platform_threads else UNTOLD


def _names(rows: list[tuple[int, int, str, str]], weights: Weights, nameless: str, wanted: str) -> str:
    """Return the names of some threads that have weight, first those that are written like `wanted`."""
    there = set(distinct(weights.thread).tolist())
    names = list(dict.fromkeys(row[2] for row in rows if row[0] in there and row[3] != "headway"))
    names += [nameless] if NO_THREAD in there else []
    return ", ".join(nearest_first(wanted, names, 3)) + (f" and {len(names) - 3} others" if len(names) > 3 else "")


def _of_virtual_threads(
    recording: Recording, event: str, weights: Weights, facts: _ThreadFacts, stacks: StackTable
) -> list[Notice]:
    """Say how much of what was sampled on carriers is a virtual thread's: what VirtualThread.run or the stub behind it called."""
    carriers = [key for key, (_, _, kind) in facts.items() if kind == "carrier"]
    if not carriers or event in (OFF_CPU, LOCK, BLAME):
        return []
    theirs = stacks.matching(_VIRTUAL_CODE)[stacks.row_of(weights.stack)] & np.isin(weights.thread, carriers)
    weight = int(weights.weight[theirs].sum())
    share = weight / max(1, int(weights.weight.sum()))
    return [Notice.of("HW448", path=recording.path, event=event, share=share)] if weight else []


# --- regions -----------------------------------------------------------------------------------------------------------


def _of_region(
    recording: Recording, weights: Weights, stacks: StackTable, region: re.Pattern[str] | None, event: str
) -> tuple[Weights, list[Notice]]:
    """Return the weights of stacks that a region matches, with a notice when it matches every one."""
    if region is None:
        return weights, []
    with patterns.in_time(region.pattern, recording.path):
        hit = stacks.matching(region)
    keep = hit[stacks.row_of(weights.stack)]
    if not keep.any():
        raise HeadwayError(
            "HW442", path=recording.path, event=event, pattern=region.pattern, examples=stacks.examples(region.pattern)
        )
    walked = weights.stack >= 0
    notices = [Notice.of("HW444", pattern=region.pattern)] if keep[walked].all() else []
    return weights.where(keep), notices


# --- the result --------------------------------------------------------------------------------------------------------


def _profile(
    recording: Recording,
    event: str,
    span: tuple[int, int],
    weights: Weights,
    threads: _ThreadFacts,
    stacks: StackTable,
    how: tuple[bool, int | None],
    notices: list[Notice],
) -> Profile:
    by_thread, paths = how
    frames = list(stacks.frames)
    per_thread = summed(weights.thread, np.zeros_like(weights.thread), weights.weight, weights.samples)
    if by_thread:
        tree, left_out = _tree(stacks, _heaviest(weights, paths), (len(frames), per_thread.thread))
        frames += [Frame("", threads[key][1]) for key in per_thread.thread.tolist()]
    else:
        summed_weights = summed(np.zeros_like(weights.stack), weights.stack, weights.weight, weights.samples)
        tree, left_out = _tree(stacks, _heaviest(summed_weights, paths), None)
    if left_out:
        notices.append(Notice.of("HW453", event=event, count=left_out, most=MOST_NODES, frames=MOST_FRAMES))
    unsampled = cpu_time.is_unsampled(weights.stack)
    if event in (OFF_CPU, LOCK) and not recording.has("stack"):
        notices.append(Notice.of("HW445"))
    return Profile(
        event=event,
        unit=unit_of(event),
        total=int(weights.weight.sum()),
        samples=int(weights.samples.sum()),
        unwalked=int(weights.weight[(weights.stack < 0) & ~unsampled].sum()),
        unsampled=int(weights.weight[unsampled].sum()),
        mode=recording.mode,
        window_ns=span,
        frames=tuple(frames),
        tree=tree,
        threads=_threads(per_thread, threads),
        notices=(*recorded_notices(recording), *notices),
    )


def _tree(stacks: StackTable, weights: Weights, roots: tuple[int, Ints] | None) -> tuple[CallTree, int]:
    """Return the call tree of some pairs of thread and stack, and how many of them, the lightest, are put together by thread.

    It has no more than MOST_NODES. `roots`: the threads that have a node above their stacks each, in order, and the frame of the
    first.
    """
    whole, begin, rows = weights, stacks.stacks.begin, stacks.row_of(weights.stack)
    heaviest_first = np.argsort(-whole.weight, kind="stable")
    until = np.cumsum((begin[rows + 1] - begin[rows])[heaviest_first])
    most = min(int(until[-1]), MOST_FRAMES) if len(until) else 0
    while True:
        light = heaviest_first[np.searchsorted(until, most, side="right") :]
        if len(light):
            stack = whole.stack.copy()
            stack[light] = LIGHTER
            weights = summed(whole.thread, stack, whole.weight, whole.samples)
        root = None if roots is None else roots[0] + np.searchsorted(roots[1], weights.thread)
        try:
            tree = build_tree(
                stacks.stacks, stacks.row_of(weights.stack), weights.weight, root, MOST_NODES if most else None
            )
        except TooManyNodes:
            most //= 2
        else:
            return tree, len(light)


def _heaviest(weights: Weights, limit: int | None) -> Weights:
    """Return the `limit` heaviest pairs of thread and stack, and the others put together by thread."""
    if limit is None or len(weights.weight) <= limit:
        return weights
    light = np.argsort(weights.weight)[: len(weights.weight) - limit]
    stack = weights.stack.copy()
    stack[light] = LIGHTER
    return summed(weights.thread, stack, weights.weight, weights.samples)


def _threads(found: Weights, facts: _ThreadFacts) -> tuple[ThreadWeight, ...]:
    rows = [
        ThreadWeight(key if key >= 0 else None, *facts[key], weight, samples)
        for key, weight, samples in zip(
            found.thread.tolist(), found.weight.tolist(), found.samples.tolist(), strict=True
        )
    ]
    return tuple(sorted(rows, key=lambda row: (-row.weight, row.thread_id or 0)))
