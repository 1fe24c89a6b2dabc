"""Commands that headway tells people to run as root: what others put into the current directory is not run by them."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from headway.record.doctor.remedies import headway_command


@pytest.mark.parametrize("is_safe", [True, False])
def test_the_command_that_starts_headway_takes_no_module_from_the_current_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_safe: bool
) -> None:
    (tmp_path / "click.py").write_text("open('ran', 'w')\nraise SystemExit(9)\n")
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(sys, "argv", ["/nowhere/__main__.py"])
    words = shlex.split(headway_command())
    assert words == [sys.executable, "-P", "-m", "headway"]
    if not is_safe:
        words.remove("-P")
    done = subprocess.run([*words, "--version"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, (tmp_path / "ran").exists()) == ((0, False) if is_safe else (9, True)), done.stderr
