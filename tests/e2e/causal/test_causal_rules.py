"""The rules of virtual speedups, one by one, in a JVM: who is held up while another thread runs the faster line, and who is not.

The program (tests/programs/Rules.java) measures with its own clocks how long the line ran, which is what every other thread
owes at a speedup of 100 %, and how long threads were held up. So no bound here depends on the machine's speed. It may well hold
threads up as well: what must take long is looked at in the middle one of some rounds, what must not has to be so in most rounds.
"""

from __future__ import annotations

import contextlib
import json
import resource
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.asked_program import PROGRAMS, AskedProgram, line_of
from support.drivers.workloads import JAVAS, agent, compile_java

TRIES = 9
MOST_EXCUSED = 0.3  # of what would be owed
LEAST_PAID = 0.6  # the rest may have been paid in the wait for a core
MOST_CHARGED = 0.1  # of what was paid: the wake-up itself
LINE = f"line=Rules:{line_of('Rules', 'faster')}"
WAITS = ("park", "monitor", "wait", "lock", "condition", "join")
Note = dict[str, Any]


class Round(NamedTuple):
    line_ns: int
    held_up_ns: int
    late_ns: int


class Program(AskedProgram):
    """Rules under one experiment that lasts as long as the program."""

    def __init__(self, java: Path, classes: Path, spool: Path, target: str = LINE, scope: str = "Rules*") -> None:
        spool.mkdir(exist_ok=True)
        spec = f"target:{quote(target, safe='')};speedup:100;scope:{quote(scope, safe='')}"
        options = agent_options(spool, causal=spec)
        super().__init__(java, classes, f"-agentpath:{agent()}={options}", "Rules")
        assert self.ready == "ready"
        # The line becomes the target some time after its class is there.
        for _ in range(20):
            asleep = self.round("timed sleep")
            if asleep.held_up_ns > LEAST_PAID * asleep.line_ns:
                break

    def round(self, request: str) -> Round:
        return Round(*map(int, self.ask(request).split()))

    @contextlib.contextmanager
    def without_descriptors(self) -> Iterator[None]:
        """The kernel tells threads nothing meanwhile of how long they wait for cores, so they are excused of nothing for that."""
        pid = self.process.pid
        self.ask("pays")  # its classes are loaded
        soft, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (0, hard))
        yield
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (soft, hard))

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
    compile_java(out, PROGRAMS / "Rules.java")
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


def test_who_releases_a_lock_that_others_queue_for_pays_before_anybody_can_have_it(program: Program) -> None:
    assert program.middle_of("releases", "late_ns") > LEAST_PAID


def test_who_runs_pays_at_its_samples(program: Program) -> None:
    with program.without_descriptors():
        assert program.is_mostly_excused("pays", "held_up_ns")  # when it wakes somebody, hardly anything is left to pay


@pytest.mark.parametrize("kind", ["park", "monitor", "wait"])
def test_who_begins_to_wait_pays_first(program: Program, kind: str) -> None:
    assert program.is_mostly_excused(f"settles {kind}", "held_up_ns", "late_ns")  # nothing is left when it is woken


def notes_of(spool: Path, kind: str) -> list[Note]:
    notes = [json.loads(line) for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines()]
    return [note for note in notes if note["t"] == kind]


CALLS = line_of("Rules", "calls")


@pytest.mark.parametrize(
    ("jdk", "target"),
    [
        *((jdk, LINE) for jdk in JAVAS),
        ("jdk17", "method=Rules.Stage.runLine"),
        ("jdk25", "method=Rules$Stage.runLine"),
        # A line of a nested class, whether that is named or not.
        ("jdk17", f"line=Rules:{CALLS}"),
        ("jdk25", f"line=Rules.Stage:{CALLS}"),
    ],
)
def test_what_is_owed_is_the_time_that_the_target_ran(jdk: str, target: str, classes: Path, tmp_path: Path) -> None:
    scope = "Rules$Stage" if target.endswith(f":{CALLS}") else "Rules*"
    with Program(JAVAS[jdk], classes, tmp_path, target, scope) as program:
        ran_ns = sum(program.round("woken park").line_ns for _ in range(10))
        program.end()
    (experiment,) = notes_of(tmp_path, "experiment")
    assert 0.8 * ran_ns < experiment["delay_ns"] <= experiment["hits_ns"]


@pytest.mark.parametrize("jdk", JAVAS)
def test_what_a_thread_pays_before_it_wakes_another_one_is_no_time_of_that_line(
    jdk: str, classes: Path, tmp_path: Path
) -> None:
    with Program(JAVAS[jdk], classes, tmp_path) as program:
        paid_ns = sum(program.round("timed sleep").held_up_ns for _ in range(10))
        program.end()
    ids = [note["id"] for note in notes_of(tmp_path, "line") if note["line"] == line_of("Rules", "pays")]
    lines = notes_of(tmp_path, "profile")[-1]["lines"]
    charged_ns = sum(ran_ns + slept_ns for line, ran_ns, slept_ns, _ in lines if line in ids)
    assert charged_ns < MOST_CHARGED * paid_ns
