"""Wait for a recording to end, without polling: one poll(2) over the program's pidfd, the signals, and the clock."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from dataclasses import dataclass
from typing import Literal

from headway.record.bystander import Bystander
from headway.record.capture import Capture
from headway.record.signals import ENDING, Arrival, SignalGate

EndedBy = Literal["exit", "duration", "interrupt", "disk-full", "enough"]


@dataclass(slots=True)
class Watch:
    """The watch over one program. `pidfd` is the root's; `child_pid` its pid where we started it, else None.

    `bystander` tells what the whole process group got. `interrupts` counts the signals that asked to end.
    """

    pidfd: int
    gate: SignalGate
    child_pid: int | None
    bystander: Bystander | None = None
    interrupts: int = 0
    gone: bool = False

    def until_end(self, capture: Capture, deadline_ns: int | None) -> EndedBy:
        """Return why the recording ends: the root ended, the time is up, somebody interrupted, the disk is full,
        or there is nothing more to learn.

        A program we started decides itself how it takes a signal, so there the recording goes on until it has ended.
        """
        while True:
            now_ns = time.monotonic_ns()
            capture.tick(now_ns)
            if capture.disk_full:
                return "disk-full"
            if capture.has_enough:
                return "enough"
            if deadline_ns is not None and now_ns >= deadline_ns:
                return "duration"
            wait_ms = capture.due_ms(now_ns)
            if deadline_ns is not None:
                wait_ms = min(wait_ms, (deadline_ns - now_ns) // 1_000_000 + 1)
            self.wait(wait_ms)
            if self.gone:
                return "interrupt" if self.interrupts else "exit"
            if self.interrupts and self.child_pid is None:
                return "interrupt"

    def until_gone(self) -> None:
        """Wait for the program alone; used when the recording ended before it."""
        while not self.gone:
            self.wait(None)

    def wait(self, timeout_ms: int | None) -> None:
        """Wait for the program's end, a signal or the time; pass signals on; set `gone` and `interrupts`."""
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        poller.register(self.gate, select.POLLIN)
        ready = {fd for fd, _ in poller.poll(timeout_ms)}
        arrivals = self.gate.take()
        of_group = self.bystander.saw() if arrivals and self.bystander is not None else set()
        for arrival in arrivals:
            self.interrupts += arrival.number in ENDING
            self._pass_on(arrival, arrival.from_terminal or arrival.number in of_group)
        # Signals first: one Ctrl-C comes to both, and must not be taken for a second one once the program is gone.
        self.gone = self.gone or self.pidfd in ready

    def _pass_on(self, arrival: Arrival, to_group: bool) -> None:
        """Give a started program what it has not had: what was sent to us alone, or to our group once it has left that."""
        child = self.child_pid
        if child is None or arrival.sender_pid == child:
            return
        with contextlib.suppress(ProcessLookupError):
            if not to_group or os.getpgid(child) != os.getpgid(0):
                signal.pidfd_send_signal(self.pidfd, arrival.number)
