"""Programs with known lost cores (java/workloads, package lost), and the error of an account against them.

Each program notes what each of its threads waited for, and from when to when. What it cannot know is what else used the cores
that it left idle (the JVM's compilers, other processes, headway), what the host took, and how long its threads waited for a
core: that comes from the recording of the same run, and is all by which an account may fall short (`Comparison.noise_ns`).
"""

from __future__ import annotations

import json
import os
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from headway.store import Recording
from lib import programs

JVM = (
    "-XX:+UseSerialGC",  # one thread collects: what a pause costs is known
    "-XX:CompileCommand=quiet",
    "-XX:CompileCommand=BackgroundCompilation,headway.workloads.lost.Compiled*::*,false",  # who wants it waits for it
    "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED",
    "--add-opens=java.base/java.util.concurrent=ALL-UNNAMED",
)
CAUSES = {
    "serial": "serial_section",
    "lock": "lock_contention",
    "monitor": "lock_contention",
    "chain": "lock_contention",
    "join": "imbalance",
    "barrier": "imbalance",
    "latch": "imbalance",
    "future": "imbalance",
    "starved": "starved_consumer",
    "full": "full_producer",
    "gc": "gc_pause",
    "safepoint": "safepoint",
    "jit": "jit",
    "sleep": "sleep",
    "io": "io",
    "condition": "condition",
    "few-threads": "too_few_tasks",
    "few-tasks": "too_few_tasks",
    "pinned": "scheduler",
    "end": "jvm_end",
}
"""The programs with one cause, and its name."""
VIRTUAL = {"carriers": "carriers", "carriers-starved": "carriers"}
"""Those that need virtual threads (JDK 21), and a JVM of their own: with as many carriers as cores, or one less."""
TARGET = 0.95
PRECISE = 0.05
CLEAR = 0.5
"""A comparison says something only where less than this part of what is known is noise: beyond it a wrong account passes, too."""


@dataclass(frozen=True, slots=True)
class Loss:
    """What a program knows to have lost to a cause at a place; `kind` says what `place` is: lock, thread or none."""

    cause: str
    kind: str
    place: str
    core_ns: int

    def is_at(self, place: dict[str, Any]) -> bool:
        """Return whether an account's place is this one."""
        if self.kind == "lock":
            return str(place["lock"]).endswith(f"@{self.place}")
        return self.kind == "none" or place["thread"] == self.place


@dataclass(frozen=True, slots=True)
class Played:
    """One case as played: when, and what it lost. `unnamed_ns`: core time lost to nothing that the program knows."""

    name: str
    begin_ns: int
    end_ns: int
    lost: tuple[Loss, ...]
    unnamed_ns: int
    waiting_cpu_ns: int

    @property
    def known_ns(self) -> dict[str, int]:
        """Return the core time lost by cause."""
        causes = dict.fromkeys(loss.cause for loss in self.lost)
        return {cause: sum(loss.core_ns for loss in self.lost if loss.cause == cause) for cause in causes}


def played(output: str) -> dict[str, Played]:
    """Return the cases of a program's output by name."""
    lines = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    return {line["name"]: _played(line) for line in lines if line["event"] == "case"}


def began_ns(output: str) -> int:
    """Return when a program's main started."""
    lines = (json.loads(line) for line in output.splitlines() if line.startswith("{"))
    return next(int(line["ns"]) for line in lines if line["event"] == "began")


def _played(line: dict[str, Any]) -> Played:
    losses = tuple(Loss(each["cause"], each["kind"], each["place"], each["core_ns"]) for each in line["lost"])
    return Played(
        line["name"], line["begin_ns"], line["end_ns"], losses, line["unnamed_ns"], line["waiting_cpu_ns"]
    )  # fmt: skip


def arguments(cases: Sequence[str], size: float, rounds: int, removed: str = "no", port: int = 0) -> list[str]:
    """Return the words behind the class name; as many threads as cores."""
    return [",".join(cases), str(size), str(rounds), str(len(os.sched_getaffinity(0))), removed, str(port)]


def command(cases: Sequence[str], size: float, rounds: int, removed: str = "no", port: int = 0) -> list[str]:
    """Return the command that plays some cases."""
    java, *rest = programs.workload("lost.Lost", *arguments(cases, size, rounds, removed, port))
    return [java, *JVM, *rest]


@contextmanager
def late_server() -> Iterator[int]:
    """Context manager: the port of a server in this process that answers a number of ms with one byte after that time."""

    def answer(connection: socket.socket) -> None:
        with connection:
            if asked := connection.recv(1):
                time.sleep(asked[0] / 1000)
                connection.sendall(b".")

    def serve(server: socket.socket) -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:  # closed
                return
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=serve, args=(server,), daemon=True).start()
        yield int(server.getsockname()[1])
        server.shutdown(socket.SHUT_RDWR)


