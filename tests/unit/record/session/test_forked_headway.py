"""The tests' way to start `headway` without loading it again: what is forked behaves as a start does."""

from __future__ import annotations

import os
import signal
import subprocess
import time
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


# --- the program for shells ----------------------------------------------------------------------------------------------


@pytest.fixture
def shell(tmp_path: Path) -> dict[str, str]:
    """The environment of a shell whose `headway` has the keeper fork."""
    (tmp_path / "bin").mkdir()
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}:{os.environ['PATH']}", "GREETING": "hello"}
    start = tmp_path / "start"
    start.write_text("#!/bin/sh\necho started with $GREETING\n")
    start.chmod(0o755)
    forked_headway.command_in(tmp_path / "bin", start, environment)
    return environment


def in_shell(shell: dict[str, str], text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["bash", "-c", text], env=shell, cwd=folder, capture_output=True, text=True, timeout=100)


def test_a_shell_gets_output_exit_code_and_pipes_of_a_start(shell: dict[str, str], tmp_path: Path) -> None:
    recording_builder.make(tmp_path / "here.headway", recording_builder.Shape())
    done = in_shell(shell, "headway threads here.headway --json | head -c 1; headway top no/where; echo $?", tmp_path)
    assert done.stdout == "[1\n", done.stderr
    assert "HW301" in done.stderr


def test_what_is_started_has_the_shells_environment_and_another_one_is_a_start(
    shell: dict[str, str], tmp_path: Path
) -> None:
    record = "headway record --no-agent -o a.headway -- bash -c 'echo $GREETING'"
    assert in_shell(shell, record, tmp_path).stdout == "hello\n"
    assert in_shell(shell, "GREETING=bye headway --version", tmp_path).stdout == "started with bye\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_a_signal_to_the_command_ends_headway(shell: dict[str, str], tmp_path: Path, number: signal.Signals) -> None:
    words = ["headway", "record", "--no-agent", "-o", "a.headway", "--", "bash", "-c", "echo $$; exec sleep 100"]
    with subprocess.Popen(words, env=shell, cwd=tmp_path, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        process.send_signal(number)
        process.wait(timeout=100)
    end = time.monotonic() + 100
    while Path(f"/proc/{pid}").exists() and time.monotonic() < end:
        time.sleep(0.02)
    assert not Path(f"/proc/{pid}").exists()
