"""How does a program use memory, and is that much or little: what it allocates, executes and misses, beside published programs.

Method     Papadakis, PhD thesis, Manchester 2022, chapter 5: rates and sizes of allocations (allocated.py), instructions and
           cache misses by counters (counted.py), beside the programs of tables 5.5 to 5.12 (numa.published); reads by writes
           (accessed.py).
Assumes    nothing of the machine. Rates by wall time depend on it and on its cores: the published machine had 8 of 2012.
Wrong when a program is recorded while it warms up: figures of allocations are of the whole recording.
Unknown    What is not recorded stays unknown, with its reason. Rates of reads and writes need another run of the program, which
           counts none (accessed.py); equation 5.1 needs them, unless little is allocated.
Checked    tests/golden/test_recorded_memory.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.memory.accessed import access_figures
from headway.analyses.memory.allocated import NAMES as ALLOCATION_NAMES
from headway.analyses.memory.allocated import allocation_figures
from headway.analyses.memory.counted import COLUMNS, counted_figures
from headway.analyses.memory.types import MemoryAnswer
from headway.analyses.numa.memory import RATES
from headway.analyses.numa.same_program import difference_of_runs
from headway.analyses.scheduling.activity import has_scheduling
from headway.analyses.scheduling.thread_work import program_work
from headway.errors import HeadwayError, Notice

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headway.analyses.memory.types import MemoryFigure
    from headway.model.iterations import IterationMarks
    from headway.store import Recording

LAST = 10
"""Iterations that the published figures are the mean of."""


def memory(
    recording: Recording, marks: IterationMarks | None = None, last: int = LAST, timed: Recording | None = None
) -> MemoryAnswer:
    """Return how a recorded program uses memory. `timed`: another run of it, without what slows it down: its times are taken.

    Raises HeadwayError HW810 where nothing of it is recorded, HW111 where the iterations that `marks` asks for are not there,
    HW123 where threads were counted as a whole, and HW812 where `timed` is no run of the same program, or slowed as well.
    """
    if timed is not None:
        _refuse_other_work(recording, timed)
    at_speed = timed or recording
    work = program_work(recording) if has_scheduling(recording) else None
    allocations, of_allocations, total = allocation_figures(recording, work, timed)
    if total is None and timed is not None:  # accesses and allocations are not recorded together
        of_timed = program_work(timed) if has_scheduling(timed) else None
        allocations, of_timed_ones, total = allocation_figures(timed, of_timed)
        of_allocations = tuple(each for each in of_timed_ones if each.id != "HW806")  # its accesses are not counted
    counted = counted_figures(at_speed, marks, last)
    objects = None if total is None else total.objects.value
    accesses, of_accesses = access_figures(recording, timed, objects)
    figures = (*allocations, *accesses, *counted.figures)
    if all(each.value is None for each in figures):
        raise HeadwayError("HW810", path=recording.path, reason=_reasons(figures))
    notices = [*of_allocations, *of_accesses, *counted.notices]
    if total is not None and counted.steady_state is not None:
        notices.append(Notice.of("HW811"))
    cpu_ns = program_work(at_speed).cpu_ns if has_scheduling(at_speed) else None
    known = tuple(dict.fromkeys(notices))
    return MemoryAnswer(at_speed.wall_ns, cpu_ns, counted.steady_state, figures, known, is_intensive(figures))


def is_intensive(figures: Sequence[MemoryFigure]) -> bool | None:
    """Return equation 5.1 of the thesis, as far as figures that lie between ends, or are the least, decide it."""
    sides = [_is_above(each) for each in figures if each.name in RATES]
    return False if False in sides else True if sides.count(True) == len(RATES) else None


def _is_above(each: MemoryFigure) -> bool | None:
    """Return whether a rate is above the mean of the published ones; None where it is not known, or may be either."""
    if each.value is None or each.published is None or each.published.geometric_mean is None:
        return None
    low, mean = each.low if each.low is not None else each.value, each.published.geometric_mean
    if low > mean:
        return True
    return False if not each.is_least and each.high is not None and each.high <= mean else None


def _refuse_other_work(recording: Recording, timed: Recording) -> None:
    """Raise HW812 where the second recording does not have the time of the first one's work."""
    reason = difference_of_runs(recording, timed)
    slowed = timed.manifest.extra.get("accesses")
    if not reason and slowed is not None:
        reason = f"{timed.path} counts accesses as well: it is slower, too"
    if reason:
        raise HeadwayError("HW812", path=recording.path, other=timed.path, reason=reason)


def _reasons(figures: tuple[MemoryFigure, ...]) -> str:
    """Return why there is nothing, of allocations and of counters."""
    firsts = (next(each for each in figures if each.name in names) for names in (ALLOCATION_NAMES, COLUMNS))
    return "; ".join(each.reason for each in firsts)
