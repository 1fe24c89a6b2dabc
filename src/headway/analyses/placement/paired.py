"""headway's policy: spells on both placements compared with an interval, the best of each phase remembered, few moves.

What the published policy got wrong, and what is done about it:

cold caches   readings right after a move are not compared, only what it costs is learnt from them;
oscillation   a placement is left only where the interval of the difference excludes none, and after a least spell;
phases        the kind of work is told by the number of workers and by what the work is like; each kind has its own readings and
              its own best placement, to which the program returns when that kind comes back, if it lasts long enough to pay;
noise         readings are compared until their interval excludes a small difference, or until there are enough to say that it is
              small: then the program is left where it was.

Comparison    Of the logarithm of cycles for each unit of work: Student's t for readings of both placements, at 99 %, as it is
              looked at several times; wider where readings are like those before them.
Checked       tests/golden/test_placement_simulation.py, tests/unit/analyses/placement/test_placement_policy.py.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from headway.analyses.placement.types import ALL, ONE, Decision, Observation, Placement

INTERVAL_S = 0.2
WARMING_S = 0.4
"""After a move: readings in this time are not compared."""
SETTLING_S = 5.0
"""At the start of a program the compiler changes everything, and one that is short would lose by a comparison."""
LEAST_SPELL_S = 1.0
FEWEST, MOST, MOST_OF_ALL = 3, 10, 160
"""Readings of each placement: below the first nothing is said. At the second it is over if the interval is narrow, else there are
twice as many, up to the last.
"""
EXACT = 0.05
"""Of the logarithm: an interval of this half-width that excludes nothing says that there is no difference worth a move."""
NEGLIGIBLE = 0.01
"""Of the logarithm: a difference that is not worth a move."""
SAME_MIX = 0.06
"""What readings of the same kind of work differ by at most in what the work is like."""
ACROSS_PCT = 10.0
"""Points of the main thread's work above what is usual: such a reading reaches over the border of two phases."""
MAIN_PCT = 80.0
SEEN_TWICE = 2
"""Readings in a row that another phase takes to be one."""
FEW_WORKERS_S = 5.0
"""After so long with fewer workers than a node has cores, one node is enough (guideline G1)."""
ANOTHER_LEVEL = 0.18
"""Of the logarithm: a phase whose readings are that far from those it was decided on is compared anew."""
LEVEL_READINGS = 5
FAR_SPREADS = 4.0
AGAIN_S = 30.0
"""The least time between two comparisons of a phase; twice as long each time that it comes to the same."""
MOST_CORRELATED = 0.9
_T_99 = (63.7, 9.92, 5.84, 4.60, 4.03, 3.71, 3.50, 3.36, 3.25, 3.17, 3.11, 3.05, 3.01, 2.98, 2.95, 2.92, 2.90, 2.88)
"""Student's t, two-sided 99 %, for 1, 2, 3 ... degrees of freedom."""


def t_99(degrees: int) -> float:
    """Return Student's t for a two-sided 99 %."""
    return _T_99[min(degrees, len(_T_99)) - 1]


@dataclass(slots=True)
class KindOfWork:
    """A kind of work that a program does in phases: how to know it again, and where it runs best, once that is known."""

    has_few_workers: bool
    mix: float
    main_pct: float
    readings: dict[Placement, list[float]] = field(default_factory=lambda: {ONE: [], ALL: []})
    best: Placement | None = None
    gain: float = 0.0
    decided_s: float = 0.0
    level: float = 0.0
    off_level: int = 0
    lasted_s: float = 0.0
    visits: int = 0
    length_s: float = math.inf
    again_s: float = AGAIN_S
    most: int = MOST
    before: Placement | None = None

    def is_like(self, seen: Observation, cores: int) -> bool:
        """Return whether a reading is of this kind of work."""
        if self.has_few_workers or has_few_workers(seen, cores):
            return self.has_few_workers == has_few_workers(seen, cores)
        return abs(seen.mix - self.mix) <= SAME_MIX

    def difference(self, correlation: float) -> tuple[float, float] | None:
        """Return by how much one node needs more cycles than all, as a logarithm, and what that is uncertain by.

        Readings that follow each other are alike by `correlation`: so many fewer of them count.
        """
        one, every = self.readings[ONE], self.readings[ALL]
        if min(len(one), len(every)) < FEWEST:
            return None
        error = math.sqrt(statistics.variance(one) / len(one) + statistics.variance(every) / len(every))
        error *= math.sqrt((1 + correlation) / (1 - correlation))
        return statistics.fmean(one) - statistics.fmean(every), t_99(len(one) + len(every) - 2) * error

    def forget(self) -> None:
        """Begin to compare anew."""
        self.readings = {ONE: [], ALL: []}
        self.before, self.best, self.off_level, self.most = self.best, None, 0, MOST


