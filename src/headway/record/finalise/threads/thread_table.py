"""Builds the table `thread`: thread lives that the kernel recorded, joined with what agents report about Java threads.

Made before the pass over the scheduling records, which needs each thread's kind; completed with its figures after it.
"""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from headway.model import Kind
from headway.model.kinds import number_of
from headway.model.names import text
from headway.model.wire import HW_TH_ATTACHED, HW_TH_CARRIER, HW_TH_DAEMON
from headway.record.finalise.threads.kinds_by_name import is_jvm_thread, kind_of_java, kind_of_native
from headway.record.target_process.agent_file import HOST_PID
from headway.store.files import open_ordinary

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

BIRTH_SLACK_NS = 50_000_000
"""An agent announces a thread after its birth; /proc's start times are up to a clock tick late."""


_MOST_LIVES = 64


class JavaThread(NamedTuple):
    """A Java thread as its agent announced it; times CLOCK_MONOTONIC ns, -1 for unknown; tid in the JVM's namespace."""

    tid: int
    start_ns: int
    end_ns: int
    cpu_ns: int
    java_id: int
    flags: int
    name: bytes
    group: bytes


@dataclass(slots=True)
class RecordedThread:
    """One row of the table `thread`, as far as is known before the scheduling records are read."""

    pid: int
    tid: int
    ns_tid: int
    start_ns: int
    end_ns: int | None
    comm: str
    parent_tid: int | None = None
    from_snapshot: bool = False
    exit_exec_ns: int | None = None
    java: JavaThread | None = None
    kind: Kind = Kind.APP

    @property
    def name(self) -> str:
        """Return the Java name if known, else the kernel's."""
        return text(self.java.name) if self.java is not None and self.java.name else self.comm


@dataclass(slots=True)
class RecordedThreads:
    """All threads of a recording by thread_id, and the process of each agent.

    `thread_of_java` gives, for each agent, the thread_id of every Java thread that it announced, by Thread.getId().
    """

    rows: list[RecordedThread] = field(default_factory=list)
    pid_of_agent: dict[int, int] = field(default_factory=dict)
    thread_of_java: dict[int, dict[int, int]] = field(default_factory=dict)
    _places: dict[int, list[int]] = field(default_factory=dict)
    _placed: int = 0

    def of_process(self, pid: int) -> list[int]:
        """Return the thread_ids of a process: of many JVMs and a million threads, not each looks at all."""
        for place in range(self._placed, len(self.rows)):
            self._places.setdefault(self.rows[place].pid, []).append(place)
        self._placed = len(self.rows)
        return self._places.get(pid, [])

    @property
    def kind_codes(self) -> NDArray[np.uint8]:
        """Return each thread's code for the native sweep."""
        import numpy as np

        return np.array([number_of(row.kind) for row in self.rows], dtype=np.uint8)


def identify(
    lives: Mapping[str, Any], agents: Sequence[Mapping[str, Any]], *, is_of_kernel: bool = False
) -> RecordedThreads:
    """Return the recorded threads with names and kinds, from the kernel's births and ends and the agents' announcements.

    `is_of_kernel`: the scheduler's records are there, so that an agent's threads make no rows of their own.
    """
    threads = RecordedThreads(_from_lives(lives))
    has_lives = is_of_kernel or bool(threads.rows)
    leaders = defaultdict(list)
    for row in threads.rows:
        if row.tid == row.pid:
            leaders[row.ns_tid].append(row)
    for number, agent in enumerate(agents):
        threads.pid_of_agent[number] = _process_of(leaders[agent["pid"]], agent)
    for number, agent in enumerate(agents):
        threads.thread_of_java[number] = _name_java_threads(threads, threads.pid_of_agent[number], agent, has_lives)
    jvms = set(threads.pid_of_agent.values()) | {row.pid for row in threads.rows if is_jvm_thread(row.comm)}
    for row in threads.rows:
        if row.java is None:
            row.kind = kind_of_native(row.comm, row.pid in jvms)
        else:
            row.kind = kind_of_java(text(row.java.name), text(row.java.group), bool(row.java.flags & HW_TH_CARRIER))
    return threads


