"""Writes the lock tables: agents' records joined with threads and with the kernel's wakeups.

A sink of the pass over slices (slice_pass.py), in which the decoder tells of each waking; `write` comes after the pass. Rows
come in batches in order of their start, so memory stays far below the size of the agents' files.

Where an unpark was seen, it is the waker. Else (monitors, Object.wait, interrupts) it is the thread that woke the waiter
last, by the kernel's records; there are none in the modes perf-switch and agent. Holds of monitors come from the same
wakings: native/decode/lock_tables/kernel_wakers.h says which are seen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from headway.errors import Notice
from headway.model import Kind, wire
from headway.model.kinds import BLOCKER_KINDS
from headway.model.names import may_have_virtual_threads, text, virtual_name, whole_number
from headway.record.finalise.locks.coroutines import coroutine_notices
from headway.record.finalise.threads.thread_table import RecordedThreads
from headway.store.manifest import TableInfo
from headway.store.possible import ImpossibleValueFilter
from headway.store.shared_texts import shortened, spelled_out
from headway.store.tables import TABLES
from headway.store.writer import TableWriter

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 17
_KINDS = [BLOCKER_KINDS.get(code, "") for code in range(max(BLOCKER_KINDS) + 1)]
"""Bits of hw_block_flags."""
_NATIVE = -1
_STANDING = ("", "native", "sleep", "wait", "park")
"""Values of hw_standing_in."""
_LONGEST_FACT_BYTES = 1024
_LOST_OF_A_TABLE = "sums of its locks come from the single blocks instead, up to where these end"
_NULLABLE = (
    *("thread_id", "stack_id", "waker_thread_id", "waker_java_id", "waker_stack_id", "waking_ns"),
    *("owner_thread_id", "owner_java_id", "is_kernel_waking"),
)


@dataclass(slots=True)
class LockTables:
    """The lock records of one recording. `asked` is the request, the key `locks` of the manifest's draft."""

    locks: Any
    threads: RecordedThreads
    agents: Sequence[Mapping[str, Any]]
    window: tuple[int, int]
    asked: Mapping[str, Any]

    @property
    def files(self) -> list[dict[str, Any]]:
        """Return the facts about each agent's records, in the order of the agents."""
        return list(self.locks.files())

    @property
    def is_on(self) -> bool:
        """Return whether any JVM recorded its locks."""
        any_recorded = any(_fact(agent, "locks") == "on" for agent in self.agents)
        return any_recorded or any(each["has_table"] or each["blocks"] for each in self.files)

    @property
    def has_stacks(self) -> bool:
        """Return whether any agent took stacks of waiting threads: with locks always, else once, at an attach."""
        return self.is_on or any(_fact(agent, "waiting_stacks") == "once" for agent in self.agents)

    def begin(self) -> None:
        """Set the threads, so that the pass over the scheduling records finds wakers."""
        import numpy as np

        if not self.has_stacks:
            return
        rows = self.threads.rows
        java = np.array([-1 if row.java is None else row.java.java_id & 0xFFFFFFFF for row in rows], dtype=np.int64)
        own = np.array([row.kind is Kind.HEADWAY for row in rows], dtype=np.uint8)
        jvms = [self._threads_of(number) for number in range(len(self.agents))]
        self.locks.begin(jvms, java, own, self.window[0])

    def slices(self, batch: Mapping[str, Any]) -> None:
        """Do nothing: the decoder tells the native locks of each waking (slice_pass.py)."""

    def end(self) -> None:
        """Do nothing: `write` takes the rows from the native locks."""

    def _threads_of(self, number: int) -> tuple[Any, ...]:
        """Return (pid, close_ns, tid, start_ns, thread_id, java_id, java_thread_id) of one JVM; columns from the third on."""
        import numpy as np

        pid, rows = self.threads.pid_of_agent[number], self.threads.rows
        of_process = [(rows[i].ns_tid, rows[i].start_ns, i) for i in self.threads.of_process(pid)]
        tids, starts, ids = np.array(of_process, dtype=np.int64).reshape(-1, 3).T
        announced = list(self.threads.thread_of_java[number].items())
        java, java_ids = np.array(announced, dtype=np.int64).reshape(-1, 2).T
        return (
            *(pid, self._end_of(pid)),
            *(tids.astype(np.uint32), np.ascontiguousarray(starts), ids.astype(np.int32)),
            *((java & 0xFFFFFFFF).astype(np.uint32), java_ids.astype(np.int32)),
        )

    def _end_of(self, pid: int) -> int:
        """Return when what a JVM's threads still waited in is over: at its end, or that of the recording."""
        of_process = (self.threads.rows[i] for i in self.threads.of_process(pid))
        ends = [row.end_ns for row in of_process if row.tid == pid and row.end_ns is not None]
        return min([self.window[1], *ends[-1:]])

    def write(
        self, directory: Path, breathe: Callable[[], None], possible: ImpossibleValueFilter
    ) -> dict[str, TableInfo]:
        """Write block, hold, blocker and waiting_stack with `possible` values only; none if locks were off. Raises OSError.

        When locks were off, waiting_stack alone, if an agent was attached.

        `breathe` is called before each batch. `stack_rows` and `frame_rows` come after it, in this order.
        """
        if not self.has_stacks:
            return {}
        locks = self.locks
        standing = {"waiting_stack": _write(directory, "waiting_stack", [locks.standing()], _standing_rows, possible)}
        if not self.is_on:
            return standing
        return {
            "block": _write(directory, "block", _batches(locks.next_blocks, breathe), _block_rows, possible),
            "hold": _write(
                directory, "hold", _batches(locks.next_holds, breathe), _hold_rows, possible, self._holding_jvms
            ),
            "blocker": _write(directory, "blocker", [locks.blockers()], self._blocker_rows, possible),
            **standing,
        }

    def stack_rows(self, breathe: Callable[[], None]) -> Iterator[pa.Table]:
        """Yield the rows of the table `stack`, in order of stack_id."""
        return map(_stack_rows, _batches(self.locks.next_stacks, breathe))

    def frame_rows(self, possible: ImpossibleValueFilter) -> pa.Table:
        """Return the rows of the table `frame`, in order of frame_id; names that are cut short count as left out."""
        rows, cut = _frame_rows(self.locks.frames())
        if cut:
            possible.left_out["frame"] += cut
        return rows

    def _blocker_rows(self, columns: dict[str, Any]) -> pa.Table:
        import numpy as np
        import pyarrow as pa

        count = len(columns["kind"])
        pids = [self.threads.pid_of_agent[number] for number in range(len(self.agents))]
        texts = [text(each) for each in columns["texts"]]
        rows: dict[str, Any] = {
            name: columns[name] for name in columns if name not in ("texts", "file", "first_java_id")
        }
        first_thread = spelled_out(texts, columns["first_thread"])[0].to_pylist()
        for i in np.flatnonzero(columns["first_thread"] == 0).tolist():
            first_thread[i] = self._name_of(int(columns["file"][i]), int(columns["first_java_id"][i]))
        return pa.table(
            rows
            | {
                "blocker_id": np.arange(count, dtype=np.int32),
                "pid": np.array(pids, dtype=np.int32)[columns["file"]],
                "kind": _kinds(columns["kind"]),
                "class_name": spelled_out(texts, columns["class_name"])[0],
                "first_thread": first_thread,
                "first_stack_id": _or_null(columns["first_stack_id"]),
                "died_ns": _or_null(columns["died_ns"]),
            }
        )

    def _name_of(self, number: int, java_id: int) -> str:
        """Return what a thread is called; one that is known by its id alone is virtual, or '' where there are none of these.

        Where the agent finds no native threads behind Java's, those that ran when it was attached are not announced either.
        """
        thread = self.threads.thread_of_java[number].get(java_id)
        if thread is not None:
            return self.threads.rows[thread].name
        can_be = java_id and may_have_virtual_threads(_fact(self.agents[number], "java.version"))
        return virtual_name(java_id) if can_be else ""

    def _holding_jvms(self, columns: dict[str, Any]) -> Any:
        """Return the pid of the JVM of each hold, whose row names none."""
        import numpy as np

        pids = np.array([self.threads.pid_of_agent[number] for number in range(len(self.agents))], dtype=np.int32)
        return pids[columns.pop("file")]

    # --- what the manifest says ---------------------------------------------------------------------------------------

    def facts(self) -> dict[str, Any]:
        """Return the manifest's key `locks`; docs/explanation/architecture.md explains it."""
        capped = [each["capped_ns"] for each in self.files if each["capped_ns"] > 0]
        return {
            **self.asked,
            "on": self.is_on,
            "capped_ns": min(capped, default=None),
            "threshold": self.asked.get("threshold"),
            "stacks": sum(each["stacks"] for each in self.files),
            "dropped": sum(each["dropped"] for each in self.files),
            "untimed_holds": sum(each["untimed_holds"] for each in self.files),
            "forgotten": sum(each["forgotten"] for each in self.files),
            "below_threshold": sum(each["below_threshold"] for each in self.files),
            "problem": "; ".join(reason for _, reason in self._problems()) or None,
        }

    def notices(self) -> list[Notice]:
        """Return the notices that belong to all lock figures."""
        found = [Notice.of("HW207", pid=pid, reason=reason) for pid, reason in self._problems()]
        cut = (each for each in self.files if each["is_cut"])
        found += [Notice.of("HW229", path=Path(each["table"]).name, what=_LOST_OF_A_TABLE) for each in cut]
        damaged = (each for each in self.files if each["problem"] and not each["is_cut"])
        found += [Notice.of("HW203", problem=f"{each['table']}: {each['problem']}") for each in damaged]
        facts = self.facts()
        if facts["capped_ns"] is not None:
            found.append(Notice.of("HW206", after_s=max(0, facts["capped_ns"] - self.window[0]) / 1e9))
        if facts["dropped"]:
            found.append(Notice.of("HW208", count=facts["dropped"]))
        if facts["untimed_holds"]:
            found.append(Notice.of("HW219", count=facts["untimed_holds"]))
        if facts["threshold"] and facts["below_threshold"]:
            found.append(Notice.of("HW217", threshold=facts["threshold"], count=facts["below_threshold"]))
        for number, agent in enumerate(self.agents):
            pid = self.threads.pid_of_agent[number]
            if reason := _fact(agent, "parked_before"):
                found.append(Notice.of("HW218", pid=pid, reason=reason))
            for key, id_ in (("locks_gap", "HW209"), ("locks_lost", "HW210")):
                times = [ns for word in _fact(agent, key).split() if (ns := whole_number(word)) is not None]
                if len(times) == 2:
                    since, until = (max(0, each - self.window[0]) / 1e9 for each in times)
                    found.append(Notice.of(id_, pid=pid, from_s=since, to_s=until))
        return found + coroutine_notices(self.agents, self.threads)

    def _problems(self) -> list[tuple[int, str]]:
        """Return (pid, reason) of each JVM whose locks were to be recorded and were not."""
        problems = (
            (self.threads.pid_of_agent[i], _fact(agent, "locks_problem")) for i, agent in enumerate(self.agents)
        )
        return [(pid, reason) for pid, reason in problems if reason]


