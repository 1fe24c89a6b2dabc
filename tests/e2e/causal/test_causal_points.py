"""Progress points: every visit is counted, wherever the point is and whenever it came in; what fits nothing is told of.

The program does what the test asks on its standard input, so every count is exact.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.drivers.asked_program import PATIENCE_S, PROGRAMS, AskedProgram
from support.drivers.asked_program import line_of as line_of_program
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, ROOT, agent

SOURCE = PROGRAMS / "PointVisits.java"
BIN = JAVAS["jdk17"].parent
ROUNDS = 20_000
Note = dict[str, Any]


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@pytest.fixture(scope="session")
def class_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The program, and headway-api.jar, built if it is not there."""
    jar = ROOT / "java" / "api" / "target" / "headway-api.jar"
    if not jar.exists():
        subprocess.run(["mvn", "-q", "-B", "package"], cwd=ROOT / "java" / "api", check=True)
    classes = tmp_path_factory.mktemp("points")
    javac = [str(BIN / "javac"), "--release", "17", "-g", "-cp", str(jar), "-d", str(classes), str(SOURCE)]
    subprocess.run(javac, check=True)
    return f"{classes}:{jar}"


def options(spool: Path, *pairs: tuple[str, str]) -> str:
    spool.mkdir(exist_ok=True)
    spec = ";".join(f"{key}:{quote(value, safe='')}" for key, value in pairs)
    return f"spool={quote(str(spool))},causal={quote(spec, safe='')}"


def points(*places: str) -> list[tuple[str, str]]:
    """Return the part of the option that has these places as points, each under its own name."""
    return [("progress", f"{re.sub('[=,]', '_', place)}={place}") for place in places]


def notes_of(spool: Path) -> list[Note]:
    """Return what the JVM has noted so far; its last line may be half written while it runs."""
    lines = [line for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines(keepends=True)]
    return [json.loads(line) for line in lines if line.endswith("\n")]


def counts(notes: list[Note]) -> dict[str, int]:
    names = {note["id"]: note["name"] for note in notes if note["t"] == "point"}
    hits: list[list[int]] = [note["points"] for note in notes if note["t"] == "hits"][-1]
    return {names[point]: count for point, count in hits}


line_of = functools.partial(line_of_program, "PointVisits")


class Program(AskedProgram):
    """PointVisits, which answers in JSON."""

    def __init__(self, java: Path, class_path: str, *jvm: str) -> None:
        super().__init__(java, class_path, *jvm, "PointVisits")

    def asked(self, request: str) -> dict[str, Any]:
        answer: dict[str, Any] = json.loads(self.ask(request))
        return answer


def test_every_visit_is_counted_whatever_kind_of_place_it_is(java: Path, class_path: str, tmp_path: Path) -> None:
    expected = {
        "PointVisits.Desk.handle": 4 * ROUNDS,
        "PointVisits$Desk.handle(I)": 4 * ROUNDS,
        f"PointVisits:{line_of('in-handle')}": 4 * ROUNDS,  # of a nested class
        f"PointVisits:{line_of('in-lambda')}": 4 * ROUNDS,
        f"PointVisits.java:{line_of('in-lambda')}": 4 * ROUNDS,
        "PointVisits.over(int)": 30,
        "PointVisits.over(int, String)": 30,
        "PointVisits.over": 60,
        "PointVisits.loop": 10,
        f"PointVisits:{line_of('head')}": 10,  # once for each loop
        f"PointVisits:{line_of('call')}": 30,  # once, however many lines its arguments take
        "PointVisits.loopFirst": 10,  # not when its loop jumps to the first instruction
        f"PointVisits:{line_of('while')}": 60,  # each time the condition is looked at
        f"PointVisits:{line_of('finally')}": 10,  # compiled three times
        "PointVisits.Typed.perform": 10,  # the bridge calls it
        "PointVisits.locked": 4 * ROUNDS,
        "java.lang.StringBuilder.<init>(char)": 0,
    }
    spec = [*points(*expected), ("speedup", "0")]
    with Program(java, class_path, f"-agentpath:{agent()}={options(tmp_path / 's', *spec)}") as program:
        assert program.asked(f"work {ROUNDS}")["handled"] == 4 * ROUNDS
        program.end()
    found = counts(notes_of(tmp_path / "s"))
    assert found.pop("orders", 0) == found.pop("items", 0) == 4 * ROUNDS
    assert found == {re.sub("[=,]", "_", name): count for name, count in expected.items()}


