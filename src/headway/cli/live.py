"""What `locks --pid` and `dump` share: looking at a JVM's table until it ends, somebody interrupts, or once."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from headway.model.live_lock import LiveTable
    from headway.record.live_locks import TableFile

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def ended_by_signals() -> Iterator[int]:
    """Give a descriptor that can be read once somebody asked us to end, so that the agent is taken out before we go."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def note(*_: Any) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(writer, b"x")

    before = {number: signal.signal(number, note) for number in _ENDING}
    try:
        yield reader
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        os.close(reader)
        os.close(writer)


def looks(
    table: TableFile, ended: int, pid: int, interval_s: float, *, first: bool, again: bool
) -> Iterator[tuple[LiveTable, LiveTable | None]]:
    """Yield snapshots with the one before each. `first`: wait an interval before the first; `again`: until the end."""
    before = None
    with _process(pid) as process:
        if first and _over(ended, process, interval_s) == "signal":
            return
        while True:
            now = table.read()
            yield now, before
            before = now
            if not again or _over(ended, process, interval_s):
                return


@contextlib.contextmanager
def _process(pid: int) -> Iterator[int | None]:
    try:
        process = os.pidfd_open(pid)
    except OSError:
        yield None
        return
    try:
        yield process
    finally:
        os.close(process)


def _over(ended: int, process: int | None, wait_s: float) -> str:
    """Wait, and return what made us stop: 'signal', 'exit', or '' when the time is up."""
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    if process is not None:
        poller.register(process, select.POLLIN)
    ready = {fd for fd, _ in poller.poll(wait_s * 1000)}
    if ended in ready:
        return "signal"
    return "exit" if ready or process is None else ""
