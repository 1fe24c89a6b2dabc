"""From when on a process was ending, by the last wakings of its threads, and what of it reaches the account."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headway.analyses.common.causes import CAUSES, SLEEP
from headway.analyses.critical_path.analysis import critical_path
from headway.analyses.lost_cores.account.attribution import sweep
from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
from headway.analyses.waits import pieces
from headway.analyses.waits.threads.process_exit import NEVER, Exit, exit_ns, exits
from headway.store import Recording, open_recording
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema, write_recording

ORIGIN = 7_000_000_000
MS = 1_000_000
US = 1_000
MAIN, VM, SERVER, HELPER = range(4)
END = 100 * MS
TIMED_FUTEX, FUTEX = 2, 1


def slice_of(thread: int, end: int, running: int, blocked: int, waker: int, **more: Any) -> dict[str, Any]:
    """Return a slice, its end from the recording's start, whose thread was on a core as soon as it was woken."""
    return {
        "thread_id": thread,
        "start_ns": ORIGIN + end - running,
        "blocked_ns": blocked,
        "runnable_ns": 0,
        "running_ns": running,
        "stolen_ns": 0,
        "cpu": 0,
        "blocked_state": 1 if blocked else 0,
        "blocked_in": FUTEX,
        "waker_id": waker,
        "waker_irq": False,
        "is_open": False,
        **more,
    }


def killed(by: int, **more: Any) -> list[dict[str, Any]]:
    """Return last slices: from 90 us before the end on main, the server and a helper are woken, one every 2 us."""
    return [
        slice_of(thread, END - (2 - number) * US, (88 - number) * US, 60 * MS, by, **more)
        for number, thread in enumerate((MAIN, SERVER, HELPER))
    ]


def recording(
    path: Path,
    rows: list[dict[str, Any]],
    *,
    vm: str = "vm",
    open_thread: bool = False,
    gone_ns: int = END,
    others: int = 0,
) -> Recording:
    """Write 100 ms of a process on two CPUs that ends with the recording, and threads of one that does not."""
    threads = [
        {
            "thread_id": number,
            "pid": 1,
            "tid": 1 + number,
            "start_ns": ORIGIN,
            "end_ns": ORIGIN + gone_ns,
            "name": f"t{number}",
        }
        | {"comm": "t", "kind": vm if number in (VM, HELPER) else "app", "from_snapshot": False, "running_ns": 50 * MS}
        for number in range(4)
    ]
    threads += [
        threads[SERVER] | {"thread_id": 4 + number, "pid": 2, "tid": 10 + number, "end_ns": None}
        for number in range(others)
    ]
    if open_thread:
        threads[SERVER]["end_ns"] = None
    counts = {name.name: 0 for name in TABLES["activity"].columns} | {"bin_start_ns": ORIGIN, "dur_ns": END}
    tables = {
        name: pa.Table.from_pylist(each, schema=arrow_schema(TABLES[name]))
        for name, each in {"thread": threads, "activity": [counts]}.items()
    }
    tables["slice"] = pa.Table.from_pylist(sorted(rows, key=lambda row: row["start_ns"] + row["running_ns"]))
    manifest = {
        "mode": "ebpf",
        "window": {"start_ns": ORIGIN, "end_ns": ORIGIN + END},
        "recorded_cores": 2,
        "affinity": [0, 1],
        "ended_by": "exit",
    }
    return open_recording(write_recording(path / "made.headway", manifest, tables))


def first_woken(rows: list[dict[str, Any]]) -> int:
    """Return when the first of some slices' threads was woken."""
    return min(int(row["start_ns"]) for row in rows)


BEFORE = [
    slice_of(MAIN, 40 * MS - 80 * US, 10 * MS, 5 * MS, VM),
    slice_of(VM, END - 50 * US, 2 * MS, 50 * MS, -2),
]


@pytest.mark.parametrize("by", [VM, MAIN, -2])
def test_the_last_wakings_by_one_thread_end_the_process(tmp_path: Path, by: int) -> None:
    rows = killed(by)
    found = recording(tmp_path, [*BEFORE, *rows])
    assert exits(found) == (Exit(1, by, first_woken(rows)),)
    assert exit_ns(found).tolist() == [first_woken(rows)] * 4


@pytest.mark.parametrize("waker", [HELPER, -1])
def test_one_that_another_thread_or_a_timer_woke_meanwhile_does_not_hide_it(tmp_path: Path, waker: int) -> None:
    rows = killed(VM)
    for at_ns in (1 * US, 3 * US):  # between the last two, and after all
        beside = slice_of(MAIN, END - at_ns, 84 * US, 1 * US, waker)
        folder = tmp_path / f"{at_ns}"
        folder.mkdir()
        assert exits(recording(folder, [*BEFORE, *rows, beside])) == (Exit(1, VM, first_woken(rows)),)


def test_slices_of_threads_that_are_not_there_are_nobodys(tmp_path: Path) -> None:
    rows = killed(VM)
    strangers = [slice_of(thread, END - 1 * US, 80 * US, 1 * US, HELPER) for thread in (99, -2)]
    assert exits(recording(tmp_path, [*BEFORE, *rows, *strangers])) == (Exit(1, VM, first_woken(rows)),)


def test_a_process_that_takes_seconds_to_give_its_memory_back_ended_before(tmp_path: Path) -> None:
    rows = killed(VM)
    found = recording(tmp_path, [*BEFORE, *rows], gone_ns=END + 30_000 * MS)
    assert exits(found) == (Exit(1, VM, first_woken(rows)),)


