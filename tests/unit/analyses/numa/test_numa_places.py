"""Advice of `headway numa` names where a cause is: the thread and its method, classes whose code writes, locks, the JVM."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headway.analyses.numa.recorded import classify_recording
from headway.analyses.numa.types import ProgramClass
from headway.record.machine.host import host_facts
from headway.store import open_recording
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema
from support.builders.counted_builder import PID
from support.builders.memory_builder import Worker, memory_recording

S = 1_000_000_000
UNEVEN = [Worker("main", 1, S // 100, (1, 1), cpu=15)] + [
    Worker(f"w{n}", 100 + n, each * S // 10, (1, 1), cpu=n) for n, each in enumerate((10, 20, 30, 40, 25, 35, 15, 30))
]
NO_VALUE = {"VARCHAR": "", "BOOLEAN": False}


def with_tables(path: Path, of: list[Worker], tables: dict[str, list[dict[str, Any]]], **facts: Any) -> ProgramClass:
    """Classify a recording that has rows of further tables; columns that a row leaves out are empty."""
    more = {}
    for name, rows in tables.items():
        schema = arrow_schema(TABLES[name])
        empty = {column.name: NO_VALUE.get(column.type, 0) for column in TABLES[name].columns}
        more[name] = pa.table({each: [{**empty, **row}[each] for row in rows] for each in schema.names}, schema)
    facts = {"affinity": [*range(16)], **facts}
    recording = memory_recording(path, of, 5 * S, (), allocations=False, more=more, **facts)
    (program,) = classify_recording(open_recording(recording), cores=8).programs
    return program


def advice(program: ProgramClass, words: str) -> str:
    (found,) = (text for text in program.advice if words in text)
    return found


def test_the_busiest_worker_is_named(tmp_path: Path) -> None:
    found = with_tables(tmp_path / "a.headway", UNEVEN, {})
    assert advice(found, "more and smaller parts").endswith("(the busiest is w3)")


def test_the_classes_whose_code_does_most_of_the_shared_writes_are_named(tmp_path: Path) -> None:
    keys = {"pid": PID, "thread_id": 1, "java_id": 100}
    rows = [
        {"class_name": "app.Board", "tuple_reads_shared": 500, "tuple_writes_shared": 60, "array_writes_shared": 10},
        {"class_name": "app.Cell", "tuple_writes_shared": 28},
        {"class_name": "app.Rare", "tuple_writes_shared": 2},
    ]
    access = [{**keys, "class_name": "app.Board", "tuple_reads": 900, "tuple_writes": 100}]
    samples: dict[str, list[dict[str, Any]]] = {
        "sample": [{"thread_id": 1, "event": "cpu", "weight": 1}] * 100,
        "stack": [{}],
        "frame": [{"class_name": "app.Board", "method": "run", "kind": "java"}],
    }
    tables = {"access": access, "access_writer": [{**keys, **row} for row in rows], **samples}
    found = with_tables(tmp_path / "a.headway", UNEVEN, tables, accesses={"jvms": []})
    text = advice(found, "data that several threads write")
    assert text.endswith("(most of these writes are by the code of app.Board (70%) and app.Cell (28%))")


@pytest.mark.parametrize(
    ("gc", "flags", "says"),
    [
        ("G1", "-XX:+UseG1GC", "on all nodes: -XX:+UseNUMA (Parallel and G1)"),
        ("Parallel", "-XX:+UseParallelGC -XX:+UseNUMA", "has -XX:+UseNUMA already"),
        ("Serial", "-XX:+UseSerialGC", "the Serial collector, which makes nothing of -XX:+UseNUMA"),
    ],
)
def test_advice_goes_by_the_collector_and_the_options_of_the_jvm(
    gc: str, flags: str, says: str, tmp_path: Path
) -> None:
    rows = [{"pid": PID, "key": "gc", "value": gc}, {"pid": PID, "key": "flags", "value": flags}]
    assert advice(with_tables(tmp_path / "a.headway", UNEVEN, {"jvm": rows}), says)


@pytest.mark.parametrize(
    ("balances", "says"),
    [
        (True, "numa_balancing is on"),
        (False, "numa_balancing is off"),
        (None, "numa_balancing is 1 where"),
        ("x", "is 1 where"),
    ],
)
def test_advice_says_whether_the_kernel_balanced_nodes_itself(balances: object, says: str, tmp_path: Path) -> None:
    found = with_tables(tmp_path / "a.headway", UNEVEN, {}, host={"numa_balancing": balances})
    assert advice(found, says)


def test_the_recorder_notes_what_the_kernel_says_of_balancing() -> None:
    setting = Path("/proc/sys/kernel/numa_balancing")
    expected = setting.read_text().strip() != "0" if setting.exists() else None
    assert host_facts()["numa_balancing"] == expected
