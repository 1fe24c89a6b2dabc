"""`headway sweep` as a process: small programs whose every run leaves a trace of its own."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.speedups.next_commands import beyond, next_command
from headway.analyses.speedups.runs import read_runs
from headway.store.sweep import Sweep, read_sweep
from support.drivers.recording_cli import HEADWAY, JAVA_17, Terminal, headway, start_headway, wait_for
from support.drivers.workloads import workloads_jar

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")


def sweep(*words: object, **options: Any) -> subprocess.CompletedProcess[str]:
    return headway("sweep", *words, **options)


def states(of: Sweep) -> dict[str, str]:
    return {run.name: run.state for run in of.runs}


def started(log: Path) -> list[str]:
    """Return what the programs wrote, a line per start."""
    return log.read_text().splitlines() if log.exists() else []


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """Return a program that notes its argument, says so on both streams, and ends as the file `exit-ARGUMENT` tells."""
    path = tmp_path / "program"
    path.write_text(
        '#!/bin/sh\ncd "$(dirname "$0")"\necho "$1" >> started\necho "out $1"\necho "err $1" >&2\ncat >> input\n'
        'exit "$(cat "exit-$1" 2>/dev/null || echo 0)"\n'
    )
    path.chmod(0o755)
    return path


def test_every_configuration_is_run_recorded_and_plain_and_its_output_goes_to_files(
    tmp_path: Path, program: Path
) -> None:
    output, given = tmp_path / "a.sweep", tmp_path / "given"
    given.write_text("some input\n")
    result = sweep(
        *("--sequential", f"{program} seq", "--parallel", f"{program} {{threads}}", "--threads", "1,2", "--repeat", 1),
        *("--input", given, "--region", "a=b", "-o", output),
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout == ""
    found = read_sweep(output)
    assert sorted(started(tmp_path / "started")) == ["1", "1", "2", "2", "seq", "seq"]
    assert set(states(found).values()) == {"complete"}
    assert (tmp_path / "input").read_text() == "some input\n" * 6
    for run in found.runs:
        name = "seq" if run.program == "sequential" else str(run.threads)
        assert (output / "runs" / f"{run.name}.out").read_text() == f"out {name}\n"
        assert (output / "runs" / f"{run.name}.err").read_text() == f"err {name}\n"
        assert run.wall_ns is not None
        assert run.wall_ns > 0
        assert run.warmup_excluded_ns is None
        assert (run.recording is not None) == run.recorded
        if run.recorded:
            recording = found.open(run)
            assert recording.wall_ns == run.wall_ns
            assert recording.manifest.extra["locks"]["threshold"] is None
    for place in range(1, 7):
        assert f"[{place}/6]" in result.stderr


def test_a_number_of_threads_that_fails_is_told_and_the_others_go_on_until_it_is_resumed(
    tmp_path: Path, program: Path
) -> None:
    output = tmp_path / "a.sweep"
    (tmp_path / "exit-2").write_text("7")
    words = ("--parallel", f"{program} {{threads}}", "--threads", "1,2", "--repeat", 1, "--retries", 1, "-o", output)
    result = sweep(*words)
    assert result.returncode == 1
    assert started(tmp_path / "started").count("2") == 2  # once, and once more; then no more with so many threads
    assert started(tmp_path / "started").count("1") == 2
    assert result.stderr.count("HW084") == 2
    assert "exit code 7" in result.stderr
    assert "HW053: parallel-2" not in result.stderr  # no JVM: a consequence of the failure, not another trouble
    assert "HW085" in result.stderr
    failed = [run for run in read_sweep(output).runs if run.state == "failed"]
    assert [(run.threads, run.exit_code, run.attempts) for run in failed] == [(2, 7, 2)]
    (tmp_path / "exit-2").unlink()
    (tmp_path / "elsewhere").mkdir()
    resumed = sweep("--resume", "../a.sweep", cwd=tmp_path / "elsewhere")
    assert resumed.returncode == 0, resumed.stderr
    assert set(states(read_sweep(output)).values()) == {"complete"}
    assert started(tmp_path / "started").count("1") == 2
    again = sweep("--resume", output, "--region", "a=b")
    assert again.returncode == 0, again.stderr
    assert [region.name for region in read_sweep(output).regions] == ["a"]
    assert len(started(tmp_path / "started")) == 2 + 2 + 2


def test_ctrl_c_ends_the_run_at_work_keeps_what_is_complete_and_says_how_to_go_on(tmp_path: Path) -> None:
    output, log = tmp_path / "a.sweep", tmp_path / "started"
    # Runs end at once until there are three; from then on they stay until they are interrupted, or the test lets them go.
    script = (
        f"echo {{threads}} >> {log}; test $(wc -l < {log}) -lt 3 || while ! test -e {tmp_path}/go; do sleep 0.05; done"
    )
    command = ("sweep", "--parallel", f'sh -c "{script}"', "--threads", "1", "--repeat", "3", "-o", str(output))
    terminal = Terminal([*HEADWAY, *command])
    try:
        wait_for(lambda: len(started(log)) == 3)
        terminal.press(b"\x03")
        assert terminal.wait() == 1
    finally:
        terminal.kill()
    assert b"HW085" in terminal.output
    assert b"headway sweep --resume" in terminal.output
    found = read_sweep(output)
    assert sorted(states(found).values()) == ["complete"] * 2 + ["planned"] * 4
    left = {run.name for run in found.runs if run.state == "complete"}
    assert {path.name.partition(".")[0] for path in (output / "runs").iterdir()} == left
    (tmp_path / "go").touch()
    assert sweep("--resume", output).returncode == 0
    assert len(started(log)) == 3 + 4
    assert set(states(read_sweep(output)).values()) == {"complete"}


def test_a_sweep_whose_headway_was_killed_is_resumed_and_two_never_run_one(tmp_path: Path) -> None:
    output, log = tmp_path / "a.sweep", tmp_path / "started"
    ended = tmp_path / "ended"
    script = (
        f"echo $$ >> {log}; test $(wc -l < {log}) -lt 2 || while ! test -e {tmp_path}/go; do sleep 0.05; done;"
        f" echo $$ >> {ended}"
    )
    words = ("--parallel", f'sh -c "{script}" {{threads}}', "--threads", "1", "--repeat", 1, "-o", output)
    process = start_headway("sweep", *words, start_new_session=True)
    try:
        wait_for(lambda: len(started(log)) == 2)
        busy = sweep("--resume", output)
        assert busy.returncode == 1
        assert "HW087" in busy.stderr
        process.kill()
        process.wait()
    finally:
        (tmp_path / "go").touch()
        process.kill()
        process.communicate()
    assert sorted(states(read_sweep(output)).values()) == ["complete", "planned"]
    wait_for(lambda: len(started(ended)) == 2)
    resumed = sweep("--resume", output)
    assert resumed.returncode == 0, resumed.stderr
    assert set(states(read_sweep(output)).values()) == {"complete"}


def test_all_before_the_marker_is_left_out_of_recorded_and_plain_runs(tmp_path: Path) -> None:
    output, log = tmp_path / "a.sweep", tmp_path / "times"
    # It goes on once its line is in the file, which is written after the line's time was taken.
    code = (
        "import glob, os, time\n"
        "print('cold', flush=True)\n"
        "before = time.monotonic_ns()\n"
        "os.write(2, b'it is warm now\\n')\n"
        "files = lambda: [open(name).read() for name in glob.glob('a.sweep/runs/*.err')]\n"
        "many = len(open('times').readlines()) if os.path.exists('times') else 0\n"
        "while sum('warm' in text for text in files()) <= many: time.sleep(0.01)\n"
        "with open('times', 'a') as file: print(before, time.monotonic_ns(), file=file)\n"
    )
    (tmp_path / "program.py").write_text(code)
    result = sweep(
        *("--parallel", f"{sys.executable} program.py {{threads}}", "--threads", "1", "--repeat", 1, "-o", output),
        *("--from-marker", "^it is warm"),
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    assert "HW088" in result.stderr
    found = read_sweep(output)
    times = [list(map(int, line.split())) for line in log.read_text().splitlines()]
    assert len(times) == len(found.runs) == 2
    for run, (before, seen) in zip(found.runs, times, strict=True):
        assert run.warmup_excluded_ns is not None
        assert run.wall_ns is not None
        assert 0 <= run.warmup_excluded_ns <= run.wall_ns
        if run.recorded:
            start = found.open(run).window_ns[0]
            assert before < start + run.warmup_excluded_ns <= max(start, seen)
        assert (output / "runs" / f"{run.name}.out").read_text() == "cold\n"
        assert (output / "runs" / f"{run.name}.err").read_text() == "it is warm now\n"


def test_a_run_without_the_marker_fails(tmp_path: Path, program: Path) -> None:
    output = tmp_path / "a.sweep"
    words = ("--parallel", f"{program} {{threads}}", "--threads", "1", "--repeat", 1, "-o", output)
    result = sweep(*words, "--from-marker", "never")
    assert result.returncode == 1
    assert "no line that it printed matches" in result.stderr
    assert {run.state for run in read_sweep(output).runs} == {"failed", "planned"}


def test_an_event_that_this_machine_does_not_count_is_refused_before_the_first_run(
    tmp_path: Path, program: Path
) -> None:
    from headway import _native

    if not _native.probe_hardware_counter()["errno"]:
        pytest.skip("this machine has a PMU")
    words = ("--parallel", f"{program} {{threads}}", "--threads", "1", "--sample", "cycles", "-o", tmp_path / "a.sweep")
    result = sweep(*words)
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("HW093: --sample cycles: ")
    assert not started(tmp_path / "started")
    assert not (tmp_path / "a.sweep").exists()


def test_what_is_there_is_replaced_only_if_it_is_a_sweep_and_on_request(tmp_path: Path, program: Path) -> None:
    output = tmp_path / "a.sweep"
    words = ("--parallel", f"{program} {{threads}}", "--threads", "1", "--repeat", 1, "-o", output)
    output.mkdir()
    (output / "mine").write_text("precious")
    for force in ((), ("--force",)):
        refused = sweep(*words, *force)
        assert refused.returncode == 1
        assert "HW089" in refused.stderr
    assert (output / "mine").read_text() == "precious"
    (output / "mine").unlink()
    output.rmdir()
    assert sweep(*words).returncode == 0
    assert "HW089" in sweep(*words).stderr
    assert sweep(*words, "--force").returncode == 0
    assert len(started(tmp_path / "started")) == 4


def test_a_java_program_is_swept_with_its_locks_samples_and_regions(tmp_path: Path) -> None:
    output = tmp_path / "a.sweep"
    run = f"{JAVA_17} -cp {workloads_jar()} headway.workloads.Phases 150"
    result = sweep(
        *("--sequential", f"{run} 2", "--parallel", f"{run} {{threads}}", "--threads", "2", "--repeat", 1),
        *("--sample", "cpu:1ms", "-o", output),
    )
    assert result.returncode == 0, result.stderr
    assert "HW086" in result.stderr  # it has two threads, too
    assert "HW493" in result.stderr
    found = read_sweep(output)
    assert found.regions_found
    assert any("Phases" in region.pattern for region in found.regions)
    for each in found.select("parallel"):
        (phase,) = map(json.loads, (output / "runs" / f"{each.name}.out").read_text().splitlines())
        assert phase["active"] == 2
        if each.recorded:
            recording = found.open(each)
            assert recording.has("sample")
            assert each.startup_ns is not None
            assert 0 < each.startup_ns < recording.wall_ns


def own_times(of: Sweep, name: str) -> list[tuple[int, int]]:
    """Return when each iteration ended by the program's own clock, and how long it took."""
    lines = (of.path / "runs" / f"{name}.out").read_text().splitlines()
    return [(int(line.split()[3]), int(line.split()[5])) for line in lines]


