"""Estimates what a program would gain without the pauses of its JVM, for the order of losses.

Question   a pause lasts until the JVM has done its work in it, and longer where it waits for a core. What would be gained?
Method     without a pause the program does with the cores that it had in it what comes next: those on which its JVM worked, and
           those that stood idle. At the rate at which it got cores in the whole window that is so much sooner, and at most by the
           pause's length. What other processes had while threads of the program were ready for a core is not given back: they
           would have had it from what comes next. On a machine of its own a program gains all of its pauses.
Assumes    other processes want as much without the pause.
Wrong when the scheduler gave the program another share of the cores in its pauses than it would have got otherwise: in a pause
           of a few milliseconds that is a matter of one turn of another process.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.intervals import Spans

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.analyses.lost_cores.gains.bounds import BoundInputs

    Ints = NDArray[np.int64]


def gained_ns(pauses: Spans, inputs: BoundInputs) -> float:
    """Return the wall time that a program would gain without some pauses within its window, ns from the recording's start."""
    paused_ns = float(pauses.total)
    if inputs.course is None or inputs.wall_ns <= 0:
        return paused_ns
    had_ns = inputs.cores * paused_ns - inputs.course.kept_in(pauses.start, pauses.end)
    rate = inputs.cores - inputs.course.kept_since(0) / inputs.wall_ns
    return min(paused_ns, max(0.0, had_ns) / rate) if rate > 0 else 0.0
