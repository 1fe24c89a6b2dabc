"""What the holder does while others wait, against programs that arrange it and measure it themselves."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headway.store.packing import TICK_NS
from support.drivers.recording_cli import JAVA_17, headway, javas, wait_for
from support.drivers.workloads import workloads_jar
from support.oracles.lock_oracle import OPEN_LOCKS, LockRun, Span, length_ns, locks_json, record_locks

pytestmark = pytest.mark.root
ROUNDS = 5
KINDS = ("juc", "monitor")


@dataclass(frozen=True)
class Held:
    """A run of a program with one holder and one waiter: what it measured, and headway's answer for the lock."""

    run: LockRun
    spans: list[Span]  # the waiter waited all the time, and the holder did what it was there for
    row: dict[str, Any]

    @property
    def measured_ns(self) -> int:
        return length_ns(self.spans)

    @property
    def around_ns(self) -> int:
        """How much longer the waiter waited than the program measured."""
        return int(self.row["parking_thread_time_ns"]) - self.measured_ns

    @property
    def ticks_ns(self) -> int:
        """What the store's rounding of states may add up to in these spans."""
        ((changes,),) = self.run.rows("SELECT count(*) FROM slice WHERE thread_id = $1", (self.holder_id,))
        return 3 * TICK_NS * int(changes)

    @property
    def holder_id(self) -> int:
        return self.run.thread_ids[self.run.said["holder_java_id"]]

    @property
    def doing(self) -> Mapping[str, int]:
        """Return what headway says that the holder did while the other one waited."""
        (holder,) = (each for each in self.row["holders"] if each["java_id"] == self.run.said["holder_java_id"])
        assert sum(holder["doing"].values()) == holder["wait_ns"] <= self.row["parking_thread_time_ns"]
        return {state.removesuffix("_ns"): ns for state, ns in holder["doing"].items()}

    def in_state(self, state: str) -> int:
        """How long the holder was in a state during the measured spans, by the kernel's record."""
        rows = self.run.rows(
            "SELECT start_ns, start_ns + dur_ns FROM thread_state WHERE thread_id = $1 AND state = $2",
            (self.holder_id, state),
        )
        return sum(length_ns(rows, span) for span in self.spans)


def held(folder: Path, program: str, *arguments: object, java: str = JAVA_17) -> Held:
    run = record_locks(folder, program, *arguments, java=java)
    (own,) = run.said["lock"]
    (row,) = (row for row in run.locks if row["identity_hash"] == own["identity_hash"])
    assert (row["contention"], row["times_parked"]) == (True, ROUNDS)
    return Held(run, list(zip(run.said["round_begin_ns"], run.said["round_end_ns"], strict=True)), row)


def largest(doing: Mapping[str, int]) -> str:
    return max(doing, key=lambda state: doing[state])


def check(of: Held, state: str, measured_ns: int) -> None:
    """Hold a share of the holder's time against what it was in the measured spans; around them it may have been more."""
    assert measured_ns - of.ticks_ns <= of.doing[state] <= measured_ns + of.around_ns + of.ticks_ns, (state, of.doing)


def check_largest(of: Held, state: str, measured_ns: int) -> None:
    """Check that the holder did this more than anything else, if there was no room for anything else to be more."""
    other_ns = of.measured_ns - measured_ns + of.around_ns + of.ticks_ns
    assert largest(of.doing) == state or other_ns >= measured_ns - of.ticks_ns, of.doing


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_holder_without_a_cpu_is_runnable_for_as_long_as_its_clocks_say(tmp_path: Path, kind: str, java: str) -> None:
    of = held(tmp_path, "HolderDescheduled", kind, ROUNDS, 20, java=java)
    cpu_ns = sum(of.run.said["round_cpu_ns"])
    check(of, "running", of.in_state("running"))
    check(of, "runnable", of.in_state("runnable"))
    # The program's own clocks: on a CPU (but for what the host stole of it), and the rest of the time.
    assert cpu_ns <= of.doing["running"] + of.ticks_ns
    assert of.doing["runnable"] <= of.measured_ns - cpu_ns + of.around_ns + of.ticks_ns
    assert of.doing["running"] + of.doing["runnable"] >= of.measured_ns - of.in_state("sleeping") - of.ticks_ns
    check_largest(of, "runnable", of.in_state("runnable"))


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_holder_that_sleeps_is_said_to_sleep(tmp_path: Path, kind: str, java: str) -> None:
    of = held(tmp_path, "HolderSleeps", kind, ROUNDS, 40, java=java)
    check(of, "sleeping", of.in_state("sleeping"))
    assert of.in_state("sleeping") >= of.measured_ns - 2 * sum(of.run.said["round_cpu_ns"]) - of.in_state("runnable")
    check_largest(of, "sleeping", of.in_state("sleeping"))


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
@pytest.mark.parametrize("kind", KINDS)
def test_a_holder_stopped_by_the_collector_is_said_to_be_in_a_gc_pause(tmp_path: Path, kind: str, java: str) -> None:
    of = held(tmp_path, "GcStretchesHold", kind, ROUNDS, 32, java=java)
    pauses = of.run.rows("SELECT start_ns, start_ns + dur_ns FROM jvm_phase WHERE kind = 'gc_pause'")
    paused_ns = sum(length_ns(pauses, span) for span in of.spans)
    assert len(pauses) >= ROUNDS
    check(of, "gc_pause", paused_ns)
    check_largest(of, "gc_pause", paused_ns)


