"""A terminal as a place for what is written for programs: CSV, stacks, JSON. Nothing in it acts on the terminal."""

from __future__ import annotations

import codecs
import contextlib
import io
from collections.abc import Iterator
from typing import IO, Any

from headway.report.terminal.printing.text import printable_lines


@contextlib.contextmanager
def shown_plainly(out: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield `out`, or where it is a terminal a file that spells out what is not plainly visible, but line breaks and tabs."""
    if not out.isatty():
        yield out
        return
    with io.BufferedWriter(_Plainly(out)) as shown:
        yield shown


class _Plainly(io.RawIOBase):
    """Text on its way to a terminal."""

    def __init__(self, out: IO[bytes]) -> None:
        super().__init__()
        self._out = out
        self._decoder = codecs.getincrementaldecoder("utf-8")("backslashreplace")

    def writable(self) -> bool:
        return True

    def write(self, data: Any, /) -> int:
        text = self._decoder.decode(bytes(data))
        self._out.write("\t".join(map(printable_lines, text.split("\t"))).encode())
        return len(data)

    def close(self) -> None:
        if not self.closed and not self._out.closed:
            self._out.flush()
        super().close()
