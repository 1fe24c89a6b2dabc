"""Writes the table `allocation`: what the agents counted of each JVM's threads, classes and sites, joined with threads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.model.names import text, whole_number
from headway.model.wire import HW_MANY_THREADS
from headway.record.finalise.agent_facts import agent_fact
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import spelled_out
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

_TEXTS = {"class": "class_name", "site_class": "site_class", "site_method": "site_method"}
_COMPLETE = "complete"
_LATE = "late"
_COUNTING_NS, _WITH_SITE_NS = 500, 1300
"""What it takes to count an object, and one with its site, as benchmarks/objects_overhead.py measured it."""
_MOST_COUNTING = 0.1
"""Of the recording's length: as much may go into counting without a notice."""


@dataclass(slots=True)
class AllocationTables:
    """The allocations of one recording. `asked` is the request, the key `objects` of the manifest's draft."""

    threads: RecordedThreads
    agents: Sequence[Mapping[str, Any]]
    asked: Mapping[str, Any]

    @property
    def is_on(self) -> bool:
        """Return whether any JVM counted its allocations."""
        return any(self._interval(agent) is not None for agent in self.agents)

    def write(self, directory: Path, possible: ImpossibleValueFilter) -> dict[str, TableInfo]:
        """Write `allocation`; nothing if no JVM counted. Raises OSError."""
        if not self.is_on:
            return {}
        with TableWriter(directory, TABLES["allocation"], possible) as writer:
            for number, agent in enumerate(self.agents):
                if len(agent["allocations"]["java_id"]):
                    writer.write(self._rows(number, agent["allocations"]))
        return {"allocation": writer.info}

    def facts(self) -> dict[str, Any]:
        """Return the manifest's key `objects`: what was asked for, and what each JVM made of it."""
        if not self.asked and not self.is_on:
            return {}
        return {**self.asked, "jvms": [each for number in range(len(self.agents)) if (each := self._jvm(number))]}

    def notices(self, *, attached: bool, wall_ns: int) -> list[Notice]:
        """Return what weakens the figures of each JVM; `attached`: headway came to a process that ran already."""
        found = self._cost(wall_ns)
        for jvm in self.facts().get("jvms", ()):
            if jvm["problem"] is not None:
                found.append(Notice.of("HW801", pid=jvm["pid"], reason=jvm["problem"]))
                continue
            if attached:
                found.append(Notice.of("HW802", pid=jvm["pid"]))
            if jvm["begins_late"]:
                found.append(Notice.of("HW808", pid=jvm["pid"]))
            if not jvm["is_complete"]:
                found.append(Notice.of("HW804", pid=jvm["pid"]))
        return found

    def _cost(self, wall_ns: int) -> list[Notice]:
        """Return the notice that counting every object slowed a thread down, where it did so by much.

        Threads count at the same time: how long the program takes longer is what its busiest one does.
        """
        objects = max(
            (_of_busiest(each["allocations"]) for each in self.agents if self._interval(each) == 0), default=0
        )
        each_ns = _WITH_SITE_NS if self.asked.get("sites") else _COUNTING_NS
        if objects * each_ns <= _MOST_COUNTING * wall_ns:
            return []
        seconds = objects * each_ns / 1e9
        return [Notice.of("HW809", objects=f"{objects:,}", seconds=f"{seconds:.2g}", wall_s=f"{wall_ns / 1e9:.3g}")]

    def _jvm(self, number: int) -> dict[str, Any] | None:
        agent, pid = self.agents[number], self.threads.pid_of_agent[number]
        interval, problem = self._interval(agent), agent_fact(agent, "objects_problem") or None
        if interval is None and problem is None:
            return None
        is_complete = agent_fact(agent, "objects_end") == _COMPLETE
        return {
            "pid": pid,
            "interval_bytes": interval,
            "is_complete": is_complete,
            "begins_late": agent_fact(agent, "objects_begin") == _LATE,
            "problem": problem,
        }

    @staticmethod
    def _interval(agent: Mapping[str, Any]) -> int | None:
        return whole_number(agent_fact(agent, "objects_interval"))

    def _rows(self, number: int, found: Mapping[str, Any]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        rows = len(found["java_id"])
        of_java = self.threads.thread_of_java[number]
        ids = np.array([of_java.get(java_id, -1) for java_id in found["java_id"].tolist()], dtype=np.int32)
        names = [text(each) for each in found["texts"]]
        columns: dict[str, Any] = {
            "pid": np.full(rows, self.threads.pid_of_agent[number], dtype=np.int32),
            "thread_id": pa.array(ids, mask=ids < 0),
            "java_id": np.where(found["java_id"] == HW_MANY_THREADS, -1, found["java_id"]),
            "site_line": pa.array(found["site_line"], mask=found["site_line"] <= 0),
        }
        for key, column in _TEXTS.items():
            columns[column] = spelled_out(names, found[key])[0]
        is_sampled = found["all_objects"] > 0
        for name in ("objects", "bytes", "array_length"):
            columns[name] = np.where(is_sampled, np.rint(found[f"all_{name}"]).astype(np.int64), found[name])
            columns[f"{name}_error"] = pa.array(np.sqrt(found[f"{name}_variance"]), mask=~is_sampled)
        columns["samples"] = pa.array(found["objects"], mask=~is_sampled)
        return pa.table(columns)


def _of_busiest(found: Mapping[str, Any]) -> int:
    """Return how many objects the thread allocated that allocated most, of those that have rows of their own."""
    import numpy as np

    is_one = found["java_id"] != HW_MANY_THREADS
    _, rows = np.unique(found["java_id"][is_one], return_inverse=True)
    return int(np.bincount(rows, found["objects"][is_one]).max(initial=0))
