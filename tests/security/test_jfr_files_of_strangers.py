"""JFR files with millions of events of the JVM itself, or with numbers that are none: a recording, in the memory of numbers."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.record.imports import event_files, importing, jvm_events, jvm_rows
from headway.record.imports.jvm_rows import LoadRows, PhaseRows
from headway.record.jfr.reader import NONE, EventBatch, EventColumn, JfrFile
from headway.store import open_recording
from support.builders import jfr_builder as jfr
from support.builders.hostile_jfr import long_names_in_every_frame
from support.drivers.peak_memory import grown_kib

Run = Callable[..., tuple[int, str, str]]
INTS = ("startTime", "duration", "gcId", "sumOfPauses", "safepoint")


def batch(event: str, rows: list[dict[str, Any]]) -> EventBatch:
    """Rows of one event as the reader gives them: whole numbers, shares, or texts by their place."""
    columns, texts = {}, [*dict.fromkeys(v for row in rows for v in row.values() if isinstance(v, str))]
    for name in rows[0]:
        values = [row[name] for row in rows]
        if name in INTS:
            columns[name] = EventColumn(name, "integer", False, np.array(values, np.int64))
        elif all(isinstance(each, float) for each in values):
            columns[name] = EventColumn(name, "real", False, np.array(values, np.float64))
        else:
            places = [-1 if each is None else texts.index(each) for each in values]
            columns[name] = EventColumn(name, "text", False, np.array(places, np.int32))
    return EventBatch(event, len(rows), columns, texts)


def imported(run: Run, place: Path, events: list[bytes]) -> tuple[Any, str]:
    (place / "a.jfr").write_bytes(jfr.chunk(events))
    code, out, err = run("import", place / "a.jfr", "-o", place / "a.headway")
    assert code == 0, out + err
    return open_recording(place / "a.headway"), err


def test_a_cpu_load_that_is_no_number_is_no_reading(run: Run, tmp_path: Path) -> None:
    """It ended the import in a defect's message."""
    nan, most = float("nan"), float("inf")
    loads = [(nan, 0.5, 0.25), (0.5, most, -most), (nan, nan, nan)]
    events = [jfr.event(jfr.LOAD, 1000 * n, *each) for n, each in enumerate(loads)]
    recording, _ = imported(run, tmp_path, [*events, jfr.event(jfr.CPUS, 0, 4)])
    text = "SELECT (ns - (SELECT min(ns) FROM counter)) // 1000, event, value FROM counter ORDER BY ALL"
    assert recording.query(text).fetchall() == [
        (0, "cpu_load_jvm_system", 500_000),
        (0, "cpu_load_machine", 250_000),
        (1, "cpu_load_jvm_system", 1_000_000),
        (1, "cpu_load_jvm_user", 500_000),
        (1, "cpu_load_machine", 0),
    ]
    used = recording.manifest.extra["import"]["cores_used"]
    assert used == {"mean": (0.5 + 1.5) / 2 * 4, "peak": 1.5 * 4, "readings": 2, "cores": 4}


def test_events_of_the_jvm_without_end_are_left_out_and_counted(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jvm_rows, "MOST_ROWS", 3)
    monkeypatch.setattr(jvm_events, "_MOST_NAMED_SETTINGS", 2)
    loads = [jfr.event(jfr.LOAD, n, 0.5, 0.25, 0.5) for n in range(5)]
    settings = [jfr.event(jfr.SETTING, 0, jfr.PARK, f"name {n}", "1") for n in range(6)]
    recording, err = imported(run, tmp_path, [*loads, *settings])
    assert recording.query("SELECT count(*) FROM counter").fetchall() == [(3 * 3,)]
    assert recording.manifest.state == "partial"
    assert "more pauses, operations, CPU loads or settings than any JVM has: 6 are left out" in " ".join(err.split())


