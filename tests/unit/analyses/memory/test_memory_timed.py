"""`headway memory NAME.headway TIMED.headway`: rates of accesses by another run's time, equation 5.1."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from headway.analyses.memory.analysis import is_intensive, memory
from headway.analyses.memory.types import MemoryAnswer, MemoryFigure
from headway.analyses.numa.published import placed
from headway.errors import HeadwayError
from headway.store import open_recording
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema
from support.builders.counted_builder import PID
from support.builders.memory_builder import Worker, memory_recording

Run = Callable[..., tuple[int, str, str]]
GOLDEN = Path(__file__).parents[3] / "golden"
LLC = (("LLC-loads", "LLC-load-misses"),)
S = 1_000_000_000
WHOLE: dict[str, Any] = {"ended_by": "exit", "exit_code": 0}
SLOWER = 5
"""How many times as long a program takes that counts its accesses."""


def printed(name: str) -> dict[str, dict[str, str]]:
    with open(GOLDEN / f"numa_{name}.csv", encoding="utf-8", newline="") as file:
        return {row["program"]: row for row in csv.DictReader(file)}


ALLOCATED, ACCESSED, MIX, MISSES = (printed(each) for each in ("allocations", "accesses", "instructions", "locality"))


def number(table: dict[str, dict[str, str]], program: str, column: str) -> float:
    return float(table[program][column])


def accesses_of(reads: int, writes: int) -> pa.Table:
    schema = arrow_schema(TABLES["access"])
    row = {
        "pid": PID,
        "thread_id": 0,
        "java_id": 1,
        "class_name": "app.Main",
        "tuple_reads": reads,
        "array_writes": writes,
    }
    return pa.table({name: [row.get(name, 0)] for name in schema.names}, schema)


def counting(path: Path, wall_ns: int, reads: int, writes: int, **facts: Any) -> Path:
    """Write the recording that counts accesses, and is slower for it."""
    worker = Worker("main", 1, wall_ns // 2, (1, 1))
    more = {"access": accesses_of(reads, writes)}
    whole = {**WHOLE, "accesses": {"jvms": []}, **facts}
    return memory_recording(path, [worker], SLOWER * wall_ns, (), allocations=False, more=more, **whole)


def timed(
    path: Path, wall_ns: int, counts: tuple[int, int] = (0, 0), objects: int = 1000, size: int = 16_000, **facts: Any
) -> Path:
    """Write the recording of the same program at its own speed, with its allocations."""
    worker = Worker("main", 1, wall_ns // 2, counts, objects, size)
    return memory_recording(path, [worker], wall_ns, LLC, **{**WHOLE, **facts})


def asked(one: Path, other: Path | None = None) -> MemoryAnswer:
    return memory(open_recording(one), timed=None if other is None else open_recording(other))


@pytest.mark.parametrize("program", ["sunflow", "xalan", "h2", "fj-kmeans"])
def test_printed_rates_come_out_of_the_totals_of_one_run_and_the_time_of_another(program: str, tmp_path: Path) -> None:
    objects = round(1e3 * number(ALLOCATED, program, "objects_k"))
    wall_ns = round(1e9 * objects / 1e3 / number(ALLOCATED, program, "objects_k_per_s"))
    size = round(number(ALLOCATED, program, "mb") * (1 << 20))
    of_all = round(1e6 * number(ACCESSED, program, "accesses_m"))
    writes = round(of_all / (1 + number(ACCESSED, program, "reads_per_write")))
    instructions = number(MIX, program, "instructions")
    counts = tuple(round(number(MISSES, program, each) * instructions / 1e3) for each in ("l2_mpki", "llc_mpki"))
    one = counting(tmp_path / "one.headway", wall_ns, of_all - writes, writes)
    two = timed(tmp_path / "two.headway", wall_ns, (counts[0], counts[1]), objects, size)
    found = asked(one, two)
    for table, column in (
        (ALLOCATED, "objects_k"), (ALLOCATED, "mb"), (ALLOCATED, "objects_k_per_s"), (ALLOCATED, "mb_per_s"),
        (ACCESSED, "accesses_m"), (ACCESSED, "accesses_m_per_s"), (ACCESSED, "reads_per_write"),
        (MISSES, "llc_accesses_per_k_object_ops"), (MISSES, "memory_accesses_per_k_object_ops"),
    ):  # fmt: skip
        expected = number(table, program, column)
        assert found.figure(column).value == pytest.approx(expected, rel=0.015, abs=0.6), column
    assert found.figure("accesses_m_per_s").is_least
    assert "HW806" not in {each.id for each in found.notices}
    alone = asked(one)
    assert alone.figure("accesses_m_per_s").value is None
    assert "headway memory NAME.headway TIMED.headway" in alone.figure("accesses_m_per_s").remedy


def test_rates_of_allocations_that_are_counted_one_by_one_are_by_the_time_of_the_other_run(tmp_path: Path) -> None:
    worker = Worker("main", 1, S, (1, 1), 6000, 6 << 20)
    slow = memory_recording(tmp_path / "one.headway", [worker], 3 * S, (), **WHOLE)
    fast = memory_recording(
        tmp_path / "two.headway", [Worker("main", 1, S // 2, (1, 1))], S, (), allocations=False, **WHOLE
    )
    assert asked(slow).figure("objects_k_per_s").value == pytest.approx(2)
    found = asked(slow, fast)
    assert found.figure("objects_k_per_s").value == pytest.approx(6)
    assert found.figure("mb_per_cpu_s").value == pytest.approx(12)


def test_equation_5_1_is_of_both_rates_and_open_where_one_that_is_the_least_does_not_decide() -> None:
    def rates(objects: float, accesses: float | None, *, least: bool = True) -> list[MemoryFigure]:
        found = [
            MemoryFigure(
                "objects_k_per_s", objects, objects, objects, placed("objects_k_per_s", objects, None, derived=False)
            )
        ]
        if accesses is None:
            return [*found, MemoryFigure("accesses_m_per_s", reason="not counted")]
        beside = placed("accesses_m_per_s", accesses, None, derived=False)
        return [
            *found,
            MemoryFigure("accesses_m_per_s", accesses, accesses, None if least else accesses, beside, least),
        ]

    means = [placed(name, 1, None, derived=False) for name in ("objects_k_per_s", "accesses_m_per_s")]
    objects, accesses = (each.geometric_mean for each in means if each is not None)
    assert objects is not None
    assert accesses is not None
    assert is_intensive(rates(2 * objects, 2 * accesses)) is True
    assert is_intensive(rates(objects / 2, None)) is False
    assert is_intensive(rates(2 * objects, accesses / 2)) is None
    assert is_intensive(rates(2 * objects, accesses / 2, least=False)) is False
    assert is_intensive(rates(2 * objects, None)) is None


@pytest.mark.parametrize(
    ("facts", "says"),
    [
        ({"command": ["java", "Other"]}, "App beside Other"),
        ({"exit_code": 1}, "not a run from begin to end"),
        ({"accesses": {"jvms": []}}, "counts accesses as well"),
    ],
)
def test_a_recording_that_has_not_the_time_of_the_same_work_is_refused(
    facts: dict[str, Any], says: str, tmp_path: Path
) -> None:
    one = counting(tmp_path / "one.headway", S, 100, 10)
    two = timed(tmp_path / "two.headway", S, **facts)
    with pytest.raises(HeadwayError) as error:
        asked(one, two)
    assert error.value.notice.id == "HW812"
    assert says in error.value.notice.message


def test_the_command_takes_both(run: Run, tmp_path: Path) -> None:
    one = counting(tmp_path / "one.headway", S, 10**9, 10**8)
    two = timed(tmp_path / "two.headway", S, (10**7, 10**6))
    code, text, _ = run("memory", one, two)
    assert code == 0
    assert "not memory-intensive by equation 5.1" in " ".join(text.split())
    code, text, _ = run("memory", one, two, "--json")
    found = json.loads(text)
    assert found["figures"]["accesses_m_per_s"]["value"] == pytest.approx(1100)
    assert found["figures"]["llc_accesses_per_k_object_ops"]["value"] == pytest.approx(10**7 / (1 + 1.1e6))
    assert found["memory_intensive"] is False  # a thousand objects a second are few
