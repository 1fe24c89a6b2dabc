"""Whole runs: what `--end-to-end` predicts for a line that sleeps follows from how long it slept and what the runs took.

How often the line sleeps, and how long at least, is known, whatever the machine does. What lines gain that are really changed is
measured by benchmarks/causal_accuracy.py. The runs go ahead of other programs: who sleeps wants a core when it wakes.
"""

from __future__ import annotations

import contextlib
import json
from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.asked_program import PROGRAMS, line_of
from support.drivers.busy_machine import AHEAD
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java

pytestmark = pytest.mark.alone

ROUNDS = 100
ONE_MS, OTHER_MS = 8, 2
KNOWN = 0.9
"""Of the sleeps, at least."""


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, PROGRAMS / "Meetings.java")
    return out


def test_whole_runs_are_predicted_by_what_the_line_slept_and_what_the_runs_took(classes: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.headway"
    target = ("--target", f"line:Meetings:{line_of('Meetings', 'one')}")
    words = ["causal", "--end-to-end", "--repeat", "8", *target, "-o", output]
    done = headway(*words, "--", JAVAS["jdk17"], "-cp", classes, "Meetings", ONE_MS, OTHER_MS, ROUNDS, **AHEAD)
    assert done.returncode == 0, done.stderr
    wanted = f"Meetings.java:{line_of('Meetings', 'one')}"
    (line,) = json.loads(headway("causal", output, "--line", wanted, "--json").stdout)["lines"]
    predicted = {point["virtual_speedup_pct"]: point["program_speedup_pct"] for point in line["points"]}
    with contextlib.closing(open_recording(output)) as recording:
        runs = recording.query("SELECT speedup_pct, dur_ns, delay_ns FROM experiment").fetchall()
    assert all(delay_ns == 0 for pct, _, delay_ns in runs if pct == 0)
    plain_ns = [dur_ns for pct, dur_ns, _ in runs if pct == 0]
    faster = [run for run in runs if run[0]]
    assert {pct for pct, *_ in faster} >= {50, 100}
    for pct, dur_ns, delay_ns in faster:
        # The other thread stands still for this part of all that the line sleeps, but for the first few times: until it is known.
        assert KNOWN * ROUNDS * ONE_MS * 1e6 <= delay_ns * 100 / pct <= dur_ns
        least, most = (100 * (1 - (dur_ns - delay_ns) / each) for each in (min(plain_ns), max(plain_ns)))
        assert least - 0.1 <= predicted[pct] <= most + 0.1, (predicted, runs)
