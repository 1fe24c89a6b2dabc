"""To which memory nodes threads' reads and writes go: local and remote shares, from samples.

Question   which part of the accesses is to memory of another node than that of the CPU which makes them; by class, thread, owner.
Method     one access in about a thousand, each with the same chance, was asked for the node of its CPU and that of the page to
           which it went (table `access_node`; docs/decisions/0021-access-nodes.md). Shares are those of the samples, with the
           Wilson interval of 95 %.
Assumes    a page stays where it is between the access and the question, which is microseconds.
Wrong when objects lie across the border of two pages: a field goes by where its object begins.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headway.analyses.common.uncertainty import interval_of_share
from headway.analyses.objects.types import UNNAMED, UNNAMED_OWNER, BetweenNodes, Counts, NodeSamples
from headway.model.object_owners import OBJECT_KINDS

if TYPE_CHECKING:
    from headway.model.object_owners import OwnerRule
    from headway.store import Recording

_SORT = """CASE WHEN a.cpu_node IS NULL OR a.page_node IS NULL THEN 'unknown' WHEN a.cpu_node = a.page_node THEN 'local'
  ELSE 'remote' END"""
MOST_BETWEEN = 1024
"""So many pairs of memory nodes are in an answer: all those of machines with 31 nodes. A recording may have 65,536 and more."""


@dataclass(frozen=True, slots=True)
class NodeShare:
    """A share (0..1) of accesses, and its 95 % interval."""

    value: float
    low: float
    high: float


def share_of(part: int, of: int) -> NodeShare | None:
    """Return which share a part of some samples is, with Wilson's interval; None: there are none."""
    if of <= 0:
        return None
    return NodeShare(part / of, *interval_of_share(part, of))


def nodes_by_group(
    recording: Recording, keys: tuple[str, ...], shown: str | None = None
) -> Mapping[tuple[Any, ...], NodeSamples]:
    """Return samples by columns of table `access` (alias a); by () those of all. Empty where nodes were not recorded.

    `shown`: SQL that selects the keys of the groups that are asked for; a recording may have millions of others.
    """
    return _grouped(recording, keys, f"(SELECT *, {UNNAMED} AS unnamed_id FROM access_node a)", "access_node", shown)


def nodes_by_pair(recording: Recording, rule: OwnerRule, shown: str) -> Mapping[tuple[Any, ...], NodeSamples]:
    """Return samples by the keys of a pair: process, thread, its id where it has no row, and both of the owner.

    `shown`: as of `nodes_by_group`.
    """
    rows = f"""(SELECT *, {UNNAMED} AS unnamed_id, {UNNAMED_OWNER} AS unnamed_owner_id FROM access_node_pair a
      WHERE a.rule = '{rule}')"""
    keys = ("a.pid", "a.thread_id", "a.unnamed_id", "a.owner_thread_id", "a.unnamed_owner_id")
    return _grouped(recording, keys, rows, "access_node_pair", shown)


def of_groups(rows: str, keys: tuple[str, ...], shown: str | None) -> str:
    """Return the SQL that keeps of `rows` (an alias) those of the groups whose keys `shown` selects; None: of all."""
    if shown is None:
        return ""
    names = [key.removeprefix("a.") for key in keys]
    return f"SEMI JOIN ({shown}) g ON {' AND '.join(f'{rows}.{name} IS NOT DISTINCT FROM g.{name}' for name in names)}"


def between_nodes(recording: Recording) -> tuple[tuple[BetweenNodes, ...], int]:
    """Return from which node to which the samples go, the MOST_BETWEEN with most first, and how many more such pairs there are.

    There are none where nodes were not recorded.
    """
    if not recording.has("access_node"):
        return (), 0
    sums = ", ".join(f"COALESCE(sum(samples) FILTER (kind = '{kind}'), 0)::BIGINT" for kind in OBJECT_KINDS)
    text = f"""SELECT cpu_node, page_node, {sums}, count(*) OVER () FROM access_node GROUP BY ALL
      ORDER BY sum(samples) DESC, 1, 2 LIMIT {MOST_BETWEEN}"""
    rows = recording.query(text).fetchall()
    found = tuple(BetweenNodes(cpu, page, Counts(*row)) for cpu, page, *row, _ in rows)
    return found, (rows[0][-1] if rows else 0) - len(found)


def _grouped(
    recording: Recording, keys: tuple[str, ...], rows: str, table: str, shown: str | None
) -> Mapping[tuple[Any, ...], NodeSamples]:
    if not recording.has(table):
        return {}
    columns = "".join(f"{key}, " for key in keys)
    of = f"FROM {rows} a {of_groups('a', keys, shown)}"
    text = f"SELECT {columns}a.kind, {_SORT}, sum(a.samples)::BIGINT, sum(a.accesses)::BIGINT {of} GROUP BY ALL"
    found: dict[tuple[Any, ...], dict[tuple[str, str], int]] = defaultdict(dict)
    for *key, kind, sort, samples, accesses in recording.query(text).fetchall():
        sums = found[tuple(key)]
        sums[sort, kind] = samples
        sums["accesses", kind] = sums.get(("accesses", kind), 0) + accesses
    return {key: _samples(sums) for key, sums in found.items()}


def _samples(sums: Mapping[tuple[str, str], int]) -> NodeSamples:
    def of(sort: str) -> Counts:
        return Counts(*(sums.get((sort, kind), 0) for kind in OBJECT_KINDS))

    return NodeSamples(of("local"), of("remote"), of("unknown"), of("accesses"))
