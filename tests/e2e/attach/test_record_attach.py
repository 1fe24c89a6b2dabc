"""`headway record --pid`: a process that runs already is recorded and left as it was."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from support.drivers.live_process import lives, open_files, state
from support.drivers.recording_cli import (
    HEADWAY,
    attached,
    headway,
    javas,
    manifest,
    notice_ids,
    start_headway,
    wait_for,
    wait_for_file,
)
from support.oracles.spool_reader import Spool

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")


@contextmanager
def running(*command: str | Path, output: Path, stdin: int | None = None) -> Iterator[subprocess.Popen[bytes]]:
    """A process to attach to, which has printed something; killed at the end if it is still there."""
    with open(output, "wb") as out:
        process = subprocess.Popen([str(word) for word in command], stdin=stdin, stdout=out, stderr=subprocess.STDOUT)
    try:
        wait_for_file(output)
        yield process
    finally:
        process.kill()
        process.wait()


def assert_whole(recording: Path) -> None:
    """Check that nothing was lost, refused or contradicted; a note on how the kernel told of switches is no fault."""
    assert [each for each in manifest(recording)["invariants"] if not each["ok"]] == []
    assert manifest(recording)["losses"]["events"] == 0
    assert not notice_ids(recording) & {"HW054", "HW200", "HW201", "HW202", "HW203", "HW204"}


def threads(recording: Path) -> list[dict[str, Any]]:
    """Return `headway threads --json`."""
    result = headway("threads", recording, "--json")
    assert result.returncode == 0, result.stderr
    rows: list[dict[str, Any]] = json.loads(result.stdout)
    return rows


@pytest.mark.parametrize("java", javas(), ids=["jdk17", "jdk25"])
def test_a_running_jvm_is_recorded_and_runs_on_unharmed(tmp_path: Path, workloads: Path, java: str) -> None:
    recording = tmp_path / "r.headway"
    command = (java, "-cp", workloads, "headway.workloads.Sleeper", "600", "2", "50", "stdin")
    with running(*command, output=tmp_path / "out", stdin=subprocess.PIPE) as jvm:
        result = headway("record", "-o", recording, "--pid", str(jvm.pid), "--duration", "1s")
        assert result.returncode == 0, result.stderr
        assert jvm.stdin is not None
        jvm.stdin.close()
        assert jvm.wait(timeout=100) == 0
    lines = (tmp_path / "out").read_text().splitlines()
    assert [json.loads(line)["event"] for line in lines] == ["ready", "done"]  # nothing of ours, no thread dump
    recorded = manifest(recording)
    assert (recorded["state"], recorded["ended_by"], recorded["attached"]) == ("complete", "duration", True)
    assert recorded["pid"] == jvm.pid
    assert_whole(recording)
    window = recorded["window"]
    assert window["end_ns"] - window["start_ns"] >= 1_000_000_000
    found = {thread["name"]: thread for thread in threads(recording)}
    assert {"main", "sleeper-0", "sleeper-1"} <= found.keys()
    assert any(name.startswith("brief-") for name in found)  # began while we recorded
    for name in ("main", "sleeper-0", "sleeper-1"):  # they were there all the time, so is their time
        thread = found[name]
        total = thread["running_ns"] + thread["runnable_ns"] + thread["blocked_ns"]
        assert total == pytest.approx(window["end_ns"] - window["start_ns"], abs=1000), thread
    holes = open_recording(recording).query(  # of the others, from the first state to the last
        "SELECT name, sum(s.dur_ns) - (max(s.start_ns + s.dur_ns) - min(s.start_ns)) AS hole FROM thread_state s "
        "JOIN thread t USING (thread_id) WHERE name LIKE 'brief-%' GROUP BY thread_id, name HAVING hole <> 0"
    )
    assert holes.fetchall() == []


def test_an_attached_agent_is_silent_once_the_recording_has_ended(tmp_path: Path, workloads: Path) -> None:
    with running(javas()[0], "-cp", workloads, "headway.workloads.Sleeper", "600", "2", output=tmp_path / "out") as jvm:
        assert (
            headway("record", "-o", tmp_path / "1.headway", "--pid", str(jvm.pid), "--duration", "300ms").returncode
            == 0
        )
        maps = Path(f"/proc/{jvm.pid}/maps").read_text()
        assert "agent-" not in maps  # it has let go of its file
        assert not any(".spool" in target for target in open_files(jvm.pid))
        again = headway("record", "-o", tmp_path / "2.headway", "--pid", str(jvm.pid), "--duration", "300ms")
        assert again.returncode == 0, again.stderr
        assert_whole(tmp_path / "2.headway")
        assert "main" in {thread["name"] for thread in threads(tmp_path / "2.headway")}


def test_a_process_without_a_jvm_is_recorded_and_says_what_is_missing(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    with running(sys.executable, "-uc", "print(1)\nwhile True: pass", output=tmp_path / "out") as program:
        result = headway("record", "-o", recording, "--pid", str(program.pid), "--duration", "500ms")
        assert result.returncode == 0, result.stderr
        assert lives(program.pid)
    assert "HW054" in result.stderr
    assert "next: nothing is missing where no JVM was meant" in result.stderr
    assert "-- java" not in result.stderr  # it would be no JVM under headway either
    assert "HW054" in notice_ids(recording)
    (thread,) = threads(recording)
    window = manifest(recording)["window"]
    active_ns = thread["running_ns"] + thread["runnable_ns"]
    # It never sleeps; the kernel may stop it for a page of memory.
    states = dict(
        open_recording(recording).query("SELECT state, sum(dur_ns) FROM thread_state GROUP BY state").fetchall()
    )
    assert states.keys() <= {"running", "runnable", "uninterruptible"}
    stopped_ns = int(states.get("uninterruptible", 0))
    assert active_ns + stopped_ns == pytest.approx(window["end_ns"] - window["start_ns"], abs=1000)
    assert active_ns > 0


def test_the_whole_tree_below_the_pid_is_recorded(tmp_path: Path, workloads: Path) -> None:
    recording = tmp_path / "r.headway"
    java = f"{javas()[0]} -cp {workloads} headway.workloads.Sleeper 600 1"
    script = f"{java} & while true; do sleep 0.05; done"
    with running("setsid", "-w", "sh", "-c", script, output=tmp_path / "out") as shell:
        result = headway("record", "-o", recording, "--pid", str(shell.pid), "--duration", "1s")
        jvm_pid = json.loads((tmp_path / "out").read_text().splitlines()[0])["pid"]
        subprocess.run(["pkill", "-KILL", "-s", str(os.getsid(jvm_pid))], check=False)
    assert result.returncode == 0, result.stderr
    found = threads(recording)
    assert {"sleeper-0", "sleep"} <= {thread["name"] for thread in found}
    assert any(thread["name"] == "sleep" and thread["start_ns"] > 0 for thread in found)  # born while we recorded
    assert [jvm["pid"] for jvm in manifest(recording)["jvms"]] == [jvm_pid]


def children(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/task/{pid}/children").read_text().split()


FORKING = """
import os, signal, sys, time
print("ready", flush=True)
kids = []
while not os.path.exists(sys.argv[1]):
    pid = os.fork()
    if pid == 0:
        while True: signal.pause()
    kids.append(pid)
    if len(kids) > 100:
        os.kill(kids[0], 9); os.waitpid(kids.pop(0), 0)
    time.sleep(0.005)