def _from_lives(lives: Mapping[str, Any]) -> list[RecordedThread]:
    columns = {name: values if isinstance(values, list) else values.tolist() for name, values in lives.items()}
    return [
        RecordedThread(
            pid=columns["pid"][i],
            tid=columns["tid"][i],
            ns_tid=columns["ns_tid"][i],
            start_ns=columns["start_ns"][i],
            end_ns=_known(columns["end_ns"][i]),
            comm=text(comm),
            parent_tid=columns["parent_tid"][i] or None,
            from_snapshot=bool(columns["from_snapshot"][i]),
            exit_exec_ns=_known(columns["exit_exec_ns"][i]),
        )
        for i, comm in enumerate(columns["comm"])
    ]


def _known(value: int) -> int | None:
    return None if value < 0 else value


def _process_of(leaders: Sequence[RecordedThread], agent: Mapping[str, Any]) -> int:
    """Return the JVM's pid here, of leaders of processes that have the agent's pid in their own namespaces.

    Several containers have a process of that number: of these it is the one that headway attached to.
    """
    created = agent["created_ns"]
    leaders = [row for row in leaders if row.start_ns <= created]
    alive = [row for row in leaders if row.end_ns is None or row.end_ns >= created]
    attached_to = _attached_pid(agent)
    found = [row for row in leaders if row.pid == attached_to] or alive or leaders
    return found[-1].pid if found else int(agent["pid"])


def _attached_pid(agent: Mapping[str, Any]) -> int:
    """Return the pid of the JVM by its recorder, which wrote it into the agent's file when it attached; 0: nobody did."""
    if "path" not in agent:
        return 0
    try:
        with open(open_ordinary(agent["path"]), "rb") as file:
            return int.from_bytes(os.pread(file.fileno(), 4, HOST_PID), "little")
    except OSError:
        return 0


def _name_java_threads(threads: RecordedThreads, pid: int, agent: Mapping[str, Any], has_lives: bool) -> dict[int, int]:
    """Give each announced thread to the life it means; without any (mode agent) it becomes a row of its own.

    Return the thread_id of each java_id: the main thread has two, its own and that of DestroyJavaVM.
    Where the kernel's records are, a thread without a life there began after them: its recorder had died. Or its agent says
    what is not so.
    """
    by_tid: dict[int, list[int]] = defaultdict(list)
    found: dict[int, int] = {}
    for life in threads.of_process(pid):
        by_tid[threads.rows[life].ns_tid].append(life)
    for announced in map(JavaThread._make, agent["threads"]):
        place = _announced_place(threads.rows, by_tid.get(announced.tid, []), announced)
        if place is None:
            if has_lives:
                continue
            place = len(threads.rows)
            threads.rows.append(_from_agent(pid, announced))
        elif (row := threads.rows[place]).java is not None and announced.name == b"DestroyJavaVM":
            # The main thread after main() has returned: the JVM announces it as another thread, people know it as main.
            row.java = row.java._replace(end_ns=announced.end_ns, cpu_ns=announced.cpu_ns)
        else:
            row.java = announced
        found[announced.java_id] = place
    return found


def _announced_place(rows: Sequence[RecordedThread], places: Sequence[int], announced: JavaThread) -> int | None:
    """Return the last place, of those of a thread number in order of their starts, whose life an agent may have announced.

    Not all are looked at: in a namespace of its own a program may choose one number for any number of threads.
    """
    started = bisect_right(places, announced.start_ns + BIRTH_SLACK_NS, key=lambda place: rows[place].start_ns)
    last = reversed(places[max(0, started - _MOST_LIVES) : started])
    return next((place for place in last if _may_be(rows[place], announced)), None)


