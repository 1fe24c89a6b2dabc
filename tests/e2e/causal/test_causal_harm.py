"""Causal profiling does not harm the program: stacks read in signal handlers, delays, threads woken to be looked at.

Each program checks its own results, and says so (java/workloads, package harm). An experiment runs from start to end on a
method that a thread beside them computes in all the while, so that all others are held up again and again.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from headway.record.request.jvm_options import LockOptions, agent_options
from support.drivers.workloads import JAVAS, agent, compile_java, java_command

Note = dict[str, Any]
STRESS = "headway.workloads.harm.Stress"
SPEC = f"target:method={STRESS}.beat;speedup:50;scope:{quote('headway.workloads.*', safe='')}"
MILLIS = 300
COMPUTES = ["deep", "overflow", "exceptions", "classes", "native", "garbage"]
WAITS = ["sleeps", "sockets", "select", "processes", "locks", "queues"]
COLLECTORS = ["Serial", "Z", "Shenandoah"]
STACK_END = Path(__file__).resolve().parents[2] / "programs" / "StackEnd.java"
STACK_ENDS = 300
"""So often the program runs into the end of its stack."""
OPEN_LOCKS = "--add-opens=java.base/java.util.concurrent.locks=ALL-UNNAMED"
SMALL_HEAP = "-Xmx32m"
"""Two threads make 12 MB of garbage each in a round, so that even one round has its collections."""


class Run:
    """A program that has ended, and the agent's notes."""

    def __init__(self, done: subprocess.CompletedProcess[bytes], spool: Path) -> None:
        self.code = done.returncode
        self.out = done.stdout.decode()
        self.err = done.stderr.decode()
        notes = spool.glob("causal-*.jsonl")
        self.notes: list[Note] = [json.loads(line) for path in notes for line in path.read_bytes().splitlines()]

    def last(self, kind: str) -> Note:
        return [note for note in self.notes if note["t"] == kind][-1]

    @property
    def problems(self) -> list[str]:
        return [note["text"] for note in self.notes if note["t"] == "problem"]


def stress(java: Path, spool: Path, kind: str, *jvm: str, spec: str = SPEC, **environment: str) -> Run:
    option = f"-agentpath:{agent()}={agent_options(spool, causal=spec)}"
    command = java_command(java, "harm.Stress", kind, MILLIS, jvm=(option, "-Xmx128m", *jvm))
    unset = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS")
    inherited = {name: value for name, value in os.environ.items() if name not in unset}
    env = {**inherited, **environment}
    return Run(subprocess.run(command, capture_output=True, env=env, cwd=spool, timeout=180), spool)


def unharmed(run: Run, kind: str) -> None:
    """Check that the program found all its results right, and that it was sampled and held up meanwhile."""
    assert (run.code, run.out, run.err) == (0, f"ok {kind}\n", "")
    assert run.problems == []
    assert run.last("health")["samples"] > 0
    assert run.last("health")["faults"] == 0
    assert sum(cpu_ns for _line, cpu_ns, _blocked, _samples in run.last("profile")["lines"]) > 0
    assert run.last("experiment")["delay_ns"] > 0


def has(java: Path, option: str) -> bool:
    return subprocess.run([java, option, "-version"], capture_output=True).returncode == 0


@pytest.fixture(params=JAVAS)
def java(request: pytest.FixtureRequest) -> Path:
    return JAVAS[request.param]


@pytest.mark.parametrize("kind", COMPUTES)
def test_what_computes_computes_the_same(java: Path, tmp_path: Path, kind: str) -> None:
    run = stress(java, tmp_path, kind)
    unharmed(run, kind)
    if kind == "native":  # where no thread is held up in a sample
        assert run.last("health")["late_payments"] > 0


@pytest.mark.parametrize("kind", WAITS)
def test_waits_are_neither_cut_short_nor_lost(java: Path, tmp_path: Path, kind: str) -> None:
    unharmed(stress(java, tmp_path, kind), kind)


@pytest.mark.parametrize("collector", COLLECTORS)
def test_every_collector_goes_on_collecting(java: Path, tmp_path: Path, collector: str) -> None:
    option = f"-XX:+Use{collector}GC"
    if not has(java, option):
        pytest.skip(f"this JDK has no {option}")
    run = stress(java, tmp_path, "garbage", option, SMALL_HEAP)
    unharmed(run, "garbage")
    experiment = run.last("experiment")
    assert experiment["gcs"] > 0
    assert 0 < experiment["gc_ns"] < experiment["dur_ns"]


def test_pauses_of_the_collector_made_half_as_long_take_half_of_them_off_the_program(
    java: Path, tmp_path: Path
) -> None:
    spec = f"target:gc;speedup:50;scope:{quote('headway.workloads.*', safe='')}"
    log = tmp_path / "gc.log"
    run = stress(java, tmp_path, "garbage", "-XX:+UseSerialGC", SMALL_HEAP, f"-Xlog:gc,safepoint:file={log}", spec=spec)
    unharmed(run, "garbage")
    experiment = run.last("experiment")
    output = log.read_text()
    # Not the pauses: where a young collection would not be safe, that and the full one are two of them, in one operation.
    operations = re.findall(r'Safepoint "\w*Collect\w*"', output)
    assert experiment["gcs"] == experiment["hits"] == len(operations) > 1
    pauses_ms = [float(text) for text in re.findall(r" Pause .* ([\d.]+)ms$", output, re.MULTILINE)]
    assert experiment["gc_ns"] == pytest.approx(1e6 * sum(pauses_ms), rel=0.1)  # by the JVM's own clocks
    # Each pause is halved by itself, and rounded down.
    assert abs(experiment["delay_ns"] - experiment["gc_ns"] / 2) <= experiment["gcs"]


