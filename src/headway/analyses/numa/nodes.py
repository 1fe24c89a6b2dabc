"""The memory nodes of the machine that a recording is of, or sets of CPUs that are declared as nodes.

Question   how many CPUs has a node, and on which nodes did the program run.
Method     the machine's topology as the recorder read it from sysfs, and the CPU of every slice.
Wrong when CPUs went online or offline during the recording.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headway.model.kinds import PROGRAM

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headway.store import Recording

LEAST_SHARE = 0.01
"""Of the program's CPU time: a node on which it ran less than that is one that it did not run on."""


@dataclass(frozen=True, slots=True)
class Nodes:
    """How many nodes a machine has. `sets`: the CPUs of each, where they are declared, else empty."""

    count: int
    sets: tuple[frozenset[int], ...] = ()


def node_of_cpu(recording: Recording, declared: Nodes | None = None) -> dict[int, int]:
    """Return the node of each CPU, as declared or as the machine has it; CPUs whose node is not known are missing."""
    if declared is not None and declared.sets:
        return {cpu: node for node, cpus in enumerate(declared.sets) for cpu in cpus}
    return {each.cpu: each.node for each in recording.manifest.host.topology if each.node is not None}


def cores_per_node(recording: Recording, declared: Nodes | None = None) -> int | None:
    """Return the number of CPUs of the largest node; None where the recording does not say."""
    counts: dict[int, int] = {}
    for node in node_of_cpu(recording, declared).values():
        counts[node] = counts.get(node, 0) + 1
    return max(counts.values(), default=None)


def shares_by_node(recording: Recording, declared: Nodes | None = None) -> Mapping[int | None, float]:
    """Return which share of the program's CPU time was on each node, of at least LEAST_SHARE; None: not known where."""
    kinds = ", ".join(f"'{kind}'" for kind in PROGRAM)
    rows = recording.query(
        f"""SELECT s.cpu, sum(s.running_ns)::BIGINT FROM slice s JOIN thread t USING (thread_id)
          WHERE t.kind IN ({kinds}) AND s.running_ns > 0 GROUP BY s.cpu"""
    ).fetchall()
    nodes, total = node_of_cpu(recording, declared), sum(ns for _, ns in rows)
    found: dict[int | None, float] = {}
    for cpu, ns in rows:
        node = nodes.get(cpu)
        found[node] = found.get(node, 0.0) + ns / total
    return {node: share for node, share in found.items() if share >= LEAST_SHARE}
