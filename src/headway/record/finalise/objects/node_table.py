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
from headway.record.finalise.threads.thread_columns import thread_columns
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import spelled_out
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

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
        tables = {}
        for name, rows_of in (("access_node", self._of_classes), ("access_node_pair", self._of_pairs)):
            has_pairs = any((agent["nodes"]["type"] != HW_ACCESS_NODES).any() for _, agent in sampled)
            if not sampled or (name == "access_node_pair" and not has_pairs):
                continue
            with TableWriter(directory, TABLES[name], possible) as writer:
                for number, agent in sampled:
                    if (rows := rows_of(number, agent)).num_rows:
                        writer.write(rows)
            tables[name] = writer.info
        return tables

    def _of_classes(self, number: int, agent: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        found = _where(agent["nodes"], agent["nodes"]["type"] == HW_ACCESS_NODES)
        names = [text(each) for each in agent["allocations"]["texts"]]
        columns = {"class_name": spelled_out(names, found["class"])[0]}
        return pa.table(self._keys(number, found) | columns | _nodes(found)).select(_columns("access_node"))

    def _of_pairs(self, number: int, agent: Mapping[str, Any]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        found = _where(agent["nodes"], agent["nodes"]["type"] != HW_ACCESS_NODES)
        by_writer = "has_unnoted=1" in agent_fact(agent, "accesses_coverage").split(",")
        is_writer = found["type"] != HW_ACCESS_NODE_PAIR
        owner_ids = np.where(by_writer & is_writer & (found["owner_id"] == found["java_id"]), 0, found["owner_id"])
        owners = thread_columns(self.threads, number, owner_ids)
        columns = {
            "owner_thread_id": owners["thread_id"],
            "owner_java_id": owners["java_id"],
            "rule": pa.array(np.where(is_writer, LAST_WRITER, ALLOCATOR), pa.string()),
        }
        return pa.table(self._keys(number, found) | columns | _nodes(found)).select(_columns("access_node_pair"))

    def _keys(self, number: int, found: Mapping[str, Any]) -> dict[str, Any]:
        import numpy as np

        pids = np.full(len(found["java_id"]), self.threads.pid_of_agent[number], dtype=np.int32)
        return {"pid": pids, **thread_columns(self.threads, number, found["java_id"])}


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
