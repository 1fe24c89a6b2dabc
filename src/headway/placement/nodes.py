"""The memory nodes that a running program may use: those of the machine, or sets of CPUs that are declared as nodes."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from headway.record.machine.host import cgroups, online_cpus, parse_cpu_list

_SYS_NODES = Path("/sys/devices/system/node")
_BALANCING = Path("/proc/sys/kernel/numa_balancing")
_CPUSETS = ("cpuset.cpus.effective", "cpuset.effective_cpus", "cpuset.cpus")
"""The CPUs that a cgroup allows: of version 2, of version 1, and of version 1 on old kernels."""
_MEMORY = re.compile(r"Node \d+ (MemTotal|MemFree|Active\(file\)|Inactive\(file\)):\s+(\d+) kB", re.ASCII)
_FREE = ("MemFree", "Active(file)", "Inactive(file)")
"""Memory that programs can have: what the kernel keeps of files it gives up for them, and of most machines that is nearly all."""


@dataclass(frozen=True, slots=True)
class MemoryNode:
    """A memory node: its CPUs, and its memory, None where that is not known, as of a declared one.

    `free_bytes`: what programs can have, with what the kernel keeps of files.
    """

    number: int
    cpus: frozenset[int]
    memory_bytes: int | None = None
    free_bytes: int | None = None


def machine_nodes(place: Path = _SYS_NODES) -> list[MemoryNode]:
    """Return the nodes of this machine that have CPUs, as the kernel knows them."""
    found = []
    for directory in place.glob("node[0-9]*"):
        try:
            cpus = frozenset(parse_cpu_list((directory / "cpulist").read_text()))
            memory = dict(_MEMORY.findall((directory / "meminfo").read_text()))
        except (OSError, ValueError):  # a node without CPUs
            continue
        total = int(memory["MemTotal"]) << 10 if "MemTotal" in memory else None
        free = sum(int(memory.get(key, 0)) for key in _FREE) << 10 if "MemFree" in memory else None
        found.append(MemoryNode(int(directory.name[4:]), cpus, total, free))
    return sorted(found, key=lambda node: node.number)


def declared_nodes(sets: Iterable[frozenset[int]]) -> list[MemoryNode]:
    """Return sets of CPUs as nodes."""
    return [MemoryNode(number, cpus) for number, cpus in enumerate(sets)]


def usable(nodes: Iterable[MemoryNode], allowed: Collection[int]) -> list[MemoryNode]:
    """Return the nodes with those of their CPUs that a program may use, without nodes of which it may use none."""
    parts = [replace(node, cpus=node.cpus & frozenset(allowed)) for node in nodes]
    return [node for node in parts if node.cpus]


def home_node(
    nodes: Iterable[MemoryNode],
    resident_bytes: int,
    taken: Collection[frozenset[int]],
    memory_by_node: Mapping[int, int] | None = None,
) -> MemoryNode | None:
    """Return the node to keep a program on: one that holds its memory, with the most CPUs, then one with room for what the
    program has elsewhere, then the most of the program's memory, which stays where it is, then the most free memory.

    `taken`: sets of CPUs that threads of the program chose for themselves. A node of just these CPUs comes last: threads there
    could not be told from those that are placed.
    """
    holding = [node for node in nodes if node.memory_bytes is None or node.memory_bytes > resident_bytes]
    has = memory_by_node or {}
    return max(
        holding,
        key=lambda node: (
            node.cpus not in taken,
            len(node.cpus),
            node.free_bytes is None or node.free_bytes >= sum(has.values()) - has.get(node.number, 0),
            has.get(node.number, 0),
            node.free_bytes or 0,
            -node.number,
        ),
        default=None,
    )


def allowed_by_cpuset(pid: int) -> frozenset[int]:
    """Return the CPUs that are online and that the cpuset of a process allows."""
    online = frozenset(online_cpus())
    for group in cgroups(pid, "cpuset"):
        for name in _CPUSETS:
            try:
                return online & frozenset(parse_cpu_list((group / name).read_text()))
            except (OSError, ValueError):
                continue
    return online


def balances_itself() -> bool:
    """Return whether the kernel moves memory and threads between nodes by itself (automatic NUMA balancing)."""
    try:
        return _BALANCING.read_text().strip() not in ("", "0")
    except OSError:
        return False
