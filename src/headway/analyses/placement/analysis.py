"""What policies of placement would have done: programs on a simulated machine of two memory nodes, under each of them.

Answers    For each policy and program: how fast against a run on all nodes (naive), how many moves, beside the best fixed
           placement in hindsight. A model is no machine: what it assumes is part of the answer.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence

from headway.analyses.numa.published import geometric_mean
from headway.analyses.placement.algorithm_one import AlgorithmOne
from headway.analyses.placement.machine import Machine, fixed_seconds, simulate
from headway.analyses.placement.paired import PairedSpells
from headway.analyses.placement.programs import (
    BETWEEN_CPI,
    BETWEEN_S,
    CORES,
    FEWEST_ITERATIONS,
    LONGEST_S,
    ProgramModel,
)
from headway.analyses.placement.types import ALL, ONE, Policy, Simulated, Simulation

POLICIES: dict[str, Callable[[], Policy]] = {
    "paper": lambda: AlgorithmOne(CORES),
    "paper-back-off": lambda: AlgorithmOne(CORES, back_off=True),
    "headway": lambda: PairedSpells(CORES),
}


def simulate_programs(
    models: Sequence[ProgramModel], policies: Sequence[str], seeds: int, machine: Machine | None = None
) -> tuple[Simulation, ...]:
    """Return each policy's simulation of all programs, each the geometric mean of several seeds."""
    chosen = machine if machine is not None else Machine()
    return tuple(_simulation(policy, models, seeds, chosen) for policy in policies)


def assumptions(machine: Machine) -> tuple[str, ...]:
    """Return what the model takes for granted, as sentences."""
    return (
        f"right after a move a program runs {100 * machine.cold_all:.0f} % slower on all nodes, {100 * machine.cold_one:.0f} % "
        f"slower on one, and recovers with a time constant of {machine.warm_s:g} s",
        f"a reading over 0.1 s is off by {100 * machine.noise:g} % (one standard deviation), and the work itself wanders by "
        f"{100 * machine.uneven:g} % with a time constant of {machine.uneven_s:g} s",
        f"between iterations main works alone for {BETWEEN_S[0]:g} to {BETWEEN_S[1]:g} s, with about {BETWEEN_CPI[0]:g} times "
        "as many cycles for each unit of work",
        f"a program ends with the iteration that reaches {LONGEST_S:g} s on one node, but has {FEWEST_ITERATIONS} at least",
        "phases inside an iteration are not modelled: the tables don't have them",
    )


def _simulation(policy: str, models: Sequence[ProgramModel], seeds: int, machine: Machine) -> Simulation:
    programs = tuple(_simulated(model, POLICIES[policy], seeds, machine) for model in models)
    return Simulation(
        policy=policy,
        programs=programs,
        geometric_mean=_mean([each.speedup for each in programs]),
        best_fixed=_mean([each.best_fixed for each in programs]),
        worst=min(each.speedup for each in programs),
        median_of_best=statistics.median(each.speedup / each.best_fixed for each in programs),
    )


def _simulated(model: ProgramModel, make: Callable[[], Policy], seeds: int, machine: Machine) -> Simulated:
    seconds, speedups, best, moves, shares = [], [], [], [], []
    for seed in range(seeds):
        phases = model.phases(seed)
        naive = fixed_seconds(phases, ALL)
        run = simulate(phases, make(), machine, seed)
        seconds.append(run.seconds)
        speedups.append(naive / run.seconds)
        best.append(naive / min(naive, fixed_seconds(phases, ONE)))
        moves.append(run.migrations)
        shares.append(run.on_all_s / run.seconds)
    return Simulated(
        application=model.name,
        seconds=statistics.fmean(seconds),
        speedup=_mean(speedups),
        best_fixed=_mean(best),
        migrations=statistics.fmean(moves),
        on_all_share=statistics.fmean(shares),
    )


def _mean(values: Sequence[float]) -> float:
    mean = geometric_mean(values)
    assert mean is not None  # speeds are more than nothing
    return mean
