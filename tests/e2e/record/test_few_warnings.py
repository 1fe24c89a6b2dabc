"""What people see first of ordinary runs is not a list of warnings: at most two, and one line for the rest."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from headway.errors import MESSAGES
from headway.errors.message import WARNING
from support.drivers.recording_cli import JAVA_17, headway

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests" / "programs" / "Collects.java"
SUNFLOW = [Path("/usr/share/java", jar) for jar in ("sunflow.jar", "janino.jar", "commons-compiler.jar")]
WRAPPER = """#!/bin/sh
here=$(dirname "$0")
for each in 1 2 3; do ls "$here" > /dev/null; dirname "$here" > /dev/null; done
"$@"
"""
MOST = 2
LATER = {"HW412", "HW414"}
"""Told as warnings where the host or other processes took much of the time, as other tests beside this one may."""


def _shown(text: str) -> list[str]:
    """Return the ids that have a line of their own."""
    return re.findall(r"^(HW\d+) ", text, flags=re.MULTILINE)


def _folded(text: str) -> list[str]:
    found = re.search(r"^ *\d+ notes?: ((?:HW\d+,?\s+)+)", text, flags=re.MULTILINE)
    return re.findall(r"HW\d+", found[1]) if found else []


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    subprocess.run(["javac", "--release", "17", "-d", str(folder), str(PROGRAM)], check=True)
    return folder


def _wrapped(classes: Path) -> list[object]:
    wrapper = classes / "wrapper.sh"
    wrapper.write_text(WRAPPER)
    wrapper.chmod(0o755)
    return [wrapper, JAVA_17, "-cp", classes, "Collects", 500]


def _benchmark(name: str) -> list[object]:
    target = ROOT / "java" / "benchmarks" / "target"
    if not (target / "benchmarks.jar").is_file() or (name == "sunflow" and not SUNFLOW[0].is_file()):
        pytest.skip("the programs of the benchmarks are not here: make bench-programs")
    places = [target / "benchmarks.jar", target / "lib" / "*", *SUNFLOW]
    return [JAVA_17, "-cp", ":".join(map(str, places)), "headway.bench.Main", name, 2, 5]


@pytest.mark.parametrize("name", ["script", "h2", "sunflow"])
def test_an_ordinary_run_shows_at_most_two_warnings(name: str, classes: Path, tmp_path: Path) -> None:
    words = _wrapped(classes) if name == "script" else _benchmark(name)
    recording = tmp_path / "a.headway"
    done = headway("run", "--locks", "--sample", "cpu", "-o", recording, "--", *words)
    assert done.returncode == 0, done.stderr
    shown = [each for each in _shown(done.stderr) if each not in LATER]
    assert len(shown) <= MOST, done.stderr
    assert not {"HW201", "HW410", "HW418"} & set(shown), done.stderr
    assert "HW418" in _folded(done.stderr), done.stderr
    notes = headway("notes", recording).stdout
    assert "one recording can't tell how much runs differ" in " ".join(notes.split())
    if name == "script":
        assert not re.search(r"'(?:ls|dirname|java)'", notes)


def test_every_message_has_a_severity_and_most_are_warnings() -> None:
    assert {row.severity for row in MESSAGES.values()} == {"warning", "once", "note"}
    # What says that figures are wrong or missing, or that something must be done, is never folded.
    for each in (
        "HW053",
        "HW062",
        "HW070",
        "HW100",
        "HW101",
        "HW200",
        "HW201",
        "HW204",
        "HW205",
        "HW212",
        "HW480",
        "HW484",
    ):
        assert MESSAGES[each].severity == WARNING, each
