"""The progress of a build: how many steps of how many, now and then, and all its output in a file."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest
import show_progress

OUTPUT = "-- Configured\n[1/3] Building a.cpp\nnote: of a.cpp\n[3/3] Linking\n"


@pytest.mark.parametrize(
    ("every_s", "said"), [(0.0, "native: 1 of 3 done\nnative: 3 of 3 done\n"), (1000.0, "")], ids=["slow", "quick"]
)
def test_steps_are_told_where_a_build_takes_long_and_all_is_kept(
    every_s: float, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(show_progress, "EVERY_S", every_s)
    monkeypatch.setattr(sys, "argv", ["show_progress.py", str(tmp_path / "log"), "native"])
    monkeypatch.setattr(sys, "stdin", io.StringIO(OUTPUT))
    assert show_progress.main() == 0
    assert capsys.readouterr().out == said
    assert (tmp_path / "log").read_text() == OUTPUT
