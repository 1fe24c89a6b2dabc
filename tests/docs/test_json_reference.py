"""docs/reference/json.md names every key that the commands print with --json, and no other."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest
from docs_blocks import ROOT

from headway.analyses.counters.types import BY
from headway.analyses.locks.live import live_rows
from headway.model.live_lock import LiveLock, LiveTable
from headway.model.lock_sums import LockSums
from headway.report.json.live_locks import live_locks_text
from support.builders import causal_builder, sweep_builder, synthetic
from support.builders.allocation_spool_builder import access_recording, allocation_recording
from support.builders.counted_builder import CountedSlice, counted_recording
from support.builders.edited_manifest import edit
from support.builders.line_agent import line_recording
from support.builders.lock_builder import LOCK_FRAMES, LockRecording, Wait
from support.builders.memory_builder import Worker, memory_recording
from support.builders.synthetic import FakeThread
from support.drivers.recording_cli import headway

PAGE = (ROOT / "docs" / "reference" / "json.md").read_text(encoding="utf-8")
WORKLOADS = ROOT / "java" / "workloads" / "target" / "workloads.jar"


@pytest.fixture(scope="module")
def recording(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("json") / "a.headway"
    program = ["java", "-cp", str(WORKLOADS), "headway.workloads.ForkJoin"]
    headway("record", "-o", target, "--", *program).check_returncode()
    return target


def documented(command: str, table: int = 0) -> set[str]:
    """Return the keys in the first column of a table of a command's section."""
    section = re.split(r"^## ", PAGE, flags=re.MULTILINE)
    text = next(part for part in section if part.startswith(f"{command}\n"))
    rows = re.split(r"^\| key \| meaning \|\n", text, flags=re.MULTILINE)[table + 1]
    firsts = [row.split("|")[1] for row in rows.splitlines() if row.startswith("| `")]
    return {key for cell in firsts for key in re.findall(r"`(\w+)`", cell)}


