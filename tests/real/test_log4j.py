"""Eight threads that log with Log4j, to a file that takes its time or to a queue that is full: what holds them back?"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.drivers import real_programs
from support.drivers.busy_machine import quietly
from support.drivers.real_programs import LENGTH, MESSAGES, PAUSE_S, READ_BYTES
from support.drivers.real_programs import LOGGING_THREADS as THREADS
from support.drivers.real_servers import (
    OwnClocks,
    asked,
    asleep_or_ready,
    lost,
    main_ready_ns,
    recorded,
    rivals,
    warnings_of,
)

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
PIPE_BYTES = 1 << 16
"""What a pipe takes while nobody reads."""
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


def record(folder: Path, mode: str) -> Measured:
    """Record what logs to a slow file, directly or behind a queue."""
    command = real_programs.slow_logging(folder, mode)
    with command.beside() as taken:
        done = recorded(folder / f"{mode}.headway", command.words, "--locks")
    wall_ns, blocked_ms, waited_ms = (int(word) for word in done.stdout.split())
    return Measured(folder / f"{mode}.headway", wall_ns, blocked_ms * 10**6, waited_ms * 10**6, sum(taken), done.stderr)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    return quietly(lambda folder: record(folder, "shared"), tmp_path_factory.mktemp("shared"))


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
    assert asleep_or_ready(asked(shared.recording, "locks")[0]) > 0.6
    assert file["place"]["thread"] == "handler-*"


def test_the_appenders_lock_is_the_first_of_the_locks_with_the_time_that_the_jvm_counts(shared: Measured) -> None:
    first, *others = asked(shared.recording, "locks")
    assert first["place"].startswith(f"{APPENDER}.OutputStreamManager.writeBytes")
    assert first["kind"] == "monitor"
    assert first["parking_thread_time_ns"] == pytest.approx(shared.blocked_ns, rel=0.05)
    assert not rivals(first, others)


def test_what_would_be_gained_is_what_the_threads_waited_for_the_file(shared: Measured) -> None:
    said = asked(shared.recording, "why")
    lock = next(loss for loss in lost(said) if loss["cause"] == "lock_contention")
    # Of a file of its own each thread would wait for what the pipe does not hold.
    least_ns = (MESSAGES * LENGTH - PIPE_BYTES) / READ_BYTES * PAUSE_S * 1e9
    OwnClocks(shared.wall_ns, shared.blocked_ns / THREADS, least_ns).check_loss(lock, shared.recording)


def test_a_lock_of_threads_that_keep_the_cores_busy_gains_no_more_than_they_waited_for_it(tmp_path: Path) -> None:
    # An ordinary file takes all at once: what is done under the lock is computed, and so is what is done beside it.
    def measure(folder: Path) -> tuple[Path, int]:
        done = recorded(folder / "busy.headway", real_programs.busy_logging(folder, "shared").words, "--locks")
        return folder / "busy.headway", int(done.stdout.split()[1]) * 10**6

    path, blocked_ns = quietly(measure, tmp_path)
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
    likely = max((loss["likely_speedup"] or 1.0 for loss in locks), default=1.0)
    alone_ns = said["wall_ns"] - main_ready_ns(path)  # the gain is that of a machine that runs nothing else
    assert likely <= alone_ns / (alone_ns - 1.1 * blocked_ns / THREADS)


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
