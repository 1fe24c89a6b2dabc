"""The recorded program is not harmed: its streams, terminal, signals, exit code and life are its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from support.drivers.live_process import catches, lives, sleeps, state, waits_in_read
from support.drivers.recording_cli import (
    HEADWAY,
    JAVA_17,
    Terminal,
    headway,
    manifest,
    notice_ids,
    start_headway,
    wait_for,
    wait_for_file,
)
from support.oracles.agent_reader import read_agent_spool
from support.oracles.spool_reader import Spool

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")

# What a process inherits, as it sees it itself.
INHERITED = """
import json, os, signal
status = dict(line.rstrip("\\n").split(":\\t", 1) for line in open("/proc/self/status") if ":\\t" in line)
def target(fd):
    try: return os.readlink(f"/proc/self/fd/{fd}")
    except OSError: return None
print(json.dumps({
    "sigblk": status["SigBlk"], "sigign": status["SigIgn"], "umask": status["Umask"], "nice": os.nice(0),
    "affinity": sorted(os.sched_getaffinity(0)), "policy": os.sched_getscheduler(0), "cwd": os.getcwd(),
    "session": os.getsid(0), "oom": open("/proc/self/oom_score_adj").read(), "cgroup": open("/proc/self/cgroup").read(),
    "limits": open("/proc/self/limits").read(), "timerslack": open("/proc/self/timerslack_ns").read(),
    "env": {k: v for k, v in os.environ.items() if k not in ("JAVA_TOOL_OPTIONS", "_")},
    "dumpable": status.get("CoreDumping"), "caps": [status[k] for k in status if k.startswith("Cap")],
    "nonewprivs": status["NoNewPrivs"], "foreground": os.getpgid(0) == os.getpgid(os.getppid()),
    "fds": {fd: target(fd) for fd in sorted(os.listdir("/proc/self/fd")) if target(fd) and "/proc/" not in target(fd)},
}))
"""


def test_the_streams_and_the_exit_code_are_the_programs_own(tmp_path: Path) -> None:
    script = "cat; printf 'out \\001\\n'; printf 'err <&>\\n' >&2; exit 7"
    result = subprocess.run(
        [*HEADWAY, "record", "-o", str(tmp_path / "r.headway"), "--", "sh", "-c", script],
        input=b"in\xff\n",
        capture_output=True,
    )
    assert result.stdout == b"in\xff\nout \x01\n"
    assert result.stderr.startswith(b"err <&>\n")
    rest = result.stderr.removeprefix(b"err <&>\n").decode().splitlines()
    assert all(line.startswith(("headway: ", "  next: ")) for line in rest), rest
    assert result.returncode == 7
    assert manifest(tmp_path / "r.headway")["exit_code"] == 7


@pytest.mark.parametrize("prefix", [[], ["nohup"], ["setsid", "-w"], ["nice", "-n", "3"], ["taskset", "-c", "0"]])
def test_the_program_inherits_exactly_what_it_would_without_headway(tmp_path: Path, prefix: list[str]) -> None:
    program = [sys.executable, "-c", INHERITED]
    env = {**os.environ, "ODD": "a\nb"}
    plain = subprocess.run([*prefix, *program], capture_output=True, stdin=subprocess.DEVNULL, env=env)
    recorded = subprocess.run(
        [*prefix, *HEADWAY, "record", "-o", str(tmp_path / "r.headway"), "--", *program],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        env=env,
    )
    assert recorded.returncode == plain.returncode == 0, recorded.stderr
    expected, seen = (_comparable(json.loads(run.stdout)) for run in (plain, recorded))
    assert seen == expected
    assert seen["foreground"] or prefix == ["setsid", "-w"]


@pytest.mark.parametrize("locale", [{}, {"LC_CTYPE": "C"}, {"LANG": "C"}, {"LC_ALL": "C"}, {"LC_CTYPE": "C.UTF-8"}])
def test_the_programs_environment_is_the_one_headway_was_given_in_any_locale(
    tmp_path: Path, locale: dict[str, str]
) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **locale}
    plain = subprocess.run(["env"], capture_output=True, env=env, check=True)  # Python would set LC_CTYPE for itself
    words = [*HEADWAY, "record", "--no-agent", "-o", str(tmp_path / "r.headway"), "--", "env"]
    recorded = subprocess.run(words, capture_output=True, env=env, check=True)
    assert sorted(recorded.stdout.splitlines()) == sorted(plain.stdout.splitlines())


def test_an_argument_file_that_is_a_pipe_is_left_for_the_jvm_to_read(tmp_path: Path) -> None:
    words = " ".join([*HEADWAY, "record", "-o", str(tmp_path / "r.headway"), "--", JAVA_17])
    result = subprocess.run(["bash", "-c", f"{words} @<(echo --version)"], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith("openjdk 17")


def main_runs(recording: Path) -> bool:
    """Tell whether the agent has written of a JVM's main thread by now, which it does when the JVM is up."""
    agent_files = (recording / "spool").glob("agent-*.spool")
    spools = [path for path in agent_files if path.read_bytes().startswith(b"HWSPOOL")]  # which the agent writes last
    return any(start.name == "main" for path in spools for start in read_agent_spool(path).starts)


