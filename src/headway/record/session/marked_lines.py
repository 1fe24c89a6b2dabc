"""Notes when a recorded program prints lines with some text: its iterations, where `--iterations marker=TEXT` asks for them.

The program's standard output and error are pipes then, and what comes is passed on to headway's own (program/line_reader.py).
So a program that asks whether it writes to a terminal finds that it does not, and one that outlives headway can write no more.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from types import TracebackType
from typing import Any

from headway.model.iterations import MARKER, IterationMarks
from headway.record.program.line_reader import LineReader

_PATIENCE_S = 1.0
MOST_MARKS = 100_000
"""Of a recording: what comes after them is no iteration any more."""


class MarkedLines:
    """The streams of a program whose lines are looked for. Use as a context manager; `streams` None: headway's own."""

    def __init__(self, marks: IterationMarks | None, outputs: tuple[int, int] = (1, 2)) -> None:
        """Make pipes where lines are asked for; what comes through them is passed on to `outputs`."""
        is_asked = marks is not None and marks.by == MARKER
        self._given = marks
        self._text = marks.text.encode() if marks is not None and is_asked else b""
        self._found: list[int] = []
        self.is_asked_to_end: Callable[[], bool] = lambda: False
        """Tells, once the program has ended, whether somebody has asked headway to end."""
        self._reader = LineReader(outputs, self._look, ends_with_disk=True) if is_asked else None

    def __enter__(self) -> MarkedLines:
        """Begin to read."""
        if self._reader is not None:
            self._reader.start_without_signals()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Pass on what is left; the program has ended."""
        self.finish()

    @property
    def streams(self) -> tuple[int, int, int] | None:
        """Return the descriptors of the program's standard streams."""
        if self._reader is None:
            return None
        out, err = self._reader.inputs
        return 0, out, err

    def finish(self) -> None:
        """Pass on and look at what the program has written up to its end.

        Where nobody reads it, that would never end: when somebody has asked to end, a second in which nothing is read does.
        """
        if self._reader is not None:
            self._reader.stop(self._gives_up(self._reader))
            self._reader = None

    def _gives_up(self, reader: LineReader) -> Callable[[], bool]:
        passed_bytes, since_s = reader.passed_bytes, time.monotonic()

        def gives_up() -> bool:
            nonlocal passed_bytes, since_s
            if reader.passed_bytes != passed_bytes:
                passed_bytes, since_s = reader.passed_bytes, time.monotonic()
            return self.is_asked_to_end() and time.monotonic() > since_s + _PATIENCE_S

        return gives_up

    def as_json(self) -> dict[str, Any] | None:
        """Return what the manifest keeps: {by, marks_ns [CLOCK_MONOTONIC]}, these of lines only; None: nothing is asked for."""
        if self._given is None:
            return None
        return {"by": str(self._given), **({"marks_ns": [*self._found]} if self._text else {})}

    def _look(self, lines: list[bytes], now_ns: int) -> bool:
        self._found += [now_ns for line in lines if self._text in line]
        del self._found[MOST_MARKS:]
        return len(self._found) < MOST_MARKS
