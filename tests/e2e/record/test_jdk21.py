"""JDK 21, which most people run: every command once on a recording of it, virtual threads pinned by monitors, and an attach.

Causal experiments and a sweep are made once, too. All else is tested on JDK 17 and 25. The own clock of the program is what
the answers are compared with.
"""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from support.drivers.recording_cli import attached, headway, manifest, start_headway, wait_for
from support.drivers.workloads import JDK_21, compile_java, java_command

# How long pinned threads wait and sleep by their own clocks: other programs would make that longer.
pytestmark = [pytest.mark.root, pytest.mark.alone]
PROGRAM = Path(__file__).parents[2] / "programs" / "Pinned.java"
UNITS = Path(__file__).parents[2] / "programs" / "Units.java"
FOUR_CARRIERS = "-Djdk.virtualThreadScheduler.parallelism=4"


@dataclass(frozen=True)
class Measured:
    """What the program says of one way to share: how often, how long waited for, held, and slept in."""

    entries: int
    waited_ns: int
    held_ns: int
    slept_ns: int


@dataclass(frozen=True)
class Run:
    """A recording by `headway run`, and what the program and headway said."""

    path: Path
    said: dict[str, Measured]
    told: str


@pytest.fixture(scope="module")
def classes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    assert JDK_21.is_file(), "build first: make build"
    folder = tmp_path_factory.mktemp("classes")
    compile_java(folder, PROGRAM, UNITS)
    return folder


def command(classes: Path, *arguments: str) -> list[str]:
    return [str(JDK_21), FOUR_CARRIERS, "-cp", str(classes), "Pinned", *arguments]


@pytest.fixture(scope="module")
def recorded(classes: Path) -> Run:
    path = classes / "a.headway"
    done = headway("run", "-o", path, "--", *command(classes), cwd=classes)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return Run(path, {way: Measured(*map(int, figures)) for way, *figures in lines}, done.stderr)


SYNCHRONIZED = "Pinned.sleepPinned java.lang.Object"
LOCKED = "Pinned.computeLocked java.util.concurrent.locks.ReentrantLock$NonfairSync"


def times_live(pid: int) -> dict[str, int]:
    """Return how often a running program waited for each lock so far, by place and class as `locks` has them."""
    done = headway("locks", "--pid", pid, "--json")
    rows = json.loads(done.stdout)["locks"] if done.returncode == 0 else []
    return {f"{(row['place'] or '').partition(':')[0]} {row['class_name']}": row["times_parked"] for row in rows}


def both_live(pid: int) -> dict[str, int] | None:
    """Return how often a running program waited for each of both locks so far; None where it does not say so."""
    times = times_live(pid)
    return {lock: times[lock] for lock in (SYNCHRONIZED, LOCKED)} if {SYNCHRONIZED, LOCKED} <= times.keys() else None


def locks(path: Path) -> dict[str, Any]:
    """Return the row of each place and class, such as "Pinned.sleepPinned java.lang.Object"."""
    done = headway("locks", "--json", "--by", "lock", "--all", path)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    return {f"{(row['place'] or '').partition(':')[0]} {row['class_name']}": row for row in rows}


def test_run_records_locks_and_samples_and_names_both_places(recorded: Run) -> None:
    found = manifest(recorded.path)
    assert found["state"] == "complete"
    assert found["locks"]["problem"] is None
    assert found["sampling"]["events"] == ["cpu"]
    assert "Pinned.sleepPinned:" in recorded.told
    assert "Pinned.computeLocked:" in recorded.told


def test_waits_of_pinned_virtual_threads_are_as_long_as_the_program_measured(recorded: Run) -> None:
    row, said = locks(recorded.path)[SYNCHRONIZED], recorded.said["monitor"]
    assert row["kind"] == "monitor"
    assert 0 < row["times_parked"] <= said.entries
    assert row["parking_thread_time_ns"] == pytest.approx(said.waited_ns, rel=0.05)
    assert row["first_thread"].startswith("virtual thread")


