"""How often something was accessed in a whole run, from windows in which everything was counted.

Question   how many accesses did threads make, and between which values does that lie with 95 % confidence.
Method     a spell right before each window, as long as the window, is a sample of what a thread does between windows. What it
           did there follows from the window: the agent multiplies the window's counts by the marks that the thread passed in the
           spell, and divides them by those of the window (native/agent/objects/access_windows.h). Accesses in the time between
           windows are those of the spells times the CPU time there by that of the spells: a ratio estimate. Its interval
           is by the jackknife, which leaves out each of ten groups of windows in turn, with Student's t.
Assumes    a window is like the spell before it but for its speed, or all are slowed down alike: where these two differ, the
           interval has both. Marks check it: of each it is known how often it was
           passed in the spells. So many of them as were not where the windows say, without most of what chance
           explains, widen the interval; of more than MOST_WRONG the counts are unknown.
Wrong when something happens between windows only: it is in no spell. What was in fewer than LEAST_SEEN groups is not estimated.
           Where a thread has little of a core a good part of its spells is the slow time in which the JVM opens a window:
           with less than LEAST_CORE the thread is unknown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from headway.analyses.objects.window_types import WhyUnknown, WindowFigure
from headway.model.students_t import t_quantile

if TYPE_CHECKING:
    import numpy as np

    Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]

GROUPS = 10
"""Of windows, as in the agent; numbered from 1 on."""
ROWS = GROUPS + 2
"""Of a thread's counts: what all windows counted; the spells of each group; what the windows of these spells counted."""
LEAST_GROUPS = 6
"""With spells of a thread in fewer its counts are unknown."""
LEAST_SEEN = 4
"""Of accesses in the spells of fewer groups it is not known how many there are between windows."""
MOST_WRONG = 0.1
"""Where more of the marks are not where windows say, or more of the spells' CPU time is without marks, counts are unknown."""
LEAST_CORE = 0.05
"""With less of a core, over the time that has windows, it is unknown what a thread did: docs/decisions/0019-windows.md."""
_LEAST_MARKS = 30
_LEAST_OTHER_MARKS = 0.05
"""One mark alone checks nothing: it is passed as often as estimated, by the way the estimate is made."""


@dataclass(frozen=True, slots=True)
class Work:
    """What one thread, or several together, did: CPU time, ns, and marks, as in table `access_window_work`.

    `before_ns`: of each group, CPU time in the spells of which it is known what the thread did. `least_ns`: with less CPU time,
    in windows and between them, the thread is unknown.
    """

    before_ns: Floats
    between_ns: float = 0
    in_ns: float = 0
    own_ns: float = 0
    unseen_ns: float = 0
    marks: float = 0
    marks_in: float = 0
    marks_wrong: float = 0
    marks_largest: float = 0
    is_whole: bool = True
    """False: not all of what the agent counted is on record."""
    least_ns: float = 0

    def __add__(self, other: Work) -> Work:
        """Return what both did."""
        return Work(
            self.before_ns + other.before_ns,
            self.between_ns + other.between_ns,
            self.in_ns + other.in_ns,
            self.own_ns + other.own_ns,
            self.unseen_ns + other.unseen_ns,
            self.marks + other.marks,
            self.marks_in + other.marks_in,
            self.marks_wrong + other.marks_wrong,
            self.marks_largest + other.marks_largest,
            self.is_whole and other.is_whole,
            max(self.least_ns, other.least_ns),
        )

    @property
    def cpu_ns(self) -> float:
        """Return CPU time in windows and between them."""
        return self.in_ns + self.between_ns

    @property
    def groups(self) -> int:
        """Return of how many groups of windows there are spells."""
        return int((self.before_ns > 0).sum())

    @property
    def wrong(self) -> float:
        """Return the share of what spells tell that may be wrong, by their marks; infinite: nothing checks it."""
        if self.marks < _LEAST_MARKS or self._has_one_mark:
            return math.inf
        return self.marks_wrong / self.marks + self._unseen_share

    @property
    def is_known(self) -> bool:
        """Return whether it is known what was done between windows."""
        return self.why_unknown is None

    @property
    def why_unknown(self) -> WhyUnknown | None:
        """Return why it is not known what was done between windows; None: it is."""
        if not self.is_whole:
            return "incomplete"
        if self.between_ns <= 0:
            return None
        if self.cpu_ns < self.least_ns:
            return "little-cpu"
        if self.groups < LEAST_GROUPS:
            return "few-marks" if self.unseen_ns > float(self.before_ns.sum()) else "few-windows"
        if self.marks < _LEAST_MARKS or self.marks_in <= 0:
            return "few-marks"
        if self._has_one_mark:
            return "one-mark"
        if self.wrong <= MOST_WRONG:
            return None
        return "unseen-spells" if self._unseen_share > self.marks_wrong / self.marks else "unlike-windows"

    @property
    def _has_one_mark(self) -> bool:
        return self.marks - self.marks_largest < _LEAST_OTHER_MARKS * self.marks

    @property
    def _unseen_share(self) -> float:
        spells_ns = float(self.before_ns.sum()) + self.unseen_ns
        return self.unseen_ns / spells_ns if spells_ns else 0


