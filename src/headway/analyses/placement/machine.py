"""A simulator of a machine of two memory nodes: how fast a program is on one and on both, after it was moved, and by phase.

A program is a list of phases; each has work, in seconds on one node, and a speed on all nodes relative to one. After a move the
caches of where it comes to are cold: its speed starts at a part of what it will be and recovers exponentially. Readings have
noise, the same sequence of it for every policy with the same seed.
"""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass

from headway.analyses.placement.types import ALL, Observation, Placement, Policy

TICK_S = 0.1
_WARM_AFTER = 20
LONGEST_S = 100_000.0
"""A simulated run ends here: a policy can slow a program down, and never for ever."""


@dataclass(frozen=True, slots=True)
class WorkPhase:
    """A stretch of a program: its work, its speed on all nodes, and what its threads look like. `cpi`: relative to others."""

    work_s: float
    speed_on_all: float
    cpi: float = 1.0
    main_pct: float = 1.0
    workers: float = 16.0
    imbalance_pct: float = 0.0
    mix: float = 0.5


@dataclass(frozen=True, slots=True)
class Machine:
    """What moving costs, and how exact readings are.

    `noise`: of a reading, `uneven`: of the program itself, whose work wanders with a time constant of `uneven_s` (both relative).
    """

    cold_all: float = 0.5
    cold_one: float = 0.3
    warm_s: float = 0.2
    noise: float = 0.03
    uneven: float = 0.05
    uneven_s: float = 1.0
    noise_of_mix: float = 0.01

    def cold_share(self, placement: Placement) -> float:
        """Return the part of the speed that is missing right after a move to a placement."""
        return self.cold_all if placement == ALL else self.cold_one


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    """A simulated run: how long it took, how often it was moved, how long it was on all nodes, and each move's time."""

    seconds: float
    migrations: int
    on_all_s: float
    moves: tuple[tuple[float, Placement], ...]


def fixed_seconds(phases: list[WorkPhase], placement: Placement) -> float:
    """Return how long a program takes that is never moved."""
    return math.fsum(each.work_s / (each.speed_on_all if placement == ALL else 1.0) for each in phases)


@dataclass(slots=True)
class _Program:
    """A program under way: what is left of its phases."""

    phases: list[WorkPhase]
    place: int = 0
    done_s: float = 0.0

    @property
    def is_over(self) -> bool:
        return self.place >= len(self.phases)

    def advance(self, seconds: float, placement: Placement, warmth: float) -> Iterator[tuple[WorkPhase, float, float]]:
        """Work for a time; give each phase touched, the time and the work in it."""
        left = seconds
        while left > 1e-9 and not self.is_over:
            phase = self.phases[self.place]
            speed = (phase.speed_on_all if placement == ALL else 1.0) * warmth
            rest = phase.work_s - self.done_s
            taken = min(left, rest / speed)
            work = taken * speed
            yield phase, taken, work
            left -= taken
            self.done_s += work
            if self.done_s >= phase.work_s - 1e-9:
                self.place, self.done_s = self.place + 1, 0.0


@dataclass(slots=True)
class _Sums:
    """Sums over one interval, of which a reading is made: each phase by its time."""

    seconds: float = 0.0
    work: float = 0.0
    cycles: float = 0.0
    main: float = 0.0
    workers: float = 0.0
    imbalance: float = 0.0
    mix: float = 0.0

    def add(self, phase: WorkPhase, seconds: float, work: float) -> None:
        self.seconds += seconds
        self.work += work
        self.cycles += seconds * phase.cpi
        self.main += phase.main_pct * seconds
        self.workers += phase.workers * seconds
        self.imbalance += phase.imbalance_pct * seconds
        self.mix += phase.mix * seconds


def simulate(phases: list[WorkPhase], policy: Policy, machine: Machine, seed: int) -> SimulatedRun:
    """Run a program under a policy."""
    noise = random.Random(seed)
    program = _Program(phases)
    decision = policy.first()
    placement, since_move, clock, on_all = decision.placement, math.inf, 0.0, 0.0
    wander = 0.0
    moves: list[tuple[float, Placement]] = []
    while not program.is_over and clock < LONGEST_S:
        sums = _Sums()
        # Once caches are warm the speed does not change any more: one step will do.
        steps = 1 if since_move > _WARM_AFTER * machine.warm_s else max(1, round(decision.seconds / TICK_S))
        for _ in range(steps):
            warmth = 1 - machine.cold_share(placement) * math.exp(-since_move / machine.warm_s)
            taken = 0.0
            for phase, seconds, work in program.advance(decision.seconds / steps, placement, warmth):
                sums.add(phase, seconds, work)
                taken += seconds
            clock += taken
            since_move += taken
            on_all += taken if placement == ALL else 0.0
            if program.is_over:
                break
        if program.is_over:
            break
        kept = math.exp(-sums.seconds / machine.uneven_s)
        wander = kept * wander + math.sqrt(1 - kept * kept) * noise.gauss(0, 1)
        sums.cycles *= math.exp(machine.uneven * wander)
        decision = policy.decide(_reading(sums, placement, machine, noise))
        if decision.placement != placement:
            placement, since_move = decision.placement, 0.0
            moves.append((clock, placement))
    return SimulatedRun(clock, len(moves), on_all, tuple(moves))


def _reading(sums: _Sums, placement: Placement, machine: Machine, noise: random.Random) -> Observation:
    of_cpi, of_mix = noise.gauss(0, 1), noise.gauss(0, 1)
    length = math.sqrt(max(1.0, sums.seconds / TICK_S))  # a longer reading is more exact
    return Observation(
        placement=placement,
        seconds=sums.seconds,
        cpi=sums.cycles / sums.work * math.exp(machine.noise / length * of_cpi),
        main_pct=sums.main / sums.seconds,
        workers=sums.workers / sums.seconds,
        imbalance_pct=sums.imbalance / sums.seconds,
        mix=sums.mix / sums.seconds + machine.noise_of_mix / length * of_mix,
    )
