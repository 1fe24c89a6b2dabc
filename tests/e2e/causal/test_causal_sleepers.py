"""Threads that sleep, one by one or all at once, and what is left of a recording when the next one begins.

Each bound here holds however slow the machine is: what an experiment may count is limited by its own length.
"""

from __future__ import annotations

import functools
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import agent_options
from support.drivers.asked_program import PATIENCE_S, PROGRAMS, AskedProgram
from support.drivers.asked_program import line_of as line_of_program
from support.drivers.workloads import JAVAS, agent, compile_java

Note = dict[str, Any]
SOURCE = PROGRAMS / "Sleepers.java"
POINT = "progress:" + quote("Visits=Sleepers.visited", safe="")
SPEEDUP_PCT = 50
CROWD = 60


line_of = functools.partial(line_of_program, "Sleepers")


class Program(AskedProgram):
    """Sleepers, which says back what it was asked."""

    def __init__(self, java: Path, classes: Path, sleepers: int, *jvm: str, **environment: str) -> None:
        super().__init__(java, classes, *jvm, "Sleepers", sleepers, **environment)
        assert self.ready == "ready"

    def tell(self, request: str) -> None:
        assert self.ask(request) == request.split()[0]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, SOURCE)
    return out


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def notes_of(spool: Path) -> list[Note]:
    """Return what the JVM has noted so far; its last line may be half written while it runs."""
    lines = [line for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def of(notes: list[Note], kind: str) -> list[Note]:
    return [note for note in notes if note["t"] == kind]


def of_lines(notes: list[Note]) -> list[Note]:
    """Return the experiments on lines, not those that measure what delays cost by themselves."""
    return [note for note in of(notes, "experiment") if not note["control"]]


def wait_for(condition: Callable[[], bool], meanwhile: Callable[[], None]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        meanwhile()


def options(spool: Path, *spec: str) -> str:
    spool.mkdir()
    return agent_options(spool, causal=";".join([POINT, *spec]))


def experiments_on(mark: str, java: Path, classes: Path, spool: Path, sleepers: int, request: str) -> None:
    """Make a line faster until several experiments have found somebody asleep in it; check each."""
    spec = (
        f"target:{quote(f'line=Sleepers:{line_of(mark)}', safe='')}",
        f"speedup:{SPEEDUP_PCT}",
        "experiment_ms:60",
    )

    def hit() -> list[Note]:
        return [note for note in of_lines(notes_of(spool)) if note["hits_ns"] > 0]

    with Program(java, classes, sleepers, f"-agentpath:{agent()}={options(spool, *spec)}") as program:
        wait_for(lambda: len(hit()) >= 5, lambda: program.tell(request))
        program.end()
    notes = notes_of(spool)
    ids = [note["id"] for note in of(notes, "line") if note["line"] == line_of(mark)]
    ran_ns = sum(cpu_ns for line, cpu_ns, *_ in of(notes, "profile")[-1]["lines"] if line in ids)
    for note in of_lines(notes):
        # What threads run in that line besides is CPU time of its own.
        assert note["delay_ns"] <= (note["dur_ns"] + ran_ns) * SPEEDUP_PCT / 100


def test_a_line_that_many_threads_sleep_in_saves_no_more_than_the_time_that_passes(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    experiments_on("sleeps", java, classes, tmp_path / "s", 200, "work 50")


def test_a_wait_that_began_before_the_experiment_counts_from_its_begin(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    experiments_on("waits", java, classes, tmp_path / "s", 0, "wait 400")


def naps(java: Path, classes: Path, spool: Path, *spec: str, mark: str = "naps", first: str = "nap 1") -> Program:
    """Return the program with the line in which one thread naps made free; in it, once, so that its class is known."""
    asked = (f"target:{quote('line=Sleepers:' + str(line_of(mark)), safe='')}", "speedup:100", *spec)
    program = Program(java, classes, 0, f"-agentpath:{agent()}={options(spool, *asked)}")
    program.ask(first)
    time.sleep(0.3)  # it becomes the target
    return program


NAP_MS = 300


def test_others_owe_all_of_a_sleep_as_soon_as_it_begins_so_that_they_can_pay_while_it_lasts(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    with naps(java, classes, tmp_path / "s") as program:
        held_up_ms = [int(program.ask(f"nap {NAP_MS}").split()[1]) / 1e6 for _ in range(3)]
        program.end()
    assert 0.6 * NAP_MS < sorted(held_up_ms)[1] < 1.6 * NAP_MS
    (experiment,) = of(notes_of(tmp_path / "s"), "experiment")
    assert experiment["hits"] >= 3
    assert experiment["delay_ns"] == experiment["hits_ns"] >= 3e6 * NAP_MS


@pytest.mark.parametrize(("speedup", "is_held_up"), [(100, True), (0, False)])
def test_who_runs_when_a_sleep_begins_pays_for_it_at_once_however_rarely_it_is_sampled(
    java: Path, classes: Path, tmp_path: Path, speedup: int, is_held_up: bool
) -> None:
    # Ten samples in a second of CPU time: in the time of a nap there is hardly ever one.
    target = f"target:{quote('line=Sleepers:' + str(line_of('naps')), safe='')}"
    spec = options(tmp_path / "s", target, f"speedup:{speedup}", "period_us:100000")
    nap_ms = 15  # a thread in Java is held up for 20 at a time at most
    with Program(java, classes, 0, f"-agentpath:{agent()}={spec}") as program:
        program.ask("nap 1")
        program.tell("work 300")  # it is known by its samples
        held_up_ms = sorted(int(program.ask(f"busy {nap_ms}").split()[1]) / 1e6 for _ in range(9))
        program.end()
    # The machine may well hold it up for as long, but hardly each time.
    assert held_up_ms[4] > 0.6 * nap_ms if is_held_up else held_up_ms[0] < 0.6 * nap_ms


def test_each_sleep_of_half_a_millisecond_is_told_of(java: Path, classes: Path, tmp_path: Path) -> None:
    with naps(java, classes, tmp_path / "s", mark="dozes", first="doze 1") as program:
        program.tell("doze 200")
        program.end()
    notes = notes_of(tmp_path / "s")
    (experiment,) = of(notes, "experiment")
    ids = [note["id"] for note in of(notes, "line") if note["line"] == line_of("dozes")]
    ran_ns = sum(cpu_ns for line, cpu_ns, *_ in of(notes, "profile")[-1]["lines"] if line in ids)
    asked_ns = 500_000 if java == JAVAS["jdk25"] else 1_000_000  # before JDK 21 the JVM sleeps whole milliseconds
    assert experiment["hits"] >= 200
    assert 200 * asked_ns <= experiment["delay_ns"] <= 201 * asked_ns + ran_ns


def test_who_is_roused_early_owes_the_rest_of_what_its_sleep_made_others_owe(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    with naps(java, classes, tmp_path / "s") as program:
        late_ms = [int(program.ask(f"rouse {NAP_MS}").split()[1]) / 1e6 for _ in range(3)]
        program.end()
    assert 0.6 * NAP_MS < sorted(late_ms)[1] < 1.6 * NAP_MS


def test_a_sleep_that_does_not_end_within_the_experiment_delays_nobody(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    spool = tmp_path / "s"
    with naps(java, classes, spool, "experiment_ms:60") as program:
        before = len(of_lines(notes_of(spool)))
        program.ask("nap 3600000")
        wait_for(lambda: len(of_lines(notes_of(spool))) > before + 10, lambda: program.tell("work 5"))
        program.end()
    experiments = of_lines(notes_of(spool))[before:]
    assert len(experiments) > 10
    assert {(note["hits"], note["delay_ns"]) for note in experiments} == {(0, 0)}


def test_a_sleep_that_began_before_the_experiment_and_ends_in_it_counts_from_its_begin(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    spool = tmp_path / "s"
    with naps(java, classes, spool, "experiment_ms:200") as program:
        for _ in range(20):
            program.ask("nap 150")
            time.sleep(0.17)
        program.end()
    experiments = [note for note in of_lines(notes_of(spool)) if note["hits"] > 0]
    assert len(experiments) >= 5
    assert all(note["delay_ns"] == note["hits_ns"] * note["speedup_pct"] // 100 for note in experiments)
    assert any(note["hits_ns"] < 140e6 for note in experiments), "of one that began before"
    assert max(note["hits_ns"] for note in experiments) <= 200e6


def test_a_run_that_is_one_experiment_is_not_stopped_for_a_sleep_of_an_hour(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    with naps(java, classes, tmp_path / "s") as program:
        assert int(program.ask("nap 3600000").split()[1]) < 5e9
        program.tell("work 1")
        program.end()


def test_threads_that_ended_between_two_recordings_are_not_of_the_second(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    with Program(java, classes, 0) as program:
        program.attach(options(tmp_path / "first", "speedup:0"))
        program.tell(f"crowd {CROWD}")
        program.attach("stop=1")
        wait_for(lambda: bool(of(notes_of(tmp_path / "first"), "end")), lambda: program.tell("work 5"))
        program.tell("disperse")
        program.attach(options(tmp_path / "second", "speedup:0"))
        program.tell("work 50")
        program.attach("stop=1")
        wait_for(lambda: bool(of(notes_of(tmp_path / "second"), "end")), lambda: program.tell("work 5"))
        program.end()
    first, second = (of(notes_of(tmp_path / name), "health")[-1] for name in ("first", "second"))
    own = 2  # main and the group probe; the JVM's own threads, with that of the attach, are none of them
    assert first["threads"] == CROWD + own
    assert second["threads"] == own
    assert second["threads_without_timer"] == 0
    assert second["samples"] > 0


def test_each_recording_tells_of_stacks_that_it_cannot_read(java: Path, classes: Path, tmp_path: Path) -> None:
    with Program(java, classes, 0, HEADWAY_TEST_STACK_FAULT="1") as program:
        for name in ("first", "second"):
            program.attach(options(tmp_path / name, "speedup:0"))
            program.tell("work 300")
            program.attach("stop=1")
            spool = tmp_path / name
            wait_for(lambda spool=spool: bool(of(notes_of(spool), "end")), lambda: program.tell("work 5"))  # type: ignore[misc]
        program.end()
    for name in ("first", "second"):
        notes = notes_of(tmp_path / name)
        assert of(notes, "health")[-1]["faults"] >= 3
        assert any("stacks are not read" in note["text"] for note in of(notes, "problem")), name
