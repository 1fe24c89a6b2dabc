"""Who the threads are: the kernel's lives joined with what the agents in the JVMs say about them.

Made before the pass over the scheduling records, which needs each thread's kind; completed with its figures after it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from headway.model import Kind
from headway.record.kinds_of_threads import is_jvm_thread, kind_of_java, kind_of_native

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

_DAEMON, _CARRIER, _ATTACHED = 1, 4, 8
BIRTH_SLACK_NS = 50_000_000
"""An agent announces a thread after its birth; /proc's start times are up to a clock tick late."""
KIND_CODES: Mapping[Kind, int] = {
    Kind.APP: 0,
    Kind.CARRIER: 0,
    Kind.GC: 1,
    Kind.JIT: 2,
    Kind.VM: 3,
    Kind.HEADWAY: 255,
}
"""How the native sweep counts a kind; 255: not at all."""


class JavaThread(NamedTuple):
    """One Java thread as its agent announced it; times CLOCK_MONOTONIC ns, -1 for unknown; tid as its JVM sees it."""

    tid: int
    start_ns: int
    end_ns: int
    cpu_ns: int
    java_id: int
    flags: int
    name: bytes
    group: bytes


@dataclass(slots=True)
class Thread:
    """One row of the table `thread`, as far as it is known before the scheduling records are read."""

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
        """Return the Java name where known, else the kernel's."""
        return text(self.java.name) if self.java is not None and self.java.name else self.comm


@dataclass(slots=True)
class Threads:
    """The threads of a recording in order of thread_id, and which process each agent was in.

    `thread_of_java` gives, for each agent, the thread_id of every Java thread that it announced, by Thread.getId().
    """

    rows: list[Thread] = field(default_factory=list)
    pid_of_agent: dict[int, int] = field(default_factory=dict)
    thread_of_java: dict[int, dict[int, int]] = field(default_factory=dict)

    @property
    def kind_codes(self) -> NDArray[np.uint8]:
        """Return each thread's code for the native sweep."""
        import numpy as np

        return np.array([KIND_CODES[row.kind] for row in self.rows], dtype=np.uint8)


def text(raw: bytes) -> str:
    r"""Return a name as text; bytes that are not UTF-8 are escaped as \xNN."""
    return raw.decode("utf-8", errors="backslashreplace")


def identify(lives: Mapping[str, Any], agents: Sequence[Mapping[str, Any]]) -> Threads:
    """Join lives (`Decoder.lifecycle()`) and agents (`Decoder.agents()`) into threads with names and kinds."""
    threads = Threads(_from_lives(lives))
    for number, agent in enumerate(agents):
        threads.pid_of_agent[number] = _process_of(threads.rows, agent)
    for number, agent in enumerate(agents):
        found = _name_java_threads(threads, threads.pid_of_agent[number], agent)
        places = {id(row): place for place, row in enumerate(threads.rows)}
        threads.thread_of_java[number] = {java_id: places[id(row)] for java_id, row in found.items()}
    jvms = set(threads.pid_of_agent.values()) | {row.pid for row in threads.rows if is_jvm_thread(row.comm)}
    for row in threads.rows:
        if row.java is None:
            row.kind = kind_of_native(row.comm, row.pid in jvms)
        else:
            row.kind = kind_of_java(text(row.java.name), text(row.java.group), bool(row.java.flags & _CARRIER))
    return threads


def _from_lives(lives: Mapping[str, Any]) -> list[Thread]:
    columns = {name: values if isinstance(values, list) else values.tolist() for name, values in lives.items()}
    return [
        Thread(
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


def _process_of(rows: list[Thread], agent: Mapping[str, Any]) -> int:
    """Return the JVM's pid here: the process whose leader has the agent's pid in its own namespace."""
    created = agent["created_ns"]
    leaders = [row for row in rows if row.tid == row.pid and row.ns_tid == agent["pid"] and row.start_ns <= created]
    alive = [row for row in leaders if row.end_ns is None or row.end_ns >= created]
    found = alive or leaders
    return found[-1].pid if found else int(agent["pid"])


def _name_java_threads(threads: Threads, pid: int, agent: Mapping[str, Any]) -> dict[int, Thread]:
    """Give each announced thread to the life it means; without any (mode agent) it becomes a row of its own.

    Return who each java_id is: the main thread has two, its own and that of DestroyJavaVM.
    Where the kernel's records are, a thread without a life there began after them: its recorder had died.
    """
    by_tid: dict[int, list[Thread]] = defaultdict(list)
    unknown: list[Thread] = []
    found: dict[int, Thread] = {}
    for row in threads.rows:
        if row.pid == pid:
            by_tid[row.ns_tid].append(row)
    for announced in map(JavaThread._make, agent["threads"]):
        meant = [row for row in by_tid.get(announced.tid, ()) if _may_be(row, announced)]
        if meant and meant[-1].java is not None and announced.name == b"DestroyJavaVM":
            # The main thread after main() has returned: the JVM announces it as another thread, people know it as main.
            meant[-1].java = meant[-1].java._replace(end_ns=announced.end_ns, cpu_ns=announced.cpu_ns)
        elif meant:
            meant[-1].java = announced
        elif not by_tid:
            meant = [_from_agent(pid, announced)]
            unknown += meant
        if meant:
            found[announced.java_id] = meant[-1]
    threads.rows += unknown
    return found


def _may_be(row: Thread, announced: JavaThread) -> bool:
    ended = row.end_ns is not None and row.end_ns + BIRTH_SLACK_NS < announced.start_ns
    return row.start_ns <= announced.start_ns + BIRTH_SLACK_NS and not ended


def _from_agent(pid: int, announced: JavaThread) -> Thread:
    return Thread(
        pid=pid,
        tid=announced.tid,
        ns_tid=announced.tid,
        start_ns=announced.start_ns,
        end_ns=_known(announced.end_ns),
        comm="",
        from_snapshot=bool(announced.flags & _ATTACHED),
        java=announced,
    )


def table(threads: Threads, totals: Mapping[str, NDArray[Any]] | None, strays: Sequence[tuple[int, int]]) -> pa.Table:
    """Return the rows of the table `thread`.

    `totals` are the columns of `Decoder.result()["threads"]`, None in mode agent; `strays` are (tid, first_ns) of threads
    whose birth is on no record: they follow the others there.
    """
    import pyarrow as pa

    rows = threads.rows + [Thread(0, tid, tid, first_ns, None, f"tid {tid}") for tid, first_ns in strays]
    java = [row.java for row in rows]
    columns: dict[str, Any] = {
        "thread_id": pa.array(range(len(rows)), pa.int32()),
        "name": [row.name for row in rows],
        "kind": [row.kind.value for row in rows],
        "java_id": [None if each is None else each.java_id for each in java],
        "is_daemon": [None if each is None else bool(each.flags & _DAEMON) for each in java],
        "group": [None if each is None else text(each.group) for each in java],
        "cpu_clock_ns": [None if each is None else _known(each.cpu_ns) for each in java],
    }
    for name in ("pid", "tid", "start_ns", "end_ns", "comm", "parent_tid", "from_snapshot"):
        columns[name] = [getattr(row, name) for row in rows]
    if totals is None:
        columns["exec_ns"] = columns["cpu_clock_ns"]
    else:
        columns |= _figures(totals)
    return pa.table(columns)


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
        "bottle_height_ns": np.rint(height).astype(np.int64),
        "bottle_width": pa.array(width, mask=height <= 0),
        "parallelism_running": pa.array(parallelism, mask=running <= 0),
    }
