"""Stacks of a live table that take more room than there is: they are not spelled out at all, and each name is kept once."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from headway.record.live import table_file
from headway.record.live.table_file import FirstEvents


class Records:
    """The agent's records, of stacks that have two frames each; counts what is asked for."""

    def __init__(self) -> None:
        self.asked: list[int] = []

    def frames(self, stack: int) -> list[tuple[bytes, bytes, int]]:
        self.asked.append(stack)
        return [(b"org.example.%s" % name, b"run", line) for name, line in ((b"Pool", 7), (b"Task", stack))]

    def knows_stack(self, stack: int) -> bool:
        return stack % 2 == 0

    def first_thread(self, _blocker: int, java_id: int) -> bytes:
        return b"thread %d" % java_id


@pytest.fixture
def firsts() -> Iterator[FirstEvents]:
    found = FirstEvents(os.open(os.devnull, os.O_RDONLY))
    found._records = Records()
    yield found
    found.close()


def look(firsts: FirstEvents, stacks: int) -> list[int]:
    """Return how many frames each stack has in one look."""
    firsts.read_for((), 1)
    return [len(firsts.frames(stack)) for stack in range(1, stacks + 1)]


def asked(firsts: FirstEvents) -> list[int]:
    found: list[int] = firsts._records.asked
    return found


def test_once_the_room_is_used_no_more_stacks_are_asked_for(
    firsts: FirstEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = sum(len(f'"org.example.{name}.run:{line}"') + 2 for name, line in (("Pool", 7), ("Task", 1)))
    monkeypatch.setattr(table_file, "_MOST_SPELLED_BYTES", 3 * size)
    assert look(firsts, 100) == [2, 2, 2, *[0] * 97]
    assert asked(firsts) == [1, 2, 3, 4]
    assert firsts.thread((1, 5, 1)) is None
    assert look(firsts, 100) == [2, 2, 2, *[0] * 97], "in the next look there is room again"


def test_equal_names_and_frames_are_the_same_objects_in_all_stacks_and_looks(firsts: FirstEvents) -> None:
    first, second = firsts.frames(2), firsts.frames(4)
    assert first == (("org.example.Pool", "run", 7), ("org.example.Task", "run", 2))
    assert first[0] is second[0]
    assert first[1][0] is second[1][0]
    assert first[1][1] is first[0][1]


def test_more_frames_than_are_kept_count_as_not_taken_and_known_ones_as_before(
    firsts: FirstEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_file, "_MOST_FRAMES", 4)
    assert look(firsts, 6) == [2, 2, 2, 0, 0, 0]
    assert look(firsts, 6) == [2, 2, 2, 0, 0, 0]


def test_names_of_more_text_than_is_kept_count_as_not_taken(
    firsts: FirstEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_file, "_MOST_TEXT_BYTES", 50)
    assert look(firsts, 3) == [0, 0, 0]


def test_stacks_beyond_those_that_are_kept_are_spelled_out_anew(
    firsts: FirstEvents, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_file, "_MOST_KEPT", 4)
    assert look(firsts, 5) == [2] * 5
    asked(firsts).clear()
    assert look(firsts, 5) == [2] * 5
    assert asked(firsts) == [1, 3, 4, 5], "of stack 2 all names are known, and it was the only such one that was kept"
