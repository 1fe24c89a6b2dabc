"""The rules of virtual speedups, one by one, in a JVM: who is held up while another thread runs the faster line, and who is not.

The program (tests/programs/Rules.java) measures with its own clocks how long the line ran, which is what every other thread
owes at a speedup of 100 %, and how long threads were held up. So no bound here depends on the machine's speed. It may well hold
threads up as well: what must take long is looked at in the middle one of some rounds, what must not has to be so in most rounds.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from asked_program import PROGRAMS, AskedProgram, line_of
from headway.record.jvm_options import agent_options
from workloads import JAVAS, agent

TRIES = 9
MOST_EXCUSED = 0.3  # of what would be owed
LEAST_PAID = 0.6  # the rest may have been paid in the wait for a core
ROUNDS = 15
LEAST_PAID_RUNNING = 0.15  # of what is owed by the rules; what is left over from signals and the like is 0 to 0.07
WAITS = ("park", "monitor", "wait", "lock", "condition", "join")


class Round(NamedTuple):
    line_ns: int
    held_up_ns: int
    late_ns: int


class Work(NamedTuple):
    lasted_ns: int
    paid_ns: int
    left_ns: int
    without_core_ns: int

    def owed(self) -> float:
        """Return which part of the line's time the worker owes: it had a core for some of the time, and is excused of the rest.

        As docs/decisions/0008-causal.md has it: others' cores are all but one while it runs, and all while it waits for one.
        """
        cores = len(os.sched_getaffinity(0))
        waited = min(self.without_core_ns / self.lasted_ns, 1)
        ran = (cores - 1) * (1 - waited)
        return ran / max(cores * waited + ran, 1e-9)


class Program(AskedProgram):
    """Rules under one experiment that lasts as long as the program."""

    def __init__(self, java: Path, classes: Path, spool: Path) -> None:
        spool.mkdir(exist_ok=True)
        line = quote(f"line=Rules:{line_of('Rules', 'faster')}", safe="")
        options = agent_options(spool, causal=f"target:{line};speedup:100")
        super().__init__(java, classes, f"-agentpath:{agent()}={options}", "Rules")
        assert self.ready == "ready"
        # The line becomes the target some time after its class is there.
        for _ in range(20):
            asleep = self.round("timed sleep")
            if asleep.held_up_ns > LEAST_PAID * asleep.line_ns:
                break

    def round(self, request: str) -> Round:
        return Round(*map(int, self.ask(request).split()))

    def work(self) -> Work:
        return Work(*map(int, self.ask("runs").split()))

    def middle_of(self, request: str, figure: str) -> float:
        """Return the middle one of three, as a part of the time that the line ran."""
        parts: list[float] = []
        for _ in range(3):
            each = self.round(request)
            parts.append(getattr(each, figure) / each.line_ns)
        return statistics.median(parts)

    def is_mostly_excused(self, request: str, *figures: str) -> bool:
        """Return whether most rounds show an excuse. One by itself is no proof: a thread that owes pays early now and then."""
        wanted = TRIES // 2 + 1
        excused = 0
        for _ in range(TRIES):
            each = self.round(request)
            excused += sum(getattr(each, figure) for figure in figures) < MOST_EXCUSED * each.line_ns
            if excused == wanted:
                return True
        return False


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    subprocess.run([JAVAS["jdk17"].with_name("javac"), "-g", "-d", out, PROGRAMS / "Rules.java"], check=True)
    return out


@pytest.fixture(scope="module", params=JAVAS)
def program(
    request: pytest.FixtureRequest, classes: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Program]:
    with Program(JAVAS[request.param], classes, tmp_path_factory.mktemp("spool")) as program:
        yield program
        program.end()


@pytest.mark.parametrize("kind", [*WAITS, "pipe"])
def test_who_waits_for_the_thread_in_the_line_owes_nothing(program: Program, kind: str) -> None:
    assert program.is_mostly_excused(
        f"woken {kind}", "held_up_ns", "late_ns"
    )  # a monitor's waiter would pay before it goes on


@pytest.mark.parametrize("kind", WAITS)
def test_who_wakes_another_thread_pays_first_and_the_other_one_pays_nothing(program: Program, kind: str) -> None:
    assert program.middle_of(f"waker {kind}", "late_ns") > LEAST_PAID
    assert program.is_mostly_excused(f"waker {kind}", "held_up_ns")


@pytest.mark.parametrize("kind", ["sleep", "park", "wait", "condition"])
def test_who_is_woken_by_time_owes_all_of_it(program: Program, kind: str) -> None:
    assert program.middle_of(f"timed {kind}", "held_up_ns") > LEAST_PAID


def test_who_starts_a_thread_pays_first_and_the_new_one_owes_nothing(program: Program) -> None:
    assert program.middle_of("begins", "late_ns") > LEAST_PAID
    assert program.is_mostly_excused("begins", "held_up_ns")


def test_who_runs_pays_at_its_samples(program: Program) -> None:
    line_ns = program.round("woken park").line_ns
    paid_ns = owed_ns = 0.0
    left = []
    for _ in range(3):
        for _ in range(ROUNDS):
            work = program.work()
            paid_ns += work.paid_ns
            owed_ns += work.owed() * line_ns
            left.append(work.left_ns / line_ns)
        if paid_ns > LEAST_PAID_RUNNING * owed_ns:
            break
    assert paid_ns > LEAST_PAID_RUNNING * owed_ns
    assert statistics.median(left) < MOST_EXCUSED  # when it wakes somebody, hardly anything is left to pay


@pytest.mark.parametrize("jdk", JAVAS)
def test_what_is_owed_is_the_time_that_the_line_ran(jdk: str, classes: Path, tmp_path: Path) -> None:
    with Program(JAVAS[jdk], classes, tmp_path) as program:
        ran_ns = sum(program.round("woken park").line_ns for _ in range(10))
        program.end()
    notes: list[dict[str, Any]] = [
        json.loads(line) for path in tmp_path.glob("causal-*.jsonl") for line in path.read_text().splitlines()
    ]
    (experiment,) = [note for note in notes if note["t"] == "experiment"]
    assert 0.8 * ran_ns < experiment["delay_ns"] <= experiment["hits_ns"]
