"""Whether somebody records into a directory: by the lock on it, at which agents look, too."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

import pytest

from headway.record.agent import orphans


def is_locked(directory: Path) -> bool:
    fd = os.open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        return orphans.is_locked(fd)
    finally:
        os.close(fd)


def test_a_directory_is_locked_until_its_recorder_unlocks_it(tmp_path: Path) -> None:
    assert not is_locked(tmp_path)
    holder = orphans.lock_directory(tmp_path)
    assert is_locked(tmp_path)
    orphans.unlock_directory(holder)
    assert not is_locked(tmp_path)


def test_a_lock_that_an_agent_has_for_a_moment_holds_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = os.open(tmp_path, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(agent, fcntl.LOCK_EX)
    monkeypatch.setattr("headway.record.agent.orphans.time.sleep", lambda _: fcntl.flock(agent, fcntl.LOCK_UN))
    assert not is_locked(tmp_path)
    os.close(agent)
