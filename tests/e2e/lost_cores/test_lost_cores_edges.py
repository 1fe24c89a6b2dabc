"""`headway why` at the edges: no blocking, only sleeping, thousands of threads, several JVMs, the JVM's start."""

from __future__ import annotations

import json
import os
import resource
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from lib import lost_programs
from lib.lost_programs import PRECISE, TARGET, Comparison
from support.drivers.recording_cli import JAVA_17, account, headway
from support.drivers.workloads import workloads_jar

pytestmark = [pytest.mark.alone, pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")]
TRIES = 3
"""How often a program is recorded until noise is small enough that a wrong account would be told from a right one."""


def play(directory: Path, case: str, *options: str, size: float = 0.8, rounds: int = 3, **run: Any) -> tuple[Path, str]:
    """Record one case and return the recording and what the program said."""
    directory.mkdir(exist_ok=True)
    output = directory / f"{case}.headway"
    workloads_jar()
    record, *rest = lost_programs.command_of(output, JAVA_17, [case], size, rounds, 0)
    done = headway(record, *options, *rest, **run)
    assert done.returncode == 0, done.stderr
    return output, done.stdout


def lost(of: dict[str, Any], *causes: str) -> int:
    """Return the core time lost to some causes."""
    return sum(row["core_ns"] for row in of["lost"] if row["cause"] in causes)


def during(recording: Path, output: str, case: str) -> dict[str, Any]:
    """Return the account of the time in which a case played."""
    begin, end = lost_programs.window(open_recording(recording), lost_programs.played(output)[case])
    return account(recording, "--from", f"{begin}ns", "--to", f"{end}ns")


def compared(of: dict[str, Any], recording: Path, output: str, case: str) -> Comparison:
    """Compare an account with what the program knows."""
    played = lost_programs.played(output)[case]
    return lost_programs.compare(played, of, lost_programs.ready(open_recording(recording), played))


def test_a_program_that_only_sleeps_loses_all_its_cores_to_sleep(tmp_path: Path) -> None:
    reasons = []
    for number in range(TRIES):
        recording, said = play(tmp_path / str(number), "sleep", size=1.0)
        found = compared(during(recording, said, "sleep"), recording, said, "sleep")
        if reason := found.undecided():
            reasons.append(reason)
            continue
        assert found.share("sleep") >= TARGET, found
        assert found.excess("sleep") <= PRECISE, found
        assert found.wrong() <= PRECISE, found
        return
    pytest.skip("; ".join(reasons))


def test_a_program_that_never_blocks_loses_nothing_to_waiting(tmp_path: Path) -> None:
    recording, said = play(tmp_path, "busy")
    of = during(recording, said, "busy")
    # Its threads wait for a core only; at its rounds' ends, for each other: that is what it cannot name.
    waited = of["lost_ns"] - lost(of, "scheduler")
    assert waited <= lost_programs.played(said)["busy"].unnamed_ns + PRECISE * of["core_ns"], of["lost"]


def test_a_program_that_may_use_one_cpu_is_accounted_for_one_core(tmp_path: Path) -> None:
    one = {min(os.sched_getaffinity(0))}
    recording, said = play(tmp_path, "busy", preexec_fn=lambda: os.sched_setaffinity(0, one))
    of = during(recording, said, "busy")
    assert (of["cores"], of["core_ns"]) == (1, of["wall_ns"])
    # Its threads share the CPU, so there is always one that runs.
    assert of["lost_ns"] <= PRECISE * of["core_ns"], of["lost"]


def test_ten_thousand_threads_are_accounted_for_and_counted_without_a_descriptor_each(tmp_path: Path) -> None:
    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))

    recording, said = play(tmp_path, "crowd", "--counters", "page-faults", rounds=1, preexec_fn=few)
    of = during(recording, said, "crowd")
    (threads,) = open_recording(recording).query("SELECT count(*) FROM thread WHERE name LIKE 'crowd-%'").fetchall()[0]
    assert threads == 10_100, "10,000 at once, and 100 in the round before"
    assert lost(of, "unknown") <= PRECISE * of["core_ns"]
    rows = json.loads(headway("counters", recording, "--json").stdout)["threads"]
    crowd = [row for row in rows if row["name"].startswith("crowd-")]
    assert len(crowd) == threads
    # Each has touched its stack: at least one page is new, in a slice that was counted from its beginning.
    assert all(row["counts"]["page-faults"]["low"] > 0 for row in crowd if row["counted_ns"] == row["cpu_ns"])
    assert sum(row["counted_ns"] == row["cpu_ns"] for row in crowd) > 0.9 * threads


