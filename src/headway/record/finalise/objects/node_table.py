"""Writes the tables `access_node` and `access_node_pair`: samples of accesses by memory node, as the agents took them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.model.names import text
from headway.model.object_owners import ALLOCATOR, LAST_WRITER, OBJECT_KINDS
from headway.model.wire import HW_ACCESS_NODE_PAIR, HW_ACCESS_NODES, HW_UNKNOWN_NODE
from headway.record.finalise.agent_facts import agent_fact
from headway.record.finalise.objects.agent_rows import key_columns, pair_columns, write_tables
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import spelled_out
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

NODE_COVERAGE = ("node_samples_refused", "node_samples_left_out")
"""What an agent says of what it did not see, as keys of the manifest's `accesses`."""


@dataclass(slots=True)
class NodeTables:
    """The samples by memory node of one recording."""

    threads: RecordedThreads
    agents: Sequence[Mapping[str, Any]]

    def write(self, directory: Path, possible: ImpossibleValueFilter) -> dict[str, TableInfo]:
        """Write both tables; nothing if no JVM sampled, and none of pairs without owners. Raises OSError."""
        sampled = [each for each in enumerate(self.agents) if agent_fact(each[1], "access_nodes") == "on"]
        if not sampled:
            return {}
        rows_by_table = {"access_node": (self._of_classes(*each) for each in sampled)}
        if any((agent["nodes"]["type"] != HW_ACCESS_NODES).any() for _, agent in sampled):
            rows_by_table["access_node_pair"] = (self._of_pairs(*each) for each in sampled)
        return write_tables(directory, possible, rows_by_table)

    def _of_classes(self, number: int, agent: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        found = _where(agent["nodes"], agent["nodes"]["type"] == HW_ACCESS_NODES)
        names = [text(each) for each in agent["allocations"]["texts"]]
        columns = {"class_name": spelled_out(names, found["class"])[0]}
        keys = key_columns(self.threads, number, found["java_id"])
        return pa.table(keys | columns | _nodes(found)).select(_columns("access_node"))

    def _of_pairs(self, number: int, agent: Mapping[str, Any]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        found = _where(agent["nodes"], agent["nodes"]["type"] != HW_ACCESS_NODES)
        by_last_writer = found["type"] != HW_ACCESS_NODE_PAIR
        keys = pair_columns(self.threads, number, agent, found, by_last_writer)
        rules = {"rule": pa.array(np.where(by_last_writer, LAST_WRITER, ALLOCATOR), pa.string())}
        return pa.table(keys | rules | _nodes(found)).select(_columns("access_node_pair"))


def node_notices(jvm: Mapping[str, Any]) -> list[Notice]:
    """Return what weakens the samples by memory node of a JVM, from what its agent says of accesses."""
    if jvm["nodes_are"] is None:
        return []
    if jvm["nodes_are"] != "on":
        return [Notice.of("HW865", pid=jvm["pid"])]
    refused, left_out = (jvm.get(name) or 0 for name in NODE_COVERAGE)
    found = [Notice.of("HW866", pid=jvm["pid"], count=refused)] if refused else []
    return [*found, *([Notice.of("HW867", pid=jvm["pid"], count=left_out)] if left_out else [])]


def _where(found: Mapping[str, Any], chosen: Any) -> dict[str, Any]:
    return {name: column[chosen] for name, column in found.items()}


def _nodes(found: Mapping[str, Any]) -> dict[str, Any]:
    import pyarrow as pa

    def node(name: str) -> pa.Array:
        return pa.array(found[name].astype("int32"), pa.int32(), mask=found[name] == HW_UNKNOWN_NODE).cast(pa.int16())

    kinds = pa.array([OBJECT_KINDS[kind] for kind in found["kind"].tolist()], pa.string())
    sums = {name: found[name] for name in ("samples", "accesses")}
    return {"kind": kinds, "cpu_node": node("cpu_node"), "page_node": node("page_node"), **sums}


def _columns(table: str) -> list[str]:
    return [column.name for column in TABLES[table].columns]
