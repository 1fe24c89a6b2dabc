"""How many threads of a pool are at work at once: a limit where tasks that were queued do not begin, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.evidence.at_once import AtOnce, at_once
from headway.analyses.lost_cores.places import Places
from headway.analyses.waits import pieces
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

QUEUE = "java.util.concurrent.SynchronousQueue$TransferStack"
POOL = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.SynchronousQueue", "take"),
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
    ("java.util.concurrent.ThreadPoolExecutor", "runWorker"),
    ("java.lang.Thread", "run"),
)
MAIN, WALL, TASK, READ = 0, 1000, 100, 5


def recorded(path: Path, tasks: list[list[tuple[int, int]]], wakers: list[int | None]) -> LockRecording:
    """Write workers 1, 2 ... with tasks (from, to) in which they read, and wait for the next one, which `wakers` begin."""
    threads = [FakeThread("app", 0, [("R", 1), ("B", WALL - 2), ("R", 1)], "main")]
    waits, calls = [], {}
    for number, mine in enumerate(tasks, 1):
        states: list[tuple[str, int]] = []
        at = 0
        for begin, end in mine:
            if begin > at:
                waits.append(Wait(number, 0, at, begin, waker=wakers[number - 1], waking=begin, stack=0))
                states.append(("B", begin - at))
            states += [("R", 1), ("B", end - begin - 2), ("R", 1)]
            at = end
        if at < WALL:
            waits.append(Wait(number, 0, at, WALL, stack=0, is_open=True))
            states.append(("B", WALL - at))
        threads.append(FakeThread("app", 0, states, f"Dispatcher-{number}"))
        calls[number] = [(-2, READ)] * len(states)
    return LockRecording(threads, waits, wall=WALL, classes=[QUEUE], stacks=[POOL], wakers=calls)


def found(path: Path, tasks: list[list[tuple[int, int]]], wakers: list[int | None]) -> tuple[AtOnce | None, str]:
    """Return what is found, and all evidence of `why`."""
    recording = open_recording(recorded(path, tasks, wakers).write(path / "a.headway"))
    places = Places(recording, pieces.load(recording, (0, WALL)))
    said = " ".join(text for loss in why(recording, cores=8).account.lost for text in loss.evidence)
    return at_once(places, range(1, len(tasks) + 1), (0, WALL)), said


def in_turns(workers: int, together: int) -> list[list[tuple[int, int]]]:
    """Return tasks of workers of whom so many are at work at once, all of the time."""
    tasks: list[list[tuple[int, int]]] = [[] for _ in range(workers)]
    for begin in range(0, WALL, TASK):
        for number in range(together):
            tasks[(begin // TASK * together + number) % workers].append((begin, begin + TASK))
    return tasks


def test_tasks_that_threads_of_the_pool_begin_as_they_end_others_were_kept_waiting_by_a_limit(tmp_path: Path) -> None:
    seen, said = found(tmp_path, in_turns(4, 2), [3, 4, 1, 2])
    assert seen is not None
    assert (seen.threads, seen.level, seen.share) == (4, 2, 1.0)
    assert seen.by_own > 0.8
    assert "2 were at work at once for 100% of the time that any was" in said
    assert "a limit on how many run at once" in said


def test_what_a_thread_still_does_after_it_began_the_next_task_is_no_part_of_its_own(tmp_path: Path) -> None:
    """On a busy machine it waits for a core, before it waits for work again."""
    tasks = [[(begin, end + 40) for begin, end in mine] for mine in in_turns(4, 2)]
    tasks = [[(begin, min(end, WALL)) for begin, end in mine] for mine in tasks]
    seen, _ = found(tmp_path, tasks, [3, 4, 1, 2])
    assert seen is not None
    assert (seen.level, round(seen.share, 2)) == (2, 1.0)


def test_a_thread_that_takes_its_next_task_without_a_wait_is_at_work_with_that_too(tmp_path: Path) -> None:
    """Each does two of 100: the first begins one of the second as its own first ends, and one of the third at its last end."""
    tasks = [[(begin + late, begin + late + 2 * TASK) for begin in (0, 300, 600)] for late in (0, 100, 200)]
    seen, said = found(tmp_path, tasks, [2, 1, 1])
    assert seen is not None
    assert (seen.level, seen.share, seen.by_own) == (2, 0.8, 1.0)
    assert "2 were at work at once for 80% of the time" in said


@pytest.mark.parametrize("waker", [MAIN, None])
def test_tasks_that_others_begin_tell_of_no_limit(tmp_path: Path, waker: int | None) -> None:
    seen, said = found(tmp_path, in_turns(4, 2), [waker] * 4)
    assert seen is not None
    assert (seen.level, seen.by_own) == (2, 0.0)
    assert "at once" not in said


def test_tasks_that_are_divided_at_their_begin_tell_of_no_limit(tmp_path: Path) -> None:
    """As by fork and join: who begins the other half goes on with its own."""
    begins = range(0, WALL, TASK)
    tasks = [[(begin + late, begin + late + 85) for begin in begins] for late in (0, 2)]
    seen, said = found(tmp_path, tasks, [MAIN, 1])
    assert seen is not None
    assert (seen.level, seen.by_own) == (2, 0.0)
    assert seen.share > 0.9
    assert "at once" not in said


def test_virtual_threads_are_no_part_of_a_pool(tmp_path: Path) -> None:
    recording = open_recording(recorded(tmp_path, in_turns(4, 2), [3, 4, 1, 2]).write(tmp_path / "a.headway"))
    places = Places(recording, pieces.load(recording, (0, WALL)))
    seen = at_once(places, [*range(1, 5), 99], (0, WALL))
    assert seen is not None
    assert (seen.threads, seen.level) == (4, 2)
    assert at_once(places, [99], (0, WALL)) is None


def test_of_threads_that_did_not_live_in_the_window_nothing_is_said(tmp_path: Path) -> None:
    recording = open_recording(recorded(tmp_path, in_turns(4, 2), [3, 4, 1, 2]).write(tmp_path / "a.headway"))
    places = Places(recording, pieces.load(recording, (0, WALL)))
    places.__dict__["_lives"] = dict.fromkeys(range(5), (2 * WALL, 3 * WALL))
    assert at_once(places, range(1, 5), (0, WALL)) is None


def test_of_a_pool_without_a_thread_to_spare_its_size_may_be_the_limit(tmp_path: Path) -> None:
    """They wait for work before the first task and after the last one."""
    seen, said = found(tmp_path, [[(100, 900)], [(100, 900)]], [MAIN, MAIN])
    assert seen is not None
    assert (seen.threads, seen.level, seen.share, seen.waits) == (2, 2, 1.0, 0.0)
    assert "if more were queued, their number was the limit" in said


TASK_OF_POOL = (
    ("org.example.Fetch", "run"),
    ("java.util.concurrent.ThreadPoolExecutor", "runWorker"),
    ("java.lang.Thread", "run"),
)
THREAD_OF_ITS_OWN = (("org.example.Fetch", "run"), ("java.lang.Thread", "run"))


@pytest.mark.parametrize(("stack", "is_pool"), [(TASK_OF_POOL, True), (THREAD_OF_ITS_OWN, False)])
def test_threads_that_never_wait_for_a_task_are_a_pool_where_a_stack_says_so(
    tmp_path: Path, stack: tuple[tuple[str, str], ...], is_pool: bool
) -> None:
    """All tasks were there before the recording began, and its end comes before theirs."""
    busy = recorded(tmp_path, [[(0, WALL)], [(0, WALL)]], [None, None])
    busy.stacks, busy.standing = [stack], [(1, "sleep", 0)]
    recording = open_recording(busy.write(tmp_path / "a.headway"))
    said = " ".join(text for loss in why(recording, cores=8).account.lost for text in loss.evidence)
    seen = at_once(Places(recording, pieces.load(recording, (0, WALL))), [1, 2], (0, WALL))
    assert (seen is not None) == is_pool
    assert (
        "All 2 threads 'Dispatcher-*' were at work for 100% of the time that any was, and never waited" in said
    ) == is_pool


def test_a_pool_whose_threads_are_at_work_now_and_then_has_no_limit(tmp_path: Path) -> None:
    seen, said = found(tmp_path, [[(100, 300), (700, 900)], [(200, 400)], [(600, 650)]], [2, 3, 1])
    assert seen is not None
    assert seen.share < 0.8
    assert "at once" not in said