def _comparable(facts: dict[str, Any]) -> dict[str, Any]:
    """Leave out what differs between any two runs: the numbers of pipes, and who the parent happens to be."""
    facts["fds"] = {fd: target.split(":")[0] for fd, target in facts["fds"].items()}
    return {key: value for key, value in facts.items() if key not in ("session", "foreground")} | {"foreground": True}


def test_a_program_killed_by_a_signal_gives_128_plus_its_number(tmp_path: Path) -> None:
    result = headway("record", "-o", tmp_path / "r.headway", "--", "sh", "-c", "kill -SEGV $$")
    assert result.returncode == 128 + signal.SIGSEGV
    recorded = manifest(tmp_path / "r.headway")
    assert (recorded["signal"], recorded["ended_by"], recorded["state"]) == (signal.SIGSEGV, "exit", "complete")


def test_a_reader_that_leaves_ends_the_program_as_ever(tmp_path: Path) -> None:
    command = " ".join([*HEADWAY, "record", "-o", str(tmp_path / "r.headway"), "--", "seq", "100000000"])
    result = subprocess.run(
        ["bash", "-c", f"{command} | head -2; exit ${{PIPESTATUS[0]}}"], capture_output=True, text=True
    )
    assert result.stdout == "1\n2\n"
    assert result.returncode == 128 + signal.SIGPIPE
    assert manifest(tmp_path / "r.headway")["signal"] == signal.SIGPIPE


def test_closed_or_broken_error_streams_of_headway_change_nothing(tmp_path: Path) -> None:
    for number, redirect in enumerate(("2>&-", "2>/dev/full", "</dev/null >/dev/null 2>&1", "2> >(true)")):
        output = tmp_path / f"{number}.headway"
        command = " ".join([*HEADWAY, "record", "-o", str(output), "--", "sh", "-c", "'exit 5'", redirect])
        assert subprocess.run(["bash", "-c", command], check=False).returncode == 5, redirect
        assert manifest(output)["state"] == "complete"


def _has_begun_again(recording: Path, before: int) -> bool:
    return manifest(recording)["pid"] != before and sleeps(manifest(recording)["pid"])


