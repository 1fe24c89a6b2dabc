"""Starts real server programs (java/real) as a user would, and records them by attaching."""

from __future__ import annotations

import functools
import json
import subprocess
import threading
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from headway.errors import MESSAGES
from headway.errors.message import WARNING
from support.drivers.busy_machine import AHEAD, QUIET
from support.drivers.recording_cli import JAVA_17, headway

ROOT = Path(__file__).resolve().parents[3]
CLASS_PATH = f"{ROOT}/java/real/target/real.jar:{ROOT}/java/real/target/lib/*"
OF_THE_MACHINE = ("scheduler", "cpu_quota", "jvm_start", "jvm_end")
"""Causes that tell of the machine, or of the JVM's own beginning and end."""
BELOW = 0.9
"""By a tenth a gain may be less than its least: a thread that waits no longer may come to wait for a core or for another lock."""
REFUSED = ("HW822", "HW823", "HW839", "HW870")
"""Why nothing may be known of a gain where others have the cores: the replay of the unchanged run differs from it, or can't be
made. Where it is not crowded it has to be known.
"""
OWN_THREADS = ("C1 ", "C2 ", "G1 ", "GC ", "VM ", "Sweeper", "Monitor Deflati", "Common-Cleaner", "headway")
"""How the names of the threads begin that a JVM, or headway in it, has for itself."""


