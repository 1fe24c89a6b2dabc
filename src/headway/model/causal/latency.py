"""Computes a latency pair's visits and time per experiment: their quotient is the mean latency (Little's law)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class InFlight:
    """A pair's `visits` and `time_ns` in experiments of one run; `missing`: how many began before the first experiment.

    `is_possible`: of an experiment in which more time passed in flight than can be (its visits were read in the middle of one)
    nothing counts.
    """

    visits: Floats
    time_ns: Floats
    missing: int
    is_possible: NDArray[np.bool_]


def in_flight(begun: Ints, ended: Ints, flying: Ints, in_flight_ns: Ints, effective_ns: Floats) -> InFlight:
    """Return what experiments of one run measured of a pair; `flying`: in flight at the begin of an experiment.

    Of a JVM that was attached to, requests end that had begun before: never are fewer than none in flight, so at least as many
    were when the recording began as are missing later.
    """
    import numpy as np

    # As floats: what a stranger's recording has may be beyond 64 bits once it is added up.
    at_begin, later = flying.astype(np.float64), begun.astype(np.float64)
    missing = max(0, -int(min(at_begin.min(), (at_begin + later - ended).min()))) if len(flying) else 0
    spent_ns = in_flight_ns + missing * effective_ns
    is_possible = (spent_ns >= 0) & (spent_ns <= (at_begin + missing + later) * effective_ns)
    return InFlight(
        # Begins and ends together: what is in flight at either end of an experiment counts half.
        visits=np.where(is_possible, (later + ended) / 2, 0.0),
        time_ns=np.where(is_possible, spent_ns, 0.0),
        missing=missing,
        is_possible=is_possible,
    )
