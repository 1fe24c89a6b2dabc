"""`headway place --pid` on virtual nodes: threads are where it put them, and are back whatever ends it.

The policy `paper` moves a program to one node at once, and there it stays until the program has done something: so these tests
depend on no speed.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.ordinary_user import OrdinaryUser, ordinary_user
from support.drivers.workloads import compile_java

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = pytest.mark.skipif(len(CPUS) < 2, reason="virtual nodes take two CPUs")
NODES = f"{CPUS[0]}/{','.join(map(str, CPUS[1:]))}"
PROGRAM = Path(__file__).parents[2] / "programs" / "placed_threads.py"
ENOUGH_S = 200.0
"""A program on one CPU of a busy machine may have to wait for long; nothing is measured by it."""


@dataclass
class Program:
    """A running program that starts threads and processes as it is told."""

    process: subprocess.Popen[str]
    log: Path

    @property
    def pid(self) -> int:
        return self.process.pid

    def tell(self, text: str) -> int:
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()
        return int(self.process.stdout.readline())

    def affinities(self) -> dict[int, set[int]]:
        return {int(tid): os.sched_getaffinity(int(tid)) for tid in os.listdir(f"/proc/{self.pid}/task")}

    def all_on(self, cpus: list[int]) -> bool:
        return all(has == set(cpus) for has in self.affinities().values())


@contextmanager
def running(folder: Path, before: list[str] | None = None) -> Iterator[Program]:
    log = folder / "work.log"
    log.touch()
    log.chmod(0o666)
    command = [*(before or []), sys.executable, str(PROGRAM), str(log)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd="/") as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        try:
            yield Program(process, log)
        finally:
            process.kill()


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Program]:
    with running(tmp_path) as found:
        yield found


def headway(program: Program, *more: str, policy: str = "paper", nodes: str = NODES) -> list[str]:
    words = ["place", "--pid", str(program.pid), "--policy", policy, "--progress-file", str(program.log), "--json"]
    return [sys.executable, "-m", "headway", *words, *(["--nodes", nodes] if nodes else []), *more]


@contextmanager
def daemon(program: Program, *more: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
    command = headway(program, *more, **options)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def eventually(condition: Callable[[], bool]) -> bool:
    end_s = time.monotonic() + ENOUGH_S
    while time.monotonic() < end_s:
        if condition():
            return True
        time.sleep(0.02)
    return False


def records(process: subprocess.Popen[str]) -> list[dict[str, Any]]:
    out, err = process.communicate(timeout=ENOUGH_S)
    assert err == ""
    return [json.loads(line) for line in out.splitlines()]


def movers(process: subprocess.Popen[str]) -> list[int]:
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]


def test_threads_are_where_they_were_put_new_ones_too_and_are_back_after_a_signal(program: Program) -> None:
    narrowed = program.tell(f"narrow {CPUS[1]}")
    with daemon(program) as process:
        home = [CPUS[0]]
        assert eventually(lambda: all(has == {CPUS[0]} for tid, has in program.affinities().items() if tid != narrowed))
        late, child = program.tell("thread"), program.tell("process")
        assert os.sched_getaffinity(late) == os.sched_getaffinity(child) == {*home}
        late_narrowed = program.tell(f"narrow {CPUS[1]}")
        process.send_signal(signal.SIGTERM)
        found = records(process)
    assert process.returncode == 0
    left = {tid: has for tid, has in program.affinities().items() if has != {*CPUS}}
    assert left == {narrowed: {CPUS[1]}, late_narrowed: {CPUS[1]}}
    assert os.sched_getaffinity(child) == {*CPUS}
    os.kill(child, signal.SIGKILL)
    start, decision, end = found[0], found[1], found[-1]
    assert (start["event"], start["nodes"], start["nodes_declared"]) == ("start", 2, True)
    assert (start["home_cpus"], start["cpus"]) == (home, CPUS)
    assert (decision["event"], decision["placement"], decision["threads_moved"]) == ("decision", "one", 4)
    assert decision["threads_left_alone"] in (1, 2)  # the second one may be there before all have been looked through
    assert (end["event"], end["why"], end["threads_left_alone"]) == ("end", "somebody asked to end", 2)
    assert end["threads_moved"] == 6  # four, one that was started, one process


def test_threads_are_back_after_the_daemon_was_killed(program: Program) -> None:
    with daemon(program) as process:
        assert eventually(lambda: program.all_on(CPUS[:1]))
        process.kill()
        process.wait()
        assert eventually(lambda: program.all_on(CPUS))
        # What put them back has ended, so that the program can be placed again.
        again = subprocess.run(headway(program, "--duration", "1"), capture_output=True, text=True, timeout=ENOUGH_S)
        while again.returncode == 1:
            assert again.stderr.startswith("HW722: ")
            again = subprocess.run(
                headway(program, "--duration", "1"), capture_output=True, text=True, timeout=ENOUGH_S
            )
        assert again.returncode == 0
    assert program.all_on(CPUS)


def test_threads_are_back_after_its_whole_group_was_killed(program: Program) -> None:
    command = headway(program)
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, process_group=0) as process:
        assert eventually(lambda: program.all_on(CPUS[:1]))
        os.killpg(process.pid, signal.SIGKILL)
        assert eventually(lambda: program.all_on(CPUS))


def test_threads_are_back_when_the_process_that_moves_them_is_killed_and_headway_says_so(program: Program) -> None:
    with daemon(program) as process:
        assert eventually(lambda: program.all_on(CPUS[:1]))
        (mover,) = movers(process)
        os.kill(mover, signal.SIGKILL)
        _, err = process.communicate(timeout=ENOUGH_S)
    assert process.returncode == 1
    assert err.startswith("HW726: ")
    assert program.all_on(CPUS)


def test_where_nobody_is_left_to_put_threads_back_headway_says_which_command_does(program: Program) -> None:
    with daemon(program) as process:
        assert eventually(lambda: program.all_on(CPUS[:1]))
        killed: set[int] = set()

        def all_killed() -> bool:
            for mover in {*movers(process)} - killed:
                os.kill(mover, signal.SIGKILL)
                killed.add(mover)
            return process.poll() is not None or len(killed) == 2

        assert eventually(all_killed)
        _, err = process.communicate(timeout=ENOUGH_S)
    assert process.returncode == 1
    assert err.startswith(("HW729: ", "HW726: "))  # the second one may have put them back before it was killed
    assert "Traceback" not in err
    if err.startswith("HW726: "):
        assert program.all_on(CPUS)


def test_a_decision_has_what_was_measured(program: Program) -> None:
    with daemon(program) as process:
        assert process.stdout is not None
        lines: list[str] = []
        reader = threading.Thread(target=lambda: lines.extend(process.stdout))  # type: ignore[arg-type]
        reader.start()

        def has_measured() -> bool:
            program.tell("unit 500")
            time.sleep(0.1)
            return any('"measured"' in line for line in lines)

        assert eventually(has_measured)
        process.send_signal(signal.SIGINT)
        reader.join()
        found = [json.loads(line) for line in lines]
    assert process.returncode == 0
    assert program.all_on(CPUS)
    measured = [each["measured"] for each in found if "measured" in each]
    assert measured
    # The threads only wait: none has a core of its own, so the first condition that holds is that of few workers.
    assert {each["why"] for each in found if "measured" in each} <= {"single-threaded", "tlp-bound"}
    for each in measured:
        assert each["seconds_per_unit"] == pytest.approx(each["seconds"] / each["units"])
        assert each["units"] % 500 == 0


def test_processes_that_a_jvm_starts_meanwhile_are_placed_and_put_back_with_it(tmp_path: Path) -> None:
    compile_java(tmp_path, PROGRAM.with_name("ForkingWork.java"))
    log = tmp_path / "work.log"
    log.touch()
    command = ["java", "-cp", str(tmp_path), "ForkingWork"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        jvm = Program(process, log)
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        with daemon(jvm) as placing:
            assert eventually(lambda: jvm.all_on(CPUS[:1]))
            child = jvm.tell("sleep 600")
            try:
                assert eventually(lambda: os.sched_getaffinity(child) == {CPUS[0]})
                placing.terminate()
                assert records(placing)[-1]["why"] == "somebody asked to end"
                assert os.sched_getaffinity(child) == {*CPUS}
                assert jvm.all_on(CPUS)
            finally:
                os.kill(child, signal.SIGKILL)
        assert process.stdin is not None
        process.stdin.close()
        assert process.wait(ENOUGH_S) == 0


def test_a_second_daemon_is_refused_with_the_number_of_the_first(program: Program) -> None:
    with daemon(program) as process:
        assert eventually(lambda: program.all_on(CPUS[:1]))
        second = subprocess.run(headway(program), capture_output=True, text=True, timeout=ENOUGH_S)
        assert second.returncode == 1
        assert second.stdout == ""
        assert f"HW722: headway with pid {process.pid} places process {program.pid} already" in second.stderr
        assert program.all_on(CPUS[:1])


def test_a_program_that_ends_ends_it_well(program: Program) -> None:
    with daemon(program) as process:
        assert eventually(lambda: program.all_on(CPUS[:1]))
        program.process.kill()
        program.process.wait()
        assert records(process)[-1]["why"] == "the program ended"
    assert process.returncode == 0


def test_a_dry_run_says_what_it_would_do_and_moves_nothing(program: Program) -> None:
    done = subprocess.run(headway(program, "--dry-run"), capture_output=True, text=True, timeout=ENOUGH_S)
    assert (done.returncode, done.stderr) == (0, "")
    texts = [json.loads(line)["text"] for line in done.stdout.splitlines()]
    assert texts[1] == "would move to node 0: single-threaded"
    assert program.all_on(CPUS)


def test_a_program_that_may_use_one_cpu_of_both_nodes_is_put_back_to_these(tmp_path: Path) -> None:
    with running(tmp_path, ["taskset", "-c", f"{CPUS[0]},{CPUS[1]}"]) as program, daemon(program) as process:
        assert eventually(lambda: program.all_on(CPUS[:1]))
        process.terminate()
        assert records(process)[-1]["event"] == "end"
        assert program.all_on(CPUS[:2])


def test_a_program_with_one_node_is_left_alone_which_is_no_failure(tmp_path: Path) -> None:
    with running(tmp_path, ["taskset", "-c", str(CPUS[0])]) as program:
        done = subprocess.run(headway(program), capture_output=True, text=True, timeout=ENOUGH_S)
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr.startswith(f"HW720: process {program.pid} may use CPUs {CPUS[0]}, ")


@pytest.mark.skipif(os.geteuid() != 0, reason="makes users")
def test_root_places_a_program_of_another_user_and_that_user_none_of_roots(program: Program, tmp_path: Path) -> None:
    with ordinary_user() as user:
        assert_refused(user, program)
        words = user.argv([])[:-1]
        log = user.home / "work.log"
        log.touch()
        with running(user.home, words) as theirs, daemon(theirs) as process:
            assert eventually(lambda: theirs.all_on(CPUS[:1]))
            process.kill()
            process.wait()
            assert eventually(lambda: theirs.all_on(CPUS))


def assert_refused(user: OrdinaryUser, program: Program) -> None:
    done = user.headway(*headway(program)[3:])
    assert done.returncode == 1
    assert "HW005" in done.stderr
    assert program.all_on(CPUS)


def test_a_command_is_placed_while_it_runs_and_its_exit_code_is_the_answer(tmp_path: Path) -> None:
    """The default policy moves nothing in the first seconds; what is asked here is that the command is the user's as ever."""
    script = (
        f"import os, sys; print(sorted(os.sched_getaffinity(0))); open({str(tmp_path / 'log')!r}, 'w'); sys.exit(7)"
    )
    words = [
        "run",
        "--place",
        "--nodes",
        NODES,
        "--progress-file",
        str(tmp_path / "log"),
        "--",
        sys.executable,
        "-c",
        script,
    ]
    done = subprocess.run(
        [sys.executable, "-m", "headway", *words], capture_output=True, text=True, cwd=tmp_path, timeout=ENOUGH_S
    )
    assert (done.returncode, done.stdout) == (7, f"{CPUS}\n")
    assert all(line.startswith("headway: ") for line in done.stderr.splitlines())
    assert [*tmp_path.iterdir()] == [tmp_path / "log"]  # nothing is recorded


def test_a_signal_goes_to_the_command_that_is_placed(tmp_path: Path) -> None:
    words = [
        "run",
        "--place",
        "--nodes",
        NODES,
        "--progress-file",
        "log",
        "--",
        "sh",
        "-c",
        "echo ready; exec sleep 60",
    ]
    command = [sys.executable, "-m", "headway", *words]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        _, err = process.communicate(timeout=ENOUGH_S)
    assert process.returncode == 128 + signal.SIGTERM
    assert not err or err.splitlines()[-1].endswith("end: the program ended")
