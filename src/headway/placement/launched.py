"""Starts a command and places it while it runs. If placing fails the program runs on; its exit code is headway's."""

from __future__ import annotations

import contextlib
import math
import os
import time
from collections.abc import Callable, Iterator, Sequence

from headway.errors import HeadwayError, Notice
from headway.placement.daemon import Ended
from headway.placement.place import Request, place, places_of
from headway.placement.progress import ProgramProgress
from headway.placement.types import Record
from headway.record.collect.watch import Watch
from headway.record.program import launch
from headway.record.program.group_signals import GroupSignalProbe
from headway.record.program.launch import Child
from headway.record.program.signals import SignalGate
from headway.record.target_process.processes import Process


def run_placed(
    words: Sequence[str],
    request: Request,
    measure: Callable[[], ProgramProgress],
    emit: Callable[[Record], None],
    say: Callable[[Notice], None],
) -> int:
    """Run a command, place it, and return its exit code.

    Raises HeadwayError where it can't be started, and, before it is, where nothing would tell how much it does.
    """
    program = launch.find_program(words[0], os.environ)
    myself = Process.of(os.getpid())
    assert myself is not None
    progress = None if isinstance(places_of(myself, request.nodes), Notice) else measure()
    with SignalGate() as gate, _started(program, words, gate) as (child, watch):

        def wait(wait_s: float) -> Ended:
            end_s = time.monotonic() + wait_s
            while not watch.has_ended and (left_s := end_s - time.monotonic()) > 0:
                watch.wait(math.ceil(1000 * left_s))
            return "exit" if watch.has_ended else ""

        process = Process.of(child.pid)
        assert process is not None  # our own child that we have not waited for: at least a zombie
        try:
            found = place(process, request, measure if progress is None else lambda: progress, emit, wait)
            if found is not None:
                say(found)
        except HeadwayError as error:
            if not watch.has_ended and process.is_alive:  # what ended at once needed no placing
                say(error.notice)
        except OSError as error:  # the program may have reached a limit of this user's that counts for headway, too
            say(Notice.of("HW736", pid=child.pid, reason=error.strerror or str(error)))
        watch.until_ended()
        return child.reap().exit_code


@contextlib.contextmanager
def _started(program: str, words: Sequence[str], gate: SignalGate) -> Iterator[tuple[Child, Watch]]:
    """Start the command. Raises HeadwayError HW003 or HW059."""
    probe = None
    try:
        probe = GroupSignalProbe(gate.taken)
        child = launch.fork_child(program, words, launch.given_environment(), None, gate)
    except OSError as error:
        if probe is not None:
            probe.close()
        raise HeadwayError("HW059", reason=error.strerror or str(error)) from None
    try:
        failure = child.release()
        if failure:
            child.reap()
            raise launch.exec_failure(program, failure)
        yield child, Watch(child.pidfd, gate, child.pid, probe)
    finally:
        probe.close()
