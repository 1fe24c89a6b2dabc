"""What `locks --pid` and `dump` share: looking at a JVM's table until it ends, somebody interrupts, or once."""

from __future__ import annotations

import contextlib
import os
import select
import signal
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from headway.cli.options import TimePoint
    from headway.model.live_lock import LiveTable
    from headway.record.live.table_file import TableFile
    from headway.record.target_process.processes import Process

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def seconds(given: TimePoint | None, default_s: float = 2.0, option: str = "--interval") -> float:
    """Return the time that an option gives in seconds. Raises click.UsageError for zero."""
    if given is None:
        return default_s
    if not given.ns:
        raise click.UsageError(f"{option} {given.text}: give a time above zero, such as 2s")
    return given.ns / 1e9


@contextlib.contextmanager
def ended_by_signals() -> Iterator[int]:
    """Give a descriptor that becomes readable when a signal asks headway to end, so that the agent is taken out first."""
    reader, writer = os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)

    def note(*_: Any) -> None:
        with contextlib.suppress(BlockingIOError):
            os.write(writer, b"x")

    try:
        with _on_signals(note):
            yield reader
    finally:
        os.close(reader)
        os.close(writer)


@contextlib.contextmanager
def ended_at_once(ended: int) -> Iterator[None]:
    """Raise Interrupted when somebody asks us to end, or did before: printing leaves nothing to put away.

    A JVM may have any number of rows. `ended`: the descriptor of `ended_by_signals`.
    """
    from headway.record.target_process.deadline import Interrupted

    def end(*_: Any) -> None:
        raise Interrupted

    with _on_signals(end):
        if is_over(ended):
            raise Interrupted
        yield


@contextlib.contextmanager
def _on_signals(act: Callable[..., None]) -> Iterator[None]:
    """Call this when somebody asks us to end."""
    before = {number: signal.signal(number, act) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def looks(
    table: TableFile, ended: int, target: Process, interval_s: float, *, first: bool, again: bool
) -> Iterator[tuple[LiveTable, LiveTable | None]]:
    """Yield snapshots with the one before each. `first`: wait an interval before the first; `again`: until the end."""
    before = None
    with process_descriptor(target) as process:
        if first and over(ended, process, interval_s) == "signal":
            return
        while True:
            now = table.read()
            yield now, before
            before = now
            if not again or over(ended, process, interval_s):
                return


def is_over(ended: int) -> bool:
    """Return, without waiting, whether somebody asked us to end."""
    return bool(select.select([ended], [], [], 0)[0])


@contextlib.contextmanager
def process_descriptor(process: Process) -> Iterator[int | None]:
    """Give a descriptor that can be read once a process has ended; None where it has already, or the kernel has none."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        yield None
        return
    try:
        yield descriptor if process.is_alive else None  # else its number was another's by then
    finally:
        os.close(descriptor)


def over(ended: int, process: int | None, wait_s: float) -> str:
    """Wait, and return what ended the wait: 'signal', 'exit', or '' when the time is up."""
    poller = select.poll()
    poller.register(ended, select.POLLIN)
    if process is not None:
        poller.register(process, select.POLLIN)
    ready = {fd for fd, _ in poller.poll(wait_s * 1000)}
    if ended in ready:
        return "signal"
    return "exit" if ready or process is None else ""
