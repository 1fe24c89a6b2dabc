"""Makes programs of a recorded run (native/replay/run_steps.h) from rows of slices, for tests of replays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from headway import _native
from support.builders import synthetic
from support.builders.synthetic import ORIGIN, FakeThread

APP, GC, VM, OTHER, LEFT_OUT = range(5)
"""ThreadRole of native/replay/run_steps.h."""
BEFORE = -(1 << 60)
"""The birth of threads that ran before the recording."""
FUTEX, TIMED_FUTEX, NANOSLEEP, POLL, FILE, OTHER_CALL, NO_CALL = 1, 2, 3, 4, 5, 8, 9

_US = 1000


class Slice(NamedTuple):
    """A slice of a thread: blocked from `begin`, woken, running from `start` to `end`, in ns from the recording's start."""

    thread: int
    begin: int
    woken: int
    start: int
    end: int
    waker: int = -1
    blocked_in: int = FUTEX
    stolen: int = 0
    irq: bool = False
    is_uninterruptible: bool = False


def column(values: list[int], kind: Any = np.int64) -> Any:
    """Return values as the native parts take them."""
    return np.array(values, kind)


def _hand_over(run: Any, slices: Sequence[Slice]) -> None:
    rows = sorted(slices, key=lambda each: each.end)
    run.batch(
        tick_ns=column([1] * len(rows), np.int16),
        end_ticks=column([each.end for each in rows]),
        running_ticks=column([each.end - each.start for each in rows]),
        runnable_ticks=column([each.start - each.woken for each in rows]),
        blocked_ticks=column([each.woken - each.begin for each in rows]),
        stolen_ticks=column([each.stolen for each in rows]),
        thread_id=column([each.thread for each in rows], np.int32),
        waker_id=column([each.waker for each in rows], np.int32),
        flags=column([(each.woken > each.begin) << each.is_uninterruptible | each.irq << 2 for each in rows], np.uint8),
        blocked_in=column([each.blocked_in for each in rows], np.uint8),
    )


def _tell_waits(run: Any, waits: Sequence[tuple[int, int, int, int]]) -> None:
    names, kinds = ("thread", "start_ns", "end_ns", "blocker"), (np.int32, np.int64, np.int64, np.int32)
    columns = ([each[i] for each in waits] for i in range(4))
    run.tell_waits(**{name: column(its, kind) for name, its, kind in zip(names, columns, kinds, strict=True)})


def steps(
    slices: Sequence[Slice],
    wall: int,
    cores: int = 1,
    roles: Sequence[int] = (),
    parents: Sequence[int] = (),
    births: Sequence[int] = (),
    stops: Sequence[tuple[int, int, int]] = (),
    locks: Sequence[tuple[int, int, int]] = (),
    answered: Sequence[tuple[int, int]] = (),
    ended: Sequence[int] = (),
    jvm_waits: Sequence[tuple[int, int, int, int]] | None = None,
) -> Any:
    """Return the run. `stops`: start, end and the thread that carried it out; `locks`: thread, start and end of waits.

    `answered`: thread and end of waits for I/O that the waker ended by a packet. `ended`: whether each thread did. `jvm_waits`:
    thread, start, end and what for, of all waits that the JVM knows.
    """
    count = max([each.thread for each in slices], default=-1) + 1
    run = _native.RunSteps(
        birth_ns=np.array(births or [BEFORE] * count, np.int64),
        parent=np.array(parents or [-1] * count, np.int32),
        role=np.array(roles or [APP] * count, np.uint8),
        process=np.zeros(count, np.int32),
        from_ns=0,
        to_ns=wall,
        cores=cores,
    )
    _hand_over(run, slices)
    if ended:
        run.tell_ends(np.array(ended, np.uint8))
    if jvm_waits is not None:
        _tell_waits(run, jvm_waits)
    run.resolve(
        start_ns=column([each[0] for each in stops]),
        end_ns=column([each[1] for each in stops]),
        vm_thread=column([each[2] for each in stops], np.int32),
        lock_thread=column([each[0] for each in locks], np.int32),
        lock_start_ns=column([each[1] for each in locks]),
        lock_end_ns=column([each[2] for each in locks]),
        answered_thread=column([each[0] for each in answered], np.int32),
        answered_woken_ns=column([each[1] for each in answered]),
    )
    return run


