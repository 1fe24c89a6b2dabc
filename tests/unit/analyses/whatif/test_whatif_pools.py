"""`headway whatif --pool`: a pool whose time arithmetic knows on any number of workers, its names, and what can't be asked."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.common.causes import BLOCKED
from headway.analyses.whatif import pool_changes
from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.types import Change, LockChange, PoolChange, WhatIf
from headway.errors import HeadwayError
from headway.report.terminal.whatif_account import limit_of
from headway.store import open_recording
from support.builders import synthetic
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import ORIGIN, FakeThread

pytestmark = pytest.mark.usefixtures("intervals_of_one_run")

Run = Callable[..., tuple[int, str, str]]
FUTEX, NANOSLEEP = 1, 3
MS = 1_000_000
CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
LATCH = "java.util.concurrent.CountDownLatch$Sync"
PARK = (("jdk.internal.misc.Unsafe", "park"), ("java.util.concurrent.locks.LockSupport", "park"))
RUNS = (("java.util.concurrent.ThreadPoolExecutor", "runWorker"), ("java.lang.Thread", "run"))
GETS_TASK = (
    *PARK,
    (CONDITION, "await"),
    ("java.util.concurrent.LinkedBlockingQueue", "take"),
    ("java.util.concurrent.ThreadPoolExecutor", "getTask"),
    *RUNS,
)
AWAITS = (*PARK, ("java.util.concurrent.CountDownLatch", "await"), ("com.acme.App", "main"))
NAMES = ("main", "pool-1-thread-1", "pool-1-thread-2")


def named(states: Sequence[tuple[str, int]], name: str) -> FakeThread:
    return FakeThread("app", 0, list(states), name)


def pool(stack: Any = GETS_TASK) -> LockRecording:
    """Return the recording of a main thread that submits a task of 100 every 60, and two workers that wait for them.

    Submitted at 10, 70, 130 and 190; done at 110, 170, 230 and 290. The main thread waits for the last one, and computes 10.
    """
    main = [("R", 10), ("B", 50), ("R", 10), ("B", 50), ("R", 10), ("B", 50), ("R", 10), ("B", 100), ("R", 10)]
    states = (main, [("B", 10), ("R", 100), ("B", 20), ("R", 100)], [("B", 70), ("R", 100), ("B", 20), ("R", 100)])
    idle = [(1, 0, 10), (2, 0, 70), (1, 110, 130), (2, 170, 190)]
    waits = [Wait(who, 0, since, to, waker=0, waking=to, stack=0) for who, since, to in idle]
    return LockRecording(
        threads=[named(each, name) for each, name in zip(states, NAMES, strict=True)],
        waits=[*waits, Wait(0, 1, 190, 290, waker=2, waking=290, stack=1)],
        wall=300,
        classes=[CONDITION, LATCH],
        stacks=[stack, AWAITS],
        wakers={0: [(-1, NANOSLEEP)] * 3 + [(2, FUTEX)], 1: [(0, FUTEX)] * 2, 2: [(0, FUTEX)] * 2},
        facts={"recorded_cores": 4, "ended_by": "duration"},
    )


def in_ms(path: Path, its: LockRecording | None = None) -> Path:
    """Write the same with times in ms."""
    its = its or pool()
    tables = {
        "slice": its._slices(),
        "blocker": [its._blocker(0), its._blocker(1)],
        "block": [its._block(each) for each in sorted(its.waits, key=lambda each: each.start)],
    }
    longer = {
        name: [{key: longer_ns(key, value) for key, value in row.items()} for row in rows]
        for name, rows in tables.items()
    }
    threads = [named([("R", its.wall * MS)], name) for name in NAMES]
    return synthetic.write(path, threads, its.wall * MS, activity=[], tables={**longer, **its._stacks()}, **its.facts)


def longer_ns(key: str, value: Any) -> Any:
    if not key.endswith("_ns") or value is None:
        return value
    return ORIGIN + (value - ORIGIN) * MS if value >= ORIGIN else value * MS


def asked(folder: Path, recording: LockRecording, workers: int, name: str = "pool-1", **change: Any) -> WhatIf:
    """Return what whatif says of another number of workers."""
    path = recording.write(folder / "a.headway")
    return whatif(open_recording(path), [4], Change(1, pools=(PoolChange(name, workers),), **change))


def wall_ns(folder: Path, workers: int, name: str = "pool-1", **change: Any) -> int:
    (found,) = asked(folder, pool(), workers, name, **change).predicted
    return found.wall_ns


def refused(folder: Path, recording: LockRecording, name: str = "pool-1", **change: Any) -> HeadwayError:
    with pytest.raises(HeadwayError) as caught:
        asked(folder, recording, 1, name, **change)
    return caught.value


@pytest.mark.parametrize(("workers", "expected"), [(1, 420), (2, 300), (3, 300), (16, 300)])
def test_a_pool_is_done_when_its_workers_have_done_one_task_after_the_other(
    tmp_path: Path, workers: int, expected: int
) -> None:
    """One worker has the tasks done at 110, 210, 310 and 410; two are as many as are ever busy."""
    assert wall_ns(tmp_path, workers) == expected


@pytest.mark.parametrize("name", ["pool-1", "pool-1-thread", "Condition@1000", "1000"])
def test_a_pool_goes_by_what_its_threads_are_called_and_by_what_they_wait_at(tmp_path: Path, name: str) -> None:
    assert wall_ns(tmp_path, 1, name) == 420


def test_a_pool_is_changed_together_with_cores_and_clock(tmp_path: Path) -> None:
    """At twice the clock: asleep until 5, 60, 115 and 170, each task 50; with one worker from 5 on."""
    assert wall_ns(tmp_path, 1, clock=2.0) == 5 + 3 * 55 + 50 + 5


def test_the_unchanged_run_with_its_tasks_shared_out_anew_is_as_long_as_it_was(tmp_path: Path) -> None:
    (replay,) = asked(tmp_path, pool(), 16).replays
    assert (replay.replayed_ns, replay.refused) == (300, None)


def test_names_like_that_of_a_pool_that_is_not_there_are_listed(tmp_path: Path) -> None:
    error = refused(tmp_path, pool(), "pol-1")
    assert error.notice.id == "HW882"
    assert "pool-1-thread" in str(error)


def test_a_pool_that_starts_threads_as_it_likes_is_refused(tmp_path: Path) -> None:
    cached = tuple((name.replace("LinkedBlockingQueue", "SynchronousQueue"), method) for name, method in GETS_TASK)
    assert refused(tmp_path, pool(stack=cached)).notice.id == "HW875"


def test_one_pool_is_not_changed_twice(tmp_path: Path) -> None:
    path = pool().write(tmp_path / "a.headway")
    pools = (PoolChange("pool-1", 1), PoolChange("pool-1-thread", 3))
    with pytest.raises(HeadwayError) as caught:
        whatif(open_recording(path), [4], Change(1, pools=pools))
    assert caught.value.notice.id == "HW876"


def test_a_pool_is_not_changed_together_with_what_knows_threads_alone(tmp_path: Path) -> None:
    assert refused(tmp_path, pool(), locks=(LockChange("1001", is_removed=True),)).notice.id == "HW877"


def test_what_more_workers_bring_is_not_said_where_tasks_are_not_told_apart(tmp_path: Path) -> None:
    """Times in ms: while both workers have tasks others may queue, so each task of 100 ms may be several."""
    path = in_ms(tmp_path / "a.headway")
    found = whatif(open_recording(path), [16], Change(1, pools=(PoolChange("pool-1", 16),)))
    assert found.refused is not None
    assert found.refused.id == "HW878"
    assert found.predicted == ()


def test_one_worker_does_several_small_tasks_in_the_time_of_a_large_one(tmp_path: Path) -> None:
    found = whatif(open_recording(in_ms(tmp_path / "a.headway")), [4], Change(1, pools=(PoolChange("pool-1", 1),)))
    assert found.predicted[0].wall_ns == 420 * MS
    assert found.predicted[0].low_ns == pytest.approx(420 * MS, rel=0.01)


def test_a_stretch_with_four_times_the_waits_of_most_is_likely_four_tasks(tmp_path: Path) -> None:
    """Times in ms. A worker sleeps 100 and computes 10 four times without a wait for a task, the other one three times with one.

    With a worker for each task the last of those is done at 342, and the main thread computes 5; as one the four take until 451.
    """
    main = [("R", 11), ("B", 110), ("R", 1), ("B", 110), ("R", 1), ("B", 218), ("R", 5)]
    first = [("B", 10), ("R", 1), *[("B", 100), ("R", 10)] * 4]
    other = [("B", 10), ("R", 1), ("B", 100), ("R", 9), *[("B", 1), ("R", 1), ("B", 100), ("R", 9)] * 2]
    idle = [(1, 0, 10), (2, 0, 10), (2, 120, 121), (2, 231, 232)]
    waits = [Wait(who, 0, since, to, waker=0, waking=to, stack=0) for who, since, to in idle]
    asleep, woken = (-1, NANOSLEEP), (0, FUTEX)
    recording = replace(
        pool(),
        threads=[named(each, name) for each, name in zip((main, first, other), NAMES, strict=True)],
        waits=[*waits, Wait(0, 1, 233, 451, waker=1, waking=451, stack=1)],
        wall=456,
        wakers={0: [asleep, asleep, (1, FUTEX)], 1: [woken, *[asleep] * 4], 2: [woken, asleep] * 3},
    )
    path = in_ms(tmp_path / "a.headway", recording)
    (found,) = whatif(open_recording(path), [4], Change(1, pools=(PoolChange("pool-1", 16),))).predicted
    assert found.wall_ns == pytest.approx(347 * MS, rel=0.01)
    assert found.high_ns == pytest.approx(456 * MS, rel=0.01)


def test_tasks_that_wait_for_each_other_are_refused(tmp_path: Path) -> None:
    recording = pool()
    threads = [*recording.threads]
    threads[2] = named([("B", 70), ("R", 30), ("B", 40), ("R", 30), ("B", 20), ("R", 100)], NAMES[2])
    waits = {**recording.wakers, 2: [(0, FUTEX), (1, FUTEX), (0, FUTEX)]}
    assert refused(tmp_path, replace(recording, threads=threads, wakers=waits)).notice.id == "HW880"


def test_the_command_line_takes_a_pool_and_prints_and_serialises_it(tmp_path: Path, run: Run) -> None:
    path = pool().write(tmp_path / "a.headway")
    code, out, _ = run("whatif", path, "--pool", "pool-1=1", "--json")
    (change,) = json.loads(out)["changes"]
    assert (code, change["change"]["pools"], change["wall_ns"]) == (0, [{"pool": "pool-1", "workers": 1}], 420)
    code, out, _ = run("whatif", path, "--pool", "pool-1=1")
    assert code == 0
    assert "1 worker in pool-1" in out


@pytest.mark.parametrize("text", ["pool-1", "=4", "pool-1=0", "pool-1=x", "pool-1=1e3", "pool-1=99999999999999"])
def test_what_is_no_pool_and_number_is_a_usage_error(tmp_path: Path, run: Run, text: str) -> None:
    path = pool().write(tmp_path / "a.headway")
    assert run("whatif", path, "--pool", text)[0] == 2


def test_so_many_tasks_that_their_replay_would_not_fit_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In times of ms none of the four tasks is known to be one, so that each is replayed in sixteenths, too."""
    monkeypatch.setattr(pool_changes, "MOST_TASKS", 20)
    with pytest.raises(HeadwayError) as caught:
        whatif(open_recording(in_ms(tmp_path / "a.headway")), [4], Change(1, pools=(PoolChange("pool-1", 1),)))
    assert caught.value.notice.id == "HW881"


