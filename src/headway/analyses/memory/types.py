"""What the analysis of memory use answers with: figures, each with its place among published programs, or why it is missing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headway.analyses.numa.types import Placed
    from headway.errors import Notice


@dataclass(frozen=True, slots=True)
class MemoryFigure:
    """One figure, by the name of its column in the published tables, and the ends of its interval; None: not known.

    `value` None: it is missing, for `reason`; `remedy` is the recording that would have it, empty where none would.
    `published`: where it stands; None: there is nothing to compare it with. `is_least`: it counts a part of what the published
    figure counts, or of what there was, so that at least so many programs are below.
    """

    name: str
    value: float | None = None
    low: float | None = None
    high: float | None = None
    published: Placed | None = None
    is_least: bool = False
    reason: str = ""
    remedy: str = ""


@dataclass(frozen=True, slots=True)
class SteadyState:
    """The iterations that figures of counters are the mean of: what tells them apart, and how many."""

    marks: str
    iterations: int


@dataclass(frozen=True, slots=True)
class MemoryAnswer:
    """All figures of chapter 5. `cpu_ns`: of the program's threads, None where it is not recorded.

    `intensive`: equation 5.1, both rates (objects, accesses) above the published mean; None where it is not known.
    `steady_state`: None where counts are of the whole recording, as those of allocations always are.
    """

    wall_ns: int
    cpu_ns: int | None
    steady_state: SteadyState | None
    figures: tuple[MemoryFigure, ...]
    notices: tuple[Notice, ...]
    intensive: bool | None = None

    def figure(self, name: str) -> MemoryFigure:
        """Return the figure of a name. Raises StopIteration where there is none."""
        return next(each for each in self.figures if each.name == name)
