"""Copies of what an agent keeps in files that a stranger controls: headway itself, as root, neither opens nor reads them.

Whoever serves a file, or has it open as well, may keep its readers waiting for ever. So each look is read by a process of its
own, with the JVM's rights, which can be left behind (target_process/apart.py).
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable

from headway.errors import HeadwayError
from headway.record.target_process.agent_file import LONGEST_TABLE_BYTES

LONGEST_RECORDS_BYTES = 64 << 20
"""Of the records, whose first ones name threads and stacks; what lies beyond has no names."""

Content = Callable[[int], bytes]
"""What reads the first so many bytes of a file anew. Raises OSError, TimeoutError when that takes too long; Interrupted."""


class Copies:
    """A table and the records beside it, in memory. Both descriptors are for whoever reads them to close."""

    def __init__(
        self, name: str, table: Content, records: Content | None, resources: contextlib.ExitStack | None = None
    ) -> None:
        """Take what reads the two files, and make the first copy of the table. Raises as the reading does.

        `name`: what messages call the table. `resources`: what the reading needs, which is let go at the end.
        """
        self._name = name
        self._table = table
        self._records = records
        self._resources = contextlib.ExitStack()
        self.table_fd = os.memfd_create("headway-table", os.MFD_CLOEXEC)
        self.records_fd = os.memfd_create("headway-records", os.MFD_CLOEXEC)
        try:
            _copy(table, LONGEST_TABLE_BYTES, self.table_fd)
        except BaseException:
            os.close(self.table_fd)
            os.close(self.records_fd)
            raise
        if resources is not None:
            self._resources = resources.pop_all()

    def close(self) -> None:
        """Let go of what was copied from."""
        self._resources.close()

    def refresh(self) -> None:
        """Copy the table anew. Raises HeadwayError HW065 when it can't be read, or not in time; Interrupted."""
        try:
            _copy(self._table, LONGEST_TABLE_BYTES, self.table_fd)
        except OSError as error:
            raise not_read(self._name, error) from None

    def refresh_records(self) -> None:
        """Copy the records anew; those that can't be read stay as they were, and are not asked for again. Raises Interrupted."""
        if self._records is None:
            return
        try:
            _copy(self._records, LONGEST_RECORDS_BYTES, self.records_fd)
        except OSError:  # without them, first threads and stacks have no names
            self._records = None


def not_read(name: str, error: OSError) -> HeadwayError:
    """Return the error (HW065) for a live lock table that can't be read: its JVM, or the server of its file, prevents it."""
    return HeadwayError(
        "HW065", path=name, reason=f"it can't be read: {error.strerror or 'it does not answer in time'}"
    )


def _copy(content: Content, most: int, fd: int) -> None:
    data = memoryview(content(most))
    os.ftruncate(fd, 0)
    at = 0
    while at < len(data):
        at += os.pwrite(fd, data[at:], at)
