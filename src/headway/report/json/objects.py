"""Who allocates, reads and writes what, as JSON: the stable form (docs/reference/json.md). Keys may be added, never changed."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeAlias

from headway.model.object_owners import OBJECT_KINDS
from headway.report.json.object_lines import lines_json
from headway.report.json.object_nodes import between_json, by_node, shares_json
from headway.report.json.object_windows import windows_json

if TYPE_CHECKING:
    from headway.analyses.objects.types import (
        AccessAnswer,
        Accessed,
        AccessGroup,
        AccessPair,
        Allocated,
        AllocationGroup,
        Counts,
        NodeSamples,
        ObjectsAnswer,
        Owned,
    )


_Listed: TypeAlias = Callable[[Callable[[Any], Any], Iterable[Any]], Any]


def objects_json(
    found: ObjectsAnswer, listed: _Listed = lambda function, values: [*map(function, values)]
) -> dict[str, Any]:
    """Return all allocations and accesses, those of each group, and what was not recorded as null.

    `listed(function, values)` makes the lists that may be long: `text.Mapped`, or lists.
    """
    total, owned = found.total, None if found.accesses is None else found.accesses.owned
    return {
        "allocations": None if total is None else {**_allocated(total), "unknown_share": dict(found.unknown)},
        "accesses": None if found.accesses is None else _accesses(found.accesses, listed),
        "owner": None if found.accesses is None else found.accesses.rule,
        "owners_recorded": [] if found.accesses is None else list(found.accesses.rules),
        "shared": None if owned is None else _shared(owned),
        "pairs": None if owned is None or found.accesses is None else listed(_pair, found.accesses.pairs),
        "lines": lines_json(found.lines),
        "nodes": None if found.accesses is None else between_json(found.accesses),
        "windows": windows_json(found.windows),
        "interval_bytes": found.interval_bytes,
        "by": found.by,
        "groups": listed(_group, found.groups),
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


def _accesses(found: AccessAnswer, listed: _Listed) -> dict[str, Any]:
    def group(each: AccessGroup) -> dict[str, Any]:
        return {
            "pid": each.pid,
            "thread": each.thread,
            "java_id": each.java_id,
            "thread_id": each.thread_id,
            "class": each.class_name,
            **_accessed(each.accessed, each.owned, each.nodes, is_all_local=found.is_all_local),
        }

    total = _accessed(found.total, found.owned, found.nodes, is_all_local=found.is_all_local)
    return {**total, "groups": listed(group, found.groups), "jvms": [dict(each) for each in found.coverage]}


def _accessed(
    accessed: Accessed, owned: Owned | None, nodes: NodeSamples | None, *, is_all_local: bool
) -> dict[str, Any]:
    tuple_reads, tuple_writes, array_reads, array_writes = (
        by_node(getattr(accessed, kind), kind, nodes, is_local=is_all_local) for kind in OBJECT_KINDS
    )
    return {
        "nodes": shares_json(nodes),
        "tuple": {"read": tuple_reads, "write": tuple_writes},
        "array": {"read": array_reads, "write": array_writes},
        "static": {"read": accessed.static_reads, "write": accessed.static_writes},
        "owners": None
        if owned is None
        else {name: _counts(getattr(owned, name)) for name in ("local", "shared", "unknown")},
    }


def _counts(counts: Counts) -> dict[str, Any]:
    return {
        "tuple": {"read": counts.tuple_reads, "write": counts.tuple_writes},
        "array": {"read": counts.array_reads, "write": counts.array_writes},
    }


def _shared(owned: Owned) -> dict[str, float | None]:
    """Return which shares of the accesses whose owner is known are to another thread's objects, and how many are not known."""
    found: dict[str, float | None] = {}
    for name, what in (("read", "reads"), ("write", "writes")):
        local, shared, unknown = (getattr(each, what) for each in (owned.local, owned.shared, owned.unknown))
        found[name] = shared / (local + shared) if local + shared else None
        found[f"{name}_unknown"] = unknown / (local + shared + unknown) if local + shared + unknown else None
    return found


def _pair(pair: AccessPair) -> dict[str, Any]:
    return {
        "pid": pair.pid,
        "accessor": pair.accessor,
        "java_id": pair.java_id,
        "thread_id": pair.thread_id,
        "owner": pair.owner,
        "owner_java_id": pair.owner_java_id,
        "owner_thread_id": pair.owner_thread_id,
        **_counts(pair.counts),
        "nodes": shares_json(pair.nodes),
    }
