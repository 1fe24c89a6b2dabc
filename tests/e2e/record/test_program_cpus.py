"""The cores of an account are those that the program may use, whoever decides that and whenever."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from headway.store import open_recording
from lib import lost_programs
from lib.lost_programs import PRECISE
from support.drivers.recording_cli import JAVA_17, account, headway, manifest, notice_ids, start_headway, wait_for
from support.drivers.workloads import workloads_jar

CPUS = sorted(os.sched_getaffinity(0))
pytestmark = [
    pytest.mark.alone,
    pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF"),
    pytest.mark.skipif(len(CPUS) < 2, reason="needs two CPUs"),
]
ROUNDS = 6


def program(rounds: int = ROUNDS) -> list[str]:
    """Return a program of two threads that work all the time."""
    workloads_jar()
    _, *rest = lost_programs.command(["busy"], 1.0, rounds)
    return [JAVA_17, *rest]


def recorded(output: Path, wrapper: list[str]) -> dict[str, Any]:
    """Record the program behind a wrapper; return the account of the time in which it worked."""
    done = headway("record", "-o", output, "--", *wrapper, *program())
    assert done.returncode == 0, done.stderr
    begin, end = lost_programs.window(open_recording(output), lost_programs.played(done.stdout)["busy"])
    return account(output, "--from", f"{begin}ns", "--to", f"{end}ns")


def assert_one_core(recording: Path, of: dict[str, Any]) -> None:
    """Its threads share the CPU, so that there is always one that runs: none of it is lost."""
    assert manifest(recording)["recorded_cores"] == 1
    assert (of["cores"], of["core_ns"]) == (1, of["wall_ns"])
    assert of["lost_ns"] <= PRECISE * of["core_ns"], of["lost"]


@contextlib.contextmanager
def cpuset(cpu: int) -> Iterator[Path]:
    """A cgroup with a cpuset of one CPU, of version 1 or 2; skips where this machine lets nobody make one."""
    for root in (Path("/sys/fs/cgroup/cpuset"), Path("/sys/fs/cgroup")):
        group = root / f"headway-test-{os.getpid()}"
        try:
            group.mkdir()
        except OSError:
            continue
        try:
            (group / "cpuset.cpus").write_text(str(cpu))
            if (mems := root / "cpuset.mems").exists():  # version 1 has none before it is told
                (group / "cpuset.mems").write_text(mems.read_text())
            yield group
        except OSError:
            continue
        finally:
            group.rmdir()
        return
    pytest.skip("no cgroup with a cpuset can be made here")


@pytest.mark.skipif(shutil.which("taskset") is None, reason="needs taskset")
def test_a_program_that_its_command_binds_to_one_cpu_is_accounted_for_one_core(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    assert_one_core(output, recorded(output, ["taskset", "--cpu-list", str(CPUS[0])]))
    assert manifest(output)["affinity"] == CPUS[:1]
    assert "HW070" not in notice_ids(output)


def test_a_program_in_a_container_s_cpuset_is_accounted_for_the_cpus_of_that(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    with cpuset(CPUS[1]) as group:
        enter = ["sh", "-c", 'echo $$ > "$0" && exec "$@"', str(group / "cgroup.procs")]
        of = recorded(output, enter)
    assert_one_core(output, of)
    assert manifest(output)["affinity"] == [CPUS[1]]


def test_cpus_that_change_meanwhile_are_told_and_a_part_can_be_accounted_for_by_itself(tmp_path: Path) -> None:
    output = tmp_path / "r.headway"
    # It works for eight seconds by two CPUs: long after the samples that are waited for, two a second. Among so many are several
    # looks at the affinity: where there are many processes, they are rarer than samples.
    with start_headway("record", "-o", output, "--", *program(32 * ROUNDS)) as recorder:
        try:
            wait_for(lambda: recorder_sampled(output, 9))
            pid = manifest(output)["pid"]
            for tid in os.listdir(f"/proc/{pid}/task"):
                os.sched_setaffinity(int(tid), CPUS[:1])
            said, err = recorder.communicate(timeout=200)
        finally:
            recorder.kill()
    assert recorder.returncode == 0, err
    assert manifest(output)["affinity"] == CPUS
    assert "HW070" in notice_ids(output)
    played = lost_programs.played(said)["busy"]
    origin_ns = open_recording(output).window_ns[0]
    (notice,) = (each for each in manifest(output)["notices"] if each["id"] == "HW070")
    words = notice["remedy"].split()
    part = account(output, *words[words.index("--from") :], "--to", f"{played.end_ns - origin_ns}ns")
    assert part["cores"] == 1
    assert part["lost_ns"] <= PRECISE * part["core_ns"], part["lost"]


def recorder_sampled(output: Path, times: int) -> bool:
    """Tell whether the recorder has taken so many samples."""
    lines = (output / "spool" / "counters.jsonl").read_text().splitlines()
    return len({json.loads(line)["ns"] for line in lines}) >= times
