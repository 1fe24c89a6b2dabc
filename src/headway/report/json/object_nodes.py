"""To which memory nodes accesses go, as JSON: keys of objects (docs/reference/json.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.analyses.objects.nodes import share_of

if TYPE_CHECKING:
    from headway.analyses.objects.types import AccessAnswer, NodeSamples


def by_node(count: int, kind: str, nodes: NodeSamples | None, *, is_local: bool) -> dict[str, int]:
    """Return how many accesses of a kind are local and remote: all local where there is one node, else as samples have it."""
    local, remote = count if is_local else 0, 0
    if nodes is not None and not is_local:
        sampled = sum(getattr(each, kind) for each in (nodes.local, nodes.remote, nodes.unknown))
        covered = min(count, getattr(nodes.accesses, kind))
        if sampled:
            local = covered * getattr(nodes.local, kind) // sampled
            remote = covered * getattr(nodes.remote, kind) // sampled
    return {"count": count, "local": local, "remote": remote, "unknown": count - local - remote}


def shares_json(nodes: NodeSamples | None) -> dict[str, Any] | None:
    """Return the shares of accesses to another node, of those whose node is known; None: no samples."""
    if nodes is None:
        return None
    share = share_of(nodes.remote.together, nodes.known)
    found: dict[str, Any] = {"samples": nodes.together, "samples_unknown": nodes.unknown.together}
    for name in ("value", "low", "high"):
        found["remote_share" if name == "value" else f"remote_share_{name}"] = share and getattr(share, name)
    return found


def between_json(found: AccessAnswer) -> list[dict[str, Any]] | None:
    """Return from which node to which the samples go; None: not recorded."""
    if found.nodes is None:
        return None
    return [
        {
            "cpu_node": each.cpu_node,
            "page_node": each.page_node,
            "samples": each.samples.together,
            "tuple": {"read": each.samples.tuple_reads, "write": each.samples.tuple_writes},
            "array": {"read": each.samples.array_reads, "write": each.samples.array_writes},
        }
        for each in found.between
    ]
