"""Units of whole sockets, counted for real: sysfs trees of the kernel's own format, whose events this machine can count.

Most virtual machines show no unit of whole sockets. What such a tree names is opened as any of them is: on each CPU of
its cpumask, whoever runs there; the time stamp counter, the kernel's clock and page faults stand for what an uncore PMU counts.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from support.builders.sysfs_units import make_units, software_unit, time_stamp_unit
from support.drivers.ordinary_user import ordinary_user
from support.drivers.recording_cli import headway, manifest

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="counts whole CPUs, which needs root")
WITH_TREE = """
import sys
from pathlib import Path
from headway.record.counters import events
events.DEVICES = Path(sys.argv[1])
from headway.cli.main import main
sys.argv = ["headway", *sys.argv[2:]]
sys.exit(main())
"""
# Touches pages on the first CPU, as many as it says, while it is bound there.
PROGRAM = """
import ctypes, mmap, os, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
pages = mmap.mmap(-1, 4096 * 2000, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
pages.madvise(mmap.MADV_NOHUGEPAGE)
for at in range(0, 4096 * 2000, 4096):
    pages[at] = 1
"""


def with_tree(devices: Path, *words: object) -> subprocess.CompletedProcess[str]:
    """Run a headway command on a machine whose counting units are those of a tree."""
    command = [sys.executable, "-c", WITH_TREE, str(devices), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=240)


def units_of(path: Path, *words: object) -> dict[str, Any]:
    done = headway("counters", path, "--json", *words)
    assert done.returncode == 0, done.stderr
    return {each["unit"]: each for each in json.loads(done.stdout)["socket_units"]}


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Record a program with two units, one of which is read on the first CPU alone, beside counts of its threads."""
    folder = tmp_path_factory.mktemp("units")
    first, *_ = cpus = sorted(os.sched_getaffinity(0))
    units = {"uncore_soft_0": software_unit(",".join(map(str, cpus))), "uncore_tick": software_unit(str(first))}
    if os.uname().machine == "x86_64":
        units["uncore_tick"] = time_stamp_unit(str(first))
    devices = make_units(folder / "devices", units)
    ticks = "uncore_tick/ticks/" if "events/ticks" in units["uncore_tick"] else "uncore_tick/clock/"
    groups = f"page-faults;uncore_soft_0/clock/,uncore_soft_0/faults/;uncore_soft_0/never/;uncore_soft_0/none/;{ticks}"
    words = ("record", "--mode", "ebpf", "--no-agent", "--counters", groups, "--counter-scope", "thread+cpu")
    done = with_tree(devices, *words, "-o", folder / "a.headway", "--", sys.executable, "-c", PROGRAM)
    assert done.returncode == 0, done.stderr
    assert "HW107" in done.stderr
    return folder / "a.headway"


def test_each_unit_is_read_on_the_cpus_of_its_cpumask(path: Path) -> None:
    found = units_of(path)
    cpus = sorted(os.sched_getaffinity(0))
    assert [row["cpu"] for row in found["uncore_soft_0"]["cpus"]] == cpus
    assert [row["cpu"] for row in found["uncore_tick"]["cpus"]] == cpus[:1]
    packages = {each["cpu"]: each["package"] for each in manifest(path)["host"]["topology"]}
    assert [row["socket"] for row in found["uncore_soft_0"]["cpus"]] == [packages[cpu] for cpu in cpus]


def test_the_clock_of_a_unit_is_the_time_between_its_readings(path: Path) -> None:
    """The kernel's clock of a CPU goes on all the time: what it counts is the time in which the counter was enabled."""
    unit = units_of(path)["uncore_soft_0"]
    counter = {row["cpu"]: row for row in manifest(path)["socket_counters"][0]["rows"] if row["counter"] == 0}
    for row in unit["cpus"]:
        clock = row["counts"]["uncore_soft_0/clock/"]
        assert clock["value"] == counter[row["cpu"]]["value"]
        assert clock["value"] == pytest.approx(counter[row["cpu"]]["enabled_ns"], rel=0.01)
    total = unit["total"]["uncore_soft_0/clock/"]["value"]
    amount = unit["amounts"]["uncore_soft_0/clock/"]
    assert (amount["unit"], amount["value"]) == ("ms", pytest.approx(total / 1e6))


def test_page_faults_of_a_unit_are_at_least_those_of_the_programs_threads_on_its_cpus(path: Path) -> None:
    unit = units_of(path)["uncore_soft_0"]
    mine = json.loads(headway("counters", path, "--json", "--by", "cpu").stdout)["cpus"]
    whole = {row["cpu"]: row["counts"]["uncore_soft_0/faults/"]["value"] for row in unit["cpus"]}
    for row in mine:
        assert whole[row["cpu"]] >= row["counts"]["page-faults"]["low"]
    assert whole[min(whole)] >= 2000


def test_what_reads_zero_is_withheld_and_what_does_not_open_is_absent(path: Path) -> None:
    unit = units_of(path)["uncore_soft_0"]
    never = unit["total"]["uncore_soft_0/never/"]
    assert (never["value"], "nothing tells from not counting" in never["withheld"]) == (None, True)
    assert [each["event"] for each in unit["absent"]] == ["uncore_soft_0/none/"]


def test_units_are_a_section_of_their_own_and_never_in_a_row_of_a_thread(path: Path) -> None:
    shown = headway("counters", path).stdout
    assert "Counts of units of whole sockets, whatever ran there" in shown
    assert "uncore_soft_0/clock/" in shown.partition("Counts of units of whole sockets")[2]
    answer = json.loads(headway("counters", path, "--json").stdout)
    assert answer["threads"]
    assert all({*row["counts"]} == {"page-faults"} for row in answer["threads"])
    assert "socket_units" not in json.loads(headway("counters", path, "--json", "--to", "1ms").stdout)


@pytest.mark.skipif(os.uname().machine != "x86_64", reason="reads the time stamp counter of x86")
def test_a_unit_of_one_cpu_counts_at_the_rate_of_the_time_stamp_counter(path: Path, tmp_path: Path) -> None:
    """Of two recordings, between whose readings different times lie, the ticks a ns agree."""
    rows = [row for unit in manifest(path)["socket_counters"] if unit["unit"] == "uncore_tick" for row in unit["rows"]]
    (row,) = rows
    words = ("--mode", "perf-switch", "--no-agent", "--counters", "msr/tsc/", "--counter-scope", "cpu")
    done = headway("record", *words, "-o", tmp_path / "b.headway", "--", "sleep", "0.3")
    assert done.returncode == 0, done.stderr
    other = manifest(tmp_path / "b.headway")["cpu_counters"]["rows"][0]
    rate, expected = (each["value"] / each["enabled_ns"] for each in (row, other))
    assert rate == pytest.approx(expected, rel=0.002)


def test_units_alone_are_recorded_in_every_mode_and_asked_for_by_cpu(tmp_path: Path) -> None:
    devices = make_units(tmp_path / "devices", {"power": software_unit("0")})
    words = ("record", "--mode", "perf-switch", "--no-agent", "--counters", "power/clock/", "--counter-scope", "cpu")
    done = with_tree(devices, *words, "-o", tmp_path / "a.headway", "--", "true")
    assert done.returncode == 0, done.stderr
    assert "HW108" not in done.stderr
    assert units_of(tmp_path / "a.headway", "--by", "cpu")["power"]["amounts"]["power/clock/"]["value"] > 0
    assert headway("counters", tmp_path / "a.headway").stderr.startswith("HW116")
    shown = headway("counters", tmp_path / "a.headway", "--by", "cpu").stdout
    assert "power/clock/" in shown
    assert "counted: none" not in shown


def test_in_scope_thread_units_are_refused_by_name_before_anything_starts(tmp_path: Path) -> None:
    devices = make_units(tmp_path / "devices", {"power": software_unit("0")})
    words = ("record", "--counters", "page-faults;power/clock/", "-o", tmp_path / "a.headway", "--", "touch")
    done = with_tree(devices, *words, tmp_path / "started")
    assert done.returncode == 1
    assert "HW106" in done.stderr
    assert "power/clock/ can't be counted by thread" in " ".join(done.stderr.split())
    assert not (tmp_path / "started").exists()


def test_an_ordinary_user_is_refused_by_name_before_anything_starts(tmp_path: Path) -> None:
    with ordinary_user() as user:
        devices = make_units(user.home / "devices", {"power": software_unit("0")})
        words = ("record", "--no-agent", "--counters", "power/clock/", "--counter-scope", "cpu", "-o", "a.headway")
        done = user.run([user.python, "-c", WITH_TREE, str(devices), *words, "--", "touch", "started"])
        started = (user.home / "started").exists()
    assert done.returncode == 1, done.stderr
    assert "HW117" in done.stderr
    assert "power/clock/ counts for a whole socket" in " ".join(done.stderr.split())
    assert not started
