"""Latency pairs against what a program measures of its own requests in the same run (tests/programs/Requests.java).

Requests begin on one thread and end on another one, wait in a queue, and several are in flight at a time.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import agent_options
from headway.store import open_recording
from support.drivers.asked_program import PATIENCE_S, PROGRAMS
from support.drivers.busy_machine import AHEAD
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, agent, compile_java

pytestmark = pytest.mark.alone

PLACES = "Requests.begun,Requests.ended"
PAIR = f"latency:{quote(f'requests={PLACES}', safe='')}"
WITHIN = (
    0.03  # the two clocks are read some microseconds apart, of milliseconds; now and then a core is lost in between
)
Note = dict[str, Any]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, PROGRAMS / "Requests.java")
    return out


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


class Served(NamedTuple):
    """By the program itself."""

    requests: int
    in_flight_ns: int
    elapsed_ns: int


def parse_served(line: str) -> Served:
    return Served(*map(int, line.split()))


def served(java: Path, classes: Path, spool: Path, spec: str, *arguments: object) -> tuple[Note, Served]:
    """Return a run's only experiment, and what the program says of its requests."""
    option = f"-agentpath:{agent()}={agent_options(spool, causal=spec)}"
    command = [str(java), option, "-cp", str(classes), "Requests", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S, **AHEAD)
    notes = [json.loads(line) for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines()]
    (experiment,) = (note for note in notes if note["t"] == "experiment")
    return experiment, parse_served(done.stdout)


def test_the_time_in_flight_is_what_the_program_measures_itself(java: Path, classes: Path, tmp_path: Path) -> None:
    experiment, by_itself = served(java, classes, tmp_path, f"{PAIR};speedup:0", 4, 100)
    ((_pair, begun, ended, in_flight, measured_ns),) = experiment["latency"]
    assert (begun, ended, in_flight) == (by_itself.requests, by_itself.requests, 0) == (400, 400, 0)
    assert measured_ns == pytest.approx(by_itself.in_flight_ns, rel=WITHIN)
    assert by_itself.in_flight_ns > 1.5 * experiment["dur_ns"]  # else no two of them were in flight at a time


COMPUTE_FASTER = f"{PAIR};target:{quote('method=Requests.compute', safe='')};speedup:50"


def test_delays_are_no_time_in_flight(java: Path, classes: Path, tmp_path: Path) -> None:
    # One client: there is a request in flight nearly all the while.
    experiment, by_itself = served(java, classes, tmp_path, COMPUTE_FASTER, 1, 600, "busy")
    ((_pair, _begun, ended, _in_flight, measured_ns),) = experiment["latency"]
    assert ended == by_itself.requests == 600
    assert experiment["delay_ns"] > 10 * WITHIN * by_itself.in_flight_ns  # else it would not be seen where they are
    assert by_itself.elapsed_ns - by_itself.in_flight_ns < experiment["delay_ns"] / 2  # likewise
    # Of the delays there are those in a request, and those between two.
    with_delays_ns = measured_ns + experiment["delay_ns"]
    assert (1 - WITHIN) * by_itself.in_flight_ns < with_delays_ns < (1 + WITHIN) * by_itself.elapsed_ns


def test_who_pays_while_the_jvm_stops_all_threads_goes_on_when_the_others_do(
    java: Path, classes: Path, tmp_path: Path
) -> None:
    times_ns = []
    for besides in (("busy",), ("busy", "safepoints")):
        spool = tmp_path / besides[-1]
        spool.mkdir()
        experiment, by_itself = served(java, classes, spool, COMPUTE_FASTER, 1, 200, *besides)
        assert experiment["delay_ns"] > 10 * WITHIN * by_itself.in_flight_ns
        times_ns.append(by_itself.in_flight_ns)
    # A thread in native code that waited for the JVM to take its mark back stood still for a second, and paid none of it.
    assert times_ns[1] < 3 * times_ns[0]


def test_the_command_says_what_the_program_measures_itself(java: Path, classes: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.headway"
    # Two whole runs, the first for its samples, the second as it is: nothing is held up in either.
    words = ["causal", "--end-to-end", "--repeat", "2", "--latency", f"requests={PLACES}", "-o", output]
    done = headway(*words, "--", java, "-cp", classes, "Requests", "4", "100")
    assert done.returncode == 0, done.stderr
    runs = [parse_served(line) for line in done.stdout.splitlines()]
    requests = sum(run.requests for run in runs)
    in_flight_ns = sum(run.in_flight_ns for run in runs)
    (point,) = (
        each
        for each in json.loads(headway("causal", output, "--json").stdout)["progress_points"]
        if each["name"] == "requests"
    )
    assert (point["measure"], point["hits"]) == ("latency", requests) == ("latency", 800)
    assert point["latency_ns"] == pytest.approx(in_flight_ns / requests, rel=WITHIN)
    with contextlib.closing(open_recording(output)) as recording:
        rows = recording.query("SELECT ended, in_flight_ns FROM experiment_latency ORDER BY run").fetchall()
    assert [ended for ended, _ in rows] == [400, 400]
    for (_, measured_ns), run in zip(rows, runs, strict=True):
        assert measured_ns == pytest.approx(run.in_flight_ns, rel=WITHIN)
