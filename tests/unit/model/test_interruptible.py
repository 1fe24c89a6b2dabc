"""Long native passes end at a Ctrl-C at once, not when they have gone over everything."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading

import pytest

from headway.model.interruptible import interruptible

PASS = """
import ctypes, sys, threading, time
from headway.model.interruptible import end_process, interruptible
native = ctypes.CDLL(None).usleep  # lets other threads run Python, and hears no signal's handler until it returns


def tell_when_it_is_under_way():
    while not any(each.name == "headway-pass" and each.is_alive() for each in threading.enumerate()):
        time.sleep(0.01)
    print("under way", flush=True)


try:
    threading.Thread(target=tell_when_it_is_under_way).start()
    interruptible(native, 900_000_000)
except KeyboardInterrupt:
    print("interrupted")
    end_process(130)
sys.exit(7)
"""


def test_a_ctrl_c_ends_a_pass_that_would_take_minutes() -> None:
    with subprocess.Popen([sys.executable, "-c", PASS], stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "under way\n"
            process.send_signal(signal.SIGINT)
            said, _ = process.communicate(timeout=60)
        finally:
            process.kill()
    assert (said, process.returncode) == ("interrupted\n", 130)


def test_what_a_pass_returns_and_raises_is_passed_on() -> None:
    assert interruptible(divmod, 7, 2) == (3, 1)
    with pytest.raises(ZeroDivisionError):
        interruptible(divmod, 7, 0)


def test_on_another_thread_a_pass_is_a_plain_call() -> None:
    """Signals are heard on the main thread alone."""
    found: list[threading.Thread] = []
    thread = threading.Thread(target=lambda: found.append(interruptible(threading.current_thread)))
    thread.start()
    thread.join()
    assert found == [thread]
