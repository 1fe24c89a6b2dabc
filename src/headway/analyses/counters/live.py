"""What the threads of a running program counted between two looks at them.

Question   how many cycles, misses, page faults ... each thread of a process counts now, recorded or not.
Method     differences of two readings of each thread's own counters; each is as one slice of a recording, so that figures, their
           intervals and what is withheld are made in the same way.
Assumes    groups are read one after the other while the thread runs on, within some microseconds; a group's events at one moment.
Wrong when threads begin and end between two looks: a tenth of a second, or more with very many threads. What such threads
           used is told where it is more than a fifth of the time of the process; what a thread ran before it was first
           seen has no counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.counters.layout import Layout
from headway.analyses.counters.rows import Columns, imbalances
from headway.analyses.counters.slices import Slices
from headway.analyses.counters.sums import Sums
from headway.analyses.counters.types import CountedGroup, Counters
from headway.errors import Notice

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.model.thread_counts import ProcessCounts, ThreadCounts, Totals

_UNSEEN = 0.2
"""Of the process's time. Clocks that are read at each switch and at each wake-up differ by half as much in the worst case."""
_BETWEEN = "(threads between looks)"


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
    keys: list[Mapping[str, str | int]] = []
    is_app: list[bool] = []
    parts: list[tuple[int, int, Totals | None]] = []
    for (tid, start), thread in now.threads.items():
        known, unknown_ns = _between(before.threads.get((tid, start)), thread, groups)
        parts += [(len(keys), known[0][1], known)] if known is not None else []
        parts += [(len(keys), unknown_ns, None)] if unknown_ns > 0 else []
        keys.append({"pid": now.pid, "tid": tid, "name": thread.name, "kind": thread.kind})
        is_app.append(thread.kind == "app")
    unseen_ns = _unseen_ns(before, now, sum(ran for _, ran, _ in parts))
    if unseen_ns:
        parts.append((len(keys), unseen_ns, None))
        keys.append({"pid": now.pid, "tid": -1, "name": _BETWEEN, "kind": "app"})
        is_app.append(False)
    there = Layout(step, _groups(groups, parts), tuple(absent))
    sums = Sums(len(keys), 1, there)
    if parts:
        slices = _slices(parts, there)
        sums.add(slices, slices.thread_id, slices.running_ns, np.zeros(len(parts), np.int64))
    rows = Columns(sums, there, of_set, np.zeros(len(keys)))
    ran = np.flatnonzero(sums.cpu_ns > 0).tolist()
    ordered = sorted((rows.row(number, keys[number]) for number in ran), key=lambda row: -row.cpu_ns)
    total = Columns(sums.whole(), there, of_set, np.zeros(1)).row(0, {})
    uneven = imbalances(sums, np.array(is_app, np.bool_), there) if ran else {}
    notices = []
    if now.left_out:
        notices.append(Notice.of("HW115", pid=now.pid, count=now.left_out, reason=now.why))
    window = before.now_ns - since_ns, now.now_ns - since_ns
    return Counters(step, "thread", window, there.groups, total, tuple(ordered), uneven, there.absent, tuple(notices))


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


def _unseen_ns(before: ProcessCounts, now: ProcessCounts, seen_ns: int) -> int:
    """Return what the process used beside what its threads are known to have run; 0 where that may be how clocks differ."""
    if before.cpu_ns is None or now.cpu_ns is None:
        return 0
    used = now.cpu_ns[0] - before.cpu_ns[1]  # to read very many threads takes long: this much at least lies in between
    return used - seen_ns if used - seen_ns > _UNSEEN * used else 0


def _groups(
    groups: Sequence[Sequence[str]], parts: Sequence[tuple[int, int, Totals | None]]
) -> tuple[CountedGroup, ...]:
    """Return the groups, and for how long each could count and did, over all threads."""
    found, first = [], 0
    for events in groups:
        of = [known[first] for _, _, known in parts if known is not None]
        found.append(CountedGroup(tuple(events), sum(each[1] for each in of), sum(each[2] for each in of)))
        first += len(events)
    return tuple(found)


def _slices(parts: Sequence[tuple[int, int, Totals | None]], there: Layout) -> Slices:
    """Return stretches of running as slices: those that are not known have counts below zero."""
    nothing = ((-1, 0, 0),) * len(there.events)
    totals = np.array([known or nothing for _, _, known in parts], np.int64).reshape(len(parts), -1, 3)
    firsts = [there.group_of.index(number) for number in range(len(there.groups))]
    key, ran = (np.array([each[place] for each in parts], np.int64) for place in (0, 1))
    zeros = np.zeros(len(parts), np.int64)
    # A group that never counted did not for all of the time, whatever its clock read a moment later than the first one's.
    did = totals[:, firsts, 2]
    uncounted = np.where(did > 0, np.maximum(totals[:, firsts, 1] - did, 0), ran[:, None])
    return Slices(
        key, zeros, zeros, ran, totals[:, :, 0], uncounted, np.array([known is not None for *_, known in parts])
    )
