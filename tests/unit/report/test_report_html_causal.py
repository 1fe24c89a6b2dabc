"""The payload of a causal recording's page: the answer's figures, bounded, inert, with the source where it is given."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headway.analyses.causal.analysis import causal
from headway.report.html.causal import PAGE_BYTES, SOURCE_BYTES, build_causal
from headway.report.html.flame_pack import json_bytes
from headway.report.html.page import script_safe_json
from headway.report.html.source_lines import AROUND, LINE_CHARS, Sources
from headway.store import open_recording
from headway.store.writer import write_recording
from support.builders import causal_builder
from support.builders import causal_page_builder as build


def _sources(tmp_path: Path, path: str, text: str) -> Sources:
    file = tmp_path / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return Sources([tmp_path])


def test_each_curve_stands_at_its_progress_point() -> None:
    page = build_causal(build.answer())
    first, second = page["lines"][:2]
    assert [curve["shape"] for curve in first["curves"]] == ["flattens", "gain"]
    assert [None if curve is None else curve["shape"] for curve in second["curves"]] == ["gain", None]
    source = build.answer().lines[0].points[3]
    assert first["curves"][0]["points"][3] == [
        *(source.virtual_speedup_pct, source.program_speedup_pct, source.low_pct, source.high_pct),
        *(source.visits, source.experiments, source.gc_experiments),
    ]


def test_thousands_of_lines_have_a_bounded_page_that_says_so() -> None:
    many = tuple(
        build.line(
            f"{'Long' * 60}{i}.java:{i}", 0.02, build.curve("gain", 0.1), build.curve("gain", 0.1, point=build.LATENCY)
        )
        for i in range(5000)
    )
    page = build_causal(build.answer(many))
    assert json_bytes(page) <= PAGE_BYTES
    assert 40 <= len(page["lines"]) < 5000
    assert f"{5000 - len(page['lines']):,} more lines" in " ".join(page["left_out"])


def test_no_text_of_the_page_can_end_its_script_or_turn_its_words_around() -> None:
    text = script_safe_json(build_causal(build.answer(), name=build.EVIL))
    assert "<" not in text
    assert "\u202e" not in text
    assert "\\u202e" in json.loads(text)["lines"][4]["name"]


def test_the_source_around_a_line_is_shown(tmp_path: Path) -> None:
    text = "".join(f"line {i}\n" for i in range(1, 101))
    sources = _sources(tmp_path, "main/java/a/Store.java", text)
    page = build_causal(build.answer(), sources)
    assert page["lines"][0]["source"] == {
        "file": "main/java/a/Store.java",
        "first": 42 - AROUND,
        "target": 42,
        "lines": [f"line {i}" for i in range(42 - AROUND, 42 + AROUND + 1)],
    }
    assert page["lines"][1]["source"] is None
    assert "5 lines are in no file" in page["no_sources"]  # all but Store.java's, and GC pauses, which are in no line


def test_two_files_of_one_name_are_told_apart_by_the_package(tmp_path: Path) -> None:
    _sources(tmp_path, "x/b/Store.java", "wrong\n" * 50)
    sources = _sources(tmp_path, "x/a/Store.java", "right\n" * 50)
    assert sources.around("a.Store$1", "Store.java", 42)["lines"][0] == "right"  # type: ignore[index]
    assert sources.around("c.Store", "Store.java", 42) is None


def test_a_kotlin_file_need_not_lie_in_its_package(tmp_path: Path) -> None:
    sources = _sources(tmp_path, "kotlin/Store.kt", "/* ... */\npackage org.example // here\nfun main() {\n}\n")
    assert sources.around("org.example.StoreKt", "Store.kt", 1)["first"] == 1  # type: ignore[index]
    assert sources.around("org.other.StoreKt", "Store.kt", 1) is None


def test_a_file_of_another_package_is_not_taken_for_it(tmp_path: Path) -> None:
    sources = _sources(tmp_path, "x/org/example/Work.java", "package org.example;\n\nclass Work {}\n")
    assert sources.around("Work", "Work.java", 3) is None
    assert sources.around("example.Work", "Work.java", 3) is None
    assert sources.around("org.example.Work$1", "Work.java", 3) is not None
    plain = _sources(tmp_path / "plain", "Work.java", "class Work {}\n")
    assert plain.around("Work", "Work.java", 1) is not None


def test_a_file_that_is_one_long_line_is_looked_into_all_the_same(tmp_path: Path) -> None:
    # With an expression that tries every way to part the blanks this takes hours, and the test its time limit.
    sources = _sources(tmp_path, "a/Work.java", f"package a{' ' * 400_000}x\nclass Work {{}}\n")
    assert sources.around("a.Work", "Work.java", 2) is not None


@pytest.mark.parametrize(("files", "is_found"), [(100, True), (101, False)])
def test_a_place_in_one_of_very_many_files_of_a_name_is_in_none(tmp_path: Path, files: int, is_found: bool) -> None:
    for number in range(files):
        _sources(tmp_path, f"p{number}/Work.java", f"package p{number};\nclass Work {{}}\n")
    found = Sources([tmp_path]).around("p3.Work", "Work.java", 2)
    assert (found is not None) == is_found


def test_packages_of_scala_add_up(tmp_path: Path) -> None:
    sources = _sources(tmp_path, "s/Store.scala", "package org\npackage example\nobject Store\n")
    assert sources.around("org.example.Store$", "Store.scala", 3) is not None


def test_lines_are_counted_as_javac_counts_them_and_cut_where_long(tmp_path: Path) -> None:
    sources = _sources(tmp_path, "a/Store.java", "one\r\ntwo \u2028 \x0b still two\n" + "x" * 9000 + "\n")
    found = sources.around("a.Store", "Store.java", 3)
    assert found is not None
    assert found["lines"][0] == "one"
    assert found["lines"][1].startswith("two \\u2028")
    assert len(found["lines"][2]) == LINE_CHARS
    assert sources.around("a.Store", "Store.java", 99) is None


def test_source_has_a_bound_of_its_own(tmp_path: Path) -> None:
    sources = _sources(tmp_path, "a/Store.java", ("\u00fc" * 190 + "\n") * 2000)
    many = tuple(build.line(f"Store.java:{i + 10}", 0.1, build.curve("gain", 0.1)) for i in range(400))
    page = build_causal(build.answer(many), sources)
    shown = [row["source"] for row in page["lines"] if row["source"]]
    assert 0 < len(shown) < 400
    assert sum(json_bytes(each) for each in shown) <= SOURCE_BYTES
    assert json_bytes(page) <= PAGE_BYTES
    assert f"{len(page['lines']) - len(shown):,} more lines has no room" in page["no_sources"]


# --- from a recording ----------------------------------------------------------------------------------------------------


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    """Return a causal recording on disk: `fast` makes the program faster by half of what it gets faster, `idle` by nothing."""
    program = causal_builder.CausalModel({"fast": lambda s: 0.5 * s, "idle": lambda s: 0.0})
    table, visits = causal_builder.columns(program)
    data = causal_builder.data_of(program)
    count = len(table["run"])
    plain = {name: values for name, values in table.items() if name != "effective_ns"}
    jvm = {
        "run": [0],
        "pid": [7],
        "start_ns": [0],
        "dur_ns": [data.recorded_ns],
        "timer": ["perf"],
        "period_ns": [1_000_000],
    }
    tables = {
        "experiment": pa.table(plain),
        "experiment_visit": pa.table(
            {"run": table["run"], "experiment": table["experiment"], "point": [0] * count, "visits": visits.astype(int)}
        ),
        "causal_run": pa.table({**jvm, "mode": ["experiments"], "exit_code": [0], "cores": [4]}),
        "causal_point": pa.table(
            {
                "run": [0],
                "point": [0],
                "name": ["done"],
                "kind": ["method"],
                "where": ["a.B.c"],
                "hits": [int(visits.sum())],
            }
        ),
        "causal_line": pa.Table.from_pylist([{"line": i, **facts} for i, facts in data.lines.items()]),
    }
    (tmp_path / "src/com/acme").mkdir(parents=True)
    (tmp_path / "src/com/acme/App.java").write_text("".join(f"line {i};\n" for i in range(1, 20)))
    manifest = {
        "kind": "causal",
        "command": ["java", "-jar", "app.jar"],
        "causal": {"sources": [str(tmp_path / "src")]},
    }
    return write_recording(tmp_path / "a.headway", manifest, tables)


Run = Callable[..., tuple[int, str, str]]


def _shown(page: Path) -> Any:
    found = re.search(r'id="headway-payload">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return json.loads(found.group(1))


def test_the_command_writes_the_page_of_a_causal_recording(run: Run, recorded: Path) -> None:
    page = recorded.with_name("page.html")
    code, _, err = run("report", recorded, "-o", page)
    assert (code, err) == (0, "")
    shown, expected = _shown(page), causal(open_recording(recorded))
    assert (shown["page"], shown["title"]) == ("causal", "app.jar")
    assert [row["name"] for row in shown["lines"]] == [line.line for line in expected.lines]
    for row, line in zip(shown["lines"], expected.lines, strict=True):
        (curve,) = row["curves"]
        assert curve["slope"] == line.slope
        assert [tuple(point) for point in curve["points"]] == [dataclasses.astuple(point) for point in line.points]
    assert shown["lines"][0]["source"]["lines"][AROUND] == "line 10;"  # the recording names its sources
    assert shown["lines"][0]["curves"][0]["slope"] == pytest.approx(0.5, abs=0.1)


def test_sources_given_to_the_report_replace_those_of_the_recording(run: Run, recorded: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "two/App.java").write_text("package com.acme;\n" + "other\n" * 30)
    page = recorded.with_name("page.html")
    run("report", recorded, "-o", page, "--sources", tmp_path / "one", "--sources", tmp_path / "two")
    assert _shown(page)["lines"][0]["source"]["lines"][0] == "other"


def test_sources_are_refused_for_other_recordings(run: Run, tmp_path: Path) -> None:
    plain = write_recording(tmp_path / "b.headway", {"command": ["true"]}, {})
    code, _, err = run("report", plain, "--sources", tmp_path)
    assert code == 2
    assert "--sources is for causal recordings" in err