@pytest.mark.parametrize("kind", KINDS)
def test_a_holder_that_waits_for_a_second_lock_shows_the_chain_to_who_keeps_it(tmp_path: Path, kind: str) -> None:
    run = record_locks(tmp_path, "HolderWaitsForSecondLock", kind, ROUNDS, 40)
    spans = list(zip(run.said["round_begin_ns"], run.said["round_end_ns"], strict=True))
    _, second, third = run.said["java_ids"]
    outer, inner = run.row("outer"), run.row("inner")
    (keeper,) = (each for each in outer["holders"] if each["java_id"] == second)
    around_ns = outer["parking_thread_time_ns"] - length_ns(spans)
    # The program's clock runs on while the keeper is awake already, or not yet asleep.
    awake_ns = keeper["doing"]["running_ns"] + keeper["doing"]["runnable_ns"]
    assert length_ns(spans) - awake_ns <= keeper["doing"]["blocked_ns"] <= length_ns(spans) + around_ns
    assert largest(keeper["doing"]) == "blocked_ns" or around_ns >= length_ns(spans)
    assert [other["blocker_id"] for other in keeper["blocked_on"]] == [inner["blocker_id"]]
    (sleeper,) = (each for each in inner["holders"] if each["java_id"] == third)
    asleep_ns = sum(length_ns(run.asleep(third, span)) for span in spans)
    not_asleep_ns = inner["parking_thread_time_ns"] - asleep_ns
    assert largest(sleeper["doing"]) == "sleeping_ns" or not_asleep_ns >= asleep_ns
    assert [link["thread"] for link in outer["chain"]] == ["second", "third"]
    assert [link["blocker_id"] for link in outer["chain"]] == [outer["blocker_id"], inner["blocker_id"]]
    assert not outer["chain_is_cycle"]
    shown = headway("locks", run.path)
    assert shown.returncode == 0
    assert "second" in shown.stdout
    assert "third" in shown.stdout


@pytest.mark.parametrize("kind", KINDS)
def test_a_deadlock_shows_both_threads_still_waiting_and_the_programs_exit_code_is_kept(
    tmp_path: Path, kind: str
) -> None:
    recording = tmp_path / "r.headway"
    program = ["-cp", workloads_jar(), "headway.workloads.Deadlock", kind, 300, 7]
    done = headway("record", "--locks", "-o", recording, "--", JAVA_17, OPEN_LOCKS, *program)
    assert done.returncode == 7, done.stderr
    run = LockRun(recording, json.loads(done.stdout), {}, [])
    rows = {row["identity_hash"]: row for row in locks_json(recording)}
    in_deadlock_ns = run.said["end_ns"] - run.said["begin_ns"]
    for hash_of_lock in run.said["identity_hashes"]:
        row = rows[hash_of_lock]
        assert (row["times_parked"], row["parked_now"], row["peak_parked"]) == (1, 1, 1)
        assert row["parking_thread_time_ns"] >= in_deadlock_ns
        assert row["deadlocked"]
    open_blocks = run.rows("SELECT java_id, is_open, start_ns + dur_ns FROM block WHERE kind != 'wait' AND is_open")
    assert {java_id for java_id, _, _ in open_blocks} >= set(run.said["java_ids"])
    shown = headway("locks", recording)
    assert shown.returncode == 0
    assert "deadlocked-0" in shown.stdout
    assert "deadlocked-1" in shown.stdout


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_an_attach_to_threads_in_a_deadlock_names_it(tmp_path: Path, java: str) -> None:
    recording = tmp_path / "r.headway"
    words = [java, OPEN_LOCKS, "-cp", str(workloads_jar()), "headway.workloads.Deadlock", "juc", "600000"]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        wait_for(lambda: "Found one Java-level deadlock" in threads_of(process.pid))
        done = headway("record", "--locks", "-o", recording, "--pid", process.pid, "--duration", "1s")
        assert done.returncode == 0, done.stderr
        assert process.poll() is None
    finally:
        process.kill()
        assert process.communicate()[0] == ""
    rows = [row for row in locks_json(recording) if row["deadlocked"]]
    waiters = ["deadlocked-0", "deadlocked-1"]
    assert sorted(row["first_thread"] for row in rows) == waiters
    for row in rows:
        (holder,) = row["holders"]
        assert [row["first_thread"], holder["thread"]] in (waiters, waiters[::-1])
        assert (holder["seen_by"], row["chain_is_cycle"]) == (["owner"], True)
    assert "Deadlock at the end: deadlocked-" in headway("locks", recording).stdout


def threads_of(pid: int) -> str:
    """Return what the JDK's own tool says of the threads of a JVM."""
    tool = Path(JAVA_17).parent / "jcmd"
    return subprocess.run([tool, str(pid), "Thread.print"], capture_output=True, text=True, timeout=100).stdout
