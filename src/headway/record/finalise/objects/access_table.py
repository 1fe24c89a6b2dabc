"""Writes the table `access`: how often the code of each class read and wrote objects, by thread, as the agents counted it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.model.names import text, whole_number
from headway.model.object_owners import ACCESS_KINDS, LAST_WRITER, OBJECT_KINDS, OWNER_RULES, OWNER_TABLES, OwnerRule
from headway.record.finalise.agent_facts import agent_fact
from headway.record.finalise.objects.agent_rows import has_unnoted, key_columns, pair_columns, write_tables
from headway.record.finalise.objects.line_table import LINE_COVERAGE, LineTables, line_notices
from headway.record.finalise.objects.node_table import NODE_COVERAGE, NodeTables, node_notices
from headway.record.finalise.objects.window_table import WINDOW_COVERAGE, WindowTables, windows_of
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import spelled_out

if TYPE_CHECKING:
    import pyarrow as pa

_COVERAGE = (
    "classes",
    "classes_left_out",
    "loaded_before",
    "methods_left_out",
    "instructions",
    "instructions_left_out",
    "threads_left_out",
)
_OF_OWNERS = ("instructions_without_owner", "owners", "owners_left_out")


@dataclass(slots=True)
class AccessTables:
    """The accesses of one recording."""

    threads: RecordedThreads
    agents: Sequence[Mapping[str, Any]]

    def write(self, directory: Path, possible: ImpossibleValueFilter) -> dict[str, TableInfo]:
        """Write `access`; nothing if no JVM counted. Raises OSError."""
        if not any(_counted(agent) for agent in self.agents):
            return {}
        tables = WindowTables(self.threads, self.agents).write(directory, possible)
        if all(windows_of(agent) for agent in self.agents if _counted(agent)):
            return tables
        rows = (self._rows(*each) for each in enumerate(self.agents) if not windows_of(each[1]))
        tables |= write_tables(directory, possible, {"access": rows})
        for rule in OWNER_RULES:
            if any(rule in _known_rules(agent) for agent in self.agents):
                tables |= self._write_owners(directory, possible, rule)
        for more in (LineTables(self.threads, self.agents), NodeTables(self.threads, self.agents)):
            tables |= more.write(directory, possible)
        return tables

    def _write_owners(self, directory: Path, possible: ImpossibleValueFilter, rule: OwnerRule) -> dict[str, TableInfo]:
        """Write the two tables of a rule. Raises OSError."""
        agents = [each for each in enumerate(self.agents) if rule in _known_rules(each[1])]
        owners, pairs = OWNER_TABLES[rule]
        rows_by_table = {
            owners: (self._owner_rows(*each, rule) for each in agents),
            pairs: (self._pair_rows(*each, rule) for each in agents),
        }
        return write_tables(directory, possible, rows_by_table)

    def facts(self) -> dict[str, Any]:
        """Return the manifest's key `accesses`: what each JVM counted, and what it left out."""
        jvms = [each for number in range(len(self.agents)) if (each := self._jvm(number))]
        return {"jvms": jvms} if jvms else {}

    def notices(self) -> list[Notice]:
        """Return what weakens the counts of each JVM."""
        found = []
        for jvm in self.facts().get("jvms", ()):
            if jvm["problem"] is not None:
                found.append(Notice.of("HW840", pid=jvm["pid"], reason=jvm["problem"]))
                continue
            if not jvm["is_complete"]:
                found.append(Notice.of("HW842", pid=jvm["pid"]))
            if jvm["classes"] == 0 and jvm["classes_left_out"] == 0:
                found.append(Notice.of("HW846", pid=jvm["pid"]))
            if left_out := _left_out(jvm):
                found.append(Notice.of("HW841", pid=jvm["pid"], what=left_out))
            if jvm["owners_are"] == "unknown":
                found.append(Notice.of("HW848", pid=jvm["pid"]))
            found += [*line_notices(jvm), *node_notices(jvm)]
        if any(jvm["problem"] is None and not jvm.get("window_ms") for jvm in self.facts().get("jvms", ())):
            found.append(Notice.of("HW843"))
        return found

    def _jvm(self, number: int) -> dict[str, Any] | None:
        agent = self.agents[number]
        problem = agent_fact(agent, "accesses_problem") or None
        if problem is None and not _counted(agent):
            return None
        pairs = [pair.partition("=") for pair in agent_fact(agent, "accesses_coverage").split(",")]
        numbers = {name: whole_number(value) for name, _, value in pairs}
        is_complete = agent_fact(agent, "accesses_end") == "complete"
        coverage = {name: numbers.get(name) for name in _COVERAGE}
        rules = _known_rules(agent)
        if rules:
            of_writers = ("object_ids", "unseen_writes", "has_unnoted") if LAST_WRITER in rules else ()
            coverage |= {name: numbers.get(name) for name in (*_OF_OWNERS, *of_writers)}
        known = {"pid": self.threads.pid_of_agent[number], "problem": problem, "is_complete": is_complete}
        owners_are = ",".join(rules) or ("unknown" if agent_fact(agent, "access_owners") else None)
        lines_are = agent_fact(agent, "access_lines") or None
        if windows := windows_of(agent):
            coverage |= {**windows, **{name: numbers.get(name) for name in WINDOW_COVERAGE}}
        if lines_are == "on":
            coverage |= {name: numbers.get(name) for name in LINE_COVERAGE}
        nodes_are = agent_fact(agent, "access_nodes") or None
        if nodes_are == "on":
            coverage |= {name: numbers.get(name) for name in NODE_COVERAGE}
        return {**known, **coverage, "owners_are": owners_are, "lines_are": lines_are, "nodes_are": nodes_are}

    def _rows(self, number: int, agent: Mapping[str, Any]) -> pa.Table:
        import pyarrow as pa

        found = agent["accesses"]
        return pa.table(self._keys(number, agent) | {kind: found[kind] for kind in ACCESS_KINDS})

    def _owner_rows(self, number: int, agent: Mapping[str, Any], rule: OwnerRule) -> pa.Table:
        import pyarrow as pa

        owned = dict(agent["accesses"]["owned"][rule])
        if rule == LAST_WRITER and has_unnoted(agent):
            owned |= {name: counts * 0 for name, counts in owned.items() if name.endswith("_local")}
        return pa.table(self._keys(number, agent) | owned)

    def _keys(self, number: int, agent: Mapping[str, Any]) -> dict[str, Any]:
        """Return the columns of threads and classes of what one agent counted."""
        names = [text(each) for each in agent["allocations"]["texts"]]
        found = agent["accesses"]
        return {
            **key_columns(self.threads, number, found["java_id"]),
            "class_name": spelled_out(names, found["class"])[0],
        }

    def _pair_rows(self, number: int, agent: Mapping[str, Any], rule: OwnerRule) -> pa.Table:
        import pyarrow as pa

        found = agent["accesses"]["pairs"][rule]
        columns = pair_columns(self.threads, number, agent, found, rule == LAST_WRITER)
        return pa.table(columns | {kind: found[kind] for kind in OBJECT_KINDS})


def _counted(agent: Mapping[str, Any]) -> bool:
    return agent_fact(agent, "accesses") == "on"


def _known_rules(agent: Mapping[str, Any]) -> tuple[OwnerRule, ...]:
    """Return by which rules an agent knows owners."""
    known = agent_fact(agent, "access_owners").split(",") if _counted(agent) else ()
    return tuple(rule for rule in OWNER_RULES if rule in known)


def _left_out(jvm: Mapping[str, Any]) -> str:
    """Return what a JVM did not count, as people read it; '' for nothing."""
    texts = {
        "instructions_left_out": "{0} instructions of {1} that read or write, in {2} methods",
        "classes_left_out": "{0} classes",
        "loaded_before": "{0} classes that were loaded before",
        "threads_left_out": "{0} threads or more",
    }
    total = (jvm["instructions"] or 0) + (jvm["instructions_left_out"] or 0)
    numbers = {name: jvm[name] for name in texts if jvm[name]}
    found = [texts[name].format(f"{value:,}", f"{total:,}", jvm["methods_left_out"]) for name, value in numbers.items()]
    return ", ".join(found)
