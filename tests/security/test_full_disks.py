"""A file system that fills up while a program is recorded: the program ends as without headway, what is recorded stays."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from headway.store import open_recording
from support.drivers.hostile_jvm import fake_jvm
from support.drivers.workloads import JAVAS, java_command

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")]
TASKS = 300
IN_A_SMALL_FILE_SYSTEM = """
place=$1 kept=$2; shift 2
mount -t tmpfs -o size=96m none "$place" || exit 99
"$@"; code=$?
rm -f "$place/fill"
cp -a "$place/r.headway" "$kept"
exit $code
"""
FILL = 'cat /dev/zero > "{place}/fill" 2>/dev/null; until [ "$(stat -f -c %a "{place}")" = 0 ]; do echo >> "{place}/fill"; done'


def recorded_until_it_is_full(tmp_path: Path, command: str, script: str) -> subprocess.CompletedProcess[str]:
    """Record a shell script that fills the disk which its recording is on, in a mount namespace; the recording is copied then."""
    place = tmp_path / "small"
    place.mkdir()
    words = [sys.executable, "-m", "headway", command, "-o", f"{place}/r.headway", "--", "sh", "-c"]
    fill = FILL.format(place=place)
    inside = ["sh", "-c", IN_A_SMALL_FILE_SYSTEM, "sh", str(place), str(tmp_path / "r.headway"), *words]
    return subprocess.run(
        ["unshare", "--mount", *inside, script.replace("FILL", fill)], capture_output=True, text=True, timeout=200
    )


@pytest.mark.parametrize("command", ["record", "run"])
def test_a_disk_that_is_full_to_its_last_byte_costs_the_program_nothing_and_no_record(
    tmp_path: Path, command: str
) -> None:
    java = shlex.join(java_command(JAVAS["jdk17"], "ThreadPerTask", TASKS))
    done = recorded_until_it_is_full(tmp_path, command, f"{java}; FILL; exit 7")
    assert done.returncode == 7, done.stderr
    assert f'"tasks": {TASKS}' in done.stdout
    said = "".join(line for line in done.stderr.splitlines() if "HW056" in line or "HW051" in line)
    assert f"{tmp_path}/small/r.headway" in said, done.stderr
    if "HW056" in said:  # headway's collector may have given some room back just before
        assert "r.headway is recorded but could not be finalised: No space left on device" in said
    for unwanted in ("Traceback", "OSError", "/proc/self/fd", "HW408", "HW053", "standard output"):
        assert unwanted not in done.stderr
    if "HW056" in said:
        words = [sys.executable, "-m", "headway", "recover", str(tmp_path / "r.headway")]
        recovered = subprocess.run(words, capture_output=True, text=True)
        assert recovered.returncode == 0, recovered.stderr
    ((tasks,),) = (
        open_recording(tmp_path / "r.headway").query("SELECT count(*) FROM thread WHERE name LIKE 'task-%'").fetchall()
    )
    assert tasks == TASKS, done.stderr


def test_a_disk_that_is_full_before_a_program_begins_is_named_and_nothing_is_started(tmp_path: Path) -> None:
    place = tmp_path / "small"
    place.mkdir()
    words = ["record", "-o", f"{place}/r.headway", "--", "touch", str(tmp_path / "started")]
    inside = f'mount -t tmpfs -o size=16m none "{place}" && {{ cat /dev/zero > "{place}/fill"; exec "$@"; }}'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", inside, "sh", sys.executable, "-m", "headway", *words],
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.returncode == 1
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("HW")]
    assert said.startswith(f"HW006: {place}/r.headway can't be written: only 0.0 MiB are free")
    assert not (tmp_path / "started").exists()


@pytest.mark.alone
@pytest.mark.parametrize("form", [[], ["--json"]])
def test_a_disk_that_is_full_is_named_by_dump_and_no_half_file_stays(tmp_path: Path, form: list[str]) -> None:
    place = tmp_path / "small"
    place.mkdir()
    full = f'mount -t tmpfs -o size=16k none "{place}" && cat /dev/zero > "{place}/fill"'
    inside = f'{full}; "$@"; code=$?; ls -A "{place}"; exit $code'
    with fake_jvm([], "a whole table") as process:
        words = ["dump", "--pid", str(process.pid), "-o", f"{place}/locks", *form]
        done = subprocess.run(
            ["unshare", "--mount", "sh", "-c", inside, "sh", sys.executable, "-m", "headway", *words],
            capture_output=True,
            text=True,
            timeout=100,
        )
    assert done.returncode == 1, done.stderr
    (said,) = [line for line in done.stderr.splitlines() if line.startswith("HW")]
    assert f"{place}/locks" in said
    assert "No space left on device" in said
    assert done.stdout.split() == ["fill"]
