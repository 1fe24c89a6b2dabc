"""The CPUs that a program may use, as seen now and then while it is recorded."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from headway.record.machine.allowed_cpus import AllowedCpus
from headway.record.target_process.processes import tree

CPUS = frozenset(os.sched_getaffinity(0))
ONE = frozenset({min(CPUS)})
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs")

TWO_THREADS = """
import threading, time
other = threading.Thread(target=time.sleep, args=(100,), daemon=True)
other.start()
print(other.native_id, flush=True)
time.sleep(100)
"""


@pytest.fixture
def program() -> Iterator[subprocess.Popen[str]]:
    """A process of two threads that tells the number of its second one."""
    with subprocess.Popen([sys.executable, "-S", "-c", TWO_THREADS], stdout=subprocess.PIPE, text=True) as started:
        yield started
        started.kill()


def look(allowed: AllowedCpus) -> None:
    """Look at once, however long the look before took."""
    allowed._next_ns = 0
    allowed.look()


def of_all_threads(pid: int, cpus: frozenset[int]) -> None:
    """Bind every thread of a process, as `taskset --all-tasks --pid` does."""
    for tid in os.listdir(f"/proc/{pid}/task"):
        os.sched_setaffinity(int(tid), cpus)


def seen(allowed: AllowedCpus, since_ns: int = 0) -> list[frozenset[int]]:
    """Return the CPUs in the order in which they were seen."""
    return [cpus for _, cpus in allowed.since(since_ns)]


def test_what_a_program_narrows_its_cpus_to_before_it_begins_is_what_it_has(program: subprocess.Popen[str]) -> None:
    assert program.stdout is not None
    program.stdout.readline()
    allowed = AllowedCpus(program.pid)
    look(allowed)
    of_all_threads(program.pid, ONE)
    begun_ns = time.monotonic_ns()
    assert seen(allowed, begun_ns) == [CPUS], "nobody has looked since"
    look(allowed)
    look(allowed)
    assert seen(allowed, begun_ns) == [ONE]


def test_a_first_look_that_takes_long_does_not_put_off_the_next(
    program: subprocess.Popen[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It runs cold, and is of the time before the program proper."""
    assert program.stdout is not None
    program.stdout.readline()
    clock = iter([0, 50_000_000, 52_000_000])  # CPU time: the first look took 50 ms, the second 2 ms
    monkeypatch.setattr(time, "thread_time_ns", lambda: next(clock))
    allowed = AllowedCpus(program.pid)
    allowed.look()
    of_all_threads(program.pid, ONE)
    allowed.look()
    assert seen(allowed) == [CPUS, ONE]
    last_ns = time.monotonic_ns()
    assert 0 < allowed._next_ns - last_ns <= 200_000_000, "2 ms are 1 % of 200 ms"


def test_a_change_later_on_is_told_with_its_time(program: subprocess.Popen[str]) -> None:
    assert program.stdout is not None
    program.stdout.readline()
    allowed = AllowedCpus(program.pid)
    times = []
    for cpus in (CPUS, CPUS, ONE, ONE, CPUS):
        of_all_threads(program.pid, cpus)
        times.append(time.monotonic_ns())
        look(allowed)
    assert seen(allowed) == seen(allowed, times[1]) == [CPUS, ONE, CPUS]
    assert seen(allowed, times[2]) == seen(allowed, times[3]) == [ONE, CPUS]
    (began, _), (narrow, _), (wide, _) = allowed.since(times[1])
    assert began == times[1]
    assert times[2] <= narrow < times[3] < times[4] <= wide


def test_one_thread_that_may_use_a_cpu_is_enough(program: subprocess.Popen[str]) -> None:
    assert program.stdout is not None
    second = int(program.stdout.readline())
    allowed = AllowedCpus(program.pid)
    look(allowed)
    os.sched_setaffinity(program.pid, ONE)  # a JVM's first thread only waits for main
    for _ in range(2):
        look(allowed)
    assert seen(allowed) == [CPUS]
    os.sched_setaffinity(second, ONE)
    look(allowed)
    assert seen(allowed) == [CPUS, ONE]


RECORDER = """
import os
from headway.record.machine.allowed_cpus import AllowedCpus
shell = os.getppid()
os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
os.sched_setaffinity(shell, {min(os.sched_getaffinity(shell))})
allowed = AllowedCpus(shell)
allowed.look()
print(*allowed.since(0)[0][1])
"""


def test_a_shell_that_records_itself_is_not_allowed_what_the_recorder_is() -> None:
    words = ["sh", "-c", '"$0" -c "$1"; true', sys.executable, RECORDER]
    assert {int(word) for word in subprocess.check_output(words, text=True).split()} == ONE


def test_the_cpus_of_processes_below_count() -> None:
    words = ["sh", "-c", '"$0" -S -c "$1"; true', sys.executable, TWO_THREADS]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as shell:
        assert shell.stdout is not None
        shell.stdout.readline()
        os.sched_setaffinity(shell.pid, ONE)
        allowed = AllowedCpus(shell.pid)
        look(allowed)
        assert seen(allowed) == [CPUS]
        for pid in tree(shell.pid):
            of_all_threads(pid, ONE)
        look(allowed)
        assert seen(allowed) == [CPUS, ONE]
        for pid in reversed(tree(shell.pid)):
            os.kill(pid, signal.SIGKILL)


def test_nothing_is_known_of_a_program_that_is_gone(program: subprocess.Popen[str]) -> None:
    program.kill()
    program.wait()
    allowed = AllowedCpus(program.pid)
    look(allowed)
    assert allowed.since(0) == []


def test_a_slow_look_is_not_repeated_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0, 500_000_000, 1_200_000_000, 2_100_000_000])
    spent = iter([0, 30_000_000, 40_000_000, 45_000_000, 50_000_000, 60_000_000])
    monkeypatch.setattr("headway.record.machine.allowed_cpus.time.monotonic_ns", lambda: next(clock))
    monkeypatch.setattr("headway.record.machine.allowed_cpus.time.thread_time_ns", lambda: next(spent))
    looks: list[int] = []

    def now(allowed: AllowedCpus) -> frozenset[int]:
        looks.append(allowed.pid)
        return ONE

    monkeypatch.setattr(AllowedCpus, "_now", now)
    allowed = AllowedCpus(os.getpid())
    done = []
    for _ in range(4):
        allowed.look()
        done.append(len(looks))
    assert done == [1, 2, 2, 3], "10 ms are 1 % of a second"


def test_where_proc_hides_processes_nothing_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    def hidden(_: int) -> list[int]:
        raise PermissionError

    monkeypatch.setattr("headway.record.machine.allowed_cpus.tree", hidden)
    allowed = AllowedCpus(os.getpid())
    look(allowed)
    assert allowed.since(0) == []