def ask(*arguments: str | Path) -> Any:
    done = headway(*arguments, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_why_prints_the_documented_keys(tmp_path: Path) -> None:
    said = ask("why", synthetic.write(tmp_path / "a.headway", [FakeThread(states=[("R", 100)])], 100))
    assert set(said) == documented("why") - {"cpi"}
    assert set(said["lost"][0]) == documented("why", 1)
    account = documented("why") - {"by_cause", "phases", "mode", "warnings", "cpi"}
    assert set(said["phases"][0]) == account | documented("why", 2) - {"cpi"}
    assert all(set(row["place"]) == {"method", "line", "lock", "thread", "pid", "threads"} for row in said["lost"])


def test_causal_prints_the_documented_keys(tmp_path: Path) -> None:
    lock_recording = causal_builder.CausalModel({"half": causal_builder.serial(0.5)}, pairs=30)
    said = ask("causal", causal_builder.write(tmp_path / "a.headway", causal_builder.data_of(lock_recording)))
    assert set(said) == documented("causal")
    assert set(said["progress_points"][0]) == documented("causal", 1)
    assert set(said["lines"][0]) == documented("causal", 2)
    assert set(said["lines"][0]["points"][0]) == documented("causal", 3)


def test_parallelism_prints_the_documented_keys(recording: Path) -> None:
    said = ask("parallelism", recording)
    assert set(said) == documented("parallelism")
    assert set(said["by_kind"]) == {"app", "gc", "jit", "vm"}
    assert {"active", "ns"} <= set(said["levels"][0])
    assert {"running", "ns"} <= set(said["running_levels"][0])


def test_walltime_prints_the_documented_keys(recording: Path) -> None:
    said = ask("walltime", recording, "--cores", "1,2")
    assert set(said) == documented("walltime") - {"work"}
    assert set(said["predictions"][0]) == documented("walltime", 1)


def test_whatif_prints_the_documented_keys(tmp_path: Path) -> None:
    threads = [FakeThread("app", 0, [("R", 1000)], "main"), FakeThread("app", 0, [("R", 600)])]
    said = ask("whatif", synthetic.write(tmp_path / "a.headway", threads, 1000), "--cores", "1,2")
    assert set(said) == documented("whatif")
    assert set(said["changes"][0]) == documented("whatif", 1)


def test_threads_prints_the_documented_keys(recording: Path) -> None:
    assert set(ask("threads", recording)[0]) == documented("threads")


def test_critical_path_prints_the_documented_keys(recording: Path) -> None:
    said = ask("critical-path", recording)
    assert set(said) == documented("critical-path")
    assert set(said["by_thread"][0]) == set(said["thread"]) == documented("critical-path", 1)
    assert set(said["segments"][0]) == documented("critical-path", 2)


def test_locks_prints_the_documented_keys(tmp_path: Path) -> None:
    stacks = [LOCK_FRAMES]
    lock_recording = LockRecording(
        [FakeThread(states=[("R", 100)]), FakeThread()],
        [Wait(0, 0, 10, 90, owner=1, waker=1, waking=90, stack=0)],
        stacks=stacks,
    )
    (row,) = ask("locks", lock_recording.write(tmp_path / "a.headway"))
    assert set(row) == documented("locks")
    assert set(row["sites"][0]) == documented("locks", 1)
    assert set(row["holders"][0]) == documented("locks", 2)
    assert set(row["wakers"][0]) == documented("locks", 3)


def test_top_prints_the_documented_keys(recording: Path) -> None:
    said = ask("top", recording, "--event", "off-cpu", "--tree")
    assert set(said) == documented("top")
    assert set(said["threads"][0]) == documented("top", 1)
    assert set(said["flat"][0]) == documented("top", 2)
    assert set(said["tree"][0]) == documented("top", 3)


def test_speedups_prints_the_documented_keys(tmp_path: Path) -> None:
    sweep_builder.make(tmp_path / "a.sweep", (1, 2))
    said = ask("speedups", tmp_path / "a.sweep")
    assert set(said) == documented("speedups") - {"step"}
    row = said["threads"][0]
    assert set(row) == documented("speedups", 1) - {"efficiency_intervals"}
    assert set(row["efficiencies"]) | set(row["possible"]) | set(row["stack"]) == documented("speedups", 2)
    assert set(said["verdict"]) == documented("speedups", 3)


def test_numa_prints_the_documented_keys(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("program,workers,main_instructions_pct,imbalance_instructions_pct,cpi\na,8,1,2,1\n")
    said = ask("numa", "--table", table)
    assert set(said) == documented("numa")
    assert set(said["programs"][0]) == documented("numa", 1)
    assert set(said["programs"][0]["evidence"][0]) == documented("numa", 2)


def test_numa_of_two_recordings_prints_the_documented_keys(tmp_path: Path) -> None:
    whole: dict[str, Any] = {"ended_by": "exit", "exit_code": 0}
    one, two = (
        memory_recording(
            tmp_path / f"{n}.headway", [Worker("main", 1, 1000), Worker("w", 20, 1000, cpu=n)], 2000, **whole
        )
        for n in (0, 1)
    )
    said = ask("numa", one, two, "--nodes", "0/1")
    assert set(said["locality_test"]) == documented("numa", 3)
    assert set(said["locality_test"]["one"]) == documented("numa", 4)


def test_memory_prints_the_documented_keys(tmp_path: Path) -> None:
    said = ask("memory", allocation_recording(tmp_path / "a.headway"))
    assert set(said) == documented("memory")
    assert set(said["figures"]["mb_per_s"]) == documented("memory", 1)


def test_objects_prints_the_documented_keys(tmp_path: Path) -> None:
    said = ask("objects", allocation_recording(tmp_path / "a.headway"))
    assert set(said) == documented("objects")
    assert set(said["allocations"]) == documented("objects", 1) | documented("objects", 2) - {"class", "thread", "site"}
    assert set(said["groups"][0]) == documented("objects", 1) | documented("objects", 3)
    accesses = ask("objects", access_recording(tmp_path / "b.headway"))["accesses"]
    assert set(accesses) == documented("objects", 4) | documented("objects", 5)
    assert set(accesses["groups"][0]) == documented("objects", 4) | documented("objects", 3) - {"site"}


def test_cache_lines_have_the_documented_keys(tmp_path: Path) -> None:
    said = ask("objects", line_recording(tmp_path), "--by", "field")["lines"]
    assert set(said) == documented("objects", 6)
    row = next(line for line in PAGE.splitlines() if line.startswith("| `rows` | by two fields"))
    (found,) = said["rows"]
    assert {*found, *found["threads"][0]} == set(re.findall(r"`(\w+)`", row)) - {"rows"}


def test_accesses_by_owner_have_the_documented_keys(tmp_path: Path) -> None:
    said = ask("objects", access_recording(tmp_path / "a.headway", with_owners=True), "--matrix")
    lines = {line.split("|")[1].strip(): line for line in PAGE.splitlines() if line.startswith("| `")}
    owners = said["accesses"]["owners"]
    for name, found in (("`shared`", said["shared"]), ("`pairs`", said["pairs"][0]), ("`owners`", owners)):
        assert set(found) == set(re.findall(r"`(\w+)`", lines[name])) - {name.strip("`")} - (
            {"tuple", "array", "read", "write"} - set(found)
        )


def test_place_of_a_running_program_prints_the_documented_keys(tmp_path: Path) -> None:
    cpus = sorted(os.sched_getaffinity(0))
    if len(cpus) < 2:
        pytest.skip("virtual nodes take two CPUs")
    log = tmp_path / "log"
    log.touch()
    script = f"while sleep 0.05; do for i in 1 2 3 4 5 6 7 8 9 10; do echo; done >> {log}; done"
    words = ["--nodes", f"{cpus[0]}/{cpus[1]}", "--progress-file", str(log), "--policy", "paper", "--json"]
    with subprocess.Popen(["sh", "-c", script]) as program:
        command = [sys.executable, "-m", "headway", "place", "--pid", str(program.pid), *words]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            lines = [*iter_until(process.stdout, '"measured"')]
            process.terminate()
            lines += [*process.stdout]
        program.kill()
    assert process.returncode == 0
    records = [json.loads(line) for line in lines]
    assert {key for record in records for key in record} <= documented("place", 3)
    assert {"start", "decision", "end"} <= {record["event"] for record in records}
    assert {frozenset(record["measured"]) for record in records if "measured" in record} == {
        frozenset(documented("place", 4))
    }


def iter_until(lines: Iterable[str], word: str) -> Iterator[str]:
    """Yield lines up to the first one with a word."""
    for line in lines:
        yield line
        if word in line:
            return


def test_place_prints_the_documented_keys(tmp_path: Path) -> None:
    table = tmp_path / "a.csv"
    table.write_text("program,all_nodes_speedup\na,1.5\n")
    said = ask("place", "--simulate", table, "--seeds", "1")
    assert set(said) == documented("place")
    assert set(said["policies"][0]) == documented("place", 1)
    assert set(said["policies"][0]["programs"][0]) == documented("place", 2)


def test_the_live_table_has_the_documented_keys() -> None:
    sums = LockSums(1, 1, 0, 1, 1, 1, 1, 2, 3)
    lock = LiveLock(1, "park", "a.B", 1, 1, "t", (), False, 0, sums, 0, 0, False)
    table = LiveTable(1, 0, 3, (lock,), 0, 0, 0, 0)
    said = json.loads(live_locks_text(table, live_rows(table)))
    assert set(said) == documented("dump")
    assert set(said["locks"][0]) == documented("dump", 1)


def test_counters_prints_the_documented_keys(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 0, 1000, (5, 5))]
    locked = (("app",), [("gc_pause", 0, 10, "System.gc()")], [(0, 0, 0, 500)])
    mounts = [(0, 50, 0, 1000)]
    path = counted_recording(tmp_path / "a.headway", slices, 4000, (("cycles", "instructions"),), *locked, (), mounts)
    whole = {
        "step": "software clocks",
        "groups": [{"events": ["cycles"]}],
        "from_ns": 0,
        "to_ns": 9,
        "cpus": [0],
        "rows": [],
    }
    unit = {**whole, "unit": "imc", "rows": [{"cpu": 0, "counter": 0, "value": 3, "enabled_ns": 9, "running_ns": 9}]}
    edit(path, cpu_counters=whole, socket_counters=[unit], counters_by_runs={"run": 1, "of": 2})
    joined = ask("counters", path)["by_runs"]
    assert {*joined} == documented("counters", 5)
    assert all(f"`{key}`" in PAGE for key in joined["alignment"])
    edit(path, counters_by_runs=None)
    said = ask("counters", path)
    (counted,) = said["socket_units"]
    assert {*counted} == documented("counters", 4)
    by_cpu = ask("counters", path, "--by", "cpu")
    assert {*by_cpu["whole_cpus"]} == documented("counters", 3)
    by_iteration = ask("counters", path, "--by", "iteration")
    assert {*said, *by_cpu, *by_iteration, "by_runs"} | {f"{by}s" for by in BY} == documented("counters")
    assert {*by_iteration["over_iterations"]["counts"]["cycles"]} == documented("counters", 2)
    rows = [{*ask("counters", path, "--by", by)[f"{by}s"][0]} for by in BY]
    assert set().union(*rows) == documented("counters", 1)


def test_doctor_prints_the_documented_keys() -> None:
    said = ask("doctor")
    assert set(said) == documented("doctor")
    assert set(said["checks"][0]) == documented("doctor", 1)
