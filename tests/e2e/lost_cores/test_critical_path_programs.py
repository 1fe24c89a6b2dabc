"""The critical path of a real program, whose waits have one known answer each."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest

from headway.analyses.critical_path.analysis import critical_path
from headway.analyses.critical_path.types import CriticalPath
from headway.store import Recording, open_recording
from support.drivers.recording_cli import JAVA_17, headway
from support.drivers.workloads import workloads_jar

pytestmark = [pytest.mark.alone, pytest.mark.root]
MOST = 0.8
"""Of a wait: the rest are the wait's own first and last steps, and what the JVM does meanwhile."""


@dataclass(frozen=True)
class Measured:
    recording: Recording
    lines: dict[str, dict[str, Any]]

    def path(self, phase: str) -> CriticalPath:
        """The path that ends where main's wait ended, as long as the wait."""
        line, origin = self.lines[phase], self.recording.window_ns[0]
        window = (line["begin_ns"] - origin, line["end_ns"] - origin)
        result = critical_path(self.recording, window=window, thread=re.compile("^main$"))
        # What the tests leave out as waits for a CPU is no more than the kernel says that there were.
        assert result.wall_ns - sum(own_ns(result).values()) <= self.without_cpu_ns(line["begin_ns"], line["end_ns"])
        return result

    def without_cpu_ns(self, begin_ns: int, end_ns: int) -> int:
        """In slices that lie in some time, or over its ends."""
        text = (
            "SELECT SUM(COALESCE(runnable_ns, 0) + COALESCE(stolen_ns, 0)) FROM slice"
            " WHERE start_ns - COALESCE(runnable_ns, 0) < ? AND start_ns + running_ns > ?"
        )
        return int(self.recording.query(text, [end_ns, begin_ns]).fetchall()[0][0])


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    path = tmp_path_factory.mktemp("paths") / "a.headway"
    program = [JAVA_17, "-cp", workloads_jar(), "headway.workloads.PathCases", 200]
    done = headway("record", "--locks", "--sample", "cpu:2ms", "--mode", "ebpf", "-o", path, "--", *program)
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    return Measured(open_recording(path), {line["event"]: line for line in lines})


def own_ns(result: CriticalPath) -> dict[str, int]:
    """The path by thread, without the time in which the thread was ready and had no CPU: on a busy machine that may be any."""
    waits_for_cpu = ("runnable", "stolen")
    return {row.name: row.ns - sum(row.by_state.get(state, 0) for state in waits_for_cpu) for row in result.by_thread}


def shares(result: CriticalPath) -> dict[str, float]:
    own = own_ns(result)
    return {name: ns / sum(own.values()) for name, ns in own.items()}


def test_a_join_leads_through_the_slower_worker(run: Measured) -> None:
    result = run.path("join")
    assert shares(result)["join-slow"] > MOST
    assert result.followed >= 1


def test_a_lock_leads_through_its_holder_to_the_thread_that_the_holder_waits_for(run: Measured) -> None:
    result = run.path("locks")
    assert shares(result)["lock-second"] > MOST
    locks = [row for row in result.by_lock if row.name.startswith("ReentrantLock@")]
    (second,) = (row for row in result.by_thread if row.name == "lock-second")
    assert locks[0].followed_ns > MOST * second.ns


def test_a_consumer_leads_to_its_producer(run: Measured) -> None:
    result = run.path("queue")
    assert shares(result)["queue-producer"] > MOST
    assert result.followed >= 10


def test_a_sleep_is_on_the_path_itself(run: Measured) -> None:
    result = run.path("sleep")
    states = dict(result.by_state)
    assert shares(result)["main"] > MOST
    assert states.get("sleep", 0) + states.get("interrupt", 0) > MOST * sum(own_ns(result).values()), states


def test_methods_of_the_path_are_those_of_the_thread_that_it_is_on(run: Measured) -> None:
    result = run.path("join")
    assert result.has_samples
    most = max(result.by_method, key=lambda row: row.running_ns)
    assert most.method.startswith("headway.workloads.")


def test_the_path_of_the_program_is_as_long_as_the_recording_and_ends_in_its_first_thread(run: Measured) -> None:
    result = critical_path(run.recording)
    assert sum(ns for _, ns in result.by_state) == run.recording.wall_ns
    assert result.thread.tid == run.recording.manifest.pid
    phases = [sum(own_ns(run.path(phase)).values()) for phase in run.lines]
    known = ("join-slow", "lock-second", "queue-producer", "main")
    assert sum(ns for name, ns in own_ns(result).items() if name in known) > MOST * sum(phases)
    unknown = sum(row.by_state.get("unknown", 0) for row in result.by_thread if row.kind == "app")
    assert unknown < 0.2 * result.wall_ns
