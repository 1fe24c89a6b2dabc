"""Resolves changes of locks by the names that users write, and plans a run's acquisitions as they are after them.

Question   which locks does `--without-lock LOCK` mean, and who asks for what afterwards?
Method     a name is an object's, as `headway locks` prints it, the hash after its @, or the line at which threads wait for it,
           with or without package; a line, or a method, stands for all locks that are waited for there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.units import duration
from headway.analyses.waits.tables.blocks import has_all_waits
from headway.analyses.whatif.recorded_locks import recorded_locks
from headway.errors import HeadwayError, Notice
from headway.model.interruptible import interruptible
from headway.model.near_names import nearest_first

if TYPE_CHECKING:
    from headway import _native
    from headway.analyses.whatif.recorded_locks import RecordedLocks
    from headway.analyses.whatif.run_steps import RecordedRun
    from headway.analyses.whatif.types import LockChange
    from headway.store import Recording

_MOST_NAMES = 5


def locks_of(recording: Recording, window: tuple[int, int] | None = None) -> RecordedLocks:
    """Load a recording's locks, as they were got in a window (ns from its start, None: all).

    Raises HeadwayError HW430 (recorded without locks), HW833 (waits are missing).
    """
    found = recorded_locks(recording, window)
    if not found.is_whole or not has_all_waits(recording):
        raise HeadwayError("HW833", path=recording.path)
    return found


def changed_locks(recording: Recording, changes: tuple[LockChange, ...]) -> RecordedLocks:
    """Load a recording's locks, some of which are to be changed.

    Raises HeadwayError HW830 (no such lock), HW831 (waited for, but no exclusive lock), HW832 (changed twice); as `locks_of`.
    """
    locks = locks_of(recording)
    changed: dict[int, str] = {}
    for each in changes:
        numbers = locks.numbers(each.lock)
        if not numbers and locks.is_other(each.lock):
            raise HeadwayError("HW831", path=recording.path, lock=each.lock)
        if not numbers:
            near = nearest_first(each.lock, locks.names(), _MOST_NAMES)
            there = f"; there are: {', '.join(near)}" if near else "; nobody waited for one"
            raise HeadwayError("HW830", path=recording.path, lock=each.lock, there=there)
        for number in numbers:
            if number in changed:
                raise HeadwayError("HW832", lock=locks.name[number], one=changed[number], other=each.text)
            changed[number] = each.text
    return locks


def unchanged_at(recording: Recording, changes: tuple[LockChange, ...], locks: RecordedLocks | None) -> list[Notice]:
    """Return notices of changed lines where threads also waited for locks that the change leaves as they are, and how long."""
    found = [] if locks is None else [(each, ns) for each in changes if (ns := locks.other_ns(each.lock)) > 0]
    return [Notice.of("HW892", path=recording.path, place=each.lock, time=duration(ns)) for each, ns in found]


def plan(run: RecordedRun, locks: RecordedLocks, changes: tuple[LockChange, ...], seed: int) -> _native.LockPlan:
    """Return who asks for which lock when, after changes that `changed_locks` has found."""
    from headway import _native

    is_removed, part, parts = np.zeros(len(locks), np.uint8), np.ones(len(locks)), np.ones(len(locks), np.int32)
    for each in changes:
        numbers = locks.numbers(each.lock)
        is_removed[numbers], part[numbers], parts[numbers] = each.is_removed, each.held_part, each.parts
    return interruptible(
        _native.LockPlan,
        steps=run.steps,
        acquired=locks.acquired,
        is_removed=is_removed,
        held_part=part,
        parts=parts,
        is_fair=locks.is_fair.astype(np.uint8),
        seed=seed,
    )
