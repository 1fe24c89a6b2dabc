"""What programs of known lost cores are compared with, and when a run of one tells nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.lost_cores.types import USED
from headway.store import open_recording
from lib import lost_programs
from lib.lost_programs import Comparison, Loss, Played, Ready
from support.builders import synthetic
from support.builders.synthetic import ORIGIN, FakeThread

KNOWN = Played("lock", ORIGIN, ORIGIN + 1000, (Loss("lock_contention", "none", "", 400),), 0, 0)


def ready(
    path: Path, threads: Sequence[FakeThread], span: tuple[int, int], gaps: Sequence[tuple[int, int, int]] = ()
) -> Ready:
    """Return what is said of a span of threads that are there for 100 ns, on two CPUs."""
    rows = [{"cpu": 1, "start_ns": ORIGIN + at, "dur_ns": dur, "other_ns": other} for at, dur, other in gaps]
    recording = open_recording(synthetic.write(path, threads, 100, tables={"cpu_gap": rows}))
    return lost_programs.ready(recording, Played("lock", ORIGIN + span[0], ORIGIN + span[1], (), 0, 0))


WORKS = FakeThread("app", 0, [("R", 100)])


@pytest.mark.parametrize(
    ("other", "span", "message"),
    [
        ([("W", 40), ("R", 60)], (0, 100), Ready(0, 40, 40)),  # born, and left beside another one
        ([("R", 10), ("W", 30), ("R", 60)], (0, 100), Ready(0, 30, 30)),  # taken off
        ([("R", 10), ("B", 30), ("W", 20), ("R", 40)], (0, 100), Ready(20, 20)),  # woken
        ([("R", 10), ("B", 30), ("W", 20), ("R", 40)], (50, 100), Ready(10, 10)),
        ([("R", 100)], (0, 100), Ready(0, 0)),
    ],
)
def test_cores_that_were_idle_while_a_thread_was_ready_are_counted(
    tmp_path: Path, other: list[tuple[str, int]], span: tuple[int, int], message: Ready
) -> None:
    assert ready(tmp_path / "r", [WORKS, FakeThread("app", 0, other)], span) == message


def test_who_waits_while_all_cores_are_taken_is_not_kept_off_an_idle_one(tmp_path: Path) -> None:
    waits = FakeThread("app", 0, [("W", 40), ("R", 60)])
    assert ready(tmp_path / "full", [WORKS, FakeThread("jit", 0, [("R", 40)]), waits], (0, 100)) == Ready(0, 0, 40)
    # Others had half of the other CPU meanwhile.
    assert ready(tmp_path / "half", [WORKS, waits], (0, 100), [(0, 40, 20)]) == Ready(0, 20, 40)


def account_json(**lost: int) -> dict[str, Any]:
    """Return an account of two cores that lost so much to causes."""
    rows = [{"cause": cause, "core_ns": ns, "place": {"lock": None, "thread": None}} for cause, ns in lost.items()]
    used = dict.fromkeys(USED, 0)
    return {"used": used, "stolen_ns": 0, "other_processes_ns": 0, "core_ns": 2000, "cores": 2, "lost": rows}


def compared(ready: Ready, **lost: int) -> Comparison:
    return lost_programs.compare(KNOWN, account_json(**lost), ready)


def test_what_the_kernel_says_of_waiting_for_a_core_is_no_noise_and_the_scheduler_has_just_that() -> None:
    right = compared(Ready(0, 300), lock_contention=400, scheduler=300)
    assert right.undecided() is None
    assert (right.share("lock_contention"), right.wrong()) == (1, 0)
    assert compared(Ready(0, 300), lock_contention=400, scheduler=340).wrong() == pytest.approx(0.1)
    assert compared(Ready(0, 300), lock_contention=400, scheduler=200).wrong() == pytest.approx(0.25)
    assert compared(Ready(0, 300), lock_contention=400, scheduler=300, sleep=40).wrong() == pytest.approx(0.1)


def test_a_run_in_which_half_of_what_is_known_may_be_missing_tells_nothing() -> None:
    # Just woken threads are in what the program knows; how much of it was theirs to the last is not told.
    assert compared(Ready(199, 199), lock_contention=201, scheduler=199).undecided() is None
    reason = compared(Ready(200, 200), lock_contention=200, scheduler=200).undecided()
    assert "that is not below half" in str(reason)


def test_what_is_found_beyond_what_the_program_knows_is_wrong_unless_threads_were_taken_off_their_cores() -> None:
    assert compared(Ready(0, 0), lock_contention=440).excess("lock_contention") == pytest.approx(0.1)
    # For 30 ns a thread was off its core, and may have held up the one on the other core.
    assert compared(Ready(0, 0, 30), lock_contention=440).excess("lock_contention") == pytest.approx(0.025)
    assert compared(Ready(0, 0, 40), lock_contention=440).excess("lock_contention") == 0
