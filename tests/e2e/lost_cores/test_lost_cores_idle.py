"""`headway why` of programs that wait until they are ended: what for, and not for the thread of the JVM that ended them."""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.recording_cli import account, headway, javas, start_headway
from support.drivers.workloads import compile_java

pytestmark = [pytest.mark.alone, pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SOURCE = Path(__file__).parents[2] / "programs" / "Idle.java"
CORES = 64
"""More than there are: however busy the machine is with others, cores are lost."""
IDLE_S = 2.0
STOPPED = re.compile(r'\[(\d+)ns\].* Safepoint "(\w+)".* Total: +(\d+) ns')
"""A line of the JVM's log: when a stop ended by the clock of System.nanoTime, what for it was, and how long it took."""
DUMPS = re.compile(r"ThreadDump|GetAllStackTraces\w*")
LOCKS = pytest.mark.parametrize("locks", [(), ("--locks",)], ids=["kernel", "locks"])
JDK_17, JDK_25 = javas()


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("idle")
    compile_java(out, SOURCE)
    return out


AT_WORK = ("serial_section", "too_few_tasks", "scheduler", "jit")
"""One thread or more, on few of the cores: the JVM's own threads work a little, which takes longer on a busy machine."""


def lost(of: dict[str, Any]) -> dict[str, float]:
    """Return the part by cause of what was lost while no thread was at work."""
    idle_ns = of["lost_ns"] - sum(of["by_cause"].get(each, 0) for each in AT_WORK)
    return {cause: core_ns / idle_ns for cause, core_ns in of["by_cause"].items() if cause not in AT_WORK}


def active_ns(recording: Path, begin_ns: int, end_ns: int, *kinds: str) -> int:
    """Return how long threads (of some kinds, else all) ran or were ready to, all added up, as the kernel's switches have it."""
    with contextlib.closing(open_recording(recording)) as opened:
        ((found,),) = opened.query(
            "SELECT coalesce(sum(least(start_ns + running_ns, $2) - greatest(start_ns - coalesce(runnable_ns, 0), $1)), 0) "
            "FROM slice WHERE start_ns - coalesce(runnable_ns, 0) < $2 AND start_ns + running_ns > $1 "
            "AND (len($3) = 0 OR thread_id IN (SELECT thread_id FROM thread WHERE list_contains($3, kind)))",
            (begin_ns, end_ns, list(kinds)),
        ).fetchall()
    return int(found)


def asleep(recording: Path, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Return the account of a time by the clock of System.nanoTime."""
    origin = json.loads((recording / "manifest.json").read_text())["window"]["start_ns"]
    of = account(recording, "--cores", CORES, "--from", f"{begin_ns - origin}ns", "--to", f"{end_ns - origin}ns")
    at_work_ns = sum(of["by_cause"].get(each, 0) for each in AT_WORK)
    assert at_work_ns <= CORES * active_ns(recording, begin_ns, end_ns), of["by_cause"]
    return of


@pytest.mark.parametrize(  # every two of signal, JDK and stacks meet
    ("number", "locks", "java"),
    [
        pytest.param(signal.SIGINT, (), JDK_17, id="SIGINT-kernel-jdk17"),
        pytest.param(signal.SIGINT, ("--locks",), JDK_25, id="SIGINT-locks-jdk25"),
        pytest.param(signal.SIGTERM, (), JDK_25, id="SIGTERM-kernel-jdk25"),
        pytest.param(signal.SIGTERM, ("--locks",), JDK_17, id="SIGTERM-locks-jdk17"),
    ],
)
def test_a_server_that_a_signal_ends_had_waited_for_the_network_and_was_not_stopped(
    tmp_path: Path, program: Path, java: str, locks: tuple[str, ...], number: signal.Signals
) -> None:
    output = tmp_path / "a.headway"
    recorder = start_headway("record", *locks, "-o", output, "--", java, "-cp", program, "Idle", "accepts")
    assert recorder.stdout is not None
    _, pid, ready_ns = recorder.stdout.readline().split()
    time.sleep(IDLE_S)
    signal_ns = time.monotonic_ns()
    os.kill(int(pid), number)
    recorder.communicate(timeout=60)
    waited = asleep(output, int(ready_ns), signal_ns)
    if locks:  # with the stack that it stands in, that is idleness and no loss
        at_work_ns = sum(waited["by_cause"].get(each, 0) for each in AT_WORK) / (CORES - 2)
        assert waited["outside_ns"] > 0.97 * (waited["wall_ns"] - at_work_ns), waited
        # What the VM's own threads wait for the disk is all that may be left of it.
        assert waited["by_cause"].get("io", 0) < 0.01 * waited["lost_ns"], waited["by_cause"]
    else:
        assert lost(waited).get("io", 0) > 0.95, waited["by_cause"]
    whole = account(output, "--cores", CORES)
    assert lost(whole).get("safepoint", 0) < 0.02, whole["by_cause"]


@pytest.mark.parametrize(
    ("locks", "java"),
    [pytest.param((), JDK_25, id="kernel-jdk25"), pytest.param(("--locks",), JDK_17, id="locks-jdk17")],
)
def test_a_program_that_ends_itself_had_slept_and_was_not_stopped(
    tmp_path: Path, program: Path, java: str, locks: tuple[str, ...]
) -> None:
    output = tmp_path / "a.headway"
    done = headway("record", *locks, "-o", output, "--", java, "-cp", program, "Idle", "exits")
    assert done.returncode == 0, done.stderr
    ready_ns = int(done.stdout.split()[2])
    shares = lost(asleep(output, ready_ns, ready_ns + round(IDLE_S * 1e9)))
    assert shares.get("sleep", 0) > 0.95, shares
    whole = account(output, "--cores", CORES)
    assert lost(whole).get("safepoint", 0) < 0.02, whole["by_cause"]


@LOCKS
def test_while_the_jvm_stops_its_threads_for_a_dump_all_idle_cores_are_lost_to_that(
    tmp_path: Path, program: Path, locks: tuple[str, ...]
) -> None:
    output, log = tmp_path / "a.headway", tmp_path / "safepoints"
    jvm = (JDK_17, f"-Xlog:safepoint:file={log}:timenanos,tags", "-cp", program)
    done = headway("record", *locks, "-o", output, "--", *jvm, "Idle", "stops")
    assert done.returncode == 0, done.stderr
    stops = [(what, int(end_ns), int(total_ns)) for end_ns, what, total_ns in STOPPED.findall(log.read_text())]
    dumps = [(end_ns - total_ns, end_ns) for what, end_ns, total_ns in stops if DUMPS.fullmatch(what)]
    assert len(dumps) == 20
    # Threads that are ready again and wait for a core, or are not there yet, are not stopped.
    stopped_ns = sum(max(end - begin - active_ns(output, begin, end, "app"), 0) for begin, end in dumps)
    found = account(output, "--cores", CORES)["by_cause"]["safepoint"]
    # All but the core that the VM's thread has; few other stops than dumps are no collections.
    most_ns = sum(total_ns for _, _, total_ns in stops)
    assert 0.9 * (CORES - 1) * stopped_ns <= found <= 1.1 * (CORES - 1) * most_ns, stops
