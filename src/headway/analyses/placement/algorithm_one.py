"""The published policy (algorithm 1): both nodes while cycles per instruction are at most 15 % above those on one node.

Method     Papadakis, PhD thesis, Manchester 2022, algorithm 1 (section 7.3.4) with its thresholds: 80 % of the instructions for
           the main thread, as many workers as a node has cores, 90 % of imbalance, a margin of 15 %, an interval of 200 ms. The
           back-off variant (section 7.5.2): each time a parallel program's decision is the same, the interval is 200 ms longer;
           another decision sets it back.
Reading    A reading belongs to a node only if the program was in the parallel state of that node while it was taken: otherwise
           the first two steps of the algorithm, one node and then all, could never be taken.
Checked    tests/golden/test_placement_algorithm.py, state by state.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from headway.analyses.placement.types import ALL, ONE, Decision, Observation

MAIN_PCT = 80.0
IMBALANCE_PCT = 90.0
MARGIN = 0.15
INTERVAL_S = 0.2


class State(Enum):
    """The five states of algorithm 1."""

    SINGLE_THREADED = "single-threaded"
    TLP_BOUND = "tlp-bound"
    EMBARRASSINGLY_IMBALANCED = "embarrassingly-imbalanced"
    PARALLEL_ON_SINGLE_NODE = "parallel on one node"
    PARALLEL_ON_ALL_NODES = "parallel on all nodes"


PARALLEL = (State.PARALLEL_ON_SINGLE_NODE, State.PARALLEL_ON_ALL_NODES)


@dataclass(slots=True)
class AlgorithmOne:
    """Algorithm 1, with or without back-off. A reading of 0 is one that was not taken yet."""

    cores: int
    back_off: bool = False
    state: State = State.SINGLE_THREADED
    single_node_cpi: float = 0.0
    all_nodes_cpi: float = 0.0
    interval_s: float = INTERVAL_S

    def first(self) -> Decision:
        """Return one node: nothing is known yet."""
        return Decision(ONE, self.interval_s, self.state.value)

    def decide(self, seen: Observation) -> Decision:
        """Note the reading, and return the placement of the next state."""
        if self.state is State.PARALLEL_ON_SINGLE_NODE:
            self.single_node_cpi = seen.cpi
        elif self.state is State.PARALLEL_ON_ALL_NODES:
            self.all_nodes_cpi = seen.cpi
        before, self.state = self.state, self.next_state(seen)
        if self.back_off:
            is_same = self.state is before and self.state in PARALLEL
            self.interval_s = self.interval_s + INTERVAL_S if is_same else INTERVAL_S
        placement = ALL if self.state is State.PARALLEL_ON_ALL_NODES else ONE
        return Decision(placement, self.interval_s, self.state.value)

    def next_state(self, seen: Observation) -> State:
        """Return the state by algorithm 1."""
        if seen.main_pct > MAIN_PCT:
            return State.SINGLE_THREADED
        if seen.workers <= self.cores:
            return State.TLP_BOUND
        if seen.imbalance_pct > IMBALANCE_PCT:
            return State.EMBARRASSINGLY_IMBALANCED
        if self.single_node_cpi == 0:
            return State.PARALLEL_ON_SINGLE_NODE
        most = self.single_node_cpi + self.single_node_cpi * MARGIN
        if self.all_nodes_cpi == 0 or self.all_nodes_cpi <= most:
            return State.PARALLEL_ON_ALL_NODES
        return State.PARALLEL_ON_SINGLE_NODE