def test_iterations_that_warm_up_are_found_left_out_and_told(tmp_path: Path) -> None:
    count, warming = 30, 8
    program = f"{JAVA_17} -cp {workloads_jar()} headway.workloads.Warming"
    sizes = f"{count} {warming} 4000000"
    words = ("--sequential", f"{program} 1 {sizes}", "--parallel", f"{program} {{threads}} {sizes}", "--threads", 2)
    result = sweep(*words, "--repeat", 2, "--region", "work=Work.spin", "-o", tmp_path / "a.sweep")
    assert result.returncode == 0, result.stderr
    found = read_sweep(tmp_path / "a.sweep")
    assert found.warmup is not None
    left_out = found.warmup["iterations"]
    assert warming <= left_out <= count // 2, found.warmup
    assert f"the first {left_out} of {count} iterations" in result.stderr
    late_ns, slower = [], []
    for run in found.runs:
        own = own_times(found, run.name)
        assert run.warmup_excluded_ns is not None
        if run.recorded:  # its window begins at a time of the program's clock
            late_ns.append(run.warmup_excluded_ns - (own[left_out - 1][0] - found.open(run).window_ns[0]))
        slower.append(min(took for _, took in own[:warming]) / min(took for _, took in own[left_out:]))
    assert min(late_ns) >= 0  # a line comes after it was printed ...
    assert min(late_ns) < min(
        took for _, took in own_times(found, found.runs[0].name)[:warming]
    )  # ... and not an iteration later
    assert min(slower) > 1.5
    said = headway("speedups", tmp_path / "a.sweep", "--json")
    assert json.loads(said.stdout)["warmup"] == found.warmup
    assert "HW091" in [warning["id"] for warning in json.loads(said.stdout)["warnings"]]
    runs = read_runs(found)
    for limit in ("parallel_fraction", "work_inflation", "lock_contention", "waiting"):
        command = next_command(limit, "work", runs.sequential, runs.parallel[2])
        beyond_threads = beyond(
            command, runs.parallel[2]
        )  # of `headway threads`, where these short threads have no sample
        assert (" --from " in command) != bool(beyond_threads), command
        shown = headway(*shlex.split(command)[1:], cwd=tmp_path)
        assert shown.returncode == 0, (command, shown.stderr)


def test_nothing_is_left_out_where_that_is_asked_for(tmp_path: Path, program: Path) -> None:
    result = sweep(
        *("--parallel", f"{program} {{threads}}", "--threads", 1, "--repeat", 1, "--keep-warmup", "--region", "a=b"),
        *("-o", tmp_path / "a.sweep"),
    )
    assert result.returncode == 0, result.stderr
    found = read_sweep(tmp_path / "a.sweep")
    assert (found.auto_warmup, found.warmup) == (False, None)
    assert not list((tmp_path / "a.sweep/runs").glob("*.lines"))