def has_few_workers(seen: Observation, cores: int) -> bool:
    """Return whether one node has a core for every worker."""
    return seen.main_pct > MAIN_PCT or seen.workers <= cores


def _likeness(values: Sequence[float]) -> tuple[float, float]:
    """Return the correlation of readings with the next ones, from 0, and their standard deviation; 0 of too few."""
    if len(values) < 2 * FEWEST:
        return 0.0, 0.0
    mean = statistics.fmean(values)
    total = sum((each - mean) ** 2 for each in values)
    if total == 0:
        return 0.0, 0.0
    along = sum((one - mean) * (other - mean) for one, other in itertools.pairwise(values))
    return min(max(along / total, 0.0), MOST_CORRELATED), math.sqrt(total / len(values))


@dataclass(slots=True)
class PairedSpells:
    """Compares spells on one node and on all, and remembers what is best for each kind of work."""

    cores: int
    start: Placement = ALL
    kinds: list[KindOfWork] = field(default_factory=list)
    current: KindOfWork | None = None
    cost_s: float = 0.2
    correlation: float = 0.0
    spread: float = 0.0
    _placement: Placement = ALL
    _clock_s: float = 0.0
    _moved_s: float = -math.inf
    _other: KindOfWork | None = None
    _other_times: int = 0
    _cold: list[Observation] = field(default_factory=list)
    _settling: list[float] = field(default_factory=list)

    def first(self) -> Decision:
        """Return the first decision, before anything was measured: where the program was started."""
        self._placement = self.start
        return Decision(self.start, INTERVAL_S, "as it was started")

    def decide(self, seen: Observation) -> Decision:
        """Note a reading, and return where to run next."""
        decision = self._decision(seen)
        is_open = self.current is not None and self.current.best is None and not self.current.has_few_workers
        return replace(decision, is_trial=is_open)

    def _decision(self, seen: Observation) -> Decision:
        self._clock_s += seen.seconds
        kind = self._kind_of(seen)
        if kind is None:
            return self._stay("another phase, seen once")
        kind.lasted_s += seen.seconds
        if seen.main_pct > kind.main_pct + ACROSS_PCT and not kind.has_few_workers:
            return self._stay("a reading across two phases")
        if self._clock_s - self._moved_s <= WARMING_S + INTERVAL_S / 2:
            self._cold.append(seen)
            return self._stay("caches are cold")
        self._learn_cost(kind, seen)
        if kind.has_few_workers:
            return self._few(kind)
        if kind.best is not None:
            return self._watch(kind, seen)
        if self._clock_s <= SETTLING_S:
            self._settling.append(math.log(seen.cpi))
            self.correlation, self.spread = _likeness(self._settling)
            return self._stay("the program settles")
        return self._compare(kind, seen)

    def _kind_of(self, seen: Observation) -> KindOfWork | None:
        """Return the kind of work that goes on; None for a reading of another one that may be a blip."""
        if self.current is not None and self.current.is_like(seen, self.cores):
            self._other_times = 0
            return self.current
        found = next((each for each in self.kinds if each.is_like(seen, self.cores)), None)
        if found is None:
            found = KindOfWork(has_few_workers(seen, self.cores), seen.mix, seen.main_pct)
            if self.current is not None and self._other is not None and self._other.is_like(seen, self.cores):
                found = self._other
        self._other_times = self._other_times + 1 if found is self._other else 1
        self._other = found
        if self.current is not None and self._other_times < SEEN_TWICE:
            return None
        self._leave(found)
        return found

    def _leave(self, found: KindOfWork) -> None:
        """Go over to another kind of work, and learn how long the one before lasted."""
        if self.current is not None:
            before = self.current
            before.length_s = before.lasted_s if not before.visits else 0.5 * (before.length_s + before.lasted_s)
            before.visits, before.lasted_s = before.visits + 1, 0.0
        if not any(each is found for each in self.kinds):
            self.kinds.append(found)
        self.current, self._other_times = found, 0

    def _few(self, kind: KindOfWork) -> Decision:
        """With few workers one node is enough, once that lasts."""
        if self._placement == ALL and kind.lasted_s >= FEW_WORKERS_S:
            return self._move(ONE, "fewer workers than a node has cores")
        return self._stay("few workers")

    def _watch(self, kind: KindOfWork, seen: Observation) -> Decision:
        """Return to the best placement of a kind of work; compare anew where its level has changed."""
        best = kind.best
        assert best is not None
        if self._placement != best:
            if kind.gain * min(kind.length_s, AGAIN_S) <= 2 * self.cost_s:
                return self._stay("too short to pay for a move")
            return self._move(best, "what is best for this kind of work")
        kind.off_level = kind.off_level + 1 if abs(math.log(seen.cpi) - kind.level) > self._far() else 0
        if kind.off_level >= LEVEL_READINGS and self._clock_s - kind.decided_s >= kind.again_s:
            kind.forget()
            return self._stay("another level: compared anew")
        return self._stay("decided")

    def _far(self) -> float:
        """Return by how much readings have to differ from those of a decision to be of another level."""
        return max(ANOTHER_LEVEL, FAR_SPREADS * self.spread)

    def _compare(self, kind: KindOfWork, seen: Observation) -> Decision:
        """Collect readings of both placements until they tell."""
        readings = kind.readings[self._placement]
        readings.append(math.log(seen.cpi))
        found = kind.difference(self.correlation)
        other: Placement = ONE if self._placement == ALL else ALL
        if found is not None:
            difference, error = found
            if abs(difference) - error > NEGLIGIBLE:
                return self._decided(kind, ALL if difference > 0 else ONE, abs(difference), "the interval tells")
            if min(len(each) for each in kind.readings.values()) >= kind.most:
                if error <= EXACT or kind.most >= MOST_OF_ALL:
                    return self._decided(kind, self.start, 0.0, "no difference that tells")
                kind.most *= 2
        if len(readings) >= FEWEST and len(kind.readings[other]) < FEWEST:
            return self._move(other, "to compare")
        if len(readings) >= kind.most > len(kind.readings[other]):
            return self._move(other, "to compare longer")
        return self._stay("readings to compare")

    def _decided(self, kind: KindOfWork, best: Placement, gain: float, why: str) -> Decision:
        if kind.before is not None:  # compared again, and for nothing: the next time later
            kind.again_s = 2 * kind.again_s if kind.before == best else AGAIN_S
        kind.best, kind.gain, kind.decided_s = best, gain, self._clock_s
        kind.level = statistics.fmean(kind.readings[best])
        return self._move(best, why) if best != self._placement else self._stay(why)

    def _learn_cost(self, kind: KindOfWork, seen: Observation) -> None:
        """Learn what a move costs: the time by which cold readings are longer than the first warm one."""
        if self._cold:
            if all(kind.is_like(each, self.cores) for each in self._cold):
                lost = sum(each.seconds * max(0.0, 1 - seen.cpi / each.cpi) for each in self._cold)
                self.cost_s = 0.5 * (self.cost_s + lost)
            self._cold.clear()

    def _move(self, placement: Placement, why: str) -> Decision:
        if self._clock_s - self._moved_s < LEAST_SPELL_S and placement != self._placement:
            return self._stay("moved just now")
        self._placement, self._moved_s = placement, self._clock_s
        self._cold.clear()
        return Decision(placement, INTERVAL_S, why)

    def _stay(self, why: str) -> Decision:
        return Decision(self._placement, INTERVAL_S, why)
