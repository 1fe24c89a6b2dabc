"""`headway why` of an attached program: the likely gain without a lock, and what the program without it really does."""

from __future__ import annotations

import json
import subprocess
from itertools import pairwise
from pathlib import Path

import pytest

from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import compile_java

pytestmark = [pytest.mark.root]
SOURCE = Path(__file__).parents[2] / "programs" / "LockedRounds.java"
MILLIS = 5
NOT_KNOWN = ("HW822", "HW823", "HW870")
"""A machine that is very busy may leave the replay too far from the run: then nothing is predicted."""


def rounds_a_second(folder: Path, kind: str, recording: Path | None = None) -> float:
    """Run the program for a while, and attach to it if asked; return how many rounds it did in a second, as the median."""
    command = [JAVA_17, "-cp", folder, "LockedRounds", kind, 0, MILLIS]
    out = folder / f"{kind}.txt"
    with out.open("w") as output, subprocess.Popen([*map(str, command)], stdout=output) as jvm:
        try:
            if recording is not None:
                done = headway("record", "--locks", "--duration", "3s", "-o", recording, "--pid", jvm.pid)
                assert done.returncode == 0, done.stderr
            else:
                with pytest.raises(subprocess.TimeoutExpired):
                    jvm.wait(timeout=4.5)
        finally:
            jvm.kill()
    done_by = [0, *map(int, out.read_text().split())]
    each = sorted(later - before for before, later in pairwise(done_by))
    return float(each[len(each) // 2])


def test_the_gain_of_an_attached_program_is_what_it_does_more_without_the_lock(tmp_path: Path) -> None:
    compile_java(tmp_path, SOURCE)
    path = tmp_path / "r.headway"
    locked, free = rounds_a_second(tmp_path, "lock", path), rounds_a_second(tmp_path, "free")
    done = headway("why", path, "--json")
    assert done.returncode == 0, done.stderr
    (loss,) = (each for each in json.loads(done.stdout)["lost"] if each["cause"] == "lock_contention")
    if loss["likely_refused"] is not None:
        assert loss["likely_refused"] in NOT_KNOWN, loss
        pytest.skip(f"a busy machine: {loss['likely_refused']}")
    # Each thread sleeps in its rounds, one at a time with the lock; on a busy machine sleeps differ between runs.
    assert loss["likely_speedup"] == pytest.approx(free / locked, rel=0.25)
    assert loss["likely_low"] <= loss["likely_speedup"] <= loss["likely_high"]
    assert abs(loss["likely_speedup"] - free / locked) < abs(1 - free / locked)
