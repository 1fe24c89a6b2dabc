"""Packages that add analyses or formats, and break: headway names the package, and everything else works."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.report.html.flame_pack import json_bytes
from headway.report.html.payload import PAYLOAD_BYTES, build_payload
from headway.report.html.sections import SECTIONS_BYTES
from headway.report.section import Table
from headway.store import open_recording

Run = Callable[..., tuple[int, str, str]]
MODULE = """
import sys
from headway.report.analysis import BaseAnalysis, Section, Table

class AddedAnalysis(BaseAnalysis):
    summary, help = "A line.", "A sentence."
    def __init__(self, name, result):
        self.name, self.result = name, result
    def run(self, recording, window, **options):
        return self.result()
    def to_json(self, result):
        return result.title
    def section(self, result):
        return result

class Format:
    name, suffix, summary, needs = "torn", ".torn", "a format", "recording"
    def write(self, source, path, *, overwrite=False):
        return 1 / 0

def large(texts):
    rows = tuple((texts * 100,) * 30 for _ in range(2000))
    return Section("Large", (), tuple(Table(f"t{i}", ("c",) * 30, rows) for i in range(20)))

empty = object()
divides = AddedAnalysis("divides", lambda: 1 / 0)
leaves = AddedAnalysis("leaves", lambda: sys.exit(3))
nan = AddedAnalysis("nan", lambda: Section("N", (), (Table("t", ("a",), ((float("nan"),),)),)))
ragged = AddedAnalysis("ragged", lambda: Section("R", (), (Table("t", ("a", "b"), ((1,),)),)))
untitled = AddedAnalysis("untitled", lambda: Section(None, ()))
noted = AddedAnalysis("noted", lambda: Section("N", (), notices=("text",)))
good = AddedAnalysis("good", lambda: Section("Good", ("It is.",)))
locks = AddedAnalysis("locks", lambda: Section("Not headway's", ()))
large0 = AddedAnalysis("large0", lambda: large("x"))
large1 = AddedAnalysis("large1", lambda: large("\\u20ac<"))
torn = Format()
"""
BROKEN = ("divides", "empty", "leaves", "nan", "noted", "ragged", "untitled")
FINE = ("good", "large0", "large1")


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Two packages: one with many analyses, and one whose list of entry points is no such list."""
    names = (*BROKEN, *FINE, "locks")
    lines = "\n".join(f"{name} = many_analyses:{name}" for name in names)
    groups = f"[headway.analyses]\n{lines}\nexits = leaving:X\n[headway.exporters]\ntorn = many_analyses:torn\n"
    for name, entries in (("many", groups), ("unreadable", "[headway.analyses]\nno equals sign\n")):
        folder = tmp_path / f"{name}-1.0.dist-info"
        folder.mkdir()
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
        (folder / "entry_points.txt").write_text(entries)
    (tmp_path / "many_analyses.py").write_text(MODULE)
    (tmp_path / "leaving.py").write_text("import sys; sys.exit(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("many_analyses", None)


@pytest.mark.usefixtures("packages")
def test_help_lists_them_all_and_says_which_fail(run: Run) -> None:
    code, out, _ = run("--help")
    words = " ".join(out.split())
    assert code == 0
    assert "good A line. (many)" in words
    assert "empty HW510: empty, which the package many adds to headway, fails: AttributeError" in words
    assert "exits HW510: exits, which the package many adds to headway, fails: SystemExit: 3" in words


@pytest.mark.usefixtures("packages")
@pytest.mark.parametrize("name", BROKEN)
def test_the_command_names_the_package(run: Run, recording: Path, name: str) -> None:
    code, _, err = run(name, recording)
    # The terminal shows no title.
    assert (code, err.partition(",")[0]) == ((0, "") if name == "untitled" else (1, f"HW510: {name}")), err


@pytest.mark.usefixtures("packages")
def test_the_report_lacks_their_sections_alone_and_keeps_its_limits(recording: Path) -> None:
    payload = build_payload(open_recording(recording))
    added = [each for each in payload["sections"] if each["package"] != "headway"]
    assert [each["name"] for each in added] == list(FINE)
    packages_named = [re.search(r"^(\w+), which the package many", each["message"]) for each in payload["notices"]]
    assert sorted(found[1] for found in packages_named if found) == sorted([*BROKEN, "exits"])
    assert json_bytes(payload["sections"]) <= SECTIONS_BYTES
    assert json_bytes(payload) <= PAYLOAD_BYTES
    json.dumps(payload, allow_nan=False)
    for section in added[1:]:
        assert all(table["left_out"] + len(table["rows"]) == 2000 for table in section["tables"])


@pytest.mark.usefixtures("packages")
def test_a_format_that_fails_is_named_with_its_package(run: Run, recording: Path, tmp_path: Path) -> None:
    if "headway.cli.export" in sys.modules:  # it lists formats when it is imported
        del sys.modules["headway.cli.export"]
    code, _, err = run("export", recording, "--format", "torn", "-o", tmp_path / "a.torn")
    del sys.modules["headway.cli.export"]
    assert (code, err.partition(",")[0]) == (1, "HW510: torn")


@pytest.mark.parametrize("cells", [(1,), (1, True), (1, float("inf")), (1, b"x"), (1, [])])
def test_a_table_has_rows_of_texts_and_numbers_alone(cells: tuple[Any, ...]) -> None:
    with pytest.raises((TypeError, ValueError), match="table 't'"):
        Table("t", ("a", "b"), (cells,))
