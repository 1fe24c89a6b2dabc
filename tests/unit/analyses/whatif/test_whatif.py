"""`headway whatif`: programs whose time on other cores is known by arithmetic, and recordings that can't be replayed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.whatif import predictions
from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.ranking import ranking
from headway.analyses.whatif.types import Change, Smt
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders.replay_builder import (
    APP,
    BEFORE,
    FILE,
    FUTEX,
    GC,
    LEFT_OUT,
    NANOSLEEP,
    NO_CALL,
    OTHER,
    OTHER_CALL,
    POLL,
    TIMED_FUTEX,
    VM,
    Slice,
    acquired,
    plan,
    replayed,
    steps,
    write,
)

pytestmark = pytest.mark.usefixtures("intervals_of_one_run")

Run = Callable[..., tuple[int, str, str]]
US = 1000
EQUAL = [Slice(i, 0, 0, 300 * i, 300 * (i + 1)) for i in range(4)]
STRAGGLER = [
    Slice(0, 0, 0, 0, 50),
    *(Slice(i, 0, 50, 50, 250, waker=0) for i in (1, 2, 3)),
    Slice(4, 0, 50, 50, 650, waker=0),
    Slice(0, 50, 650, 650, 700, waker=4),
]
"""50 alone, then three threads of 200 and one of 600, which the first one waits for, then 50 alone again."""


def times(path: Path, cores: Sequence[int], **change: Any) -> list[float]:
    """Return the predicted wall times in microseconds."""
    found = whatif(open_recording(path), cores, Change(1, **change))
    assert found.refused is None
    return [each.wall_ns / US for each in found.predicted]


# --- programs that arithmetic answers ----------------------------------------------------------------------------------


def test_equal_threads_take_their_work_over_the_cores(tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", EQUAL, 1200, 1, ended_by="duration")
    assert times(path, [1, 2, 3, 4, 8]) == pytest.approx([1200, 600, 400, 300, 300])


def test_a_straggler_is_waited_for(tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", STRAGGLER, 700, 4)
    assert times(path, [1, 2, 4, 8]) == pytest.approx([1300, 900, 700, 700])
    assert times(path, [2, 4], clock=2.0) == pytest.approx([450, 350])


def test_logical_cpus_share_a_core(tmp_path: Path) -> None:
    """Four threads of 300. Four CPUs on two cores that do 1.25 with both: 2.5 of 4; on two CPUs of one core, 1.25 of 4."""
    path = write(tmp_path / "a.headway", EQUAL, 1200, 1, ended_by="duration")
    assert times(path, [2, 4, 6, 8], smt=Smt(2, 1.25)) == pytest.approx([960, 480, 1200 / 3.25, 300])
    assert times(path, [4], smt=Smt(4, 2.5)) == pytest.approx([480])
    assert times(path, [4], smt=Smt(2, 2.0)) == pytest.approx([300])
    assert times(path, [4], smt=Smt(2, 1.25), clock=2.0) == pytest.approx([240])


def test_threads_are_spread_over_cores_before_two_share_one(tmp_path: Path) -> None:
    """On four CPUs of two cores the straggler's four threads do 2.5 in 320, 200 each; then it is alone for 400."""
    path = write(tmp_path / "a.headway", STRAGGLER, 700, 4)
    assert times(path, [4], smt=Smt(2, 1.25)) == pytest.approx([50 + 320 + 400 + 50])


def test_cpus_that_are_no_whole_cores_are_refused(tmp_path: Path) -> None:
    recording = open_recording(write(tmp_path / "a.headway", EQUAL, 1200, 1, ended_by="duration"))
    with pytest.raises(HeadwayError, match="HW860: 3 CPUs"):
        whatif(recording, [2, 3], Change(1, smt=Smt(2, 1.25)))


@pytest.mark.parametrize("value", ["2", "1=1", "9=2", "2=2.5", "2=0.5", "2=nan", "x=1"])
def test_logical_cpus_that_say_nothing_are_wrong_usage(run: Run, tmp_path: Path, value: str) -> None:
    assert run("whatif", write(tmp_path / "a.headway", EQUAL, 1200, 1), "--cores", "2", "--smt", value)[0] == 2


