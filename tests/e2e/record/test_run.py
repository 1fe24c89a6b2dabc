"""`headway run -- CMD`: record, findings on standard error, recording and page beside each other."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
from pathlib import Path

import pytest

from headway.analyses.scheduling.recording_cost import recording_cost
from headway.report.terminal.closing import LEAST_TIMED
from headway.store import open_recording
from support.drivers.recording_cli import HEADWAY, JAVA_17, headway, manifest, start_headway

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")


def test_run_prints_the_findings_and_writes_recording_and_page(tmp_path: Path, workloads: Path) -> None:
    words = [JAVA_17, "-cp", workloads, "headway.workloads.Phases", "100", "1,2,0"]
    result = headway("run", "--", *words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert [line[:9] for line in result.stdout.splitlines()] == ['{"event":'] * 3  # the program's own lines, no other
    names = sorted(os.listdir(tmp_path))
    assert len(names) == 2
    assert re.fullmatch(r"Phases-\d{8}-\d{6}\.headway", names[0])
    assert names[1] == names[0].replace(".headway", ".html")
    assert manifest(tmp_path / names[0])["state"] == "complete"
    assert "<html" in (tmp_path / names[1]).read_text()[:500]
    assert names[0] in result.stderr
    assert names[1] in result.stderr
    assert "active" in result.stderr
    tables, _, last = result.stderr.partition("\n\nThe program used ")
    assert all(len(line) <= 80 for line in tables.splitlines() if not line.startswith(("headway: ", "  next: ")))
    assert re.match(r"[\d.]+ of \d+ cores? on average, for ", last)
    assert last.splitlines()[2].startswith("Next: ")
    recorded = manifest(tmp_path / names[0])
    assert recorded["locks"]["problem"] is None  # recorded, though nobody asked for them
    assert recorded["sampling"]["events"] == ["cpu"]
    is_known = recording_cost(open_recording(tmp_path / names[0])).timed >= LEAST_TIMED
    took = (
        r"cost the program about [\d.]+ [num]?s of its CPU time in the lock hooks"
        if is_known
        else "what the lock hooks took is not known"
    )
    assert re.search(f"headway: .*{took}", last)


def test_of_a_command_that_failed_the_exit_code_is_told_and_nothing_else_but_the_recording_is_there(
    tmp_path: Path, workloads: Path
) -> None:
    result = headway("run", "--", JAVA_17, "-cp", workloads, "headway.workloads.Exit", "code", "42", cwd=tmp_path)
    assert result.returncode == 42
    (line,) = (line for line in result.stderr.splitlines() if line.startswith("headway: "))
    assert line.startswith("headway: the program ended with exit code 42 (recorded all the same: ")
    assert "cores" not in result.stderr
    (page,) = (name for name in os.listdir(tmp_path) if name.endswith(".html"))
    assert line.endswith(f"; report: {tmp_path / page})")


def test_a_program_that_is_stopped_by_an_interrupt_has_not_failed(tmp_path: Path) -> None:
    words = ("sh", "-c", "sleep 0.2; kill -INT $$")
    result = headway("run", "-o", tmp_path / "x.headway", "--", *words, cwd=tmp_path)
    assert result.returncode == 130, result.stderr
    assert re.search(r"The program used .*, until SIGINT ended it", result.stderr)


def test_of_a_run_that_ctrl_c_ended_the_closing_lines_say_so(tmp_path: Path) -> None:
    started = "touch started; exec sleep 60"
    with start_headway("run", "-o", tmp_path / "x.headway", "--", "sh", "-c", started, cwd=tmp_path) as running:
        deadline = time.monotonic() + 60
        while not (tmp_path / "started").exists():
            assert time.monotonic() < deadline
            time.sleep(0.005)
        running.send_signal(signal.SIGINT)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 130, errors
    assert re.search(r"The program used .*, until it was interrupted", errors)


def test_run_leaves_locks_and_samples_out_when_it_is_told_to(tmp_path: Path, workloads: Path) -> None:
    words = ("--no-locks", "--sample", "none", "--", JAVA_17, "-cp", workloads, "headway.workloads.Phases", "50", "1,0")
    result = headway("run", "-o", tmp_path / "x.headway", *words, cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    recorded = manifest(tmp_path / "x.headway")
    assert "blocker" not in recorded["tables"]
    assert "sample" not in recorded["tables"]
    assert "recording cost" not in result.stderr


def test_run_needs_no_double_dash_and_passes_the_programs_options_on(tmp_path: Path) -> None:
    result = headway("run", "-o", tmp_path / "x.headway", "printf", "%s\n", "--help", "-o", cwd=tmp_path)
    assert result.stdout == "--help\n-o\n"
    assert sorted(os.listdir(tmp_path)) == ["x.headway", "x.html"]


def test_what_weakens_the_figures_is_told_once(tmp_path: Path) -> None:
    result = headway("run", "-o", tmp_path / "x.headway", "--", "true", cwd=tmp_path)
    assert result.stderr.count("HW053") == 1, result.stderr


def test_two_runs_in_the_same_second_do_not_collide(tmp_path: Path) -> None:
    from headway.record.session.plan import default_output

    first = default_output(["java", "-jar", "app.jar"], tmp_path)
    first.mkdir()
    second = default_output(["java", "-jar", "app.jar"], tmp_path)
    assert first != second
    assert not second.exists()
    assert first.name.startswith("app-")


def test_a_report_that_is_there_already_is_refused_before_the_program_runs_and_replaced_with_force(
    tmp_path: Path,
) -> None:
    page = tmp_path / "x.html"
    page.write_text("mine")
    refused = headway("run", "-o", tmp_path / "x.headway", "--", "touch", tmp_path / "ran", cwd=tmp_path)
    assert refused.returncode == 1
    assert "HW500" in refused.stderr
    assert sorted(os.listdir(tmp_path)) == ["x.html"]
    assert page.read_text() == "mine"
    forced = headway("run", "-o", tmp_path / "x.headway", "--force", "--", "sh", "-c", "exit 7", cwd=tmp_path)
    assert forced.returncode == 7, forced.stderr
    assert "<html" in page.read_text()[:500]


def test_a_directory_in_the_reports_place_is_refused_before_the_program_runs_even_with_force(tmp_path: Path) -> None:
    (tmp_path / "x.html").mkdir()
    refused = headway("run", "-o", tmp_path / "x.headway", "--force", "--", "touch", tmp_path / "ran", cwd=tmp_path)
    assert refused.returncode == 1
    assert refused.stderr.startswith("HW501: ")
    assert "it is a directory" in refused.stderr
    assert os.listdir(tmp_path) == ["x.html"]


def test_a_report_that_cannot_be_written_is_told_and_the_exit_code_stays_the_programs(tmp_path: Path) -> None:
    words = ("sh", "-c", "mkdir x.html; exit 7")
    result = headway("run", "-o", tmp_path / "x.headway", "--force", "--", *words, cwd=tmp_path)
    assert result.returncode == 7
    assert "HW501" in result.stderr
    assert manifest(tmp_path / "x.headway")["state"] == "complete"


def test_the_report_is_written_even_if_whoever_read_the_findings_left(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    words = [*HEADWAY, "run", "-o", str(tmp_path / "x.headway"), "--", "sh", "-c", "exit 7"]
    try:
        done = subprocess.run(words, stderr=write, timeout=240, check=False)
    finally:
        os.close(write)
    assert done.returncode == 7
    assert "<html" in (tmp_path / "x.html").read_text()[:500]


def test_run_without_a_command_is_wrong_usage(tmp_path: Path) -> None:
    result = headway("run", cwd=tmp_path)
    assert result.returncode == 2
    assert os.listdir(tmp_path) == []


def test_run_of_a_missing_command_leaves_nothing(tmp_path: Path) -> None:
    result = headway("run", "--", "no-such-program-here", cwd=tmp_path)
    assert result.returncode == 127
    assert "HW001" in result.stderr
    assert os.listdir(tmp_path) == []


def is_in(pid: int, kind: str, number: signal.Signals) -> bool:
    """Return whether the first thread of a process blocks a signal (SigBlk), or catches it (SigCgt)."""
    (line,) = (line for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith(f"{kind}:"))
    return bool(int(line.split()[1], 16) >> (number - 1) & 1)


@pytest.mark.parametrize(("number", "reason"), [(signal.SIGINT, "you interrupted"), (signal.SIGTERM, "SIGTERM came")])
def test_a_signal_during_the_findings_leaves_a_complete_recording_and_the_program_s_exit_code(
    tmp_path: Path, workloads: Path, number: signal.Signals, reason: str
) -> None:
    words = [JAVA_17, "-cp", workloads, "headway.workloads.Phases", "100", "1,2,0"]
    directory = tmp_path / "x.headway"
    with start_headway("run", "-o", directory, "--", *words, cwd=tmp_path) as running:
        deadline = time.monotonic() + 60
        while not (directory / "manifest.json").exists() or manifest(directory)["state"] != "complete":
            assert time.monotonic() < deadline
            time.sleep(0.005)
        # As long as it is held back, what comes is still about the recording; then headway listens for it.
        while is_in(running.pid, "SigBlk", number) or not is_in(running.pid, "SigCgt", number):
            assert time.monotonic() < deadline
            time.sleep(0.005)
        running.send_signal(number)
        _, errors = running.communicate(timeout=60)
    assert running.returncode == 0, errors
    assert "HW508: " in errors
    assert reason in errors
    assert f"headway report {directory}" in errors
    assert f"headway: recording {directory}" in errors
    assert not directory.with_suffix(".html").exists()
    assert headway("report", directory, cwd=tmp_path).returncode == 0
    assert directory.with_suffix(".html").exists()
