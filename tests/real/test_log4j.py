"""Eight threads that log with Log4j, to a file that takes its time or to a queue that is full: what holds them back?"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.drivers.busy_machine import AHEAD, Pair, pairs, quietly
from support.drivers.real_servers import (
    asked,
    command,
    lost,
    recorded,
    time_without,
    warnings_of,
)

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
THREADS = 8
MESSAGES = 75
LENGTH = 4000
READ_BYTES = 4096
PAUSE_S = 0.002
APPENDER = "org.apache.logging.log4j.core.appender"


@dataclass
class Measured:
    """A recording; how long logging took and the threads were blocked and waited, by the JVM; what came out at the end."""

    recording: Path
    wall_ns: int
    blocked_ns: int
    waited_ns: int
    written_bytes: int
    errors: str


READER = """
import sys, threading, time
def read(path):
    with open(path, "rb", buffering=0) as pipe:
        while got := pipe.read(int(sys.argv[1])):
            taken.append(len(got))
            time.sleep(float(sys.argv[2]))
taken = []
readers = [threading.Thread(target=read, args=(path,)) for path in sys.argv[3:]]
for reader in readers:
    reader.start()
for reader in readers:
    reader.join()
print(sum(taken))
"""


@contextmanager
def slow_files(paths: list[Path]) -> Iterator[list[int]]:
    """Make pipes that take so much at a time, as a slow disk does; gives how much they took in the end."""
    for path in paths:
        os.mkfifo(path)
    taken: list[int] = []
    pace = [str(READ_BYTES), str(PAUSE_S)]
    command_line = [sys.executable, "-c", READER, *pace, *map(str, paths)]
    with subprocess.Popen(command_line, stdout=subprocess.PIPE, text=True, **AHEAD) as readers:
        try:
            yield taken
        finally:
            # One that nobody wrote to would wait for ever.
            for path in paths:
                os.close(os.open(path, os.O_RDWR | os.O_NONBLOCK))
            output, _ = readers.communicate(timeout=60)
            taken.append(int(output))
            for path in paths:
                path.unlink()


def words(log: Path, mode: str) -> list[str]:
    """Return the command that logs."""
    return command("LogWriter", THREADS, MESSAGES, LENGTH, log, mode)


def record(folder: Path, mode: str) -> Measured:
    """Record what logs to a slow file, directly or behind a queue."""
    log = folder / f"{mode}.log"
    with slow_files([Path(f"{log}0")]) as taken:
        done = recorded(folder / f"{mode}.headway", words(log, mode), "--locks")
    wall_ns, blocked_ms, waited_ms = (int(word) for word in done.stdout.split())
    return Measured(folder / f"{mode}.headway", wall_ns, blocked_ms * 10**6, waited_ms * 10**6, sum(taken), done.stderr)


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Pair[Measured]:
    def without(folder: Path) -> int:
        log = folder / "own.log"
        with slow_files([Path(f"{log}{i}") for i in range(THREADS)]):
            return time_without(words(log, "own"), folder)

    return pairs(lambda folder: record(folder, "shared"), without, tmp_path_factory.mktemp("shared"))


@pytest.fixture(scope="module")
def shared(pair: Pair[Measured]) -> Measured:
    return pair.measured


@pytest.fixture(scope="module")
def queued(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return quietly(lambda folder: record(folder, "queue"), tmp_path_factory.mktemp("queued"))


def test_the_appenders_lock_is_the_first_cause_beside_the_file_that_its_holder_waits_for(shared: Measured) -> None:
    own = lost(asked(shared.recording, "why"))
    # A file that takes no time, or one for each thread: either would do.
    assert {loss["cause"] for loss in own[:2]} == {"lock_contention", "io"}, own[:2]
    lock, file = sorted(own[:2], key=lambda loss: loss["cause"] == "io")
    assert lock["place"]["method"] == f"{APPENDER}.OutputStreamManager.writeBytes"
    assert lock["place"]["lock"].startswith("FileManager")
    assert lock["core_ns"] > file["core_ns"]
    assert lock["figures"]["holder_sleeping_share"] > 0.6
    assert file["place"]["thread"] == "handler-*"


def test_the_appenders_lock_is_the_first_of_the_locks_with_the_time_that_the_jvm_counts(shared: Measured) -> None:
    first, *others = asked(shared.recording, "locks")
    assert first["place"].startswith(f"{APPENDER}.OutputStreamManager.writeBytes")
    assert first["kind"] == "monitor"
    assert first["parking_thread_time_ns"] == pytest.approx(shared.blocked_ns, rel=0.05)
    assert not [row for row in others if row["contention"] and row["lost_core_ns"] > 0.1 * first["lost_core_ns"]]


def test_what_would_be_gained_is_what_a_file_for_each_thread_gains(pair: Pair[Measured]) -> None:
    said = asked(pair.measured.recording, "why")
    lock = next(loss for loss in lost(said) if loss["cause"] == "lock_contention")
    pair.compare(lock["likely_speedup"], said, pair.measured.wall_ns)


def test_a_lock_of_threads_that_keep_the_cores_busy_gains_what_a_file_for_each_gains(tmp_path: Path) -> None:
    # An ordinary file takes all at once: what is done under the lock is computed, and so is what is done beside it.
    def logging(folder: Path, mode: str) -> list[str]:
        return command("LogWriter", THREADS, 30_000, 400, folder / f"{mode}.log", mode)

    def measure(folder: Path) -> tuple[Path, int, int]:
        done = recorded(folder / "busy.headway", logging(folder, "shared"), "--locks")
        wall_ns, blocked_ms, _ = map(int, done.stdout.split())
        return folder / "busy.headway", wall_ns, blocked_ms * 10**6

    busy = pairs(measure, lambda folder: time_without(logging(folder, "own"), folder), tmp_path)
    path, wall_ns, blocked_ns = busy.measured
    said = asked(path, "why")
    first = asked(path, "locks")[0]
    assert first["place"].startswith(f"{APPENDER}.OutputStreamManager.")
    assert first["contention"]
    assert first["parking_thread_time_ns"] == pytest.approx(blocked_ns, rel=0.1)
    assert first["holding"]["sleeping_ns"] < 0.1 * first["parking_thread_time_ns"], first["holding"]
    # Where no core was idle for a moment, nothing is lost to it.
    locks = [loss for loss in lost(said) if loss["cause"] == "lock_contention"]
    large = [loss["place"]["lock"] for loss in locks if loss["core_ns"] > 0.01 * said["wall_ns"]]
    assert all(str(name).startswith("FileManager") for name in large), large
    known = [loss["likely_speedup"] for loss in locks if loss["likely_speedup"] is not None]
    busy.compare(max(known, default=1.0), said, wall_ns)


def test_a_full_queue_is_the_first_cause_and_the_thread_that_empties_it_the_slow_side(queued: Measured) -> None:
    own = lost(asked(queued.recording, "why"))
    full = next(loss for loss in own if loss["cause"] == "full_producer")
    assert full["place"]["method"].startswith(f"{APPENDER}.AsyncAppender.logMessage")
    assert full == own[0] or own[0]["cause"] == "io", own[:2]  # what that thread waits for
    assert "AsyncAppenderEventDispatcher" in full["place"]["thread"]
    first = asked(queued.recording, "locks")[0]
    assert first["place"].startswith(f"{APPENDER}.AsyncAppender.logMessage")
    assert first["parking_thread_time_ns"] == pytest.approx(queued.waited_ns, rel=0.05)


def test_every_message_was_written_and_nothing_else(shared: Measured, queued: Measured) -> None:
    for measured in (shared, queued):
        assert measured.written_bytes > THREADS * MESSAGES * LENGTH
        assert all(line.startswith(("headway: ", "  next: ")) for line in measured.errors.splitlines()), measured.errors
    assert abs(shared.written_bytes - queued.written_bytes) < THREADS * MESSAGES


def test_few_warnings_mark_what_is_said(shared: Measured, queued: Measured) -> None:
    assert len(warnings_of(shared.recording)) <= 1
    assert len(warnings_of(queued.recording)) <= 1