def test_the_command_shows_logical_cpus(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", EQUAL, 1200, 1, ended_by="duration")
    answer = json.loads(run("whatif", path, "--cores", "4", "--smt", "2=1.25", "--json")[1])
    assert answer["changes"][0]["wall_ns"] == 480 * US
    assert answer["changes"][0]["change"]["smt"] == {"per_core": 2, "throughput": 1.25}
    assert "HW861" in {each["id"] for each in answer["warnings"]}
    assert "2 CPUs a core" in run("whatif", path, "--cores", "4", "--smt", "2=1.25")[1]


def test_a_pair_of_changes_is_ranked_where_the_second_one_gains_something(tmp_path: Path) -> None:
    """Four threads wait 400 for I/O, then compute 100 each: twice the cores, or I/O twice as fast, leave 600 of 800, both 400."""
    slices = [Slice(i, 0, 400, 400 + 100 * i, 500 + 100 * i, blocked_in=POLL) for i in range(4)]
    found = ranking(open_recording(write(tmp_path / "a.headway", slices, 800, 1, ended_by="duration"))).predicted
    ranked = [(each.change.cores, each.change.io, each.wall_ns // US) for each in found]
    assert ranked[0] == (2, 2.0, 400)
    assert sorted(ranked[1:]) == [(1, 2.0, 600), (2, 1.0, 600)]


def test_a_pair_whose_second_change_gains_nothing_is_not_ranked(tmp_path: Path) -> None:
    """One thread computes 100 while another one waits 400 for I/O and computes 100: more cores gain nothing."""
    slices = [Slice(0, 0, 0, 0, 100), Slice(1, 0, 400, 400, 500, blocked_in=POLL)]
    found = ranking(open_recording(write(tmp_path / "a.headway", slices, 500, 1, ended_by="duration"))).predicted
    assert [(each.change.cores, each.change.io, each.wall_ns // US) for each in found] == [(1, 2.0, 300), (2, 1.0, 500)]


def waiting_for_a_lock(blocked_in: int = FUTEX, is_uninterruptible: bool = False) -> list[Slice]:
    """Return a thread that sleeps 900, computes 50, waits 10 for a lock of thread 1's, and computes 100; two compute 1000."""
    return [
        Slice(0, 0, 900, 900, 950, blocked_in=NANOSLEEP, irq=True),
        Slice(0, 950, 960, 960, 1060, waker=1, blocked_in=blocked_in, is_uninterruptible=is_uninterruptible),
        Slice(1, 0, 0, 0, 1000),
        Slice(2, 0, 0, 0, 1000),
    ]


INSIDE = pytest.mark.parametrize(
    ("slices", "others"),
    [
        pytest.param(waiting_for_a_lock(), OTHER, id="of the JVM, which a compiler has"),
        pytest.param(waiting_for_a_lock(NO_CALL), APP, id="of the kernel, in a page fault"),
        pytest.param(
            waiting_for_a_lock(OTHER_CALL, is_uninterruptible=True), APP, id="of the kernel, in a call that maps memory"
        ),
    ],
)


@INSIDE
def test_a_lock_inside_the_jvm_or_the_kernel_is_waited_for_no_longer_than_it_was(
    slices: list[Slice], others: int
) -> None:
    """On one core thread 1 has done 500 as the other one comes, and not 950: it would have the lock after 460 more."""
    run = steps(slices, 1060, 3, roles=[APP, others, others])
    assert replayed([run], 3, last=[0]) == pytest.approx([1060])
    assert replayed([run], 1, last=[0]) == pytest.approx([1050 + 10 + 300])
    assert replayed([run], 1, last=[0], work_factor=0.5) == pytest.approx([975 + 5 + 67.5 + 27.5])


@INSIDE
def test_a_lock_inside_the_jvm_or_the_kernel_that_is_free_sooner_is_waited_for_no_longer(
    slices: list[Slice], others: int
) -> None:
    """Thread 1 computes twice as fast, and what it did until 960 is done at 480."""
    run = steps(slices, 1060, 3, roles=[APP, others, others])
    assert replayed([run], 3, last=[0], work_factor=0.5) == pytest.approx([900 + 25 + 50])


@pytest.mark.parametrize("blocked_in", [OTHER_CALL, FILE])
def test_a_wait_in_a_call_that_a_signal_can_end_is_for_what_another_thread_does(blocked_in: int) -> None:
    """On one core thread 1 has done 500 as the other one comes; it has 460 more to do, of which both do half until then."""
    run = steps(waiting_for_a_lock(blocked_in), 1060, 3)
    assert replayed([run], 1, last=[0])[0] > 1050 + 460


def test_a_thread_that_one_of_the_jvm_s_starts_does_not_begin_before() -> None:
    slices = [Slice(0, 0, 0, 0, 1000), Slice(1, 500, 500, 500, 600, waker=0)]
    run = steps(slices, 1000, 2, roles=[OTHER, APP], parents=[-1, 0], births=[BEFORE, 500])
    assert replayed([run], 2) == pytest.approx([600])
    assert replayed([run], 2, plans=[plan(run, acquired([]), 0)]) == pytest.approx([600])


def test_a_thread_that_headways_own_ends_the_wait_of_and_that_wakes_another_was_not_just_sampled() -> None:
    """Thread 1 is the JVM's own and waits with a time limit; main wakes it between two waits, and then waits for it."""
    us = 1000
    slices = [
        Slice(0, 0, 0, 0, 1000 * us),
        Slice(0, 1000 * us, 1010 * us, 1010 * us, 1100 * us, waker=2),
        Slice(0, 1100 * us, 1200 * us, 1200 * us, 1300 * us, waker=1),
        Slice(1, 0, 1050 * us, 1050 * us, 1200 * us, waker=0, blocked_in=TIMED_FUTEX),
        Slice(2, 0, 0, 0, 1010 * us),
    ]
    run = steps(slices, 1300 * us, 3, roles=[APP, VM, LEFT_OUT])
    assert replayed([run], 3) == pytest.approx([1300 * us])
    assert replayed([run], 3, work_factor=0.5) == pytest.approx([(500 + 10 + 20 + 75 + 50) * us])


def test_a_wait_that_a_sample_cuts_in_two_is_one_that_the_second_half_ends() -> None:
    us = 1000
    slices = [
        Slice(0, 0, 500 * us, 500 * us, 510 * us, waker=2),
        Slice(0, 510 * us, 1000 * us, 1000 * us, 1300 * us, waker=1),
        Slice(1, 0, 0, 0, 1000 * us),
        Slice(2, 0, 0, 0, 500 * us),
    ]
    run = steps(slices, 1300 * us, 3, roles=[APP, APP, LEFT_OUT])
    assert replayed([run], 3) == pytest.approx([1300 * us])
    assert replayed([run], 3, work_factor=0.5) == pytest.approx([650 * us])


def test_a_pipeline_of_two_stages_takes_the_longer_one() -> None:
    items, one, two = 20, 10, 6
    first = Slice(0, 0, 0, 0, items * one)
    second = [
        Slice(1, (i * one + two) if i else 0, (i + 1) * one, (i + 1) * one, (i + 1) * one + two, waker=0)
        for i in range(items)
    ]
    run = steps([first, *second], items * one + two, 2)
    assert replayed([run], 2) == pytest.approx([items * one + two])
    assert replayed([run], 1) == pytest.approx([items * (one + two)])


def test_programs_together_share_the_cores(tmp_path: Path) -> None:
    """Four threads of 300 beside one of 200: five until each has had 200, then four."""
    equal = open_recording(write(tmp_path / "a.headway", EQUAL, 1200, 1, ended_by="duration"))
    other = open_recording(write(tmp_path / "b.headway", [Slice(0, 0, 0, 0, 200)], 200, 1))
    found = whatif(equal, [1, 2, 5], beside=other)
    both = [each.wall_ns / US for each in found.predicted if each.together]
    assert both == pytest.approx([1400, 1000, 700, 500, 300, 200])
    alone = [each.wall_ns / US for each in found.predicted if not each.together]
    assert alone == pytest.approx([1200, 200, 600, 200, 300, 200])
    (notice,) = (each for each in found.notices if each.id == "HW838")
    assert f"{equal.path} and {other.path} together" in notice.message
    assert "HW838" not in {each.id for each in whatif(equal, [1]).notices}


def test_threads_of_a_collected_program_stand_still_wherever_they_are() -> None:
    """Two threads compute 100 each; after 40 of the first, a collection of 30 stops both."""
    slices = [
        Slice(0, 0, 0, 0, 40), Slice(0, 40, 70, 70, 130, waker=2),
        Slice(1, 0, 0, 0, 40), Slice(1, 40, 70, 70, 130, waker=2),
        Slice(2, 0, 40, 40, 70, waker=0),
    ]  # fmt: skip
    run = steps(slices, 130, 3, [0, 0, VM], stops=[(40, 70, 2)])
    assert replayed([run], 3) == pytest.approx([130])
    assert replayed([run], 1) == pytest.approx([230])
    assert replayed([run], 1, has_collections=False) == pytest.approx([200])
    assert replayed([run], 2, has_collections=False) == pytest.approx([100])


def test_whoever_waits_for_another_of_the_jvms_threads_than_the_one_that_stops_all_waits_for_it(tmp_path: Path) -> None:
    """A poller of sockets is of kind vm, too: it hands on what has come from outside."""
    poller = Slice(2, 0, 79, 79, 81, blocked_in=POLL, irq=True)
    slices = [Slice(0, 0, 0, 0, 100), Slice(1, 0, 0, 0, 10), Slice(1, 10, 80, 80, 130, waker=2), poller]
    path = write(tmp_path / "a.headway", slices, 130, 3, {2: "Read-Poller"}, ended_by="duration")
    assert times(path, [3, 64]) == pytest.approx([130, 130])


def test_threads_compute_on_until_they_can_be_stopped_and_the_jvms_thread_waits_for_them() -> None:
    """A collection of 10 to 60 begins before thread 0 comes at 20 to where it stops, for which the JVM's thread waits; it then
    computes 10 more when that is over. Thread 1 sleeps meanwhile.
    """
    slices = [
        Slice(0, 0, 0, 0, 20), Slice(0, 20, 60, 60, 70, waker=2),
        Slice(1, 0, 300, 300, 310, blocked_in=NANOSLEEP, irq=True),
        Slice(2, 0, 0, 0, 12), Slice(2, 12, 20, 20, 62, waker=0),
    ]  # fmt: skip
    run = steps(slices, 310, 3, [0, OTHER, VM], stops=[(10, 60, 2)])
    assert replayed([run], 3, last=[0]) == pytest.approx([70])
    assert replayed([run], 3, last=[2]) == pytest.approx([62])


def test_collections_of_two_jvms_at_once_are_both_gone_without_collections() -> None:
    slices = [Slice(0, 0, 0, 0, 100), Slice(1, 0, 0, 0, 100), Slice(2, 0, 20, 20, 30, blocked_in=NANOSLEEP, irq=True)]
    for stops in ([(0, 100, 1), (20, 30, 2)], [(20, 30, 2), (0, 100, 1)]):
        run = steps(slices, 100, 3, [OTHER, VM, VM], stops=stops)
        assert replayed([run], 3, last=[1]) == pytest.approx([100])
        assert replayed([run], 3, last=[1], has_collections=False) == pytest.approx([0])


def test_a_collection_that_begins_where_another_one_ends_stops_the_threads_again() -> None:
    """From 40 to 60, and from 60 to 100; the thread would compute from 60 on were it let go after it was stopped again."""
    slices = [Slice(0, 0, 0, 0, 40), Slice(0, 40, 100, 100, 160, waker=1), Slice(1, 0, 40, 40, 100, waker=0)]
    run = steps(slices, 160, 2, [0, VM], stops=[(40, 60, 1), (60, 100, 1)])
    assert replayed([run], 2, last=[0]) == pytest.approx([160])


def test_what_collectors_compute_is_gone_without_collections() -> None:
    run = steps([Slice(0, 0, 0, 0, 100), Slice(1, 0, 0, 100, 160)], 160, 1, [0, GC], births=[])
    assert replayed([run], 1, last=[0]) == pytest.approx([160])
    assert replayed([run], 1, last=[0], has_collections=False) == pytest.approx([100])


def test_sleep_lasts_and_io_can_be_made_faster() -> None:
    slices = [
        Slice(0, 0, 0, 0, 10),
        Slice(0, 10, 60, 60, 70, blocked_in=NANOSLEEP, irq=True),
        Slice(0, 70, 170, 170, 180, blocked_in=POLL, irq=True),
    ]
    run = steps(slices, 180, 1)
    assert replayed([run], 1) == pytest.approx([180])
    assert replayed([run], 1, io_factor=0.5) == pytest.approx([130])
    assert replayed([run], 1, work_factor=2.0) == pytest.approx([210])


@pytest.mark.parametrize(("look", "second", "ns"), [(0.2, 7, 1_050), (0.2, 8, 1_300), (1.2, 7, 1_550)])
def test_a_poll_that_looks_for_work_in_less_than_a_millisecond_gets_it_at_once(
    look: float, second: int, ns: int
) -> None:
    """A thread polls for 1 ms, looks, waits until another one has computed 3 ms, and computes 1; all of it four times as fast.

    Where both waits are for one object, the poll is over with the work, at 0.75 ms: then 0.05 and 0.25 are left. Waits for
    different objects are a sleep of 1 ms and a wait, and so is what works in between.
    """
    ms = 1_000_000
    begin = round((1 + look) * ms)
    slices = [
        Slice(0, 0, ms, ms, begin, blocked_in=TIMED_FUTEX, irq=True),
        Slice(0, begin, 3 * ms, 3 * ms, 4 * ms, waker=1),
        Slice(1, 0, 0, 0, 3 * ms),
    ]
    run = steps(slices, 4 * ms, 2, jvm_waits=[(0, 0, ms, 7), (0, begin, 3 * ms, second)])
    assert replayed([run], 2) == pytest.approx([4 * ms])
    (found,) = replayed([run], 2, last=[0], work_factor=0.25)
    assert found / 1000 == pytest.approx(ns)


def test_the_jvms_own_thread_that_looks_for_work_from_time_to_time_gets_it_at_once() -> None:
    """The VM's thread wakes up after 1000, finds nothing, and is given work at 1200; on a faster CPU that is at 600."""
    slices = [
        Slice(0, 0, 0, 0, 1200),
        Slice(1, 0, 1000, 1000, 1001, blocked_in=TIMED_FUTEX, irq=True),
        Slice(1, 1001, 1200, 1200, 1250, waker=0, blocked_in=TIMED_FUTEX),
        Slice(0, 1200, 1250, 1250, 1260, waker=1),
    ]
    run = steps(slices, 1260, 2, [0, VM])
    assert replayed([run], 2, last=[0]) == pytest.approx([1260])
    assert replayed([run], 2, last=[0], work_factor=0.5) == pytest.approx([600 + 25 + 5], abs=1)


def test_without_waits_for_locks_nobody_waits_for_one() -> None:
    slices = [Slice(0, 0, 0, 0, 100), Slice(1, 0, 0, 0, 10), Slice(1, 10, 80, 80, 130, waker=0)]
    run = steps(slices, 130, 2, locks=[(1, 11, 79)])
    assert run.figures()["lock_wait_ns"] == 70
    assert replayed([run], 2) == pytest.approx([130])
    assert replayed([run], 2, has_lock_waits=False) == pytest.approx([100])


def test_what_host_and_other_processes_took_is_in_the_replay_of_the_run_as_it_was_alone() -> None:
    """100 of work, 20 of which the host took, then 30 ready while the core ran others, then 50."""
    run = steps([Slice(0, 0, 0, 0, 120, stolen=20), Slice(0, 120, 120, 150, 200)], 200, 1)
    assert replayed([run], 1, has_stolen=True) == pytest.approx([200])
    assert replayed([run], 1) == pytest.approx([150])


def test_a_thread_that_still_waits_at_the_end_delays_nobody(tmp_path: Path) -> None:
    waiting = Slice(2, 0, 399, 399, 399)  # found at an attach, and cut off by the end: nobody knows who would end it
    slices = [Slice(0, 0, 0, 0, 200), Slice(1, 0, 0, 200, 400), waiting]
    path = write(tmp_path / "a.headway", slices, 400, 1, ended_by="duration")
    assert times(path, [1, 2]) == pytest.approx([400, 200])


# --- what a prediction says of itself ------------------------------------------------------------------------------


def test_another_change_than_cores_may_gain_nothing(tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", STRAGGLER, 700, 4)
    faster, slower = (whatif(open_recording(path), [4], Change(1, clock=clock)).predicted[0] for clock in (2.0, 0.5))
    assert (faster.wall_ns, faster.high_ns) == (350 * US, 700 * US)
    assert (slower.wall_ns, slower.low_ns) == (1400 * US, 700 * US)


def test_the_interval_has_how_much_another_run_of_a_program_computes_more_or_less(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asleep = [
        Slice(0, 0, 0, 0, 200),
        Slice(0, 200, 700, 700, 800, blocked_in=TIMED_FUTEX, irq=True),
    ]  # computes for 300 us
    path = write(tmp_path / "a.headway", asleep, 800, 1)
    (alone,) = whatif(open_recording(path), [1]).predicted
    monkeypatch.setattr(predictions, "RUNS_DIFFER", 0.1)
    (found,) = whatif(open_recording(path), [1]).predicted
    assert (alone.low_ns, alone.wall_ns, alone.high_ns) == (800 * US, 800 * US, 800 * US)
    assert (found.low_ns, found.wall_ns, found.high_ns) == (770 * US, 800 * US, 830 * US)


@pytest.mark.parametrize("has_gc", [True, False])
def test_without_collections_it_is_said_that_a_larger_heap_takes_time_itself(tmp_path: Path, *, has_gc: bool) -> None:
    path = write(tmp_path / "a.headway", EQUAL, 1200, 1)
    found = whatif(open_recording(path), [1], Change(1, has_gc=has_gc))
    assert found.predicted
    assert ("HW893" in {each.id for each in found.notices}) is not has_gc


def test_a_part_of_a_run_is_said_to_be_one(tmp_path: Path) -> None:
    def found(name: str, ended_by: str) -> list[str]:
        path = write(tmp_path / name, EQUAL, 1200, 1, ended_by=ended_by)
        return [each.id for each in whatif(open_recording(path), [1]).notices]

    assert "HW826" in found("part.headway", "duration")
    assert "HW826" not in found("whole.headway", "exit")


def test_a_part_of_a_run_may_be_as_short_as_the_time_in_which_a_thread_was_ready(tmp_path: Path) -> None:
    """A thread works for 200 us of 1000 another one ticks for 10 after each 90: whether somebody waits for that nothing tells."""
    ticks = [
        Slice(1, 100 * i, 100 * i + 90, 100 * i + 90, 100 * i + 100, blocked_in=NANOSLEEP, irq=True) for i in range(10)
    ]
    path = write(tmp_path / "a.headway", [Slice(0, 0, 0, 0, 200), *ticks], 1000, 2, ended_by="duration")
    (found,) = whatif(open_recording(path), [2]).predicted
    assert found.high_ns >= found.wall_ns
    assert found.low_ns == pytest.approx(280 * US, rel=0.01)


@pytest.mark.parametrize(("late", "low"), [(100, 700), (300, 400)])
def test_a_run_that_others_kept_from_its_core_for_a_fifth_of_the_time_may_be_as_short_as_its_work(
    late: int, low: int, tmp_path: Path
) -> None:
    """A thread works for 200 us, waits for the core, works for 100, sleeps for 300 and works for 100."""
    again = 200 + late
    slices = [
        Slice(0, 0, 0, 0, 200),
        Slice(0, 200, 200, again, again + 100),
        Slice(0, again + 100, again + 400, again + 400, again + 500, blocked_in=NANOSLEEP, irq=True),
    ]
    path = write(tmp_path / "a.headway", slices, again + 500, 1, ended_by="exit")
    (found,) = whatif(open_recording(path), [1]).predicted
    assert (found.wall_ns, found.low_ns) == (700 * US, low * US)


ANSWER = Slice(0, 0, 1000, 1000, 1010, waker=1, blocked_in=6, irq=True)
"""A packet's interrupt ends the wait of a reader."""


def test_an_answer_over_a_socket_comes_as_much_earlier_as_its_sender_computes_faster(tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", [Slice(1, 0, 0, 0, 1000), ANSWER], 1010, 2)
    assert times(path, [2]) == pytest.approx([1010])
    assert times(path, [2], clock=10) == pytest.approx([101])
    assert times(path, [2], io=2) == pytest.approx([1010])
    assert "HW869" not in [each.id for each in whatif(open_recording(path), [2], Change(1, clock=10)).notices]


def test_an_answer_whose_sender_was_not_seen_may_come_earlier(tmp_path: Path) -> None:
    """It comes when it came; that it may come after 100 us of 1000 is in the interval, and said."""
    path = write(tmp_path / "a.headway", [Slice(1, 0, 0, 0, 500), ANSWER], 1010, 2)
    found = whatif(open_recording(path), [2], Change(1, clock=10))
    assert "HW869" in [each.id for each in found.notices]
    assert found.predicted[0].wall_ns == 1001 * US
    assert found.predicted[0].low_ns <= 101 * US <= found.predicted[0].high_ns
    as_it_was = whatif(open_recording(path), [2]).predicted[0]
    assert as_it_was.low_ns == pytest.approx(1010 * US, rel=0.02)


def test_a_packet_that_came_while_another_thread_ran_is_not_its(tmp_path: Path) -> None:
    """Half of what the reader waits for comes in the time of no thread: then the waker of the rest tells nothing."""
    outside = Slice(0, 1010, 2010, 2010, 2020, blocked_in=6, irq=True)
    path = write(tmp_path / "a.headway", [Slice(1, 0, 0, 0, 1000), ANSWER, outside], 2020, 2)
    assert times(path, [2], clock=10) == pytest.approx([2002])


def test_cores_far_from_those_recorded_are_not_predicted(tmp_path: Path) -> None:
    recording = open_recording(write(tmp_path / "a.headway", EQUAL, 1200, 1))
    found = whatif(recording, [64, 65, 1000])
    assert [each.change.cores for each in found.predicted] == [64]
    assert [each.message for each in found.notices if each.id == "HW827" and "65, 1000 cores" in each.message]
    with pytest.raises(HeadwayError, match="HW827"):
        whatif(recording, [65])


def test_a_quota_and_pools_that_follow_the_processors_are_said_to_be_left_out(tmp_path: Path) -> None:
    jvm = {"pid": 1, "available_processors": 1}
    path = write(tmp_path / "a.headway", STRAGGLER, 700, 4, quota_cores=2.5, jvms=[jvm])
    found = {each.id: each for each in whatif(open_recording(path), [1, 2]).notices}
    assert "a CPU quota of 2.5 cores" in found["HW829"].message
    assert found["HW829"].remedy.endswith("--cores 2")
    assert "saw 1 processor and" in found["HW828"].message
    calm = write(tmp_path / "b.headway", STRAGGLER, 700, 4, quota_cores=4.0)
    assert not {each.id for each in whatif(open_recording(calm), [1, 2]).notices} & {"HW828", "HW829"}


# --- what can't be replayed --------------------------------------------------------------------------------------------


def test_a_recording_without_wakings_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", EQUAL, 1200, 1, mode="perf")
    with pytest.raises(HeadwayError, match="HW820"):
        whatif(open_recording(path), [2])


@pytest.mark.parametrize(
    "facts", [{"recorded_cores": 10**6}, {"window": {"start_ns": 1 << 60, "end_ns": (1 << 60) + 1}}]
)
def test_a_manifest_that_no_machine_writes_is_damaged(tmp_path: Path, facts: dict[str, Any]) -> None:
    path = write(tmp_path / "a.headway", EQUAL, 1200, 1, **facts)
    with pytest.raises(HeadwayError, match="HW303"):
        whatif(open_recording(path), [2])


@pytest.mark.parametrize(
    ("slices", "wall", "reason"),
    [
        (EQUAL, 2000, "HW822"),
        ([*STRAGGLER[:-1], STRAGGLER[-1]._replace(waker=-1)], 700, "HW823"),
        ([Slice(0, 0, 10, 10, 20, waker=1), Slice(1, 0, 10, 10, 20, waker=0)], 20, "HW824"),
    ],
)
def test_a_replay_that_is_wrong_for_the_run_itself_predicts_nothing(
    run: Run, tmp_path: Path, slices: list[Slice], wall: int, reason: str
) -> None:
    path = write(tmp_path / "a.headway", slices, wall, 4, ended_by="duration")
    code, out, _ = run("whatif", path, "--cores", "2", "--json")
    answer = json.loads(out)
    assert (code, answer["refused"]["id"], answer["changes"]) == (0, reason, [])
    assert reason in run("whatif", path, "--cores", "2")[1]


# --- the command -------------------------------------------------------------------------------------------------------


def test_json_has_the_promised_keys(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", STRAGGLER, 700, 4)
    code, out, err = run("whatif", path, "--cores", "1,2", "--json")
    answer = json.loads(out)
    assert (code, err) == (0, "")
    assert (answer["measured_ns"], answer["replayed_ns"], answer["refused"]) == (700 * US, 700 * US, None)
    assert answer["replay_error_pct"] == pytest.approx(0)
    assert [each["wall_ns"] for each in answer["changes"]] == [1300 * US, 900 * US]
    one = answer["changes"][0]
    assert one["low_ns"] <= one["wall_ns"] <= one["high_ns"]
    assert one["next"] == {"cause": "cores", "place": None}
    assert sum(one["levels"].values()) == pytest.approx(one["wall_ns"], abs=10)
    assert one["speedup"] == pytest.approx(700 / 1300)


@pytest.mark.parametrize("factor", ["0", "-1", "nan", "inf", "1e9", "fast", "2xx"])
def test_a_factor_that_is_none_is_wrong_usage(run: Run, tmp_path: Path, factor: str) -> None:
    path = write(tmp_path / "a.headway", STRAGGLER, 700, 4)
    assert run("whatif", path, "--clock", factor)[0] == 2


def test_another_change_is_asked_on_the_recorded_cores(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", STRAGGLER, 700, 4)
    answer = json.loads(run("whatif", path, "--clock", "2x", "--no-gc", "--json")[1])
    assert [each["change"] for each in answer["changes"]] == [
        {
            "cores": 4,
            "clock": 2.0,
            "faster_io": 1.0,
            "no_gc": True,
            "locks": [],
            "sleeps": [],
            "methods": [],
            "pools": [],
            "queues": [],
            "balanced": [],
            "waits": [],
            "smt": {"per_core": 1, "throughput": 1.0},
        }
    ]


def test_a_run_that_others_kept_from_the_cores_is_said_to_be_one(tmp_path: Path) -> None:
    """Ready to run from 0 to 300, on two cores of which it had one from then on: a third of the run is its own."""
    slices = [Slice(0, 0, 0, 300, 400), Slice(1, 0, 0, 300, 310)]
    starved = whatif(open_recording(write(tmp_path / "a.headway", slices, 400, 2)), [2])
    assert "HW872" in {each.id for each in starved.notices}
    own = [Slice(0, 0, 0, 0, 400), Slice(1, 0, 0, 0, 10)]
    assert "HW872" not in {
        each.id for each in whatif(open_recording(write(tmp_path / "b.headway", own, 400, 2)), [2]).notices
    }


def test_naps_of_a_jvm_until_its_threads_have_stopped_may_be_none_on_a_quiet_machine(tmp_path: Path) -> None:
    slices = [
        Slice(0, 0, 0, 0, 100),
        Slice(0, 100, 400, 400, 500, waker=1),
        Slice(1, 0, 50, 50, 60, waker=0),
        Slice(1, 60, 390, 390, 401, blocked_in=NANOSLEEP, irq=True),
    ]
    path = write(tmp_path / "a.headway", slices, 500, 2, {1: "VM Thread"}, ended_by="duration")
    found = whatif(open_recording(path), [2])
    (same,) = found.predicted
    assert same.low_ns <= same.wall_ns - 330 * 1000
    assert "HW871" in {each.id for each in found.notices}
