"""What is told while a process is recorded that runs already: the begin, how far it is, and nothing beside the terminal."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path

import pytest

from headway.cli.recording import StatusLine, say
from headway.errors import Notice
from headway.record.collect.attach_status import AttachStatus, size_of, size_text
from headway.record.collect.listener import Listener

SECOND = 1_000_000_000


@pytest.mark.parametrize(
    ("duration_s", "until", "limit"),
    [(30.0, "for 30 s, or until Ctrl-C", " of 30 s"), (None, "until Ctrl-C or its end", "")],
)
def test_the_begin_is_told_once_then_about_every_second_how_far_and_how_much(
    tmp_path: Path, duration_s: float | None, until: str, limit: str
) -> None:
    lines: list[str] = []
    shown: list[str] = []
    me = os.getpid()
    status = AttachStatus(Listener(tell=lines.append, status=shown.append), tmp_path, me, duration_s)
    status.begin(100 * SECOND)
    (tmp_path / "sched.spool").write_bytes(b"x" * 3_000_000)
    for tenths in range(1, 26):
        status.look(100 * SECOND + tenths * SECOND // 10)
    status.end()
    (begin,) = lines
    assert begin.startswith(f"recording process {me} (python")
    assert begin.endswith(until)
    size = size_text(size_of(tmp_path))
    assert shown == [f"recording process {me}: {seconds} s{limit}, {size}" for seconds in (1, 2)] + [""]


def test_the_size_is_what_the_files_take_on_disk_without_their_holes(tmp_path: Path) -> None:
    with (tmp_path / "agent-1.spool").open("wb") as file:
        file.truncate(1 << 30)
        file.write(b"x" * 100_000)
        os.fsync(file.fileno())
    assert 100_000 <= size_of(tmp_path) < 1_000_000
    assert size_of(tmp_path / "missing") == 0
    assert [size_text(size) for size in (0, 311_700, 4_140_000, 450_000_000, 2_340_000_000)] == [
        "0 kB",
        "312 kB",
        "4.1 MB",
        "450 MB",
        "2.3 GB",
    ]


def test_on_a_terminal_the_line_is_written_over_and_gone_before_a_message(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stderr", terminal := Terminal())
    line = StatusLine()
    line("1 s")
    line("2 s")
    line.before(say)(Notice("HW100", "note", ""))
    line("")
    assert terminal.getvalue() == "\r\x1b[Kheadway: 1 s\r\x1b[Kheadway: 2 s\r\x1b[Kheadway: HW100: note\n"


def test_elsewhere_nothing_is_written_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", file := io.StringIO())
    line = StatusLine()
    line("1 s")
    line("")
    assert file.getvalue() == ""
