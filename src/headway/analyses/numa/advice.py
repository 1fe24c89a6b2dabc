"""What to do with a program on a machine of several memory nodes: a guideline by its classes, and advice by each root cause.

The guidelines are G1 and G2 of Papadakis, PhD thesis, Manchester 2022, section 7.2.
"""

from __future__ import annotations

from collections.abc import Sequence

from headway.analyses.numa.types import (
    EMBARRASSING,
    FEW_WORKERS,
    IMBALANCED,
    IRREGULAR,
    NON_UNIFORM,
    NOTHING_KNOWN,
    ONE_WORKER,
    OUTLIER,
    PARALLEL,
    READ_WRITE,
    SERIAL,
    SEVERAL,
    SHARED_WRITES,
    SINGLE,
    TLP_BOUND,
    WRITE_CONFLICTS,
    YES,
    Known,
)

G1, G2 = "G1", "G2"
_GUIDELINES = {SINGLE: G1, TLP_BOUND: G1, EMBARRASSING: G1, IMBALANCED: G2, PARALLEL: G2}
TEXTS = {
    G1: "keep it on one node: its threads gain nothing by a second one",
    G2: "a second node may help or hurt: measure both, one node and all",
}

ONE_NODE = (
    "numactl --cpunodebind=0 --membind=0 java ... keeps it on one node (or a cpuset); if its heap fits the node, else it is "
    "killed or swaps: then --preferred=0"
)
USE_NUMA = (
    "on all nodes: -XX:+UseNUMA (Parallel and G1) gives each thread memory of its own node; of use where threads mostly read "
    "what they allocated"
)
INTERLEAVE = (
    "on all nodes: -XX:+UseNUMAInterleaving, or numactl --interleave=all, spreads pages evenly; of use where all threads read "
    "the same data, every access is then remote half of the time"
)
BALANCING = {
    None: "/proc/sys/kernel/numa_balancing is 1 where the kernel moves pages by itself; beside a fixed placement that costs",
    True: "the kernel of the recorded machine moved pages and threads between nodes by itself (kernel.numa_balancing is on): it "
    "works against a fixed placement, and what it costs is in this recording; sysctl kernel.numa_balancing=0 to compare without",
    False: "the kernel of the recorded machine did not move pages between nodes (kernel.numa_balancing is off): they stay where "
    "they were first written; if threads change nodes, sysctl kernel.numa_balancing=1 is worth a measurement",
}
"""By whether the kernel balances nodes itself; None: not known."""
HAS_NUMA = "the recorded JVM has -XX:+UseNUMA already: measure without it, too, if threads read what others allocated"
NOT_WITH = (
    "the recorded JVM has the {gc} collector, which makes nothing of -XX:+UseNUMA: on all nodes -XX:+UseParallelGC or "
    "-XX:+UseG1GC with it; of use where threads mostly read what they allocated"
)
_NOT_OF_NODES = ("Serial", "Epsilon")
"""Collectors that have no memory by node."""
ONE_JVM_EACH = "one JVM per node, where the work can be divided: nothing is shared; each needs a heap of its own"

_BY_CAUSE = {
    FEW_WORKERS: "more threads, if there is work for them: as many as both nodes have cores",
    ONE_WORKER: "divide the work of the one worker that does most of it, before anything else",
    SERIAL: "what one thread does alone bounds the speedup: divide it, or let others go on meanwhile (headway why tells of a "
    "recording which thread that is, and where)",
    SEVERAL: "classify each workload by itself: together they look imbalanced",
    NON_UNIFORM: "divide the work into more and smaller parts than there are workers, which take the next one when they are "
    "done: the last worker then ends soon after the first",
    OUTLIER: "leave the one thread out of the balance: it has another role",
    SHARED_WRITES: "data that several threads write: one copy for each thread or node, merged at the end; padding of hot fields",
    WRITE_CONFLICTS: "data that many read and one writes: write less often, or give readers a copy",
    IRREGULAR: "accesses without order: arrays instead of hash tables, neighbouring work to the same thread",
}


LOCK = "a lock that threads of both nodes take goes from one to the other each time: hold it shorter, or have one for each node"


def guideline_of(parallelism: str | None) -> str | None:
    """Return the guideline for a class of parallelism; None where that is not determined."""
    return None if parallelism is None else _GUIDELINES[parallelism]


def advice_of(
    guideline: str | None,
    dependencies: str | None,
    locality: str | None,
    causes: Sequence[str],
    known: Known = NOTHING_KNOWN,
) -> tuple[str, ...]:
    """Return what to do, the most useful first."""
    if guideline is None:
        return ()
    machine = (ONE_NODE,) if guideline == G1 else _of_machine(dependencies, locality, known)
    of_causes = (_of_cause(each, known) for each in causes if each in _BY_CAUSE)
    lock = (f"{LOCK} ({known.lock})",) if guideline == G2 and known.lock else ()
    return (TEXTS[guideline], *of_causes, *lock, *machine, BALANCING[known.balances])


def _of_cause(cause: str, known: Known) -> str:
    place = known.places.get(cause)
    return _BY_CAUSE[cause] if place is None else f"{_BY_CAUSE[cause]} ({place})"


def _of_machine(dependencies: str | None, locality: str | None, known: Known) -> tuple[str, ...]:
    """Return what HotSpot and Linux offer to a program that may use both nodes."""
    numa = HAS_NUMA if known.has_numa else NOT_WITH.format(gc=known.gc) if known.gc in _NOT_OF_NODES else USE_NUMA
    if locality == YES:
        return (ONE_NODE,)
    if dependencies == READ_WRITE:
        return (ONE_NODE, ONE_JVM_EACH)
    if dependencies is None:
        return (ONE_NODE, numa)
    return (numa, INTERLEAVE)
