"""Stubs of the JVM and its native functions have no Java frame: their time is that of the line that calls them.

The truth is the program's own: CPU time by the thread's clock, of each kind.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from support.drivers.recording_cli import headway, start_headway, wait_for
from support.drivers.sampled_lines import SampledLines, run_sampled
from support.drivers.workloads import JAVAS, JDK_21, compile_java

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "Intrinsics.java"
COSINES = PROGRAM.with_name("TwoCosines.java")
JVMS = {**JAVAS, **({"jdk21": JDK_21} if JDK_21.exists() else {})}
WARM_UP = 0.05
"""What is sampled in the interpreter, before the first compilation."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, PROGRAM, COSINES)
    return out


@pytest.fixture(scope="module", params=JVMS)
def run(request: pytest.FixtureRequest, classes: Path, tmp_path_factory: pytest.TempPathFactory) -> SampledLines:
    return run_sampled(JVMS[request.param], classes, PROGRAM.stem, tmp_path_factory.mktemp("spool"))


def test_the_time_of_stubs_is_that_of_the_lines_that_call_them(run: SampledLines) -> None:
    noise = run.noise(0.1)  # of a line unseen the share is off by 0.1
    assert noise < 0.08
    assert all(abs(seen - share) < noise for seen, share in run.shares().values()), run.shares()


def test_hardly_a_stack_stays_unread_and_what_ran_there_is_named(run: SampledLines) -> None:
    health = run.last("health")
    assert run.unread_share < WARM_UP, health["unread"]
    assert sum(health["unread"].values()) == run.last("profile")["unread_ns"]
    assert health["found_frames"] > health["samples"] / 4  # most of the ten kinds, or it was not the stubs that ran
    assert health["faults"] == 0


def test_lines_are_known_everywhere_in_compiled_code(run: SampledLines) -> None:
    health = run.last("health")
    assert health["safepoint_lines"] == 0
    assert health["old_code_ns"] == 0


def line_of(code: str) -> int:
    """Return the number of the only line of the program of cosines that has this."""
    (line,) = (i for i, text in enumerate(COSINES.read_text().splitlines(), 1) if code in text)
    return line


@pytest.mark.parametrize("jdk", JVMS)
def test_two_workers_around_math_cos_are_seen_on_that_line_for_as_long_as_they_measured(
    jdk: str, classes: Path, tmp_path: Path
) -> None:
    """75 to 99 % of such samples had no stack once, and the only hot line "1 % of CPU, no effect"."""
    run = run_sampled(JVMS[jdk], classes, COSINES.stem, tmp_path)
    seen, measured = run.shares()["cos"]
    assert measured > 0.9
    assert abs(seen - measured) < run.noise(measured)
    assert run.unread_share < 0.1
    line = line_of("Math.cos(")
    numbers = {note["id"]: note["line"] for note in run.notes if note["t"] == "line"}
    lines = run.last("profile")["lines"]
    at_it = sum(ran_ns for each, ran_ns, *_ in lines if numbers[each] == line)
    whole = sum(ran_ns for _, ran_ns, *_ in lines) + run.last("profile")["unread_ns"]
    assert at_it > 0.9 * measured * whole


@pytest.mark.root
@pytest.mark.parametrize("jdk", JVMS)
def test_lines_are_right_where_the_agent_comes_before_the_code_is_compiled(
    jdk: str, classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "a.headway"
    words = [JVMS[jdk], "-cp", classes, COSINES.stem, "4", "wait"]
    program = subprocess.Popen(list(map(str, words)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        wait_for(lambda: "libjvm.so" in Path(f"/proc/{program.pid}/maps").read_text())
        recorder = start_headway("causal", "--pid", program.pid, "--progress", "TwoCosines.cos", "-o", path)
        wait_for(lambda: any(notes.stat().st_size for notes in path.glob("spool/causal-*.jsonl")))
        said, _ = program.communicate("\n", timeout=100)
        _, errors = recorder.communicate(timeout=100)
    finally:
        program.kill()
    assert (program.returncode, recorder.returncode) == (0, 0), errors
    measured = {each["event"]: each["cpu_ns"] for each in map(json.loads, said.splitlines())}
    assert "HW652" not in errors  # lines of safepoints, or of code that was compiled before
    asked = "SELECT method, line_number, cpu_ns FROM causal_line WHERE kind = 'line' ORDER BY cpu_ns DESC"
    lines = json.loads(headway("query", path, asked, "--json").stdout)
    assert (lines[0]["method"], lines[0]["line_number"]) == ("cos", line_of("Math.cos("))
    share = lines[0]["cpu_ns"] / sum(each["cpu_ns"] for each in lines)
    assert share > 0.9 * measured["cos"] / sum(measured.values()), lines
