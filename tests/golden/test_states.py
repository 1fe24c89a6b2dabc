"""What each scheduling record means: one small spool per rule of the state machine, and the states it must give.

Thread_id 0 is tid 10, thread_id 1 is tid 11, born in this order; times are ns and small so that they can be added by eye.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.builders.spool_builder import DEAD, DISK, PERF, SLEEP, STOPPED, Decoded, Slice, Spool, decode

A, B, C = 10, 11, 12


@pytest.fixture
def born() -> Spool:
    """Two threads, born and first woken at 100 and 110; nothing has run yet."""
    spool = Spool()
    for ns, tid in ((100, A), (110, B)):
        spool.fork(ns, tid)
        spool.waking(ns, 0, tid, new=True)
    return spool


def decoded_spool(spool: Spool, tmp_path: Path, window: tuple[int, int] = (100, 1000)) -> Decoded:
    got = decode(spool, tmp_path / "spool", window)
    assert got.result["gaps"] == 0
    return got


def test_a_new_thread_is_runnable_from_its_first_wakeup(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    got = decoded_spool(born, tmp_path)
    assert got.states(0) == [("runnable", 100, 150), ("running", 150, 1000)]
    assert got.of(0)[0].waker == -2


def test_a_sleep_lasts_until_the_waking_then_the_thread_waits_for_a_cpu(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, B, SLEEP)
    born.waking(400, 0, A, by=B)
    born.switch(450, 0, B, A, SLEEP)
    got = decoded_spool(born, tmp_path)
    assert got.states(0)[2:] == [("sleeping", 300, 400), ("runnable", 400, 450), ("running", 450, 1000)]
    assert got.of(0)[1] == Slice(0, 450, 100, 50, 550, 0, 0, 1, 1, False, True)


@pytest.mark.parametrize(("state", "name"), [(SLEEP, "sleeping"), (DISK, "uninterruptible"), (STOPPED, "stopped")])
def test_the_kernels_state_says_how_a_thread_is_blocked(born: Spool, tmp_path: Path, state: int, name: str) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, None, state)
    born.waking(400, 0, A)
    born.switch(400, 0, None, A)
    assert decoded_spool(born, tmp_path).states(0)[2] == (name, 300, 400)


@pytest.mark.parametrize("state", [0, SLEEP, DISK, DEAD])
def test_a_preempted_thread_is_runnable_whatever_its_state_says(born: Spool, tmp_path: Path, state: int) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, B, state, preempt=True)
    born.switch(500, 0, B, A)
    got = decoded_spool(born, tmp_path)
    assert got.states(0)[2:] == [("runnable", 300, 500), ("running", 500, 1000)]
    assert got.result["resyncs"] == 0


def test_a_thread_that_yields_is_runnable(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, B, 0)
    assert decoded_spool(born, tmp_path).states(0)[-1] == ("runnable", 300, 1000)


def test_a_waking_while_the_thread_falls_asleep_makes_it_runnable_at_its_switch_out(
    born: Spool, tmp_path: Path
) -> None:
    born.switch(150, 0, None, A)
    born.waking(290, 1, A, by=B)
    born.switch(300, 0, A, None, SLEEP)
    born.switch(360, 0, None, A)
    got = decoded_spool(born, tmp_path)
    assert got.states(0)[2:] == [("runnable", 300, 360), ("running", 360, 1000)]
    assert (got.of(0)[1].blocked, got.of(0)[1].waker) == (0, 1)
    assert got.levels()[(2, 0)] == 40 + 60  # both wait: 110 to 150, and 300 to 360


def test_a_waking_that_found_the_thread_awake_does_not_end_a_later_block(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.waking(200, 1, A, by=B)  # it was about to sleep, saw the condition, and went on
    born.switch(300, 0, A, None, SLEEP)
    born.waking(800, 1, A)
    born.switch(850, 0, None, A)
    got = decoded_spool(born, tmp_path)
    assert got.states(0)[2:] == [("sleeping", 300, 800), ("runnable", 800, 850), ("running", 850, 1000)]
    assert got.levels()[(1, 0)] == 10 + 500  # A before B was born; B while A sleeps: the sweep knew in time
    assert got.of(0)[1].waker == -2


def test_a_waking_before_a_preemption_is_spent(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.waking(200, 1, A, by=B)
    born.switch(210, 0, A, None, 0)  # woken before it slept: still runnable
    born.switch(220, 0, None, A)
    born.switch(300, 0, A, None, SLEEP)
    born.waking(400, 1, A)
    born.switch(400, 0, None, A)
    assert ("sleeping", 300, 400) in decoded_spool(born, tmp_path).states(0)


def test_a_thread_that_blocks_without_a_waking_has_an_unknown_waker(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, None, SLEEP)
    born.switch(700, 0, None, A)
    got = decoded_spool(born, tmp_path)
    assert got.states(0)[2:] == [("sleeping", 300, 700), ("running", 700, 1000)]
    assert got.of(0)[1].waker == -1
    assert got.result["unknown_wakers"] == 1


def test_a_waking_from_an_interrupt_is_marked(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, None, SLEEP)
    born.waking(400, 0, A, irq=True)
    born.switch(410, 0, None, A)
    row = decoded_spool(born, tmp_path).of(0)[1]
    assert (row.irq, row.waker) == (True, -2)


def test_a_second_waking_of_a_runnable_thread_changes_nothing(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, None, SLEEP)
    born.waking(400, 0, A, by=B)
    born.waking(420, 0, A)
    born.switch(450, 0, None, A)
    row = decoded_spool(born, tmp_path).of(0)[1]
    assert (row.blocked, row.runnable, row.waker) == (100, 50, 1)


def test_a_dead_thread_is_in_no_state(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.exit(290, A, exec_ns=140)
    born.switch(300, 0, A, None, DEAD)
    got = decoded_spool(born, tmp_path)
    assert got.states(0) == [("runnable", 100, 150), ("running", 150, 300)]
    assert not got.of(0)[-1].is_open
    assert got.lives["end_ns"].tolist() == [290, -1]


def test_a_tid_that_is_used_again_is_another_thread(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.exit(200, A)
    born.switch(200, 0, A, None, DEAD)
    born.fork(500, A)
    born.waking(510, 0, A, new=True)
    born.switch(520, 0, None, A)
    got = decoded_spool(born, tmp_path)
    assert got.lives["tid"].tolist() == [A, B, A]
    assert got.states(0)[-1] == ("running", 150, 200)
    assert got.states(2) == [("runnable", 510, 520), ("running", 520, 1000)]


def test_a_thread_that_execs_takes_over_its_leaders_tid_and_stays_itself(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(160, 1, None, B)
    born.exit(300, A)  # B's execve ends its leader A
    born.switch(300, 0, A, None, DEAD)
    born.switch(400, 1, A, None, SLEEP)  # B has A's tid already, before the exec is on record
    born.waking(450, 1, A)
    born.switch(460, 1, None, A)
    born.exec(500, A, old_tid=B)
    got = decoded_spool(born, tmp_path)
    assert got.lives["tid"].tolist() == [A, A]
    assert got.states(0) == [("runnable", 100, 150), ("running", 150, 300)]
    assert got.states(1)[1:] == [
        ("running", 160, 400),
        ("sleeping", 400, 450),
        ("runnable", 450, 460),
        ("running", 460, 1000),
    ]
    assert got.result["strays"] == []


@pytest.mark.parametrize(
    ("letter", "state"), [("S", "sleeping"), ("D", "uninterruptible"), ("T", "stopped"), ("t", "stopped")]
)
def test_a_thread_found_at_attach_starts_in_its_state_of_proc(tmp_path: Path, letter: str, state: str) -> None:
    spool = Spool()
    spool.snapshot(100, A, letter)
    spool.waking(400, 0, A)
    spool.switch(450, 0, None, A)
    got = decoded_spool(spool, tmp_path, (200, 1000))
    assert got.states(0) == [(state, 200, 400), ("runnable", 400, 450), ("running", 450, 1000)]
    assert got.result["resyncs"] == 0


def test_a_thread_found_in_state_r_was_running_when_its_first_record_takes_it_off(tmp_path: Path) -> None:
    spool = Spool()
    spool.snapshot(100, A, "R")
    spool.switch(450, 0, A, None)
    got = decoded_spool(spool, tmp_path, (200, 1000))
    assert got.states(0) == [("running", 200, 450), ("sleeping", 450, 1000)]
    assert got.levels() == {(1, 1): 250, (0, 0): 550}


def test_a_thread_found_in_state_r_was_waiting_when_its_first_record_puts_it_on(tmp_path: Path) -> None:
    spool = Spool()
    spool.snapshot(100, A, "R")
    spool.switch(450, 0, None, A)
    got = decoded_spool(spool, tmp_path, (200, 1000))
    assert got.states(0) == [("runnable", 200, 450), ("running", 450, 1000)]
    assert got.levels() == {(1, 0): 250, (1, 1): 550}


def test_a_thread_found_in_state_r_that_makes_no_record_ran_all_the_time(tmp_path: Path) -> None:
    spool = Spool()
    spool.snapshot(100, A, "R")
    spool.snapshot(101, B, "S")
    spool.sched[0] = []
    got = decoded_spool(spool, tmp_path, (200, 1000))
    assert got.states(0) == [("running", 200, 1000)]
    assert got.levels() == {(1, 1): 800}


def test_the_window_cuts_what_began_before_it_and_what_goes_on_after_it(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, B, SLEEP)
    born.waking(600, 0, A)
    born.switch(900, 0, B, A)
    got = decoded_spool(born, tmp_path, (400, 800))
    assert got.states(0) == [("sleeping", 400, 600), ("runnable", 600, 800)]
    assert got.states(1) == [("running", 400, 800)]
    assert [row.is_open for row in got.slices] == [True, True]
    assert got.result["open_blocks"] == 0


def test_a_block_that_the_end_cuts_off_is_open(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, None, SLEEP)
    got = decoded_spool(born, tmp_path)
    assert got.of(0)[-1] == Slice(0, 1000, 700, 0, 0, 0, -1, 1, -1, False, True)
    assert got.result["open_blocks"] == 1


def test_stolen_time_is_what_the_thread_was_on_a_cpu_but_did_not_execute(born: Spool, tmp_path: Path) -> None:
    ms = 1_000_000
    born.switch(1 * ms, 0, None, A)
    born.switch(5 * ms, 0, A, None, SLEEP, exec_ns=3 * ms)
    born.waking(6 * ms, 0, A)
    born.switch(6 * ms, 0, None, A)
    born.switch(8 * ms, 0, A, None, SLEEP, exec_ns=5 * ms)
    got = decoded_spool(born, tmp_path, (100, 10 * ms))
    first, second, _ = got.of(0)
    assert first.stolen == ms // 1024 * 1024
    assert second.stolen == 0
    assert got.total("exec_ns", 0) == 5 * ms
    assert got.result["activity"]["stolen_ns"].sum() == first.stolen


def test_an_exit_tells_nothing_of_stolen_time(born: Spool, tmp_path: Path) -> None:
    ms = 1_000_000
    born.switch(1 * ms, 0, None, A)
    born.exit(9 * ms, A, exec_ns=1 * ms)  # the kernel's count as of the last tick, not as of now
    got = decoded_spool(born, tmp_path, (100, 9 * ms))
    (row,) = got.of(0)
    assert (row.running, row.stolen, row.is_open) == (8 * ms, 0, True)
    assert got.total("exec_ns", 0) == -1  # no switch-out ever told


def test_stolen_time_too_small_to_store_is_carried_to_the_next_interval(born: Spool, tmp_path: Path) -> None:
    for i in range(4):  # 400 of 1000 ns are stolen each time
        born.switch(2000 * i + 1000, 0, None, A)
        born.switch(2000 * i + 2000, 0, A, None, 0, exec_ns=600 * (i + 1))
    got = decoded_spool(born, tmp_path, (100, 9000))
    assert [row.stolen for row in got.of(0)] == [0, 0, 1000 // 1024 * 1024, 0, 0]
    assert got.total("exec_ns", 0) == 4 * 600


def test_headways_own_threads_count_nowhere(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(150, 1, None, B)
    got = decode(born, tmp_path / "spool", (100, 1000), kinds={1: 255})
    assert [row.thread for row in got.slices] == [0]
    assert got.levels() == {(1, 0): 50, (1, 1): 850}
    assert got.result["switches"] == 1


def test_without_wakings_in_the_records_a_wait_after_a_sleep_is_unknown(tmp_path: Path) -> None:
    spool = Spool(PERF)
    spool.fork(100, A)
    spool.switch(150, 0, None, A)
    spool.switch(300, 0, A, None, SLEEP)
    spool.switch(700, 0, None, A)
    spool.switch(800, 0, A, None, SLEEP, preempt=True)
    spool.switch(900, 0, None, A)
    got = decoded_spool(spool, tmp_path)
    assert [(row.blocked, row.runnable, row.running) for row in got.of(0)] == [
        (0, 50, 150),
        (400, None, 100),
        (0, 100, 100),
    ]
    assert [row.stolen for row in got.of(0)] == [None, None, None]
    assert got.total("runnable_ns", 0) == 150


def test_the_kernels_totals_fill_in_what_the_perf_collector_cannot_see(tmp_path: Path) -> None:
    spool = Spool(PERF)
    spool.fork(100, A)
    spool.switch(150, 0, None, A)
    spool.switch(300, 0, A, None, SLEEP)
    spool.switch(700, 0, None, A)
    spool.totals(800, A, exec_ns=200, waited_ns=60)  # ran for 150 + 100 until then, waited for 50
    got = decoded_spool(spool, tmp_path)
    assert got.total("total_stolen_ns", 0) == 50
    assert got.total("total_wait_ns", 0) == 10


# --- lost records ----------------------------------------------------------------------------------------------------


def test_two_threads_on_one_cpu_cannot_be_so_the_first_is_taken_off(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(400, 0, None, B)  # the record of A's switch-out was lost
    got = decoded_spool(born, tmp_path)
    assert got.states(0)[-2:] == [("running", 150, 400), ("sleeping", 400, 1000)]
    assert got.states(1)[-1] == ("running", 400, 1000)
    assert (got.result["resyncs"], got.result["overlaps"]) == (1, 1)


def test_a_thread_on_two_cpus_cannot_be_so_it_moved(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(400, 1, None, A)
    got = decoded_spool(born, tmp_path)
    assert [(row.start, row.running, row.cpu) for row in got.of(0)] == [(150, 250, 0), (400, 600, 1)]
    assert got.result["overlaps"] == 1


def test_a_switch_out_of_a_thread_that_did_not_run_is_put_right_and_counted(born: Spool, tmp_path: Path) -> None:
    born.switch(400, 0, A, None, SLEEP)
    got = decoded_spool(born, tmp_path)
    assert got.states(0) == [("runnable", 100, 400), ("sleeping", 400, 1000)]
    assert got.result["resyncs"] == 1


def test_a_thread_without_a_birth_is_a_stray_with_an_id_of_its_own(born: Spool, tmp_path: Path) -> None:
    born.switch(400, 0, None, C)
    got = decoded_spool(born, tmp_path)
    assert got.result["strays"] == [(C, 400)]
    assert got.states(2) == [("running", 400, 1000)]


def test_losses_are_kept_with_their_cpu_and_span(born: Spool, tmp_path: Path) -> None:
    born.loss(600, 1, 500, 7)
    assert decoded_spool(born, tmp_path).result["losses"] == [("sched", 1, 500, 600, 7)]


def test_records_out_of_order_within_a_cpu_are_put_in_order(born: Spool, tmp_path: Path) -> None:
    born.switch(150, 0, None, A)
    born.switch(300, 0, A, None, SLEEP)
    born.switch(450, 0, None, A)
    born.waking(400, 0, A, by=B)  # an interrupt's record, written behind the later one
    got = decoded_spool(born, tmp_path)
    assert got.states(0)[2:] == [("sleeping", 300, 400), ("runnable", 400, 450), ("running", 450, 1000)]


def test_a_switch_in_that_is_told_only_at_the_switch_out_is_put_where_it_belongs(born: Spool, tmp_path: Path) -> None:
    """Some switches the kernel reports to nobody; the collector tells them late, from the scheduler's own account."""
    for i in range(900):
        born.waking(200 + i, 0, B)
    born.switch(150, 0, None, A)
    born.switch(1200, 0, A, None, SLEEP)
    got = decoded_spool(born, tmp_path, (100, 2000))
    assert got.states(0) == [("runnable", 100, 150), ("running", 150, 1200), ("sleeping", 1200, 2000)]
    assert (got.result["late"], got.result["resyncs"]) == (0, 0)


def test_a_question_that_stays_open_for_too_long_is_answered_alike_in_rows_and_levels(
    born: Spool, tmp_path: Path
) -> None:
    """Thread A's fate hangs on a record that comes only after 70,000 changes: memory is bounded, so a guess stands."""
    born.switch(150, 0, None, A)
    born.waking(200, 1, A)
    born.switch(300, 0, A, None, SLEEP)
    for i in range(70_000):
        born.switch(400 + 2 * i, 1, None, B)
        born.switch(401 + 2 * i, 1, B, None, 0)
    born.switch(200_000, 0, None, A)
    got = decoded_spool(born, tmp_path, (100, 300_000))
    assert got.result["guesses"] == 1
    assert ("sleeping", 300, 200_000) in got.states(0)
    active = sum(ns * level[0] for level, ns in got.levels().items())
    totals = got.result["threads"]
    assert active == int((totals["running_ns"] + totals["runnable_ns"]).sum())
