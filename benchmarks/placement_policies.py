"""What do the policies of placement gain in the simulator, how often do they move, and how soon do they answer a change of phase?

The 15 published parallel programs on the simulated machine of two nodes, under the two published policies and headway's own,
beside the best fixed placement in hindsight; and 11 times two phases of 20 s, one of which is faster on both nodes and one on
one, of which headway's policy is told only by readings. Noise comes from seeds: the figures are the same on every machine. Of a
real one they say nothing: `benchmarks/two_nodes.py` measures there.
"""

from __future__ import annotations

import statistics
import sys
from dataclasses import dataclass, field

from headway.analyses.placement.analysis import POLICIES, simulate_programs
from headway.analyses.placement.machine import Machine, WorkPhase, simulate
from headway.analyses.placement.paired import PairedSpells
from headway.analyses.placement.programs import CORES, published_models
from headway.analyses.placement.types import ALL, ONE, Decision, Observation, Placement
from lib import harness

STEADY = ("sunflow", "xalan", "naive-bayes", "philosophers", "lusearch")
"""Programs with 28 to 42 migrations in table 7.1, one an iteration."""
MEAN, WORST, MEDIAN, MOST_MOVES, WITHIN_S = 1.19, 0.97, 0.97, 3, 2.0
SEEDS, QUICK_SEEDS = 6, 2
BORDER = 0.5
"""Of the mix of instructions: phases with less are faster on all nodes, the others on one."""
PHASES = [WorkPhase(20, 1.8, mix=0.3), WorkPhase(20, 0.5, mix=0.7)] * 11


@dataclass
class Watched(PairedSpells):
    """headway's policy, with the clock, the mix and the placement of each decision."""

    log: list[tuple[float, float, Placement]] = field(default_factory=list)
    clock_s: float = 0.0

    def decide(self, seen: Observation) -> Decision:
        """Decide as the policy does, and note it."""
        self.clock_s += seen.seconds
        decision = super().decide(seen)
        self.log.append((self.clock_s, seen.mix, decision.placement))
        return decision


def reactions_s(seed: int) -> list[float]:
    """Return how long after each change of phase the placement was the right one."""
    policy = Watched(CORES)
    simulate(PHASES, policy, Machine(), seed)
    found: list[float] = []
    wanted: Placement | None = None
    since_s: float | None = None
    for clock_s, mix, placement in policy.log:
        best: Placement = ALL if mix < BORDER else ONE
        if best != wanted:
            wanted, since_s = best, clock_s - 0.2
        if since_s is not None and placement == wanted:
            found.append(clock_s - since_s)
            since_s = None
    return found


def main() -> int:
    """Simulate and print; return 0 if the targets are reached."""
    options = harness.arguments(__doc__).parse_args()
    seeds = QUICK_SEEDS if options.quick else SEEDS
    harness.progress(f"placement policies: 15 programs, {seeds} seeds each")
    found = simulate_programs(published_models(), list(POLICIES), seeds)
    rows = []
    moves: dict[str, float] = {}
    for each in found:
        moves[each.policy] = max(one.migrations for one in each.programs if one.application in STEADY)
        row = (each.geometric_mean, each.best_fixed, each.worst, each.median_of_best, moves[each.policy])
        rows.append([each.policy, *(f"{figure:.3f}" for figure in row)])
    print(harness.table(["policy", "mean", "best fixed", "worst", "median of best", "most moves of steady"], rows))
    own = next(each for each in found if each.policy == "headway")
    waits = [wait for seed in range(seeds) for wait in reactions_s(seed)]
    ninth = statistics.quantiles(waits, n=10)[-1]
    checks = [
        (f"geometric mean {own.geometric_mean:.3f}x over all nodes, target {MEAN}", own.geometric_mean >= MEAN),
        (f"worst program {own.worst:.3f}x, target {WORST}", own.worst >= WORST),
        (f"median {own.median_of_best:.3f} of the best fixed placement, target {MEDIAN}", own.median_of_best >= MEDIAN),
        (
            f"steady programs moved {moves['headway']:.1f} times at most, target {MOST_MOVES}",
            moves["headway"] <= MOST_MOVES,
        ),
        (f"9 of 10 changes of {len(waits)} answered within {ninth:.2f} s, target {WITHIN_S:g}", ninth <= WITHIN_S),
    ]
    figures = {"policies": {each.policy: [each.geometric_mean, each.worst, each.median_of_best] for each in found}}
    return harness.finish(options, "placement_policies", {**figures, "reaction_s": ninth}, checks)


if __name__ == "__main__":
    sys.exit(main())