def test_before_main_cores_are_lost_to_the_start_of_the_jvm(tmp_path: Path) -> None:
    output, said = play(tmp_path, "alone", rounds=1)
    recording = open_recording(output)
    began_ns = json.loads(said.splitlines()[0])["ns"]
    (begun_ns, started_ns) = recording.query(
        "SELECT min(start_ns), max(start_ns + dur_ns) FROM jvm_phase WHERE kind = 'startup'"
    ).fetchall()[0]  # fmt: skip
    origin_ns = recording.window_ns[0]
    assert origin_ns < begun_ns < started_ns <= began_ns
    of = account(output, "--from", f"{begun_ns - origin_ns}ns", "--to", f"{started_ns - origin_ns}ns")
    own = of["lost_ns"] - lost(of, "scheduler")  # late, but ready: the machine's doing
    assert lost(of, "jvm_start") >= TARGET * own


def test_the_bound_of_a_start_is_the_run_without_it(tmp_path: Path) -> None:
    reasons = []
    for number in range(TRIES):
        output, said = play(tmp_path / str(number), "busy")
        recording = open_recording(output)
        ((start_ns, dur_ns),) = recording.query(
            "SELECT start_ns, dur_ns FROM jvm_phase WHERE kind = 'startup'"
        ).fetchall()
        begin_ns, end_ns = start_ns - recording.window_ns[0], lost_programs.played(said)["busy"].end_ns
        of = account(output, "--from", f"{begin_ns}ns", "--to", f"{end_ns - recording.window_ns[0]}ns")
        without = of["wall_ns"] / (of["wall_ns"] - dur_ns)
        # If its work had still to be done, by threads that never block, on the cores that others left:
        work_ns = sum(ns for kind, ns in of["used"].items() if kind != "headway")
        with_work = max(of["core_ns"] - (of["other_processes_ns"] or 0), work_ns) / work_ns
        if with_work >= 0.98 * without:
            reasons.append(f"{with_work:.2f} with the start's work, {without:.2f} without it")
            continue
        (bound,) = {row["bound_speedup"] for row in of["lost"] if row["cause"] == "jvm_start" and row["bound_speedup"]}
        assert with_work < bound <= 1.01 * without
        return
    pytest.skip("; ".join(reasons))


def two_jvms(output: Path) -> tuple[dict[str, int], dict[str, Any]]:
    """Record two JVMs at once, one that sleeps and one with a lock; return their pids and the account of the time of both."""
    workloads_jar()
    shell, pids = "", {}
    for case, rounds in (("sleep", 25), ("lock", 12)):
        words = " ".join(lost_programs.command([case], 1.0, rounds)).replace("java ", f"{JAVA_17} ", 1)
        shell += f"{words} & echo {case} $!; "
    done = headway("record", "--locks", "-o", output, "--", "sh", "-c", f"{shell} wait")
    assert done.returncode == 0, done.stderr
    for line in done.stdout.splitlines():
        if line.startswith(("sleep ", "lock ")):
            pids[line.split()[0]] = int(line.split()[1])
    windows = [
        lost_programs.window(open_recording(output), case) for case in lost_programs.played(done.stdout).values()
    ]
    begin, end = max(begin for begin, _ in windows), min(end for _, end in windows)
    return pids, account(output, "--from", f"{begin}ns", "--to", f"{end}ns") if begin < end else {}


def test_two_jvms_in_one_recording_each_have_their_causes(tmp_path: Path) -> None:
    reasons = []
    for number in range(TRIES):
        pids, of = two_jvms(tmp_path / f"{number}.headway")
        if not of or of["lost_ns"] < 0.1 * of["core_ns"]:
            reasons.append(f"{of['lost_ns'] / 1e6:.0f} core-ms lost" if of else "they did not play at once")
            continue
        for case, cause in (("sleep", "sleep"), ("lock", "lock_contention")):
            by_pid = {
                pid: sum(row["core_ns"] for row in of["lost"] if (row["cause"], row["place"]["pid"]) == (cause, pid))
                for pid in pids.values()
            }
            assert by_pid[pids[case]] >= TARGET * sum(by_pid.values()) > 0, of["lost"]
        return
    pytest.skip("others had the cores: " + "; ".join(reasons))


def test_a_jvm_ends_from_its_shutdown_hooks_on_until_its_process_is_gone(tmp_path: Path) -> None:
    output, said = play(tmp_path, "end", rounds=8)
    recording = open_recording(output)
    hook = lost_programs.played(said)["end"]
    (main_over_ns,) = (line["ns"] for line in map(json.loads, said.splitlines()) if line["event"] == "ended")
    ((start_ns, end_ns),) = recording.query(
        "SELECT start_ns, start_ns + dur_ns FROM jvm_phase WHERE kind = 'shutdown'"
    ).fetchall()
    assert main_over_ns <= start_ns < hook.end_ns <= end_ns
    ((gone_ns,),) = recording.query(
        "SELECT max(end_ns) FROM thread WHERE tid = pid AND pid = (SELECT pid FROM jvm_phase WHERE kind = 'shutdown')"
    ).fetchall()
    assert gone_ns == end_ns
