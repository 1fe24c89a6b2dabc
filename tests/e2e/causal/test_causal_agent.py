"""The agent's experiments, driven by its option string alone: what the notes say against what the program says of itself."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from support.drivers.workloads import JAVAS, agent, compile_java

Note = dict[str, Any]
ROUNDS = Path(__file__).resolve().parents[2] / "programs" / "Rounds.java"
POINT = "progress:" + quote("Visits=Rounds.visited", safe="")
LONG_PART = "target:" + quote("method=Rounds.longPart", safe="")
PATIENCE_S = 120
ROUNDS_RUN = 2500
COOL_DOWN_NS = 10_000_000
STOP_NS = 5_000_000  # as long as all stand still at a time, to see what that costs


class Run:
    """A program under experiments that has ended or was killed."""

    def __init__(self, notes: list[Note], stdout: bytes, code: int) -> None:
        self.notes = notes
        self.code = code
        self.lines = {line["event"]: line for line in map(json.loads, stdout.splitlines())}

    def of(self, kind: str) -> list[Note]:
        return [note for note in self.notes if note["t"] == kind]

    def visits(self) -> list[int]:
        return [count for each in self.of("experiment") for _point, count in each["visits"]]


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a class path with the program; its class files suit each JDK."""
    out = tmp_path_factory.mktemp("classes")
    compile_java(out, ROUNDS)
    return out


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest, classes: Path) -> list[str]:
    return [str(JAVAS[request.param]), "-cp", str(classes)]


def started(java: list[str], spool: Path, spec: str, *arguments: object) -> subprocess.Popen[bytes]:
    option = f"-agentpath:{agent()}=spool={quote(str(spool))},causal={quote(spec, safe='/._-~+:@')}"
    command = [java[0], option, *java[1:], "Rounds", *map(str, arguments)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def read_notes(spool: Path) -> list[Note]:
    """Return the notes of the only JVM. Of one that is being written or was cut, what is there."""
    (path,) = spool.glob("causal-*.jsonl")
    return [json.loads(line) for line in path.read_bytes().split(b"\n")[:-1]]


def finished(java: list[str], spool: Path, spec: str, *arguments: object) -> Run:
    program = started(java, spool, spec, *arguments)
    stdout, stderr = program.communicate(timeout=PATIENCE_S)
    assert stderr == b""
    return Run(read_notes(spool), stdout, program.returncode)


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module", params=JAVAS)
def run(request: pytest.FixtureRequest, classes: Path, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Return a run with many short experiments."""
    java = [str(JAVAS[request.param]), "-cp", str(classes)]
    return finished(java, tmp_path_factory.mktemp("spool"), f"{POINT};experiment_ms:100", ROUNDS_RUN)


def test_experiments_follow_each_other_in_pairs_and_count_what_the_program_counts(run: Run) -> None:
    assert run.code == 0
    assert run.notes[0]["t"] == "begin"
    assert run.notes[-1]["t"] == "end"
    # Notes on points come from the threads that load classes, all others from one.
    times = [note["ns"] for note in run.notes if note["t"] in ("begin", "line", "experiment", "hits", "profile", "end")]
    assert times == sorted(times)
    # All that the program counted was counted, and no visit by two experiments.
    (hits,) = (dict(map(tuple, note["points"])) for note in run.of("hits")[-1:])
    assert hits == {0: run.lines["ended"]["visits"]} == {0: ROUNDS_RUN}
    assert 0 < sum(run.visits()) <= hits[0]

    experiments = run.of("experiment")
    assert len(experiments) >= 2
    for first, second in itertools.pairwise(experiments):
        # Whoever pays at the end of one has stopped by then, and been sampled without owing anything.
        assert second["start_ns"] - first["start_ns"] - first["dur_ns"] >= COOL_DOWN_NS
    for before, control in itertools.pairwise(experiments):
        if control["control"]:
            assert before["speedup_pct"] > 0
            assert control["speedup_pct"] == 0
            assert control["dur_ns"] > control["delay_ns"]
            assert control["delay_ns"] % STOP_NS == 0
    experiments = [note for note in experiments if not note["control"]]
    for baseline, faster in zip(experiments[::2], experiments[1::2], strict=False):
        assert baseline["speedup_pct"] == 0
        assert baseline["delay_ns"] == 0
        assert faster["speedup_pct"] in range(5, 101, 5)
        assert baseline["target"] == faster["target"]
        assert baseline["spin"] == faster["spin"]


def test_what_an_experiment_inserts_is_what_its_samples_say(run: Run) -> None:
    introduced = set()
    for note in run.notes:
        if note["t"] == "line":
            introduced.add(note["id"])
        if note["t"] == "profile":
            assert {line for line, *_ in note["lines"]} <= introduced
        if note["t"] == "experiment":
            assert note["target"] in introduced
            assert note["hits"] <= note["samples"]
            assert note["hits_ns"] <= note["sampled_ns"]
            # Each sample's delay is rounded down, and at either end a sample of each thread may be on its way.
            expected_ns = note["hits_ns"] * note["speedup_pct"] // 100
            on_its_way_ns = 20 * note["sampled_ns"] // max(note["samples"], 1) if note["speedup_pct"] else 0
            assert note["control"] or abs(note["delay_ns"] - expected_ns) <= note["hits"] + on_its_way_ns
            assert note["dur_ns"] - note["delay_ns"] > 0
            assert note["complete"] == 1 or note is run.of("experiment")[-1]
    assert run.of("health")[-1]["samples"] > 0


def test_only_threads_of_the_program_are_held_up_and_none_of_the_jvms(java: list[str], tmp_path: Path) -> None:
    run = finished(java, tmp_path, f"{POINT};experiment_ms:100", 500, 3)
    assert run.code == 3
    health = run.of("health")[-1]
    assert (health["threads"], health["unprofiled_threads"]) == (2, 0)  # main and "short"


def test_a_run_from_start_to_end_is_one_experiment(java: list[str], tmp_path: Path) -> None:
    run = finished(java, tmp_path, f"{LONG_PART};speedup:40;{POINT}", ROUNDS_RUN)
    assert run.of("begin")[0]["mode"] == "end-to-end"
    (experiment,) = run.of("experiment")
    assert experiment["complete"] == 1
    assert experiment["speedup_pct"] == 40
    assert experiment["hits"] > 0
    assert experiment["delay_ns"] > 0
    ((_point, visits),) = experiment["visits"]
    assert visits == run.lines["ended"]["visits"]
    assert experiment["dur_ns"] > run.lines["ended"]["wall_ns"]


def test_a_killed_program_loses_nothing_but_the_present_experiment(java: list[str], tmp_path: Path) -> None:
    program = started(java, tmp_path, f"{POINT};experiment_ms:50", 10**9)
    try:
        wait_for(lambda: any(tmp_path.glob("causal-*.jsonl")))
        wait_for(lambda: sum(note["t"] == "experiment" for note in read_notes(tmp_path)) >= 4)
    finally:
        program.send_signal(signal.SIGKILL)
        program.communicate(timeout=PATIENCE_S)
    notes = read_notes(tmp_path)
    assert all(note["complete"] == 1 for note in notes if note["t"] == "experiment")
    assert notes[-1]["t"] != "end"


def test_a_malformed_request_is_told_of_and_the_program_runs(java: list[str], tmp_path: Path) -> None:
    run = finished(java, tmp_path, f"{POINT};speedup:fast;later:1", 100, 3)
    assert run.code == 3
    assert [(note["id"], note["text"]) for note in run.of("problem")] == [("HW609", "speedup can't be 'fast'")]
    assert run.notes[-1]["t"] == "end"