def test_a_program_that_is_never_compiled_runs(java: Path, tmp_path: Path) -> None:
    unharmed(stress(java, tmp_path, "mixed", "-Xint"), "mixed")


def test_a_program_that_is_compiled_before_it_runs_does(tmp_path: Path) -> None:
    unharmed(stress(JAVAS["jdk17"], tmp_path, "exceptions", "-Xcomp"), "exceptions")  # seconds on later JDKs


def test_virtual_threads_run(tmp_path: Path) -> None:
    unharmed(stress(JAVAS["jdk25"], tmp_path, "virtual"), "virtual")


def test_a_program_that_handles_sigprof_gets_each_it_raises_and_no_other(java: Path, tmp_path: Path) -> None:
    unharmed(stress(java, tmp_path, "sigprof"), "sigprof")


@pytest.mark.parametrize(("kind", "code"), [("exit", 7), ("halt", 8)])
def test_an_end_in_the_middle_keeps_its_exit_code(java: Path, tmp_path: Path, kind: str, code: int) -> None:
    run = stress(java, tmp_path, kind)
    assert (run.code, run.out, run.err) == (code, "", "")
    assert run.last("health")["faults"] == 0


def test_a_crash_is_still_the_jvms_to_report(java: Path, tmp_path: Path) -> None:
    run = stress(java, tmp_path, "crash", "-XX:-CreateCoredumpOnCrash")
    plain_command = java_command(java, "harm.Stress", "crash", MILLIS, jvm=("-XX:-CreateCoredumpOnCrash",))
    plain = subprocess.run(plain_command, capture_output=True, cwd=tmp_path, timeout=180)
    assert run.code == plain.returncode != 0
    for text in (run.out, plain.stdout.decode()):
        assert "SIGSEGV (0xb)" in text
        assert "Unsafe_PutLong" in text or "Unsafe" in text


def test_a_fault_while_a_stack_is_read_is_caught_and_then_no_stacks_are_read(java: Path, tmp_path: Path) -> None:
    run = stress(java, tmp_path, "exceptions", HEADWAY_TEST_STACK_FAULT="1")
    assert (run.code, run.out, run.err) == (0, "ok exceptions\n", "")
    health = run.last("health")
    assert health["faults"] >= 3  # of one thread at least
    assert health["samples"] > health["faults"]  # which goes on, without stacks
    assert run.last("profile")["unread_ns"] > 0
    assert any("stack" in text for text in run.problems)


def test_stacks_are_read_on_after_a_few_faults(java: Path, tmp_path: Path) -> None:
    run = stress(java, tmp_path, "exceptions", HEADWAY_TEST_STACK_FAULT="60")
    assert (run.code, run.out, run.err) == (0, "ok exceptions\n", "")
    assert run.last("health")["faults"] > 0
    assert sum(cpu_ns for _line, cpu_ns, _blocked, _samples in run.last("profile")["lines"]) > 0


def test_a_jvm_that_checks_its_handlers_is_left_without_stacks(java: Path, tmp_path: Path) -> None:
    run = stress(java, tmp_path, "mixed", "-Xcheck:jni")
    assert (run.code, run.out.splitlines()[-1]) == (0, "ok mixed")
    assert "handler" not in run.out + run.err
    assert any("-Xcheck:jni" in text for text in run.problems)


@pytest.fixture(scope="module")
def stack_end(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("classes")
    compile_java(folder, STACK_END)
    return folder


@pytest.mark.parametrize("mode", ["alone", "queued"])
@pytest.mark.parametrize("compilers", [(), ("-XX:-TieredCompilation",)], ids=["tiered", "second"])
def test_no_lock_is_left_locked_at_the_end_of_a_stack_in_an_experiment(
    java: Path, stack_end: Path, mode: str, compilers: tuple[str, ...], tmp_path: Path
) -> None:
    """The program looks itself: a lock that nobody holds any more and that is locked is "broken"."""
    spec = f"target:method=StackEnd.visit;speedup:50;scope:{STACK_END.stem}"
    option = f"-agentpath:{agent()}={agent_options(tmp_path, causal=spec, locks=LockOptions())}"
    words = [java, option, *compilers, OPEN_LOCKS, "-cp", stack_end, STACK_END.stem, STACK_ENDS, mode]
    run = Run(subprocess.run(list(map(str, words)), capture_output=True, cwd=tmp_path, timeout=180), tmp_path)
    assert (run.code, json.loads(run.out)) == (0, {"ends": STACK_ENDS, "broken": 0})
    assert [line for line in run.err.splitlines() if "ReservedStackAccess" not in line] == []
    assert run.problems == []
    assert run.last("health")["samples"] > 0
    assert run.last("health")["faults"] == 0
