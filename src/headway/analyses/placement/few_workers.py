"""Policy of `headway place` without a measure of speed: keeps a program of few workers on the memory node that has its memory.

Method     Guideline G1 of the thesis: what has no more workers than a node has cores gains nothing from a second one, and reads
           its memory from there. That is so only as far as its memory is on the node: the share on other nodes has to be well
           below that of threads which the kernel puts on any node.
Wrong when the program is bound by the bandwidth of memory, which two nodes have more of; or when few threads read much of what
           lies elsewhere. Neither can be seen without counters or a unit of work, so that nothing else is decided: never of a
           program with more workers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from headway.analyses.placement.paired import FEW_WORKERS_S, INTERVAL_S, has_few_workers
from headway.analyses.placement.types import ALL, ONE, Decision, Observation, Placement

LESS_REMOTE = 0.1
"""By so much the share of remote memory has to be smaller on the node than on all."""


def remote_share_of_all(cpus_by_node: Mapping[int, int], memory_by_node: Mapping[int, int]) -> float | None:
    """Return the share of its memory that is remote to a thread that runs on any CPU alike; None of no memory."""
    cpus, memory = sum(cpus_by_node.values()), sum(memory_by_node.values())
    if not cpus or not memory:
        return None
    local = sum(count / cpus * memory_by_node.get(node, 0) / memory for node, count in cpus_by_node.items())
    return 1 - local


@dataclass(slots=True)
class FewWorkers:
    """Keeps a program with few workers on the node of its memory. `remote_at_home`, `remote_on_all`: shares of its memory."""

    cores: int
    remote_at_home: float
    remote_on_all: float
    _placement: Placement = ALL
    _few_s: float = 0.0
    _many_s: float = 0.0

    def first(self) -> Decision:
        """Return the first decision, before anything was measured: where the program was started."""
        return Decision(ALL, INTERVAL_S, "as it was started")

    def decide(self, seen: Observation) -> Decision:
        """Note how many workers there are, and return where to run next."""
        if has_few_workers(seen, self.cores):
            self._few_s, self._many_s = self._few_s + seen.seconds, 0.0
        else:
            self._few_s, self._many_s = 0.0, self._many_s + seen.seconds
        if self._many_s > 0:
            is_over = self._placement == ONE and self._many_s >= FEW_WORKERS_S
            self._placement = ALL if is_over else self._placement
            return self._stay("more workers than a node has cores: what is faster can't be told")
        if self.remote_on_all - self.remote_at_home < LESS_REMOTE:
            return self._stay("few workers, but as much of its memory is elsewhere")
        if self._few_s < FEW_WORKERS_S:
            return self._stay("few workers for a short time")
        self._placement = ONE
        return self._stay("few workers, and most of its memory is there")

    def _stay(self, why: str) -> Decision:
        return Decision(self._placement, INTERVAL_S, why)
