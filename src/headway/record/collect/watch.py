"""Waits for a recording's end without busy polling: one poll(2) over the program's pidfd, signals and timers."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from headway.record.collect.capture import Capture
from headway.record.program.group_signals import GroupSignalProbe
from headway.record.program.signals import ENDING, Arrival, SignalGate

EndedBy = Literal["exit", "duration", "interrupt", "disk-full", "enough"]


@dataclass(slots=True)
class Watch:
    """The wait for one program's end. `pidfd` is the root process's; `child_pid` its pid if headway started it, else None.

    `group_probe` tells what the whole process group got. `interrupts` counts the signals that asked to end.
    """

    pidfd: int
    gate: SignalGate
    child_pid: int | None
    group_probe: GroupSignalProbe | None = None
    interrupts: int = 0
    has_ended: bool = False

    def until_end(
        self, capture: Capture, deadline_ns: int | None, look: Callable[[int], None] | None = None
    ) -> EndedBy:
        """Return why the recording ends: the root ended, the time is up, somebody interrupted, the disk is full,
        or there is nothing more to learn.

        A program we started decides itself how it takes a signal, so there the recording goes on until it has ended.
        `look` is called with the time about every second.
        """
        while True:
            now_ns = time.monotonic_ns()
            capture.tick(now_ns)
            if look is not None:
                look(now_ns)
            if capture.disk_full:
                return "disk-full"
            if capture.has_enough:
                return "enough"
            if deadline_ns is not None and now_ns >= deadline_ns:
                return "duration"
            wait_ms = capture.due_ms(now_ns) if look is None else min(capture.due_ms(now_ns), 1000)
            if deadline_ns is not None:
                wait_ms = min(wait_ms, (deadline_ns - now_ns) // 1_000_000 + 1)
            self.wait(wait_ms)
            if self.has_ended:
                return "interrupt" if self.interrupts else "exit"
            if self.interrupts and self.child_pid is None:
                return "interrupt"

    def wants_end(self) -> bool:
        """Return without blocking whether the user has interrupted or the program has ended."""
        self.wait(0)
        return self.interrupts > 0 or self.has_ended

    def is_asked_to_end(self) -> bool:
        """Return, once the program has ended, whether somebody has asked to end; a request is kept for who acts on it."""
        if self.gate.wants_end():
            self.gate.keep_request()
            return True
        return self.interrupts > 0

    def wants_end_again(self) -> Callable[[], bool]:
        """Return a function that tells without blocking whether the user has interrupted since this call."""
        known = self.interrupts

        def asks() -> bool:
            self.wait(0)
            return self.interrupts > known

        return asks

    def until_ended(self) -> None:
        """Wait for the program alone, when the recording has ended before it."""
        while not self.has_ended:
            self.wait(None)

    def wait(self, timeout_ms: int | None) -> None:
        """Wait for the program's end, a signal or the time; pass signals on; set `has_ended` and `interrupts`."""
        poller = select.poll()
        poller.register(self.pidfd, select.POLLIN)
        poller.register(self.gate, select.POLLIN)
        ready = {fd for fd, _ in poller.poll(timeout_ms)}
        arrivals = self.gate.take()
        of_group = self.group_probe.poll() if arrivals and self.group_probe is not None else set()
        for arrival in arrivals:
            self.interrupts += arrival.number in ENDING
            self._pass_on(arrival, arrival.from_terminal or arrival.number in of_group)
        # Signals first: one Ctrl-C comes to both, and must not be taken for a second one once the program is gone.
        self.has_ended = self.has_ended or self.pidfd in ready

    def _pass_on(self, arrival: Arrival, to_group: bool) -> None:
        """Give a started program what it has not had: what was sent to us alone, or to our group once it has left that."""
        child = self.child_pid
        if child is None or arrival.sender_pid == child:
            return
        with contextlib.suppress(ProcessLookupError):
            if not to_group or os.getpgid(child) != os.getpgid(0):
                signal.pidfd_send_signal(self.pidfd, arrival.number)
