"""Virtual threads that wait for a socket wait for I/O; a lock that others sleep with is a row of its own."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, JDK_21, compile_java

pytestmark = pytest.mark.root
PROGRAM = Path(__file__).parents[2] / "programs" / "VirtualSockets.java"
TURNS, SLEPT_NS = 25, 4_000_000
"""How often each of two threads takes the lock, and how long it sleeps with it."""


@dataclass(frozen=True)
class Run:
    """What `headway locks` and `headway why` say of a run."""

    locks: list[dict[str, Any]]
    lost: list[dict[str, Any]]


@pytest.fixture(scope="module", params=[JDK_21, JAVAS["jdk25"]], ids=["jdk21", "jdk25"])
def run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("sockets")
    compile_java(folder, PROGRAM)
    path = folder / "a.headway"
    done = headway("record", "--locks", "-o", path, "--", request.param, "-cp", folder, "VirtualSockets")
    assert done.returncode == 0, done.stderr
    locks, why = (json.loads(headway(command, path, "--json").stdout) for command in ("locks", "why"))
    return Run(locks, why["lost"])


def test_a_virtual_thread_that_waits_for_a_socket_is_no_contention(run: Run) -> None:
    reads = [site for row in run.locks for site in row["sites"] if site["line"].startswith("VirtualSockets.read:")]
    assert {(site["rule"], site["contention"]) for site in reads} == {("network", False)}


def test_no_condition_is_a_cause_of_what_waits_for_a_socket(run: Run) -> None:
    places = {(row["cause"], (row.get("place") or {}).get("method")) for row in run.lost}
    assert ("condition", "VirtualSockets.read") not in places


def test_the_lock_that_is_slept_with_is_held_for_no_less_than_the_sleep(run: Run) -> None:
    """Nothing of the lock that a sleep takes inside the JVM for microseconds, at the same line, is in this mean."""
    shared = max(
        (row for row in run.locks if row["place"].startswith("VirtualSockets.share:") and row["contention"]),
        key=lambda row: row["parking_thread_time_ns"],
    )
    assert shared["objects"] == 1
    # Each of its holds sleeps that long; one in the JVM takes microseconds.
    assert shared["true_hold_time_ns"]["mean"] >= SLEPT_NS
    assert shared["true_hold_time_ns"]["count"] <= 2 * TURNS
