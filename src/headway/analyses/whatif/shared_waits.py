"""Finds where threads waited for a connection of a pool, a permit, a read lock: for what several threads may have at once.

Question   which waits does `--no-wait PLACE` mean, and where do threads wait longest for such things?
Method     the waits that `headway why` takes for waiting for a lock (waits.wait_causes), and whose lock is none of those that
           one thread has at a time (whatif.recorded_locks). After the change they take no time: there is always one to be had.
Assumes    there are so many that nobody waits: one for each thread that waits there is enough, where each takes one at a time.
Wrong when there are fewer: who has one is not recorded, so it can't be decided anew who gets the next one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import LOCK
from headway.analyses.common.columns import distinct
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.tables import blocks
from headway.analyses.waits.tables.blocks import has_locks
from headway.analyses.waits.wait_causes import CAUSE_OF_RULE
from headway.analyses.whatif.named_waits import NamedWaits, named_waits
from headway.analyses.whatif.recorded_locks import decided_anew
from headway.analyses.whatif.waiting_steps import waiting_steps
from headway.errors import HeadwayError, Notice
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headway.analyses.whatif.types import WaitChange
    from headway.store import Recording

    Ints = NDArray[np.int64]

_IS_FOR_A_LOCK = np.array([CAUSE_OF_RULE.get(rule.id) == LOCK for rule in RULES])
"""By rule of waiting."""
_MOST_NAMES = 5


def _shared_waits(recording: Recording) -> NamedWaits:
    """Return the waits for what several threads may have. Raises HeadwayError HW430 (recorded without locks)."""
    data = blocks.load(recording, None)
    is_shared = ~decided_anew(data)[data.blocks.blocker] & _IS_FOR_A_LOCK[sites_of(data).rule]
    return named_waits(data, np.flatnonzero(is_shared))


def changed_waits(recording: Recording, steps: Mapping[str, Ints], changes: tuple[WaitChange, ...]) -> Ints:
    """Return the steps whose waits take no time after changes, given the program's steps (RunSteps.program_steps).

    Raises HeadwayError HW430 (recorded without locks), HW900 (nobody waited there for such a thing), HW901 (virtual threads did).
    """
    waits = _shared_waits(recording)
    data, origin = waits.data, recording.window_ns[0]
    found = []
    for each in changes:
        rows = waits.called(each.place)
        if not len(rows):
            raise HeadwayError("HW900", path=recording.path, place=each.place, there=_others(waits, each.place))
        if np.any(data.blocks.thread[rows] >= data.platform_threads):
            raise HeadwayError("HW901", path=recording.path, place=each.place)
        began, full = data.blocks.began[rows] + origin, data.blocks.full[rows] + origin
        at = waiting_steps(steps, data.blocks.thread[rows].astype(np.int64), began, full)
        found.append(np.asarray(steps["step"][at], np.int64))
    return distinct(np.concatenate(found))


def enough(recording: Recording, changes: tuple[WaitChange, ...]) -> list[Notice]:
    """Return notices of how many of what is waited for are enough for a prediction to hold, for each of some changes."""
    waits = _shared_waits(recording) if changes else None
    found = []
    for each in changes if waits is not None else ():
        assert waits is not None
        threads = len(distinct(waits.data.blocks.thread[waits.called(each.place)].astype(np.int64)))
        found.append(Notice.of("HW902", path=recording.path, place=each.place, threads=threads))
    return found


def longest(recording: Recording, count: int) -> list[str]:
    """Return the places at which platform threads wait longest for what several may have, all added up."""
    if not has_locks(recording):
        return []
    waits = _shared_waits(recording)
    of, length = waits.data.blocks, (waits.data.blocks.end - waits.data.blocks.start)[waits.rows]
    is_virtual = (of.thread >= waits.data.platform_threads)[waits.rows]
    waited_ns = np.zeros(len(waits.names), np.int64)
    np.add.at(waited_ns, waits.number[~is_virtual], length[~is_virtual])
    sums: dict[str, int] = {}
    for names, ns in zip(waits.names, waited_ns.tolist(), strict=True):
        if names:
            place = names[-2] if len(names) > 1 else names[0]  # the line at which the object is waited for most
            sums[place] = sums.get(place, 0) + ns
    virtual = {name for i in distinct(waits.number[is_virtual]).tolist() for name in waits.names[i]}
    return sorted((place for place in sums if place not in virtual and sums[place] > 0), key=lambda each: -sums[each])[
        :count
    ]


def _others(waits: NamedWaits, place: str) -> str:
    """Return where threads did wait for such things, the places that are called nearly alike first."""
    every = dict.fromkeys(name for names in waits.names for name in names)
    near = nearest_first(place, every, _MOST_NAMES) if every else []
    return f"; they did at: {', '.join(near)}" if near else "; they did nowhere"