def window(recording: Recording, case: Played) -> tuple[int, int]:
    """Return when a case played, in ns from the recording's start."""
    start, end = recording.window_ns
    return max(0, case.begin_ns - start), min(case.end_ns, end) - start


@dataclass(frozen=True, slots=True)
class Ready:
    """The kernel's record of a program's threads that were runnable but not running.

    `woken_ns`: how long those were ready that had just been woken. The program counts that to what they waited for; an account,
    to the scheduler or to who had the core. `kept_ns`: core time that was idle while threads were ready, those taken off a CPU
    and those just born as well. A scheduler may leave two threads on one CPU for milliseconds while another is idle.
    `unwoken_ns`: how long those were ready that had been taken off a CPU, or were just born.
    """

    woken_ns: int
    kept_ns: int
    unwoken_ns: int = 0


def ready(recording: Recording, case: Played) -> Ready:
    """Return how long threads were ready while a case played, as the kernel has it, moment by moment."""
    begin, end = case.begin_ns, case.end_ns
    rows = recording.query(
        "SELECT s.start_ns - coalesce(s.runnable_ns, 0) AS ready, s.start_ns AS ran, s.start_ns + s.running_ns AS until, "
        "s.blocked_ns > 0 AND t.kind IN ('app', 'carrier') AS woken, (t.kind IN ('app', 'carrier'))::DOUBLE AS wanted "
        "FROM slice s JOIN thread t USING (thread_id) "
        "WHERE s.start_ns - coalesce(s.runnable_ns, 0) < $2 AND s.start_ns + s.running_ns > $1",
        (begin, end),
    ).fetchnumpy()
    at = {name: np.clip(np.asarray(rows[name], np.int64), begin, end) for name in ("ready", "ran", "until")}
    woken = np.asarray(rows["woken"], bool)
    gaps = _gaps(recording)
    start, stop = (np.clip(gaps[name], begin, end) for name in ("start_ns", "end_ns"))
    time = np.unique(np.concatenate([*at.values(), start, stop]))
    running = _level(time, at["ran"], at["until"], np.ones(len(at["ran"])))
    late = _level(time, at["ready"], at["ran"], rows["wanted"])
    others = _level(time, start, stop, gaps["rate"])
    idle = np.maximum(0, len(recording.manifest.affinity) - running - others)
    kept = np.minimum(idle, late)[:-1] @ np.diff(time)
    late_ns = at["ran"] - at["ready"]
    unwoken = ~woken & (np.asarray(rows["wanted"], float) > 0)
    return Ready(int(late_ns[woken].sum()), round(float(kept)), int(late_ns[unwoken].sum()))


def _gaps(recording: Recording) -> dict[str, Any]:
    """Return when each CPU ran no thread of the program, and how many cores others had of it then."""
    cpus = ", ".join(map(str, recording.manifest.affinity))
    return recording.query(
        "SELECT start_ns, start_ns + dur_ns AS end_ns, least(1, other_ns / greatest(dur_ns, 1))::DOUBLE AS rate "
        f"FROM cpu_gap WHERE cpu IN ({cpus})"
    ).fetchnumpy()


def _level(time: Any, start: Any, stop: Any, weight: Any) -> Any:
    """Return from each time to the next one the sum of the weights of what lasts then."""
    change = np.zeros(len(time))
    np.add.at(change, np.searchsorted(time, start), weight)
    np.add.at(change, np.searchsorted(time, stop), -weight)
    return np.cumsum(change)


