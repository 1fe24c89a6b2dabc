"""The bound of the speedup if a cause vanished: never below what removing it gives."""

from __future__ import annotations

import pytest

from headway.analyses.common import causes
from headway.analyses.lost_cores.gains.bounds import BoundInputs, WaitTotals, bound

# Programs whose time without the cause follows from their text. T is the time with it, `better` without.
CASES = {
    "a serial half, spread over four cores": (
        causes.SERIAL, WaitTotals(core_ns=3 * 50, wall_ns=50), BoundInputs(100, 4, work_ns=250), 100 / (50 + 50 / 4),
    ),
    "one lock that is held all the time, two cores": (
        causes.LOCK, WaitTotals(core_ns=100, wall_ns=100, thread_ns=100, threads=2), BoundInputs(100, 2, work_ns=100), 2.0,
    ),
    "a lock wait behind which a barrier closes: both go with it": (
        causes.LOCK, WaitTotals(core_ns=20, wall_ns=20, thread_ns=20, threads=2), BoundInputs(100, 2, work_ns=160), 100 / 80,
    ),
    "a sleep of one thread, then its work alone, while the other one worked and ended": (
        causes.SLEEP, WaitTotals(core_ns=50, wall_ns=50), BoundInputs(100, 2, work_ns=100), 2.0,
    ),
    "a sleep that everybody waits for": (
        causes.SLEEP, WaitTotals(core_ns=2 * 50, wall_ns=50), BoundInputs(100, 2, work_ns=100), 2.0,
    ),
    "a barrier of two with work of 30 and 90, balanced": (
        causes.IMBALANCE, WaitTotals(core_ns=60, wall_ns=60, thread_ns=60, threads=2), BoundInputs(90, 4, work_ns=120), 90 / 60,
    ),
    "a join of four on four cores, one does all": (
        causes.IMBALANCE, WaitTotals(core_ns=3 * 80, wall_ns=80), BoundInputs(80, 4, work_ns=80), 4.0,
    ),
    "a serial half, then a sleep of all as long as both halves": (
        causes.SERIAL,
        WaitTotals(core_ns=50, wall_ns=50, of_room=BoundInputs(150, 2, 100, idle_ns=150).share_of_room(50, 200)),
        BoundInputs(150, 2, work_ns=100, room_ns=25, idle_ns=150),
        150 / 125,
    ),
    "two tasks on four cores": (
        causes.FEW, WaitTotals(core_ns=2 * 100, wall_ns=100), BoundInputs(100, 4, work_ns=200, room_ns=50), 2.0,
    ),
    "a producer ten times as slow as its consumer": (
        causes.STARVED, WaitTotals(core_ns=90, wall_ns=90, threads=2, maker_ns=100), BoundInputs(100, 2, work_ns=110), 10.0,
    ),
    "pauses of a parallel collector": (
        causes.GC, WaitTotals(core_ns=10, wall_ns=30), BoundInputs(100, 2, work_ns=140 + 50, collected_ns=50), 100 / 70,
    ),
    "a pause at whose end two threads are put on cores anew, 5 each": (
        causes.GC, WaitTotals(core_ns=30, wall_ns=30),
        BoundInputs(100, 2, work_ns=130 + 30, collected_ns=30, placing_ns=10), 100 / 65,
    ),
    "a JVM's start in one thread, then two busy ones": (
        causes.START, WaitTotals(core_ns=30, wall_ns=30), BoundInputs(100, 2, work_ns=30 + 140, started_ns=30), 100 / 70,
    ),
    "a JVM's start that leaves more than one core idle, then one thread for 70 and two for 15 each on two cores": (
        causes.START, WaitTotals(core_ns=50, wall_ns=30),
        BoundInputs(100, 2, work_ns=10 + 100, started_ns=10, ready_ns=15), 100 / 70,
    ),
    "a JVM's end that leaves two cores idle, after one thread for 70 and two for 15 each": (
        causes.END, WaitTotals(core_ns=60, wall_ns=30), BoundInputs(100, 2, work_ns=100, ready_ns=15), 100 / 70,
    ),
    "two who sleep till others come, too: of work 10, 10, 20 and 30, the last to get a core": (
        causes.SLEEP, WaitTotals(core_ns=20, wall_ns=10, thread_ns=20), BoundInputs(60, 2, work_ns=70, ready_ns=20), 60 / 40,
    ),
    "a quota of one of two cores, two busy threads": (
        causes.QUOTA, WaitTotals(core_ns=50, wall_ns=50), BoundInputs(100, 2, work_ns=100), 2.0,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_bound_is_not_below_the_gain_and_not_far_above(name: str) -> None:
    cause, there, inputs, gain = CASES[name]
    found = bound(cause, there, inputs)
    assert found is not None
    assert gain - 1e-9 <= found <= gain * 1.05


def test_a_serial_section_that_the_compiler_filled_the_other_core_of_is_bounded_by_its_own_length() -> None:
    idle_half_of_the_time = WaitTotals(core_ns=25, wall_ns=25, of_room=1.0)
    found = bound(causes.SERIAL, idle_half_of_the_time, BoundInputs(100, 2, work_ns=125, room_ns=25))
    assert found == pytest.approx(100 / 75)


# Two busy threads, or one after a start, on two cores; whenever one of the program's could run, another process had a core.
LOADED = {
    "start on a machine whose cores others had": (causes.START, WaitTotals(core_ns=2, wall_ns=350), 142 / 140),
    "pauses whose threads wait for a core that another process has": (
        causes.GC, WaitTotals(core_ns=0, wall_ns=90), 1.0,
    ),
    "a sleep while which one core was free": (causes.SLEEP, WaitTotals(core_ns=2, wall_ns=10), 1000 / 990),
}  # fmt: skip


@pytest.mark.parametrize("name", LOADED)
def test_cores_that_other_processes_had_are_not_to_be_had_without_a_cause(name: str) -> None:
    cause, there, gain = LOADED[name]
    lost_ns = there.core_ns
    inputs = BoundInputs(1000, 2, work_ns=140, others_ns=2000 - 140 - lost_ns)
    found = bound(cause, there, inputs)
    assert found == pytest.approx(gain)
    alone = bound(cause, there, BoundInputs(1000, 2, work_ns=140))
    assert alone == pytest.approx(1000 / (1000 - there.wall_ns)), "the same waits with nobody else there"


@pytest.mark.parametrize("cause", [causes.IO, causes.STARVED, causes.FULL, causes.CONDITION])
def test_what_others_did_for_the_program_goes_with_its_wait_for_them(cause: str) -> None:
    # One core, half of the time the program's, half of a database's that it waits for. With a cache it takes half as long.
    found = bound(cause, WaitTotals(core_ns=0, wall_ns=50, threads=2), BoundInputs(100, 1, work_ns=50, others_ns=50))
    assert found == pytest.approx(2.0)


@pytest.mark.parametrize("others_ns", [0, 10, 100, 1000, 10_000])
def test_more_time_of_others_raises_no_bound(others_ns: int) -> None:
    there = WaitTotals(core_ns=50, wall_ns=300)
    for cause in set(causes.CAUSES) - {causes.UNKNOWN}:
        more = bound(cause, there, BoundInputs(1000, 2, work_ns=900, others_ns=others_ns))
        less = bound(cause, there, BoundInputs(1000, 2, work_ns=900, others_ns=others_ns // 2))
        assert more is not None
        assert less is not None
        assert 1.0 <= more <= less


def test_what_threads_wait_for_free_cores_where_a_serial_section_ends_goes_with_it() -> None:
    placed_late = WaitTotals(core_ns=50, wall_ns=50)
    found = bound(causes.SERIAL, placed_late, BoundInputs(110, 2, work_ns=150, room_ns=25, placing_ns=20))
    assert found == pytest.approx(110 / 75), "50 of 100 alone, then 10 until the second thread has its core"


def test_no_bound_is_below_one_or_said_of_what_is_not_known() -> None:
    assert bound(causes.SLEEP, WaitTotals(0, 0), BoundInputs(100, 2, 200)) == 1.0
    assert bound(causes.UNKNOWN, WaitTotals(50, 50), BoundInputs(100, 2, 100)) is None
    assert bound(causes.SLEEP, WaitTotals(200, 100), BoundInputs(100, 2, 0)) is None, (
        "a program that only sleeps has no bound"
    )


@pytest.mark.parametrize("cause", sorted(set(causes.CAUSES) - {causes.UNKNOWN, causes.GC}))
def test_a_larger_loss_has_no_smaller_bound(cause: str) -> None:
    inputs = BoundInputs(1000, 4, work_ns=1000, collected_ns=100, room_ns=400)
    sizes = (10, 50, 200, 400, 600)
    found = [bound(cause, WaitTotals(size * 2, size, size, 3, 100, size / 600), inputs) for size in sizes]
    assert found == sorted(found, key=lambda each: each or 0)
