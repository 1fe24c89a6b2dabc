"""What scripts share that run in an emulated guest: stages that the host asks for by name, and headway, loaded once.

An answer is one object of JSON on a line: {"stage": its name, ...}; of a stage that failed {"stage", "failed": the traceback}.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
import traceback
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from support.drivers.forked_headway import LOADED

ENOUGH_S = 500.0
READY = "ready"
"""What the script says when it takes names: what comes before is lost."""
_PLACING = ("headway.cli.main", "headway.cli.place", "headway.placement.place", "headway.analyses.counters.analysis")


def eventually(condition: Callable[[], bool], every_s: float = 0.05) -> None:
    """Wait until something is so. Raises AssertionError where it is not for long."""
    end_s = time.monotonic() + ENOUGH_S
    while not condition():
        assert time.monotonic() < end_s, "waited for long"
        time.sleep(every_s)


class Headway:
    """A command of headway, in a process forked from this one: to load headway takes ten seconds in an emulated machine."""

    def __init__(self, words: Sequence[object], out: Path) -> None:
        """Start it; what it prints goes to a file, and what it says of itself to one beside it that ends in .err."""
        self._code: int | None = None
        sys.stdout.flush()
        self.pid = os.fork()
        if not self.pid:
            self._run([str(each) for each in words], out)

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.pid, number)

    def wait(self) -> int:
        """Wait for its end, and return its exit code; below zero: the signal that ended it."""
        if self._code is None:
            self._code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        return self._code

    @staticmethod
    def _run(words: list[str], out: Path) -> None:
        code = 1
        try:
            from headway.cli.main import invoke

            os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
            for number, path in ((1, out), (2, out.with_suffix(".err"))):
                os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), number)
            code = invoke(words)
            sys.stdout.flush()
        except BaseException:
            with contextlib.suppress(OSError):
                os.write(2, traceback.format_exc().encode())
        finally:
            os._exit(code)


def serve(stages: Mapping[str, Callable[[], dict[str, Any]]]) -> None:
    """Run the stages that are asked for, one a line of standard input, until that ends."""
    for name in (*LOADED, *_PLACING):
        importlib.import_module(name)
    print(READY, flush=True)
    for line in iter(sys.stdin.readline, ""):
        name = line.strip()
        answer: dict[str, Any] = {"stage": name}
        try:
            answer |= stages[name]()
        except Exception:
            answer["failed"] = traceback.format_exc()
        print(json.dumps(answer), flush=True)
