"""Pauses of the collector in regions: those of a JVM whose pauses nobody told are not known. Times are ns."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.regions.analysis import regions_of
from headway.store import open_recording
from headway.store.manifest import read_manifest, write_manifest
from headway.store.sweep import SweepRegion
from headway.store.tables import TABLES
from headway.store.writer import TableWriter, arrow_schema
from support.builders import sweep_builder
from support.builders.region_builder import MAIN, STACKS, WORK, ParallelRun
from support.builders.synthetic import FakeThread, thread_row

Run = Callable[..., tuple[int, str, str]]


@pytest.mark.parametrize("name", ["VM Thread", "VM Periodic Tas"])
@pytest.mark.parametrize(
    ("jvms", "pauses", "gc_ns"),
    [([100], [], 0), ([], [(150, 160)], 10), ([101], [], None), ([], [], None)],
    ids=["its agent is there", "an imported pause", "the agent of another JVM", "no agent"],
)
def test_pauses_that_nobody_told_of_are_not_known(
    tmp_path: Path, name: str, jvms: list[int], pauses: list[tuple[int, int]], gc_ns: int | None
) -> None:
    threads = [
        FakeThread("app", 0, [("R", 100)], "main"),
        FakeThread("app", 100, [("R", 50), ("W", 10), ("R", 40)], "worker-1"),
        FakeThread("vm", 0, [("R", 10)], name),
    ]
    samples = {"cpu": [(0, 50, 10, MAIN), (1, 110, 10, WORK), (1, 190, 10, WORK)]}
    facts = {"jvms": [{"pid": pid} for pid in jvms]}
    parallel_run = ParallelRun(threads, [], wall=200, pauses=pauses, stacks=STACKS, samples=samples, facts=facts)
    found = regions_of(open_recording(parallel_run.write(tmp_path / "a.headway")), [SweepRegion("work", r"App\.work")])
    work = found.primitives[0]
    assert work.gc_ns == gc_ns
    assert work.runnable_ns == 10 - (gc_ns or 0)


def test_a_program_without_a_jvm_has_no_pauses(tmp_path: Path) -> None:
    parallel_run = ParallelRun([FakeThread("app", 0, [("R", 100)], "main")], [], wall=100)
    found = regions_of(open_recording(parallel_run.write(tmp_path / "a.headway")), [])
    assert {part.gc_ns for part in found.primitives} == {0}


def test_the_limit_of_pauses_is_null_where_a_run_of_the_parallel_program_had_no_agent(run: Run, tmp_path: Path) -> None:
    path = sweep_builder.make(tmp_path / "a.sweep", (2, 4)).path
    without_agent(path / "runs" / "parallel-4-2.headway")
    code, out, err = run("speedups", path, "--json")
    assert code == 0, err
    rows = {row["threads"]: row for row in json.loads(out)["threads"]}
    for row, efficiency in ((rows[2], 1), (rows[4], None)):
        assert row["efficiencies"]["gc"] == row["regions"]["work"]["efficiencies"]["gc"] == efficiency
        assert (row["possible"]["gc"] is None) == (efficiency is None)
        assert sum(row["stack"].values()) == pytest.approx(row["threads"])
    assert run("speedups", path)[0] == 0


def without_agent(path: Path) -> None:
    """Give a recording the thread by which a JVM is known."""
    rows = pq.read_table(path / "thread.parquet")
    row: dict[str, Any] = thread_row(len(rows), FakeThread("vm", 0, [("R", 10)], "VM Thread"), 1000)
    with TableWriter(path, TABLES["thread"]) as writer:
        writer.write(pa.concat_tables([rows, pa.Table.from_pylist([row], schema=arrow_schema(TABLES["thread"]))]))
    manifest = read_manifest(path)
    write_manifest(path, replace(manifest, tables={**manifest.tables, "thread": writer.info}))
