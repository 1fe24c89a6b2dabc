"""How long a loss was there, on recordings made by hand: what the bounds of the speedup stand on."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.gains.kernel_times import KernelTimes
from headway.analyses.lost_cores.types import Account, Loss
from headway.store import Recording, open_recording
from support.builders import synthetic
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

CONDITION = "java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject"
TAKE = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "park"),
    ("java.util.concurrent.ArrayBlockingQueue", "take"),
    ("org.example.Shop", "consume"),
)


def the(cause: str, account: Account) -> Loss:
    """Return the only loss to a cause."""
    (loss,) = (each for each in account.lost if each.cause == cause)
    return loss


@pytest.mark.parametrize("stolen", [0, 30])
def test_only_what_the_slow_stage_ran_within_the_window_vanishes_with_it(stolen: int, tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [
            FakeThread("app", 0, [("R", 300)], "producer", stolen=[stolen]),
            FakeThread("app", 0, [("R", 60), ("B", 239), ("R", 1)], "consumer"),
            FakeThread("app", 200, [("R", 60)], "other"),
        ],
        [Wait(1, 0, 60, 299, waker=0, waking=298, stack=0)],
        wall=300,
        classes=[CONDITION],
        stacks=[TAKE],
    )
    loss = the("starved_consumer", why(open_recording(lock_recording.write(tmp_path / "r")), window=(200, 300)).account)
    # The consumer waits for 99 of 100 ns. What others than the producer did, 60 ns and 1 ns, is left for two cores.
    assert loss.core_ns == 39
    assert loss.bound_speedup == pytest.approx(100 / ((60 + 1) / 2))


BY_TIMER = 1000


def with_calls(
    path: Path, lock_recording: Sequence[FakeThread], wall: int, calls: Sequence[tuple[int, int]]
) -> Recording:
    """Write threads whose every block was in a call and ended by a waker: (blocked_in, waker_id) by thread.

    BY_TIMER + waker_id: by an interrupt that came while that thread had the CPU.
    """
    rows = [
        row
        | (
            {"blocked_in": calls[i][0], "waker_id": calls[i][1] % BY_TIMER, "waker_irq": calls[i][1] >= BY_TIMER}
            if row["blocked_ns"] and calls[i][1] >= 0
            else {"blocked_in": calls[i][0] if row["blocked_ns"] else 0, "waker_id": -1}
        )
        for i, thread in enumerate(lock_recording)
        for row in synthetic.slices_of(i, thread)
    ]
    rows.sort(key=lambda row: row["start_ns"] + row["running_ns"])
    return open_recording(synthetic.write(path, lock_recording, wall, tables={"slice": rows}))


def test_the_sleeps_of_two_hundred_threads_of_one_name_are_there_one_after_another(tmp_path: Path) -> None:
    workers = [FakeThread("app", 10 * i, [("B", 9), ("R", 1)]) for i in range(200)]
    found = why(with_calls(tmp_path / "r", workers, 2000, [(3, -1)] * 200))
    loss = the("sleep", found.account)
    assert loss.core_ns == 2 * 1800
    assert loss.bound_speedup == pytest.approx(2000 / 200)
    for phase in found.phases:
        assert the("sleep", phase.account).bound_speedup == pytest.approx(10, rel=0.1)


def test_how_long_threads_slept_and_did_io_is_the_union_within_the_window(tmp_path: Path) -> None:
    lock_recording = [
        FakeThread("app", 0, [("R", 5), ("B", 30), ("R", 5)]),
        FakeThread("app", 0, [("R", 20), ("B", 30), ("R", 5)]),
        FakeThread("app", 0, [("R", 70), ("B", 10), ("R", 5)]),
        FakeThread("headway", 0, [("R", 1)]),
        FakeThread("app", 0, [("B", 99), ("R", 1)]),
    ]
    # A nanosleep, a timed futex that the sampler's signal interrupted, a socket, and a futex that somebody woke.
    times = KernelTimes(
        with_calls(tmp_path / "r", lock_recording, 100, [(3, -1), (2, 3), (6, -1), (0, -1), (2, 0)]), (0, 100)
    )
    assert times.in_calls("io", [3], (0, 100)) == 0
    assert times.in_calls("sleep", [0], (0, 100)) == 30
    assert times.in_calls("sleep", [0, 1, 4], (0, 100)) == 45
    assert times.in_calls("sleep", [0, 1], (30, 40)) == 10
    assert (times.in_calls("io", [2, 0], (0, 75)), times.in_calls("sleep", [2], (0, 100))) == (5, 0)


def test_a_sleep_that_a_timer_ended_while_another_thread_had_the_cpu_is_one(tmp_path: Path) -> None:
    lock_recording = [
        FakeThread("app", 0, [("R", 5), ("B", 30), ("R", 5)]),
        FakeThread("app", 0, [("R", 100)]),
        FakeThread("app", 0, [("R", 5), ("B", 60), ("R", 5)]),
    ]
    calls = [(2, BY_TIMER + 1), (0, -1), (2, 1)]
    times = KernelTimes(with_calls(tmp_path / "r", lock_recording, 100, calls), (0, 100))
    assert times.in_calls("sleep", [0, 2], (0, 100)) == 30, "somebody woke the other one"


@pytest.mark.parametrize(
    ("kind", "cause"), [("app", "waiting_for_threads"), ("jit", "jit"), ("gc", "gc_pause"), ("vm", "safepoint")]
)
def test_waits_for_threads_that_only_the_kernel_tells_of_have_no_bound(kind: str, cause: str, tmp_path: Path) -> None:
    lock_recording = [
        FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)], "one"),
        FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)], "two"),
        FakeThread(kind, 0, [("R", 90)], "waker"),
    ]
    # From 20 to 80 ns two wait and one core is idle: each loses half a core, but would be done 60 ns sooner.
    loss = the(
        cause, why(with_calls(tmp_path / "r", lock_recording, 100, [(1, 2), (1, 2), (0, -1)]), window=(20, 80)).account
    )
    assert (loss.core_ns, loss.bound_speedup) == (60, None)


def test_what_a_thread_was_blocked_on_that_nothing_tells_has_no_bound(tmp_path: Path) -> None:
    lock_recording = [
        FakeThread("app", 0, [("R", 20), ("B", 60), ("R", 20)]),
        FakeThread("app", 0, [("R", 100)], "busy"),
    ]
    found = why(with_calls(tmp_path / "r", lock_recording, 100, [(8, -1), (0, -1)]))
    assert the("blocked", found.account).bound_speedup is None


def test_what_comes_first_is_explained_however_little_core_time_it_cost(tmp_path: Path) -> None:
    lock_recording = LockRecording(
        [
            FakeThread("app", 0, [("R", 10_000)], "holder"),
            FakeThread("app", 0, [("R", 5000), ("B", 20), ("R", 4980)], "waiter"),
        ],
        [Wait(1, 0, 5000, 5020, waker=0, waking=5019, stack=0)],
        [LockHold(0, 0, 4990, 5019)],
        wall=10_000,
        stacks=[(*LOCK_FRAMES, ("org.example.Shop", "buy"))],
    )
    first = why(open_recording(lock_recording.write(tmp_path / "r"))).account.lost[0]
    assert first.cause == "lock_contention"
    assert first.share == pytest.approx(20 / 20_000)
    assert first.evidence
    assert first.figures is not None
    assert first.figures["wait_ns"] == 20


def test_a_long_sleep_has_a_row_of_its_own_however_little_core_time_was_lost_to_it(tmp_path: Path) -> None:
    """While one thread sleeps for 80 of 100 us the other one has the only core, but for 40 ns in which it sleeps as well."""
    threads = [
        FakeThread("app", 0, [("R", 10_000), ("B", 80_000), ("R", 9900)], "sleeper"),
        FakeThread("app", 10_000, [("R", 30_000), ("B", 40), ("R", 49_960), ("B", 9990), ("R", 10)], "busy"),
    ]
    of = with_calls(tmp_path / "r", threads, 100_000, [(3, -1), (3, -1)])
    slept = [each for each in why(of, cores=1).account.lost if each.cause == "sleep"]
    assert [(each.place.thread, each.core_ns) for each in slept] == [("busy", 110), ("sleeper", 20)]
    assert slept[1].bound_speedup == pytest.approx(100_000 / (19_900 + 79_970))


def serial_sections(path: Path, runs: Sequence[int]) -> list[Loss]:
    """Threads of a pool, one after another, alone on two cores."""
    begins = [sum(runs[:i]) for i in range(len(runs))]
    lock_recording = [
        FakeThread("app", begin, [("R", run)], f"exec-{i}")
        for i, (begin, run) in enumerate(zip(begins, runs, strict=True))
    ]
    account = why(open_recording(synthetic.write(path, lock_recording, sum(runs))), cores=2).account
    return [loss for loss in account.lost if loss.cause == "serial_section"]


def test_the_serial_sections_of_a_pool_are_one_loss_of_so_many_threads(tmp_path: Path) -> None:
    (loss,) = serial_sections(tmp_path / "r", [100] * 10)
    assert (loss.place.thread, loss.place.threads, loss.core_ns) == ("exec-*", 10, 1000)
    assert loss.bound_speedup == pytest.approx(2)


def test_the_straggler_of_a_pool_is_a_loss_of_its_own(tmp_path: Path) -> None:
    found = serial_sections(tmp_path / "r", [100] * 4 + [900])
    assert {(loss.place.thread, loss.place.threads, loss.core_ns) for loss in found} == {
        ("exec-4", 1, 900),
        ("exec-*", 4, 400),
    }


def test_that_threads_of_the_jvm_are_ready_to_run_is_no_loss_of_the_program(tmp_path: Path) -> None:
    lock_recording = [
        FakeThread("app", 0, [("R", 1000)], "main"),
        FakeThread("jit", 0, [("W", 900), ("R", 10)], "C2 CompilerThre"),
        FakeThread("vm", 0, [("W", 500), ("R", 10)], "VM Thread"),
        FakeThread("app", 200, [("W", 100), ("R", 10)], "worker"),
    ]
    account = why(open_recording(synthetic.write(tmp_path / "r", lock_recording, 1000)), cores=2).account
    assert the("scheduler", account).core_ns == 100
