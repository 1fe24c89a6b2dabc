"""A Quartz scheduler that one attaches to, with a millisecond's job every half second: is anything holding it back?"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pytest

from headway.analyses.overview import overview
from headway.store import open_recording
from support.drivers.real_servers import active_ns, asked, attach, serving, warnings_of
from support.drivers.recording_cli import headway

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SECONDS = 3


@dataclass
class Measured:
    """The recording, how long threads of the scheduler ran or were ready meanwhile by the kernel, and what ran in it."""

    recording: Path
    active_ns: int
    jobs: int
    errors: str
    code: int | None


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    recording = tmp_path_factory.mktemp("quartz") / "quartz.headway"
    with serving("QuartzScheduler") as server:
        time.sleep(1.5)  # what it loads for its first job is no part of the question
        before, began_ns = server.ask()[0], active_ns(server.process.pid)
        attach(server, recording, SECONDS, "--locks")
        worked_ns = active_ns(server.process.pid) - began_ns
        jobs = server.ask()[0] - before
    return Measured(recording, worked_ns, jobs, server.errors, server.code)


def test_that_it_waited_for_its_time_comes_first_and_for_as_long_as_the_kernel_says(measured: Measured) -> None:
    done = headway("why", measured.recording)
    assert done.returncode == 0, done.stderr
    first = next(line for line in done.stdout.splitlines() if line.lstrip().startswith("*"))
    assert "waited for work from outside for" in first, done.stdout
    said = asked(measured.recording, "why")
    # At most one thread was at work, or about to, at a time.
    assert said["wall_ns"] - said["outside_ns"] < measured.active_ns + 0.05 * said["wall_ns"], measured
    findings = [each.id for each in overview(open_recording(measured.recording)).findings if each.id != "others"]
    assert findings[:2] == ["idle", "cores"]


def test_its_clock_and_its_workers_are_no_cause_and_no_contended_lock(measured: Measured) -> None:
    said = asked(measured.recording, "why")
    waiting = {"lock_contention", "condition", "sleep", "starved_consumer"}
    assert not [each for each in said["lost"] if each["cause"] in waiting and (each["likely_speedup"] or 1) > 1.05], (
        said
    )
    clock = [each for each in said["idle"] if each["method"] == "QuartzSchedulerThread.run"]
    assert [each["role"] for each in clock] == ["timer"], said["idle"]
    rows = {row["place"].rpartition(":")[0]: row for row in asked(measured.recording, "locks")}
    for name, rule in (("QuartzSchedulerThread.run", "periodic"), ("SimpleThreadPool$WorkerThread.run", "worker")):
        (row,) = (row for place, row in rows.items() if place.endswith(name))
        assert (row["rule"]["id"], row["contention"]) == (rule, False), row


def test_the_scheduler_ran_its_jobs_and_wrote_nothing_else(measured: Measured) -> None:
    assert measured.code == 0
    assert measured.errors == ""
    assert measured.jobs >= 2 * SECONDS - 1
    assert len(warnings_of(measured.recording)) <= 1