def build() -> None:
    """Build the programs, unless they are built."""
    done = subprocess.run(["make", "real-programs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def command(program: str, *arguments: object) -> list[str]:
    """Return the command line of a program."""
    return [JAVA_17, "-cp", CLASS_PATH, f"headway.real.{program}", *map(str, arguments)]


@dataclass
class Server:
    """A running server, and its output at the end."""

    process: subprocess.Popen[str]
    port: int
    said: list[str] = field(default_factory=list)
    errors: str = ""
    code: int | None = None

    def get(self, microseconds: int) -> None:
        """Request a computation of this length."""
        url = f"http://127.0.0.1:{self.port}/work?us={microseconds}"
        with urllib.request.urlopen(url, timeout=30) as answer:
            assert answer.read() == b"done\n"

    def ask(self, request: str = "") -> list[int]:
        """Send a line, and return the numbers in the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(request + "\n")
        return [int(word) for word in self.process.stdout.readline().split()]


@contextmanager
def serving(program: str, *arguments: object) -> Iterator[Server]:
    """Start a server that prints its port, and end it by closing its standard input."""
    pipe = subprocess.PIPE
    words = command(program, *arguments)
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=pipe, text=True, bufsize=1, **AHEAD) as process:
        assert process.stdout is not None
        server = Server(process, int(process.stdout.readline()))
        try:
            yield server
        finally:
            output, server.errors = process.communicate(timeout=60)
            server.said, server.code = output.split(), process.returncode


@contextmanager
def clients(server: Server, count: int, microseconds: int, pause_s: float) -> Iterator[list[float]]:
    """Send requests from some threads again and again; yields the list of response times."""
    took: list[float] = []
    is_over = threading.Event()

    def ask() -> None:
        while not is_over.is_set():
            began = time.monotonic()
            server.get(microseconds)
            took.append(time.monotonic() - began)
            is_over.wait(pause_s)

    threads = [threading.Thread(target=ask) for _ in range(count)]
    for thread in threads:
        thread.start()
    try:
        yield took
    finally:
        is_over.set()
        for thread in threads:
            thread.join()


def active_ns(pid: int) -> int:
    """Return for how long the threads of a JVM that are not its own ran or were ready to run, added up, by the kernel."""
    total_ns = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        if not (task / "comm").read_text().startswith(OWN_THREADS):
            total_ns += sum(int(word) for word in (task / "schedstat").read_text().split()[:2])
    return total_ns


def recorded(output: Path, words: Sequence[object], *options: str) -> subprocess.CompletedProcess[str]:
    """Record a command to its end, and return how it ended."""
    done = headway("record", *options, "-o", output, "--", *words, **AHEAD)
    assert done.returncode == 0, done.stderr
    return done


def alone(words: Sequence[object]) -> subprocess.CompletedProcess[str]:
    """Run a command to its end without headway."""
    return subprocess.run([*map(str, words)], capture_output=True, text=True, timeout=120, check=True, **AHEAD)


def rivals(first: dict[str, Any], others: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the other locks that cost more than a tenth of the first one. That threads meet at a class that nobody has used yet
    is no lock of the program: where the one that sets it up loses its core, they all wait.
    """
    costly = [row for row in others if row["contention"] and row["lost_core_ns"] > 0.1 * first["lost_core_ns"]]
    return [row for row in costly if not row["name"].startswith("class initialisation")]


def asleep_or_ready(lock: dict[str, Any]) -> float:
    """Return the part of the waits in which the holder slept, or had slept and waited for a core, as on a busy machine."""
    holding = lock["holding"]
    return float((holding["sleeping_ns"] + holding["runnable_ns"]) / sum(holding.values()))


@dataclass(frozen=True)
class OwnClocks:
    """What a program with a lock measured of its threads, all alike: `part_ns`, how long all of it took; of each thread how long
    it waited for the lock, and the least that it takes beside that (what it sleeps, say), however many cores it has.
    """

    part_ns: int
    waited_ns: float
    least_ns: float

    def check_loss(self, loss: dict[str, Any], recording: Path) -> None:
        """Check the likely gain without a loss; that it is unknown is right only where others had the cores."""
        of = asked(recording, "why")
        if loss["likely_speedup"] is None:
            check_refused(loss, of)
        else:
            self.check_gain(loss["likely_speedup"], of, main_ready_ns(recording))

    def check_gain(self, likely: float, of: dict[str, Any], ready_ns: int = 0) -> None:
        """Check what `headway why` calls the likely gain without the lock: no less than what goes with the waits while all else
        takes as long as it did, and no more than if each thread took the least that it can. Both go by the same run, so they
        hold on a busy machine, where they are further apart. What such programs really gain is in benchmarks/real_gains.py.

        A replay predicts the gain on a machine that runs nothing else, where the rest of the program may be shorter by
        `ready_ns`: so long its main thread was ready to run and had no core.
        """
        rest_ns = of["wall_ns"] - self.part_ns
        least = of["wall_ns"] / (rest_ns + self.part_ns - self.waited_ns)
        alone_ns = max(0, rest_ns - ready_ns)
        most = (alone_ns + self.part_ns) / (alone_ns + self.least_ns)
        assert BELOW * least <= likely <= most, (least, likely, most, of["lost"][:3])


def check_refused(loss: dict[str, Any], of: dict[str, Any]) -> None:
    """Check that a loss whose gain is unknown says why, and that others had the cores."""
    assert loss["likely_refused"] in REFUSED, loss
    assert is_crowded(of), loss


def is_crowded(of: dict[str, Any]) -> bool:
    """Return whether others had more than QUIET of an account's core time: only then something may be unknown of the run."""
    return bool((of["other_processes_ns"] or 0) + (of["stolen_ns"] or 0) > QUIET * of["core_ns"])


def main_ready_ns(recording: Path) -> int:
    """Return for how long a program's main thread was ready to run and had no core, by the kernel."""
    (found,) = (each["runnable_ns"] for each in asked(recording, "threads") if each["name"] == "main")
    return int(found)


def lost(of: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an account's losses that are the program's own, largest gain first."""
    return [loss for loss in of["lost"] if loss["cause"] not in OF_THE_MACHINE]


def attach(server: Server, output: Path, seconds: float, *options: str) -> Path:
    """Record a server for some seconds."""
    done = headway("record", "--pid", server.process.pid, "--duration", f"{seconds}s", *options, "-o", output)
    assert done.returncode == 0, done.stderr
    return output


@functools.cache
def asked(recording: Path, command_name: str, *options: object) -> Any:
    """Return a headway command's JSON output."""
    done = headway(command_name, recording, *options, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def warnings_of(recording: Path) -> list[str]:
    """Return the ids of the warnings that mark what `headway why` says; there are at most two notes beside them."""
    notices = asked(recording, "why")["warnings"]
    warnings = [each["id"] for each in notices if MESSAGES[each["id"]].severity == WARNING]
    assert len(notices) <= len(warnings) + 2, notices
    return warnings
