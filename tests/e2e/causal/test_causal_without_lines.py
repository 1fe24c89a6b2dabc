"""A class that was compiled without line numbers: points on its methods count, points on its lines are told of, and what runs in
it goes by the method.
"""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import JAVA_17, headway


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program, and no line numbers in it."""
    out = tmp_path_factory.mktemp("classes")
    javac = str(Path(JAVA_17).with_name("javac"))
    subprocess.run([javac, "-g:none", "--release", "17", "-d", str(out), str(PROGRAMS / "Units.java")], check=True)
    return out


def test_a_class_without_line_numbers_is_told_of_and_goes_by_its_methods(classes: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.headway"
    points = ("--progress", "work=Units.unit", "--progress", "line=Units:11")
    done = headway("causal", *points, "-o", output, "--", JAVA_17, "-cp", classes, "Units", "1500")
    assert done.returncode == 0, done.stderr
    (notice,) = re.findall(r"HW604: .*", done.stderr)
    assert notice.startswith("HW604: line: ")
    assert "no line numbers" in notice
    said = json.loads(headway("causal", output, "--json").stdout)
    (units,) = map(int, re.findall(r"units (\d+)", done.stdout))
    assert {point["name"]: point["hits"] for point in said["progress_points"]}["work"] == units
    busiest = said["lines"][0]
    assert (busiest["line"], busiest["kind"], busiest["line_number"]) == ("Units.unit", "line", None)
    assert busiest["samples_pct"] > 50
    assert any(point["experiments"] for point in busiest["points"])
    coz = tmp_path / "a.coz"
    assert headway("export", output, "--format", "coz", "-o", coz).returncode == 0
    assert "\tselected=Units.unit\t" in coz.read_text()
