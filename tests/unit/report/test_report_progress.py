"""`headway report` on a terminal: it tells that it is at work, and what Ctrl-C leaves; the recording is only read."""

from __future__ import annotations

import io
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from click.testing import CliRunner

import headway.report.html
from headway.cli.report import command
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread


class Terminal(io.StringIO):
    def __init__(self, shown: Event) -> None:
        super().__init__()
        self._shown = shown

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        if "writing the report" in self.getvalue():
            self._shown.set()
        return count


def report_of(folder: Path) -> Path:
    threads = [FakeThread("app", 0, [("R", 100)], name) for name in ("a", "b")]
    return LockRecording(threads, [Wait(0, 0, 5, 90, owner=1, waker=1, waking=80)]).write(folder / "a.headway")


def test_a_long_report_tells_that_it_is_being_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = Event()
    terminal = Terminal(shown)
    monkeypatch.setattr("sys.stderr", terminal)

    def slow(*_: Any, **__: Any) -> Path:
        assert shown.wait(30)
        return tmp_path / "a.html"

    monkeypatch.setattr(headway.report.html, "render_html", slow)
    command.callback(report_of(tmp_path), tmp_path / "a.html", (), None, False)  # type: ignore[misc]
    assert "writing the report" in terminal.getvalue()
    assert "(Ctrl-C: the recording stays as it is)" in terminal.getvalue()


def test_a_report_that_is_interrupted_leaves_the_recording_and_no_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = report_of(tmp_path)
    before = {each.name: each.read_bytes() for each in path.iterdir() if each.is_file()}

    asked: list[int] = []

    def interrupted(*_: Any, **__: Any) -> Any:
        asked.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr("headway.analyses.waits.threads.holders.timeline", interrupted)
    result = CliRunner().invoke(command, [str(path), "-o", str(tmp_path / "a.html")])
    assert asked
    assert result.exit_code != 0
    assert {each.name: each.read_bytes() for each in path.iterdir() if each.is_file()} == before
    assert sorted(each.name for each in tmp_path.iterdir()) == ["a.headway"]