def test_one_ctrl_c_ends_program_and_recording_and_still_reports(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    terminal = Terminal([*HEADWAY, "record", "-o", output, "--", "sh", "-c", "exec sleep 600"])
    try:
        wait_for(lambda: sleeps(manifest(output)["pid"]))
        terminal.press(b"\x03")
        assert terminal.wait() == 128 + signal.SIGINT
    finally:
        terminal.kill()
    assert b"headway: recorded" in terminal.output
    recorded = manifest(output)
    assert (recorded["state"], recorded["ended_by"], recorded["signal"]) == ("complete", "interrupt", signal.SIGINT)


def test_a_program_that_handles_ctrl_c_keeps_its_own_end(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    script = "trap 'echo caught; n=$((n+1)); test $n = 2 && exit 9' INT; echo ready; while true; do sleep 0.1; done"
    terminal = Terminal([*HEADWAY, "record", "-o", output, "--", "bash", "-c", script])
    try:
        terminal.wait_for_text(b"ready")
        terminal.press(b"\x03")
        terminal.wait_for_text(b"caught")
        time.sleep(0.3)
        assert lives(terminal.pid)  # the program decided to live, so the recording goes on
        terminal.press(b"\x03")
        assert terminal.wait() == 9
    finally:
        terminal.kill()
    assert terminal.output.count(b"caught") == 2  # each Ctrl-C reached it once, none was passed on a second time
    assert manifest(output)["state"] == "complete"


def test_a_second_ctrl_c_stops_finalising_and_leaves_a_recoverable_recording(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    before = 0
    for _ in range(30):  # finalising takes half a second: now and then it is over before the second one comes
        terminal = Terminal([*HEADWAY, "record", "--force", "-o", output, "--", "sh", "-c", "exec sleep 600"])
        try:
            wait_for(partial(_has_begun_again, output, before))
            terminal.press(b"\x03")
            wait_for(lambda: manifest(output)["ended_by"] == "interrupt")  # written just before finalising begins
            terminal.press(b"\x03")
            code = terminal.wait()
        finally:
            terminal.kill()
        assert code == 128 + signal.SIGINT, terminal.output
        assert b"Traceback" not in terminal.output
        if manifest(output)["state"] == "recording":
            break
        before = manifest(output)["pid"]
    assert b"HW052" in terminal.output
    assert manifest(output)["state"] == "recording"
    recovered = headway("recover", output)
    assert recovered.returncode == 0, recovered.stderr
    assert manifest(output)["state"] in ("complete", "partial")
    assert headway("parallelism", output, "--json").returncode == 0


def test_ctrl_c_reaches_a_jvm_whose_shutdown_hooks_run(tmp_path: Path, workloads: Path) -> None:
    output = tmp_path / "r.headway"
    command = [*HEADWAY, "record", "-o", output, "--", JAVA_17, "-cp", workloads, "headway.workloads.Phases", "60000"]
    terminal = Terminal(command)
    try:
        wait_for(lambda: catches(manifest(output)["pid"], signal.SIGINT) and main_runs(output))
        terminal.press(b"\x03")
        assert terminal.wait() == 128 + signal.SIGINT
    finally:
        terminal.kill()
    assert manifest(output)["state"] == "complete"


def test_a_thread_dump_asked_for_on_the_terminal_ends_neither_jvm_nor_headway(tmp_path: Path, workloads: Path) -> None:
    output = tmp_path / "r.headway"
    command = [*HEADWAY, "record", "-o", output, "--", JAVA_17, "-cp", workloads, "headway.workloads.Phases", "60000"]
    terminal = Terminal(command)
    try:
        wait_for(lambda: catches(manifest(output)["pid"], signal.SIGQUIT) and main_runs(output))
        terminal.press(b"\x1c")
        terminal.wait_for_text(b"Full thread dump")
        assert lives(terminal.pid)
        terminal.press(b"\x03")
        assert terminal.wait() == 128 + signal.SIGINT
    finally:
        terminal.kill()
    assert terminal.output.count(b"Full thread dump") == 1
    assert manifest(output)["state"] == "complete"


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT, signal.SIGUSR1])
def test_a_signal_sent_to_headway_alone_is_passed_on(tmp_path: Path, number: signal.Signals) -> None:
    output = tmp_path / "r.headway"
    script = f"trap 'echo got; exit 4' {number.name[3:]}; echo ready > {tmp_path}/ready; while true; do sleep 0.1; done"
    recorder = start_headway("record", "-o", output, "--", "bash", "-c", script)
    wait_for_file(tmp_path / "ready")
    recorder.send_signal(number)
    out, err = recorder.communicate(timeout=100)
    assert (recorder.returncode, out) == (4, "got\n"), err
    assert manifest(output)["ended_by"] == ("exit" if number == signal.SIGUSR1 else "interrupt")


COUNTS_SIGNALS = """
import os, signal, sys, time
counts = {}
told = open(sys.argv[1], "w", buffering=1)
def note(number, frame):
    counts[number] = counts.get(number, 0) + 1
    os.write(told.fileno(), b"!")
for number in (signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT): signal.signal(number, note)
os.write(told.fileno(), b"ready")
while not os.path.exists(sys.argv[2]): time.sleep(0.02)
print(sorted(counts.items()))
"""


@pytest.mark.parametrize("number", [signal.SIGUSR1, signal.SIGUSR2, signal.SIGINT])
def test_a_signal_sent_to_the_whole_process_group_reaches_the_program_once(
    tmp_path: Path, number: signal.Signals
) -> None:
    program = [sys.executable, "-c", COUNTS_SIGNALS, str(tmp_path / "ready"), str(tmp_path / "enough")]
    recorder = start_headway("record", "-o", tmp_path / "r.headway", "--", *program, start_new_session=True)
    ready = tmp_path / "ready"
    wait_for(lambda: ready.read_text() == "ready")
    os.killpg(recorder.pid, number)
    wait_for(lambda: ready.read_text() == "ready!")  # two signals of one kind that are pending at once are one
    time.sleep(0.5)
    os.kill(recorder.pid, number)  # and one to headway alone, which the program is to get: it would be the third
    wait_for(lambda: len(ready.read_text()) >= len("ready!!"))
    time.sleep(0.5)
    (tmp_path / "enough").touch()
    out, err = recorder.communicate(timeout=100)
    assert (recorder.returncode, out) == (0, f"[({number.value}, 2)]\n"), err


def test_nothing_of_headway_stays_when_it_is_killed(tmp_path: Path) -> None:
    script = f"echo $$ > {tmp_path}/pid; exec sleep 600"
    recorder = start_headway("record", "-o", tmp_path / "r.headway", "--", "sh", "-c", script)
    program = int(wait_for_file(tmp_path / "pid"))
    children = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children").read_text().split()
    recorder.kill()
    for other in set(map(int, children)) - {program}:
        wait_for(partial(_has_exited, other))
    assert lives(program)
    os.kill(program, signal.SIGKILL)
    recorder.communicate()


def test_the_program_stops_and_goes_on_with_headway_under_job_control(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    script = (
        f"echo $$ > {tmp_path}/pid; i=0; until test -e {tmp_path}/enough; do i=$((i+1)); echo tick $i; sleep 0.1; done; "
        "exit 3"
    )
    shell = Terminal(["bash", "--norc", "-i"])
    try:
        shell.press(
            " ".join([*HEADWAY, "record", "-o", str(output), "--", "bash", "-c", f"'{script}'"]).encode() + b"\n"
        )
        pid = int(wait_for_file(tmp_path / "pid"))
        shell.wait_for_text(b"tick 3")
        shell.press(b"\x1a")
        wait_for(lambda: state(pid) == "T")
        shell.wait_for_text(b"Stopped")  # the shell has its prompt back: headway stopped as well
        time.sleep(0.5)
        assert state(pid) == "T"
        (tmp_path / "enough").touch()
        shell.press(b"fg; echo code=$?\n")
        shell.wait_for_text(b"code=3")
    finally:
        shell.kill()
    recorded = manifest(output)
    assert (recorded["state"], recorded["exit_code"], recorded["losses"]["events"]) == ("complete", 3, 0)


def test_killing_the_recorder_leaves_the_program_running_and_a_recoverable_recording(
    tmp_path: Path, workloads: Path
) -> None:
    output = tmp_path / "r.headway"
    words = [*HEADWAY, "record", "-o", output, "--", JAVA_17, "-cp", workloads, "headway.workloads.OnRequest"]
    # It does what it is asked, a line at a time, and answers with one; nothing else may come out.
    with subprocess.Popen(
        list(map(str, words)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        bufsize=1,
    ) as recorder:
        assert recorder.stdin is not None
        assert recorder.stdout is not None
        answers, requests = recorder.stdout, recorder.stdin

        def ask(request: str) -> dict[str, Any]:
            requests.write(request + "\n")
            return dict(json.loads(answers.readline()))

        pid = json.loads(answers.readline())["pid"]
        assert ask("stay parked")["event"] == "stays"
        before_ns = time.monotonic_ns()
        wait_for(lambda: ask("park 1") and Spool(output / "spool").switches()["ts_ns"].max(initial=0) > before_ns)
        recorder.kill()
        recorder.wait()
        after_ns = time.monotonic_ns()
        assert lives(pid)
        refused = headway("parallelism", output)
        assert refused.returncode == 1
        assert "HW304" in refused.stderr
        assert ask("park 5")["times"] == 5  # it goes on
        requests.close()
        assert [json.loads(line)["event"] for line in answers] == ["done"]
    wait_for(lambda: state(pid) in ("gone", "Z"))
    recovered = headway("recover", output)
    assert recovered.returncode == 0, recovered.stderr
    assert f"headway: recovered {output} (partial: a part is missing; " in recovered.stderr
    recorded = manifest(output)
    assert (recorded["state"], recorded["ended_by"]) == ("partial", "recorder-died")
    assert "HW205" in notice_ids(output)
    assert before_ns < recorded["window"]["end_ns"] < after_ns
    parallelism = json.loads(headway("parallelism", output, "--json").stdout)
    assert parallelism["wall_ns"] == recorded["window"]["end_ns"] - recorded["window"]["start_ns"]
    names = {thread["name"] for thread in json.loads(headway("threads", output, "--json").stdout)}
    assert {"main", "parked"} <= names


def test_killing_the_jvm_leaves_a_full_report(tmp_path: Path, workloads: Path) -> None:
    output = tmp_path / "r.headway"
    recorder = start_headway(
        "record", "-o", output, "--", JAVA_17, "-cp", workloads, "headway.workloads.Phases", "60000"
    )
    wait_for(lambda: main_runs(output))
    os.kill(manifest(output)["pid"], signal.SIGKILL)
    _, err = recorder.communicate(timeout=100)
    assert recorder.returncode == 128 + signal.SIGKILL, err
    recorded = manifest(output)
    assert (recorded["state"], recorded["signal"], recorded["ended_by"]) == ("complete", signal.SIGKILL, "exit")
    assert any(thread["name"] == "main" for thread in json.loads(headway("threads", output, "--json").stdout))


def test_the_program_never_starts_when_headway_is_killed_before_it_is_released(tmp_path: Path) -> None:
    for attempt in range(30):  # between fork and release lies the loading of the BPF programs: some come too late
        output, marker = tmp_path / f"{attempt}.headway", tmp_path / f"ran-{attempt}"
        recorder = start_headway("record", "-o", output, "--", "touch", marker)
        children = Path(f"/proc/{recorder.pid}/task/{recorder.pid}/children")
        # The first is the group probe (record/program/group_signals.py), the second is to become the program.
        while len(found := children.read_text().split()) < 2 and recorder.poll() is None:
            pass
        recorder.send_signal(signal.SIGSTOP)
        wait_for(partial(_stands_still, recorder.pid))
        # Nobody can give the word any more. Was it not given before, the child comes to wait for it, and stays there.
        was_waiting = len(found) == 2 and _comes_to_wait(int(found[1]), marker)
        recorder.kill()
        recorder.communicate()
        if was_waiting:
            for child in found:
                wait_for(partial(_has_exited, int(child)))
            assert not marker.exists()
            return
    pytest.fail("headway was too fast thirty times")


def _has_exited(pid: int) -> bool:
    return state(pid) == "gone"


def _stands_still(pid: int) -> bool:
    return state(pid) in ("T", "Z", "gone")


def _comes_to_wait(child: int, marker: Path) -> bool:
    while not (waiting := waits_in_read(child)) and state(child) not in ("Z", "gone"):
        time.sleep(0.01)
    return waiting and not marker.exists()


def test_headways_own_threads_keep_off_the_programs_cpus(tmp_path: Path) -> None:
    program = (
        "import os,json\n"
        "me=os.getppid(); rows=[]\n"
        "for t in os.listdir(f'/proc/{me}/task'):\n"
        "    rows.append({'main': int(t)==me, 'cpus': sorted(os.sched_getaffinity(int(t)))})\n"
        "print(json.dumps({'mine': sorted(os.sched_getaffinity(0)), 'threads': rows}))\n"
    )
    result = headway("record", "-o", tmp_path / "r.headway", "--cpus", "0", "--", sys.executable, "-c", program)
    seen = json.loads(result.stdout)
    assert seen["mine"] == [0]
    assert {thread["main"] for thread in seen["threads"]} == {True, False}  # itself, and the collector's
    assert all(0 not in thread["cpus"] for thread in seen["threads"])
    assert manifest(tmp_path / "r.headway")["affinity"] == [0]


@pytest.mark.parametrize("words", [["record", "-o", "r.headway"], ["run", "-o", "r.headway"]])
def test_help_and_refusals_write_nothing_to_standard_output_of_a_program(tmp_path: Path, words: list[str]) -> None:
    result = headway(*words, "--", "sh", "-c", "echo only this", cwd=tmp_path)
    assert result.stdout == "only this\n"
    assert result.returncode == 0, result.stderr
