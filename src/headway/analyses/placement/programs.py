"""The published parallel programs as models: 15 programs of tables 7.1 and 7.2, with the speeds of table 6.6.

From the tables: the speed on all nodes (6.6), the seconds of an iteration (objects by their rate, 5.5 and 5.9), iterations (5.3).
Assumed: between two iterations the main thread works alone for a while (the harness, a collection), with more cycles for each
unit of work; how long, and how many cycles, differs each time. That the mechanism takes two of the programs for no parallel ones
(no migrations in 7.1) is put in, not found.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from pathlib import Path

from headway.analyses.numa.published import published
from headway.analyses.numa.tables import UnusableTableError, join_tables
from headway.analyses.placement.machine import WorkPhase
from headway.errors import HeadwayError

CORES = 8
"""Of a node of the published machine; programs have two threads for each."""
BETWEEN_S = (0.15, 0.35)
BETWEEN_CPI = (2.5, 0.4)
"""Cycles for each unit of work between iterations: median, and deviation of the logarithm."""
OWN_SECONDS = 5.0
OWN_ITERATIONS = 30
"""Of a program in a table that doesn't tell."""
LONGEST_S = 600.0
"""Of a simulated program, on one node; h2 would take 10,000 s, and the rest of it tells no more."""
FEWEST_ITERATIONS = 2
SLOWEST, FASTEST = 0.05, 20.0
MOST_PROGRAMS = 100
NOT_PARALLEL = ("single-threaded", "tlp-bound", "embarrassingly-imbalanced")


@dataclass(frozen=True, slots=True)
class ProgramModel:
    """A program for the simulator. `is_seen_parallel`: whether it has more workers than a node has cores."""

    name: str
    speed_on_all: float
    iterations: int
    iteration_s: float
    is_seen_parallel: bool = True

    def phases(self, seed: int) -> list[WorkPhase]:
        """Return its iterations, and what lies between them."""
        draw = random.Random(f"{self.name} {seed}")
        workers = 2.0 * CORES if self.is_seen_parallel else float(CORES)
        found = []
        for _ in range(self.iterations):
            found.append(WorkPhase(self.iteration_s, self.speed_on_all, workers=workers))
            cpi = BETWEEN_CPI[0] * math.exp(BETWEEN_CPI[1] * draw.gauss(0, 1))
            found.append(WorkPhase(draw.uniform(*BETWEEN_S), self.speed_on_all, cpi, main_pct=100.0, workers=0.0))
        return found


def published_models() -> list[ProgramModel]:
    """Return the 15 programs that the author tells migrations of."""
    found = []
    for each in published():
        if "default_migrations" in each.figures and each.speedup is not None:
            seconds = each.figures["objects_k"] / each.figures["objects_k_per_s"]
            parallel = each.figures["default_migrations"] > 0
            found.append(_model(each.name, each.speedup, seconds, int(each.figures["iterations"]), parallel))
    return found


def models_of_table(path: Path | str) -> list[ProgramModel]:
    """Return the programs of a table that tells their speed on all nodes.

    Raises HeadwayError HW701 for a program that is there twice, HW709 for a table that can't be used, has no such program, or
    a speed that can't be simulated.
    """
    try:
        programs = join_tables([path]).programs
    except UnusableTableError as error:
        raise HeadwayError("HW709", path=error.where, reason=error.reason) from error
    found = []
    for each in programs:
        speed = each.number("all_nodes_speedup")
        if speed is None:
            continue
        if not SLOWEST <= speed <= FASTEST:
            reason = (
                f"{each.name} is {speed:g} times as fast on all nodes, from {SLOWEST:g} to {FASTEST:g} is simulated"
            )
            raise HeadwayError("HW709", path=path, reason=reason)
        objects, rate = each.number("objects_k"), each.number("objects_k_per_s")
        seconds = objects / rate if objects and rate else OWN_SECONDS
        seconds = min(max(seconds, 10 * BETWEEN_S[1]), LONGEST_S / FEWEST_ITERATIONS)
        parallel = each.word("parallelism") not in NOT_PARALLEL
        found.append(_model(each.name, speed, seconds, OWN_ITERATIONS, parallel))
    if not found:
        raise HeadwayError("HW709", path=path, reason="no program has a figure in a column all_nodes_speedup")
    if len(found) > MOST_PROGRAMS:
        raise HeadwayError("HW709", path=path, reason=f"{len(found)} programs, at most {MOST_PROGRAMS} are simulated")
    return found


def _model(name: str, speed: float, seconds: float, iterations: int, parallel: bool) -> ProgramModel:
    most = max(FEWEST_ITERATIONS, math.ceil(LONGEST_S / seconds))
    return ProgramModel(name, speed, min(iterations, most), seconds, parallel)