class LockAcquisition(NamedTuple):
    """An acquisition of a lock: asked for, got and released, in ns from the recording's start; `by`: who released it before."""

    lock: int
    thread: int
    asked: int
    got: int
    released: int
    by: int = -1


def acquired(rows: Sequence[LockAcquisition]) -> Any:
    """Return the acquisitions as a recording has them: waits for locks, and holds."""
    waits = [each for each in rows if each.got > each.asked]

    def column(values: list[int], kind: Any = np.int32) -> Any:
        return np.array(values, kind)

    none = column([0] * len(waits), np.uint8)
    return _native.LockAcquisitions(
        lock=column([each.lock for each in waits]),
        thread=column([each.thread for each in waits]),
        waker=column([each.by for each in waits]),
        owner=column([-1] * len(waits)),
        start_ns=column([each.asked for each in waits], np.int64),
        end_ns=column([each.got for each in waits], np.int64),
        waking_ns=column([each.got for each in waits], np.int64),
        is_repark=none,
        is_monitor_wait=none,
        hold_lock=column([each.lock for each in rows]),
        hold_thread=column([each.thread for each in rows]),
        hold_start_ns=column([each.got for each in rows], np.int64),
        hold_end_ns=column([each.released for each in rows], np.int64),
    )


def plan(run: Any, acquisitions: Any, locks: int, is_fair: bool = True, **changes: Mapping[int, float]) -> Any:
    """Return the plan of a run's locks; `gone`, `part`, `parts`: by lock."""
    each = {name: np.full(locks, value) for name, value in (("gone", 0.0), ("part", 1.0), ("parts", 1.0))}
    for name, values in changes.items():
        for lock, value in values.items():
            each[name][lock] = value
    return _native.LockPlan(
        steps=run,
        acquired=acquisitions,
        is_removed=each["gone"].astype(np.uint8),
        held_part=each["part"],
        parts=each["parts"].astype(np.int32),
        is_fair=np.full(locks, is_fair, np.uint8),
        seed=1,
    )


def replayed(
    runs: Sequence[Any],
    cores: float,
    last: Sequence[int] = (),
    plans: Sequence[Any] = (),
    changed: Sequence[Any] = (),
    **changes: Any,
) -> list[float]:
    """Return when each run ends on so many cores, in ns; negative where it is stuck."""
    usual = {"has_stolen": False, "work_factor": 1.0, "io_factor": 1.0, "waking_factor": 1.0}
    rest = {"has_collections": True, "has_lock_waits": True, "per_core": 1.0, "throughput": 1.0}
    options = {**usual, **rest, "changed": list(changed or [None] * len(runs)), **changes}
    planned, ended_by = list(plans or [None] * len(runs)), list(last or [-1] * len(runs))
    found = _native.replay_on_cores(runs=list(runs), last=ended_by, plans=planned, cores=float(cores), **options)
    return [ns for ns, *_ in found]


def write(
    path: Path,
    slices: Sequence[Slice],
    wall: int,
    cores: int,
    vm_threads: Mapping[int, str] | None = None,
    tables: Mapping[str, Sequence[Mapping[str, Any]]] | None = None,
    samplers: Sequence[int] = (),
    **facts: Any,
) -> Path:
    """Write a recording of slices in microseconds; one thread each, of one process.

    `vm_threads`: names of those of kind vm; `samplers`: threads of headway.
    """
    vm = vm_threads or {}
    count = max(each.thread for each in slices) + 1
    rows = [
        {
            "thread_id": each.thread,
            "start_ns": ORIGIN + each.start * _US,
            "blocked_ns": (each.woken - each.begin) * _US,
            "runnable_ns": (each.start - each.woken) * _US,
            "running_ns": (each.end - each.start) * _US,
            "stolen_ns": each.stolen * _US,
            "cpu": each.thread,
            "blocked_state": int(each.woken > each.begin),
            "blocked_in": each.blocked_in,
            "waker_id": each.waker,
            "waker_irq": each.irq,
            "is_open": each.start == each.end,
        }
        for each in sorted(slices, key=lambda each: each.end)
    ]
    kinds = ["headway" if i in samplers else "vm" if i in vm else "app" for i in range(count)]
    threads = [FakeThread(kinds[i], 0, [("R", 1)], vm.get(i, f"t{i}")) for i in range(count)]
    return synthetic.write(
        path,
        threads,
        wall * _US,
        activity=[],
        tables={"slice": rows, **(tables or {})},
        **{"recorded_cores": cores, **facts},
    )
