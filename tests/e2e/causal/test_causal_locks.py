"""A lock's critical section as what is made faster: against the samples of the lines inside it, and as users see it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from headway.record.causal import messages
from headway.record.causal.notes import Notes
from headway.record.request.causal_spec import CausalOptions, Point, parse_target
from headway.record.request.jvm_options import agent_options
from lib import causal_programs
from lib.causal_programs import CASES
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, agent, workloads_jar

pytestmark = pytest.mark.alone

LOCKS = f"{causal_programs.PACKAGE}.Locks"
POINT = Point("visits", causal_programs.PROGRESS)


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    workloads_jar()
    return JAVAS[request.param]


def whole_run(java: Path, case: str, target: str, folder: Path, visits: int = 600) -> list[dict[str, Any]]:
    """Return the notes of a run that is one experiment, at 0 %."""
    options = CausalOptions(
        mode="end-to-end",
        progress=(POINT,),
        scope=(causal_programs.SCOPE,),
        target=parse_target(target),
        speedup_pct=0,
    )
    _, *words = causal_programs.command(CASES[case], f"visits={visits}")
    command = [str(java), f"-agentpath:{agent()}={agent_options(folder, causal=options.spec)}", *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    (path,) = folder.glob("causal-*.jsonl")
    return [json.loads(line) for line in path.read_text().splitlines()]


def problems_of(notes: list[dict[str, Any]]) -> list[str]:
    """Return the ids of what is said to have failed; a lock that a slow machine loads late is not among it."""
    read = Notes()
    for note in notes:
        read.take(json.dumps(note).encode())
    return [each.id for each in messages.problems([read])]


def ran_ns(notes: list[dict[str, Any]], *lines: str) -> int:
    """Return the CPU time of marked lines by the samples' own lines."""
    numbers = {causal_programs.markers()[line][1] for line in lines}
    ids = {note["id"] for note in notes if note["t"] == "line" and note["class"] == LOCKS and note["line"] in numbers}
    profile = [note for note in notes if note["t"] == "profile"][-1]
    return sum(row[1] for row in profile["lines"] if row[0] in ids)


@pytest.mark.parametrize(
    ("case", "target", "line"),
    [
        ("contended-monitor-8", f"lock:{LOCKS}.Wanted", "monitor inside"),
        ("contended-8", "lock:java.util.concurrent.locks.ReentrantLock", "inside"),
    ],
)
def test_samples_of_threads_that_hold_the_lock_are_hits_and_no_others(
    java: Path, tmp_path: Path, case: str, target: str, line: str
) -> None:
    notes = whole_run(java, case, target, tmp_path)
    (experiment,) = [note for note in notes if note["t"] == "experiment"]
    (lock,) = [note for note in notes if note["t"] == "line" and note["id"] == experiment["target"]]
    assert (lock["kind"], lock["class"]) == ("lock", target.removeprefix("lock:"))
    assert problems_of(notes) == []
    # The same samples: all but a few of those in the section are in its one line with work, and of those in the line all
    # but what came before the class was found (a tick of the experiments' thread; the program measures itself first).
    inside_ns = ran_ns(notes, line)
    assert inside_ns > 0
    assert 0.8 * inside_ns <= experiment["hits_ns"] <= 1.1 * inside_ns
    assert experiment["hits_ns"] < experiment["sampled_ns"]


def test_a_class_of_the_jdk_has_critical_sections_too(java: Path, tmp_path: Path) -> None:
    # The producer's and the consumer's queue; the program's own classes take no lock there.
    notes = whole_run(java, "pipeline", "lock:java.util.concurrent.ArrayBlockingQueue", tmp_path, 200)
    assert problems_of(notes) == []
    (experiment,) = [note for note in notes if note["t"] == "experiment"]
    assert any(note["t"] == "line" and note["kind"] == "lock" for note in notes)
    assert experiment["hits_ns"] < experiment["sampled_ns"]


def test_a_lock_that_nobody_takes_is_told_of_with_locks_that_are_taken(java: Path, tmp_path: Path) -> None:
    notes = whole_run(java, "contended-8", f"lock:{LOCKS}.Wonted", tmp_path, 300)
    problems = [note for note in notes if note["t"] == "problem"]
    assert [note["id"] for note in problems] == ["HW640"]
    assert f"{LOCKS}.Wonted; locks are taken at" in problems[0]["text"]
    assert "Locks$Wanted" in problems[0]["text"]
    (experiment,) = [note for note in notes if note["t"] == "experiment"]
    assert experiment["hits"] == 0


def test_the_lock_is_in_the_results_the_json_and_the_report(tmp_path: Path) -> None:
    workloads_jar()
    recording = tmp_path / "a.headway"
    _, *words = causal_programs.command(CASES["contended-monitor-8"], "visits=1500")
    progress = ("--progress", f"visits={causal_programs.PROGRESS}", "--scope", causal_programs.SCOPE)
    target = ("--target", f"lock:{LOCKS}.Wanted")
    headway("causal", *progress, *target, "-o", recording, "--", JAVAS["jdk25"], *words)
    result = json.loads(headway("causal", recording, "--json").stdout)
    (line,) = [line for line in result["lines"] if line["experiments"]]
    assert (line["kind"], line["line"], line["class"]) == ("lock", "lock Wanted", f"{LOCKS}.Wanted")
    # The lines beside it have their share of the samples, and no experiments.
    assert any(line["kind"] == "line" and line["samples_pct"] > 0 for line in result["lines"])
    assert "lock Wanted" in headway("causal", recording).stdout
    headway("report", recording, "-o", tmp_path / "a.html")
    assert "lock Wanted" in (tmp_path / "a.html").read_text()
