"""Signals to `locks --pid` and `dump` while they lay out and print a table: a JVM may have a quarter of a million rows."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from headway.cli import dump, live_locks
from headway.cli.live import ended_at_once, ended_by_signals
from headway.model.live_lock import LiveTable
from headway.record.target_process.deadline import Interrupted

EMPTY = LiveTable(1, 0, 1, (), 0, 0, 0, 0)
OPTIONS = {"sort": None, "min_parks": 0, "show_all": True}


class OneTable:
    def read(self) -> LiveTable:
        return EMPTY


@contextlib.contextmanager
def one_table(*_: Any) -> Iterator[tuple[OneTable, bool]]:
    yield OneTable(), False


def takes_for_ever(*_: Any, **__: Any) -> list[Any]:
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(30)
    raise AssertionError("nothing ended it")


@pytest.fixture
def looked_at() -> Iterator[int]:
    """The number of a process that is there."""
    with subprocess.Popen(["sleep", "600"]) as process:
        try:
            yield process.pid
        finally:
            process.kill()


@pytest.fixture
def begun(monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr("headway.record.live.live_locks.live_locks", one_table)
    monkeypatch.setattr("headway.analyses.locks.live.live_rows", takes_for_ever)
    return time.monotonic()


def test_what_asks_to_end_ends_the_printing_of_a_table(begun: float, looked_at: int) -> None:
    mine = {"pid": looked_at, "watch": False, "interval": None}
    live_locks.LiveLocks().show(mine, as_json=False, **OPTIONS)
    assert time.monotonic() - begun < 20


def test_what_asks_to_end_ends_a_dump_which_leaves_no_file(begun: float, looked_at: int, tmp_path: Path) -> None:
    words = ["--pid", str(looked_at), "-o", str(tmp_path / "locks.txt")]
    done = CliRunner().invoke(dump.command, words, standalone_mode=False)
    assert (done.exception, done.return_value) == (None, 130)
    assert time.monotonic() - begun < 20
    assert os.listdir(tmp_path) == []


def test_what_asked_to_end_while_a_table_was_read_ends_before_it_is_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], looked_at: int
) -> None:
    class EndedMeanwhile(OneTable):
        def read(self) -> LiveTable:
            os.kill(os.getpid(), signal.SIGTERM)
            return EMPTY

    monkeypatch.setattr(
        "headway.record.live.live_locks.live_locks", lambda *_: contextlib.nullcontext((EndedMeanwhile(), False))
    )
    live_locks.LiveLocks().show({"pid": looked_at, "watch": False, "interval": None}, as_json=True, **OPTIONS)
    assert capfd.readouterr().out == ""


def test_signals_are_taken_as_before_once_a_table_is_printed() -> None:
    before = signal.getsignal(signal.SIGINT)
    with ended_by_signals() as ended, pytest.raises(Interrupted), ended_at_once(ended):
        takes_for_ever()
    assert signal.getsignal(signal.SIGINT) is before
