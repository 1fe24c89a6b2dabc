"""What attaching costs a server under steady load: throughput, slow requests, the longest pause; and until when it records.

The servers of java/real. Tomcat: a servlet that computes for a millisecond, asked by clients that begin a request every 20 ms
each, however long the last one took: a slow answer makes the next ones late, and that counts. Kafka: a broker with a producer
beside it that sends a message every 2 ms and waits for no answer; a message is answered when the broker has acknowledged it.
Stretches in which headway attaches, records and leaves have one without right before and right after them. Figures per
stretch: answers, the 99th percentile of the time from when a request was due to its answer, and the longest time without any
answer. Until the first record: from the start of the command to the begin of what is recorded. No target: the figures are to
be read.
"""

from __future__ import annotations

import http.client
import os
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from lib import harness, results

CLIENTS, PERIOD_NS, COMPUTE_US = 4, 20_000_000, 1000
MESSAGES_PER_S = 500
SETTLED_S = 0.5
"""So much later the answers to what was due in a stretch are there, and written."""
JAVA = Path("/usr/lib/jvm/java-17-openjdk-amd64/bin/java")
REAL = harness.ROOT / "java/real/target"
KINDS: dict[str, tuple[str, ...]] = {"record": ("--no-locks",), "locks and samples": ("--locks", "--sample", "cpu")}


@dataclass(frozen=True, slots=True)
class Answer:
    """A request: when it was due, and when it was answered, ns of this machine's clock."""

    due_ns: int
    done_ns: int


class Load(Protocol):
    """Something that asks a server again and again."""

    def answers(self) -> list[Answer]:
        """Return the requests that were answered so far."""


class Clients:
    """Clients of a web server that ask on time, each in a thread of its own."""

    def __init__(self, port: int) -> None:
        """Begin."""
        self._answers: list[Answer] = []
        self._is_over = threading.Event()
        self._threads = [threading.Thread(target=self._ask, args=(port, i), daemon=True) for i in range(CLIENTS)]
        for thread in self._threads:
            thread.start()

    def _ask(self, port: int, number: int) -> None:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        due = time.monotonic_ns() + number * PERIOD_NS // CLIENTS
        while not self._is_over.is_set():
            time.sleep(max(0, due - time.monotonic_ns()) / 1e9)
            try:
                connection.request("GET", f"/work?us={COMPUTE_US}")
                connection.getresponse().read()
            except (http.client.HTTPException, OSError):  # the server ends a connection after so many requests
                connection.close()
                continue
            self._answers.append(Answer(due, time.monotonic_ns()))
            due += PERIOD_NS
        connection.close()

    def end(self) -> None:
        """Stop asking."""
        self._is_over.set()
        for thread in self._threads:
            thread.join(60)

    def answers(self) -> list[Answer]:
        """Return the requests that were answered so far."""
        return list(self._answers)


class Feeder:
    """A producer in a process of its own that sends messages to a broker, and writes when each was acknowledged."""

    def __init__(self, port: int, times: Path) -> None:
        """Begin."""
        self._times = times
        words = java("KafkaFeeder", port, MESSAGES_PER_S, times)
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
        assert self._process.stdout is not None
        self._process.stdout.readline()

    def end(self) -> None:
        """Stop sending."""
        self._process.communicate("end\n", timeout=60)

    def kill(self) -> None:
        """End the process, if it has not ended."""
        self._process.kill()
        self._process.wait()

    def answers(self) -> list[Answer]:
        """Return the messages that were acknowledged so far, as far as they are written."""
        whole = self._times.read_text().rpartition("\n")[0]
        return [Answer(*map(int, line.split())) for line in whole.splitlines()]


