"""Recordings of locks and accesses whose rows are exchanged for others that are possible: an answer or a message, at once."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.store.files import checksum
from headway.store.manifest import read_manifest
from headway.store.tables import TABLES
from support.builders import synthetic
from support.builders.edited_manifest import edit
from support.builders.extreme_recordings import write_rows
from support.builders.lock_builder import LOCK_FRAMES, LockHold, LockRecording, Wait
from support.builders.synthetic import FakeThread

Run = Callable[..., tuple[int, str, str]]
LOCK = "1000"
OF_LOCKS = (
    ("whatif", "--json"),
    ("whatif", "--cores", "1,3", "--without-lock", LOCK, "--json"),
    ("whatif", "--split-lock", f"{LOCK}=1000", "--json"),
    ("whatif", "--no-sleep", ".=0.001", "--json"),
)
OF_ACCESSES = (
    ("objects", "--by", "thread-class", "--json"),
    ("objects", "--matrix", "--json"),
    ("memory", "--json"),
    ("numa", "--json"),
)
WALL = 1000
KINDS = ("tuple_reads", "tuple_writes", "array_reads", "array_writes", "static_reads", "static_writes")


def locks(path: Path) -> Path:
    """Write a recording of two threads that compute with a lock in turns."""
    threads = [
        FakeThread(states=[("R", 200), ("B", 120), ("R", 200)]),
        FakeThread(states=[("R", 40), ("B", 120), ("R", 200), ("B", 120), ("R", 200)]),
    ]
    waits = [
        Wait(1, 0, 40, 160, owner=0, waker=0, waking=160, stack=0),
        Wait(0, 0, 200, 320, owner=1, waker=1, waking=320, stack=0),
        Wait(1, 0, 360, 480, owner=0, waker=0, waking=480, stack=0),
    ]
    return LockRecording(
        threads=threads,
        waits=waits,
        holds=[LockHold(0, each % 2, 160 * each, 160 * each + 160) for each in range(4)],
        wall=680,
        stacks=[(*LOCK_FRAMES, ("com.acme.Cache", "get"))],
        wakers={0: [(1, 1)], 1: [(0, 1), (0, 1)]},
        facts={"recorded_cores": 2, "ended_by": "duration"},
    ).write(path)


def accesses(path: Path) -> Path:
    """Write a recording of a thread with allocations and accesses of twenty classes, of its own objects and others'."""
    threads = [FakeThread("app", 0, [("R", WALL)], name) for name in ("main", "worker-1")]
    of_class = [{"pid": 100, "thread_id": 0, "java_id": 1, "class_name": f"C{i}"} for i in range(20)]
    site = {"site_class": "S", "site_method": "m", "site_line": 1, "objects": 2, "bytes": 64, "array_length": 0}
    tables = {
        "thread": [synthetic.thread_row(i, thread, WALL) for i, thread in enumerate(threads)],
        "slice": [row for i, thread in enumerate(threads) for row in synthetic.slices_of(i, thread)],
        "activity": synthetic.activity_rows(threads, WALL, 50),
        "allocation": [{**each, **site} for each in of_class],
        "access": [{**each, **dict.fromkeys(KINDS, 5)} for each in of_class],
        "access_owner": [
            {**each, **{f"{kind}_{whose}": 2 for whose in ("local", "shared") for kind in KINDS[:4]}}
            for each in of_class
        ],
        "access_pair": [
            {"pid": 100, "thread_id": thread, "java_id": 1 + thread, **owner, **dict.fromkeys(KINDS[:4], 20)}
            for thread in range(2)
            for owner in ({"owner_thread_id": 0, "owner_java_id": 1}, {"owner_thread_id": None, "owner_java_id": -3})
        ],
    }
    tables |= {"access_writer": tables["access_owner"], "access_writer_pair": tables["access_pair"]}
    place = {"pid": 100, "thread_id": 0, "java_id": 1, "field": "C0.a", "writes": 9}
    other = {"other_thread_id": 1, "other_java_id": 2, "other_field": "C0.b", "distance": "line", "same_object": True}
    tables |= {"line_write": [{**place, "field_offset": 16}], "line_share": [{**place, **other}]}
    nodes = {"kind": "tuple_reads", "cpu_node": 0, "page_node": 1, "samples": 2, "accesses": 2000}
    tables |= {"access_node": [{**each, **nodes} for each in of_class]}
    of_pair = {"pid": 100, "thread_id": 0, "java_id": 1, "owner_thread_id": 1, "owner_java_id": 2, "rule": "allocator"}
    tables |= {"access_node_pair": [{**of_pair, **nodes}]}
    asked = {"interval_bytes": 0, "sites": True, "jvms": [{"pid": 100, "interval_bytes": 0}]}
    return write_rows(path, tables, WALL, objects=asked, accesses={"jvms": []})


def exchange(directory: Path, choose: random.Random) -> None:
    """Exchange values of some columns of a table, which most checks of single values let pass, and let the manifest agree."""
    names = [name for name in read_manifest(directory).tables if name in TABLES and name != "activity"]
    file = directory / f"{choose.choice(names)}.parquet"
    rows = pq.read_table(file)
    for at in choose.choices(range(rows.num_columns), k=3):
        field, values = rows.schema.field(at), rows.column(at).to_pylist()
        if not pa.types.is_integer(field.type) or not values:
            continue
        least = np.iinfo(field.type.to_pandas_dtype()).min
        for _ in range(1 + len(values) // 3):
            other = choose.choice([0, 1, -1, -2, 2, 3, 7, choose.choice(values), values[0], values[-1]])
            values[choose.randrange(len(values))] = other if other is None else max(other, least)
        rows = rows.set_column(at, field, pa.array(values, field.type))
    pq.write_table(rows, file, compression="zstd")
    with file.open("rb") as opened:
        size, crc32 = checksum(opened.fileno())
    tables = {each: info.as_json() for each, info in read_manifest(directory).tables.items()}
    edit(directory, tables={**tables, file.stem: {"rows": rows.num_rows, "bytes": size, "crc32": crc32}})


@pytest.mark.parametrize(("build", "commands"), [(locks, OF_LOCKS), (accesses, OF_ACCESSES)])
@pytest.mark.parametrize("seed", range(3))
def test_exchanged_rows_of_locks_and_accesses_are_an_answer_or_a_message(
    tmp_path: Path, run: Run, build: Callable[[Path], Path], commands: tuple[tuple[str, ...], ...], seed: int
) -> None:
    directory = build(tmp_path / "a.headway")
    exchange(directory, random.Random(seed))
    for command, *options in commands:
        code, out, err = run(command, directory, *options)
        assert code in (0, 1), (command, err)
        assert "Traceback" not in err
        assert "HW319" not in err
        if code == 0:
            json.loads(out)
