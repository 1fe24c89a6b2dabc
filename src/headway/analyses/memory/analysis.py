"""How does a program use memory, and is that much or little: what it allocates, executes and misses, beside published programs.

Method     Papadakis, PhD thesis, Manchester 2022, chapter 5: rates and sizes of allocations (allocated.py), instructions and
           cache misses by counters (counted.py), beside the programs of tables 5.5 to 5.12 (numa.published); reads by writes
           (accessed.py).
Assumes    nothing of the machine. Rates by wall time depend on it and on its cores: the published machine had 8 of 2012.
Wrong when a program is recorded while it warms up: figures of allocations are of the whole recording.
Unknown    What is not recorded stays unknown, with its reason. Rates of reads and writes are never known (accessed.py), and so
           neither is equation 5.1.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.memory.accessed import access_figures
from headway.analyses.memory.allocated import NAMES as ALLOCATION_NAMES
from headway.analyses.memory.allocated import allocation_figures
from headway.analyses.memory.counted import COLUMNS, counted_figures
from headway.analyses.memory.types import MemoryAnswer
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.scheduling.thread_work import program_work
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from headway.analyses.memory.types import MemoryFigure
    from headway.model.iterations import IterationMarks
    from headway.store import Recording

LAST = 10
"""Iterations that the published figures are the mean of."""


def memory(recording: Recording, marks: IterationMarks | None = None, last: int = LAST) -> MemoryAnswer:
    """Return how a recorded program uses memory.

    Raises HeadwayError HW810 where nothing of it is recorded, HW111 where the iterations that `marks` asks for are not there, and
    HW123 where threads were counted as a whole.
    """
    work = program_work(recording) if has_scheduling(recording) else None
    allocations, of_allocations, total = allocation_figures(recording, work)
    counted = counted_figures(recording, marks, last)
    accesses, of_accesses = access_figures(recording)
    figures = (*allocations, *accesses, *counted.figures)
    if all(each.value is None for each in figures):
        raise HeadwayError("HW810", path=recording.path, reason=_reasons(figures))
    notices = [*of_allocations, *of_accesses, *counted.notices]
    if total is not None and counted.steady_state is not None:
        notices.append(Notice.of("HW811"))
    cpu_ns = None if work is None else work.cpu_ns
    return MemoryAnswer(recording.wall_ns, cpu_ns, counted.steady_state, figures, tuple(dict.fromkeys(notices)))


def _reasons(figures: tuple[MemoryFigure, ...]) -> str:
    """Return why there is nothing, of allocations and of counters."""
    firsts = (next(each for each in figures if each.name in names) for names in (ALLOCATION_NAMES, COLUMNS))
    return "; ".join(each.reason for each in firsts)
