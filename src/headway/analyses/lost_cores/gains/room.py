"""Limits a replay's gain to what the cores allowed: waiters that no longer wait need a free core for what they would do.

Question   a replay lets every thread go on where it waited, as if there were a core for each. How much of that is possible?
Method     when a waiter does not wait for this, it needs a core for the part of its time in which it is active; the rest (sleep,
           I/O, other waits) goes on without one. It uses the part of a core for which it runs. In each time bin there is as
           much for all waiters as there are cores that nobody of the program wanted (account.course); what finds none
           there is computed in a later bin. So of the replayed
           gain the part that needs no core is possible, and of the other one as much as there were cores.
Assumes    what a thread does after a wait is what it does on average.
Wrong when the thread that comes last gets its share of busy cores at the cost of those that come early: the gain is then larger.
           How much virtual threads work is not known: they are taken to need no core.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import numbered

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.gains.bounds import BoundInputs
    from headway.analyses.lost_cores.gains.kernel_times import KernelTimes

    Ints = NDArray[np.int64]
    Spans = tuple[Ints, Ints, Ints]


def possible_ns(
    replayed_ns: Sequence[int],
    spans: Sequence[Spans],
    inputs: BoundInputs,
    times: KernelTimes,
    life: Callable[[int], tuple[int, int]],
    window: tuple[int, int],
    platform_threads: int,
) -> list[int]:
    """Return what of each replayed gain is possible. `spans`: for each of them the waits (thread, start, end) that vanish.

    Threads from `platform_threads` on are virtual.
    """
    threads = {thread for of, _, _ in spans for thread in numbered(of[of < platform_threads])[0].tolist()}
    active = times.active(threads, window)
    return [_possible(ns, of, inputs, active, life, window) for ns, of in zip(replayed_ns, spans, strict=True)]


def _possible(
    replayed_ns: int,
    spans: Spans,
    inputs: BoundInputs,
    active: Mapping[int, tuple[int, int]],
    life: Callable[[int], tuple[int, int]],
    window: tuple[int, int],
) -> int:
    thread, start, end = spans
    start, end = np.maximum(start, window[0]), np.minimum(end, window[1])
    keep = end > start
    thread, start, end = thread[keep], start[keep], end[keep]
    waited_ns = float((end - start).sum())
    if not waited_ns or inputs.course is None:
        return replayed_ns
    used_ns = active_ns = 0.0
    threads, at = numbered(thread)
    waits = np.bincount(at, weights=end - start)
    known = np.isin(threads, np.fromiter(active, np.int64, len(active)))
    for one, waited in zip(threads[known].tolist(), waits[known].tolist(), strict=True):
        born, died = life(one)
        rest = min(died, window[1]) - max(born, window[0]) - waited
        ran, wanted = (min(1.0, ns / max(rest, 1)) for ns in active[one])
        used_ns, active_ns = used_ns + waited * ran, active_ns + waited * wanted
    room_ns = inputs.course.room_ns(start, end, used_ns / waited_ns)
    had_room = room_ns / used_ns if used_ns else 1.0
    return round(replayed_ns * (1 - active_ns / waited_ns * (1 - had_room)))
