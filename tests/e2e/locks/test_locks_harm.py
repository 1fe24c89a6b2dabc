"""Programs at their limits while locks are recorded: at the end of their stacks, and with descriptors that are not theirs."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from support.builders.lock_faults import Locks, only_line, own_lines
from support.drivers.recording_cli import headway, notice_ids
from support.drivers.workloads import JAVAS, compile_java
from support.oracles.lock_oracle import OPEN_LOCKS

pytestmark = pytest.mark.root
PROGRAMS = Path(__file__).resolve().parents[2] / "programs"
ROUNDS = 40
BEFORE, AFTER = 1_000, 20_000
HOOK_APART = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,jdk.internal.misc.HeadwayHook*::*")
"""As it was before compilers had put the hook into the locks: 2 of 120 were left locked by nobody on JDK 25, in each run."""


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, *(PROGRAMS / f"{name}.java" for name in ("StackEnd", "LocksAndCloses", "Descriptors")))
    return out


def own(stderr: str) -> list[str]:
    """Return what neither headway nor, with or without it, the JVM has to say at the end of a stack."""
    return [
        line for line in own_lines(stderr) if "Potentially dangerous stack overflow in ReservedStackAccess" not in line
    ]


# The second compiler alone, and for long enough: most of the ends are then in its code. Or a young program again and again,
# in which locks are inlined in some places and not in others.
COMPILERS = {
    "tiered": ((), 5, 3 * ROUNDS),
    "second": (("-XX:-TieredCompilation",), 1, 10 * ROUNDS),
    "hook-apart": (HOOK_APART, 1, 3 * ROUNDS),
}
# Locks were left locked on JDK 25; on JDK 17 every two of compiler and mode meet.
ENDS = [("jdk25", compiler, mode) for compiler in COMPILERS for mode in ("alone", "queued")]
ENDS += [("jdk17", "tiered", "queued"), ("jdk17", "second", "alone"), ("jdk17", "hook-apart", "queued")]


@pytest.mark.parametrize(("jdk", "compiler", "mode"), ENDS)
def test_locks_are_taken_and_released_wholly_at_the_end_of_a_stack_as_they_are_without_headway(
    jdk: str, compiler: str, mode: str, classes: Path, tmp_path: Path
) -> None:
    java, (compilers, runs, rounds) = JAVAS[jdk], COMPILERS[compiler]
    words = [str(java), *compilers, OPEN_LOCKS, "-cp", str(classes), "StackEnd", str(rounds), mode]
    expected = {"ends": rounds, "broken": 0}
    plain = subprocess.run(words, capture_output=True, text=True, check=True, timeout=100)
    assert (own(plain.stderr), only_line(plain.stdout)) == ([], expected)
    for run in range(runs):
        recording = tmp_path / f"{run}.headway"
        done = headway("record", "--locks", "-o", recording, "--", *words)
        assert (done.returncode, own(done.stderr), only_line(done.stdout)) == (0, [], expected)
        ((holds,),) = Locks(recording).rows("SELECT count(*) FROM hold WHERE source <> 'waking'")
        assert (holds > rounds) == (mode == "queued")


def test_what_is_put_into_the_classes_of_the_jdk_passes_its_verifier(java: Path, classes: Path, tmp_path: Path) -> None:
    words = [java, "-XX:+UnlockDiagnosticVMOptions", "-XX:+BytecodeVerificationLocal", OPEN_LOCKS, "-cp", classes]
    done = headway("record", "--locks", "-o", tmp_path / "r.headway", "--", *words, "StackEnd", 2, "queued")
    assert (done.returncode, only_line(done.stdout)) == (0, {"ends": 2, "broken": 0})
    assert own(done.stderr) == []
    ((holds,),) = Locks(tmp_path / "r.headway").rows("SELECT count(*) FROM hold WHERE source <> 'waking'")
    assert holds > 0


def test_a_program_that_closes_the_files_of_locks_keeps_its_own_whole_and_the_sums_go_on(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    own, recording = tmp_path / "own", tmp_path / "r.headway"
    own.mkdir()
    opens = ("--add-opens", "java.base/java.io=ALL-UNNAMED")
    done = headway(
        "record", "--locks", "-o", recording, "--", java, *opens, "-cp", classes, "LocksAndCloses", own, BEFORE, AFTER
    )
    assert (done.returncode, own_lines(done.stderr)) == (0, [])
    said: dict[str, Any] = json.loads(done.stdout)
    assert (said["closed"], said["taken"], said["spoilt"]) == (2, 2, 0)
    locks = Locks(recording)
    row = locks.blocker(said["hash"])
    assert (row["times_parked"], row["parked_now"]) == (BEFORE + AFTER, 0)
    # The file can't grow any more: from some point on there are sums alone, and the recording says from when.
    assert BEFORE <= locks.count(row["blocker_id"]) < BEFORE + AFTER
    assert "HW206" in notice_ids(recording)
