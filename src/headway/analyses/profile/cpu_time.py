"""CPU time by thread and stack that sums to each thread's exact running time; time without samples is kept apart.

Question   where was CPU time used, and how much of it did no sample see?
Method     the table `slice` says how long each thread executed inside a window, to the ns. A sample of the CPU stands for what
           its thread executed before it, as much as its weight says: at the borders of a window it counts for the part inside,
           also where the sample itself comes after the end. What is left of a thread's time is no sample's: of a thread that
           ended before its first sample, after a thread's last one, or before the sampler began.
Exact      the weights of a thread add up to its executed time in every window, and windows side by side to the window of both.
Assumes    that stolen time falls evenly on a running interval that a window's border cuts.
Checked    tests/property/test_profile_cpu.py.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.stacks.sources import NO_THREAD, UNWALKED, Weights, note_number, sampled, summed
from headway.errors import Notice
from headway.model.cpu_events import CPU_TIME_EVENTS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from headway.store import Recording

    Ints = NDArray[np.int64]

CPU = "cpu"
WORTH_SAYING = 0.05
"""Share of the CPU time without a sample from which on a notice says so."""
_SHOWN = 3
_NUMBER = re.compile(r"(?<![A-Za-z0-9])#?\d++(?![A-Za-z0-9])|(#|(?<!\d))\d++$")
"""Numbers that tell threads of one kind apart; those inside words stay (C2, http2)."""


def is_exact(recording: Recording) -> bool:
    """Return whether the recording has both CPU samples taken by headway and exact running times."""
    return _was_sampled(recording) and recording.has("slice") and recording.has("sample")


def weights(recording: Recording, window: tuple[int, int] | None) -> tuple[Weights, tuple[str, ...]]:
    """Return CPU time by thread and stack (of a window, in ns from the recording's start), and its own notes' texts.

    Stacks from `note_number(0)` down stand for these texts: time of a thread that no sample is of.
    """
    found = sampled(recording, CPU, window)
    if not is_exact(recording):
        return found, ()
    if window is not None:
        window = _open_ended(recording, window)
    executed = _executed(recording, window)
    if window is not None:
        found = _cut(recording, found, window, executed)
    return _completed(recording, found, executed)


def _open_ended(recording: Recording, window: tuple[int, int]) -> tuple[int, int]:
    """Return a window without a border where it begins or ends as the recording does: stored times end up to 32 ns later."""
    beyond = 1 << 40
    return window[0] or -beyond, window[1] + (beyond if window[1] == recording.wall_ns else 0)


def notices(recording: Recording, found: Weights, texts: Sequence[str]) -> list[Notice]:
    """Return notices about these weights: how much time has no sample, or that this is unknown."""
    if not is_exact(recording):
        is_nominal = _was_sampled(recording) and not recording.has("slice")
        return [Notice.of("HW451", path=recording.path, mode=recording.mode)] if is_nominal else []
    unsampled = found.weight[is_unsampled(found.stack)]
    share = int(unsampled.sum()) / max(1, int(found.weight.sum()))
    if share < WORTH_SAYING:
        return []
    sums = np.zeros(len(texts), np.int64)
    np.add.at(sums, note_number(0) - found.stack[is_unsampled(found.stack)], unsampled)
    order = [i for i in np.argsort(-sums, kind="stable").tolist() if sums[i]]
    names = [texts[i].removeprefix("(not sampled: ").removesuffix(")") for i in order[:_SHOWN]]
    who = ", ".join(names) + (f" and {len(order) - _SHOWN} others" if len(order) > _SHOWN else "")
    return [Notice.of("HW449", path=recording.path, share=share, who=who)]


def is_unsampled(stack: Ints) -> NDArray[np.bool_]:
    """Return which stack numbers stand for time without samples."""
    return stack <= note_number(0)


def pattern_of(name: str) -> str:
    """Return a thread's name with numbers replaced by #, so that threads of one kind share it: task-17 is task-#."""
    return _NUMBER.sub("#", name)


def _was_sampled(recording: Recording) -> bool:
    asked = recording.manifest.extra.get("sampling") or {}
    return any(event in CPU_TIME_EVENTS for event in asked.get("events", ()))


# --- what threads executed -------------------------------------------------------------------------------------------


def _until(at: str) -> str:
    """Return SQL for what a slice s had executed by a moment: whole at its end, so that spans side by side add up."""
    share = (
        f"(GREATEST(s.start_ns, LEAST(s.start_ns + s.running_ns, {at})) - s.start_ns) / CAST(s.running_ns AS DOUBLE)"
    )
    return f"CAST(FLOOR((s.running_ns - COALESCE(s.stolen_ns, 0)) * ({share})) AS BIGINT)"


def _executed(recording: Recording, window: tuple[int, int] | None) -> dict[int, int]:
    """Return what each thread executed, in ns, by thread_id; each one that the table `slice` knows is there."""
    idle: dict[int, int] = {}
    if window is None:
        text = "SELECT thread_id, SUM(running_ns - COALESCE(stolen_ns, 0)) FROM slice GROUP BY 1"
    else:
        idle = {int(thread): 0 for (thread,) in recording.query("SELECT DISTINCT thread_id FROM slice").fetchall()}
        low, high = (recording.window_ns[0] + each for each in window)
        text = (
            f"SELECT s.thread_id, SUM({_until(str(high))} - {_until(str(low))}) FROM slice s WHERE s.running_ns > 0"
            f" AND s.start_ns < {high} AND s.start_ns + s.running_ns > {low} GROUP BY 1"
        )
    return idle | {int(thread): int(ns) for thread, ns in recording.query(text).fetchall()}


# --- samples at the borders of a window ------------------------------------------------------------------------------


def _cut(recording: Recording, found: Weights, window: tuple[int, int], executed: dict[int, int]) -> Weights:
    """Count the first sample of each thread inside a window from its begin on, and the first one after it until its end."""
    low, high = (recording.window_ns[0] + each for each in window)
    first = _first_samples(recording, low, high)
    beyond = _first_samples(recording, high, None)
    before = _between(recording, low, {thread: each[0] for thread, each in first.items() if thread in executed})
    after = _between(recording, high, {thread: each[0] for thread, each in beyond.items() if thread in executed})
    rows: list[tuple[int, int, int]] = []
    for thread, (_, weight, stack) in first.items():
        if weight > before.get(thread, weight):
            rows.append((thread, stack, before[thread] - weight))
    for thread, (_, weight, stack) in beyond.items():
        if weight > after.get(thread, weight):  # never more than the window has: it may begin before that
            rows.append((thread, stack, min(weight - after[thread], executed[thread])))
    if not rows:
        return found
    thread_, stack_, weight_ = np.array(rows, dtype=np.int64).T
    return summed(
        *(
            np.concatenate(pair)
            for pair in (
                (found.thread, thread_),
                (found.stack, stack_),
                (found.weight, weight_),
                (found.samples, np.zeros(len(rows), np.int64)),
            )
        )
    )


def _first_samples(recording: Recording, low: int, high: int | None) -> dict[int, tuple[int, int, int]]:
    """Return the first CPU sample with a weight of each thread from `low` on, before `high`: (ns, weight, stack)."""
    chosen = f"event = '{CPU}' AND weight > 0 AND thread_id IS NOT NULL AND ns >= {low}"
    if high is not None:
        chosen += f" AND ns < {high}"
    rows = recording.query(
        f"SELECT s.thread_id, s.ns, MAX(s.weight), CAST(ARG_MAX(COALESCE(s.stack_id, {UNWALKED}), s.weight) AS BIGINT)"
        f" FROM sample s JOIN (SELECT thread_id, MIN(ns) AS ns FROM sample WHERE {chosen} GROUP BY 1) f"
        f" ON s.thread_id = f.thread_id AND s.ns = f.ns WHERE s.event = '{CPU}' AND s.weight > 0 GROUP BY 1, 2"
    ).fetchall()
    return {thread: (ns, weight, stack) for thread, ns, weight, stack in rows}


def _between(recording: Recording, low: int, until: dict[int, int]) -> dict[int, int]:
    """Return what each of some threads executed from `low` to a moment of its own, in ns."""
    if not until:
        return {}
    values = ", ".join(f"({thread}, {ns})" for thread, ns in until.items())
    rows = recording.query(
        f"SELECT s.thread_id, SUM({_until('c.ns')} - {_until(str(low))}) FROM slice s"
        f" JOIN (VALUES {values}) c(thread_id, ns) ON s.thread_id = c.thread_id"
        f" WHERE s.running_ns > 0 AND s.start_ns < {max(until.values())} AND s.start_ns + s.running_ns > {low} GROUP BY 1"
    ).fetchall()
    return dict.fromkeys(until, 0) | {int(thread): int(ns) for thread, ns in rows}


# --- what has no sample ----------------------------------------------------------------------------------------------


def _completed(recording: Recording, found: Weights, executed: dict[int, int]) -> tuple[Weights, tuple[str, ...]]:
    """Make each thread's weights add up to what it executed: the rest has no sample."""
    threads = np.array(sorted(executed), dtype=np.int64)
    exact = np.array([executed[thread] for thread in threads.tolist()], dtype=np.int64)
    is_known = np.isin(found.thread, threads) & (found.thread != NO_THREAD)
    trimmed = _trimmed(found, is_known, dict(zip(threads.tolist(), exact.tolist(), strict=True)))
    sums = np.zeros(len(threads), np.int64)
    np.add.at(sums, np.searchsorted(threads, trimmed.thread[is_known]), trimmed.weight[is_known])
    rest = exact - sums
    keep = rest > 0
    return with_unsampled(recording, trimmed, threads[keep], rest[keep])


def with_unsampled(recording: Recording, found: Weights, threads: Ints, rest: Ints) -> tuple[Weights, tuple[str, ...]]:
    """Return weights with what threads have that no sample is of, and the texts that these stacks stand for."""
    names = labels(recording)
    texts: dict[str, int] = {}
    numbers = [texts.setdefault(names.get(thread, "(not sampled)"), len(texts)) for thread in threads.tolist()]
    joined = summed(
        np.concatenate([found.thread, threads]),
        np.concatenate([found.stack, note_number(0) - np.array(numbers, dtype=np.int64)]),
        np.concatenate([found.weight, rest]),
        np.concatenate([found.samples, np.zeros(len(threads), np.int64)]),
    )
    return joined, tuple(texts)


def _trimmed(found: Weights, is_known: NDArray[np.bool_], executed: dict[int, int]) -> Weights:
    """Take from a thread's heaviest stacks what its samples have beyond what it executed: times are stored in steps of 32 ns."""
    weight = found.weight.copy()
    order = np.lexsort((-weight, found.thread))
    order = order[is_known[order]]
    if not len(order):
        return found
    begins = np.flatnonzero(np.diff(found.thread[order], prepend=-(1 << 60)))
    sums = np.add.reduceat(weight[order], begins)
    for begin, count, total in zip(
        begins.tolist(), np.diff(begins, append=len(order)).tolist(), sums.tolist(), strict=True
    ):
        beyond = total - executed[int(found.thread[order[begin]])]
        for row in order[begin : begin + count].tolist() if beyond > 0 else ():
            taken = min(beyond, int(weight[row]))
            weight[row] -= taken
            beyond -= taken
    return Weights(found.thread, found.stack, weight, found.samples)


def labels(recording: Recording) -> dict[int, str]:
    """Return for each thread_id the label of its time without samples."""
    jvms = {jvm.get("pid") for jvm in recording.manifest.jvms}
    rows = recording.query("SELECT thread_id, pid, name, comm FROM thread").fetchall()
    return {
        thread: f"(not sampled: {'thread ' + pattern_of(name or '') if pid in jvms else 'process ' + (comm or name or '')})"
        for thread, pid, name, comm in rows
    }