print(*kids, flush=True)
for pid in kids: os.kill(pid, 9)
"""


@pytest.mark.parametrize("mode", ["ebpf", "perf-switch"])
def test_no_process_is_missed_that_is_forked_while_headway_attaches(tmp_path: Path, mode: str) -> None:
    recording, enough = tmp_path / "r.headway", tmp_path / "enough"
    with running(sys.executable, "-uc", FORKING, enough, output=tmp_path / "out") as program:
        recorder = start_headway("record", "-o", recording, "--mode", mode, "--no-agent", "--pid", program.pid)
        wait_for(lambda: attached(recording))
        known = children(program.pid)
        wait_for(lambda: len(set(children(program.pid)) - set(known)) >= 10)  # born from then on
        enough.touch()
        _, err = recorder.communicate(timeout=100)
        assert recorder.returncode == 0, err
    kids = list(map(int, (tmp_path / "out").read_text().splitlines()[1].split()))
    found = {thread["pid"]: thread for thread in threads(recording)}
    assert set(kids) - found.keys() == set()
    assert found[kids[-1]]["start_ns"] > 0


def test_a_jvm_that_is_born_after_the_attach_is_told_to_have_no_agent(tmp_path: Path, workloads: Path) -> None:
    recording = tmp_path / "r.headway"
    java = f"{javas()[0]} -cp {workloads} headway.workloads."
    script = (
        f"{java}Sleeper 600 1 & until test -e {tmp_path}/attached; do sleep 0.05; done; "
        f"{java}SelfCheck 1; touch {tmp_path}/over; wait"
    )
    with running("setsid", "-w", "sh", "-c", script, output=tmp_path / "out") as shell:
        recorder = start_headway("record", "-o", recording, "--pid", str(shell.pid))
        wait_for(lambda: attached(recording))
        (tmp_path / "attached").touch()
        wait_for((tmp_path / "over").exists)
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=100)
        first, later = (json.loads(line)["pid"] for line in (tmp_path / "out").read_text().splitlines())
        os.kill(first, signal.SIGKILL)
    assert recorder.returncode == 0, err
    (notice,) = [notice for notice in manifest(recording)["notices"] if notice["id"] == "HW062"]
    assert notice["message"].startswith(f"1 JVM ran without headway's agent (process {later}): ")
    assert "HW062" in err
    assert [jvm["pid"] for jvm in manifest(recording)["jvms"]] == [first]


def test_a_recording_ends_with_the_process(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    script = f"echo 1; until test -e {tmp_path}/enough; do sleep 0.05; done"
    with running("sh", "-c", script, output=tmp_path / "out") as program:
        recorder = start_headway("record", "-o", recording, "--pid", str(program.pid))
        wait_for(lambda: attached(recording))
        (tmp_path / "enough").touch()
        program.wait()
        _, err = recorder.communicate(timeout=100)
    assert recorder.returncode == 0, err
    assert manifest(recording)["ended_by"] == "exit"
    assert "HW234" not in notice_ids(recording)  # nobody asked for more


def test_a_process_that_is_killed_before_the_time_that_was_asked_for_is_said_to_have_ended(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    with running("sh", "-c", "echo 1; exec sleep 600", output=tmp_path / "out") as program:
        recorder = start_headway(
            "record", "-o", recording, "--no-agent", "--pid", str(program.pid), "--duration", "500s"
        )
        wait_for(lambda: attached(recording))
        killed_ns = time.monotonic_ns()
        program.kill()
        _, err = recorder.communicate(timeout=100)
    assert recorder.returncode == 0, err
    said = [line for line in err.splitlines() if "HW234: " in line]
    assert len(said) == 1, err
    found = re.search(rf"HW234: process {program.pid} ended after ([0-9.]+) s of the 500 s to be recorded", said[0])
    assert found is not None, said[0]
    window = manifest(recording)["window"]  # in the same clock; the recorder notices the end before the window ends
    printed_s = 0.05
    assert (killed_ns - window["start_ns"]) / 1e9 - printed_s <= float(found[1])
    assert float(found[1]) <= (window["end_ns"] - window["start_ns"]) / 1e9 + printed_s


def test_an_interrupt_ends_the_recording_and_not_the_process(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    with running("sh", "-c", "echo 1; exec sleep 600", output=tmp_path / "out") as program:
        recorder = start_headway("record", "-o", recording, "--no-agent", "--pid", str(program.pid))
        wait_for(lambda: attached(recording))
        recorder.send_signal(signal.SIGINT)
        _, err = recorder.communicate(timeout=100)
        assert recorder.returncode == 0, err
        assert state(program.pid) == "S"
    recorded = manifest(recording)
    assert (recorded["ended_by"], recorded["state"]) == ("interrupt", "complete")


def test_a_recorder_that_a_script_started_in_the_background_is_ended_by_an_interrupt(tmp_path: Path) -> None:
    """Where shells have no job control they start background jobs with SIGINT ignored."""
    recording = tmp_path / "r.headway"
    with running("sh", "-c", "echo 1; exec sleep 600", output=tmp_path / "out") as program:
        words = f"{shlex.join(HEADWAY)} record -o {recording} --no-agent --pid {program.pid}"
        script = f"{words} & until test -e {tmp_path}/enough; do sleep 0.05; done; kill -INT $!; wait $!"
        shell = subprocess.Popen(["sh", "-c", script], stderr=subprocess.PIPE, text=True)
        wait_for(lambda: attached(recording))
        (tmp_path / "enough").touch()
        _, err = shell.communicate(timeout=100)
    assert shell.returncode == 0, err
    assert manifest(recording)["ended_by"] == "interrupt"


def test_killing_an_attached_recorder_leaves_the_jvm_running_and_a_recoverable_recording(
    tmp_path: Path, workloads: Path
) -> None:
    recording = tmp_path / "r.headway"
    with running(javas()[0], "-cp", workloads, "headway.workloads.Sleeper", "600", "2", output=tmp_path / "out") as jvm:
        recorder = start_headway("record", "-o", recording, "--pid", str(jvm.pid))
        wait_for(lambda: attached(recording) and len(Spool(recording / "spool").switches()))
        recorder.kill()
        recorder.communicate()
        time.sleep(0.3)
        assert lives(jvm.pid)
        recovered = headway("recover", recording)
        assert recovered.returncode == 0, recovered.stderr
        assert manifest(recording)["state"] == "partial"
        assert "main" in {thread["name"] for thread in threads(recording)}
        assert lives(jvm.pid)
        again = headway("record", "-o", tmp_path / "2.headway", "--pid", str(jvm.pid), "--duration", "300ms")
        assert again.returncode == 0, again.stderr


def test_an_agent_whose_recorder_was_killed_serves_the_next_one(tmp_path: Path, workloads: Path) -> None:
    first, second = tmp_path / "1.headway", tmp_path / "2.headway"
    with running(javas()[0], "-cp", workloads, "headway.workloads.Sleeper", "600", "2", output=tmp_path / "out") as jvm:
        recorder = start_headway("record", "-o", first, "--pid", str(jvm.pid))
        wait_for(lambda: attached(first))
        alive = headway("locks", "--pid", jvm.pid)  # the first lives, and records without locks
        assert (alive.returncode, alive.stderr[:5]) == (1, "HW064")
        recorder.kill()
        recorder.communicate()
        again = headway("record", "-o", second, "--pid", str(jvm.pid), "--duration", "300ms")
        assert again.returncode == 0, again.stderr
        assert_whole(second)
        assert "main" in {thread["name"] for thread in threads(second)}
        maps = Path(f"/proc/{jvm.pid}/maps").read_text()
        assert str(first) not in maps


def test_the_shell_that_runs_headway_can_be_recorded_without_headway(tmp_path: Path) -> None:
    recording = tmp_path / "r.headway"
    words = f"{sys.executable} -m headway record -o {recording} --no-agent --pid $$ --duration 500ms & "
    result = subprocess.run(
        ["bash", "-c", words + "while kill -0 $! 2>/dev/null; do sleep 0.05; done; wait $!"],
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    names = {thread["name"] for thread in threads(recording)}
    assert "bash" in names
    assert "sleep" in names
    assert not any("python" in name or "headway" in name for name in names)
