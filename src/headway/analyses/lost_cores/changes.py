"""Asks what a program gains without its largest losses, of whoever can replay its run without them (`analyses.whatif`).

Question   how many times as fast would the program be without a loss, and between which limits does that lie?
Method     the first losses that a change of the program would avoid are asked about: those to locks, conditions, sleep, I/O, full
           queues and unequal parts. What is predicted replaces the estimate (lost_cores.likely_gains), but is no more than
           the bound. Where the replay of the run is refused nothing is known of such losses; the estimate orders them still.
Bounded    MOST_ASKED losses, of those whose bound is worth a word.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from headway.analyses.common import causes
from headway.analyses.lost_cores.cause_kinds import CALLS
from headway.analyses.lost_cores.text import SMALL_GAIN, method_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
    from headway.analyses.lost_cores.grouping import LossRow
    from headway.analyses.lost_cores.places import Places
    from headway.analyses.lost_cores.ranking import Saving
    from headway.analyses.lost_cores.types import Loss
    from headway.errors import Notice

    Ints = NDArray[np.int64]

ASKED = (causes.LOCK, causes.CONDITION, causes.SLEEP, causes.IO, causes.FULL, causes.IMBALANCE)
"""Causes that a change of the program avoids."""
MOST_ASKED = 5


@dataclass(frozen=True, eq=False)
class AvoidedLoss:
    """A loss that a change would avoid: its cause, the name of what is waited for and the line that waits ('': unknown).

    `thread`, `start`, `end`: its waits, in ns from the recording's start.
    """

    cause: str
    name: str
    line: str
    thread: Ints
    start: Ints
    end: Ints


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times as fast a program would be, and between which limits.

    `refused`: why nothing is known of the run, or of this loss alone (`is_of_run` False).
    """

    speedup: float = 1.0
    low: float = 1.0
    high: float = 1.0
    refused: Notice | None = None
    is_of_run: bool = True


class Gains(Protocol):
    """Predicts what a program gains without losses."""

    def of_part(self, window: tuple[int, int] | None, cores: int | None) -> Gains:
        """Return what predicts gains in a window (ns from the recording's start, None: all), or on other cores (None: its)."""

    def without(self, losses: Sequence[AvoidedLoss]) -> list[Gain | None]:
        """Return the gain without each of some losses, the most important one first; None where it can't be predicted."""


def with_predictions(
    found: Sequence[Saving],
    gains: Gains,
    places: Places,
    times: KernelTimes,
    window: tuple[int, int],
    hangs_on_clients: Callable[[LossRow, tuple[int, int]], bool],
) -> list[Saving]:
    """Return losses, each with the time saved without it, with what is predicted of them instead of what was estimated.

    Nothing is asked of what hangs on clients outside of the recording.
    """
    every: dict[int, AvoidedLoss] = {}
    for i in sorted(range(len(found)), key=lambda i: -found[i][0]):
        avoided = _avoided(found[i][1], found[i][2], places, times, window)
        if avoided is not None and not hangs_on_clients(found[i][1], window):
            every[i] = avoided
    asked = list(every)[:MOST_ASKED]
    answers = dict(zip(asked, gains.without([every[i] for i in asked]), strict=True))
    refusals = [each for each in answers.values() if each is not None and each.refused is not None]
    refused = next((each for each in refusals if each.is_of_run), None)
    if refused is not None:  # and so of all of them
        answers = dict.fromkeys(every, refused)
    wall_ns = window[1] - window[0]
    return [_with_gain(each, answers.get(i), wall_ns) for i, each in enumerate(found)]


def _avoided(
    row: LossRow, loss: Loss, places: Places, times: KernelTimes, window: tuple[int, int]
) -> AvoidedLoss | None:
    """Return a loss as one that a change avoids; None where none does, or virtual threads waited."""
    if loss.cause not in ASKED or row.is_rest or (loss.bound_speedup or 1.0) < 1 + SMALL_GAIN:
        return None
    if row.key >= 0:
        thread, start, end = places.waits_for(loss.cause, row.key, window)
    elif loss.cause in CALLS:
        thread, start, end = times.calls(loss.cause, row.threads)
    else:
        return None
    is_virtual = places.waits.data is not None and bool((thread >= places.waits.platform_threads).any())
    if not len(thread) or is_virtual:
        return None
    return AvoidedLoss(loss.cause, loss.place.lock or "", method_text(loss.place), thread, start, end)


def _with_gain(saving: Saving, gain: Gain | None, wall_ns: int) -> Saving:
    saved_ns, row, loss = saving
    if gain is None:
        return saving
    if gain.refused is not None:
        return (
            saved_ns,
            row,
            dataclasses.replace(
                loss, likely_speedup=None, unknown_gain=gain.refused, estimated_speedup=loss.likely_speedup
            ),
        )
    most = loss.bound_speedup or 1.0
    likely, low, high = (min(max(each, 1.0), most) for each in (gain.speedup, gain.low, gain.high))
    known = dataclasses.replace(loss, likely_speedup=likely, likely_interval=(low, high))
    return wall_ns * (1 - 1 / likely), row, known
