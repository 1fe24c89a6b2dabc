"""Tables and sentences of accesses by memory node, for `headway objects` and the report."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headway.analyses.common.units import percent
from headway.analyses.objects.nodes import share_of
from headway.report.analysis import Table

if TYPE_CHECKING:
    from headway.analyses.objects.types import AccessAnswer, AccessGroup, NodeSamples
    from headway.report.section import Cell


def node_sentences(found: AccessAnswer) -> list[str]:
    """Return which share of the accesses goes to memory of another node, and of how many samples that is not known."""
    nodes = found.nodes
    if nodes is None or found.is_all_local:
        return []
    sentences = []
    if share := share_of(nodes.remote.together, nodes.known):
        between = f"{percent(share.low)} to {percent(share.high)}"
        sentences.append(
            f"About {percent(share.value)} ({between}) of the accesses go to memory of another node than the CPU's, by "
            f"{nodes.known:,} samples."
        )
    if nodes.unknown.together:
        sentences.append(f"Of {nodes.unknown.together:,} of {nodes.together:,} samples the node is unknown.")
    return sentences


def node_columns(found: AccessAnswer) -> tuple[str, ...]:
    """Return the last column of the table of accesses, for `node_cells`."""
    return () if found.nodes is None else ("remote",)


def node_cells(found: AccessAnswer, group: AccessGroup) -> tuple[Cell, ...]:
    """Return which share of a group's accesses goes to another node, with its interval."""
    return () if found.nodes is None else (_remote(group.nodes),)


def between_table(found: AccessAnswer) -> Table:
    """Return from which memory node to which the sampled accesses go."""
    together = found.nodes.together if found.nodes is not None else 0
    rows = tuple(
        (
            _name(each.cpu_node),
            _name(each.page_node),
            each.samples.together,
            percent(each.samples.together / together) if together else None,
            each.samples.reads,
            each.samples.writes,
        )
        for each in found.between
    )
    head = ("CPU's node", "memory's node", "samples", "share", "reads", "writes")
    return Table("Sampled accesses by memory node", head, rows)


def _remote(nodes: NodeSamples | None) -> Cell:
    share = None if nodes is None else share_of(nodes.remote.together, nodes.known)
    return None if share is None else f"{percent(share.low)} to {percent(share.high)}"


def _name(node: int | None) -> str:
    return "(unknown)" if node is None else str(node)
