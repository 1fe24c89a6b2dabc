"""Latency pairs against what a program measures of its own requests in the same run (tests/programs/Requests.java).

Requests begin on one thread and end on another one, wait in a queue, and several are in flight at a time.
"""

from __future__ import annotations

import contextlib
import json
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from asked_program import PATIENCE_S, PROGRAMS
from headway.record.jvm_options import agent_options
from headway.store import open_recording
from recording_cli import headway
from workloads import JAVAS, agent, compile_java

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


def served(java: Path, classes: Path, spool: Path, spec: str, *arguments: object) -> tuple[Note, int, int]:
    """Return a run's only experiment, and how many requests there were for how many nanoseconds by the program itself."""
    option = f"-agentpath:{agent()}={agent_options(spool, causal=spec)}"
    command = [str(java), option, "-cp", str(classes), "Requests", *map(str, arguments)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE_S)
    requests, in_flight_ns = map(int, done.stdout.split())
    notes = [json.loads(line) for path in spool.glob("causal-*.jsonl") for line in path.read_text().splitlines()]
    (experiment,) = (note for note in notes if note["t"] == "experiment")
    return experiment, requests, in_flight_ns


def test_the_time_in_flight_is_what_the_program_measures_itself(java: Path, classes: Path, tmp_path: Path) -> None:
    experiment, requests, in_flight_ns = served(java, classes, tmp_path, f"{PAIR};speedup:0", 4, 100)
    ((_pair, begun, ended, in_flight, measured_ns),) = experiment["latency"]
    assert (begun, ended, in_flight) == (requests, requests, 0) == (400, 400, 0)
    assert measured_ns == pytest.approx(in_flight_ns, rel=WITHIN)
    assert in_flight_ns > 1.5 * experiment["dur_ns"]  # else no two of them were in flight at a time


def test_delays_are_no_time_in_flight(java: Path, classes: Path, tmp_path: Path) -> None:
    target = f"target:{quote('method=Requests.compute', safe='')}"
    # One client: there is a request in flight all the while, so each delay falls into one.
    experiment, requests, in_flight_ns = served(java, classes, tmp_path, f"{PAIR};{target};speedup:50", 1, 600, "busy")
    ((_pair, _begun, ended, _in_flight, measured_ns),) = experiment["latency"]
    assert ended == requests == 600
    assert experiment["delay_ns"] > 3 * WITHIN * in_flight_ns  # else it would not be seen whether they are left out
    assert measured_ns + experiment["delay_ns"] == pytest.approx(in_flight_ns, rel=WITHIN)


def test_the_command_says_what_the_program_measures_itself(java: Path, classes: Path, tmp_path: Path) -> None:
    output = tmp_path / "a.headway"
    # Two whole runs, the first for its samples, the second as it is: nothing is held up in either.
    words = ["causal", "--end-to-end", "--repeat", "2", "--latency", f"requests={PLACES}", "-o", output]
    done = headway(*words, "--", java, "-cp", classes, "Requests", "4", "100")
    assert done.returncode == 0, done.stderr
    runs = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    requests, in_flight_ns = (sum(each) for each in zip(*runs, strict=True))
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
    for (_, measured_ns), (_, own_ns) in zip(rows, runs, strict=True):
        assert measured_ns == pytest.approx(own_ns, rel=WITHIN)
