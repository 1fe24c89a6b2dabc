"""The page's payload: bounded whatever the recording holds, true to the analyses, and inert inside a script element."""

from __future__ import annotations

import dataclasses
import itertools
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.scheduling.parallelism import parallelism
from headway.analyses.scheduling.walltime import walltime
from headway.errors import HeadwayError, Notice
from headway.report.html import PAYLOAD_BYTES, build_payload, render_html
from headway.report.html.facts import facts, title
from headway.report.html.page import fill, script_safe_json
from headway.report.html.parallelism import EXACT_LEVELS, level_groups
from headway.report.html.payload import _notices
from headway.store import Manifest, open_recording
from headway.store.writer import write_recording
from support.builders.recording_builder import MARKUP_NAME, ONE_THREAD, Shape, make
from support.drivers.recording_cli import headway


@pytest.fixture(scope="module")
def report_path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make(tmp_path_factory.mktemp("html") / "made.headway", Shape(markup=True))


# --- bounds ---------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def huge(tmp_path_factory: pytest.TempPathFactory) -> Path:
    shape = Shape(threads=10_000, slices=2_000_000, cpus=8, wall_ns=60_000_000_000, pauses=5000)
    return make(tmp_path_factory.mktemp("huge") / "huge.headway", shape)


def test_two_million_switches_of_ten_thousand_threads_make_a_page_of_two_megabytes(huge: Path) -> None:
    recording = open_recording(huge)
    payload = build_payload(recording)
    assert len(script_safe_json(payload).encode()) <= PAYLOAD_BYTES
    assert payload["threads"]["total"] == 10_000
    assert len(payload["threads"]["lanes"]) + payload["threads"]["rest"]["threads"] == 10_000
    assert payload["phases"]["left_out"] == 4000
    assert sum(level["active_ns"] for level in payload["parallelism"]["levels"]) == recording.wall_ns


def test_the_longest_names_and_messages_do_not_break_the_bound(tmp_path: Path, report_path: Path) -> None:
    # Everything that is text is as long as it gets, and of characters that take six bytes each in the page.
    recording = open_recording(report_path)
    worst = "<" * 4000  # longer than anything is shown, and with all its repetitions far beyond the bound
    threads = recording.connection().cursor().sql("SELECT * FROM thread").to_arrow_table()
    threads = threads.set_column(threads.schema.names.index("name"), "name", pa.array([worst] * len(threads)))
    phases = {"pid": [1] * 3000, "start_ns": [recording.window_ns[0]] * 3000, "dur_ns": [5] * 3000}
    cursor = recording.connection().cursor()
    tables = {
        "thread": threads,
        "slice": cursor.sql("SELECT * FROM slice").to_arrow_table(),
        "activity": cursor.sql("SELECT * FROM activity").to_arrow_table(),
        "jvm_phase": pa.table({**phases, "kind": ["gc_pause"] * 3000, "cause": [worst] * 3000}),
    }
    manifest = recording.manifest.to_json()
    manifest |= {
        "command": [worst] * 50,
        "cwd": worst,
        "notices": [{"id": f"HW{i}", "message": worst, "remedy": worst} for i in range(500)],
        "jvms": [{"pid": i, "version": worst, "vm": worst, "flags": worst} for i in range(300)],
        "invariants": [{"id": f"{i}", "ok": False, "message": worst} for i in range(300)],
    }
    path = write_recording(tmp_path / "worst.headway", manifest, tables)
    payload = build_payload(open_recording(path))
    assert len(script_safe_json(payload).encode()) <= PAYLOAD_BYTES
    assert payload["notices"][-1]["id"] == "HW503"


@given(st.integers(0, 100_000))
def test_level_groups_hold_every_level_once_and_low_ones_alone(top: int) -> None:
    groups = level_groups(top)
    assert groups[0][0] == 0
    assert groups[-1][1] == top
    assert all(after[0] == before[1] + 1 for before, after in itertools.pairwise(groups))
    assert all(low == high for low, high in groups if high <= EXACT_LEVELS)
    assert len(groups) <= EXACT_LEVELS + 12


