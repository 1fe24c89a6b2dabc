"""The tests' way to start `headway` without loading it again: what is forked behaves as a start does."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from support.builders import recording_builder
from support.drivers import forked_headway
from support.drivers.recording_cli import HEADWAY


@pytest.mark.parametrize("words", [["--version"], ["nope"], ["top", "no/where"], ["explain", "HW303"]])
def test_output_and_exit_code_are_those_of_a_start(words: list[str]) -> None:
    started = subprocess.run([*HEADWAY, *words], capture_output=True, text=True, check=False)
    forked = forked_headway.run(words, 60)
    assert forked is not None
    assert (forked.returncode, forked.stdout, forked.stderr) == (started.returncode, started.stdout, started.stderr)


def test_it_works_in_the_directory_of_the_moment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recording_builder.make(tmp_path / "here.headway", recording_builder.Shape())
    monkeypatch.chdir(tmp_path)
    done = forked_headway.run(["threads", "here.headway", "--json"], 60)
    assert done is not None
    assert (done.returncode, done.stdout[:1]) == (0, "["), done.stderr


def test_what_takes_too_long_is_killed_and_others_go_on(tmp_path: Path) -> None:
    with pytest.raises(subprocess.TimeoutExpired):
        forked_headway.run(["record", "-o", str(tmp_path / "a.headway"), "--", "sleep", "9"], 0.05)
    version = forked_headway.run(["--version"], 60)
    assert version is not None
    assert version.stdout.startswith("headway ")


def test_in_another_environment_nothing_is_forked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert forked_headway.run(["--version"], 60)
    monkeypatch.setenv("LANG", "de_DE.UTF-8")
    assert forked_headway.run(["--version"], 60) is None
