"""What a program writes is passed on byte for byte, its lines are seen, and a reader that leaves is told to the program."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from headway.model.iterations import IterationMarks
from headway.record.program.line_reader import LineReader
from headway.record.session import marked_lines
from headway.record.session.marked_lines import MarkedLines


class Seen:
    """Lines as they were shown, and when they came."""

    def __init__(self, most: int = 1_000_000) -> None:
        self.lines: list[bytes] = []
        self.ns: list[int] = []
        self._most = most

    def __call__(self, lines: list[bytes], now_ns: int) -> bool:
        self.lines += lines
        self.ns += [now_ns] * len(lines)
        return len(self.lines) < self._most


@pytest.fixture
def output() -> Iterator[tuple[int, int]]:
    """A pipe in the place of headway's own standard output: its reading end, and its writing end."""
    ends = os.pipe()
    yield ends
    for fd in ends:
        try:
            os.close(fd)
        except OSError:
            continue


def write_for_ever(fd: int) -> None:
    while True:
        os.write(fd, b"y\n")
        time.sleep(0.0001)


def read_all(fd: int) -> bytes:
    os.set_blocking(fd, False)
    found = b""
    try:
        while data := os.read(fd, 1 << 16):
            found += data
    except BlockingIOError:
        pass
    return found


def test_bytes_are_passed_on_as_they_are_and_lines_are_seen_whole(output: tuple[int, int]) -> None:
    seen = Seen()
    reader = LineReader([output[1]], seen)
    begun_ns = time.monotonic_ns()
    reader.start_without_signals()
    parts = [b"one\ntw", b"o\n\x00\xff\r\n", b"\n", b"no end"]
    for part in parts:
        os.write(reader.inputs[0], part)
    reader.stop()
    assert read_all(output[0]) == b"".join(parts)
    assert seen.lines == [b"one", b"two", b"\x00\xff\r", b""]
    assert begun_ns <= seen.ns[0] <= seen.ns[-1] <= time.monotonic_ns()


def test_once_no_more_lines_are_wanted_bytes_are_passed_on_all_the_same(output: tuple[int, int]) -> None:
    seen = Seen(most=1)
    reader = LineReader([output[1]], seen)
    reader.start_without_signals()
    os.write(reader.inputs[0], b"one\n")
    while not seen.lines:
        time.sleep(0.001)
    os.write(reader.inputs[0], b"two\n")
    reader.stop()
    assert (seen.lines, read_all(output[0])) == ([b"one"], b"one\ntwo\n")


def test_a_program_whose_output_nobody_reads_any_more_learns_so(output: tuple[int, int]) -> None:
    reader = LineReader([output[1]], Seen())
    reader.start_without_signals()
    os.close(output[0])
    with pytest.raises(BrokenPipeError):
        write_for_ever(reader.inputs[0])
    reader.stop()


def filled(fd: int) -> None:
    """Fill a pipe to its last byte."""
    os.set_blocking(fd, False)
    try:
        while True:
            os.write(fd, b"x" * 4096)
    except BlockingIOError:
        os.set_blocking(fd, True)


def test_output_that_nobody_reads_keeps_nobody_who_wants_to_end(
    output: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """`headway record ... | less`: Ctrl-C ended the program, and headway waited for ever for somebody to read the rest."""
    monkeypatch.setattr(marked_lines, "_PATIENCE_S", 0.2)
    filled(output[1])
    lines = MarkedLines(IterationMarks("marker", "iteration"), (output[1], output[1]))
    asked: list[float] = []

    def is_asked_to_end() -> bool:
        asked.append(time.monotonic())
        return len(asked) > 3

    lines.is_asked_to_end = is_asked_to_end
    with lines:
        assert lines.streams is not None
        os.write(lines.streams[1], b"iteration 1\n")
    assert len(asked) > 3, "it goes on until somebody asks"
    assert asked[-1] > asked[0] + 0.1
    found = lines.as_json()
    assert found is not None
    assert len(found["marks_ns"]) == 1
    os.close(output[0])  # ends the thread


def test_who_reads_slowly_gets_all_though_somebody_asks_to_end(
    output: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As long as some of it is read."""
    monkeypatch.setattr(marked_lines, "_PATIENCE_S", 30.0)
    filled(output[1])
    lines = MarkedLines(IterationMarks("marker", "iteration"), (output[1], output[1]))
    found: list[bytes] = []

    def is_asked_to_end() -> bool:
        found.append(read_all(output[0]))
        return True

    lines.is_asked_to_end = is_asked_to_end
    with lines:
        assert lines.streams is not None
        os.write(lines.streams[1], b"iteration 1\n")
    assert b"".join(found).strip(b"x") + read_all(output[0]).strip(b"x") == b"iteration 1\n"


def test_only_lines_with_the_text_are_marks(capfd: pytest.CaptureFixture[str]) -> None:
    lines = MarkedLines(IterationMarks("marker", "iteration"))
    with lines:
        assert lines.streams is not None
        os.write(lines.streams[1], b"begin\niteration 1\niter")
        os.write(lines.streams[2], b"iteration on standard error\n")
        os.write(lines.streams[1], b"ation 2\n")
    found = lines.as_json()
    assert found is not None
    assert (found["by"], len(found["marks_ns"])) == ("marker=iteration", 3)
    assert found["marks_ns"] == sorted(found["marks_ns"])
    assert capfd.readouterr() == ("begin\niteration 1\niteration 2\n", "iteration on standard error\n")


@pytest.mark.parametrize("marks", [None, IterationMarks("gc"), IterationMarks("method", "App")])
def test_where_no_lines_are_asked_for_the_program_has_headways_own_streams(marks: IterationMarks | None) -> None:
    with MarkedLines(marks) as lines:
        assert lines.streams is None
    assert lines.as_json() == (None if marks is None else {"by": str(marks)})


@pytest.mark.parametrize("ends", [True, False])
def test_a_full_disk_ends_the_program_s_pipe_where_that_is_its_own_output(ends: bool) -> None:
    full = os.open("/dev/full", os.O_WRONLY)
    reader = LineReader([full], lambda _lines, _ns: True, ends_with_disk=ends)
    (pipe,) = (os.dup(fd) for fd in reader.inputs)
    reader.start_without_signals()
    try:
        os.write(pipe, b"line\n")
        deadline = time.monotonic() + 30
        is_closed = False
        while ends and not is_closed and time.monotonic() < deadline:
            try:
                os.write(pipe, b"x\n")
            except BrokenPipeError:
                is_closed = True
            time.sleep(0.01)
        assert is_closed == ends
    finally:
        os.close(pipe)
        reader.stop()
        os.close(full)
