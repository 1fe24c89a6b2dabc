"""Programs whose lines have a known share of the work: what the causal sampler says of them against the programs' own clocks.

What experiments predict for these programs is measured against really changed code in benchmarks/causal_accuracy.py: on a
machine that others use as well it takes minutes to be sure, so it is no test.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.record.request.causal_spec import CausalOptions, Point, parse_target
from headway.record.request.jvm_options import agent_options, encode_value
from lib import causal_programs
from lib.causal_programs import CASES
from support.drivers.workloads import JAVAS, agent, workloads_jar

pytestmark = pytest.mark.alone

WITHIN = 0.2
"""Of a share: a thread is sampled once for each millisecond of its CPU time, more than a thousand times here."""


@dataclass(frozen=True, slots=True)
class Played:
    """A case that was played under the agent: what it said at its end, and the agent's notes."""

    said: dict[str, Any]
    notes: list[dict[str, Any]]

    def cpu_ns(self, *threads: str) -> int:
        """Return the CPU time of threads by their own clocks."""
        return sum(each["cpu_ns"] for each in self.said["threads"] if each["name"].startswith(threads))

    def sampled_ns(self, line: str, kind: str = "running") -> int:
        """Return what the agent's samples say of a marked line."""
        name, number = causal_programs.markers()[line]
        ids = {
            note["id"]
            for note in self.notes
            if note["t"] == "line" and note["file"] == f"{name}.java" and note["line"] == number
        }
        profile = [note for note in self.notes if note["t"] == "profile"][-1]
        column = {"running": 1, "asleep": 2}[kind]
        return sum(row[column] for row in profile["lines"] if row[0] in ids)


def played(java: Path, name: str, visits: int, folder: Path, *more: str, jvm: Sequence[str] = ()) -> Played:
    """Play a case with the agent until it has made so many visits, however long that takes here."""
    options = CausalOptions(progress=(Point("visits", causal_programs.PROGRESS),), scope=(causal_programs.SCOPE,))
    spec = ";".join([options.spec, *more])
    workloads_jar()
    _, *words = causal_programs.command(CASES[name], f"visits={visits}")
    command = [str(java), f"-agentpath:{agent()}={agent_options(folder, causal=spec)}", *jvm, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=200, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert [each["event"] for each in said] == ["began", "ended"]
    (path,) = folder.glob("causal-*.jsonl")
    return Played(said[-1], [json.loads(line) for line in path.read_text().splitlines()])


# No experiment delays anybody, so that what threads use is their work alone.
ALL_AT_ZERO = ("speedup:0", "experiment_ms:200")


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def test_each_of_two_lines_of_a_thread_has_its_share_of_the_threads_cpu_time(java: Path, tmp_path: Path) -> None:
    run = played(java, "independent", 1500, tmp_path, *ALL_AT_ZERO)
    for line in ("first", "second"):  # 1600 of 2000 microseconds
        assert run.sampled_ns(line) == pytest.approx(0.8 * run.cpu_ns(line), rel=WITHIN), line


def test_library_code_counts_for_the_line_in_scope_that_calls_it(java: Path, tmp_path: Path) -> None:
    # With AVX-512 JDK 22 and later sort in code whose stack can't be read (HW623).
    run = played(java, "library", 1500, tmp_path, *ALL_AT_ZERO, jvm=("-XX:UseAVX=2",))
    others = [
        note["id"]
        for note in run.notes
        if note["t"] == "line" and not note["class"].startswith(causal_programs.PACKAGE)
    ]
    assert others == [], "lines out of scope are never charged"
    assert run.sampled_ns("sort") > 0.25 * run.cpu_ns("sorts"), "nearly all of it is inside java.util.Arrays"


def test_a_line_that_sleeps_is_charged_with_the_time_asleep(java: Path, tmp_path: Path) -> None:
    run = played(java, "sleeper", 400, tmp_path, *ALL_AT_ZERO)
    least = 4_000_000 * run.said["visits"]  # each sleep takes 4 ms and more
    assert run.sampled_ns("sleep", "asleep") >= 0.8 * least
    assert run.sampled_ns("sleep", "asleep") <= 1.2 * (run.notes[-1]["ns"] - run.notes[0]["ns"])
    assert run.sampled_ns("produce") == pytest.approx(run.cpu_ns("producer"), rel=0.25), "who computes is not asleep"


def test_visits_are_counted_while_threads_are_delayed(java: Path, tmp_path: Path) -> None:
    case = CASES["contended-monitor-8"]
    inside = encode_value(parse_target(causal_programs.target_of(case, "monitor inside")))
    run = played(java, "contended-monitor-8", 800, tmp_path, f"target:{inside}", "speedup:50", "experiment_ms:200")
    experiments = [note for note in run.notes if note["t"] == "experiment"]
    counted = sum(count for each in experiments for _, count in each["visits"])
    hits = [note for note in run.notes if note["t"] == "hits"][-1]["points"]
    assert sum(each["delay_ns"] for each in experiments) > 0
    assert counted > 0
    # The program goes on for a moment after it has said how far it is.
    assert counted <= sum(count for _, count in hits)
    assert sum(count for _, count in hits) >= run.said["visits"]
