"""Whether a program's work grows with its number of cores, as two recordings on different numbers counted it.

Question   how many times as many instructions, and cycles an instruction, does a program take on k2 cores as on k1?
Method     ratios of counts of all of the program's threads. A prediction takes the work to be the same on any number of cores;
           the alternative lets all but the idle time T_0 grow as (k / k1)^b, with the b at which it is as many times as large on
           k2 cores as was counted: in cycles where both recordings counted them, else in instructions.
Assumes    both did the same task; a clock that was as fast.
Withheld   nothing is moved where the ratio is within NOTABLE of 1, or its bounds hold 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from headway.analyses.common.units import significant
from headway.analyses.scheduling.precondition_types import PreconditionFinding
from headway.errors import Notice
from headway.errors.plurals import counted

_LEAST_RATIO = 1e-6
_STEEPEST = 20.0
"""Of work that grows or shrinks with the cores: more is between two programs, not between two numbers of cores."""

if TYPE_CHECKING:
    from headway.analyses.scheduling.precondition_types import Case

NOTABLE = 0.02


@dataclass(frozen=True, slots=True)
class CountedAmount:
    """A count, or a ratio of two, with what it is at least and at most; an end that is None is not known."""

    value: float
    low: float | None
    high: float | None

    def over(self, other: CountedAmount) -> CountedAmount:
        """Return the ratio of both, each anywhere between its ends; `other` is above 0."""
        low = None if self.low is None or not other.high else self.low / other.high
        high = None if self.high is None or not other.low else self.high / other.low
        return CountedAmount(self.value / other.value, low, high)

    @property
    def is_not_one(self) -> bool:
        """Return whether a ratio differs from 1 for certain, and by what is worth a word."""
        if abs(self.value - 1) < NOTABLE:
            return False
        return (self.low or 0.0) > 1 if self.value > 1 else self.high is not None and self.high < 1


@dataclass(frozen=True, slots=True)
class CountedWork:
    """What a recording counted of all of the program's threads; `cycles` None: not known."""

    path: Path
    cores: int
    instructions: CountedAmount
    cycles: CountedAmount | None


@dataclass(frozen=True, slots=True)
class WorkGrowth:
    """How many times as much the work of the program is on `other_cores` as on `cores`. `cycles` None: not known."""

    path: Path
    cores: int
    other_cores: int
    instructions: CountedAmount
    cycles: CountedAmount | None

    @property
    def cpi(self) -> CountedAmount | None:
        """Return how many times as many cycles an instruction takes."""
        return None if self.cycles is None else self.cycles.over(self.instructions)

    @property
    def work(self) -> CountedAmount:
        """Return how many times as much time the work takes: cycles, where they are known."""
        return self.cycles or self.instructions

    def factor(self, cores: int) -> float:
        """Return how many times as much the work is on a number of cores."""
        exponent = math.log(max(self.work.value, _LEAST_RATIO)) / math.log(self.other_cores / self.cores)
        return float((cores / self.cores) ** min(max(exponent, -_STEEPEST), _STEEPEST))


def growth(work: CountedWork, other: CountedWork) -> WorkGrowth:
    """Return how work grows between two recordings on different numbers of cores."""
    cycles = other.cycles.over(work.cycles) if work.cycles and other.cycles else None
    return WorkGrowth(other.path, work.cores, other.cores, other.instructions.over(work.instructions), cycles)


def finding(case: Case, found: WorkGrowth) -> PreconditionFinding | None:
    """Return by how much predictions are off where work grows, or shrinks, with the cores; None where it does not."""
    if not found.work.is_not_one and not found.instructions.is_not_one:
        return None
    notice = Notice.of(
        "HW426",
        path=found.path,
        text=growth_text(found),
        other=counted(found.other_cores, "core"),
        cores=counted(found.cores, "core"),
    )
    if not found.work.is_not_one:  # fewer instructions that are slower, or more that are faster: the time is the same
        return PreconditionFinding(notice, "")
    idle = float(case.dur[case.active == 0].sum())
    moved = {k: (case.predict(k) - idle) * (found.factor(k) - 1) for k in case.cores}
    return PreconditionFinding(
        notice,
        f"work that differs with the number of cores as on {found.other_cores}",
        {k: -ns for k, ns in moved.items() if ns < 0},
        {k: ns for k, ns in moved.items() if ns > 0},
    )


def growth_text(found: WorkGrowth) -> str:
    """Return the ratios for people: '1.30 times as many instructions, 1.05 times as many cycles for each'."""
    text = f"{_times(found.instructions)} as many instructions"
    return text if found.cpi is None else f"{text}, {_times(found.cpi)} as many cycles for each"


def _times(ratio: CountedAmount) -> str:
    ends = ""
    if ratio.low is not None and ratio.high is not None and ratio.low != ratio.high:
        ends = f" ({significant(ratio.low)} to {significant(ratio.high)})"
    return f"{'' if ratio.low is not None and ratio.high is not None else '~'}{significant(ratio.value)} times{ends}"
