"""Measures how long the slower side of a queue works while the other side waits: at best both, work and waits, are saved.

Method     whom each wait for a queue waited for is known (waits.wait_causes); the running time of all of these threads, for `why`
           and `locks` alike. Where one of them is not known, or is a virtual thread (nothing tells how much those ran), all
           work may be theirs.
Wrong when such a thread does other work, too, which would not vanish: then the bound is too large.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common import causes
from headway.analyses.common.columns import numbered_pairs

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from numpy.typing import NDArray

    from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
    from headway.analyses.waits.pieces import Waits

    Ints = NDArray[np.int64]

SLOW = (causes.STARVED, causes.FULL)
"""Causes of waits for the other side of a queue."""
_CODES = [list(causes.CAUSES).index(cause) for cause in SLOW]


def read(times: KernelTimes, targets: Sequence[Ints], platform_threads: int, window: tuple[int, int]) -> None:
    """Look up in one pass how long all threads ran that several calls of `work_ns` ask about."""
    every = np.unique(np.concatenate(targets))
    times.ran(set(every[(every >= 0) & (every < platform_threads)].tolist()), window)


def work_ns(
    times: KernelTimes, group: Ints, target: Ints, platform_threads: int, window: tuple[int, int]
) -> Mapping[int, int | None]:
    """Return by group how long the threads ran that its waits were for (-1: not known); None where all work may be theirs."""
    groups, targets, _ = numbered_pairs(group, target + 1)
    targets = targets - 1
    ran = times.ran(set(targets[(targets >= 0) & (targets < platform_threads)].tolist()), window)
    is_unknown = set(groups[(targets < 0) | (targets >= platform_threads)].tolist())
    found: dict[int, int | None] = dict.fromkeys(groups.tolist())
    for one, thread in zip(groups.tolist(), targets.tolist(), strict=True):
        if one not in is_unknown:
            found[one] = (found[one] or 0) + ran.get(thread, 0)
    return found


def of_waits(
    times: KernelTimes, waits: Waits, keys: Collection[int], window: tuple[int, int]
) -> Mapping[int, int | None]:
    """Return the same by what is waited for, of some queues."""
    if not keys:
        return {}
    wanted = np.isin(waits.key, sorted(keys)) & np.isin(waits.cause, _CODES)
    within = np.flatnonzero(wanted & (waits.end > window[0]) & (waits.start < window[1]))
    key, target = waits.key[within].astype(np.int64), waits.target[within].astype(np.int64)
    return work_ns(times, key, target, waits.platform_threads, window)
