"""Writes the tables of accesses that were counted in windows: what windows counted, and what threads did between them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.model.names import text, whole_number
from headway.model.object_owners import ACCESS_KINDS
from headway.record.finalise.agent_facts import agent_fact
from headway.record.finalise.objects.agent_rows import key_columns, write_tables
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import spelled_out

if TYPE_CHECKING:
    import pyarrow as pa

WINDOW_COVERAGE = ("windows", "windows_incomplete")
_WORK = (
    *("cpu_in_ns", "cpu_own_ns", "cpu_between_ns", "cpu_before_ns", "cpu_unseen_ns"),
    *("marks", "marks_in", "marks_wrong", "marks_largest"),
)
_LAST_GROUP = 11


def windows_of(agent: Mapping[str, Any]) -> dict[str, int]:
    """Return for how long an agent counts, and how often; nothing where it counts everything."""
    window_ms, _, period_ms = agent_fact(agent, "access_windows").partition(":")
    window, period = whole_number(window_ms), whole_number(period_ms)
    return {} if not window or not period else {"window_ms": window, "window_period_ms": period}


@dataclass(slots=True)
class WindowTables:
    """The accesses of one recording that were counted in windows."""

    threads: RecordedThreads
    agents: Sequence[Mapping[str, Any]]

    def write(self, directory: Path, possible: ImpossibleValueFilter) -> dict[str, TableInfo]:
        """Write `access_window` and `access_window_work`; nothing if no JVM counted in windows. Raises OSError."""
        agents = [(number, agent["accesses"]) for number, agent in enumerate(self.agents) if windows_of(agent)]
        if not agents:
            return {}
        counts, work = (self._counts(*each) for each in agents), (self._work(*each) for each in agents)
        return write_tables(directory, possible, {"access_window": counts, "access_window_work": work})

    def _counts(self, number: int, found: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        names = [text(each) for each in self.agents[number]["allocations"]["texts"]]
        columns = {**self._keys(number, found), "class_name": spelled_out(names, found["class"])[0]}
        return _possible(pa.table(columns | {kind: found[kind] for kind in ACCESS_KINDS}))

    def _work(self, number: int, found: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        work = found["windows"]
        return _possible(pa.table(self._keys(number, work) | {name: work[name] for name in _WORK}))

    def _keys(self, number: int, found: Mapping[str, Any]) -> dict[str, Any]:
        return {**key_columns(self.threads, number, found["java_id"]), "window_group": found["group"].astype("int16")}


def _possible(rows: pa.Table) -> pa.Table:
    """Return the rows of groups that there are: an agent may say anything."""
    import pyarrow.compute as pc

    return rows.filter(pc.less_equal(rows.column("window_group"), _LAST_GROUP))