def test_an_event_that_is_laid_out_anew_each_time_has_no_table_for_each(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each new one was compared with all that there were, thousands of times."""
    monkeypatch.setattr(event_files, "MOST_OF_EVENT", 3)
    types = [jfr.INT, jfr.TEXT, jfr.BOOLEAN, jfr.FLOAT, jfr.LONG]
    values: list[Any] = [1, "x", 1, 0.5, 2]
    kinds = {90 + n: ("a.Odd", [("startTime", jfr.LONG, "time"), ("v", kind, "")]) for n, kind in enumerate(types)}
    monkeypatch.setattr(jfr, "_EVENTS", {**jfr._EVENTS, **kinds})
    events = [jfr.event(90 + n, n, value) for n, value in enumerate(values)]
    recording, _ = imported(run, tmp_path, events)
    tables = [name for name in recording.manifest.tables if name.startswith("jfr_a_Odd")]
    assert sorted(tables) == ["jfr_a_Odd", "jfr_a_Odd_2", "jfr_a_Odd_3"]
    assert recording.manifest.state == "partial"


@pytest.mark.parametrize(("limit", "most"), [("MOST_FRAMES", 3), ("MOST_STACKS", 3), ("MOST_FRAMES", 9)])
def test_stacks_without_end_are_read_until_there_are_too_many(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, most: int
) -> None:
    """Each different one is kept: a file that unpacks to a gigabyte has tens of millions."""
    monkeypatch.setattr(importing, limit, most)
    (tmp_path / "a.jfr").write_bytes(long_names_in_every_frame(6000, 4) + jfr.chunk(jfr.usual(2)))
    code, _, err = run("import", tmp_path / "a.jfr", "-o", tmp_path / "a.headway")
    recording = open_recording(tmp_path / "a.headway")
    assert (code, recording.manifest.state) == (0, "partial")
    assert "the rest is not read" in " ".join(err.split())
    tables = {name for name, info in recording.manifest.tables.items() if name.startswith("jfr_") and info.rows}
    assert len(tables) == 1, "what was read, the largest table first, is kept"


@pytest.mark.parametrize("mib", [[300], [130, 130]])
def test_constants_of_a_chunk_have_a_limit_together(run: Run, tmp_path: Path, mib: list[int]) -> None:
    """They are in memory while the chunk is read, and a hole in a file costs who made it nothing."""
    rows, described = b"".join(jfr.usual(3)), jfr.metadata()
    path, first = tmp_path / "a.jfr", 68 + len(described) + len(rows)
    starts = [first + sum(mib[:n]) * 2**20 for n in range(len(mib))]
    end = first + sum(mib) * 2**20
    head = b"FLR\0" + struct.pack(">HHqqq", 2, 0, end, starts[-1], 68)
    head += struct.pack(">qqqqI", jfr.START_NS, 1_000_000, 0, 1_000_000_000, 1)
    with path.open("wb") as file:
        file.write(head + described + rows)
        for at, size in zip(starts, mib, strict=True):
            body = jfr.constants()[5:]
            length = size * 2**20
            file.seek(at)
            file.write(bytes(length >> 7 * i & 0x7F | (0x80 if i < 4 else 0) for i in range(5)))
            # Its kind, start, length, and how far before it the next constants lie.
            file.write(body[:3] + jfr.varint(starts[0] - at) + body[4:] if at > first else body)
        file.truncate(end)
        file.seek(end)
        file.write(jfr.chunk(jfr.usual(2)))
    code, _, err = run("import", path, "-o", tmp_path / "a.headway")
    assert (code, "constants of more than 268435456 bytes in a chunk" in " ".join(err.split())) == (0, True), err
    assert open_recording(tmp_path / "a.headway").manifest.state == "partial"
    assert grown_kib(IMPORTS, READS, path)[0] < 200 << 10


def test_an_event_of_more_columns_than_any_program_has_is_left_out(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The name of each column was compared with those of all before it: hours for some ten thousand, again in each batch."""
    wide = {90: ("a.Wide", [("startTime", jfr.LONG, "time"), *((f"f{n}", jfr.LONG, "") for n in range(1000))])}
    monkeypatch.setattr(jfr, "_EVENTS", {**jfr._EVENTS, **wide})
    recording, err = imported(run, tmp_path, [jfr.event(90, *[1] * 1001), *jfr.usual(2)])
    assert "jfr_a_Wide" not in recording.manifest.tables
    assert recording.manifest.state == "partial", err


def test_columns_called_alike_have_names_of_their_own(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column made of a thread's Java id replaced one that the event has under that name."""
    fields = [("who", jfr.THREAD, "constant"), ("who_java_id", jfr.LONG, ""), ("WHO", jfr.LONG, "")]
    alike = {90: ("a.Alike", [("startTime", jfr.LONG, "time"), *fields])}
    monkeypatch.setattr(jfr, "_EVENTS", {**jfr._EVENTS, **alike})
    recording, _ = imported(run, tmp_path, [jfr.event(90, 1, 2, 77, 88)])
    found = recording.query("SELECT who_java_id, who_java_id_, WHO_ FROM jfr_a_Alike").fetchall()
    assert found == [(9, 77, 88)]


def test_threads_that_begin_between_batches_are_numbered_once_each(
    run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All threads were listed anew for each batch with a new one: hours for a million threads in many kinds of events."""
    asked: list[int] = []
    plain = JfrFile.threads

    def threads(self: JfrFile, first: int = 0) -> list[Any]:
        found = plain(self, first)
        asked.append(len(found))
        return found

    monkeypatch.setattr(JfrFile, "threads", threads)
    kinds = {
        100 + n: (f"a.E{n}", [("startTime", jfr.LONG, "time"), ("who", jfr.THREAD, "constant")]) for n in range(20)
    }
    monkeypatch.setattr(jfr, "_EVENTS", {**jfr._EVENTS, **kinds})
    each = {n: jfr.text("t") + jfr.varint(n) + jfr.text(f"name {n}") + jfr.varint(n) for n in range(1, 21)}
    pools = jfr.pools({jfr.THREAD: [*each.items()]})
    (tmp_path / "a.jfr").write_bytes(jfr.chunk([jfr.event(100 + n % 20, n, n) for n in range(1, 21)], pools=pools))
    code, out, err = run("import", tmp_path / "a.jfr", "-o", tmp_path / "a.headway")
    assert code == 0, out + err
    recording = open_recording(tmp_path / "a.headway")
    assert recording.query("SELECT count(*), count(DISTINCT name) FROM thread").fetchall() == [(20, 20)]
    assert sum(asked) == 2 * 20, "once when it is numbered, once in the table"


IMPORTS = """
from pathlib import Path
import duckdb, pyarrow.parquet
from headway.record.imports.jvm_events import JvmEvents
from headway.record.jfr.reader import JfrFile
"""
READS = """
jvm = JvmEvents()
for batch in JfrFile(Path(sys.argv[1])):
    jvm.take(batch)
print(jvm.loads.table().num_rows)
"""


def test_half_a_million_cpu_loads_take_the_memory_of_numbers(tmp_path: Path) -> None:
    """As a tuple for each number they took 350 MB, and 30 times as much in a file that was compressed."""
    (tmp_path / "a.jfr").write_bytes(jfr.chunk([jfr.event(jfr.LOAD, 1, 0.5, 0.25, 0.875) * 500_000]))
    kib, rows = grown_kib(IMPORTS, READS, tmp_path / "a.jfr")
    assert int(rows) == 1_500_000
    assert kib < 260 << 10


@pytest.mark.parametrize("with_pauses", [True, False])
@pytest.mark.parametrize("seed", range(5))
def test_phases_are_those_of_rows_one_by_one(seed: int, with_pauses: bool) -> None:
    rng, phases = random.Random(seed), PhaseRows()
    pauses: list[dict[str, Any]] = []
    collections: list[dict[str, Any]] = []
    operations: list[dict[str, Any]] = []

    def number() -> int:
        return rng.randrange(-3, 12)

    for _ in range(4):
        mine: list[dict[str, Any]] = [
            {"gcId": number(), "startTime": number(), "duration": number(), "sumOfPauses": rng.choice([NONE, number()]),
             "cause": rng.choice(["full", "x", None])} for _ in range(rng.randrange(1, 6))
        ]  # fmt: skip
        phases.add_collections(batch("jdk.GarbageCollection", mine))
        collections += mine
        mine = [{"startTime": number(), "duration": number(), "gcId": number()} for _ in range(rng.randrange(1, 6))]
        if with_pauses:
            phases.add_pauses(batch("jdk.GCPhasePause", mine))
            pauses += mine
        mine = [
            {
                "startTime": number(),
                "duration": number(),
                "operation": rng.choice(["a", None]),
                "safepoint": rng.randrange(2),
            }
            for _ in range(rng.randrange(1, 6))
        ]
        phases.add_operations(batch("jdk.ExecuteVMOperation", mine))
        operations += mine
    last = {each["gcId"]: each for each in collections}
    expected = [
        (each["startTime"], each["duration"], "gc_pause", last.get(each["gcId"], {}).get("cause")) for each in pauses
    ] or [
        (each["startTime"], each["duration"] if each["sumOfPauses"] == NONE else each["sumOfPauses"], "gc_pause", each["cause"])
        for each in last.values()
    ]  # fmt: skip
    expected += [
        (each["startTime"], each["duration"], "safepoint", each["operation"])
        for each in operations
        if each["safepoint"]
    ]
    found = phases.table(7)
    rows = [tuple(row[name] for name in ("start_ns", "dur_ns", "kind", "cause")) for row in found.to_pylist()]

    def order(row: tuple[Any, ...]) -> tuple[Any, ...]:
        return (*row[:3], row[3] or "")

    assert sorted(rows, key=order) == sorted(((a, max(0, b), c, d) for a, b, c, d in expected), key=order)
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    assert set(found["pid"].to_pylist()) <= {7}


@pytest.mark.parametrize("seed", range(5))
def test_cpu_loads_are_those_of_readings_one_by_one(seed: int) -> None:
    rng, loads, rows = random.Random(seed), LoadRows(), []
    for _ in range(3):
        mine: list[dict[str, Any]] = [
            {
                "startTime": rng.randrange(5),
                "jvmUser": rng.uniform(-0.5, 1.5),
                "jvmSystem": rng.random(),
                "machineTotal": 0.5,
            }
            for _ in range(rng.randrange(1, 6))
        ]
        loads.add(batch("jdk.CPULoad", mine))
        rows += mine
    names = {"jvmUser": "cpu_load_jvm_user", "jvmSystem": "cpu_load_jvm_system", "machineTotal": "cpu_load_machine"}
    expected = sorted(
        (row["startTime"], event, round(min(max(row[name], 0.0), 1.0) * 1_000_000))
        for row in rows
        for name, event in names.items()
    )
    assert [(row["ns"], row["event"], row["value"]) for row in loads.table().to_pylist()] == expected
    sums: dict[int, int] = {}
    for ns, event, share in expected:
        sums[ns] = sums.get(ns, 0) + (share if event != "cpu_load_machine" else 0)
    used = loads.cores_used(8)
    assert used is not None
    assert used["readings"] == len(sums)
    assert used["mean"] == pytest.approx(8e-6 * sum(sums.values()) / len(sums))
    assert used["peak"] == pytest.approx(8e-6 * max(sums.values()))
