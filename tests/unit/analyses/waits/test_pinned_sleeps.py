"""A virtual thread that sleeps on its carrier, while others could run if they had one, by hand-made waits."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from headway.analyses.common.causes import CARRIERS, SLEEP
from headway.analyses.waits import pieces
from headway.analyses.waits.wait_causes import CODE
from headway.store import open_recording
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

PARK, NAP = 0, 1
FIRST, SECOND = -1, -2


def found(folder: Path, *waits: Wait, second: tuple[tuple[str, int], ...] = ()) -> list[tuple[int, int, int, bool]]:
    """Return the pieces of sleeps and of waits for a carrier: cause, start, end, and whether the thread wants a core.

    `second`: what another carrier does.
    """
    carrier = [FakeThread("carrier", 0, [("R", 100), ("B", 500), ("R", 1000)], "ForkJoinPool-1-worker-1")]
    if second:
        carrier.append(FakeThread("carrier", 0, second, "ForkJoinPool-1-worker-2"))
    classes = ("app.Gate", "java.lang.Thread.sleep")
    recording = LockRecording(carrier, waits, wall=1000, classes=classes, kinds=("park", "park"), no_objects=(NAP,))
    waits_of = pieces.load(open_recording(recording.write(folder / "a.headway")))
    rows = zip(waits_of.cause, waits_of.start, waits_of.end, waits_of.is_directed, strict=True)
    wanted = (CODE[SLEEP], CODE[CARRIERS])
    return sorted((int(each[0]), int(each[1]), int(each[2]), bool(each[3])) for each in rows if each[0] in wanted)


PARKED = Wait(SECOND, PARK, 0, 450, waking=200)


def test_cores_are_lost_to_carriers_before_the_sleep_that_keeps_one(tmp_path: Path) -> None:
    asleep = Wait(FIRST, NAP, 100, 500, is_pinned=True)
    assert found(tmp_path, asleep, PARKED) == sorted(
        [
            (CODE[SLEEP], 100, 200, True),
            (CODE[SLEEP], 200, 450, False),
            (CODE[SLEEP], 450, 500, True),
            (CODE[CARRIERS], 200, 450, True),
        ]
    )


def test_who_kept_its_carrier_waits_for_none(tmp_path: Path) -> None:
    """From its time on until it goes on it waits for a core, as its carrier does."""
    asleep = Wait(FIRST, NAP, 100, 500, waking=300, is_pinned=True)
    assert found(tmp_path, asleep) == [(CODE[SLEEP], 100, 500, True)]


@pytest.mark.parametrize("pinned", [True, False])
def test_a_sleep_that_keeps_no_carrier_or_that_nobody_waits_beside_is_lost_to_itself(
    tmp_path: Path, pinned: bool
) -> None:
    asleep = Wait(FIRST, NAP, 100, 500, is_pinned=pinned)
    beside = dataclasses.replace(PARKED, waking=450) if pinned else PARKED
    assert (CODE[SLEEP], 100, 500, True) in found(tmp_path, asleep, beside)


def test_who_waits_for_an_idle_carrier_to_come_waits_for_none(tmp_path: Path) -> None:
    """The second carrier is idle until 250, is ready for a core until 300, and runs something else then."""
    asleep = Wait(FIRST, NAP, 100, 500, is_pinned=True)
    second = (("R", 50), ("B", 200), ("W", 50), ("R", 1000))
    pieces_found = found(tmp_path, asleep, PARKED, second=second)
    assert [each[1:3] for each in pieces_found if each[0] == CODE[CARRIERS]] == [(300, 450)]


def test_a_sleep_ends_when_its_time_is_over_and_the_wait_for_a_carrier_begins(tmp_path: Path) -> None:
    keeps_it, slept = Wait(FIRST, NAP, 100, 500, is_pinned=True), Wait(SECOND, NAP, 50, 450, waking=300)
    assert found(tmp_path, keeps_it, slept) == sorted(
        [
            (CODE[SLEEP], 50, 300, True),
            (CODE[SLEEP], 100, 300, True),
            (CODE[SLEEP], 300, 450, False),
            (CODE[SLEEP], 450, 500, True),
            (CODE[CARRIERS], 300, 450, True),
        ]
    )
