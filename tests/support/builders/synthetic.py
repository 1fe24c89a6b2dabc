"""Builds small recordings of threads given state by state, and counts in them moment by moment as an oracle.

A thread is a list of (state, duration) from its start: "R" running, "W" runnable (waiting for a CPU), "B" blocked. Every
cycle is blocked, then runnable, then running, as in the table `slice`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

KINDS = ("app", "gc", "jit", "vm")
ORIGIN = 1_000_000_000_000  # recordings begin long after boot: code that forgets the origin shows itself


@dataclass
class FakeThread:
    """A thread given as its consecutive states."""

    kind: str = "app"
    start: int = 0
    states: Sequence[tuple[str, int]] = ()
    name: str = "worker"
    stolen: Sequence[int] = field(default_factory=list)  # per running part; missing ones are 0
    is_daemon: bool | None = None

    def at(self, t: int) -> str | None:
        """Return the state at time t (ns from the recording's start), None while the thread does not exist."""
        moment = t - self.start
        return self.moments[moment] if 0 <= moment < len(self.moments) else None

    @cached_property
    def moments(self) -> str:
        """Return one state letter per ns of the thread's life."""
        return "".join(state * length for state, length in self.states)

    @property
    def end(self) -> int:
        """Return when the thread ends."""
        return self.start + sum(length for _, length in self.states)


def slices_of(index: int, thread: FakeThread) -> list[dict[str, Any]]:
    """Return the rows of table `slice` for a thread."""
    rows, now, blocked, runnable, part = [], thread.start, 0, 0, 0
    for state, length in thread.states:
        if state == "B":
            blocked += length
        elif state == "W":
            runnable += length
        else:
            stolen = thread.stolen[part] if part < len(thread.stolen) else 0
            rows.append(_slice(index, now, blocked, runnable, length, stolen))
            blocked = runnable = 0
            part += 1
        now += length
    if blocked or runnable:
        rows.append({**_slice(index, now, blocked, runnable, 0, 0), "cpu": -1, "is_open": True})
    return rows


def _slice(index: int, now: int, blocked: int, runnable: int, running: int, stolen: int) -> dict[str, Any]:
    return {
        "thread_id": index,
        "start_ns": ORIGIN + now,
        "blocked_ns": blocked,
        "runnable_ns": runnable,
        "running_ns": running,
        "stolen_ns": stolen,
        "cpu": index % 2,
        "blocked_state": 1 if blocked else 0,
        "waker_id": -1,
        "waker_irq": False,
        "is_open": False,
    }


def activity_rows(threads: Sequence[FakeThread], wall: int, bin_ns: int) -> list[dict[str, Any]]:
    """Count the table `activity` moment by moment (1 ns each)."""
    rows: dict[tuple[int, ...], list[float]] = {}
    counted = [(thread, _rates(thread), _column(thread.kind)) for thread in threads if thread.kind != "headway"]
    for t in range(wall):
        active, running, stolen = [0] * 4, [0] * 4, 0.0
        for thread, rates, column in counted:
            state = thread.at(t)
            active[column] += state in ("R", "W")
            running[column] += state == "R"
            stolen += rates[t - thread.start] if state == "R" else 0.0
        row = rows.setdefault((t // bin_ns * bin_ns, *active, *running), [0, 0.0])
        row[0] += 1
        row[1] += stolen
    names = [f"{what}_{kind}" for what in ("active", "running") for kind in KINDS]
    return [
        {"bin_start_ns": ORIGIN + key[0], **dict(zip(names, key[1:], strict=True))}
        | {"dur_ns": int(dur), "stolen_ns": round(stolen)}
        for key, (dur, stolen) in rows.items()
    ]


def _column(kind: str) -> int:
    return KINDS.index("app" if kind == "carrier" else kind)


def _rates(thread: FakeThread) -> list[float]:
    """Stolen ns per ns, for every ns of the thread's life: spread evenly over each running part."""
    rates: list[float] = []
    part = 0
    for state, length in thread.states:
        share = 0.0
        if state == "R":
            share = (thread.stolen[part] if part < len(thread.stolen) else 0) / length if length else 0.0
            part += 1
        rates += [share] * length
    return rates


def thread_row(index: int, thread: FakeThread, wall: int) -> dict[str, Any]:
    """Return the row of table `thread` for a thread."""

    def total(which: str) -> int:
        return sum(length for state, length in thread.states if state == which)

    running = total("R")
    return {
        "thread_id": index,
        "pid": 100,
        "tid": 100 + index,
        "start_ns": ORIGIN + thread.start,
        "end_ns": ORIGIN + thread.end if thread.end < wall else None,
        "name": thread.name,
        "comm": thread.name[:15],
        "kind": thread.kind,
        "is_daemon": thread.is_daemon,
        "from_snapshot": False,
        "running_ns": running,
        "exec_ns": running - sum(thread.stolen),
        "runnable_ns": total("W"),
        "blocked_ns": total("B"),
        "switches": sum(1 for state, _ in thread.states if state == "R"),
        "parallelism_running": 1.5,
        "bottle_height_ns": running // 2,
        "bottle_width": 2.0,
    }


def manifest_of(wall: int, **facts: Any) -> dict[str, Any]:
    """Return the manifest of a recording of this length."""
    return {
        "mode": "ebpf",
        "command": ["java", "-jar", "app.jar"],
        "pid": 100,
        "window": {"start_ns": ORIGIN, "end_ns": ORIGIN + wall},
        "affinity": [0, 1],
        "recorded_cores": 2,
        "ended_by": "exit",
        "exit_code": 0,
        **facts,
    }


def write(
    path: Path,
    threads: Sequence[FakeThread],
    wall: int,
    *,
    bin_ns: int = 50,
    activity: Sequence[Mapping[str, Any]] | None = None,
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    **facts: Any,
) -> Path:
    """Write a recording of such threads; `facts` override the manifest, `tables` adds tables."""
    from headway.store.tables import TABLES
    from headway.store.writer import arrow_schema, write_recording

    def table(name: str, rows: Sequence[Mapping[str, Any]]) -> Any:
        import pyarrow as pa

        return pa.Table.from_pylist([dict(row) for row in rows], schema=arrow_schema(TABLES[name]))

    counted = activity if activity is not None else activity_rows(threads, wall, bin_ns)
    slices = sorted(
        (row for i, thread in enumerate(threads) for row in slices_of(i, thread)),
        key=lambda row: row["start_ns"] + row["running_ns"],
    )
    content = {
        "thread": [thread_row(i, thread, wall) for i, thread in enumerate(threads)],
        "slice": slices,
        "activity": counted,
        **(tables or {}),
    }
    return write_recording(
        path, manifest_of(wall, **facts), {name: table(name, rows) for name, rows in content.items()}, overwrite=True
    )