def test_a_pair_counts_what_begins_and_what_ends(java: Path, class_path: str, tmp_path: Path) -> None:
    spec = [("latency", "wait=PointVisits.locked,PointVisits.block"), ("speedup", "0")]
    with Program(java, class_path, f"-agentpath:{agent()}={options(tmp_path / 's', *spec)}") as program:
        program.asked(f"work {ROUNDS}")
        program.end()
    notes = notes_of(tmp_path / "s")
    kinds = {note["id"]: (note["name"], note["kind"], note["latency"]) for note in notes if note["t"] == "point"}
    last: list[list[int]] = [note["points"] for note in notes if note["t"] == "hits"][-1]
    assert {kinds[point]: count for point, count in last if kinds[point][2] >= 0} == {
        ("wait", "latency_begin", 0): 4 * ROUNDS,
        ("wait", "latency_end", 0): 4 * ROUNDS,
        ("orders", "latency_begin", 1): 4 * ROUNDS,
        ("orders", "latency_end", 1): 4 * ROUNDS,
    }


def test_points_come_into_a_running_program_leave_it_and_come_back(java: Path, class_path: str, tmp_path: Path) -> None:
    places = ["PointVisits.Desk.handle", f"PointVisits:{line_of('in-lambda')}"]
    with Program(java, class_path) as program:
        program.asked("work 100")
        for number, rounds in enumerate((ROUNDS, 2 * ROUNDS)):
            spool = tmp_path / str(number)
            program.attach(options(spool, *points(*places), ("speedup", "0")))
            program.asked(f"work {rounds}")
            program.attach("stop=1")
            program.asked("work 777")  # counted by nobody
            found = counts(notes_of(spool))
            assert found == {**dict.fromkeys(places, 4 * rounds), "orders": 4 * rounds, "items": 4 * rounds}
        program.end()


def test_what_fits_nothing_is_told_of_within_seconds_with_what_is_near(
    java: Path, class_path: str, tmp_path: Path
) -> None:
    wrong = {
        "PointVisits.lop": ("no_method", "PointVisits.loop"),
        "PointVisits.over(long)": ("no_method", "PointVisits.over(int)"),
        "PointVisits:9999": ("no_line", None),
        f"PointVisits:{line_of('has a bridge') - 1}": ("no_line", None),  # an annotation's
        "PointVisit.loop": ("no_class", "PointVisits"),
        "PointVisits.over": ("ambiguous", "PointVisits.over(int,java.lang.String)"),
    }
    spool = tmp_path / "s"
    began_s = time.monotonic()
    with Program(
        java, class_path, f"-agentpath:{agent()}={options(spool, *points(*wrong), ('speedup', '0'))}"
    ) as program:
        program.asked("work 1")
        near: dict[str, Note] = {}
        while len(near) < len(wrong) and time.monotonic() - began_s < PATIENCE_S:
            time.sleep(0.05)
            near = {note["where"]: note for note in notes_of(spool) if note["t"] == "near"}
        program.end()
    assert {where: note["reason"] for where, note in near.items()} == {where: why for where, (why, _) in wrong.items()}
    for where, (_, name) in wrong.items():
        assert name is None or name in near[where]["near"]


def test_the_end_of_the_stack_inside_synchronized_code_is_the_programs_as_ever(
    java: Path, class_path: str, tmp_path: Path
) -> None:
    spec = [*points("PointVisits.deep"), ("speedup", "0")]
    with Program(java, class_path, "-Xss512k", f"-agentpath:{agent()}={options(tmp_path / 's', *spec)}") as program:
        for _ in range(20):
            program.asked("deep")
        program.asked(f"work {ROUNDS}")
        program.end()
    assert counts(notes_of(tmp_path / "s"))["PointVisits.deep"] > 20


def test_candidates_are_counted_as_often_as_they_are_entered(java: Path, class_path: str, tmp_path: Path) -> None:
    with Program(java, class_path, f"-agentpath:{agent()}={options(tmp_path / 's', ('suggest', '1'))}") as program:
        program.asked("work 500")
        program.end()
    notes = notes_of(tmp_path / "s")
    found = counts(notes)
    kinds = {note["kind"] for note in notes if note["t"] == "point"}
    assert kinds == {"candidate", "api", "latency_begin", "latency_end"}  # these are the program's own
    assert found["PointVisits.loop"] == 10
    assert found["PointVisits.work"] == 1
    (body,) = (count for name, count in found.items() if name.startswith("PointVisits.lambda$work$"))
    assert body == 4


def test_a_point_of_the_api_needs_no_option_but_its_name(java: Path, class_path: str, tmp_path: Path) -> None:
    program = [java, "-cp", class_path, "PointVisits"]
    words = ["causal", "--progress", "orders", "-o", tmp_path / "a.headway", "--", *program]
    done = headway(*words, input="work 2000\n" * 20 + "end\n")
    assert done.returncode == 0, done.stderr
    said = json.loads(headway("causal", tmp_path / "a.headway", "--json").stdout)
    hits = {point["name"]: point["hits"] for point in said["progress_points"]}
    assert hits["orders"] == json.loads(done.stdout.splitlines()[-1])["handled"] > 0


def test_without_the_agent_the_points_of_the_api_do_nothing(java: Path, class_path: str) -> None:
    with Program(java, class_path) as program:
        assert program.asked("work 100")["handled"] == 400
        program.end()
