"""Whole runs: what `--end-to-end` predicts for a line is what the run really gains when that line is changed.

The line sleeps, so what it takes does not depend on the machine; runs are compared by headway's own clock of a run, and go ahead
of other programs: who sleeps wants a core at once at its end.
"""

from __future__ import annotations

import contextlib
import json
import statistics
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
WITHIN_PCT = 5.0


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, PROGRAMS / "Meetings.java")
    return out


def test_whole_runs_gain_what_is_predicted_when_the_line_is_really_changed(classes: Path, tmp_path: Path) -> None:
    program = [JAVAS["jdk17"], "-cp", classes, "Meetings"]

    def really_ns(one_ms: int) -> float:
        """Return how long runs take in which the line sleeps for so long, nothing held up: the first two of a command."""
        durations = []
        for number in range(2):
            output = tmp_path / f"{one_ms}-{number}.headway"
            words = ["causal", "--end-to-end", "--repeat", "2", "-o", output, "--", *program, one_ms, OTHER_MS, ROUNDS]
            done = headway(*words, **AHEAD)
            assert done.returncode == 0, done.stderr
            with contextlib.closing(open_recording(output)) as recording:
                found = recording.query("SELECT dur_ns, delay_ns, speedup_pct FROM experiment").fetchall()
            assert [row[1:] for row in found] == [(0, 0), (0, 0)]
            durations += [dur_ns for dur_ns, *_ in found]
        return float(statistics.median(durations))

    output = tmp_path / "a.headway"
    target = ("--target", f"line:Meetings:{line_of('Meetings', 'one')}")
    words = ["causal", "--end-to-end", "--repeat", "8", *target, "-o", output]
    done = headway(*words, "--", *program, ONE_MS, OTHER_MS, ROUNDS, **AHEAD)
    assert done.returncode == 0, done.stderr
    wanted = f"Meetings.java:{line_of('Meetings', 'one')}"
    (line,) = json.loads(headway("causal", output, "--line", wanted, "--json").stdout)["lines"]
    predicted = {point["virtual_speedup_pct"]: point["program_speedup_pct"] for point in line["points"]}
    plain_ns = really_ns(ONE_MS)
    real = {pct: 100 * (1 - really_ns(ONE_MS * (100 - pct) // 100) / plain_ns) for pct in (50, 75)}
    assert real[75] > real[50] > 20  # it does matter
    for pct, gain in real.items():
        assert predicted[pct] == pytest.approx(gain, abs=WITHIN_PCT), (predicted, real)
