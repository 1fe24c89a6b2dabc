"""Builds legal recordings at the edge of what is possible, each of which can make a division, mean or maximum fail.

Every builder writes NAME.headway into a directory and returns its path. All times are those of `synthetic`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.builders import causal_builder, lock_builder, recording_builder, sample_builder, synthetic
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

Rows = list[dict[str, Any]]
WALL = 1000
MOST = 2**31 - 1
STACK = ("org.example.App.main", "org.example.App.work")


def _threads() -> list[FakeThread]:
    return [
        FakeThread("app", 0, [("R", 300), ("B", 200), ("W", 50), ("R", 450)], "main", stolen=[30, 45]),
        FakeThread("app", 0, [("R", 100), ("B", 500), ("W", 100), ("R", 300)], "worker-1"),
        FakeThread("gc", 100, [("R", 100), ("W", 200), ("R", 100)], "GC Thread#0"),
        FakeThread("vm", 100, [("R", 50), ("B", 200), ("R", 100)], "VM Thread"),
    ]


def _samples(threads: Sequence[int] = (0, 1)) -> dict[str, Rows]:
    samples = [(thread, at, 10, STACK) for thread in threads for at in range(10, WALL, 100)]
    return sample_builder.tables(dict.fromkeys(("cpu", "wall", "alloc"), samples))


def _lock_tables(waits: Sequence[Wait], path: Path) -> dict[str, Rows]:
    """Return the tables of locks as `made_locks` makes them, for a recording that is written by other means."""
    from headway.store import open_recording

    lock_recording = LockRecording(_threads(), waits, wall=WALL, pauses=[(100, 200)], stacks=[lock_builder.LOCK_FRAMES])
    with_locks = open_recording(lock_recording.write(path))
    found = {}
    for name in ("blocker", "block", "hold"):
        if with_locks.has(name):
            table = with_locks.query(f"SELECT * FROM {name}")
            names = [column[0] for column in table.description]
            found[name] = [dict(zip(names, row, strict=True)) for row in table.fetchall()]
    with_locks.close()
    return found


_WAITS = (
    Wait(0, 0, 300, 500, owner=1, waker=1, stack=0),
    Wait(1, 0, 100, 600, owner=0, waker=0, waking=550, stack=0),
    Wait(1, 1, 700, 710),
)
LOCKS: dict[str, Any] = {"locks": {"recorded": True, "jvms": [{"pid": 100, "state": "recorded"}]}}


def _whole(path: Path) -> tuple[list[FakeThread], dict[str, Rows]]:
    """Return threads and tables of a recording that has everything."""
    tables = _lock_tables(_WAITS, path.with_name(f"{path.stem}-locks.headway"))
    tables |= {"jvm_phase": [_phase(100, 100), _phase(600, 1)], "loss": [], "counter": []}
    return _threads(), tables | _samples()


def _phase(start: int, dur: int, kind: str = "gc_pause") -> dict[str, Any]:
    return {"pid": 100, "start_ns": ORIGIN + start, "dur_ns": dur, "kind": kind, "cause": "test"}


def everything(path: Path) -> Path:
    """Write the recording that has everything."""
    threads, tables = _whole(path)
    return synthetic.write(path, threads, WALL, tables=tables, **LOCKS)


def _rewritten(path: Path, change: Callable[[dict[str, Rows]], None], wall: int = WALL, **facts: Any) -> Path:
    """Write the recording that has everything, with its rows changed."""
    threads, tables = _whole(path)
    rows: dict[str, Rows] = {
        "thread": [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(threads)],
        "slice": [row for i, thread in enumerate(threads) for row in synthetic.slices_of(i, thread)],
        "activity": synthetic.activity_rows(threads, WALL, 50),
        **tables,
    }
    change(rows)
    rows.get("slice", []).sort(key=lambda row: row["start_ns"] + row["running_ns"])
    return write_rows(path, rows, wall, **facts)


def write_rows(path: Path, rows: Mapping[str, Rows], wall: int = WALL, **facts: Any) -> Path:
    """Write rows as they are."""
    import pyarrow as pa

    from headway.store.tables import TABLES
    from headway.store.writer import arrow_schema, write_recording

    tables = {name: pa.Table.from_pylist(each, schema=arrow_schema(TABLES[name])) for name, each in rows.items()}
    return write_recording(path, synthetic.manifest_of(wall, **LOCKS | facts), tables, overwrite=True)


def _each(table: str, **values: Any) -> Callable[[dict[str, Rows]], None]:
    def change(rows: dict[str, Rows]) -> None:
        for row in rows[table]:
            row |= values

    return change


def zero_length_slices(path: Path) -> Path:
    """Write slices none of which has a length."""
    return _rewritten(path, _each("slice", running_ns=0, stolen_ns=0))


def some_zero_length_slices(path: Path) -> Path:
    """Write slices some of which have no length."""

    def change(rows: dict[str, Rows]) -> None:
        rows["slice"] += [{**row, "running_ns": 0, "stolen_ns": 0, "blocked_ns": 0} for row in rows["slice"]]

    return _rewritten(path, change)


def nothing_executed(path: Path) -> Path:
    """Write threads that were on CPUs, all of whose time was stolen."""

    def change(rows: dict[str, Rows]) -> None:
        for row in rows["slice"]:
            row["stolen_ns"] = row["running_ns"]
        _each("thread", exec_ns=0)(rows)
        for row in rows["activity"]:
            row["stolen_ns"] = sum(row[f"running_{kind}"] for kind in synthetic.KINDS) * row["dur_ns"]

    return _rewritten(path, change)


def nothing_known_of_theft(path: Path) -> Path:
    """Write slices whose stolen time is unknown."""

    def change(rows: dict[str, Rows]) -> None:
        _each("slice", stolen_ns=None)(rows)
        _each("activity", stolen_ns=None)(rows)
        _each("thread", exec_ns=None)(rows)

    return _rewritten(path, change)


def threads_without_figures(path: Path) -> Path:
    """Write threads whose sums are unknown."""
    names = ("running_ns", "exec_ns", "runnable_ns", "blocked_ns", "switches", "parallelism_running")
    return _rewritten(path, _each("thread", **dict.fromkeys((*names, "bottle_height_ns", "bottle_width"), None)))


def threads_that_never_ran(path: Path) -> Path:
    """Write threads without a slice."""

    def change(rows: dict[str, Rows]) -> None:
        _each("thread", running_ns=0, exec_ns=0, runnable_ns=0, blocked_ns=WALL, switches=0, bottle_height_ns=0)(rows)
        rows["slice"].clear()
        names = [f"{what}_{kind}" for what in ("active", "running") for kind in synthetic.KINDS]
        idle = {"bin_start_ns": ORIGIN, "dur_ns": WALL, "stolen_ns": 0, **dict.fromkeys(names, 0)}
        rows["activity"][:] = [idle]

    return _rewritten(path, change)


def one_record(path: Path) -> Path:
    """Write a recording of one nanosecond of one thread."""
    thread = FakeThread("app", 0, [("R", 1)], "main")
    return synthetic.write(path, [thread], 1, bin_ns=1)


def one_cpu(path: Path) -> Path:
    """Write a recording of a single CPU."""
    return _rewritten(path, _each("slice", cpu=0), affinity=[0], recorded_cores=1)


def no_cores_known(path: Path) -> Path:
    """Write a recording that does not say on how many cores it was made."""
    return _rewritten(path, lambda _: None, affinity=[], recorded_cores=None)


def only_virtual_threads(path: Path) -> Path:
    """Write waits of virtual threads alone."""
    waits = [Wait(-1, 0, 10, 500, owner=-2, waker=-2, stack=0), Wait(-2, 0, 600, 700, is_pinned=True)]
    carrier = [FakeThread("carrier", 0, [("R", 300), ("B", 400), ("R", 300)], "ForkJoinPool-1-worker-1")]
    return LockRecording(carrier, waits, wall=WALL, stacks=[lock_builder.LOCK_FRAMES], facts=LOCKS).write(path)


def blocks_without_end(path: Path) -> Path:
    """Write waits that go on at the recording's end."""
    waits = [
        Wait(0, 0, 0, WALL, is_open=True),
        Wait(1, 0, 0, WALL, is_open=True, stack=0),
        Wait(1, 1, WALL, WALL, is_open=True),
    ]
    return LockRecording(_threads(), waits, wall=WALL, stacks=[lock_builder.LOCK_FRAMES], facts=LOCKS).write(path)


