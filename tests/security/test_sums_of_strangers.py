"""Recordings whose values are possible one by one and overflow 64 bits where rows are added up: figures, not a refused query."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.objects.accesses import accesses
from headway.store import open_recording
from headway.store.files import checksum
from support.builders.allocation_spool_builder import OWNED, access_recording
from support.builders.edited_manifest import edit
from support.builders.extreme_recordings import everything

Run = Callable[..., tuple[int, str, str]]
LARGE = 1 << 62
"""Two of these in a column are more than 64 bits hold; one in each of four columns is possible."""
YEAR_NS = 366 * 86_400 * 10**9
FOREIGN, MANY = -3, -1


def changed(source: Path, target: Path, table: str, **columns: Any) -> Path:
    """Copy a recording with other columns in one table, whose checksum fits: a value is that of all rows, a list each row's."""
    shutil.copytree(source, target)
    file = target / f"{table}.parquet"
    rows = pq.read_table(file)
    for name, value in columns.items():
        field = rows.schema.field(name)
        values = value if isinstance(value, list) else [value] * rows.num_rows
        values = [*values, *[1] * (rows.num_rows - len(values))]
        rows = rows.set_column(rows.column_names.index(name), field, pa.array(values, field.type))
    pq.write_table(rows, file)
    tables = json.loads((target / "manifest.json").read_text())["tables"]
    with file.open("rb") as opened:
        tables[table]["bytes"], tables[table]["crc32"] = checksum(opened.fileno())
    edit(target, tables=tables)
    return target


@pytest.mark.parametrize("form", [(), ("--matrix",), ("--by", "pair", "--json")], ids=str)
def test_accesses_of_foreign_objects_are_added_up_kind_by_kind(run: Run, tmp_path: Path, form: tuple[str, ...]) -> None:
    counts = {name: [LARGE] for name in OWNED}
    whole = access_recording(tmp_path / "w.headway", with_owners=True)
    path = changed(whole, tmp_path / "a.headway", "access_pair", **counts, owner_java_id=FOREIGN, owner_thread_id=None)
    code, out, err = run("objects", path, *form)
    assert (code, "HW306" in out + err, "HW847" in err + out) == (0, False, True), err


def test_accesses_of_many_threads_are_added_up_kind_by_kind(run: Run, tmp_path: Path) -> None:
    counts = {name: [LARGE] for name in OWNED}
    whole = access_recording(tmp_path / "w.headway")
    path = changed(whole, tmp_path / "a.headway", "access", **counts, java_id=MANY, thread_id=None)
    found = accesses(open_recording(path), by="thread")
    assert found is not None
    assert found.together == 4 * (LARGE + 2)
    assert run("objects", path, "--by", "thread", "--json")[0] == 0


@pytest.mark.parametrize(
    "command", [("why",), ("export", "--format", "perfetto", "-o", "{out}"), ("parallelism",)], ids=lambda each: each[0]
)
def test_thousands_of_threads_for_a_year_are_more_thread_time_than_64_bits_hold(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    whole = everything(tmp_path / "w.headway")
    columns = {"dur_ns": [YEAR_NS // 2], "active_app": 4000, "running_app": 4000}
    path = changed(whole, tmp_path / "a.headway", "activity", **columns)
    code, out, err = run(command[0], path, *(word.replace("{out}", str(tmp_path / "out")) for word in command[1:]))
    assert "HW306" not in out + err
    assert code == 0, err


@pytest.mark.parametrize("command", [("top",), ("flame", "-o", "{out}")], ids=lambda each: each[0])
def test_samples_that_stand_for_more_than_64_bits_hold_are_damage(
    run: Run, tmp_path: Path, command: tuple[str, ...]
) -> None:
    path = changed(everything(tmp_path / "w.headway"), tmp_path / "a.headway", "sample", weight=[LARGE, LARGE])
    code, _, err = run(command[0], path, *(word.replace("{out}", str(tmp_path / "out")) for word in command[1:]))
    assert (code, "HW323" in err, "table sample, column weight" in err) == (1, True, True), err
