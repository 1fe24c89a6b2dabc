"""Where the critical path goes when a process ends: on in the thread that ended it, on recordings made by hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from headway.analyses.critical_path.analysis import critical_path
from headway.analyses.critical_path.types import CriticalPath
from headway.store import open_recording
from support.builders import synthetic
from support.builders.synthetic import FakeThread, slices_of

WALL = 100


def path_of(
    folder: Path, threads: Sequence[FakeThread], pids: Sequence[int], wakers: Mapping[tuple[int, int], int]
) -> CriticalPath:
    """Return the path; `pids` of the threads, the first of each being its process's first, `wakers` of the n-th block of each."""
    rows = [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(threads)]
    for i, (row, pid) in enumerate(zip(rows, pids, strict=True)):
        is_first = pids.index(pid) == i
        row |= {"pid": pid, "tid": pid if is_first else 1000 + i, "parent_tid": pid if not is_first else pids[0]}
        row["end_ns"] = synthetic.ORIGIN + threads[i].end if pid != 100 or len(set(pids)) == 1 else None
    slices = []
    for i, thread in enumerate(threads):
        blocks = 0
        for row in slices_of(i, thread):
            if row["blocked_ns"]:
                row["waker_id"] = wakers.get((i, blocks), -1)
                blocks += 1
            slices.append(row)
    slices.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    tables = {"slice": slices, "thread": rows}
    return critical_path(
        open_recording(synthetic.write(folder / "a", threads, WALL, tables=tables, pid=100, ended_by="exit"))
    )


def ns_of(path: CriticalPath) -> dict[str, int]:
    return {row.name: row.ns for row in path.by_thread}


def test_the_path_ends_with_the_thread_that_called_exit_and_not_with_the_first_one_that_only_waits(
    tmp_path: Path,
) -> None:
    threads = [
        FakeThread("app", 0, [("B", 95), ("R", 1)], "java"),
        FakeThread("app", 0, [("R", 90), ("B", 5), ("R", 1)], "worker that calls exit"),
        FakeThread("vm", 0, [("R", 1), ("B", 89), ("R", 6)], "VM Thread"),
        FakeThread("app", 0, [("R", 2), ("B", 93), ("R", 1)], "daemon"),
    ]
    found = path_of(tmp_path, threads, [100] * 4, {(0, 0): 2, (1, 0): 2, (2, 0): 1, (3, 0): 2})
    assert found.thread.name == "VM Thread"
    assert ns_of(found) == {"worker that calls exit": 90, "VM Thread": 6 + 4}  # from when it was asked to the end


def test_a_child_process_is_entered_by_who_ended_it_and_not_by_the_daemon_that_died_last(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 5), ("B", 90), ("R", 5)], "launcher"),
        FakeThread("app", 5, [("B", 88), ("R", 1)], "java"),
        FakeThread("app", 6, [("R", 80), ("B", 7), ("R", 1)], "main"),
        FakeThread("vm", 6, [("R", 1), ("B", 79), ("R", 8)], "VM Thread"),
        FakeThread("app", 6, [("R", 1), ("B", 86), ("R", 2)], "daemon"),
    ]
    wakers = {(0, 0): 4, (1, 0): 3, (2, 0): 3, (3, 0): 2, (4, 0): 3}
    found = ns_of(path_of(tmp_path, threads, [100, 101, 101, 101, 101], wakers))
    assert found["main"] == 80
    assert found["VM Thread"] == 8 + 1  # from when it was asked to the end, and until its process is gone
    assert found["launcher"] >= 10
    assert "daemon" not in found


def test_of_a_child_that_is_no_jvm_it_is_the_first_thread(tmp_path: Path) -> None:
    threads = [
        FakeThread("app", 0, [("R", 5), ("B", 90), ("R", 5)], "launcher"),
        FakeThread("app", 5, [("R", 85)], "python"),
        FakeThread("app", 6, [("R", 1), ("B", 83), ("R", 5)], "helper"),
    ]
    found = ns_of(path_of(tmp_path, threads, [100, 101, 101], {(0, 0): 2, (2, 0): 1}))
    assert found["python"] == 90
    assert "helper" not in found


def test_before_it_was_told_to_exit_the_vm_thread_is_not_waited_for_though_it_woke_for_other_things(
    tmp_path: Path,
) -> None:
    threads = [
        FakeThread("app", 0, [("B", 95), ("R", 1)], "java"),
        FakeThread("app", 0, [("R", 40), ("B", 10), ("R", 40), ("B", 5), ("R", 1)], "worker that calls exit"),
        FakeThread("vm", 0, [("R", 1), ("B", 69), ("R", 1), ("B", 19), ("R", 6)], "VM Thread"),
        FakeThread("app", 0, [("R", 50), ("B", 45), ("R", 1)], "other"),
    ]
    wakers = {(0, 0): 2, (1, 0): 3, (1, 1): 2, (2, 0): -1, (2, 1): 1, (3, 0): 2}
    found = path_of(tmp_path, threads, [100] * 4, wakers)
    assert found.thread.name == "VM Thread"
    assert ns_of(found) == {"worker that calls exit": 80, "other": 10, "VM Thread": 6 + 4}
