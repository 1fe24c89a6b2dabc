"""The table thread_objects: what each thread allocated, read and wrote, as the published table 5.4 has it."""

from __future__ import annotations

import csv
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headway.analyses.objects.analysis import objects
from headway.report.json.objects import objects_json
from headway.store import TABLES, Recording, open_recording
from headway.store.writer import write_recording
from support.builders.access_agent import COMPLETE, accessing_agent, finished
from support.builders.allocation_spool_builder import access_recording, allocation_recording
from support.builders.edited_manifest import edit
from support.builders.recording_builder import ONE_THREAD

Run = Callable[..., tuple[int, str, str]]
KINDS = ("tuple_read", "tuple_write", "array_read", "array_write")
PUBLISHED = (
    *("tuple_allocations", "tuple_total_size", "array_allocations", "array_total_size", "array_total_length"),
    *(f"{kind}_{where}" for kind in KINDS for where in ("local", "remote")),
    *("thread_name", "thread_kind", "thread_start_ns", "thread_end_ns"),
)
"""The columns of NUMAProfiler in table 5.4, by their names here."""


def rows_of(recording: Recording) -> dict[int, dict[str, Any]]:
    """Return the rows by the Java id of their thread."""
    found = recording.query("FROM thread_objects").fetchall()
    names = [column.name for column in TABLES["thread_objects"].columns]
    return {row[2]: dict(zip(names, row, strict=True)) for row in found}


def test_it_has_every_column_of_the_published_table(tmp_path: Path) -> None:
    (row,) = rows_of(open_recording(allocation_recording(tmp_path / "a.headway"))).values()
    assert set(PUBLISHED) <= row.keys()


def test_arrays_and_other_objects_are_summed_apart_by_thread_and_what_was_not_recorded_is_null(tmp_path: Path) -> None:
    agent, chance = accessing_agent({b"objects_interval": b"0", b"objects_end": b"complete"}), random.Random(5)
    agent.java_class(2, b"int[]")
    wanted = {}
    for thread in (1, 21):
        tuples, arrays, length = (chance.randrange(1, 10_000) for _ in range(3))
        agent.allocated(thread, 1, tuples, 24)
        agent.allocated(thread, 2, arrays, 16 + 4 * length, length)
        wanted[thread] = (tuples, 24 * tuples, arrays, arrays * (16 + 4 * length), arrays * length)
    found = rows_of(finished(tmp_path, agent))
    assert {thread: tuple(row[name] for name in PUBLISHED[:5]) for thread, row in found.items()} == wanted
    assert {row["thread_name"] for row in found.values()} == {"main", "w1"}
    assert {row["tuple_read"] for row in found.values()} == {None}
    assert {row["allocations_error"] for row in found.values()} == {None}


def test_the_error_of_estimates_is_that_of_all_of_a_thread_s_objects_together(tmp_path: Path) -> None:
    keys = {"pid": [1, 1], "thread_id": [0, 0], "java_id": [1, 1], "class_name": ["Order", "int[]"]}
    sites = {"site_class": ["", ""], "site_method": ["", ""]}
    sums = {"objects": [10, 20], "bytes": [160, 640], "array_length": [0, 80], "samples": [1, 2]}
    errors = {"objects_error": [3.0, 4.0], "bytes_error": [6.0, 8.0], "array_length_error": [0.0, 1.0]}
    tables = {
        "thread": pa.table({**ONE_THREAD, "from_snapshot": [False]}),
        "allocation": pa.table(keys | sites | sums | errors),
    }
    path = write_recording(tmp_path / "a.headway", {"window": {"start_ns": 0, "end_ns": 1}, "mode": "agent"}, tables)
    (row,) = rows_of(open_recording(path)).values()
    assert (row["tuple_allocations"], row["array_allocations"]) == (10, 20)
    assert (row["allocations_error"], row["total_size_error"]) == (5.0, 10.0)
    assert row["java_id"] == 1  # the table of threads does not know it


def test_accesses_are_by_owner_and_of_unknown_nodes_where_the_machine_s_are_not_known(tmp_path: Path) -> None:
    agent = accessing_agent(COMPLETE | {b"access_owners": b"allocator"})
    agent.accessed(21, 1, 1, (100, 20, 3, 0, 7, 8))
    agent.owned(21, 1, 1, (40, 0, 3, 0), (10, 5, 0, 0))
    agent.accessed(1, 1, 1, (1, 0, 0, 0, 0, 0))
    found = rows_of(finished(tmp_path, agent))
    worker = found[21]
    whose = ("", "_own", "_shared", "_unknown_owner")
    assert [tuple(worker[kind + of] for of in whose) for kind in KINDS] == [
        (100, 40, 10, 50), (20, 0, 5, 15), (3, 3, 0, 0), (0, 0, 0, 0),
    ]  # fmt: skip
    assert (worker["static_read"], worker["static_write"]) == (7, 8)
    assert (found[1]["tuple_read"], found[1]["tuple_read_unknown_owner"]) == (1, 1)
    assert {row[name] for row in found.values() for name in row if name.endswith(("_local", "_remote"))} == {None}
    assert {row["tuple_allocations"] for row in found.values()} == {None}


