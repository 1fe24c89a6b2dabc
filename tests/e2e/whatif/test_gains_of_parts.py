"""`headway why` of a part of a real program: the likely gain without its lock, and the program that really has none."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import compile_java

pytestmark = [pytest.mark.root]
SOURCE = Path(__file__).parents[2] / "programs" / "LockedRounds.java"
ROUNDS, MILLIS = 100, 5
NOT_KNOWN = ("HW822", "HW823", "HW870")
"""A machine that is very busy may leave the replay too far from the run: then nothing is predicted."""


def lock_of(path: Path, *words: object) -> dict[str, Any]:
    """Return the loss to the lock, with its likely gain; skip the test where that is not known on a busy machine."""
    done = headway("why", path, *words, "--json")
    assert done.returncode == 0, done.stderr
    (loss,) = (each for each in json.loads(done.stdout)["lost"] if each["cause"] == "lock_contention")
    if loss["likely_refused"] is not None:
        assert loss["likely_refused"] in NOT_KNOWN, loss
        pytest.skip(f"a busy machine: {loss['likely_refused']}")
    found: dict[str, Any] = loss
    return found


def test_the_gain_without_a_lock_in_a_part_is_what_the_part_really_saves_without_it(tmp_path: Path) -> None:
    compile_java(tmp_path, SOURCE)
    command = [JAVA_17, "-cp", tmp_path, "LockedRounds"]
    path = tmp_path / "r.headway"
    done = headway("record", "--locks", "-o", path, "--", *command, "lock", ROUNDS, MILLIS)
    assert done.returncode == 0, done.stderr
    began, ended = map(int, done.stdout.split())
    free = subprocess.run([*map(str, command), "free", str(ROUNDS), str(MILLIS)], capture_output=True, check=True)
    free_began, free_ended = map(int, free.stdout.split())
    begin = open_recording(path).window_ns[0]

    part = lock_of(path, "--from", f"{began - begin}ns", "--to", f"{ended - begin}ns")
    assert part["likely_low"] is not None
    without_ns = (ended - began) / part["likely_speedup"]
    # Each thread sleeps as long as before; on a busy machine sleeps differ between runs.
    assert without_ns >= ROUNDS * MILLIS * 1_000_000
    assert abs(without_ns - (free_ended - free_began)) < abs((ended - began) - (free_ended - free_began))
    assert (ended - began) / part["likely_high"] <= 1.1 * (free_ended - free_began)

    # Nothing else of the run needs the lock: the whole of it becomes less times as fast.
    assert 1 < lock_of(path)["likely_speedup"] < part["likely_speedup"]