def test_a_predicted_run_of_tasks_has_no_account_and_says_so(tmp_path: Path, run: Run) -> None:
    path = pool().write(tmp_path / "a.headway")
    code, out, err = run("whatif", path, "--pool", "pool-1=1", "--explain", "--json")
    assert code == 0
    answer = json.loads(out)
    assert answer["changes"][0]["account"] is None
    (said,) = [each["message"] for each in answer["warnings"] if each["id"] == "HW862"]
    assert "a pool is changed" in said
    assert "virtual threads" not in said
    assert not err


def test_what_nobody_knows_of_a_run_with_another_pool_is_not_put_down_to_its_recording(
    tmp_path: Path, run: Run
) -> None:
    path = pool().write(tmp_path / "a.headway")
    code, out, _ = run("whatif", path, "--pool", "pool-1=1")
    said = " ".join(out.split())
    assert code == 0
    assert "mostly one thread is ready; what threads wait for then is not known without an account (a pool is" in said
    assert "nobody waited for anything but it" not in said


def test_threads_that_wait_in_a_run_without_an_account_wait_for_what_is_unknown(tmp_path: Path) -> None:
    (found,) = whatif(
        open_recording(pool().write(tmp_path / "a.headway")), [4], Change(1, pools=(PoolChange("pool-1", 1),))
    ).predicted
    assert limit_of(replace(found, next_cause=BLOCKED)) == "unknown"
    assert limit_of(replace(found, next_cause=BLOCKED, without_account=None)) == "blocked"
