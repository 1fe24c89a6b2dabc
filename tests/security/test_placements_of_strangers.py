"""What `place --show`, `place --json` and `report --placements` read may be anybody's: text is plain, and tables have an end."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from headway.cli.main import invoke
from headway.report.terminal.placement import MOST_PROGRAMS, MOST_SPELLS
from support.builders.synthetic import ORIGIN, FakeThread, write

HOSTILE = "\x1b[31m \u202e <script>alert(1)</script> =1+1 \ud800"
SHOWN = "\\x1b[31m \\u202e <script>alert(1)</script> =1+1 \\ud800"
S = 1_000_000_000


def start(**more: Any) -> dict[str, Any]:
    return {"event": "start", "at_ns": 1, "pid": 1, "home": 0, "nodes": 2, "progress": "instructions", **more}


def written(path: Path, *records: dict[str, Any]) -> Path:
    path.write_text("".join(f"{json.dumps(each)}\n" for each in records))
    return path


def test_of_programs_without_end_the_last_are_shown_and_the_others_counted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A table each of a hundred thousand took minutes, of these half a minute."""
    file = written(tmp_path / "placed.jsonl", *(start(pid=pid) for pid in range(1, 20_001)))
    assert invoke(["place", "--show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert f"the last {MOST_PROGRAMS} programs of 20000; {20_000 - MOST_PROGRAMS} programs before them" in shown
    assert shown.count("placed for") == MOST_PROGRAMS
    assert "process 20000," in shown
    assert f"process {20_000 - MOST_PROGRAMS}," not in shown


def test_spells_and_notes_without_end_are_counted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    notes = [{"event": "note", "at_ns": 2, "text": "a note"}] * (MOST_SPELLS + 7)
    moves = [
        {"event": "decision", "at_ns": 3 + number, "placement": ("one", "all")[number % 2], "why": "because"}
        for number in range(MOST_SPELLS + 4)
    ]
    file = written(tmp_path / "placed.jsonl", start(), *notes, *moves)
    assert invoke(["place", "--show", str(file)]) == 0
    shown = capsys.readouterr().out
    assert shown.count("a note") == MOST_SPELLS
    assert "7 notes more: --json" in shown
    assert "5 more: --json" in shown


@pytest.mark.parametrize("words", [[], ["--json"]], ids=["terminal", "json"])
def test_hostile_text_is_shown_plainly(tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    note, decision = {"event": "note", "at_ns": 2, "text": HOSTILE}, {"event": "decision", "at_ns": 3, "why": HOSTILE}
    end = {"event": "end", "at_ns": 4, "why": HOSTILE}
    file = written(tmp_path / "placed.jsonl", start(progress=HOSTILE), note, {**decision, "placement": "one"}, end)
    assert invoke(["place", "--show", str(file), *words]) == 0
    shown = capsys.readouterr().out
    assert not {"\x1b", "\u202e", "\ud800"} & {*shown}
    if words:
        (placed,) = json.loads(shown)["placed"]
        assert placed["ended"].startswith("\x1b[31m")
    else:
        ended = shown.split("end: ")[1].split()
        assert ended[: len(SHOWN.split())] == SHOWN.split()


def test_hostile_text_beside_a_recording_is_no_markup_of_its_page(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    recording = write(tmp_path / "a.headway", [FakeThread("app", 0, [("R", 400)], "main")], 400)
    file = written(
        tmp_path / "placed.jsonl",
        start(at_ns=1, pid=100, progress=HOSTILE),
        {"event": "note", "at_ns": ORIGIN + 1, "text": HOSTILE},
        {"event": "decision", "at_ns": ORIGIN + 2, "placement": "one", "why": HOSTILE},
        {"event": "end", "at_ns": 1 << 61, "why": HOSTILE},
    )
    page = tmp_path / "page.html"
    code = invoke(["report", str(recording), "--placements", str(file), "-o", str(page)])
    said = capsys.readouterr().err
    assert code == 0, said
    assert "<script>alert" not in page.read_text()
    assert page.read_text().count("alert(1)") == 4  # all of them are there


def a_device(path: Path) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))


def a_link_to_a_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def a_hole(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


@pytest.mark.parametrize("place", [os.mkfifo, a_device, a_link_to_a_device, a_hole, os.mkdir])
@pytest.mark.parametrize("words", [["--show"], ["--simulate"]], ids=lambda each: each[0])
@pytest.mark.skipif(os.geteuid() != 0, reason="only root makes devices")
def test_what_is_no_file_of_records_is_a_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], place: Any, words: list[str]
) -> None:
    path = tmp_path / "placed.csv"
    place(path)
    assert invoke(["place", *words, str(path)]) == 1
    assert capsys.readouterr().err.startswith(("HW730", "HW709"))
