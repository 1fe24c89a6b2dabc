"""Algorithm 1 of the published mechanism, state by state, against an independent reading of it (section 7.3.4, 7.5.2)."""

from __future__ import annotations

import itertools

import pytest

from headway.analyses.placement.algorithm_one import AlgorithmOne, State
from headway.analyses.placement.types import Observation, Placement

CORES = 8


def seen(cpi: float = 1.0, main: float = 1.0, workers: float = 16.0, imbalance: float = 5.0) -> Observation:
    return Observation("one", 0.2, cpi, main, workers, imbalance, 0.5)


def as_written(main: float, workers: float, imbalance: float, single: float, every: float) -> State:
    """Return the state as the lines of the algorithm give it, each condition with all that has to be false before it."""
    not_single = main <= 80
    not_bound = not_single and workers > CORES
    is_parallel = not_bound and imbalance <= 90
    may_spread = single != 0 and (every == 0 or every <= single * 1.15)
    rows = [
        (main > 80, State.SINGLE_THREADED),
        (not_single and workers <= CORES, State.TLP_BOUND),
        (not_bound and imbalance > 90, State.EMBARRASSINGLY_IMBALANCED),
        (is_parallel and may_spread, State.PARALLEL_ON_ALL_NODES),
        (is_parallel and not may_spread, State.PARALLEL_ON_SINGLE_NODE),
    ]
    (state,) = [state for condition, state in rows if condition]
    return state


def test_every_branch_is_taken_as_it_is_written() -> None:
    grid = itertools.product(
        (0, 79, 80, 81, 100), (0, 7, 8, 9, 16), (0, 89, 90, 91, 265), (0, 1.0), (0, 0.5, 1.1, 1.2, 3.0)
    )
    states = set()
    for main, workers, imbalance, single, every in grid:
        policy = AlgorithmOne(CORES, single_node_cpi=single, all_nodes_cpi=every)
        state = policy.next_state(seen(main=main, workers=workers, imbalance=imbalance))
        assert state is as_written(main, workers, imbalance, single, every)
        states.add(state)
    assert states == {*State}


def run(policy: AlgorithmOne, *readings: Observation) -> list[tuple[State, Placement]]:
    return [(policy.state, decision.placement) for decision in (policy.decide(each) for each in readings)]


ONE_NODE, ALL_NODES = (State.PARALLEL_ON_SINGLE_NODE, "one"), (State.PARALLEL_ON_ALL_NODES, "all")


def test_a_parallel_program_is_tried_on_one_node_then_on_all_and_stays_where_it_is_not_15_percent_worse() -> None:
    for every, last in ((0.6, ALL_NODES), (1.0, ALL_NODES), (1.14, ALL_NODES), (1.16, ONE_NODE), (2.5, ONE_NODE)):
        policy = AlgorithmOne(CORES)
        assert policy.first().placement == "one"
        assert run(policy, seen(9.0), seen(1.0), seen(every)) == [ONE_NODE, ALL_NODES, last]
        # The reading of the first interval is of no parallel state, and is not taken.
        assert (policy.single_node_cpi, policy.all_nodes_cpi) == (1.0, every)


def test_a_worse_reading_on_one_node_lets_it_try_all_again_and_noise_moves_it_to_and_fro() -> None:
    policy = AlgorithmOne(CORES)
    states = run(policy, seen(), seen(1.0), seen(1.2), seen(1.05), seen(1.0), seen(1.1), seen(1.3))
    #                    first   one: 1.0   all: 1.2   one: 1.05   all: 1.0   all: 1.1  all: 1.3
    assert states == [ONE_NODE, ALL_NODES, ONE_NODE, ALL_NODES, ALL_NODES, ALL_NODES, ONE_NODE]


@pytest.mark.parametrize(
    ("reading", "state"),
    [
        (seen(main=81), State.SINGLE_THREADED),
        (seen(workers=8), State.TLP_BOUND),
        (seen(imbalance=91), State.EMBARRASSINGLY_IMBALANCED),
    ],
)
def test_a_program_that_is_not_parallel_is_kept_on_one_node_and_its_readings_are_not_compared(
    reading: Observation, state: State
) -> None:
    policy = AlgorithmOne(CORES)
    run(policy, seen(), seen(1.0), seen(0.6))
    assert run(policy, reading) == [(state, "one")]
    readings = (policy.single_node_cpi, policy.all_nodes_cpi)
    assert run(policy, seen(7.0)) == [ALL_NODES]
    assert (policy.single_node_cpi, policy.all_nodes_cpi) == readings


def test_back_off_waits_200_ms_longer_for_each_decision_that_is_the_same_and_another_one_sets_it_back() -> None:
    policy = AlgorithmOne(CORES, back_off=True)
    readings = (1.0, 1.0, 0.6, 0.6, 0.6, 1.3, 1.3)  # on one, one, all, all, all, all and, as that was worse, one node
    waits = [policy.decide(seen(cpi)).seconds for cpi in readings]
    assert waits == pytest.approx([0.2, 0.2, 0.4, 0.6, 0.8, 0.2, 0.2])
    plain = AlgorithmOne(CORES)
    assert {plain.decide(each).seconds for each in (seen(), seen(1.0), seen(0.6), seen(0.6))} == {0.2}


def test_back_off_is_for_parallel_programs_only() -> None:
    policy = AlgorithmOne(CORES, back_off=True)
    assert [policy.decide(seen(main=95)).seconds for _ in range(4)] == [0.2] * 4