def blocks_of_no_length(path: Path) -> Path:
    """Write waits that took no time."""

    def change(rows: dict[str, Rows]) -> None:
        _each("block", dur_ns=0)(rows)
        _each("blocker", thread_time_ns=0, real_time_ns=0, hold_ns=0, peak_parked=0)(rows)

    return _rewritten(path, change)


def ids_at_their_ends(path: Path) -> Path:
    """Write ids that are as large, or as small, as their type allows."""

    def change(rows: dict[str, Rows]) -> None:
        _each("thread", tid=MOST, java_id=2**63 - 1)(rows)
        _each("block", java_id=2**63 - 1, owner_java_id=-(2**63), waker_java_id=2**63 - 1)(rows)
        _each("blocker", identity_hash=MOST)(rows)

    return _rewritten(path, change)


def one_tid_in_two_processes(path: Path) -> Path:
    """Write threads of two processes that have one number."""

    def change(rows: dict[str, Rows]) -> None:
        for number, row in enumerate(rows["thread"]):
            row |= {"pid": 100 + number % 2, "tid": 100}

    return _rewritten(path, change)


def samples_of_no_weight(path: Path) -> Path:
    """Write samples that stand for nothing."""
    return _rewritten(path, _each("sample", weight=0))


def samples_without_stack_or_thread(path: Path) -> Path:
    """Write samples whose stacks and threads are unknown."""
    return _rewritten(path, _each("sample", stack_id=None, thread_id=None))


