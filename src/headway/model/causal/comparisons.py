"""What experiments measured, and the baselines (experiments at 0 %) before and after that each is compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

Measure = Literal["throughput", "latency", "run"]
"""Visits of a progress point per time; the mean time from a latency pair's begin to its end; the whole run (`--end-to-end`)."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What experiments measured of a progress point, a latency pair or the run: `visits` and `time_ns` per experiment.

    `spread`: how many times as noisy an experiment is for the delays in it, as a factor on the variance (`noise`).
    `remark`: in what a latency pair's begins and ends do not match.
    """

    name: str
    measure: Measure
    visits: Floats
    time_ns: Floats
    spread: Floats | None = None
    remark: str = ""
    unsure_ns: Floats | None = None
    """By how much `time_ns` may be wrong, as one standard deviation, all experiments the same way (`causal.stops`)."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """Comparisons as rows of experiments: `treated[k]`, its baselines `before[k]` and `after[k]` (-1: none).

    `treated` may be at 0 % itself (comparisons of baselines).
    """

    treated: NDArray[np.intp]
    before: NDArray[np.intp]
    after: NDArray[np.intp]

    def of(self, rows: NDArray[np.bool_]) -> Pairs:
        """Return the selected comparisons."""
        return Pairs(self.treated[rows], self.before[rows], self.after[rows])

    def compact(self) -> tuple[NDArray[np.intp], Pairs]:
        """Return the experiments in these comparisons, ascending, and the comparisons as rows of those alone."""
        import numpy as np

        used = np.unique(np.concatenate([self.treated, self.before, self.after]))
        used = used[used >= 0]
        rows = [
            np.where(each >= 0, np.searchsorted(used, each), -1) for each in (self.treated, self.before, self.after)
        ]
        return used, Pairs(*rows)

    def sums_of_baselines(self, values: Floats) -> Floats:
        """Return the sum of both baselines' values; the last axis of `values` runs over experiments."""
        import numpy as np

        padded = np.concatenate([values, np.zeros((*values.shape[:-1], 1))], axis=-1)
        return np.asarray(padded[..., self.before] + padded[..., self.after])


def compare(rows: NDArray[np.intp], is_baseline: NDArray[np.bool_], groups: NDArray[np.int64]) -> tuple[Pairs, Pairs]:
    """Return the comparisons of experiments with baselines, and those of baselines with each other.

    `rows` are the experiments that count, in order of time; the other two have a value for each of those.
    """
    before, after = nearest(rows, is_baseline, groups)
    compared = ~is_baseline & ((before >= 0) | (after >= 0))
    known = is_baseline & (before >= 0) & (after >= 0)
    return Pairs(rows, before, after).of(compared), Pairs(rows, before, after).of(known)


def nearest(
    rows: NDArray[np.intp], is_baseline: NDArray[np.bool_], groups: NDArray[np.int64]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return for every experiment the baselines next to it in its group (itself apart), -1 where there is none."""
    import numpy as np

    before, after = np.full(len(rows), -1, dtype=np.intp), np.full(len(rows), -1, dtype=np.intp)
    for into, way in ((before, range(len(rows))), (after, range(len(rows) - 1, -1, -1))):
        last, group = -1, None
        for at in way:
            if groups[at] != group:
                last, group = -1, groups[at]
            into[at] = last
            if is_baseline[at]:
                last = rows[at]
    return before, after
