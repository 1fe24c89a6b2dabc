"""`headway why` of programs that wait until they are ended: what for, and not for the thread of the JVM that ended them."""

from __future__ import annotations

import json
import os
import re
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from recording_cli import account, headway, javas, start_headway
from workloads import compile_java

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
SOURCE = Path(__file__).parent.parent / "programs" / "Idle.java"
CORES = 64
"""More than there are: however busy the machine is with others, cores are lost."""
IDLE_S = 2.0
STOPPED = re.compile(r'Safepoint "(?:ThreadDump|GetAllStackTraces\w*)".* Total: +(\d+) ns')
LOCKS = pytest.mark.parametrize("locks", [(), ("--locks",)], ids=["kernel", "locks"])
JAVAS = pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("idle")
    compile_java(out, SOURCE)
    return out


def lost(of: dict[str, Any]) -> dict[str, float]:
    """Return the part of what was lost by cause."""
    return {cause: core_ns / of["lost_ns"] for cause, core_ns in of["by_cause"].items()}


def asleep(recording: Path, begin_ns: int, end_ns: int) -> dict[str, Any]:
    """Return the account of a time by the clock of System.nanoTime."""
    origin = json.loads((recording / "manifest.json").read_text())["window"]["start_ns"]
    return account(recording, "--cores", CORES, "--from", f"{begin_ns - origin}ns", "--to", f"{end_ns - origin}ns")


@JAVAS
@LOCKS
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])
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
    shares = lost(asleep(output, int(ready_ns), signal_ns))
    assert shares.get("io", 0) > 0.95, shares
    whole = account(output, "--cores", CORES)
    assert lost(whole).get("safepoint", 0) < 0.02, whole["by_cause"]


@JAVAS
@LOCKS
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
    jvm = (javas()[0], f"-Xlog:safepoint:file={log}", "-cp", program)
    done = headway("record", *locks, "-o", output, "--", *jvm, "Idle", "stops")
    assert done.returncode == 0, done.stderr
    stops_ns = [int(total) for total in STOPPED.findall(log.read_text())]
    assert len(stops_ns) == 20
    found = account(output, "--cores", CORES)["by_cause"]["safepoint"]
    # All but the core that the VM's thread has; threads that are ready again and wait for one are not stopped any more.
    assert found == pytest.approx((CORES - 1) * sum(stops_ns), rel=0.1), (found, stops_ns)
