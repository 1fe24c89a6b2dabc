"""A Groovy script whose pool of threads shares a lock: which line of the script holds it back?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.drivers import real_programs
from support.drivers.busy_machine import quietly
from support.drivers.real_programs import SCRIPT, TASKS
from support.drivers.real_programs import SCRIPT_THREADS as THREADS
from support.drivers.real_servers import OwnClocks, asked, asleep_or_ready, lost, recorded, rivals, warnings_of

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SLEEP_NS = 5_000_000
"""So long each task sleeps with the lock."""


@dataclass
class Measured:
    """The recording; how long the tasks took and waited for the lock, by the script's own clock."""

    recording: Path
    wall_ns: int
    waited_ns: int
    tasks: int
    errors: str


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    def measure(folder: Path) -> Measured:
        path = folder / "script.headway"
        done = recorded(path, real_programs.script("shared").words, "--locks")
        wall_ns, waited_ns, tasks = (int(word) for word in done.stdout.split())
        return Measured(path, wall_ns, waited_ns, tasks, done.stderr)

    return quietly(measure, tmp_path_factory.mktemp("groovy"))


def test_the_scripts_lock_is_the_first_of_the_locks_by_the_line_that_waits(measured: Measured) -> None:
    first, *others = asked(measured.recording, "locks")
    line = next(i for i, each in enumerate(SCRIPT.read_text().splitlines(), 1) if each.endswith("// waits"))
    assert first["place"].startswith("SharedCache$_run_closure")
    assert first["place"].endswith(f"doCall:{line}")
    assert not rivals(first, others)


def test_its_waits_are_those_that_the_script_measured(measured: Measured) -> None:
    first = asked(measured.recording, "locks")[0]
    assert first["parking_thread_time_ns"] == pytest.approx(measured.waited_ns, rel=0.05)


def test_it_is_the_first_cause_beside_the_sleep_of_who_has_it(measured: Measured) -> None:
    own = lost(asked(measured.recording, "why"))
    lock = next(loss for loss in own if loss["cause"] == "lock_contention")
    assert lock["place"]["method"].startswith("SharedCache$_run_closure")
    assert {loss["cause"] for loss in own[: own.index(lock)]} <= {"sleep"}, own[:3]
    assert asleep_or_ready(asked(measured.recording, "locks")[0]) > 0.6


def test_what_would_be_gained_is_what_the_tasks_waited_for_the_lock(measured: Measured) -> None:
    said = asked(measured.recording, "why")
    lock = next(loss for loss in lost(said) if loss["cause"] == "lock_contention")
    own = OwnClocks(measured.wall_ns, measured.waited_ns / THREADS, TASKS / THREADS * SLEEP_NS)
    own.check_loss(lock, measured.recording)


def test_the_script_does_what_it_does_without_headway(measured: Measured) -> None:
    assert measured.tasks == TASKS
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
