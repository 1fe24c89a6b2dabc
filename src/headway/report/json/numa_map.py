"""On which memory nodes a heap is, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.numa.heap_map import HeapAtTime, HeapMap, NodeMemory


def heap_map_json(found: HeapMap) -> dict[str, Any]:
    """Return every look at every process, in order of time."""
    return {
        "machine_nodes": None if found.machine_nodes is None else list(found.machine_nodes),
        "all_local": found.is_all_local,
        "interval_ns": found.interval_ns,
        "cpu_ns": found.cpu_ns,
        "looks": [_look(each) for each in found.looks],
        "warnings": [notice.as_json() for notice in found.notices],
    }


def _look(look: HeapAtTime) -> dict[str, Any]:
    known, (unknown,) = look.nodes[:-1], look.nodes[-1:]
    return {
        "at_ns": look.at_ns,
        "pid": look.pid,
        "is_heap": look.is_heap,
        "memory_bytes": look.memory_bytes,
        "is_exact": look.is_exact,
        "nodes": [{"node": each.node, **_size(each)} for each in known],
        "unknown": _size(unknown),
    }


def _size(memory: NodeMemory) -> dict[str, int]:
    return {"bytes": memory.bytes, "bytes_low": memory.low, "bytes_high": memory.high}
