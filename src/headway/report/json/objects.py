"""Who allocates what, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.analyses.objects.types import Allocated, AllocationGroup, ObjectsAnswer


def objects_json(found: ObjectsAnswer) -> dict[str, Any]:
    """Return all allocations, those of each group, and what was not recorded as null."""
    return {
        "allocations": {**_allocated(found.total), "unknown_share": dict(found.unknown)},
        "accesses": None,
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
