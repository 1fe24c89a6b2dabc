"""`headway numa` of programs that say themselves how long each worker computed, by the JVM's own clock of CPU time."""

from __future__ import annotations

import contextlib
import json
import re
import statistics
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.numa.recorded_places import most_waited
from headway.analyses.scheduling.thread_work import program_work
from headway.store import open_recording
from support.drivers.asked_program import PROGRAMS
from support.drivers.recording_cli import headway
from support.drivers.workloads import JAVAS, compile_java, java_command

JAVA = next(iter(JAVAS.values()))


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("numa")
    compile_java(folder, PROGRAMS / "UnevenAllocators.java")
    return folder


def recorded(classes: Path, path: Path, *workers: str, options: tuple[str, ...] = ()) -> list[int]:
    """Record the program, and return what it says of the CPU time of each worker, ns."""
    done = headway("record", *options, "-o", path, "--", JAVA, "-cp", classes, "UnevenAllocators", *workers)
    assert done.returncode == 0, done.stderr
    return [int(line.split()[2]) for line in done.stdout.splitlines() if line.startswith("worker-")]


def asked(*words: object) -> dict[str, Any]:
    done = headway("numa", *words, "--json")
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_workers_of_unlike_work_are_imbalanced_by_the_jvm_s_own_clocks(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    told = recorded(classes, path, "1:300", "1:300", "1:900")
    (program,) = asked(path, "--cores-per-node", 2)["programs"]
    assert program["parallelism"] == "imbalanced"
    by_metric = {each["metric"]: each["value"] for each in program["evidence"]}
    expected = 100 * statistics.pstdev(told) / statistics.mean(told)
    assert by_metric["imbalance_cpu_time_pct"] == pytest.approx(expected, abs=2)
    assert by_metric["workers"] - len(told) in (0, 1)  # main is one of them where starting the JVM takes as long
    assert by_metric["largest_share_of_one_worker"] == pytest.approx(max(told) / sum(told), abs=0.02)


def test_a_program_on_one_cpu_beside_itself_on_two_declared_as_nodes(classes: Path, tmp_path: Path) -> None:
    one, two, other = (tmp_path / f"{name}.headway" for name in ("one", "two", "other"))
    recorded(classes, one, "1:400", "1:400", options=("--cpus", "0"))
    for _ in range(3):  # a busy machine may leave the program one CPU of the two
        recorded(classes, two, "1:400", "1:400", options=("--cpus", "0-1", "--force"))
        if "HW711" not in headway("numa", one, two, "--nodes", "0/1").stderr:
            break
    else:
        pytest.skip("the program had one CPU of the two in three runs")
    recorded(classes, other, "1:400", "1:401", options=("--cpus", "0-1"))
    found = asked(one, two, "--nodes", "0/1")
    test = found["locality_test"]
    assert (test["one"]["nodes"], test["two"]["nodes"]) == ([0], [0, 1])
    assert test["speedup"] == pytest.approx(test["one"]["wall_ns"] / test["two"]["wall_ns"])
    assert not test["as_many_cores"]
    (program,) = found["programs"]
    assert program["locality_bound"] is None
    assert any("what more cores give" in text for text in program["undetermined"])
    refused = headway("numa", one, other, "--nodes", "0/1")
    assert refused.returncode == 1
    assert "HW710" in refused.stderr
    assert "1:400 beside 1:401" in refused.stderr


CASES = [
    ("threads", 1200, (), "single-threaded", None),
    ("pool", 0, ("400,400,400,400",), "explicitly-parallel", None),
    ("fork-join", 0, ("100,200,300,400",), "imbalanced", "non-uniform-work"),
    ("threads", 0, ("900,80,80,80",), "embarrassingly-imbalanced", "one-worker-dominates"),
    ("threads", 0, ("200,200,200,200,400",), "explicitly-parallel", "outlier-thread"),
    ("threads", 0, ("100,100,100", "300,300,300"), "explicitly-parallel", "several-workloads"),
    ("fork-join", 1200, ("100,100,100,100,100,100",), "explicitly-parallel", "serial-phase"),
]
"""How threads are made, CPU ms of main and of each crew's workers, class on nodes of two cores, and root cause.

The last one's workers stay above the 4 % of the work that make a thread a worker, what main does at the JVM's start included."""


@pytest.mark.parametrize(("kind", "main_ms", "crews", "parallelism", "cause"), CASES)
def test_a_program_of_each_class_and_root_cause_is_told(
    kind: str, main_ms: int, crews: tuple[str, ...], parallelism: str, cause: str | None, tmp_path: Path
) -> None:
    path = tmp_path / "a.headway"
    done = headway("record", "-o", path, "--", *java_command(Path(JAVA), "NodeClasses", kind, main_ms, *crews))
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    cpu = [line["cpu_ns"] for line in lines if line["event"] == "worker"]
    (program,) = asked(path, "--cores-per-node", 2)["programs"]
    assert program["parallelism"] == parallelism, program
    assert cause is None or cause in program["root_causes"], program
    if parallelism != "single-threaded":
        metric = "imbalance_within_crews_pct" if len(crews) > 1 else "imbalance_cpu_time_pct"
        found = next(each["value"] for each in program["evidence"] if each["metric"] == metric)
        expected = 100 * statistics.pstdev(cpu) / statistics.mean(cpu)
        assert found == pytest.approx(0 if len(crews) > 1 else expected, abs=5)
    assert [each["workers"] for each in program["phases"]] == ([3, 3] if len(crews) > 1 else [])


def test_advice_names_the_busiest_worker_and_the_method_that_it_is_in(tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    words = java_command(Path(JAVA), "NodeClasses", "threads", 0, "900,80,80,80")
    done = headway("record", "--sample", "cpu", "-o", path, "--", *words)
    assert done.returncode == 0, done.stderr
    (program,) = asked(path, "--cores-per-node", 2)["programs"]
    (text,) = (each for each in program["advice"] if "the busiest is" in each)
    assert re.search(
        r"the busiest is Thread-\d+, \d+% of whose CPU time is in headway\.workloads\.Work\.\w+ and what", text
    )


def test_the_lock_that_threads_wait_for_longest_is_named(tmp_path: Path) -> None:
    path = tmp_path / "a.headway"
    opened = ("--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED",)
    words = java_command(Path(JAVA), "SharedLock", "juc", 8, 1, 50, jvm=opened)
    done = headway("record", "--locks", "-o", path, "--", *words)
    assert done.returncode == 0, done.stderr
    with contextlib.closing(open_recording(path)) as recording:
        named = most_waited(recording, None, program_work(recording))
    assert "ReentrantLock" in named
    assert "threads wait for it" in named
