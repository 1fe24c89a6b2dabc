"""A sweep whose recorded runs sample several events of the CPU, one each, in turn: on a real JVM."""

from __future__ import annotations

import json
import os
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from headway.analyses.regions.analysis import regions_of
from headway.analyses.regions.exact_counts import load_counts
from headway.store import TABLES, open_recording
from headway.store.manifest import read_manifest, write_manifest
from headway.store.sweep import Sweep, SweepRegion, SweepRun, read_sweep, write_sweep
from headway.store.writer import TableWriter
from support.builders.edited_manifest import edit
from support.drivers.recording_cli import JAVA_17, headway, manifest
from support.drivers.workloads import workloads_jar

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="records with eBPF")

CLOCKS = ("task-clock", "cpu-clock")
REGION = ("--region", r"work=KnownLimit\.work", "--from-marker", "measuring")
CYCLES = {"sequential": 3, "parallel": 3}
INSTRUCTIONS = {"sequential": 2, "parallel": 1}
"""Of each ns of CPU time, in the recordings whose samples are made counts of."""


def program(limit: str, threads: object) -> str:
    """Return a program of 3 rounds: where it is parallel, it does half as much work again, or half of it sequentially."""
    return f"{JAVA_17} -cp {workloads_jar()} headway.workloads.KnownLimit {limit} {threads} 0.5 3 20000 1"


def swept(output: Path, limit: str, *words: object) -> Sweep:
    said = headway(
        *("sweep", "--sequential", program(limit, 0), "--parallel", program(limit, "{threads}"), "--threads", 2),
        *(*REGION, *words, "-o", output),
    )
    assert said.returncode == 0, said.stderr
    return read_sweep(output)


def speedups(of: Sweep) -> Any:
    said = headway("speedups", of.path, "--json")
    assert said.returncode == 0, said.stderr
    return json.loads(said.stdout)


def sampled(of: Sweep) -> dict[str, list[str]]:
    """Return what the manifest of each recording says that was sampled."""
    runs = [run for run in of.runs if run.recorded]
    return {run.name: manifest(of.path / str(run.recording))["sampling"]["events"] for run in runs}


def test_recorded_runs_take_the_events_in_turn_and_a_sweep_that_goes_on_takes_them_as_it_did(tmp_path: Path) -> None:
    events = ("--sample", "cpu:2ms,cpu-clock:2ms,alloc", "--counters", ",".join(CLOCKS))
    found = swept(tmp_path / "a.sweep", "overhead", *events, "--repeat", 2)
    in_turn = {
        f"{kind}-{k}": [event, "alloc"]
        for kind in ("sequential-1", "parallel-2")
        for k, event in ((1, "cpu"), (2, "cpu-clock"))
    }
    assert sampled(found) == in_turn
    for run in found.select("parallel", recorded=True):
        assert found.open(run).query("SELECT count(*) > 10 FROM sample WHERE event = 'cpu'").fetchall() == [(True,)]
    said = speedups(found)
    assert not {warning["id"] for warning in said["warnings"]} & {"HW490", "HW491", "HW492", "HW459"}
    assert said["threads"][0]["regions"]["work"]["efficiencies"]["work_inflation"] < 1
    left = [replace(run, state="planned") if run.name == "parallel-2-2" else run for run in found.runs]
    write_sweep(replace(found, runs=tuple(left)))
    resumed = headway("sweep", "--resume", found.path)
    assert resumed.returncode == 0, resumed.stderr
    resumed_sweep = read_sweep(found.path)
    assert sampled(resumed_sweep) == in_turn
    assert said["step"] == "software clocks"
    for run in resumed_sweep.select("parallel", recorded=True):
        path = resumed_sweep.path / str(run.recording)
        assert manifest(path)["counters"]["groups"] == [{"events": [*CLOCKS]}]
        counts_of_slices_are_divided_among_the_regions(path, tmp_path / run.name)