# --- content --------------------------------------------------------------------------------------------------------


def test_the_payload_says_what_the_analyses_say(report_path: Path) -> None:
    recording = open_recording(report_path)
    payload = json.loads(script_safe_json(build_payload(recording)))
    levels = parallelism(recording)
    for field in ("wall_ns", "mean_active", "mean_running", "max_active", "max_running", "serial_share", "idle_share"):
        assert payload["parallelism"][field] == getattr(levels, field)
    assert [row["active_ns"] for row in payload["parallelism"]["levels"]] == [level.ns for level in levels.levels]
    assert [row["running_ns"] for row in payload["parallelism"]["levels"][: len(levels.running_levels)]] == [
        level.ns for level in levels.running_levels
    ]
    cores = [row["cores"] for row in payload["walltime"]["predictions"]]
    predicted = walltime(recording, cores)
    for row, prediction, ideal in zip(
        payload["walltime"]["predictions"], predicted.predictions, predicted.ideal_ns, strict=True
    ):
        assert row == {**dataclasses.asdict(prediction), "ideal_ns": ideal}


def test_mode_agent_says_why_there_is_nothing_to_draw(tmp_path: Path) -> None:
    manifest = {"mode": "agent", "window": {"start_ns": 0, "end_ns": 10**9}, "recorded_cores": 2}
    tables = {"thread": pa.table({**ONE_THREAD, "from_snapshot": [False]})}
    payload = build_payload(open_recording(write_recording(tmp_path / "a.headway", manifest, tables)))
    assert payload["parallelism"] is None
    assert payload["walltime"] is None
    assert all("mode agent" in payload["missing"][view] for view in ("parallelism", "walltime", "lanes"))
    assert "without locks" in payload["missing"]["locks"]
    assert [lane["name"] for lane in payload["threads"]["lanes"]] == ["main"]


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["java", "-Xmx1g", "-jar", "/opt/app.jar", "-jar"], "app.jar -jar"),
        (["java", "-jar", "/opt/app.jar"], "app.jar"),
        (["/usr/lib/jvm/bin/java", "-cp", "a:b", "-ea", "org.example.Main", "x.jar"], "org.example.Main x.jar"),
        (["java", "@args", "-m", "mod/org.example.Main"], "mod/org.example.Main"),
        (["java", "Main"], "Main"),
        (["java", "-cp", "Main"], "java -cp Main"),
        (["java", "-version"], "java -version"),
        (["/usr/bin/javac", "-d", "out", "A.java"], "javac -d out A.java"),
        (["./gradlew", "run"], "gradlew run"),
        ([], "process 7"),
    ],
)
def test_a_report_is_titled_by_what_ran(command: list[str], expected: str) -> None:
    assert title(Manifest(command=tuple(command), pid=7)) == expected


def test_facts_leave_out_what_is_not_known(tmp_path: Path) -> None:
    path = write_recording(tmp_path / "bare.headway", {"window": {"start_ns": 0, "end_ns": 5}}, {})
    groups = facts(open_recording(path))
    assert all(row["value"] for group in groups for row in group["rows"])
    assert "None" not in json.dumps(groups)


def test_the_recorder_is_said_to_be_among_the_other_processes_whose_time_the_facts_give(tmp_path: Path) -> None:
    manifest = {"window": {"start_ns": 0, "end_ns": 5}, "other_ns": {"0": 2_000_000_000, "1": 1_000_000_000}}
    groups = facts(open_recording(write_recording(tmp_path / "a.headway", manifest, {})))
    rows = {row["label"]: row["value"] for group in groups for row in group["rows"]}
    assert rows["other processes ran, headway's recorder among them"].startswith("3.00 s in all (CPU 0: 2.00 s")


