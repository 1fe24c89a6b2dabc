"""Loads who had which exclusive lock when, for replays in which that is decided anew (native/replay/lock_acquisitions.h).

Question   which locks of a recording can be replayed, what are they called, and who acquired them when?
Method     monitors, and the locks of java.util.concurrent that one thread has at a time, from their waits and holds
           (waits.tables.blocks). Named as `headway locks` names them: by object, or by the line at which threads wait for them.
Assumes    that acquisitions which nobody waited for before or meanwhile, which are not recorded, stay so.
Wrong when they do not: on more cores than recorded, or where threads come to the lock much more often.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.causes import LOCK
from headway.analyses.waits.classification.sites import sites_of
from headway.analyses.waits.object_names import display
from headway.analyses.waits.object_places import object_places
from headway.analyses.waits.rules import RULES
from headway.analyses.waits.tables import blocks
from headway.analyses.waits.tables.blocks import KINDS
from headway.analyses.waits.wait_causes import CAUSE_OF_RULE
from headway.analyses.whatif.named_waits import goes_by
from headway.model.interruptible import interruptible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from headway import _native
    from headway.analyses.waits.classification.sites import Sites
    from headway.analyses.waits.object_places import ObjectPlaces
    from headway.analyses.waits.tables.blocks import LockData
    from headway.store import Recording

    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_MONITOR, _WAIT, _PARK = (KINDS.index(kind) for kind in ("monitor", "wait", "park"))
_EXCLUSIVE = re.compile(r"(.*[.$])?ReentrantLock\$(?P<policy>Fair|Nonfair)Sync")
MOST_LOCKS = 5000
"""Locks that are replayed, those waited for longest; waits for others are over when whoever ended them comes there."""
_FAR_NS = 1 << 62


@dataclass(frozen=True, eq=False)
class RecordedLocks:
    """The exclusive locks of a recording, numbered from 0. `place` is the line at which a lock is waited for, '' unknown.

    `rows`: of each in LockData.blockers. `others`: name and place of what was waited for and is no exclusive lock.
    `others_ns`: by place, how long threads waited there for locks and pools of which it is not known who has them, the longest
    first.
    `waited_ns`: by lock, thread time. `is_whole`: every wait was read.
    """

    acquired: _native.LockAcquisitions
    rows: Ints
    name: tuple[str, ...]
    place: tuple[str, ...]
    is_fair: Bools
    waited_ns: Ints
    others: frozenset[tuple[str, str]]
    is_whole: bool
    others_ns: Mapping[str, int] = field(default_factory=dict)

    def __len__(self) -> int:
        """Return how many there are."""
        return len(self.name)

    def numbers(self, text: str) -> list[int]:
        """Return the locks that go by a name, its end after @, or a place, with or without its package and line."""
        pairs = zip(self.name, self.place, strict=True)
        return [i for i, (name, place) in enumerate(pairs) if _goes_by(text.strip(), name, place)]

    def is_other(self, text: str) -> bool:
        """Return whether what goes by a name was waited for, but is no exclusive lock."""
        return any(_goes_by(text.strip(), name, place) for name, place in self.others)

    def other_ns(self, text: str) -> int:
        """Return how long threads waited at a place, with or without its package, for what is no exclusive lock."""
        return sum(ns for place, ns in self.others_ns.items() if _goes_by(text.strip(), "", place))

    def names(self) -> list[str]:
        """Return places and names, those waited for longest first."""
        order = np.argsort(-self.waited_ns, kind="stable").tolist()
        return list(dict.fromkeys(text for i in order for text in (self.place[i], self.name[i]) if text))


def recorded_locks(recording: Recording, window: tuple[int, int] | None = None) -> RecordedLocks:
    """Load the locks of a recording, and who got them in a window (ns from the recording's start, None: in all of it).

    Raises HeadwayError HW430 (recorded without locks) or HW402 (no recorded span).
    """
    data = blocks.load(recording, None)
    sites = sites_of(data)
    places = object_places(data, sites)
    rows = _exclusive(data)
    number = np.full(len(data.blockers) + 1, -1, np.int64)
    number[rows] = np.arange(len(rows))
    waits_of = _monitors_of_waits(data, rows)
    number_with_waits = number.copy()
    for wait, monitor in waits_of.items():
        number_with_waits[wait] = number[monitor]
    acquired = _acquisitions(recording, data, number, number_with_waits, window)
    table = data.blockers.table
    names = {
        row: display(str(table["class_name"][row]), int(table["identity_hash"][row]))
        for row in np.flatnonzero(data.blockers.is_object).tolist()
    }
    is_fair = [_policy(str(table["class_name"][row])) == "Fair" for row in rows.tolist()]
    others = {(name, places.text(row) or "") for row, name in names.items() if number[row] < 0 and row not in waits_of}
    return RecordedLocks(
        acquired,
        rows,
        tuple(names[row] for row in rows.tolist()),
        tuple(places.text(row) or "" for row in rows.tolist()),
        np.array(is_fair, bool),
        np.asarray(table["thread_time_ns"][rows], np.int64),
        frozenset(others),
        data.not_read == 0,
        _others_ns(data, sites, number_with_waits < 0, places, names),
    )


def decided_anew(data: LockData) -> Bools:
    """Return by row of LockData.blockers whether it is a lock of which a replay decides anew who has it, or its Object.wait."""
    rows = _exclusive(data)
    found = np.zeros(len(data.blockers), bool)
    found[rows] = True
    found[list(_monitors_of_waits(data, rows))] = True
    return found


def _acquisitions(
    recording: Recording, data: LockData, number: Ints, number_with_waits: Ints, window: tuple[int, int] | None
) -> _native.LockAcquisitions:
    """Return who waited for, and who had, which lock when; by row of LockData.blockers the number of its lock, -1 for none.

    `number_with_waits`: also of what Object.wait waits for, which is the monitor's. Of a window those waits that were over in it:
    a replay of it ends others nowhere.
    """
    from headway import _native

    all_blocks = data.blocks
    origin = recording.window_ns[0]
    begin, end = window if window is not None else (-_FAR_NS, _FAR_NS)
    is_within = (all_blocks.full > begin) & (all_blocks.full < end)
    use = np.flatnonzero((number_with_waits[all_blocks.blocker] >= 0) & is_within)
    chosen = all_blocks.where(use)
    is_interrupt = (chosen.kind == _PARK) & chosen.is_kernel_waking
    waking = np.where((chosen.waking >= 0) & ~is_interrupt, chosen.waking + origin, -1)
    holds, of_hold = data.holds, number[data.holds.blocker]
    is_there = (holds.end > begin) & (holds.start < end)
    of_chosen = np.flatnonzero((of_hold >= 0) & is_there)
    return interruptible(
        _native.LockAcquisitions,
        lock=number_with_waits[chosen.blocker].astype(np.int32),
        thread=chosen.thread.astype(np.int32),
        waker=chosen.waker.astype(np.int32),
        owner=chosen.owner.astype(np.int32),
        start_ns=chosen.began + origin,
        end_ns=chosen.full + origin,
        waking_ns=waking,
        is_repark=chosen.is_repark.astype(np.uint8),
        is_monitor_wait=(chosen.kind == _WAIT).astype(np.uint8),
        hold_lock=of_hold[of_chosen].astype(np.int32),
        hold_thread=holds.thread[of_chosen].astype(np.int32),
        hold_start_ns=holds.start[of_chosen] + origin,
        hold_end_ns=holds.end[of_chosen] + origin,
    )


def _others_ns(
    data: LockData, sites: Sites, is_other: Bools, places: ObjectPlaces, names: Mapping[int, str]
) -> Mapping[str, int]:
    """Return by place, or name, how long threads waited there for locks that are none of the replay's, the longest first."""
    is_lock = np.array([CAUSE_OF_RULE.get(rule.id) == LOCK for rule in RULES])[sites.rule]  # as `headway why` has it
    use = np.flatnonzero(is_lock & is_other[data.blocks.blocker])
    waited = (data.blocks.end - data.blocks.start)[use].astype(float)
    waited_ns = np.bincount(data.blocks.blocker[use], weights=waited, minlength=len(data.blockers))
    found: dict[str, int] = {}
    for row in np.flatnonzero(waited_ns).tolist():
        text = places.text(row) or names.get(row) or str(data.blockers.table["class_name"][row])
        found[text] = found.get(text, 0) + int(waited_ns[row])
    return dict(sorted(found.items(), key=lambda item: -item[1]))


def _goes_by(wanted: str, name: str, place: str) -> bool:
    """Return whether the text `wanted` that a user wrote names a lock: by its name or its place."""
    return bool(wanted) and (goes_by(wanted, name) or goes_by(wanted, place))


def _policy(class_name: str) -> str | None:
    found = _EXCLUSIVE.fullmatch(class_name)
    return found["policy"] if found else None


def _exclusive(data: LockData) -> Ints:
    """Return the rows of objects that one thread has at a time; those that virtual threads waited for are left out."""
    blockers = data.blockers
    names, class_of = blockers.classes
    is_lock = np.array([_policy(name) is not None for name in names], bool)[class_of] & (blockers.kind == _PARK)
    is_waited_for = np.bincount(data.blocks.blocker, minlength=len(blockers)) > 0
    virtual = data.blocks.blocker[data.blocks.thread >= data.platform_threads]
    has_virtual = np.bincount(virtual, minlength=len(blockers)) > 0
    found = np.flatnonzero(blockers.is_object & is_waited_for & ~has_virtual & (is_lock | (blockers.kind == _MONITOR)))
    time = blockers.table["thread_time_ns"][found]
    return np.sort(found[np.argsort(-time, kind="stable")[:MOST_LOCKS]])


def _monitors_of_waits(data: LockData, rows: Ints) -> dict[int, int]:
    """Return by row of what Object.wait waited for the row of the same object's monitor."""
    blockers, table = data.blockers, data.blockers.table

    def identity(row: int) -> tuple[int, str, int]:
        return int(blockers.pid[row]), str(table["class_name"][row]), int(table["identity_hash"][row])

    monitors = {identity(row): row for row in rows.tolist() if blockers.kind[row] == _MONITOR}
    waits = np.flatnonzero((blockers.kind == _WAIT) & blockers.is_object).tolist() if monitors else []
    return {row: monitors[identity(row)] for row in waits if identity(row) in monitors}
