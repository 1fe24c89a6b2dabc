"""Finds the steps of a run whose waits are waits that the JVM or the kernel recorded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headway.analyses.common.columns import places_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    Ints = NDArray[np.int64]


def waiting_steps(steps: Mapping[str, Ints], thread: Ints, start_ns: Ints, end_ns: Ints) -> Ints:
    """Return the rows of steps (RunSteps.program_steps) whose wait is, in its middle, within a wait of their thread.

    `thread`, `start_ns`, `end_ns`: these waits, in CLOCK_MONOTONIC ns; those of one thread don't overlap.
    """
    of_thread = dict(places_of(steps["thread"]))
    found = []
    for one, of in places_of(thread):
        step_rows = of_thread.get(one)
        if step_rows is None:
            continue
        order = of[np.argsort(start_ns[of], kind="stable")]
        middle = (steps["begin_ns"][step_rows] + steps["woken_ns"][step_rows]) // 2
        at = np.searchsorted(start_ns[order], middle, side="right") - 1
        inside = (at >= 0) & (end_ns[order[np.maximum(at, 0)]] >= middle)
        found.append(step_rows[inside & (steps["woken_ns"][step_rows] > steps["begin_ns"][step_rows])])
    return np.concatenate(found) if found else np.zeros(0, np.int64)
