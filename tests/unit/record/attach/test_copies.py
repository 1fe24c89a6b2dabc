"""Copies of an agent's files: each look is the files as they are, and one that fails is a message."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator

import pytest

from headway.errors import HeadwayError
from headway.record.live.copies import Content, Copies
from headway.record.target_process.deadline import Interrupted


@contextlib.contextmanager
def copies_of(table: Content, records: Content | None) -> Iterator[Copies]:
    copies = Copies("locks-1.table of process 1", table, records)
    try:
        yield copies
    finally:
        copies.close()
        os.close(copies.table_fd)
        os.close(copies.records_fd)


def test_a_look_has_what_the_files_have_then() -> None:
    files = {"table": b"abc", "records": b"0123456789"}
    with copies_of(lambda most: files["table"][:most], lambda most: files["records"][:most]) as copies:
        assert os.pread(copies.table_fd, 100, 0) == b"abc"
        copies.refresh_records()
        assert os.pread(copies.records_fd, 100, 0) == b"0123456789"
        files |= {"table": b"abcdef", "records": b"9"}
        copies.refresh()
        copies.refresh_records()
        assert os.pread(copies.table_fd, 100, 0) == b"abcdef"
        assert os.pread(copies.records_fd, 100, 0) == b"9"


def test_a_table_that_does_not_answer_is_told_with_its_process_and_nothing_stays_open() -> None:
    answers = [b"abc"]

    def content(_most: int) -> bytes:
        if not answers:
            raise TimeoutError
        return answers.pop(0)

    with (
        copies_of(content, None) as copies,
        pytest.raises(HeadwayError, match=r"HW065.*process 1.*it does not answer in time"),
    ):
        copies.refresh()
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(TimeoutError):
        Copies("table", content, None)
    assert len(os.listdir("/proc/self/fd")) == before


def test_records_that_do_not_answer_are_asked_for_once() -> None:
    asked = []

    def content(most: int) -> bytes:
        asked.append(most)
        raise TimeoutError

    with copies_of(lambda _most: b"abc", content) as copies:
        copies.refresh_records()
        copies.refresh_records()
    assert len(asked) == 1


def test_an_interrupt_ends_a_look() -> None:
    def content(_most: int) -> bytes:
        raise Interrupted

    answers = iter([b"abc"])
    with copies_of(lambda _most: next(answers), content) as copies, pytest.raises(Interrupted):
        copies.refresh_records()