def _batches(following: Callable[[int], Any], breathe: Callable[[], None]) -> Iterator[Any]:
    breathe()
    while (batch := following(BATCH)) is not None:
        yield batch
        breathe()


def _fact(agent: Mapping[str, Any], wanted: str) -> str:
    """Return what a JVM said under a key, '' for nothing. Messages and the manifest repeat it: a long one is cut short."""
    found = next((text(value) for key, value in agent["facts"] if text(key) == wanted), "")
    return shortened(found, _LONGEST_FACT_BYTES)


def _write(
    directory: Path,
    name: str,
    batches: Any,
    rows: Callable[[dict[str, Any]], pa.Table],
    possible: ImpossibleValueFilter,
    jvms: Callable[[dict[str, Any]], Any] | None = None,
) -> TableInfo:
    with TableWriter(directory, TABLES[name], possible) as writer:
        for batch in batches:
            of_jvms = None if jvms is None else jvms(batch)
            writer.write(rows(batch), of_jvms)
    return writer.info


def _or_null(values: Any) -> pa.Array:
    """Return a column in which -1 stands for null."""
    import pyarrow as pa

    return pa.array(values, mask=values < 0)


def _kinds(codes: Any) -> pa.Array:
    import pyarrow as pa

    return pa.array(_KINDS).take(pa.array(codes))


