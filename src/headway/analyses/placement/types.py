"""What policies of placement see and say, and what a simulation of one tells."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

Placement = Literal["one", "all"]
ONE: Placement = "one"
ALL: Placement = "all"


@dataclass(frozen=True, slots=True)
class Observation:
    """What was measured of a program in one interval.

    `cpi`: cycles for each unit of work, of any fixed unit. `mix`: what the work is like, whatever the placement: a share of
    instructions, for example.
    """

    placement: Placement
    seconds: float
    cpi: float
    main_pct: float
    workers: float
    imbalance_pct: float
    mix: float


@dataclass(frozen=True, slots=True)
class Decision:
    """Where to run until the next decision, in how many seconds that is, and why. `is_trial`: to see how fast it is there."""

    placement: Placement
    seconds: float
    why: str
    is_trial: bool = False


class Policy(Protocol):
    """Decides at the end of each interval where a program runs in the next one."""

    def first(self) -> Decision:
        """Return where it begins."""

    def decide(self, seen: Observation) -> Decision:
        """Return what to do after an interval."""


@dataclass(frozen=True, slots=True)
class Simulated:
    """A program under a policy, means of all seeds. `speedup`: over a run on all nodes from beginning to end (naive)."""

    application: str
    seconds: float
    speedup: float
    best_fixed: float
    migrations: float
    on_all_share: float


@dataclass(frozen=True, slots=True)
class Simulation:
    """All programs under one policy. `median_of_best`: of the speeds relative to the best fixed placement in hindsight."""

    policy: str
    programs: tuple[Simulated, ...]
    geometric_mean: float
    best_fixed: float
    worst: float
    median_of_best: float
