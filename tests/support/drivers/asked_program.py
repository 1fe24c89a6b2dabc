"""Drives a Java program of tests/programs by lines on its standard input, one request per line."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Self

from support.drivers.busy_machine import AHEAD
from support.drivers.workloads import JAVAS, ROOT, agent

PROGRAMS = ROOT / "tests" / "programs"
PATIENCE_S = 150


def line_of(program: str, mark: str) -> int:
    """Return the number of the line that ends in a comment with this mark."""
    lines = (PROGRAMS / f"{program}.java").read_text().splitlines()
    (number,) = (i for i, line in enumerate(lines, 1) if line.endswith(f"// {mark}"))
    return number


class AskedProgram:
    """The running program, ready when this returns. It prints one line at first and one for each request.

    It runs ahead of other programs where it may: what these do is not what is tested.
    """

    def __init__(self, java: Path, class_path: str | Path, *words: object, **environment: str) -> None:
        unset = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
        inherited = {name: value for name, value in os.environ.items() if name not in unset}
        options = [str(word) for word in words if str(word).startswith("-")]
        named = [str(word) for word in words if not str(word).startswith("-")]
        self.process: subprocess.Popen[str] = subprocess.Popen(
            [str(java), *options, "-cp", str(class_path), *named],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1,
            env={**inherited, **environment}, **AHEAD,
        )  # fmt: skip
        self.ready = self.answer()

    def answer(self) -> str:
        """Return the next line that it prints."""
        assert self.process.stdout is not None
        return self.process.stdout.readline().rstrip("\n")

    def ask(self, request: str) -> str:
        """Send a request, and return the answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(request + "\n")
        self.process.stdin.flush()
        return self.answer()

    def attach(self, options: str) -> None:
        """Load the agent into it with these options."""
        jcmd = JAVAS["jdk17"].with_name("jcmd")
        command = [str(jcmd), str(self.process.pid), "JVMTI.agent_load", str(agent()), f'"{options}"']
        subprocess.run(command, check=True, capture_output=True, timeout=PATIENCE_S)

    def end(self) -> None:
        """End it; it must have nothing more to say."""
        out, err = self.process.communicate("end\n", timeout=PATIENCE_S)
        assert (self.process.returncode, out, err) == (0, "", "")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()