def _may_be(row: RecordedThread, announced: JavaThread) -> bool:
    ended = row.end_ns is not None and row.end_ns + BIRTH_SLACK_NS < announced.start_ns
    return row.start_ns <= announced.start_ns + BIRTH_SLACK_NS and not ended


def _from_agent(pid: int, announced: JavaThread) -> RecordedThread:
    return RecordedThread(
        pid=pid,
        tid=announced.tid,
        ns_tid=announced.tid,
        start_ns=announced.start_ns,
        end_ns=_known(announced.end_ns),
        comm="",
        from_snapshot=bool(announced.flags & HW_TH_ATTACHED),
        java=announced,
    )


def table(
    threads: RecordedThreads, totals: Mapping[str, NDArray[Any]] | None, strays: Sequence[tuple[int, int]]
) -> pa.Table:
    """Return the rows of the table `thread`.

    `totals` are the columns of `Decoder.result()["threads"]`, None in mode agent; `strays` are (tid, first_ns) of threads
    whose birth is on no record: they follow the others there.
    """
    import pyarrow as pa

    rows = threads.rows + [RecordedThread(0, tid, tid, first_ns, None, f"tid {tid}") for tid, first_ns in strays]
    java = [row.java for row in rows]
    columns: dict[str, Any] = {
        "thread_id": pa.array(range(len(rows)), pa.int32()),
        "name": [row.name for row in rows],
        "kind": [row.kind.value for row in rows],
        "java_id": [None if each is None else each.java_id for each in java],
        "is_daemon": [None if each is None else bool(each.flags & HW_TH_DAEMON) for each in java],
        "group": [None if each is None else text(each.group) for each in java],
        "cpu_clock_ns": [None if each is None else _known(each.cpu_ns) for each in java],
        "java_end_ns": [_java_end_ns(row) for row in rows],
    }
    for name in ("pid", "tid", "start_ns", "end_ns", "comm", "parent_tid", "from_snapshot"):
        columns[name] = [getattr(row, name) for row in rows]
    if totals is None:
        columns["exec_ns"] = columns["cpu_clock_ns"]
    else:
        columns |= _figures(totals)
    return pa.table(columns)


def _java_end_ns(row: RecordedThread) -> int | None:
    """Return when a thread told its agent that it ends, if that can be: the kernel sees its end a little later."""
    if row.java is None or row.end_ns is None or not row.start_ns <= row.java.end_ns <= row.end_ns:
        return None
    return row.java.end_ns


def _figures(totals: Mapping[str, NDArray[Any]]) -> dict[str, Any]:
    """Return the columns of figures.

    Where the kernel's own totals are there (perf collector), they tell what the records can't: the share of the running
    time that was stolen, and the waiting that was counted as blocked, as of their last reading.
    """
    import numpy as np
    import pyarrow as pa

    running, height, active = totals["running_ns"], totals["height_ns"], totals["active_ns"]
    late_wait = np.maximum(totals["total_wait_ns"], 0)
    late_wait = np.minimum(late_wait, totals["blocked_ns"])
    exec_ns = np.where(totals["total_stolen_ns"] >= 0, running - totals["total_stolen_ns"], totals["exec_ns"])
    with np.errstate(divide="ignore", invalid="ignore"):
        width = active / height
        parallelism = totals["active_while_running"] / running
    return {
        "running_ns": running,
        "exec_ns": pa.array(exec_ns, mask=exec_ns < 0),
        "runnable_ns": totals["runnable_ns"] + late_wait,
        "blocked_ns": totals["blocked_ns"] - late_wait,
        "switches": totals["switches"],
        "collecting_ns": totals["other_kind_running_ns"],
        "bottle_height_ns": np.rint(height).astype(np.int64),
        "bottle_width": pa.array(width, mask=height <= 0),
        "parallelism_running": pa.array(parallelism, mask=running <= 0),
    }
