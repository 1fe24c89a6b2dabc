"""`headway whatif --no-sleep`: programs whose time after shorter sleeps arithmetic knows, and what can't be asked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.whatif.analysis import whatif
from headway.analyses.whatif.ranking import ranking
from headway.analyses.whatif.types import Change, SleepChange, WhatIf
from headway.errors import HeadwayError
from headway.store import open_recording
from support.builders import sample_builder
from support.builders.lock_builder import LockRecording, Wait
from support.builders.replay_builder import TIMED_FUTEX, Slice, write
from support.builders.synthetic import FakeThread

pytestmark = pytest.mark.usefixtures("intervals_of_one_run")

Run = Callable[..., tuple[int, str, str]]
US = 1000
SLEEPS = [
    Slice(0, 0, 0, 0, 10),
    Slice(0, 10, 510, 510, 520, blocked_in=TIMED_FUTEX, irq=True),
    Slice(0, 520, 720, 720, 730, blocked_in=TIMED_FUTEX, irq=True),
]
"""A thread computes 10 three times, and sleeps 500 and 200 in between."""
WALL = 730
REST, NAP = ("java.lang.Thread.sleep", "com.acme.Poller.rest"), ("java.lang.Thread.sleep", "com.acme.Poller.nap")
SAMPLES = {511: REST, 721: NAP}


def sampled(
    path: Path, slices: Sequence[Slice] = SLEEPS, wall: int = WALL, samples: dict[int, Any] = SAMPLES, **facts: Any
) -> Path:
    """Write a recording with samples of sleeping threads: by time in microseconds the stack, innermost frame first."""
    taken = [(0, at * US, US, tuple(reversed(stack))) for at, stack in samples.items()]
    tables = sample_builder.tables({"wall": taken})
    return write(path, slices, wall, 1, tables=tables, **facts)


def changed(path: Path, *sleeps: tuple[str, float], **change: Any) -> WhatIf:
    """Return what becomes of a recording with other sleeps, in seconds."""
    asked = tuple(SleepChange(re.compile(place), seconds) for place, seconds in sleeps)
    return whatif(open_recording(path), [1], Change(1, sleeps=asked, **change))


def wall_us(path: Path, *sleeps: tuple[str, float], **change: Any) -> float:
    """Return the predicted wall time in microseconds."""
    (found,) = changed(path, *sleeps, **change).predicted
    return found.wall_ns / US


def test_sleeps_that_match_last_as_long_as_asked_and_others_as_long_as_they_lasted(tmp_path: Path) -> None:
    path = sampled(tmp_path / "a.headway")
    assert wall_us(path, ("rest", 0)) == WALL - 500
    assert wall_us(path, ("nap", 0)) == WALL - 200
    assert wall_us(path, (r"Poller\.", 0)) == 30
    assert wall_us(path, ("rest", 0), ("nap", 0)) == 30


def test_the_kernel_ends_a_sleep_up_to_its_slack_late(tmp_path: Path) -> None:
    (found,) = changed(sampled(tmp_path / "a.headway"), ("rest", 100e-6)).predicted
    assert (found.low_ns, found.wall_ns, found.high_ns) == (330 * US, 380 * US, 380 * US)


def test_a_longer_sleep_takes_longer(tmp_path: Path) -> None:
    assert wall_us(sampled(tmp_path / "a.headway"), ("nap", 0.001)) == WALL + 800 + 50


def test_sleeps_are_changed_together_with_other_things(tmp_path: Path) -> None:
    path = sampled(tmp_path / "a.headway")
    assert wall_us(path, ("rest", 0), clock=2.0) == 15 + 200
    other = open_recording(sampled(tmp_path / "b.headway"))
    sleep = SleepChange(re.compile("Poller"), 0)
    found = whatif(open_recording(path), [1], Change(1, sleeps=(sleep,)), other).predicted
    alone, together = (sorted(each.wall_ns for each in found if each.together is both) for both in (False, True))
    assert alone == [30 * US, WALL * US]
    # Both compute 10 on the one core at once, and the first one 20 more, beside the other one's sleep of 500.
    assert together == [40 * US, (WALL + 10) * US]


def test_what_a_sample_cut_in_two_is_one_sleep(tmp_path: Path) -> None:
    cut = [
        Slice(0, 0, 0, 0, 10),
        Slice(0, 10, 200, 200, 205, waker=1, blocked_in=TIMED_FUTEX),
        Slice(0, 205, 510, 510, 520, blocked_in=TIMED_FUTEX, irq=True),
        Slice(1, 0, 100, 100, 201),
    ]
    path = sampled(tmp_path / "a.headway", cut, 520, {202: REST}, samplers=[1])
    assert wall_us(path) == 520
    assert wall_us(path, ("rest", 0)) == 20
    assert wall_us(path, ("rest", 0.001)) == 20 + 1050


MS = 1000
LATE = [
    Slice(0, 0, 0, 0, 10 * MS),
    Slice(0, 10 * MS, 20 * MS, 22 * MS, 22 * MS + 300, waker=1, blocked_in=TIMED_FUTEX),
    Slice(0, 22 * MS + 300, 42 * MS, 42 * MS, 50 * MS, blocked_in=TIMED_FUTEX, irq=True),
    Slice(1, 0, 5 * MS, 5 * MS, 20 * MS + 1),
]
"""A sample wakes a thread after 10 ms asleep; it gets a core 2 ms later, runs for 0.3 ms, and sleeps for 20 ms, on or anew."""


def test_what_a_thread_slept_that_ran_late_after_a_sample_is_in_the_interval_as_one_sleep_or_two(
    tmp_path: Path,
) -> None:
    path = sampled(tmp_path / "a.headway", LATE, 50 * MS, {15 * MS: REST, 23 * MS: REST}, samplers=[1])
    (same,) = whatif(open_recording(path), [1]).predicted
    # To be woken takes 2 ms, at the ends none and three times that; by 2 ms sleeps may be shorter or longer.
    assert (same.low_ns, same.wall_ns, same.high_ns) == (46e6, 50e6, 56e6)
    (found,) = changed(path, ("rest", 0.005)).predicted
    one, two = 18.3e6 + 5e6, 18.3e6 + 10e6
    assert found.low_ns <= one < two <= found.high_ns


def test_a_run_whose_sleeps_are_unsure_for_more_than_a_tenth_is_refused_by_name(tmp_path: Path) -> None:
    late = [LATE[0], LATE[1]._replace(start=32 * MS, end=32 * MS + 300), *LATE[3:]]
    late.insert(2, Slice(0, 32 * MS + 300, 52 * MS, 52 * MS, 60 * MS, blocked_in=TIMED_FUTEX, irq=True))
    path = sampled(tmp_path / "a.headway", late, 60 * MS, {15 * MS: REST, 33 * MS: REST}, samplers=[1])
    (run,) = whatif(open_recording(path), [1]).replays
    assert run.refused is not None
    assert (run.refused.id, "12.0 ms" in run.refused.message) == ("HW870", True)


def test_a_wait_for_another_thread_that_a_sample_cut_in_two_is_that_one_s(tmp_path: Path) -> None:
    """Before, nobody was known to have ended its first half."""
    cut = [
        Slice(0, 0, 0, 0, 400),
        Slice(1, 0, 200, 200, 205, waker=2),
        Slice(1, 205, 400, 400, 500, waker=0),
        Slice(2, 0, 100, 100, 201),
    ]
    path = write(tmp_path / "a.headway", cut, 500, 3, samplers=[2], ended_by="duration")
    found = whatif(open_recording(path), [3], Change(1, clock=2.0))
    assert [each.wall_ns for each in found.predicted] == [250 * US]


def test_waits_with_a_time_limit_have_the_place_that_recorded_locks_know(tmp_path: Path) -> None:
    frames = [("jdk.internal.misc.Unsafe", "park"), ("java.util.concurrent.locks.LockSupport", "parkNanos")]
    recording = LockRecording(
        threads=[FakeThread(states=[("R", 10), ("B", 500), ("R", 10)])],
        waits=[Wait(0, 0, 10, 510, is_timed=True, stack=0)],
        classes=[""],
        stacks=[[*frames, ("com.acme.Poller", "run")]],
        wakers={0: [(-1, TIMED_FUTEX)]},
        wall=520,
        facts={"recorded_cores": 1, "ended_by": "duration"},
    )
    (found,) = changed(recording.write(tmp_path / "a.headway"), ("Poller.run", 0)).predicted
    assert found.wall_ns == 20
    recording.waits = [*recording.waits, Wait(-7, 0, 10, 510, is_timed=True, stack=0)]
    with pytest.raises(HeadwayError, match=r"HW853.*com.acme.Poller.run"):
        changed(recording.write(tmp_path / "b.headway"), ("Poller.run", 0))


# --- what is not known ---------------------------------------------------------------------------------------------


def test_sleeps_without_a_place_may_be_meant_and_are_in_the_interval(tmp_path: Path) -> None:
    slices = [*SLEEPS, Slice(0, 730, 770, 770, 780, blocked_in=TIMED_FUTEX, irq=True)]
    (found,) = changed(sampled(tmp_path / "a.headway", slices, 780), ("rest", 0)).predicted
    assert (found.low_ns, found.wall_ns, found.high_ns) == (240 * US, 280 * US, 280 * US)


@pytest.mark.parametrize(
    ("samples", "sleeps", "reason"),
    [
        (SAMPLES, [("Poller.rets", 0)], "HW852.*there are: com.acme.Poller.rest:11, com.acme.Poller.nap"),
        ({511: REST}, [("rest", 0)], "HW851.*29%"),
        ({}, [("rest", 0)], "HW850"),
        (SAMPLES, [("rest", 0), ("Poller", 1)], r"HW854.*0 s asleep at rest; 1 s asleep at Poller"),
    ],
)
def test_a_change_that_cannot_be_asked_is_refused_by_name(
    tmp_path: Path, samples: dict[int, Any], sleeps: list[tuple[str, float]], reason: str
) -> None:
    with pytest.raises(HeadwayError, match=reason):
        changed(sampled(tmp_path / "a.headway", samples=samples), *sleeps)


def test_recordings_without_places_say_how_to_record_them(run: Run, tmp_path: Path) -> None:
    path = write(tmp_path / "a.headway", SLEEPS, WALL, 1, ended_by="duration")
    code, _, err = run("whatif", path, "--no-sleep", "rest=0")
    assert (code, "HW850" in err, "headway record --sample wall" in err) == (1, True, True)


@pytest.mark.parametrize("value", ["rest", "=1", "rest=-1", "rest=nan", "rest=1e9", "rest=1s", "(=1"])
def test_a_change_of_sleeps_that_says_nothing_is_wrong_usage(run: Run, tmp_path: Path, value: str) -> None:
    assert run("whatif", sampled(tmp_path / "a.headway"), "--no-sleep", value)[0] == 2


def test_the_command_shows_the_change(run: Run, tmp_path: Path) -> None:
    path = sampled(tmp_path / "a.headway")
    code, out, _ = run("whatif", path, "--no-sleep", "rest=0", "--json")
    answer = json.loads(out)
    assert code == 0
    assert [each["wall_ns"] for each in answer["changes"]] == [230 * US]
    assert answer["changes"][0]["change"]["sleeps"] == [{"place": "rest", "seconds": 0.0}]
    assert "HW855" in {each["id"] for each in answer["warnings"]}
    assert "0 s asleep at rest" in " ".join(run("whatif", path, "--no-sleep", "rest=0")[1].split())


def test_a_sleep_at_one_place_is_shown_by_that_place(tmp_path: Path) -> None:
    exact = SleepChange(re.compile(f"^{re.escape('com.acme.Poller$1.rest:4')}$"), 0)
    assert exact.text == "0 s asleep at com.acme.Poller$1.rest:4"
    assert SleepChange(re.compile(r"^com\..*rest$"), 0).text == r"0 s asleep at ^com\..*rest$"


FACTS = {"recorded_cores": 1, "ended_by": "duration"}
TIMER_LOOP = (("java.lang.Object", "wait"), ("java.util.TimerThread", "mainLoop"), ("java.util.TimerThread", "run"))
SLEEP_IN_A_CALL = (
    ("jdk.internal.misc.Unsafe", "park"),
    ("java.util.concurrent.locks.LockSupport", "parkNanos"),
    *((f"com.acme.{name}", "call") for name in ("Backoff", "Client", "Service", "Main")),
)


@pytest.mark.parametrize(("kind", "stack", "is_ranked"), [("wait", TIMER_LOOP, False), ("park", SLEEP_IN_A_CALL, True)])
def test_a_timer_that_waits_for_its_time_is_no_sleep_that_a_program_could_do_without(
    tmp_path: Path, kind: str, stack: Sequence[tuple[str, str]], is_ranked: bool
) -> None:
    threads = [FakeThread(states=[("R", 10), ("B", 400), ("R", 90)])]
    wait = Wait(0, 0, 10, 410, stack=0, is_timed=True)
    recording = LockRecording(
        threads,
        [wait],
        wall=500,
        classes=["java.util.TaskQueue"],
        kinds=[kind],
        stacks=[stack],
        wakers={0: [(-1, TIMED_FUTEX)]},
        facts=FACTS,
    )
    found = ranking(open_recording(recording.write(tmp_path / "a.headway")))
    assert any(each.change.sleeps for each in found.predicted) is is_ranked


def test_a_thread_is_a_place_for_sleeps_as_why_names_it(tmp_path: Path) -> None:
    """Without samples nothing else of a sleep is known; a pattern that is the place of one means places alone."""
    path = sampled(tmp_path / "a.headway", samples={})
    ((name,),) = open_recording(path).query("SELECT name FROM thread").fetchall()
    assert wall_us(path, (f"^{re.escape(name)}$", 0)) == 30
    (found,) = changed(sampled(tmp_path / "b.headway", samples={511: REST}), (re.escape(name), 0)).predicted
    assert (found.low_ns, found.wall_ns, found.high_ns) == (30 * US,) * 3
    with pytest.raises(HeadwayError, match="HW854"):
        changed(path, (name, 0), (name, 0.001))