def between(load: Load, begin_ns: int, end_ns: int) -> dict[str, float]:
    """Return the figures of the requests that were due in a stretch."""
    known = load.answers()
    answers = [each for each in known if begin_ns <= each.due_ns < end_ns]
    took = sorted(each.done_ns - each.due_ns for each in answers)
    done = sorted(each.done_ns for each in known if begin_ns <= each.done_ns < end_ns)
    gaps = [after - before for before, after in zip([begin_ns, *done], [*done, end_ns], strict=True)]
    return {
        "per_s": len(done) * 1e9 / (end_ns - begin_ns),
        "p50_ns": took[len(took) // 2],
        "p99_ns": took[int(len(took) * 0.99)],
        "pause_ns": max(gaps),
    }


def java(program: str, *arguments: object) -> list[str]:
    """Return the command line of a program of java/real."""
    words = [JAVA, "-Xmx512m", "-cp", f"{REAL}/real.jar:{REAL}/lib/*", f"headway.real.{program}", *arguments]
    return list(map(str, words))


@contextmanager
def started(words: list[str]) -> Iterator[tuple[int, int]]:
    """Start a server; give its pid and port."""
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            assert process.stdout is not None
            yield process.pid, int(process.stdout.readline())
            process.communicate(timeout=60)
        finally:
            process.kill()


@contextmanager
def tomcat(_: Path) -> Iterator[tuple[int, Load]]:
    """Start a Tomcat and its clients; give its pid and them."""
    with started(java("TomcatServer")) as (pid, port):
        load = Clients(port)
        yield pid, load
        load.end()


@contextmanager
def kafka(folder: Path) -> Iterator[tuple[int, Load]]:
    """Start a Kafka broker and its producer; give its pid and that."""
    (folder / "broker").mkdir()
    with started(java("KafkaBroker", folder / "broker")) as (pid, port):
        load = Feeder(port, folder / "acknowledged")
        try:
            yield pid, load
            load.end()
        finally:
            load.kill()


SERVERS: dict[str, Callable[[Path], AbstractContextManager[tuple[int, Load]]]] = {"tomcat": tomcat, "kafka": kafka}


def attached(pid: int, target: Path, options: tuple[str, ...], seconds: float) -> dict[str, float]:
    """Record the server for some seconds, from attaching to leaving; return how long it took to begin."""
    begin_ns = time.monotonic_ns()
    words: list[str | Path] = [
        harness.HEADWAY,
        "record",
        "--pid",
        str(pid),
        "--duration",
        f"{seconds}s",
        *options,
        "-o",
        target,
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=300)
    if done.returncode != 0:
        raise RuntimeError(done.stderr[-3000:])
    from headway.store import open_recording

    recording = open_recording(target)
    first_ns, last_ns = recording.window_ns
    recording.close()
    shutil.rmtree(target)
    return {"first_ns": first_ns - begin_ns, "end_ns": last_ns}


def measure(server: str, options: Any) -> results.Session:
    """Return stretches of a server without headway, and those with it between them."""
    stretch_ns = round(options.stretch * 1e9)
    with harness.recording_folder() as folder, SERVERS[server](folder) as (pid, load):
        time.sleep(options.warm_up)

        def quiet() -> dict[str, float]:
            begin_ns = time.monotonic_ns()
            time.sleep(options.stretch)
            time.sleep(SETTLED_S)
            return between(load, begin_ns, begin_ns + stretch_ns)

        off = [quiet()]
        on: list[dict[str, Any]] = []
        deadline = time.monotonic() + options.seconds
        while time.monotonic() < deadline or not on:
            for kind, words in KINDS.items():
                harness.progress(f"{server}: {kind}")
                begin_ns = time.monotonic_ns()
                said = attached(pid, folder / "a.headway", words, options.stretch)
                # Until it has left: what finalising takes of the machine afterwards is another matter.
                end_ns = int(said["end_ns"])
                on.append({"kind": kind, "first_ns": said["first_ns"], **between(load, begin_ns, end_ns)})
                off.append(quiet())
    return {"server": server, "off": off, "on": on, "pid_cpus": os.cpu_count()}


def summarise(session: results.Session) -> tuple[dict[str, Any], list[tuple[str, bool]]]:
    """Print the table; return the figures and, as there are no targets, one line for each kind of recording."""
    off, on = session["off"], session["on"]
    rows: list[list[str]] = []
    figures: dict[str, Any] = {}
    lines: list[tuple[str, bool]] = []
    for kind in KINDS:
        mine = [i for i, each in enumerate(on) if each["kind"] == kind]
        ratios = {}
        for figure in ("per_s", "p99_ns"):
            treated, same = harness.pair_ratios([each[figure] for each in off], [each[figure] for each in on])
            ratios[figure] = harness.ratio_of([treated[i] for i in mine], same)
        pause, before = (
            statistics.median(each["pause_ns"] for each in part) / 1e6 for part in ([on[i] for i in mine], off)
        )
        first = statistics.median(on[i]["first_ns"] for i in mine) / 1e9
        slow = statistics.median(on[i]["p99_ns"] for i in mine) / 1e6
        rows.append(
            [
                *(kind, ratios["per_s"].percent(), ratios["p99_ns"].percent(), f"{slow:.0f} ms"),
                *(f"{pause:.0f} ms (without: {before:.0f})", f"{first:.2f} s"),
            ]
        )
        figures[kind] = {**ratios, "pause_ms": pause, "pause_without_ms": before, "first_record_s": first}
        text = f"{session['server']}, {kind}: answers {ratios['per_s'].percent()}"
        text += f", p99 {ratios['p99_ns'].percent()} ({slow:.0f} ms)"
        text += f"; longest pause {pause:.0f} ms beside {before:.0f}; records after {first:.2f} s; no target"
        lines.append((text, True))
    print(
        harness.table(
            [f"{session['server']}, attached for", "answers", "p99", "p99", "longest pause", "first record"], rows
        )
    )
    return {"kinds": figures}, lines


def main() -> int:
    """Measure and print."""
    parser = harness.arguments(__doc__)
    parser.add_argument(
        "--seconds", type=float, metavar="S", help="at most so long each, in whole rounds (600; 120 with --quick)"
    )
    parser.add_argument("--server", choices=SERVERS, action="append", help="only this one (all)")
    parser.add_argument("--stretch", type=float, default=5.0, metavar="S", help="how long a stretch is (5)")
    parser.add_argument("--warm-up", type=float, default=15.0, metavar="S", help="load before the first stretch (15)")
    options = parser.parse_args()
    options.seconds = options.seconds or (120.0 if options.quick else 600.0)
    sessions = [measure(server, options) for server in options.server or SERVERS]
    figures: dict[str, Any] = {}
    lines: list[tuple[str, bool]] = []
    for session in sessions:
        figures[str(session["server"])], said = summarise(session)
        lines += said
    return harness.finish(options, "attach", {**figures, "sessions": sessions}, lines)


if __name__ == "__main__":
    sys.exit(main())