@dataclass(frozen=True, slots=True)
class Comparison:
    """An account of a case compared with what the program knows.

    `found_ns` is what the account gives to each known cause, `placed_ns` the part of it at the right place. `noise_ns` is what
    of the known idle time the program cannot tell from loss: others' use, stolen, and waiting for a core. `elsewhere_ns` is
    what the account gives to causes that neither the program nor the kernel knows of. `late_ns` is what it gives to the
    scheduler, `kept_ns` what the kernel's switches say of that (`Ready`). `stalled_ns` is the core time that may have stood idle
    because threads were off their cores: those that were taken off (`Ready`) held up all others, and the host took some.
    """

    case: Played
    found_ns: dict[str, int]
    placed_ns: dict[str, int]
    noise_ns: int
    late_ns: int
    kept_ns: int
    elsewhere_ns: int
    core_ns: int
    stalled_ns: int

    def share(self, cause: str) -> float:
        """Return how much of the known loss is at the right cause and place, or may be missing because of noise."""
        known = self.case.known_ns[cause]
        missing = known - self.noise_ns - self.placed_ns[cause]
        return 1 - max(0, missing) / known if known else 1.0

    def excess(self, cause: str) -> float:
        """Return how much more than what the program knows the account gives to a cause, as a share of that.

        A thread that is taken off its core while it has what its fellows need (the lock of a class loader, a jar) holds these up,
        and the cores that they leave idle are lost to a cause, though the program says that they work: `stalled_ns` at most.
        """
        most = self.case.known_ns[cause] + self.case.unnamed_ns
        return max(0, self.found_ns[cause] - most - self.stalled_ns) / max(most, 1)

    def wrong(self) -> float:
        """Return the share of the loss that is at causes that are not the program's, beyond what it cannot name itself, and by
        which the scheduler has more or less than its own.
        """
        beyond = max(0, self.elsewhere_ns - self.case.unnamed_ns - self.noise_ns) + abs(self.late_ns - self.kept_ns)
        return beyond / (sum(self.case.known_ns.values()) or self.core_ns)

    def undecided(self) -> str | None:
        """Return why this run can't show whether the account is right; None where it can."""
        known = {cause: ns for cause, ns in self.case.known_ns.items() if cause in meant(self.case.name)}
        if not known:
            return f"{self.case.name}: the program lost nothing to the cause that it is made for"
        least = min(known.values())
        if self.noise_ns < CLEAR * least:
            return None
        return (
            f"{self.case.name}: others used, the host took, or threads waited for {self.noise_ns / 1e6:.0f} core-ms; "
            f"that is not below half of the {least / 1e6:.0f} core-ms whose cause is known"
        )

    def in_order(self) -> bool | None:
        """Return whether the causes that it is made for come in the right order; None where noise can swap them."""
        known = [each for each in self.case.known_ns.items() if each[0] in meant(self.case.name)]
        known.sort(key=lambda each: -each[1])
        noise = self.noise_ns + self.case.unnamed_ns
        pairs = list(pairwise(known))
        if not pairs or any(more - noise <= less * (1 + PRECISE) for (_, more), (_, less) in pairs):
            return None
        return all(self.found_ns[first] > self.found_ns[second] for (first, _), (second, _) in pairs)


def compare(case: Played, account: dict[str, Any], ready: Ready) -> Comparison:
    """Compare an account (as `headway why --json` gives it) of the time in which a case played."""
    used = {kind: ns or 0 for kind, ns in account["used"].items()}
    # What is known as it is seen from the program: one thread of the JVM works meanwhile.
    working = {"gc_pause": ("gc", "vm"), "safepoint": ("vm",), "jit": ("jit",)}
    at_work = {kind for cause in case.known_ns for kind in working.get(cause, ())}
    beside = [kind for kind in ("gc", "jit", "vm", "headway") if kind not in at_work]
    noise = sum(used[kind] for kind in beside) + (account["stolen_ns"] or 0) + (account["other_processes_ns"] or 0)
    known = case.known_ns
    late = 0 if "scheduler" in known else ready.woken_ns  # where waiting for a core is the cause itself, it is no noise
    return Comparison(
        case=case,
        found_ns={cause: _sum(account, lambda row, c=cause: row["cause"] == c) for cause in known},
        placed_ns={
            cause: _sum(
                account,
                lambda row, c=cause: any(x.cause == c == row["cause"] and x.is_at(row["place"]) for x in case.lost),
            )
            for cause in known
        },
        noise_ns=noise + late + case.waiting_cpu_ns,
        late_ns=_sum(account, lambda row: row["cause"] == "scheduler"),
        kept_ns=ready.kept_ns,
        elsewhere_ns=_sum(account, lambda row: row["cause"] not in {*known, "scheduler"}),
        core_ns=account["core_ns"],
        stalled_ns=ready.unwoken_ns * max(0, round(account["cores"]) - 1) + (account["stolen_ns"] or 0),
    )


def _sum(account: dict[str, Any], of: Any) -> int:
    return sum(row["core_ns"] for row in account["lost"] if of(row))


def command_of(
    recording: Path, java: str, cases: Sequence[str], size: float, rounds: int, port: int, removed: str = "no"
) -> list[str]:
    """Return the words of `headway record` for some cases, with locks and samples."""
    _, *rest = command(cases, size, rounds, removed, port)
    cores = len(os.sched_getaffinity(0))
    number = max(1, cores - 1) if "carriers-starved" in cases else cores
    carriers = [f"-Djdk.virtualThreadScheduler.{what}={number}" for what in ("parallelism", "maxPoolSize")]
    jvm = carriers if VIRTUAL.keys() & set(cases) else []
    return ["record", "--locks", "--sample", "cpu,wall", "-o", str(recording), "--", java, *jvm, *rest]


def meant(name: str) -> set[str]:
    """Return the causes that a case is made for; others may occur with them, such as a full queue behind a starved one."""
    both = {"lock-asleep": ("lock_contention", "sleep"), "alone": ("serial_section",)}
    return {cause for each in name.split("+") for cause in both.get(each, ({**CAUSES, **VIRTUAL}.get(each, ""),))}