def test_the_facts_have_the_stolen_time_of_the_account(tmp_path: Path) -> None:
    """The CPUs' own counters go by ticks of 10 ms: they may say that nothing was stolen where threads lost some time."""
    manifest = {"window": {"start_ns": 0, "end_ns": 5}, "steal_ns": {"0": 0}}
    path = write_recording(tmp_path / "a.headway", manifest, {})

    def stolen(ns: int | None) -> str:
        groups = facts(open_recording(path), ns)
        return str(
            next(row["value"] for each in groups for row in each["rows"] if row["label"] == "stolen by the host")
        )

    assert stolen(4_000_000).startswith("4.00 ms of the time in which threads of the program had a CPU")
    assert stolen(None).startswith("0 ns in all")


def test_the_facts_have_the_time_of_other_processes_of_the_account(tmp_path: Path) -> None:
    """What ran for less than a tick is nothing to the CPUs' own counters."""
    manifest = {"window": {"start_ns": 0, "end_ns": 5}, "other_ns": {"0": 0}}
    groups = facts(open_recording(write_recording(tmp_path / "a.headway", manifest, {})), None, 9_800_000)
    rows = {row["label"]: row["value"] for group in groups for row in group["rows"]}
    assert rows["other processes ran, without headway"] == "9.80 ms"
    assert not any("among them" in label for label in rows)


# --- safety ---------------------------------------------------------------------------------------------------------


@given(st.recursive(st.text() | st.integers() | st.none(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)))
def test_any_text_is_inert_in_a_script_element_and_comes_back(value: Any) -> None:
    text = script_safe_json(value)
    assert not set("<>&\u2028\u2029") & set(text)
    assert json.loads(text) == value


def test_text_that_has_no_utf8_form_does_not_stop_a_report() -> None:
    assert json.loads(script_safe_json("\ud800x").encode("utf-8")) == "\ud800x"


def test_the_payload_goes_into_the_page_once(report_path: Path, tmp_path: Path) -> None:
    page = render_html(open_recording(report_path), tmp_path / "made.html").read_text(encoding="utf-8")
    assert page.count('id="headway-payload"') == 1
    assert MARKUP_NAME not in page
    assert "<img src=x" not in page
    with pytest.raises(HeadwayError, match="HW502"):
        fill("<html></html>", {})


# --- the command ----------------------------------------------------------------------------------------------------


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return headway(*arguments, cwd=cwd)


def test_the_report_command_names_the_file_after_the_recording_and_prints_its_path(
    report_path: Path, tmp_path: Path
) -> None:
    done = run("report", report_path, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (0, "made.html\n", "")
    assert os.listdir(tmp_path) == ["made.html"]


def test_the_report_command_refuses_to_overwrite_without_force(report_path: Path, tmp_path: Path) -> None:
    target = tmp_path / "mine.html"
    target.write_text("mine")
    done = run("report", report_path, "-o", target, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"HW500: {target} exists")
    assert target.read_text() == "mine"
    assert run("report", report_path, "-o", target, "--force", cwd=tmp_path).returncode == 0
    assert target.read_text().startswith("<!doctype html>")


def test_the_report_command_says_when_the_place_can_not_be_written(report_path: Path, tmp_path: Path) -> None:
    done = run("report", report_path, "-o", tmp_path / "no" / "x.html", cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr.startswith("HW501: ")


def test_the_export_command_writes_both_forms(report_path: Path, tmp_path: Path) -> None:
    assert run("export", report_path, "--format", "perfetto", cwd=tmp_path).stdout == "made.perfetto-trace\n"
    assert run("export", report_path, "--format", "csv", cwd=tmp_path).stdout == "made.csv\n"
    assert run("export", report_path, "--format", "csv", "--table", "all", cwd=tmp_path).stdout == "made.zip\n"
    wrong = run("export", report_path, "--format", "perfetto", "--table", "slice", cwd=tmp_path)
    assert wrong.returncode == 2
    assert "--table goes with --format csv" in wrong.stderr


def test_notes_of_a_page_are_marked_as_such_and_come_after_warnings() -> None:
    rows = _notices([Notice("HW414", "a note"), Notice("HW201", "a warning"), Notice("HW999", "of another version")])
    assert [row["level"] for row in rows][:2] == ["warning", "warning"]
    assert {row["id"]: row["level"] for row in rows}["HW414"] in ("note", "once")
