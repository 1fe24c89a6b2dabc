"""Finds where threads waited for room in a bounded queue, and which of those waits a larger queue ends.

Question   which waits does `--queue NAME=1000` mean, and what is known of how much room the queue needs without them?
Method     a wait for room is one under put, offer or the like of a queue (waits.rules). Without it the thread puts its element in
           at once, and computes on. The replay counts how many of those waits are ahead of the thread that ended them in the
           recording: each is an element, at least, beyond what the queue had room for.
Interval   to the run with the waits: how much room the queue had is not recorded, nor how many elements were put in between.
Assumes    the queue is so large that nobody waits for room.
Wrong when it is not: then threads wait later, for less.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import distinct, places_of
from headway.analyses.common.units import duration
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.tables import blocks
from headway.analyses.waits.tables.blocks import has_locks
from headway.analyses.whatif.named_waits import NamedWaits, named_waits
from headway.analyses.whatif.waiting_steps import waiting_steps
from headway.errors import HeadwayError, Notice
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headway.analyses.waits.tables.blocks import LockData
    from headway.analyses.whatif.types import QueueChange
    from headway.store import Recording

    Ints = NDArray[np.int64]

_FULL = [rule.id for rule in RULES].index("queue-full")
_HANDS_OVER = ("SynchronousQueue", "LinkedTransferQueue", "Exchanger")
"""Queues without room: whoever puts something in waits for the one that takes it."""
_MOST_NAMES = 5
_MOST_TRIED = 20
"""Names that are tried for an offer of so many."""
MOST_UNKNOWN = 0.1
"""Part of the waiting for room of which no thread is known to have ended it: by polling, or in a ring of its own making."""
POLLING_TELLS = 0.1
"""Part of the time that a thread waited for room by looking again and again, above which HW903 is shown."""
_LEAST_LOOKS = 3
LONGEST_LOOK_NS = 50_000_000
"""A wait until a time that is longer ends with the thread giving up."""


def changed_queues(recording: Recording, steps: Mapping[str, Ints], changes: tuple[QueueChange, ...]) -> Ints:
    """Return the steps whose waits a change ends, given the program's steps (RunSteps.program_steps).

    Raises HeadwayError HW430 (recorded without locks), HW884 (nobody waited for room there), HW885 (it can't be told).
    """
    queues = _full_queues(recording)
    found = [_steps_in(recording, queues.data, queues.called(each.queue), steps, each) for each in changes]
    for each, of_change in zip(changes, found, strict=True):
        if not len(of_change):
            raise HeadwayError(
                "HW884", path=recording.path, queue=each.queue, there=_others(recording, queues, steps, each)
            )
    return distinct(np.concatenate(found))


def polling_for_room(recording: Recording, window: tuple[int, int] | None = None) -> Notice | None:
    """Return the notice that a thread looked again and again for room in a queue, if it did so for long.

    `window`: (from, to) in ns from the recording's start, None: all of it. A wait until a time that is longer than a look is
    no polling: the thread gives up then, as in offer(e, 5, SECONDS).
    """
    if not has_locks(recording):
        return None
    begin, end = window or (0, recording.wall_ns)
    data = blocks.load(recording, None)
    sites, of = sites_of(data), data.blocks
    is_look = (sites.rule == _FULL) & of.is_timed & (of.waker < 0) & (of.thread < data.platform_threads)
    length = np.minimum(of.full, end) - np.maximum(of.began, begin)
    rows = np.flatnonzero(is_look & (length > 0) & (of.full - of.began <= LONGEST_LOOK_NS))
    by_thread = [(int(length[rows[at]].sum()), len(at)) for _, at in places_of(of.thread[rows].astype(np.int64))]
    if not any(ns > POLLING_TELLS * (end - begin) and count >= _LEAST_LOOKS for ns, count in by_thread):
        return None
    waited = named_waits(data, rows[[int(length[rows].argmax())]])
    facts = {"time": duration(int(length[rows].sum())), "count": len(rows), "place": waited.names[0][0]}
    return Notice.of("HW903", path=recording.path, **facts)


def _others(recording: Recording, queues: NamedWaits, steps: Mapping[str, Ints], change: QueueChange) -> str:
    """Return the queues that can be asked for instead, those that are called nearly alike first; none that would be refused."""
    every = dict.fromkeys(name for names in queues.names for name in names)
    if not every:
        return "; nobody waited for room in any"
    near = nearest_first(change.queue, every, _MOST_TRIED)
    offered = [name for name in near if _is_known(recording, queues, steps, replace(change, queue=name))]
    return (
        f"; there are: {', '.join(offered[:_MOST_NAMES])}"
        if offered
        else "; of no other is it known what room would bring"
    )


def _is_known(recording: Recording, queues: NamedWaits, steps: Mapping[str, Ints], change: QueueChange) -> bool:
    """Return whether the waits for room in a queue can be left out."""
    try:
        return bool(len(_steps_in(recording, queues.data, queues.called(change.queue), steps, change)))
    except HeadwayError:
        return False


def _full_queues(recording: Recording) -> NamedWaits:
    """Return the waits for room of a recording."""
    data = blocks.load(recording, None)
    return named_waits(data, np.flatnonzero(sites_of(data).rule == _FULL))


def _steps_in(recording: Recording, data: LockData, rows: Ints, steps: Mapping[str, Ints], change: QueueChange) -> Ints:
    """Return the steps that waited during some blocks. Raises HeadwayError HW885."""
    if not len(rows):
        return np.zeros(0, np.int64)
    sites, of_queue = sites_of(data), data.blocks.blocker[rows]
    calls = {name.rpartition(".")[2] for stack in set(sites.stack[rows].tolist()) for name, _, _ in data.frames(stack)}
    calls |= {data.blockers.class_name(blocker).rpartition(".")[2] for blocker in set(of_queue.tolist())}
    if any(call.split("$")[0] in _HANDS_OVER for call in calls):
        raise _unknown(recording, change, "it has no room: whoever puts something in waits for who takes it")
    if np.any(data.blocks.thread[rows] >= data.platform_threads):
        raise _unknown(recording, change, "virtual threads waited for room, and their carriers went on meanwhile")
    origin = recording.window_ns[0]
    began, full = data.blocks.began[rows] + origin, data.blocks.full[rows] + origin
    chosen = waiting_steps(steps, data.blocks.thread[rows].astype(np.int64), began, full)
    length = steps["woken_ns"][chosen] - steps["begin_ns"][chosen]
    unknown = int(length[steps["is_by_thread"][chosen] == 0].sum())
    if unknown > MOST_UNKNOWN * int(length.sum()):
        raise _unknown(recording, change, "nobody is known to have made the room")
    return np.asarray(steps["step"][chosen], np.int64)


def _unknown(recording: Recording, change: QueueChange, reason: str) -> HeadwayError:
    return HeadwayError("HW885", path=recording.path, queue=change.queue, reason=reason)