@pytest.mark.parametrize(("nodes", "local"), [([0], 555), ([0, 1], None), (None, None)])
def test_on_a_machine_of_one_node_all_accesses_are_local_and_that_is_said(
    nodes: list[int] | None, local: int | None, tmp_path: Path, run: Run
) -> None:
    path = access_recording(tmp_path / "a.headway")
    edit(path, host={"memory_nodes": nodes})
    recording = open_recording(path)
    rows = rows_of(recording).values()
    assert sum(row["tuple_read"] for row in rows) == 555
    locals_, remotes = ([row[f"tuple_read_{where}"] for row in rows] for where in ("local", "remote"))
    assert (None if None in locals_ else sum(locals_)) == local
    assert set(remotes) == ({None} if local is None else {0})
    (reads,) = (objects_json(objects(recording))["accesses"]["tuple"]["read"],)
    assert reads == {"count": 555, "local": local or 0, "remote": 0, "unknown": 555 - (local or 0)}
    assert ("one memory node" in run("objects", path)[1]) == (local is not None)


def test_it_is_what_csv_has_of_recordings_with_objects(tmp_path: Path, run: Run) -> None:
    path, out = access_recording(tmp_path / "a.headway", with_owners=True), tmp_path / "a.csv"
    assert run("export", path, "--format", "csv", "-o", out)[0] == 0
    with open(out, newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert sorted(int(row["tuple_read"]) for row in rows) == [5, 50, 500]
    assert {row["tuple_allocations"] for row in rows} == {""}
    assert {row["iteration"] for row in rows} == {""}
    code, text, _ = run("query", path, "SELECT sum(tuple_read) AS n FROM thread_objects", "--json")
    assert (code, json.loads(text)) == (0, [{"n": 555}])


@pytest.mark.parametrize(
    ("marks", "marks_ns", "last"),
    [("gc", [100, 200], "2"), ("marker=round", [100, 200], "2"), ("marker=round", [100, 200, 205, 205], "")],
)
def test_as_csv_a_thread_that_lives_in_one_iteration_has_its_number(
    marks: str, marks_ns: list[int], last: str, tmp_path: Path, run: Run
) -> None:
    """Iterations begin at 100 and 200: before the first, in the first, in both, in the last, and alive at the end.

    Of lines that come together the iterations that they bound are left out, and are not the last one's before them.
    """
    lives = {"before": (10, 50), "first": (100, 185), "both": (150, 250), "last": (210, 950), "alive": (220, None)}
    count = len(lives)
    same = {name: [values[0]] * count for name, values in ONE_THREAD.items()}
    begins, ends = ([life[place] for life in lives.values()] for place in (0, 1))
    threads = pa.table(
        {
            **same,
            **{"thread_id": [*range(count)], "tid": [*range(1, count + 1)], "name": [*lives]},
            **{"start_ns": begins, "end_ns": pa.array(ends, pa.int64()), "from_snapshot": [False] * count},
        }
    )
    allocations = {
        **{"pid": [1] * count, "thread_id": [*range(count)], "java_id": [*range(1, count + 1)]},
        **{"class_name": ["Order"] * count, "site_class": [""] * count, "site_method": [""] * count},
        **{"objects": [1] * count, "bytes": [16] * count, "array_length": [0] * count},
    }
    pauses = {"pid": [1, 1], "start_ns": [90, 190], "dur_ns": [10, 10], "kind": ["gc_pause"] * 2}
    tables = {"thread": threads, "allocation": pa.table(allocations)}
    tables |= {"jvm_phase": pa.table(pauses | {"cause": ["System.gc()"] * 2})} if marks == "gc" else {}
    facts = {"window": {"start_ns": 0, "end_ns": 1000}, "mode": "agent"}
    path = write_recording(tmp_path / "a.headway", facts, tables)
    edit(path, iterations={"by": marks} | ({"marks_ns": marks_ns} if marks != "gc" else {}))
    out = tmp_path / "a.csv"
    assert run("export", path, "--format", "csv", "-o", out)[0] == 0
    with open(out, newline="", encoding="utf-8") as file:
        found = {row["thread_name"]: row["iteration"] for row in csv.DictReader(file)}
    assert found == {"before": "", "first": "1", "both": "", "last": last, "alive": last}


def test_a_recording_without_objects_has_no_rows_of_it(tmp_path: Path) -> None:
    tables = {"thread": pa.table({**ONE_THREAD, "from_snapshot": [False]})}
    path = write_recording(tmp_path / "a.headway", {"window": {"start_ns": 0, "end_ns": 1}, "mode": "agent"}, tables)
    recording = open_recording(path)
    assert not recording.has("thread_objects")
    assert recording.query("FROM thread_objects").fetchall() == []