def test_what_who_ended_a_process_wakes_in_another_one_is_a_wait_for_it(tmp_path: Path) -> None:
    # Thread 4 and its own JVM go on: it ended the other one, and then wakes thread 5.
    later = slice_of(5, END, 1 * MS, 30 * MS, 4, blocked_in=TIMED_FUTEX)
    dead = [dict(row, start_ns=row["start_ns"] - 50 * MS) for row in killed(4, blocked_in=TIMED_FUTEX)]
    found = recording(tmp_path, [*dead, slice_of(4, END, 90 * MS, 1 * MS, -1), later], others=2)
    assert exits(found) == (Exit(1, 4, first_woken(dead)),)
    assert exit_ns(found).tolist()[4:] == [NEVER, NEVER]
    assert KernelTimes(found, (0, END)).in_calls(SLEEP, [5], (0, END)) == 0
    assert KernelTimes(found, (0, END)).in_calls(SLEEP, [SERVER], (0, END)) > 0


def test_what_the_same_thread_woke_before_is_no_part_of_it(tmp_path: Path) -> None:
    rows = killed(VM)
    earlier = slice_of(SERVER, 98 * MS, 1 * MS, 30 * MS, VM)
    assert exits(recording(tmp_path, [*BEFORE, earlier, *rows])) == (Exit(1, VM, first_woken(rows)),)


@pytest.mark.parametrize("waker", [{"waker_id": -1}, {"waker_irq": True}])
def test_without_a_known_waker_it_is_not_known_whether_the_last_were_woken_to_die(
    tmp_path: Path, waker: dict[str, Any]
) -> None:
    assert exits(recording(tmp_path, [*BEFORE, *killed(VM, **waker)])) == ()


def test_a_process_that_goes_on_or_has_no_jvm_has_no_known_end(tmp_path: Path) -> None:
    rows = [*BEFORE, *killed(VM)]
    for name, options in (("goes on", {"open_thread": True}), ("no JVM", {"vm": "app"})):
        (tmp_path / name).mkdir()
        found = recording(tmp_path / name, rows, **options)
        assert exits(found) == ()
        assert exit_ns(found).tolist() == [NEVER] * 4


def test_uninterruptible_waits_of_threads_that_die_are_no_part_of_it(tmp_path: Path) -> None:
    rows = killed(VM)
    dying = slice_of(MAIN, END, 1 * US, 1 * US, HELPER, blocked_state=2)
    assert exits(recording(tmp_path, [*BEFORE, *rows, dying])) == (Exit(1, VM, first_woken(rows)),)


@pytest.mark.parametrize(("blocked_in", "cause"), [(FUTEX, "blocked"), (TIMED_FUTEX, "sleep")])
def test_what_a_killed_thread_was_in_is_what_cores_are_lost_to(tmp_path: Path, blocked_in: int, cause: str) -> None:
    found = recording(tmp_path, [*BEFORE, *killed(VM, blocked_in=blocked_in)])
    by_cause = sweep(found, pieces.load(found), window=(41 * MS, 97 * MS)).segments[0].by_cause
    assert {name: int(ns) for name, ns in zip(CAUSES, by_cause, strict=True) if ns} == {cause: 2 * 56 * MS}
    slept = KernelTimes(found, (0, END)).in_calls(SLEEP, [MAIN], (41 * MS, 97 * MS))
    assert slept == (56 * MS if cause == SLEEP else 0)


@pytest.mark.parametrize(("blocked_in", "state"), [(FUTEX, "unknown"), (TIMED_FUTEX, "sleep")])
def test_the_critical_path_does_not_go_on_to_who_ended_the_process(tmp_path: Path, blocked_in: int, state: str) -> None:
    found = recording(tmp_path, [*BEFORE, *killed(VM, blocked_in=blocked_in)])
    (last,) = critical_path(found, window=(41 * MS, END), thread=re.compile("^t0$")).by_thread
    waited = {state: END - 41 * MS - 90 * US}  # and 2 us that no slice tells of
    own = {name: waited.get(name, 0) + ns for name, ns in (("running", 88 * US), ("unknown", 2 * US), ("sleep", 0))}
    assert (last.name, last.by_state) == ("t0", {name: ns for name, ns in own.items() if ns})
    # What the same thread woke before is followed.
    rows = critical_path(found, window=(25 * MS, END), thread=re.compile("^t0$")).by_thread
    assert "t1" in {row.name for row in rows}


def test_threads_that_nobody_woke_tell_of_no_end(tmp_path: Path) -> None:
    assert exits(recording(tmp_path, [slice_of(MAIN, END, END, 0, -1)])) == ()


def test_the_slices_are_read_once_for_all_who_ask_how_the_processes_of_a_recording_ended(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = recording(tmp_path, [*BEFORE, *killed(VM, blocked_in=TIMED_FUTEX)])
    walks, walk = [], Recording.stored_backwards

    def counted(self: Recording, table: str) -> Iterator[pa.RecordBatch]:
        walks.append(table)
        return walk(self, table)

    monkeypatch.setattr(Recording, "stored_backwards", counted)
    sweep(found, pieces.load(found), window=(41 * MS, 97 * MS))
    assert walks == ["slice"] * 2  # and once to account for the cores
    assert KernelTimes(found, (0, END)).in_calls(SLEEP, [MAIN], (41 * MS, 97 * MS)) > 0
    assert exits(found)
    assert walks == ["slice"] * 2
