"""Writes the tables `line_write` and `line_share`: which threads write in turn to one cache line, as the agents counted it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.model.line_distances import LINE_DISTANCES
from headway.model.names import text
from headway.record.finalise.agent_facts import agent_fact
from headway.record.finalise.objects.agent_rows import key_columns, write_tables
from headway.record.finalise.threads.thread_columns import thread_columns
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import spelled_out
from headway.store.tables import TABLES

if TYPE_CHECKING:
    import pyarrow as pa

LINE_COVERAGE = (
    "line_writes_left_out",
    "line_places_unknown",
    "line_threads_left_out",
    "line_shares_left_out",
    "lines_pushed_out",
)
"""What an agent says of what it did not see, as keys of the manifest's `accesses`."""


@dataclass(slots=True)
class LineTables:
    """The writes by cache lines of one recording."""

    threads: RecordedThreads
    agents: Sequence[Mapping[str, Any]]

    def write(self, directory: Path, possible: ImpossibleValueFilter) -> dict[str, TableInfo]:
        """Write both tables; nothing if no JVM watched lines. Raises OSError."""
        if not any(agent_fact(agent, "access_lines") == "on" for agent in self.agents):
            return {}
        writes = (self._writes(*each) for each in enumerate(self.agents))
        shares = (self._shares(*each) for each in enumerate(self.agents))
        return write_tables(directory, possible, {"line_write": writes, "line_share": shares})

    def _writes(self, number: int, agent: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        found = agent["lines"]["writes"]
        offsets = pa.array(found["offset"], pa.int32(), mask=found["offset"] == 0)
        return pa.table(
            self._keys(number, agent, found) | {"field_offset": offsets, "writes": found["writes"]},
        ).select([column.name for column in TABLES["line_write"].columns])

    def _shares(self, number: int, agent: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        found = agent["lines"]["shares"]
        others = thread_columns(self.threads, number, found["other_id"])
        columns = {
            "other_thread_id": others["thread_id"],
            "other_java_id": others["java_id"],
            "other_field": spelled_out(_names(agent), found["other_place"])[0],
            "distance": pa.array([LINE_DISTANCES[kind] for kind in found["kind"].tolist()], pa.string()),
            "same_object": pa.array(found["same_object"] != 0, pa.bool_()),
            "writes": found["writes"],
        }
        return pa.table(self._keys(number, agent, found) | columns).select(
            [column.name for column in TABLES["line_share"].columns]
        )

    def _keys(self, number: int, agent: Mapping[str, Any], found: Mapping[str, Any]) -> dict[str, Any]:
        return {
            **key_columns(self.threads, number, found["java_id"]),
            "field": spelled_out(_names(agent), found["place"])[0],
        }


def line_notices(jvm: Mapping[str, Any]) -> list[Notice]:
    """Return what weakens the counts by cache lines of a JVM, from what its agent says of accesses."""
    if jvm["lines_are"] is None:
        return []
    if jvm["lines_are"] != "on":
        return [Notice.of("HW813", pid=jvm["pid"])]
    texts = {
        "line_writes_left_out": "{0} instructions that write, in methods or classes that have no room for it",
        "line_places_unknown": "{0} fields whose place in their objects is not known",
        "line_threads_left_out": "{0} times a thread that had no room",
        "line_shares_left_out": "{0} writes, or sums of them, that had no room",
        "lines_pushed_out": "{0} times a line that several threads wrote to had to make room",
    }
    found = [text_of.format(f"{jvm[name]:,}") for name, text_of in texts.items() if jvm.get(name)]
    return [Notice.of("HW814", pid=jvm["pid"], what=", ".join(found))] if found else []


def _names(agent: Mapping[str, Any]) -> list[str]:
    return [text(each) for each in agent["allocations"]["texts"]]
