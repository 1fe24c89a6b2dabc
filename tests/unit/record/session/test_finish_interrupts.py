"""Ctrl-C between a program's end and its tables: the first one was for the program, the second one is for finalising."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from headway.cli.main import invoke
from headway.errors import HeadwayError
from headway.record.collect.listener import Listener
from headway.record.collect.watch import Watch
from headway.record.program.signals import SignalGate
from headway.record.session.finish import finish
from support.builders.spool_builder import DEAD, SLEEP, Spool

MS = 1_000_000
ROOT = 10


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    spool = Spool()
    spool.snapshot(0, ROOT, "S")
    spool.switch(1 * MS, 0, None, ROOT)
    spool.switch(20 * MS, 0, ROOT, None, SLEEP, exec_ns=19 * MS)
    spool.exit(90 * MS, ROOT)
    spool.switch(91 * MS, 0, ROOT, None, DEAD, exec_ns=19 * MS)
    directory = tmp_path / "a.headway"
    (directory / "spool").mkdir(parents=True)
    spool.write(directory / "spool")
    draft = {"format": "headway-recording", "version": 1, "state": "recording", "mode": "ebpf", "pid": ROOT}
    draft |= {"attached": False, "ended_by": "exit", "with_agent": False, "notices": [], "jvms": []}
    draft |= {"window": {"start_ns": 1 * MS, "end_ns": 100 * MS}}
    (directory / "manifest.json").write_text(json.dumps(draft))
    return directory


def finished(directory: Path, interrupts_before: int, progress: Callable[[float], None]) -> tuple[list[str], bool]:
    """Finalise as after a program's end. Return what is told, and whether who records several commands is to stop."""
    lines: list[str] = []
    with SignalGate() as gate:
        pidfd = os.pidfd_open(os.getpid())
        watch = Watch(pidfd, gate, os.getpid(), interrupts=interrupts_before, has_ended=True)
        try:
            finish(directory, Listener(tell=lines.append, progress=progress), watch)
        finally:
            os.close(pidfd)
            gate.take()
        return lines, gate.wants_end()


def state(directory: Path) -> str:
    return str(json.loads((directory / "manifest.json").read_text())["state"])


def interrupting(*shares: float) -> Callable[[float], None]:
    """Return a progress that raises SIGINT each time that so much is done."""
    left = list(shares)

    def progress(share: float) -> None:
        if left and share >= left[0]:
            left.pop(0)
            signal.raise_signal(signal.SIGINT)

    return progress


def test_one_ctrl_c_after_a_program_has_ended_by_itself_leaves_the_tables(directory: Path) -> None:
    lines, is_asked = finished(directory, 0, interrupting(0.0))
    assert state(directory) == "complete"
    assert lines == ["finalising goes on, since the recording has ended by itself; Ctrl-C once more stops it"]
    assert is_asked  # repeats and sweeps end with this run


def test_a_second_ctrl_c_stops_finalising_and_keeps_the_raw_records(directory: Path) -> None:
    with pytest.raises(HeadwayError, match="HW052"):
        finished(directory, 0, interrupting(0.0, 0.0))
    assert state(directory) == "recording"
    assert list((directory / "spool").iterdir())


def test_a_ctrl_c_after_the_one_that_ended_the_program_stops_finalising(directory: Path) -> None:
    with pytest.raises(HeadwayError, match="HW052"):
        finished(directory, 1, interrupting(0.0))
    assert state(directory) == "recording"


def test_what_is_recovered_is_not_called_recorded(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert invoke(["recover", str(directory)]) == 0
    assert f"headway: recovered {directory} (0.1 s, " in capsys.readouterr().err


def test_what_a_dead_recorder_left_is_called_partial(directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
    draft = json.loads((directory / "manifest.json").read_text())
    del draft["ended_by"]
    (directory / "manifest.json").write_text(json.dumps(draft))
    assert invoke(["recover", str(directory)]) == 0
    assert f"headway: recovered {directory} (partial: a part is missing; 0.1 s, " in capsys.readouterr().err


def test_nobody_is_to_stop_where_nobody_asked(directory: Path) -> None:
    assert finished(directory, 0, lambda share: None) == ([], False)
    assert state(directory) == "complete"
