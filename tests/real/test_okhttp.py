"""Sixty calls to one host that OkHttp lets run five at once: why do they take so long, while cores are idle?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.busy_machine import TRIES
from support.drivers.real_servers import asked, command, is_crowded, recorded, warnings_of

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
CALLS, MILLIS = 60, 80
CORES = 16
"""More than there are: however busy the machine is with others, cores are idle."""


@dataclass
class Measured:
    """The recording; how many calls OkHttp lets run at once, how many were answered, and how long all took, by the program."""

    recording: Path
    limit: int
    answered: int
    wall_ns: int
    errors: str

    def dispatched(self) -> dict[str, Any]:
        """Return the loss to the threads that make the calls."""
        losses = asked(self.recording, "why", "--cores", CORES)["lost"]
        found = [loss for loss in losses if (loss["place"]["thread"] or "").startswith("OkHttp Dispatcher")]
        return next(loss for loss in found if loss["cause"] == "io")


def measure(path: Path, *limit: int) -> Measured:
    """Record the calls."""
    done = recorded(path, command("CallsPerHost", CALLS, MILLIS, *limit), "--locks")
    at_once, answered, wall_ns = (int(word) for word in done.stdout.split())
    return Measured(path, at_once, answered, wall_ns, done.stderr)


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """Record until it is known how many were at work at once, which may be unknown only where others had the cores."""
    folder = tmp_path_factory.mktemp("okhttp")
    for attempt in range(TRIES):
        found = measure(folder / f"calls{attempt}.headway")
        if "at_once" in found.dispatched()["figures"] or not is_crowded(asked(found.recording, "why")):
            break
    return found


def test_the_limit_of_calls_per_host_is_named_with_the_waits_of_the_calls(measured: Measured) -> None:
    assert measured.wall_ns > CALLS / measured.limit * MILLIS * 1e6, "the limit is what makes it long"
    loss = measured.dispatched()
    assert loss["figures"]["at_once"] == measured.limit
    (said,) = (text for text in loss["evidence"] if "at once" in text)
    assert "calls per host" in said


def test_nobody_waits_for_a_lock_or_a_condition(measured: Measured) -> None:
    of = asked(measured.recording, "why", "--cores", CORES)
    for cause in ("lock_contention", "condition", "starved_consumer", "full_producer"):
        assert of["by_cause"].get(cause, 0) < 0.05 * of["core_ns"], of["by_cause"]


def test_calls_that_all_run_at_once_have_no_limit(tmp_path: Path) -> None:
    free = measure(tmp_path / "free.headway", CALLS)
    assert free.limit == free.answered == CALLS
    assert not [text for text in free.dispatched()["evidence"] if "at once" in text]


def test_the_program_does_what_it_does_without_headway(measured: Measured) -> None:
    assert measured.answered == CALLS
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors


def test_few_warnings_mark_what_is_said(measured: Measured) -> None:
    assert len(warnings_of(measured.recording)) <= 1
