"""What checks of the wall-time model's preconditions take and return: a recording's activity, and what a violation may shift."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from headway.analyses.scheduling.activity import Activity, sum_columns
from headway.errors import Notice

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from headway.store import Recording

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PreconditionFinding:
    """One violated precondition, and by how much the figure for each number of cores may be lower or higher, in ns.

    `floor`: the part that its alternative leaves of the floor, the time that no number of cores takes away; 1 where what the
    alternative leaves depends on the number of cores.
    """

    notice: Notice
    covers: str
    below: dict[int, float] = field(default_factory=dict)
    above: dict[int, float] = field(default_factory=dict)
    withheld: dict[int, str] = field(default_factory=dict)
    floor: float = 1.0


@dataclass(frozen=True, eq=False)
class Case:
    """The input of the checks: one recording's activity, and the numbers of cores asked for (the recorded number left out)."""

    recording: Recording
    activity: Activity
    recorded: int
    cores: tuple[int, ...]

    @cached_property
    def active(self) -> Floats:
        """Return the number of active threads of all kinds, per row."""
        total: Floats = sum_columns(self.activity.active).astype(float)
        return total

    @cached_property
    def running(self) -> Floats:
        """Return the number of running threads of all kinds, per row."""
        total: Floats = self.activity.on_cpu.astype(float)
        return total

    @cached_property
    def dur(self) -> Floats:
        """Return the length of each row in ns."""
        return self.activity.dur_ns.astype(float)

    @cached_property
    def wall(self) -> float:
        """Return the wall time in ns."""
        return float(self.activity.wall_ns)

    def predict(
        self,
        cores: float,
        recorded: float | None = None,
        dur: Floats | None = None,
        threads: Floats | None = None,
    ) -> float:
        """Return E(cores) in ns with one assumption replaced: cores that count less, other lengths, or other threads.

        The same formula as walltime_model, on floats: alternatives need neither whole cores nor whole threads.
        """
        import numpy as np

        k1 = self.recorded if recorded is None else recorded
        lengths = self.dur if dur is None else dur
        then = self.active if threads is None else threads
        busy, idle = self.active > 0, self.active == 0
        work = lengths[busy] * np.minimum(self.active[busy], k1)
        return float(lengths[idle].sum() + (work / np.minimum(then[busy], cores)).sum())

    def floor_left(self, dur: Floats) -> float:
        """Return the part of T_0 + T_1 that is left with other lengths of the rows."""
        few = self.active <= 1
        whole = float(self.dur[few].sum())
        return min(1.0, max(0.0, float(dur[few].sum()) / whole)) if whole else 1.0

    def floor_without(self, ns: float) -> float:
        """Return the part of T_0 + T_1 that is left without so many ns of it."""
        whole = float(self.dur[self.active <= 1].sum())
        return max(0.0, 1 - ns / whole) if whole else 1.0
