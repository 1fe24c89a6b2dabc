"""The end of `headway run` on a terminal: it tells at each step that it is at work, and what Ctrl-C leaves."""

from __future__ import annotations

import io
from pathlib import Path
from threading import Event
from typing import Any

import pytest

import headway.analyses.overview
import headway.report.html
from headway.cli.run import show
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

STEPS = ("looking for where the cores went", "writing the report")


class Terminal(io.StringIO):
    """A terminal that says when it has shown a text."""

    def __init__(self) -> None:
        super().__init__()
        self.shown = {step: Event() for step in STEPS}

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        count = super().write(text)
        for step, event in self.shown.items():
            if step in self.getvalue():
                event.set()
        return count


def terminal_for(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Put a terminal in the place of standard error; in the test itself, as pytest has its own there before."""
    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    return terminal


@pytest.fixture
def path(tmp_path: Path) -> Path:
    threads = [FakeThread("app", 0, [("R", 100)], name) for name in ("a", "b")]
    return LockRecording(threads, [Wait(0, 0, 5, 90, owner=1, waker=1, waking=80)]).write(tmp_path / "a.headway")


def slow_until_shown(terminal: Terminal, step: str, then: Any) -> Any:
    """Return a function that takes until the terminal says that it is at work."""

    def slow(*args: Any, **options: Any) -> Any:
        assert terminal.shown[step].wait(30), f"nothing is told: {step}"
        return then(*args, **options)

    return slow


def test_each_step_that_takes_long_is_told_and_what_ctrl_c_leaves(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = terminal_for(monkeypatch)
    for module, name, step in (
        (headway.analyses.overview, "overview", STEPS[0]),
        (headway.report.html, "render_html", STEPS[1]),
    ):
        monkeypatch.setattr(module, name, slow_until_shown(terminal, step, getattr(module, name)))
    show(path)
    said = terminal.getvalue()
    assert said.index(STEPS[0]) < said.index(STEPS[1])
    assert all(f"{step}, " in said for step in STEPS)
    assert said.count("(Ctrl-C: the recording is complete without)") >= len(STEPS)
    assert said.rstrip().endswith(f"headway: report    {path.with_suffix('.html')}")


def test_an_end_that_is_interrupted_at_once_shows_no_progress_and_where_the_recording_is(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = terminal_for(monkeypatch)
    monkeypatch.setattr(headway.analyses.overview, "overview", lambda _: (_ for _ in ()).throw(KeyboardInterrupt()))
    show(path)
    said = terminal.getvalue()
    assert "Ctrl-C" not in said
    assert "you interrupted" in said
    assert f"headway: recording {path}" in said
