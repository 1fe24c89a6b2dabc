"""What the counters of a CPU give each slice: one small spool per rule, and the counts that it must give, or none.

Thread_id 0 is tid 10, thread_id 1 is tid 11. Counters stand at (a, b, ns not counted); times are ns.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from support.builders.spool_builder import SLEEP, Decoded, Spool, decode

A, B = 10, 11
WINDOW = (100, 10_100)
Counts = list[int] | None


@pytest.fixture
def born() -> Spool:
    """Two threads, born and first woken at 100 and 110; two counters in one group."""
    spool = Spool(counters=(2, 1))
    for ns, tid in ((100, A), (110, B)):
        spool.fork(ns, tid)
        spool.waking(ns, 0, tid, new=True)
    return spool


def counted(spool: Spool, tmp_path: Path, window: tuple[int, int] = WINDOW) -> list[tuple[int, int, Counts]]:
    """Return (thread, running ns, counts) of the slices that ran."""
    return rows_of(decode(spool, tmp_path / "spool", window))


def rows_of(got: Decoded) -> list[tuple[int, int, Counts]]:
    rows = zip(got.slices, got.counts, strict=True)
    return [(row.thread, row.running, counts) for row, counts in rows if row.running]


def test_a_slice_has_what_was_counted_between_its_two_switches(born: Spool, tmp_path: Path) -> None:
    born.switch(200, 0, None, A, counts=(1000, 50, 0))
    born.switch(300, 0, A, B, counts=(1007, 50, 10))
    born.switch(600, 0, B, None, counts=(1100, 51, 10))
    assert counted(born, tmp_path) == [(0, 100, [7, 0, 10]), (1, 300, [93, 1, 0])]


def test_each_cpu_counts_by_itself(born: Spool, tmp_path: Path) -> None:
    born.switch(200, 0, None, A, counts=(1000, 50, 0))
    born.switch(210, 1, None, B, counts=(7, 8, 9))
    born.switch(300, 0, A, None, counts=(1001, 52, 3))
    born.switch(310, 1, B, None, counts=(17, 18, 19))
    assert counted(born, tmp_path) == [(0, 100, [1, 2, 3]), (1, 100, [10, 10, 10])]


@pytest.mark.parametrize("missing", ["in", "out"])
def test_a_switch_at_which_nothing_could_be_read_leaves_its_slice_unknown(
    born: Spool, tmp_path: Path, missing: str
) -> None:
    born.switch(200, 0, None, A, counts=None if missing == "in" else (1000, 50, 0))
    born.switch(300, 0, A, B, counts=None if missing == "out" else (1007, 50, 0))
    born.switch(600, 0, B, None, counts=(1100, 51, 0))
    assert counted(born, tmp_path)[0] == (0, 100, None)
    assert counted(born, tmp_path)[1] == (1, 300, [93, 1, 0] if missing == "in" else None)


def test_counters_that_go_back_are_not_known(born: Spool, tmp_path: Path) -> None:
    born.switch(200, 0, None, A, counts=(1000, 50, 0))
    born.switch(300, 0, A, None, counts=(1007, 49, 0))
    assert counted(born, tmp_path) == [(0, 100, None)]


def test_a_slice_that_reaches_out_of_the_window_has_its_share_of_time(born: Spool, tmp_path: Path) -> None:
    born.switch(200, 0, None, A, counts=(1000, 0, 0))
    born.switch(1200, 0, A, None, counts=(2000, 0, 100))
    assert counted(born, tmp_path, (700, 10_700)) == [(0, 500, [500, 0, 50])]
    assert counted(born, tmp_path, (100, 1100)) == [(0, 900, [900, 0, 90])]


def test_who_runs_when_the_recording_ends_is_counted_by_the_reading_that_is_made_then(
    born: Spool, tmp_path: Path
) -> None:
    born.switch(5100, 0, None, A, counts=(1000, 0, 0))
    born.reading(10_350, 0, A, (1525, 0, 0))
    assert counted(born, tmp_path) == [(0, 5000, [500, 0, 0])]


def test_who_runs_when_a_recording_begins_is_counted_from_the_reading_that_is_made_then(tmp_path: Path) -> None:
    spool = Spool(counters=(2, 1))
    spool.snapshot(40, A, "R")
    spool.reading(50, 0, A, (1000, 0, 0))
    spool.switch(1150, 0, A, None, SLEEP, counts=(2100, 11, 0))
    assert counted(spool, tmp_path) == [(0, 1050, [1050, 10, 0])]


def test_a_first_reading_is_not_all_that_a_thread_counted_that_never_left_its_cpu(born: Spool, tmp_path: Path) -> None:
    """It was read 100 ns after it came, and ran for 9,900 ns more of which nothing is known."""
    born.switch(100, 0, None, A, counts=(1000, 50, 0))
    born.reading(200, 0, A, (1001, 50, 0))
    assert counted(born, tmp_path) == [(0, 10_000, None)]


def test_a_reading_long_after_a_thread_came_is_not_where_its_counts_begin(tmp_path: Path) -> None:
    spool = Spool(counters=(2, 1))
    spool.snapshot(40, A, "R")
    spool.reading(5100, 0, A, (1000, 0, 0))
    spool.switch(10_000, 0, A, None, SLEEP, counts=(2100, 11, 0))
    assert counted(spool, tmp_path) == [(0, 9900, None)]


def test_the_counts_of_a_lost_stretch_are_of_no_slice(born: Spool, tmp_path: Path) -> None:
    """A came to CPU 0 at 200. That it left, ran on CPU 1, and came back shortly before 5,000, is lost but for CPU 1's part."""
    born.switch(200, 0, None, A, counts=(1000, 0, 0))
    born.switch(4000, 1, None, A, counts=(77, 0, 0))
    born.switch(4500, 1, A, None, SLEEP, counts=(78, 1, 0))
    born.switch(5000, 0, A, None, SLEEP, counts=(9000, 8000, 0))
    found = counted(born, tmp_path)
    assert (0, 500, [1, 1, 0]) in found
    assert all(counts in (None, [1, 1, 0]) for _, _, counts in found)


