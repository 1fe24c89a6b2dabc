"""What `headway place --json` wrote, read back: by `headway place --show`, and for the report of a recording."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.placement.records import PlacedProgram, read_placements
from headway.errors import HeadwayError
from headway.placement.types import Record
from headway.report.html import build_payload, render_html
from headway.report.html.payloads.recording import Payload
from headway.report.html.placements import MOST_NOTES, MOST_SPELLS
from headway.report.json.text import json_text, one_line
from headway.store import open_recording
from support.builders import recording_builder, sweep_builder
from support.builders.placement_records import S, placement_records, write_records
from support.oracles.typed_json import differences

Run = Callable[..., tuple[int, str, str]]


def read(tmp_path: Path, records: list[dict[str, Any]]) -> list[PlacedProgram]:
    return read_placements(write_records(tmp_path / "placed.jsonl", records))


def test_a_time_on_a_placement_has_its_reason_its_end_and_what_came_of_it(tmp_path: Path) -> None:
    (placed,) = read(tmp_path, placement_records(42, 5 * S))
    assert (placed.pid, placed.home, placed.nodes, placed.moves) == (42, 1, 2, 2)
    assert (placed.start_ns, placed.end_ns, placed.ended) == (5 * S, 15 * S, "somebody asked to end")
    assert placed.on_one_share == pytest.approx(0.4)
    assert [(each.placement, each.start_ns // S, (each.end_ns or 0) // S, each.why) for each in placed.spells] == [
        ("all", 5, 7, "as it was started"),
        ("one", 7, 11, "to compare"),
        ("all", 11, 15, "decided"),
    ]
    assert [each.speed for each in placed.spells] == [None, 0.5, None]
    assert [each.threads_moved for each in placed.spells] == [0, 7, 8]
    assert [each.memory_moved_bytes >> 20 for each in placed.spells] == [0, 64, 0]
    assert placed.notes == [(10 * S, "note at 5")]


def test_records_that_just_stop_have_no_end_and_another_start_is_another_program(tmp_path: Path) -> None:
    first, second = placement_records(42, 5 * S)[:4], placement_records(43, 50 * S)
    found = read(tmp_path, first + second)
    assert [(each.pid, each.ended is None, each.moves) for each in found] == [(42, True, 1), (43, False, 2)]
    assert found[0].spells[-1].end_ns is None
    assert found[0].on_one_share == 0


def test_a_last_record_that_was_cut_off_while_it_was_written_is_left_out(tmp_path: Path) -> None:
    records = placement_records(42, 5 * S)[:4]
    text = "".join(f"{json.dumps(each)}\n" for each in records)
    (tmp_path / "whole").write_text(text)
    (tmp_path / "cut").write_text(f'{text}{{"event": "spell", "at_')
    assert read_placements(tmp_path / "cut") == read_placements(tmp_path / "whole")


def test_what_is_no_record_is_an_error_that_names_the_line(tmp_path: Path) -> None:
    good = placement_records(42, 5 * S)
    bad: dict[str, Any] = {
        "'pid' is no number": [{**good[0], "pid": "42"}],
        "'at_ns' is no number": [good[0], {**good[1], "at_ns": -1}],
        "'placement' is neither": [good[0], {**good[1], "placement": "two"}],
        "'why' is no text": [good[0], {**good[1], "why": None}],
        "before a record 'start'": [good[1]],
        "earlier than the record before": [*good[:4], good[1]],
        "'event' is no text": [{"at_ns": 1}],
        "it is no record": [[1, 2]],
    }
    for reason, records in bad.items():
        with pytest.raises(HeadwayError) as found:
            read(tmp_path, records)
        assert found.value.notice.id == "HW730"
        assert f"line {len(records)}: " in found.value.notice.message
        assert reason in found.value.notice.message


@pytest.mark.parametrize("text", ["", "\n\n", "{", "\ufeff{}", "[" * 100_000, "\x00"])
def test_any_text_is_records_or_a_message(tmp_path: Path, text: str) -> None:
    path = tmp_path / "placed.jsonl"
    path.write_text(text)
    with pytest.raises(HeadwayError) as found:
        read_placements(path)
    assert found.value.notice.id == "HW730"


def test_a_directory_a_pipe_and_no_file_are_a_message(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path, tmp_path / "pipe", tmp_path / "none"):
        with pytest.raises(HeadwayError) as found:
            read_placements(path)
        assert found.value.notice.id == "HW730"


@pytest.mark.parametrize("content", [b"\n" * (1 << 20), b"[" + b"{}," * (1 << 20) + b"{}]", b"\xff"])
def test_what_would_take_much_memory_is_refused_before_it_does(tmp_path: Path, content: bytes) -> None:
    """A mebibyte of such content takes up to thirty as objects, and a file may have 64."""
    path = tmp_path / "placed.jsonl"
    path.write_bytes(content)
    tracemalloc.start()
    try:
        with pytest.raises(HeadwayError) as found:
            read_placements(path)
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.value.notice.id == "HW730"
    assert most_bytes < 3 * len(content) + (1 << 20)


def test_the_command_shows_them_and_its_json_is_the_same(run: Run, tmp_path: Path) -> None:
    path = write_records(tmp_path / "placed.jsonl", placement_records(42, 5 * S))
    code, out, err = run("place", "--show", path)
    assert (code, err) == (0, "")
    assert "process 42, placed for 10.0 s: 2 moves, 40 % of the time on node 1; end: somebody asked to end" in " ".join(
        out.split()
    )
    assert "0.500x" in out
    code, out, err = run("place", "--show", path, "--json")
    assert (code, err) == (0, "")
    (placed,) = json.loads(out)["placed"]
    assert (placed["pid"], placed["moves"], placed["on_one_share"]) == (42, 2, pytest.approx(0.4))
    assert [each["placement"] for each in placed["spells"]] == ["all", "one", "all"]


def test_a_record_as_headway_writes_it_is_read_back(tmp_path: Path) -> None:
    facts = {"pid": 7, "home": 0, "nodes": 2, "progress": "instructions"}
    records = [Record("start", 9, "a", facts), Record("end", 10, "b", {"why": "the time is over"})]
    path = tmp_path / "placed.jsonl"
    path.write_text("".join(f"{one_line(json_text(each.as_json()))}\n" for each in records))
    (placed,) = read_placements(path)
    assert (placed.pid, placed.ended) == (7, "the time is over")


@pytest.fixture
def recording_path(tmp_path: Path) -> Path:
    return recording_builder.make(tmp_path / "a.headway")


def pid_and_start(path: Path) -> tuple[int, int]:
    recording = open_recording(path)
    (pid,) = recording.query("SELECT min(pid) FROM thread").fetchall()[0]
    return pid, recording.window_ns[0]


def test_the_page_has_the_placements_that_fall_into_the_recording(tmp_path: Path, recording_path: Path) -> None:
    """The recording has 3 s: placing begins 1 s before it, and ends after it."""
    pid, start_ns = pid_and_start(recording_path)
    path = write_records(tmp_path / "placed.jsonl", placement_records(pid, start_ns - S))
    payload = build_payload(open_recording(recording_path), None, path)
    view = payload["placements"]
    assert [(each["placement"], each["start_ns"], each["end_ns"]) for each in view["spells"]] == [
        ("all", 0, S),
        ("one", S, 3 * S),
    ]
    assert view["spells"][1]["speed"] == 0.5
    assert view["notes"] == []
    assert differences(json.loads(json.dumps(payload)), Payload, {}) == []
    without = build_payload(open_recording(recording_path))
    assert without["placements"] is None


def test_records_of_another_time_or_program_are_refused(tmp_path: Path, recording_path: Path) -> None:
    pid, start_ns = pid_and_start(recording_path)
    for other, begin_ns in ((pid, start_ns + 60 * S), (pid + 100_000, start_ns)):
        path = write_records(tmp_path / "placed.jsonl", placement_records(other, begin_ns))
        with pytest.raises(HeadwayError) as found:
            render_html(open_recording(recording_path), tmp_path / "a.html", placements=path)
        assert found.value.notice.id == "HW731"
        assert not (tmp_path / "a.html").exists()


def test_a_program_that_is_moved_without_end_has_a_limited_list(tmp_path: Path, recording_path: Path) -> None:
    pid, start_ns = pid_and_start(recording_path)
    start, *_ = placement_records(pid, start_ns)
    moves = [
        {
            "event": "decision",
            "at_ns": start_ns + 1 + number,
            "text": "",
            "placement": ("one", "all")[number % 2],
            "why": "w" * 500,
        }
        for number in range(2000)
    ]
    view = build_payload(open_recording(recording_path), None, write_records(tmp_path / "p", [start, *moves]))[
        "placements"
    ]
    assert (len(view["spells"]), view["left_out"]) == (MOST_SPELLS, 2001 - MOST_SPELLS)
    assert len(json.dumps(view)) < 200_000


def test_notes_without_end_are_counted(tmp_path: Path, recording_path: Path) -> None:
    pid, start_ns = pid_and_start(recording_path)
    start, *_ = placement_records(pid, start_ns)
    notes = [
        {"event": "note", "at_ns": start_ns + 1 + number, "text": f"note {number}"} for number in range(MOST_NOTES + 3)
    ]
    path = write_records(tmp_path / "placed.jsonl", [start, *notes])
    view = build_payload(open_recording(recording_path), None, path)["placements"]
    assert [each["text"] for each in view["notes"]] == [f"note {number}" for number in range(MOST_NOTES)]
    assert view["notes_left_out"] == 3


def test_only_recordings_of_one_run_take_them(run: Run, tmp_path: Path) -> None:
    path = sweep_builder.make(tmp_path / "a.sweep").path
    code, _, err = run("report", path, "--placements", "x", "-o", tmp_path / "a.html")
    assert code == 2
    assert "--placements is for recordings of one run" in err