Part: TypeAlias = tuple[Work, "Floats"]
"""A thread, and its counts: ROWS, with a column for each kind."""


def estimates(parts: Sequence[Part]) -> list[WindowFigure]:
    """Return of each kind how often threads together accessed it."""
    import numpy as np

    counted = sum(counts[0] for _, counts in parts)
    known = [(work, counts) for work, counts in parts if work.is_known]
    if not known:
        return [WindowFigure(int(each), None, None, None) for each in counted]
    exact = sum(counts[0] for _, counts in known)
    guessed = [(work, counts[1:-1]) for work, counts in known if work.between_ns > 0]
    if not guessed:
        return [_figure(all_of, *(int(each),) * 3) for all_of, each in zip(counted, exact, strict=True)]
    between = sum(_between(work, counts, None) for work, counts in guessed)
    even = sum(_at_even_speed(work, counts[-1]) for work, counts in known if work.between_ns > 0)
    half = _half_width(guessed) + abs(even - between)
    is_seen = np.any([counts > 0 for _, counts in guessed], axis=0).sum(axis=0) >= LEAST_SEEN
    found = []
    for all_of, least, more, width, seen in zip(counted, exact, between, half, is_seen, strict=True):
        if not seen or not np.isfinite(width):
            found.append(WindowFigure(int(all_of), None, None, None))
            continue
        low, high = max(least, math.floor(least + more - width)), math.ceil(least + more + width)
        found.append(_figure(all_of, round(least + more), int(low), high))
    return found


def _figure(counted: float, value: int, low: int, high: int) -> WindowFigure:
    """Return an estimate; none where windows counted more: what threads that are unknown did matters more than all it tells."""
    if counted > value:
        return WindowFigure(int(counted), None, None, None)
    return WindowFigure(int(counted), value, low, high)


def _between(work: Work, counts: Floats, left_out: int | None) -> Any:
    """Return the accesses between windows by the spells of all groups but one."""
    spells_ns, sums = work.before_ns.sum(), counts.sum(axis=0)
    if left_out is not None and spells_ns > work.before_ns[left_out]:
        spells_ns, sums = spells_ns - work.before_ns[left_out], sums - counts[left_out]
    return sums * (work.between_ns / spells_ns)


def _at_even_speed(work: Work, counts: Floats) -> Floats:
    """Return the accesses between windows if all windows slowed the thread down by the same factor.

    It is right where what a thread does changes from a spell to its window, but not how much that is slowed down; `_between` is
    where it is the other way round. Where they differ either may be.
    """
    found: Floats = counts * (work.marks / work.marks_in * work.between_ns / work.before_ns.sum())
    return found


def _half_width(parts: Sequence[Part]) -> Floats:
    """Return half the 95 % interval of the accesses between windows.

    Spells are no part of what they stand for that was counted, so the rest of the time between windows varies as they do:
    that matters where they are much of it.
    """
    import numpy as np

    groups = [number for number in range(GROUPS) if any(work.before_ns[number] > 0 for work, _ in parts)]
    without = np.array([sum(_between(work, counts, group) for work, counts in parts) for group in groups])
    few = min(work.groups for work, _ in parts)
    variance = (few - 1) / few * ((without - without.mean(axis=0)) ** 2).sum(axis=0)
    spells_ns = sum(float(work.before_ns.sum()) for work, _ in parts)
    variance *= 1 + spells_ns / sum(work.between_ns for work, _ in parts)
    wrong = sum(work.wrong * _between(work, counts, None) for work, counts in parts)
    half: Floats = t_quantile(few - 1) * np.sqrt(variance) + wrong
    return half
