"""headway's policy of placement on programs that it can't know: noise, drift, phases, hard moves, short runs."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass, field

import pytest

from headway.analyses.placement.machine import Machine, SimulatedRun, WorkPhase, fixed_seconds, simulate
from headway.analyses.placement.paired import PairedSpells, t_99
from headway.analyses.placement.types import ALL, ONE, Decision, Observation, Placement

CORES = 8
SEEDS = range(6)
EVEN = Machine(uneven=0.0)


def runs(phases: list[WorkPhase], machine: Machine = EVEN) -> list[tuple[float, SimulatedRun]]:
    """Return the speed over a run on all nodes, and the run, of each seed."""
    naive = fixed_seconds(phases, ALL)
    found = [simulate(phases, PairedSpells(CORES), machine, seed) for seed in SEEDS]
    return [(naive / each.seconds, each) for each in found]


@pytest.mark.parametrize("speed", [0.4, 0.7, 0.9, 1.0, 1.02, 1.3, 1.9])
def test_a_steady_program_is_compared_once_and_is_then_left_where_it_is_fastest(speed: float) -> None:
    for gained, run in runs([WorkPhase(120, speed)]):
        assert gained >= 0.97 * max(1, 1 / speed)  # 5 s of 120 pass before anything is compared
        assert run.migrations <= 3


def test_a_program_that_is_not_faster_on_either_stays_where_it_was_started() -> None:
    for gained, run in runs([WorkPhase(120, 1.0)]):
        assert gained > 0.99
        assert run.on_all_s / run.seconds > 0.95


@pytest.mark.parametrize("noise", [0.05, 0.1, 0.2])
def test_noise_makes_it_slower_to_decide_and_hardly_ever_wrong(noise: float) -> None:
    for speed in (0.6, 1.5):
        for gained, run in runs([WorkPhase(120, speed)], Machine(noise=noise, uneven=0.0)):
            assert gained >= 0.95 * max(1, 1 / speed)
            assert run.migrations <= 6


def test_work_that_wanders_by_itself_is_not_taken_for_an_effect_of_the_placement() -> None:
    for speed in (0.8, 1.0, 1.3):
        for gained, run in runs([WorkPhase(400, speed)], Machine(uneven=0.1)):
            assert gained >= 0.95 * max(1, 1 / speed)
            assert run.migrations <= 12


def test_a_program_that_gets_faster_while_it_is_compiled_is_judged_right_in_the_end() -> None:
    for speed in (0.7, 1.5):
        warming = [WorkPhase(0.5, speed, cpi=1 + math.exp(-step / 20)) for step in range(240)]
        for gained, _ in runs(warming):
            assert gained >= 0.95 * max(1, 1 / speed)


def test_moves_that_cost_much_are_not_taken_for_a_slow_placement() -> None:
    hard = Machine(cold_all=0.8, cold_one=0.6, warm_s=1.0, uneven=0.0)
    for speed in (0.7, 1.5):
        for gained, _ in runs([WorkPhase(120, speed)], hard):
            assert gained >= 0.95 * max(1, 1 / speed)


def test_a_program_of_a_few_seconds_is_left_alone() -> None:
    for gained, run in runs([WorkPhase(8, 1.8)]):
        assert gained == pytest.approx(1)
        assert run.migrations == 0


def test_a_program_with_few_workers_goes_to_one_node_without_a_comparison() -> None:
    for gained, run in runs([WorkPhase(60, 0.8, workers=4)]):
        assert gained > 1.2
        assert [placement for _, placement in run.moves] == [ONE]


@dataclass
class Watched(PairedSpells):
    """The policy, and what it saw and said: clock, mix, placement, and its decisions."""

    log: list[tuple[float, float, Placement]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    clock: float = 0.0

    def decide(self, seen: Observation) -> Decision:
        self.clock += seen.seconds
        decision = super().decide(seen)
        self.log.append((self.clock, seen.mix, decision.placement))
        self.decisions.append(decision)
        return decision


@pytest.mark.parametrize(("speed", "best"), [(0.4, ONE), (1.9, ALL)])
def test_both_placements_are_tried_and_what_is_decided_then_is_no_trial(speed: float, best: Placement) -> None:
    policy = Watched(CORES)
    simulate([WorkPhase(120, speed)], policy, EVEN, 0)
    trials = [number for number, each in enumerate(policy.decisions) if each.is_trial]
    assert {policy.decisions[number].placement for number in trials} == {ONE, ALL}
    after = policy.decisions[trials[-1] + 1 :]
    assert len(after) > 10
    assert {each.placement for each in after} == {best}


ALTERNATING = [WorkPhase(20, 1.8, mix=0.3), WorkPhase(20, 0.5, mix=0.7)] * 11


def test_phases_are_told_apart_and_each_runs_where_it_is_fastest() -> None:
    best = fixed_seconds(ALTERNATING, ALL) / sum(each.work_s / max(1, each.speed_on_all) for each in ALTERNATING)
    fixed = max(1, fixed_seconds(ALTERNATING, ALL) / fixed_seconds(ALTERNATING, ONE))
    for gained, run in runs(ALTERNATING):
        assert fixed < gained
        assert gained > 0.93 * best
        assert run.migrations <= len(ALTERNATING) + 3


def test_a_change_of_phase_is_answered_within_two_seconds_in_nine_of_ten() -> None:
    waits = []
    for seed in SEEDS:
        policy = Watched(CORES)
        simulate(ALTERNATING, policy, Machine(), seed)
        wanted: Placement | None = None
        began = 0.0
        for clock, mix, placement in policy.log:
            best: Placement = ALL if mix < 0.5 else ONE
            if best != wanted:
                wanted, began = best, clock - 0.2
                open_since: float | None = began
            if open_since is not None and placement == wanted:
                waits.append(clock - open_since)
                open_since = None
    assert len(waits) >= 20 * len(SEEDS)
    assert statistics.quantiles(waits, n=10)[-1] <= 2.0


@pytest.mark.parametrize("seconds", [0.5, 1.0, 2.0, 5.0])
def test_phases_that_change_fast_never_make_it_slower_than_without_a_policy(seconds: float) -> None:
    phases = [WorkPhase(seconds, 1.8, mix=0.3), WorkPhase(seconds, 0.5, mix=0.7)] * int(60 / seconds)
    for gained, _ in runs(phases):
        assert gained > 1.0


def test_what_a_move_costs_is_learnt() -> None:
    costs = []
    for share in (0.2, 0.8):
        policy = PairedSpells(CORES)
        simulate([WorkPhase(60, 0.6)], policy, Machine(cold_one=share, cold_all=share, uneven=0.0, noise=0.001), 1)
        costs.append(policy.cost_s)
    assert costs[0] < costs[1]


def test_students_t_is_that_of_the_tables() -> None:
    assert [t_99(degrees) for degrees in (1, 4, 10, 18, 200)] == [63.7, 4.60, 3.17, 2.88, 2.88]
