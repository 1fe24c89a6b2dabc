"""Answers `headway counters --pid`: what the threads of a running program counted between two readings of their counters.

Question   how many cycles, misses, page faults ... each thread of a process counts now, recorded or not.
Method     differences of two readings of each thread's own counters; each is as one slice of a recording, so that figures, their
           intervals and what is withheld are made in the same way.
Assumes    groups are read one after the other while the thread runs on, within some microseconds; a group's events at one moment.
Wrong when threads begin and end between two looks: a tenth of a second, or more with very many threads. What such threads
           used is told where it is more than a fifth of the time of the process. The total is exact only where the CPU time of
           the process is that of its threads, but for a hundredth or 10 ms; else, and when it has ended, it is the least that
           there was. What a thread ran before it was first seen has no counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from headway.analyses.counters.totals.thread_parts import UNSEEN, Key, ThreadParts, are_all, figures, unseen_ns
from headway.analyses.counters.types import Counters
from headway.errors import Notice

if TYPE_CHECKING:
    from headway.model.thread_counts import ProcessCounts, ThreadCounts, Totals


def live_counters(
    before: ProcessCounts,
    now: ProcessCounts,
    groups: Sequence[Sequence[str]],
    step: str,
    absent: Sequence[tuple[str, str]] = (),
    of_set: str | None = None,
    *,
    since_ns: int = 0,
) -> Counters:
    """Return the counts of each thread of a running process between two readings of its counters.

    The answer's window is told from `since_ns` on, as is that of a recording from its start.
    """
    threads = ThreadParts()
    for (tid, start), thread in now.threads.items():
        known, unknown_ns = _between(before.threads.get((tid, start)), thread, groups)
        key: Key = {"pid": now.pid, "tid": tid, "name": thread.name, "kind": thread.kind}
        threads.add(key, known, unknown_ns, is_app=thread.kind == "app")
    is_whole = _are_all(before, now, threads.ran_ns)
    if beside_ns := _unseen_ns(before, now, threads.ran_ns):
        threads.add({"pid": now.pid, "tid": -1, "name": UNSEEN, "kind": "app"}, None, beside_ns, is_app=False)
    found = figures(threads, groups, step, of_set, is_whole=is_whole)
    notices = []
    if now.left_out:
        notices.append(Notice.of("HW115", pid=now.pid, count=now.left_out, reason=now.why))
    window = before.now_ns - since_ns, now.now_ns - since_ns
    return Counters(
        step, "thread", window, found.groups, found.total, found.rows, found.imbalance, tuple(absent), tuple(notices)
    )


def _between(
    before: ThreadCounts | None, now: ThreadCounts, groups: Sequence[Sequence[str]]
) -> tuple[Totals | None, int]:
    """Return what a thread counted since the reading before, None for nothing known, and how long it ran uncounted."""
    unknown_ns = now.uncounted_ns - (before.uncounted_ns if before is not None else 0)
    if now.totals is None:
        return None, unknown_ns
    nothing = ((0, 0, 0),) * sum(map(len, groups))
    earlier = before.totals if before is not None and before.totals is not None else nothing
    pairs = zip(now.totals, earlier, strict=True)
    known = tuple((value - v, enabled - e, ran - r) for (value, enabled, ran), (v, e, r) in pairs)
    return (known, unknown_ns) if known[0][1] > 0 else (None, unknown_ns)


def _are_all(before: ProcessCounts, now: ProcessCounts, seen_ns: int) -> bool:
    """Return whether the process used as much as its threads ran: then none of them came and went between two looks.

    A process that did not run at all has none either. What one used that has ended is not known.
    """
    if before.cpu_ns is None or now.cpu_ns is None:
        return False
    used = now.cpu_ns[1] - before.cpu_ns[0]  # so much at most
    return used <= 0 or are_all(used, seen_ns)


def _unseen_ns(before: ProcessCounts, now: ProcessCounts, seen_ns: int) -> int:
    """Return what the process used beside what its threads are known to have run; 0 where that may be how clocks differ."""
    if before.cpu_ns is None or now.cpu_ns is None:
        return 0
    used = now.cpu_ns[0] - before.cpu_ns[1]  # to read very many threads takes long: this much at least lies in between
    return unseen_ns(used, seen_ns)
