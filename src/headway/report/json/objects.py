"""Who allocates, reads and writes what, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.objects.types import AccessAnswer, Accessed, Allocated, AllocationGroup, ObjectsAnswer


def objects_json(found: ObjectsAnswer) -> dict[str, Any]:
    """Return all allocations and accesses, those of each group, and what was not recorded as null."""
    total = found.total
    return {
        "allocations": None if total is None else {**_allocated(total), "unknown_share": dict(found.unknown)},
        "accesses": None if found.accesses is None else _accesses(found.accesses),
        "shared": None,
        "pairs": None,
        "interval_bytes": found.interval_bytes,
        "by": found.by,
        "groups": [_group(each) for each in found.groups],
        "warnings": [notice.as_json() for notice in found.notices],
    }


def _group(group: AllocationGroup) -> dict[str, Any]:
    return {
        "pid": group.pid,
        "thread": group.thread,
        "java_id": group.java_id,
        "thread_id": group.thread_id,
        "class": group.class_name,
        "site": group.site,
        **_allocated(group.allocated),
    }


def _allocated(allocated: Allocated) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name in ("objects", "bytes", "arrays", "array_length"):
        quantity = getattr(allocated, name)
        found |= {name: quantity.value, f"{name}_low": quantity.low, f"{name}_high": quantity.high}
    return found


def _accesses(found: AccessAnswer) -> dict[str, Any]:
    groups = [
        {
            "pid": each.pid,
            "thread": each.thread,
            "java_id": each.java_id,
            "thread_id": each.thread_id,
            "class": each.class_name,
            **_accessed(each.accessed),
        }
        for each in found.groups
    ]
    return {**_accessed(found.total), "groups": groups, "jvms": [dict(each) for each in found.coverage]}


def _accessed(accessed: Accessed) -> dict[str, Any]:
    return {
        "tuple": {"read": _by_node(accessed.tuple_reads), "write": _by_node(accessed.tuple_writes)},
        "array": {"read": _by_node(accessed.array_reads), "write": _by_node(accessed.array_writes)},
        "static": {"read": accessed.static_reads, "write": accessed.static_writes},
    }


def _by_node(count: int) -> dict[str, int]:
    """Return how many accesses are known to be local and remote: none, as nodes of objects are not recorded."""
    return {"count": count, "local": 0, "remote": 0, "unknown": count}