def test_a_cpu_whose_header_is_damaged_loses_its_own_counts_and_is_named(born: Spool, tmp_path: Path) -> None:
    for cpu, tid in ((0, A), (1, B)):
        born.switch(200, cpu, None, tid, counts=(1000, 50, 0))
        born.switch(300, cpu, tid, None, counts=(1007, 50, 0))
    born.switch(300, 2, None, A, counts=(0, 0, 0))
    born.switch(400, 2, A, None, counts=(5, 5, 5))
    born.counters_of[1] = (1, 2)
    got = decode(born, tmp_path / "spool", WINDOW)
    assert rows_of(got) == [(0, 100, [7, 0, 0]), (1, 100, None), (0, 100, [5, 5, 5])]
    assert [problem.rpartition("/")[2] for problem in got.result["problems"]] == [
        "sched-cpu1.spool: its header has other counters than those of most CPUs: its counts are left out"
    ]


@pytest.mark.parametrize("damaged", [(0, 0), (200, 1), (2, 0), (2, 9), (1, 2), (65535, 65535)])
def test_one_of_two_cpus_with_impossible_counters_costs_the_other_nothing(
    born: Spool, tmp_path: Path, damaged: tuple[int, int]
) -> None:
    for cpu, tid in ((0, A), (1, B)):
        born.switch(200, cpu, None, tid, counts=(1000, 50, 0))
        born.switch(300, cpu, tid, None, counts=(1007, 50, 0))
    born.counters_of[0] = damaged
    got = decode(born, tmp_path / "spool", WINDOW)
    assert rows_of(got) == [(0, 100, None), (1, 100, [7, 0, 0])]
    assert "sched-cpu0.spool" in got.result["problems"][0]


@pytest.mark.parametrize("said", [(1, 1), (3, 1), (2, 2), (16, 8)])
def test_records_that_are_not_as_long_as_the_header_says_have_no_counts(
    born: Spool, tmp_path: Path, said: tuple[int, int]
) -> None:
    born.switch(200, 0, None, A, counts=(1000, 50, 0))
    born.switch(300, 0, A, None, counts=(1007, 50, 0))
    born.counters = said
    assert counted(born, tmp_path) == [(0, 100, None)]
