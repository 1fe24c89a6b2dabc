"""The programs that benchmarks measure run, do the work they are asked for, and say what it took."""

from __future__ import annotations

import contextlib
import itertools
import os
import resource
import subprocess
from pathlib import Path

import pytest

import causal_overhead
import lock_overhead
from lib import causal_switch, driven, harness, programs

ROOT = Path(__file__).resolve().parents[3]


@pytest.fixture(scope="session", autouse=True)
def built() -> None:
    done = subprocess.run(["make", "bench-programs"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


# The others are asked below, where they do their work again and again.
@pytest.mark.parametrize("name", ["h2", "sunflow", "xalan"])
def test_a_program_of_others_does_its_work_and_measures_itself(name: str) -> None:
    if name == "sunflow" and not programs.SUNFLOW[0].is_file():
        pytest.skip("sunflow is Debian's package")
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = harness.run(programs.command(name, percent=5, threads=2))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert run.own_output["program"] == name
    assert run.own_output["threads"] == 2
    assert 0 < run.wall_ns <= run.span_ns
    # The process's own clock against the kernel's account of it: nothing is counted that did not run.
    used_s = (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)
    assert 0 < run.cpu_ns <= used_s * 1e9


@pytest.mark.parametrize("name", [*programs.NAMES, "orders", "tpcc"])
def test_a_driven_program_does_the_same_work_again_and_again(name: str) -> None:
    if name == "sunflow" and not programs.SUNFLOW[0].is_file():
        pytest.skip("sunflow is Debian's package")
    with driven.Driven(programs.driven(name, percent=5)) as program:
        runs = [program.run() for _ in range(2)]
    assert len({run.own_output["items"] for run in runs}) == 1
    for before, after in itertools.pairwise(runs):
        assert before.own_output["end_ns"] <= after.own_output["begin_ns"]
    for run in runs:
        assert 0 < run.wall_ns <= run.span_ns
        assert 0 <= run.jit_ns < run.cpu_ns


def test_a_driven_program_runs_where_it_is_placed() -> None:
    with driven.Driven(programs.driven("sunflow" if programs.SUNFLOW[0].is_file() else "jython", percent=5)) as program:
        program.run()
        for cpus in ({0}, {0, 1}):
            program.place(cpus)
            program.run()  # starts threads of its own
            placed = []
            for thread in os.listdir(f"/proc/{program.pid}/task"):
                with contextlib.suppress(ProcessLookupError):  # it has ended since
                    placed.append(os.sched_getaffinity(int(thread)))
            assert placed == [cpus] * len(placed) != []


@pytest.mark.root  # takes over the timers of another process
@pytest.mark.parametrize("name", ["xalan"])
def test_causal_profiling_that_is_switched_off_takes_hardly_a_sample(name: str, tmp_path: Path) -> None:
    samples_per_s = {}
    with driven.Driven(programs.switchable(programs.driven(name, percent=5))) as program:
        program.warm_up(5)
        for on in (False, True):
            with causal_overhead.profiled(program, tmp_path / str(on)), causal_switch.Switch(program) as switch:
                runs = [switch.run(on) for _ in range(4)]
            cpu_s = sum(run["cpu_ns"] - run["jit_ns"] for run in runs) / 1e9
            samples_per_s[on] = causal_overhead.samples_of(tmp_path / str(on)) / cpu_s
    assert samples_per_s[True] > 100  # a period is 1 ms, longer where a sample is dear
    # Threads that begin while it is off are sampled until they are found, on a busy machine later. Were it not off, both would
    # be alike.
    assert samples_per_s[False] < samples_per_s[True] / 4


def test_a_driven_program_that_ends_is_an_error_with_its_output() -> None:
    with (
        pytest.raises(RuntimeError, match="no such luck"),
        driven.Driven(["bash", "-c", "echo no such luck >&2; exit 3"], collects=False) as program,
    ):
        program.run()


def test_the_ping_pong_is_recorded_in_turns_and_its_switches_are_counted(tmp_path: Path) -> None:
    command = programs.workload("PingPong", 4, 500, "park", 0)
    with driven.Driven(command, collects=False) as program:
        session = driven.alternate(program, pairs=2, runs=2, folder=tmp_path)
    assert [each["recorded"] for each in session["blocks"]] == [False, True, False, True, False]
    assert all(len(each["runs"]) == 2 for each in session["blocks"])
    assert session["lost"] == 0
    # Three runs of a block, one of them not kept: 4 pairs x 500 hand-offs, of which most park.
    assert session["switches"] > 2 * 3 * 4 * 500 / 4
    assert all(run["recorder_ns"] == 0 for each in session["blocks"] if not each["recorded"] for run in each["runs"])
    assert not list(tmp_path.iterdir()), "recordings are not kept"


def test_the_kernels_own_account_of_recording_counts_every_switch(tmp_path: Path) -> None:
    command = programs.workload("PingPong", 4, 500, "park", 0)
    with driven.Driven(command, collects=False) as program:
        cost = driven.kernel_cost(program, runs=3, folder=tmp_path)
    assert cost is not None, "needs root, as the collector does"
    assert cost["calls"] > 3 * 4 * 500 / 4
    assert 0 < cost["ns"] < cost["cpu_ns"]


def test_the_switch_of_the_locks_recording_leaves_the_program_and_the_recording_as_they_are(tmp_path: Path) -> None:
    with driven.Driven(lock_overhead.command("queue")) as program:
        program.run()
        target = tmp_path / "r.headway"
        with program.recorded(target, "--locks") as recorder:
            windows = {}
            for word in ("locks on", "locks off", "locks on again"):
                program.tell(word.removesuffix(" again"))
                said = program.run(recorder).own_output
                windows[word] = int(said["begin_ns"]), int(said["end_ns"])
    counts = {word: lock_overhead.waits(target, *span).get("park", 0) for word, span in windows.items()}
    requests = lock_overhead.requests(said)
    assert counts["locks off"] == 0
    assert counts["locks on"] > requests / 10, "a client waits for its answer"
    assert counts["locks on again"] > requests / 10
