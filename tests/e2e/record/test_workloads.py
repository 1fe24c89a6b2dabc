"""The known-answer programs give the answers they promise: an oracle must be right itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.drivers.workloads import JAVAS, Finished, run


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


def alone(java: Path, program: str, *arguments: object) -> Finished:
    done = run(java, program, *arguments, spool_dir=None)
    assert (done.code, done.stderr) == (0, b"")
    return done


def test_phases_do_not_overlap_and_their_threads_do_the_work(java: Path) -> None:
    phases = alone(java, "Phases", 50).lines
    assert [phase["active"] for phase in phases] == [1, 2, 0, 4]
    at = 0
    for phase in phases:
        assert at < phase["begin_ns"] < phase["end_ns"]
        at = phase["end_ns"]
        if phase["active"]:
            assert phase["worker_cpu_ns"] >= 50_000_000, "one worker has used its share; the others what they got"
        else:
            assert phase["end_ns"] - phase["begin_ns"] >= 50_000_000


def test_fork_join_computes_every_leaf(java: Path) -> None:
    line = alone(java, "ForkJoin", 6, 1000, 2).line("fork_join")
    assert (line["leaves"], line["workers"]) == (64, 2)
    assert line["leaf_cpu_ns"] >= 64 * 1_000_000


@pytest.mark.parametrize("how", ["park", "queue"])
def test_ping_pong_hands_off_as_often_as_it_says(java: Path, how: str) -> None:
    line = alone(java, "PingPong", 4, 500, how).line("ping_pong")
    assert line["handoffs"] == 2000
    assert line["cpu_ns"] > 0
    assert how == "queue" or line["parks"] > 0


def test_gc_heavy_collects(java: Path) -> None:
    lines = alone(java, "GcHeavy", 200).lines
    assert sum(line["count"] for line in lines if line["event"] == "collector") >= 2


def test_thread_per_task_runs_every_task(java: Path) -> None:
    done = alone(java, "ThreadPerTask", 1000, 4, 10)
    line = done.line("thread_per_task")
    assert line["tasks"] == 1000
    assert 1000 * 10_000 <= line["cpu_ns"] <= done.cpu_ns + 20_000_000  # os.times counts in ticks


def test_a_child_jvms_answer_is_passed_on(java: Path) -> None:
    done = alone(java, "ChildJvm", 5, "2")
    assert done.line("phase")["active"] == 2
    assert done.line("child")["exit"] == 0


def test_virtual_threads_all_finish_where_there_are_any(java: Path) -> None:
    line = alone(java, "VirtualThreads", 100, 2).line("virtual_threads")
    assert line["supported"] == (java == JAVAS["jdk25"])
    assert not line["supported"] or line["threads"] == 100


def test_the_clocks_can_be_trusted(java: Path) -> None:
    line = alone(java, "SelfCheck", 50).line("self_check")
    assert 50_000_000 <= line["burnt_cpu_ns"] <= line["burnt_wall_ns"] + 1_000_000
    assert 0 < line["clock_step_ns"] < 1_000_000
