"""A Tomcat that one attaches to, idle and under light load: what held it back?"""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from headway.analyses.overview import overview
from headway.store import open_recording
from support.drivers.real_servers import asked, attach, clients, serving, warnings_of
from support.drivers.recording_cli import headway

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SECONDS = 3
REQUEST_US = 4000
PAUSE_S = 0.04


@dataclass
class Measured:
    """Recordings of one Tomcat, idle and loaded, and what it and its clients measured themselves."""

    idle: Path
    loaded: Path
    took: list[float] = field(default_factory=list)
    requests: int = 0
    worked_ns: int = 0
    errors: str = ""
    code: int | None = None


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    folder = tmp_path_factory.mktemp("tomcat")
    found = Measured(folder / "idle.headway", folder / "loaded.headway")
    with serving("TomcatServer") as server:
        server.get(REQUEST_US)  # what it loads for its first request is no part of the question
        time.sleep(1)
        attach(server, found.idle, SECONDS, "--locks")
        with clients(server, 1, REQUEST_US, PAUSE_S) as took:
            time.sleep(0.5)
            attach(server, found.loaded, SECONDS, "--locks")
        found.took = took
    found.requests, found.worked_ns = (int(word) for word in server.said)
    found.errors, found.code = server.errors, server.code
    return found


def test_an_idle_server_waited_for_work_from_outside_and_lost_nothing(measured: Measured) -> None:
    # Beside others, a thread of the server's own housekeeping is at it for as long as it has no core.
    said = asked(measured.idle, "why")
    assert said["outside_ns"] / said["wall_ns"] > 0.97, said
    assert said["lost_ns"] < 0.02 * said["core_ns"], said["lost"]
    assert all((loss["likely_speedup"] or 1) < 1.03 for loss in said["lost"]), said["lost"]
    roles = {each["role"] for each in said["idle"]}
    assert {"event loop", "accept loop"} <= roles, said["idle"]


def test_that_it_was_idle_is_the_first_sentence_wherever_one_asks(measured: Measured, tmp_path: Path) -> None:
    done = headway("why", measured.idle)
    assert done.returncode == 0, done.stderr
    first = next(line for line in done.stdout.splitlines() if line.lstrip().startswith("*"))
    assert "waited for work from outside for" in first, done.stdout
    sentence = asked(measured.idle, "walltime")["idle"]
    assert "waited for work from outside for" in sentence
    for command in ("walltime", "whatif"):
        assert headway(command, measured.idle).stdout.startswith("* The program waited for work from outside"), command
    page = tmp_path / "report.html"
    done = headway("report", measured.idle, "-o", page)
    assert done.returncode == 0, done.stderr
    findings = overview(open_recording(measured.idle)).findings
    assert [each.id for each in findings if each.id != "others"][:2] == ["idle", "cores"]
    assert "lost_most" not in {each.id for each in findings}
    assert findings[[each.id for each in findings].index("idle")].text in page.read_text()


def test_no_lock_of_an_idle_server_is_contended(measured: Measured) -> None:
    rows = asked(measured.idle, "locks")
    # Two of its threads may meet at a lock once, and one of them be off its CPU meanwhile.
    locks = [row for row in rows if row["waiting"] == "lock contention"]
    waited_ns = sum(row["parking_thread_time_ns"] for row in locks)
    assert waited_ns < 0.05 * asked(measured.idle, "why")["wall_ns"], rows
    assert not [row for row in rows if row.get("lost_core_ns") and row not in locks], rows


def test_under_light_load_the_rest_of_the_time_is_idle_and_work_is_where_the_servlet_computes(
    measured: Measured,
) -> None:
    said = asked(measured.loaded, "why")
    idle = said["outside_ns"] / said["wall_ns"]
    # At least as long as the client did not wait for an answer, and at most as long as the servlet did not compute.
    period_s = PAUSE_S + sum(measured.took) / len(measured.took)
    asking, working = 1 - PAUSE_S / period_s, measured.worked_ns / measured.requests / 1e9 / period_s
    assert 1 - asking - 0.05 < idle < 1 - working + 0.05, (asking, idle, working)
    false = {"lock_contention", "io", "condition", "sleep", "gc_pause", "imbalance", "starved_consumer"}
    assert not [loss for loss in said["lost"] if loss["cause"] in false and loss["share"] > 0.02], said["lost"]


def test_the_server_answered_every_request_and_wrote_nothing_else(measured: Measured) -> None:
    assert measured.code == 0
    assert measured.errors == ""
    assert measured.requests == len(measured.took) + 1
    assert measured.worked_ns >= measured.requests * REQUEST_US * 1000


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    for recording in (measured.idle, measured.loaded):
        assert len(warnings_of(recording)) <= 1