def test_what_holders_do_that_sleep_pinned_is_known(recorded: Run) -> None:
    """A sleep ends late where other programs have the cores: the program counts that as sleep, headway as ready to run."""
    rows, said = locks(recorded.path), recorded.said["monitor"]
    holding = rows[SYNCHRONIZED]["holding"]
    share = (holding["sleeping_ns"] + holding["runnable_ns"]) / sum(holding.values())
    assert holding["sleeping_ns"] > holding["unknown_ns"] + holding["running_ns"]
    assert share > 0.9 * said.slept_ns / said.held_ns, holding
    assert rows["Pinned.sleepPinned java.lang.Thread.sleep"]["times_parked"] == said.entries


def test_waits_and_holds_of_platform_threads_are_as_long_as_the_program_measured(recorded: Run) -> None:
    row, said = locks(recorded.path)[LOCKED], recorded.said["lock"]
    assert 0 < row["times_parked"] <= said.entries
    assert row["parking_thread_time_ns"] == pytest.approx(said.waited_ns, rel=0.05)
    assert row["true_hold_time_ns"]["mean"] == pytest.approx(said.held_ns / said.entries, rel=0.25)


@pytest.mark.parametrize(
    "words",
    [
        ["why", "--json"],
        ["parallelism", "--json"],
        ["walltime", "--cores", "1,2,8", "--json"],
        ["critical-path", "--json"],
        ["threads", "--json"],
        ["top", "--event", "cpu", "--json"],
        ["top", "--event", "lock", "--json"],
        ["notes", "--json"],
    ],
    ids=" ".join,
)
def test_each_command_answers(words: list[str], recorded: Run) -> None:
    done = headway(*words, recorded.path)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)


