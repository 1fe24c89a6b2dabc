"""CPU samples beside the program's own clocks: the share of a method, and what an attach can't know.

The oracle is the queue server of java/workloads: each of its workers reads its thread's CPU clock around the method that computes
and says, when it is done, what part of all workers' CPU time was spent in it. That method is not inlined: whose an instruction
of an inlined one is the JIT compiler's notes tell, and these are wrong for some loops.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import headway, javas, notice_ids

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")

WORKERS = 4
SERVER = ("headway.workloads.QueueServer", "8", str(WORKERS), "25000", "20000")
APART = ("-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,headway.workloads.Work::spin")
ALL_LINES = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+DebugNonSafepoints")
IN_KERNEL = 0.06
"""A timer's signal that is due in the kernel comes when the thread leaves it, and so counts for the call: waking a client.

So the method may seem to take less than it does, never more. While the host has the CPU no timer comes at all: one that is due
then comes where the thread gave the CPU to the host, which is the kernel's call to another CPU. See `taken_by_host`.
"""
MOST_TAKEN = 0.1
LEAST_SAMPLES = 500


def seen(recording: Path, start_ns: int, end_ns: int) -> tuple[float, int]:
    """Return the share of Work.spin in the workers' CPU samples of a stretch of time, and how many samples there are."""
    row = (
        open_recording(recording)
        .query(
            "SELECT sum(weight) FILTER (stack_id IN (SELECT stack_id FROM stack JOIN frame USING (frame_id)"
            " WHERE class_name = 'headway.workloads.Work' AND method = 'spin')) / sum(weight), count(*) FROM sample"
            f" JOIN thread USING (thread_id) WHERE name LIKE 'worker-%' AND ns BETWEEN {start_ns} AND {end_ns}"
        )
        .fetchone()
    )
    assert row is not None
    return float(row[0]), int(row[1])


def taken_by_host(recording: Path, start_ns: int, end_ns: int) -> float:
    """Return which part of the workers' time on CPUs the host had, in a stretch of time."""
    row = (
        open_recording(recording)
        .query(
            "SELECT sum(slice.stolen_ns) / sum(slice.running_ns) FROM slice JOIN thread USING (thread_id)"
            f" WHERE name LIKE 'worker-%' AND slice.start_ns BETWEEN {start_ns} AND {end_ns}"
        )
        .fetchone()
    )
    assert row is not None
    return float(row[0])


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_the_share_of_a_method_is_that_of_the_threads_own_clocks(tmp_path: Path, workloads: Path, java: str) -> None:
    recording = tmp_path / "r.headway"
    server = (java, *APART, "-cp", workloads, *SERVER)
    result = headway("record", "--no-locks", "--sample", "cpu", "-o", recording, "--", *server)
    assert result.returncode == 0, result.stderr
    (said,) = (json.loads(line) for line in result.stdout.splitlines() if line.startswith("{"))
    truth = said["spin_cpu_ns"] / said["workers_cpu_ns"]
    share, samples = seen(recording, said["begin_ns"], said["end_ns"])
    assert samples >= LEAST_SAMPLES
    noise = 3 * math.sqrt(truth * (1 - truth) / samples)
    assert truth + noise < 1, "a sampler that sees nothing but the method would pass"
    late = IN_KERNEL + min(MOST_TAKEN, taken_by_host(recording, said["begin_ns"], said["end_ns"]))
    assert truth - noise - late < share < truth + noise
    assert "HW232" not in notice_ids(recording)


@contextmanager
def waiting_server(workloads: Path, *options: str) -> Iterator[subprocess.Popen[str]]:
    """A server that has served once, so that its code is compiled, and whose workers wait for requests."""
    words = [javas()[0], *options, "-cp", str(workloads), *SERVER[:3], "1500", "20000", "array", "driven"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("run\n")
            process.stdin.flush()
            assert "queue_server" in process.stdout.readline()
            yield process
        finally:
            process.kill()


def record_attached(process: subprocess.Popen[str], recording: Path) -> None:
    """Record a process for a moment, without locks."""
    words = ("--no-locks", "--sample", "cpu", "--pid", str(process.pid), "--duration", "0.5", "-o", recording)
    result = headway("record", *words)
    assert result.returncode == 0, result.stderr


@pytest.fixture(scope="module")
def attached_recording(tmp_path_factory: pytest.TempPathFactory, workloads: Path) -> Path:
    """A recording of a waiting server that was attached to."""
    path = tmp_path_factory.mktemp("attached") / "r.headway"
    with waiting_server(workloads) as process:
        record_attached(process, path)
    return path


def test_threads_that_wait_at_an_attach_without_locks_have_a_stack(attached_recording: Path) -> None:
    rows: list[tuple[Any, ...]] = (
        open_recording(attached_recording)
        .query(
            "SELECT name, state, list_contains(list(method), 'take') FROM waiting_stack JOIN thread USING (thread_id)"
            " JOIN stack USING (stack_id) JOIN frame USING (frame_id) GROUP BY ALL ORDER BY name"
        )
        .fetchall()
    )
    workers = [row for row in rows if row[0].startswith("worker-")]
    assert workers == [(f"worker-{number}", "park", True) for number in range(WORKERS)]
    assert ("main", "native", False) in rows
    assert not open_recording(attached_recording).has("block")


def test_what_was_compiled_before_the_attach_is_told(attached_recording: Path) -> None:
    assert "HW232" in notice_ids(attached_recording)


def test_a_jvm_that_keeps_all_lines_is_told_nothing(tmp_path: Path, workloads: Path) -> None:
    with waiting_server(workloads, *ALL_LINES) as process:
        record_attached(process, tmp_path / "r.headway")
    assert "HW232" not in notice_ids(tmp_path / "r.headway")
