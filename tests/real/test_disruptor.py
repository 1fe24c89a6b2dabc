"""Four threads that fill a Disruptor's ring for one slow consumer, and look for room again and again: what holds them up?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.drivers.real_servers import alone, asked, command, recorded, warnings_of
from support.drivers.recording_cli import headway

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
EVENTS, MILLIS = 200, 2
PLACE = "com.lmax.disruptor.MultiProducerSequencer.next"


@dataclass
class Measured:
    """The recording; how long the events took then, and without the consumer's sleeps, by the program's own clock."""

    recording: Path
    wall_ns: int
    without_ns: int
    errors: str


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    path = tmp_path_factory.mktemp("disruptor") / "ring.headway"
    done = recorded(path, command("RingBuffer", EVENTS, MILLIS), "--locks")
    return Measured(path, int(done.stdout), int(alone(command("RingBuffer", EVENTS, 0)).stdout), done.stderr)


def test_the_full_ring_is_where_the_producers_wait(measured: Measured) -> None:
    losses = asked(measured.recording, "why", "--cores", 16)["lost"][:2]
    assert {loss["cause"]: loss["place"]["method"] for loss in losses}["full_producer"] == PLACE
    first = asked(measured.recording, "locks")[0]
    assert first["place"].startswith(f"{PLACE}:")
    assert first["rule"]["id"] == "queue-full"


def test_no_gain_is_named_that_is_smaller_than_the_true_one(measured: Measured) -> None:
    faster = measured.wall_ns / measured.without_ns
    assert faster > 3, "the consumer's sleeps are what makes it long"
    said = asked(measured.recording, "why")
    (asleep,) = (loss for loss in said["lost"] if loss["cause"] == "sleep" and loss["place"]["thread"] == "consumer")
    # The producers look as often as they did in a replay: what it would be without the sleeps it can't tell.
    assert (asleep["likely_speedup"], asleep["likely_refused"]) == (None, "HW903")
    assert asleep["bound_speedup"] > 1.5


def test_the_consumer_that_sleeps_is_shown_although_its_gain_is_unknown(measured: Measured) -> None:
    done = headway("why", measured.recording)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    assert [words[1] for words in lines if words[:1] == ["sleep"]] == ["consumer"], done.stdout


def test_whatif_says_that_its_predictions_keep_these_waits(measured: Measured) -> None:
    done = headway("whatif", "--no-sleep", "consumer=0", measured.recording)
    assert "HW903" in done.stdout + done.stderr, done.stdout


def test_the_program_wrote_nothing_else(measured: Measured) -> None:
    assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors
    assert len(warnings_of(measured.recording)) <= 1