def _block_rows(columns: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    flags = columns.pop("flags")
    bits = {
        "is_timed": wire.HW_BL_TIMED,
        "is_open": wire.HW_BL_OPEN,
        "is_attached": wire.HW_BL_ATTACHED,
        "is_virtual": wire.HW_BL_VIRTUAL,
        "is_pinned": wire.HW_BL_PINNED,
        "is_end_guessed": wire.HW_BL_END_GUESSED,
        "is_repark": wire.HW_BL_AGAIN,
        "owns_monitor": wire.HW_BL_OWNS_MONITOR,
    }
    rows = {name: _or_null(values) if name in _NULLABLE else values for name, values in columns.items()}
    return pa.table(rows | {"kind": _kinds(columns["kind"])} | {name: flags & bit != 0 for name, bit in bits.items()})


def _hold_rows(columns: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    source = pa.array(("owner", "waking")).take(pa.array(columns.pop("by_waking")))
    return pa.table(columns | {"thread_id": _or_null(columns["thread_id"]), "source": source})


def _standing_rows(columns: dict[str, Any]) -> pa.Table:
    import numpy as np
    import pyarrow as pa

    order = np.argsort(columns["ns"], kind="stable")
    state = pa.array(_STANDING).take(pa.array(columns["state"][order]))
    return pa.table({name: values[order] for name, values in columns.items()} | {"state": state})


def _stack_rows(columns: dict[str, Any]) -> pa.Table:
    import pyarrow as pa

    return pa.table(columns | {"is_cut": columns["is_cut"] != 0})


def _frame_rows(columns: dict[str, Any]) -> tuple[pa.Table, int]:
    """Return the rows of the table `frame`, and how many names are cut short."""
    import numpy as np
    import pyarrow as pa

    texts, line = [text(each) for each in columns["texts"]], columns["line"]
    (classes, cut_classes), (methods, cut_methods) = (
        spelled_out(texts, columns[name]) for name in ("class_name", "method")
    )
    rows = pa.table(
        {
            "frame_id": np.arange(len(line), dtype=np.int32),
            "class_name": classes,
            "method": methods,
            "line": _or_null(line),
            "kind": pa.array(("java", "native")).take(pa.array((line == _NATIVE).astype(np.int8))),
        }
    )
    return rows, cut_classes + cut_methods
