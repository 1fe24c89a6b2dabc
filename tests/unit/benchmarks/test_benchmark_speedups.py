"""How the benchmark of speedups goes on with the sweeps that it keeps."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import speedup_error
from headway.store.sweep import write_sweep
from support.builders import sweep_builder

CASE = speedup_error.CASES["k-means 1"]
COMMANDS = [" ".join(speedup_error.command(CASE, words, CASE.size)) for words in (CASE.sequential, CASE.parallel)]


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Take down which commands would be run."""
    commands: list[list[str]] = []

    def run(words: list[str], **options: Any) -> subprocess.CompletedProcess[str]:
        commands.append(words[1:])
        return subprocess.CompletedProcess(words, 0, "", "")

    monkeypatch.setattr(subprocess, "run", run)
    return commands


def kept(path: Path, repeat: int) -> Path:
    sequential, parallel = COMMANDS
    sweep = sweep_builder.make(path, (1, 2), repeat)
    write_sweep(replace(sweep, sequential=sequential, parallel=parallel, from_marker="measuring"))
    return path


def test_a_sweep_that_is_there_is_gone_on_with(tmp_path: Path, asked: list[list[str]]) -> None:
    speedup_error.sweep(CASE, "1,2", 3, kept(tmp_path / "k.sweep", 3))
    assert asked == [["sweep", "--resume", str(tmp_path / "k.sweep"), "--region", CASE.region]]


def test_a_sweep_that_is_not_there_is_planned(tmp_path: Path, asked: list[list[str]]) -> None:
    speedup_error.sweep(CASE, "1,2", 3, tmp_path / "k.sweep")
    assert asked[0][:5] == ["sweep", "--sequential", COMMANDS[0], "--parallel", COMMANDS[1]]


@pytest.mark.parametrize(("threads", "repeat"), [("1,2", 4), ("1,2,4", 3)])
def test_a_sweep_of_another_plan_is_not_taken_for_this_one(
    tmp_path: Path, asked: list[list[str]], threads: str, repeat: int
) -> None:
    with pytest.raises(RuntimeError, match="another sweep"):
        speedup_error.sweep(CASE, threads, repeat, kept(tmp_path / "k.sweep", 3))
    assert not asked


def test_an_error_without_an_interval_says_so_and_is_undecided() -> None:
    error = speedup_error.speedup_error([1.02, 1.02, 1.02])
    assert str(error) == "+2.0 % (no interval)"
    text, is_reached = speedup_error.judged("computed speedup", error, 0.05)
    assert not is_reached
    assert text.endswith("undecided: too few repeats for an interval")
