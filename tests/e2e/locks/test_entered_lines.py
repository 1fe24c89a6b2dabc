"""Who waits for a monitor is at the line of `synchronized`, whether the code is interpreted or compiled."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import headway, javas
from support.drivers.workloads import ROOT, compile_java

pytestmark = pytest.mark.root
SOURCE = ROOT / "tests" / "programs" / "EnteredLines.java"
LINES = "SELECT DISTINCT method, line FROM block JOIN stack USING (stack_id) JOIN frame USING (frame_id)"
JVMS = dict(zip(("jdk17", "jdk25"), javas(), strict=True))


def lines_by_method() -> set[tuple[str, int]]:
    """Return the lines that the source names: a synchronized method is entered before its first line."""
    named = {
        name: number
        for number, line in enumerate(SOURCE.read_text().splitlines(), 1)
        for name in re.findall(r"// (\w+)$", line)
    }
    return {("one", named["one"]), ("each", named["each"]), ("method", named["method"] + 1)}


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("entered")
    compile_java(out, SOURCE)
    return out


@pytest.mark.parametrize("jdk", JVMS)
@pytest.mark.parametrize(
    "mode", ["-Xint", "-XX:TieredStopAtLevel=1", "-XX:-TieredCompilation"], ids=["int", "c1", "c2"]
)
def test_a_monitor_is_waited_for_at_the_line_that_enters_it(jdk: str, mode: str, classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    done = headway("record", "--locks", "-o", path, "--", JVMS[jdk], mode, "-cp", classes, SOURCE.stem)
    assert done.returncode == 0, done.stderr
    rows = open_recording(path).query(
        f"{LINES} WHERE block.kind = 'monitor' AND depth = 0 AND class_name = '{SOURCE.stem}'"
    )
    assert set(rows.fetchall()) == lines_by_method()