def counts_of_slices_are_divided_among_the_regions(path: Path, copy: Path) -> None:
    """Let the kernel's clocks pass for cycles and instructions: no count of a slice is lost between regions, or counted twice."""
    shutil.copytree(path, copy)
    counted = manifest(copy)["counters"]
    edit(copy, counters={**counted, "step": "CPI", "groups": [{"events": ["cycles", "instructions"]}]})
    recording = open_recording(copy)
    begin, end = recording.window_ns
    threads = [
        row[0] for row in recording.query("SELECT thread_id FROM thread WHERE kind IN ('app', 'carrier')").fetchall()
    ]
    exact = load_counts(recording, threads)
    assert exact is not None
    # Of a slice, what lies in the window; running time without counts has none.
    ((cycles, instructions),) = recording.query(
        "SELECT sum(count_0 * inside / running_ns), sum(count_1 * inside / running_ns) FROM (SELECT s.*,"
        " least(s.start_ns + s.running_ns, $2) - greatest(s.start_ns, $1) AS inside FROM slice s JOIN thread t USING (thread_id)"
        " WHERE t.kind IN ('app', 'carrier') AND s.running_ns > 0 AND s.start_ns < $2 AND s.start_ns + s.running_ns > $1)",
        (begin, end),
    ).fetchall()
    regions = regions_of(recording, (SweepRegion("work", r"KnownLimit\.work"),))
    nobody = np.zeros(0, np.int64)
    rows = [exact.rows(spans, threads, nobody)[0] for spans in regions.windows]
    for event, whole in (("cycles", cycles), ("instructions", instructions)):
        values = [row.counts[event].value for row in rows]
        assert sum(value or 0.0 for value in values) == pytest.approx(whole, rel=1e-6)
    recording.close()


def counted(of: Sweep, run: SweepRun, number: int, event: str, per_ns: int) -> SweepRun:
    """Copy a run as another one, whose samples are of an event that comes so often in a ns of CPU time."""
    copy = replace(run, number=number)
    copy = replace(copy, recording=f"runs/{copy.name}.headway", output="")
    path = of.path / str(copy.recording)
    shutil.copytree(of.path / str(run.recording), path)
    rows = pq.read_table(path / "sample.parquet")
    is_cpu = pc.equal(rows["event"], "cpu")
    weight = pc.if_else(is_cpu, pc.multiply(rows["weight"], per_ns), rows["weight"])
    events = pc.if_else(is_cpu, event, rows["event"])
    rows = rows.set_column(rows.schema.get_field_index("weight"), "weight", weight.cast(pa.int64()))
    rows = rows.set_column(rows.schema.get_field_index("event"), "event", events.cast(pa.string()))
    with TableWriter(path, TABLES["sample"]) as writer:
        writer.write(rows)
    told = read_manifest(path)
    write_manifest(path, replace(told, tables={**told.tables, "sample": writer.info}))
    return copy


def counts_by_hand(of: Sweep, run: SweepRun, event: str) -> int:
    """Return what the samples of application threads add up to after the warm-up."""
    recording = of.open(run)
    begin = recording.window_ns[0] + (run.warmup_excluded_ns or 0)
    (row,) = recording.query(
        "SELECT sum(s.weight) FROM sample AS s JOIN thread AS t USING (thread_id)"
        " WHERE s.event = $1 AND s.ns >= $2 AND t.kind IN ('app', 'carrier')",
        (event, begin),
    ).fetchall()
    return int(row[0])


def test_cycles_of_some_runs_and_instructions_of_others_take_work_inflation_apart(tmp_path: Path) -> None:
    # Half of the work is in no region, so samples are there as well: without one its counts would not be known (HW459).
    found = swept(tmp_path / "a.sweep", "sequential", "--sample", "cpu:1ms", "--repeat", 1)
    before = speedups(found)
    assert before["counters"] is False
    runs = list(found.runs)
    for run in [run for run in found.runs if run.recorded]:
        runs.append(counted(found, run, 2, "cycles", CYCLES[run.program]))
        runs.append(counted(found, run, 3, "instructions", INSTRUCTIONS[run.program]))
    found = replace(found, runs=tuple(runs), repeat=3)
    write_sweep(found)
    after = speedups(found)
    assert after["counters"] is True
    row = after["threads"][0]
    for metrics, program_ in ((after["sequential"], "sequential"), (row["metrics"], "parallel")):
        for event, number in (("cycles", 2), ("instructions", 3)):
            (run,) = [each for each in found.select(program_, recorded=True) if each.number == number]  # type: ignore[arg-type]
            assert metrics[event] == pytest.approx(counts_by_hand(found, run, event), abs=1)
        assert metrics["cpi"] == pytest.approx(CYCLES[program_] / INSTRUCTIONS[program_], rel=1e-6)
    own, was = row["regions"]["work"]["efficiencies"], before["threads"][0]["regions"]["work"]["efficiencies"]
    assert own["parallel_cpi_overhead"] == pytest.approx((3 / 2) / (3 / 1), rel=1e-6)
    parts = own["parallel_instruction_overhead"] * own["parallel_cpi_overhead"] * own["frequency"]
    assert parts == pytest.approx(was["work_inflation"], rel=1e-6)
    assert own["work_inflation"] is None
    for limit in ("load_balance", "lock_contention", "scheduling", "gc", "jit", "spinning", "waiting"):
        assert own[limit] == pytest.approx(was[limit], rel=1e-6), limit
    for name, frames in before["threads"][0]["flat"].items():
        assert row["flat"][name] == pytest.approx(frames, rel=1e-6), name