COUNTERS: dict[str, Any] = {
    "counters": {
        "step": "CPI",
        "groups": [{"events": ["cycles", "instructions"]}, {"events": ["page-faults"]}],
        "absent": [{"event": "LLC-loads", "reason": "none"}],
        "cpus": [
            {"cpu": 0, "group": 0, "enabled_ns": WALL, "running_ns": WALL // 2},
            {"cpu": 0, "group": 1, "enabled_ns": WALL, "running_ns": WALL},
        ],
    }
}
_A_COUNT: dict[str, Any] = {"count_0": 0, "count_1": 0, "count_2": 1 << 60, "uncounted_0": 0, "uncounted_1": 0}


def counted(path: Path) -> Path:
    """Write slices that counted nothing, a lot, for no time, and some whose counts are not known."""

    def change(rows: dict[str, Rows]) -> None:
        for number, row in enumerate(rows["slice"]):
            counts = (_A_COUNT, _A_COUNT | {"uncounted_0": row["running_ns"]}, dict.fromkeys(_A_COUNT))
            row |= counts[number % 3]

    return _rewritten(path, change, **COUNTERS)


def counted_without_counts(path: Path) -> Path:
    """Write counters none of whose counts are in the slices."""
    return _rewritten(path, lambda _: None, **COUNTERS)


def counted_without_slices(path: Path) -> Path:
    """Write counters without any slice."""
    return _rewritten(path, lambda rows: rows["slice"].clear(), **COUNTERS)


def pauses_without_length(path: Path) -> Path:
    """Write pauses of the JVM that took no time."""
    return _rewritten(path, _each("jvm_phase", dur_ns=0))


def everything_lost(path: Path) -> Path:
    """Write a recording that lost records all the time."""

    def change(rows: dict[str, Rows]) -> None:
        rows["loss"] = [{"source": "sched", "cpu": 0, "start_ns": ORIGIN, "dur_ns": WALL, "events": 9}]

    return _rewritten(path, change, losses={"events": 9, "spans": 1})


def mode_agent(path: Path) -> Path:
    """Write a recording of mode agent: no thread states."""

    def change(rows: dict[str, Rows]) -> None:
        del rows["slice"], rows["activity"]

    return _rewritten(path, change, mode="agent")


def mode_perf(path: Path) -> Path:
    """Write a recording of mode perf-switch: no wake-ups, no stolen time."""
    return _rewritten(path, _each("slice", runnable_ns=None, stolen_ns=None), mode="perf-switch")


def no_span(path: Path) -> Path:
    """Write a recording of no length."""
    return write_rows(path, {"thread": []}, wall=0)


def one_nanosecond(path: Path) -> Path:
    """Write a recording of one nanosecond."""

    def change(rows: dict[str, Rows]) -> None:
        rows["activity"] = [rows["activity"][0] | {"dur_ns": 1, "stolen_ns": 0}]

    return _rewritten(path, change, wall=1)


def longer_than_its_rows(path: Path) -> Path:
    """Write a recording that goes on long after its last row."""
    return _rewritten(path, lambda _: None, wall=10 * WALL)


def without(table: str) -> Callable[[Path], Path]:
    """Return a writer of the recording that has everything, with one table empty."""

    def build(path: Path) -> Path:
        return _rewritten(path, lambda rows: rows[table].clear())

    return build


def usual(path: Path) -> Path:
    """Write an ordinary recording."""
    return recording_builder.make(path, recording_builder.Shape(threads=9, slices=300))


def causal(path: Path) -> Path:
    """Write an ordinary causal recording."""
    return causal_builder.write(
        path, causal_builder.data_of(causal_builder.CausalModel({"A.a:1": causal_builder.serial(0.3)}, pairs=20))
    )


TABLES_OF_IT = ("thread", "slice", "activity", "jvm_phase", "blocker", "block", "sample", "stack", "frame")
EXTREMES: dict[str, Callable[[Path], Path]] = {
    **{
        build.__name__: build
        for build in (
            *(everything, zero_length_slices, some_zero_length_slices, nothing_executed, nothing_known_of_theft),
            *(threads_without_figures, threads_that_never_ran, one_record, one_cpu, no_cores_known),
            *(only_virtual_threads, blocks_without_end, blocks_of_no_length, ids_at_their_ends),
            *(one_tid_in_two_processes, samples_of_no_weight, samples_without_stack_or_thread, pauses_without_length),
            *(counted, counted_without_counts, counted_without_slices),
            *(everything_lost, mode_agent, mode_perf, no_span, one_nanosecond, longer_than_its_rows, usual, causal),
        )
    },
    **{f"no_{table}": without(table) for table in TABLES_OF_IT},
}
