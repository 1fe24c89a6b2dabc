"""Orders losses by the time that removing each would save."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common import causes
from headway.analyses.common.causes import OF_THE_JVM
from headway.analyses.lost_cores.cause_kinds import CALLS
from headway.analyses.lost_cores.types import WORTH_GAIN, Loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from headway.analyses.lost_cores.grouping import LossRow

    Saving = tuple[float, LossRow, Loss]
    """The time saved without a loss, its row, and the loss."""

NEARLY = 0.9
"""Two losses save about the same time if one saves more than this part of what the other does, as estimates are no more exact; or
if the intervals overlap in which predictions of them lie."""


def ranked(
    found: list[Saving], wall_ns: int, is_by_holder: Callable[[LossRow, LossRow], bool] = lambda lock, asleep: False
) -> list[Saving]:
    """Return losses, each with the time saved without it, by that time; those OF_THE_JVM after all worth WORTH_GAIN.

    Who sleeps with a lock makes others wait for it: one thing, told twice. The lock, which has a place, comes first where it
    saves nearly as much and lost more. `is_by_holder` says of a lock and a loss to sleep or I/O whether who has the lock slept;
    also of a lock that is made of conditions, for which those who wake wait, too.
    """
    worth_ns = wall_ns * (1 - 1 / WORTH_GAIN)
    order = sorted(
        found, key=lambda each: (each[0] < worth_ns or each[2].cause in OF_THE_JVM, -each[0], -each[1].core_ns)
    )
    for lock in [each for each in order if each[2].cause in (causes.LOCK, causes.CONDITION)]:
        at = order.index(lock)
        before = [i for i in range(at) if _is_same_as(lock, order[i]) and is_by_holder(lock[1], order[i][1])]
        if before:
            order.insert(before[0], order.pop(at))
    return order


def _is_same_as(lock: Saving, asleep: Saving) -> bool:
    """Return whether removing a lock would gain about as much as removing a sleep or I/O, and the lock lost more core time."""
    is_asleep = asleep[2].cause in CALLS
    is_about = lock[0] > NEARLY * asleep[0] or _may_be_equal(lock[2], asleep[2])
    return is_asleep and is_about and lock[1].core_ns > asleep[1].core_ns


def _may_be_equal(one: Loss, other: Loss) -> bool:
    """Return whether the intervals of two predicted gains overlap, so that neither is known to be more."""
    if one.likely_interval is None or other.likely_interval is None:
        return False
    return one.likely_interval[1] >= other.likely_interval[0] and other.likely_interval[1] >= one.likely_interval[0]
