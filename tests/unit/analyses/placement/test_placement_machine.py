"""The simulated machine: times worked out by hand, what a move costs, and readings of what lies in an interval."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field

import pytest

from headway.analyses.placement.machine import TICK_S, Machine, WorkPhase, fixed_seconds, simulate
from headway.analyses.placement.types import ALL, ONE, Decision, Observation, Placement

EXACT = Machine(noise=0.0, noise_of_mix=0.0, uneven=0.0)


@dataclass
class Planned:
    """A policy that goes to a placement at given intervals, and notes what it sees."""

    start: Placement
    moves: dict[int, Placement] = field(default_factory=dict)
    seconds: float = 0.2
    log: list[Observation] = field(default_factory=list)
    placement: Placement = ONE

    def first(self) -> Decision:
        self.placement = self.start
        return Decision(self.start, self.seconds, "")

    def decide(self, seen: Observation) -> Decision:
        self.log.append(seen)
        self.placement = self.moves.get(len(self.log), self.placement)
        return Decision(self.placement, self.seconds, "")


PHASES = [WorkPhase(6, 2.0), WorkPhase(3, 0.5), WorkPhase(1, 1.0)]


@pytest.mark.parametrize(("placement", "seconds"), [(ONE, 10.0), (ALL, 6 / 2 + 3 / 0.5 + 1)])
def test_a_program_that_is_never_moved_takes_its_work_by_its_speed(placement: Placement, seconds: float) -> None:
    assert fixed_seconds(PHASES, placement) == pytest.approx(seconds)
    run = simulate(PHASES, Planned(placement), EXACT, 1)
    assert run.seconds == pytest.approx(seconds)
    assert run.migrations == 0
    assert run.on_all_s == pytest.approx(seconds if placement == ALL else 0)


@pytest.mark.parametrize(("to", "share", "speed"), [(ALL, 0.5, 2.0), (ONE, 0.3, 1.0)])
def test_a_move_costs_what_the_cold_time_leaves_undone(to: Placement, share: float, speed: float) -> None:
    start: Placement = ONE if to == ALL else ALL
    run = simulate([WorkPhase(20, 2.0)], Planned(start, {5: to}), EXACT, 1)
    plain = 1.0 + (20 - (1.0 if start == ONE else 2.0)) / speed
    # The speed of each tick is that of its beginning: a geometric series instead of the integral.
    lost = share * TICK_S / (1 - math.exp(-TICK_S / EXACT.warm_s))
    assert run.seconds == pytest.approx(plain + lost, abs=1e-6)
    ((moved_s, placement),) = run.moves
    assert placement == to
    assert moved_s == pytest.approx(1.0)


def test_a_reading_is_of_all_that_lies_in_its_interval() -> None:
    phases = [
        WorkPhase(0.1, 2.0, cpi=1.0, main_pct=0.0, workers=16, mix=0.2),
        WorkPhase(5, 2.0, cpi=3.0, main_pct=100.0, workers=0, mix=0.6),
    ]
    policy = Planned(ONE)
    simulate(phases, policy, EXACT, 1)
    first, second = policy.log[:2]
    assert (first.seconds, first.main_pct, first.workers, first.mix) == pytest.approx((0.2, 50, 8, 0.4))
    assert first.cpi == pytest.approx((0.1 * 1 + 0.1 * 3) / 0.2)
    assert (second.main_pct, second.workers, second.cpi) == pytest.approx((100, 0, 3))
    faster = Planned(ALL)
    simulate([WorkPhase(5, 2.0)], faster, EXACT, 1)
    assert faster.log[0].cpi == pytest.approx(0.5)  # twice as fast, as many cycles in all


def test_noise_is_that_of_the_seed_and_has_its_size() -> None:
    noisy = Machine(noise=0.1, uneven=0.0, noise_of_mix=0.0)
    logs = []
    for seed in (1, 1, 2):
        policy = Planned(ONE, seconds=TICK_S)
        simulate([WorkPhase(400, 1.0)], policy, noisy, seed)
        logs.append([math.log(each.cpi) for each in policy.log])
    assert logs[0] == logs[1] != logs[2]
    size = math.sqrt(sum(each * each for each in logs[0]) / len(logs[0]))
    assert size == pytest.approx(0.1, rel=0.06)  # four standard errors of 4000 readings


def test_work_that_wanders_does_so_slowly() -> None:
    policy = Planned(ONE, seconds=TICK_S)
    simulate([WorkPhase(2000, 1.0)], policy, Machine(noise=0.0, noise_of_mix=0.0, uneven=0.1, uneven_s=1.0), 1)
    values = [math.log(each.cpi) for each in policy.log]
    total = sum(each * each for each in values)
    next_to = sum(one * other for one, other in itertools.pairwise(values)) / total
    assert math.sqrt(total / len(values)) == pytest.approx(0.1, rel=0.1)
    assert next_to == pytest.approx(math.exp(-0.1), abs=0.02)
