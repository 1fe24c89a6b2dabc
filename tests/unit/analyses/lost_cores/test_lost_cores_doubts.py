"""Which losses hang on what came before an attach, on recordings made by hand."""

from __future__ import annotations

import dataclasses
import io
from pathlib import Path

import pytest

from headway.analyses.lost_cores.analysis import why
from headway.analyses.lost_cores.coarse_accounts import notices
from headway.analyses.lost_cores.types import Account
from headway.errors.message import NOTE, WARNING
from headway.report.html.lost_cores import why_values
from headway.report.terminal import make_console
from headway.report.terminal.lost_cores import render_why
from headway.store import open_recording
from support.builders import synthetic
from support.builders.account_builder import why_result
from support.builders.lock_builder import LockRecording, Wait
from support.builders.synthetic import FakeThread

JOIN = (("java.lang.Object", "wait"), ("java.lang.Thread", "join"), ("org.example.Main", "main"))
LAUNCHER = FakeThread("app", 0, [("B", 100)], "java")


def attached(path: Path, threads: list[FakeThread], waits: list[Wait], before: set[str]) -> Path:
    """Write a recording in which some threads ran before it began."""
    written = LockRecording(
        threads, waits, wall=100, kinds=["wait"], classes=["java.lang.Thread"], stacks=[JOIN]
    ).write(path)
    recording, tables = open_recording(written), {}
    for name in ("blocker", "block", "hold", "stack", "frame"):
        found = recording.query(f'SELECT * FROM "{name}"')
        columns = [column[0] for column in found.description]
        tables[name] = [dict(zip(columns, row, strict=True)) for row in found.fetchall()]
    tables["thread"] = [
        synthetic.thread_row(i, thread, 100) | {"from_snapshot": thread.name in before}
        for i, thread in enumerate(threads)
    ]
    return synthetic.write(path, threads, 100, tables=tables, attached=True)


def account(path: Path, window: tuple[int, int] | None = None) -> Account:
    return why(open_recording(path), window=window).account


def test_alone_is_in_doubt_as_long_as_another_is_in_a_wait_from_before(tmp_path: Path) -> None:
    threads = [
        LAUNCHER,
        FakeThread("app", 0, [("B", 50), ("R", 2), ("B", 48)], "main"),
        FakeThread("app", 0, [("R", 100)], "worker"),
    ]
    path = attached(tmp_path / "r", threads, [], {"java", "main", "worker"})
    assert {loss.doubts for loss in account(path).lost if loss.cause == "serial_section"} == {("HW498",)}
    assert "HW498" in {notice.id for notice in why(open_recording(path)).notices}
    later = why(open_recording(path), window=(60, 100))
    assert later.account.lost
    assert not any(loss.doubts for loss in later.account.lost)
    assert "HW498" not in {notice.id for notice in later.notices}


def test_doubts_of_losses_that_have_no_line_are_a_note(tmp_path: Path) -> None:
    """An idle server that is attached to has losses of microseconds: nobody reads them, and no warning is about them."""
    threads = [
        LAUNCHER,
        FakeThread("app", 0, [("B", 50), ("R", 2), ("B", 48)], "main"),
        FakeThread("app", 0, [("R", 100)], "worker"),
    ]
    recording = open_recording(attached(tmp_path / "r", threads, [], {"java", "main", "worker"}))
    found = why(recording).account
    for share, level in ((0.1, WARNING), (0.0, NOTE)):
        lost = tuple(dataclasses.replace(loss, share=share, likely_speedup=None) for loss in found.lost)
        (notice,) = (each for each in notices(recording, dataclasses.replace(found, lost=lost)) if each.id == "HW498")
        assert notice.level == level


def test_nothing_is_in_doubt_where_nobody_waited_when_headway_came(tmp_path: Path) -> None:
    threads = [
        LAUNCHER,
        FakeThread("app", 0, [("R", 60), ("B", 40)], "main"),
        FakeThread("app", 70, [("R", 30)], "late"),
    ]
    path = attached(tmp_path / "r", threads, [], {"java", "main"})
    assert account(path).lost
    assert not any(loss.doubts for loss in account(path).lost)


@pytest.mark.parametrize(("before", "doubts"), [({"watcher", "worker"}, ("HW498",)), ({"watcher"}, ()), (set(), ())])
def test_a_join_is_in_doubt_where_a_background_thread_may_have_been_started_by_whom_it_joins(
    before: set[str], doubts: tuple[str, ...], tmp_path: Path
) -> None:
    threads = [
        LAUNCHER,
        FakeThread("app", 0, [("R", 90), ("B", 10)], "worker"),
        FakeThread("app", 0, [("R", 1), ("B", 89), ("R", 1)], "watcher"),
        FakeThread("app", 0, [("R", 40)], "other"),
    ]
    path = attached(tmp_path / "r", threads, [Wait(2, 0, 1, 90, waker=1, waking=90, stack=0)], before)
    joins = [loss for loss in account(path).lost if loss.place.lock is not None]
    assert joins
    assert {loss.doubts for loss in joins} == {doubts}


def test_a_loss_in_doubt_is_marked_in_the_table_and_on_the_page() -> None:
    found = why_result()
    first, *rest = found.account.lost
    whole = dataclasses.replace(found.account, lost=(dataclasses.replace(first, doubts=("HW498",)), *rest))
    out = io.StringIO()
    render_why(dataclasses.replace(found, account=whole), make_console(out))
    assert "lock contention ?" in out.getvalue()
    assert "?: in doubt, see HW498." in out.getvalue()
    doubted = dataclasses.replace(first, doubts=("HW498",), evidence=("A doubt", "Sentence 1", "Sentence 2"))
    out = io.StringIO()
    account = dataclasses.replace(found.account, lost=(doubted, *rest))
    render_why(dataclasses.replace(found, account=account), make_console(out))
    assert "A doubt. Sentence 1. Sentence 2." in out.getvalue(), "a doubt takes no sentence's place"
    small = dataclasses.replace(doubted, core_ns=1, share=0.0, likely_speedup=None)
    out = io.StringIO()
    account = dataclasses.replace(found.account, lost=(*rest, small))
    render_why(dataclasses.replace(found, account=account), make_console(out))
    assert "in doubt" not in out.getvalue(), "no mark is explained that no line has"
    losses = why_values(dataclasses.replace(found, account=whole))["account"]["losses"]
    assert ["HW498" in loss["evidence"][0] for loss in losses] == [True, *[False] * (len(losses) - 1)]