def test_the_unchanged_run_is_replayed_within_the_limit_or_nothing_is_predicted(recorded: Run) -> None:
    """Whether it is near enough hangs on what else the machine does; a circle of waits (HW824) no run has."""
    done = headway("whatif", recorded.path, "--cores", "1,2,4", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    if found["refused"] is None:
        assert abs(found["replay_error_pct"]) <= 5
        assert [each["change"]["cores"] for each in found["changes"]] == [1, 2, 4]
    else:
        assert found["refused"]["id"] in ("HW822", "HW823")
        assert found["changes"] == []


def test_each_writer_writes(recorded: Run, tmp_path: Path) -> None:
    def written(name: str, *words: str) -> str:
        done = headway(words[0], recorded.path, *words[1:], "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        return (tmp_path / name).read_text(errors="replace")

    assert "Pinned.computeLocked" in written("flame.html", "flame", "--event", "lock")
    assert "<html" in written("report.html", "report")[:500]
    assert "computes-0" in written("trace.json", "export", "--format", "perfetto")
    assert "Pinned.computeLocked" in written("cpu.txt", "export", "--format", "collapsed", "--event", "cpu")
    counted = headway("query", recorded.path, "SELECT count(*) AS n FROM thread WHERE name LIKE 'computes-%'", "--json")
    assert json.loads(counted.stdout)[0]["n"] == 4


def test_a_running_jvm_is_attached_to_dumped_and_left_unharmed(classes: Path, tmp_path: Path) -> None:
    path, dump = tmp_path / "b.headway", tmp_path / "locks.json"
    program = subprocess.Popen(command(classes, "again"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("monitor ")
        recorder = start_headway("record", "--locks", "-o", path, "--pid", program.pid)
        wait_for(lambda: attached(path))
        program.stdout.readline(), program.stdout.readline(), program.stdout.readline()
        dumped = headway("dump", "--pid", program.pid, "-o", dump)
        assert dumped.returncode == 0, dumped.stderr
        assert "Pinned" in dump.read_text()
        _, err = program.communicate("\n", timeout=60)
        assert program.returncode == 0, err
        _, errors = recorder.communicate(timeout=60)
        assert recorder.returncode == 0, errors
    finally:
        program.kill()
    assert manifest(path)["state"] == "complete"
    assert locks(path).keys() >= {SYNCHRONIZED, LOCKED}


def test_causal_experiments_count_every_visit_and_find_the_line(classes: Path, tmp_path: Path) -> None:
    path = tmp_path / "c.headway"
    words = [str(JDK_21), "-cp", str(classes), "Units", "1000"]
    done = headway("causal", "--progress", "work=Units.unit", "-o", path, "--", *words)
    assert done.returncode == 0, done.stderr
    said = json.loads(headway("causal", path, "--json").stdout)
    (point,) = said["progress_points"]
    assert done.stdout == f"units {point['hits']}\n"
    visited = headway("query", path, "SELECT hits FROM causal_point", "--json")
    assert json.loads(visited.stdout) == [{"hits": point["hits"]}]
    hot = headway("query", path, "SELECT method FROM causal_line ORDER BY cpu_ns DESC LIMIT 1", "--json")
    assert json.loads(hot.stdout) == [{"method": "unit"}]


def test_a_sweep_records_every_configuration_and_its_speedup_is_told(tmp_path: Path) -> None:
    output = tmp_path / "a.sweep"
    run = " ".join(java_command(JDK_21, "Phases", 150))
    words = ("--sequential", f"{run} 1", "--parallel", f"{run} {{threads}}", "--threads", "2", "--repeat", 1)
    done = headway("sweep", *words, "-o", output)
    assert done.returncode == 0, done.stderr
    answer = headway("speedups", output, "--json")
    assert answer.returncode == 0, answer.stderr
    (row,) = json.loads(answer.stdout)["threads"]
    assert (row["threads"], row["runs"], row["plain_runs"]) == (2, 1, 1)
    assert row["real_speedup"] is None or row["real_speedup"] > 0
    versions = set()
    for recording in sorted((output / "runs").glob("*.headway")):
        assert manifest(recording)["state"] == "complete"
        versions |= {jvm["version"].split(".")[0] for jvm in manifest(recording)["jvms"]}
    assert versions == {"21"}


def test_a_file_of_its_flight_recorder_is_imported_with_the_waits_that_the_program_measured(
    classes: Path, tmp_path: Path
) -> None:
    file, path = tmp_path / "a.jfr", tmp_path / "i.headway"
    java, *rest = command(classes)
    flags = [f"-XX:StartFlightRecording=filename={file},settings=profile", "-Xlog:jfr*=off"]
    done = subprocess.run([java, *flags, *rest], capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    imported = headway("import", file, "-o", path)
    assert imported.returncode == 0, imported.stderr
    lines = (line.split() for line in done.stdout.splitlines() if line.split()[0] in ("monitor", "lock"))
    said = {way: Measured(*map(int, figures)) for way, *figures in lines}
    row = locks(path)[LOCKED]
    assert 0 < row["times_parked"] <= said["lock"].entries
    assert (
        row["parking_thread_time_ns"] <= 1.05 * said["lock"].waited_ns
    )  # waits below the settings' threshold are not there


# Runs a command, and says its pid, and the page faults and switches that the kernel accounted to it and its threads.
ACCOUNTED = """
import os, subprocess, sys
child = subprocess.Popen(sys.argv[1:])
_, status, used = os.wait4(child.pid, 0)
print("used", child.pid, used.ru_minflt + used.ru_majflt, used.ru_nvcsw + used.ru_nivcsw)
sys.exit(os.waitstatus_to_exitcode(status))
"""
FAULT_NS = 250
"""No page fault takes less: the kernel is entered, a page is cleared or mapped, and left."""
FAULTS_WITH_SIGNAL = 5


@dataclass(frozen=True)
class Accounted:
    """A recording with counters, and what the kernel says of the JVM's process."""

    path: Path
    pid: int
    faults: int
    switches: int

    def rows(self) -> list[Any]:
        """Return the threads of the JVM, as `headway counters` has them."""
        done = headway("counters", self.path, "--json")
        assert done.returncode == 0, done.stderr
        return [row for row in json.loads(done.stdout)["threads"] if row["pid"] == self.pid]

    def slices(self) -> dict[int, tuple[int, int]]:
        """Return of each thread of the JVM how many slices have counts, and how many have none."""
        text = (
            "SELECT tid, count(count_0) AS counted, count(*) - count(count_0) AS others FROM slice "
            f"JOIN thread USING (thread_id) WHERE slice.running_ns > 0 AND pid = {self.pid} GROUP BY tid"
        )
        done = headway("query", self.path, text, "--json")
        assert done.returncode == 0, done.stderr
        return {row["tid"]: (row["counted"], row["others"]) for row in json.loads(done.stdout)}


@pytest.fixture(scope="module")
def accounted(classes: Path) -> Accounted:
    """Record with counters; again where the kernel hides switches (docs/decisions/0004), and much has no counts for that."""
    for number in range(2):
        path = classes / f"c{number}.headway"
        words = [sys.executable, "-c", ACCOUNTED, *command(classes)]
        done = headway("record", "--counters", "page-faults,context-switches", "-o", path, "--", *words)
        assert done.returncode == 0, done.stderr
        found = Accounted(path, *map(int, done.stdout.splitlines()[-1].split()[1:]))
        if sum(row["cpu_ns"] - row["counted_ns"] for row in found.rows()) < FAULT_NS * found.faults / 4:
            break
    return found


def test_counters_count_each_switch_of_each_thread(accounted: Accounted) -> None:
    """Each slice has the switch that brought its thread in."""
    rows, slices = accounted.rows(), accounted.slices()
    assert {row["name"] for row in rows} >= {f"computes-{number}" for number in range(4)}
    for row in rows:
        counted, others = slices[row["tid"]]
        switches = row["counts"]["context-switches"]
        assert (switches["value"] or 0) == (switches["low"] or 0) == counted
        assert (switches["high"] is None) == (others > 0)


def test_counters_add_up_to_what_the_kernel_accounted_to_the_process(accounted: Accounted) -> None:
    rows = accounted.rows()

    def total(event: str) -> int:
        return sum(row["counts"][event]["value"] or 0 for row in rows)

    lacking_ns = sum(row["cpu_ns"] - row["counted_ns"] for row in rows)
    assert accounted.faults > 1000
    # Faults that end in a signal count, and are not accounted; a JVM makes one as it starts. `perf stat` counts it as well.
    assert accounted.faults - lacking_ns / FAULT_NS <= total("page-faults") <= accounted.faults + FAULTS_WITH_SIGNAL
    # A slice without counts has two switches at most: its own and one that the kernel hid. Of a thread that is dead the kernel
    # accounts neither the last nor one on the way to it.
    others = sum(others for _, others in accounted.slices().values())
    hidden = manifest(accounted.path)["decoder"]["unreported"]
    assert accounted.switches - others - hidden <= total("context-switches") <= accounted.switches + 2 * len(rows)


def test_its_locks_are_seen_live_and_a_recording_whose_recorder_was_killed_is_recovered(
    classes: Path, tmp_path: Path
) -> None:
    path = tmp_path / "k.headway"
    program = subprocess.Popen(command(classes, "again"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        assert program.stdout is not None
        assert program.stdout.readline().startswith("monitor ")
        recorder = start_headway("record", "--locks", "-o", path, "--pid", program.pid)
        wait_for(lambda: attached(path))
        before = wait_for(lambda: both_live(program.pid))
        wait_for(lambda: (now := both_live(program.pid)) and all(now[lock] > before[lock] for lock in before))
        recorder.kill()
        recorder.communicate(timeout=60)
        _, err = program.communicate("\n", timeout=60)
    finally:
        program.kill()
    assert program.returncode == 0, err
    recovered = headway("recover", path)
    assert recovered.returncode == 0, recovered.stderr
    assert locks(path).keys() >= {SYNCHRONIZED, LOCKED}
