"""`headway memory`: rates, layout and imbalance of allocations, counts of the last iterations, and what is not known."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from headway.analyses.memory.accessed import NAMES as ACCESSES
from headway.analyses.memory.accessed import OWNERS_REMEDY, RATIO, REMEDY, SHARES, TOTAL, access_figures
from headway.analyses.memory.analysis import memory
from headway.analyses.memory.types import MemoryAnswer, MemoryFigure
from headway.analyses.numa.published import published
from headway.errors import HeadwayError
from headway.model.iterations import IterationMarks
from headway.report.analyses.memory import MEMORY
from headway.report.analyses.memory_texts import LABELS, tables
from headway.report.html import build_payload
from headway.report.section import Scatter
from headway.store import open_recording
from headway.store.tables import TABLES
from headway.store.writer import arrow_schema
from support.builders.allocation_spool_builder import access_recording, allocation_recording
from support.builders.counted_builder import PID, CountedSlice, counted_recording
from support.builders.edited_manifest import edit, take_tables_as_they_are
from support.builders.memory_builder import Worker, memory_recording

Run = Callable[..., tuple[int, str, str]]
S = 1_000_000_000
MIB = 1 << 20
WORKERS = (
    Worker("main", 1, S // 10, objects=1000, bytes=1 * MIB),
    Worker("w1", 21, 1 * S, objects=10_000, bytes=10 * MIB, arrays=5000, array_length=50_000),
    Worker("w2", 22, 1 * S, objects=20_000, bytes=40 * MIB),
    Worker("helper", 23, S // 100, objects=500, bytes=MIB),
)
"""main and two workers; helper has less than 4 % of the work."""


def asked(path: Path) -> MemoryAnswer:
    return memory(open_recording(path))


def test_rates_are_by_wall_time_and_by_the_cpu_time_of_the_program_s_threads(tmp_path: Path) -> None:
    collector = Worker("GC Thread#0", 0, 5 * S, kind="gc")
    found = asked(memory_recording(tmp_path / "a.headway", [*WORKERS, collector], 4 * S))
    cpu_s = sum(each.cpu_ns for each in WORKERS) / S
    expected = {
        "objects_k_per_s": 31.5 / 4,
        "mb_per_s": 52 / 4,
        "objects_k_per_cpu_s": 31.5 / cpu_s,
        "mb_per_cpu_s": 52 / cpu_s,
        "average_object_bytes": 52 * MIB / 31_500,
        "array_rate_pct": 100 * 5000 / 31_500,
        "average_array_length": 10.0,
    }
    for name, value in expected.items():
        figure = found.figure(name)
        assert (figure.value, figure.low, figure.high) == pytest.approx((value, value, value)), name
    assert found.cpu_ns == round(cpu_s * S)


def test_the_imbalance_is_that_of_workers_alone(tmp_path: Path) -> None:
    found = asked(memory_recording(tmp_path / "a.headway", WORKERS, 4 * S))
    # Equation 6.1 of 10,000 and 20,000 objects, of 10 and 40 MiB: deviation by mean.
    assert found.figure("imbalance_objects_pct").value == pytest.approx(100 * 5 / 15)
    assert found.figure("imbalance_bytes_pct").value == pytest.approx(100 * 15 / 25)


def test_one_worker_has_no_imbalance(tmp_path: Path) -> None:
    found = asked(memory_recording(tmp_path / "a.headway", WORKERS[:2], 4 * S)).figure("imbalance_objects_pct")
    assert found.value is None
    assert "fewer than two workers" in found.reason


def test_what_threads_nobody_knows_allocate_leaves_the_imbalance_open(tmp_path: Path) -> None:
    path = memory_recording(tmp_path / "a.headway", WORKERS, 4 * S)
    rows = pq.read_table(path / "allocation.parquet").to_pydict()
    rows["thread_id"] = [
        None if name == "int[]" else n for n, name in zip(rows["thread_id"], rows["class_name"], strict=True)
    ]
    replaced = _replaced(path, "allocation", rows)
    found = asked(replaced).figure("imbalance_objects_pct")
    assert found.value is None
    assert "virtual threads" in found.reason


def _replaced(path: Path, table: str, rows: dict[str, list[object]]) -> Path:
    pq.write_table(pa.table(rows, arrow_schema(TABLES[table])), path / f"{table}.parquet")
    take_tables_as_they_are(path)
    return path


def test_of_accesses_that_are_not_counted_each_figure_names_the_recording_that_has_it_if_any_has(
    tmp_path: Path,
) -> None:
    found = asked(memory_recording(tmp_path / "a.headway", WORKERS, 4 * S))
    remedies = dict.fromkeys(SHARES, OWNERS_REMEDY)
    for name in ACCESSES:
        assert (found.figure(name).value, found.figure(name).remedy) == (None, remedies.get(name, REMEDY))
        assert found.figure(name).reason


def test_reads_for_each_write_are_those_of_all_threads_and_classes_without_static_fields(tmp_path: Path) -> None:
    found = asked(access_recording(tmp_path / "a.headway"))
    figure = found.figure(RATIO)
    assert (figure.value, figure.low, figure.high) == (888 / 666,) * 3
    assert figure.published is None
    assert [name for name in ACCESSES if found.figure(name).value is not None] == [TOTAL, RATIO]


def test_a_program_that_writes_nothing_has_no_ratio(tmp_path: Path) -> None:
    path = access_recording(tmp_path / "a.headway")
    row = pq.read_table(path / "access.parquet").to_pydict()
    row |= {"tuple_writes": [0, 0, 0], "array_writes": [0, 0, 0]}
    figures, _ = access_figures(open_recording(_replaced(path, "access", row)))
    ratio = next(each for each in figures if each.name == RATIO)
    assert (ratio.value, ratio.remedy) == (None, "")
    assert "no write" in ratio.reason


def test_a_recording_without_allocations_names_the_one_that_has_them(tmp_path: Path) -> None:
    found = asked(memory_recording(tmp_path / "a.headway", WORKERS, 4 * S, allocations=False))
    figure = found.figure("mb_per_s")
    assert (figure.value, figure.reason) == (None, "allocations were not recorded")
    assert figure.remedy.startswith("headway record --objects allocations ")
    assert found.figure("cpi").value == pytest.approx(2.0)


def test_a_recording_without_counters_names_the_one_that_has_them(tmp_path: Path) -> None:
    found = asked(memory_recording(tmp_path / "a.headway", WORKERS, 4 * S, ()))
    assert found.figure("cpi").value is None
    assert found.figure("cpi").remedy.startswith("headway record --counters '")
    assert found.figure("mb_per_s").value is not None


def test_an_event_that_could_not_be_counted_is_named_with_its_reason(tmp_path: Path) -> None:
    path = memory_recording(tmp_path / "a.headway", WORKERS, 4 * S)
    absent = [{"event": "branches", "reason": "the kernel knows no such event"}]
    edit(path, counters={**open_recording(path).manifest.extra["counters"], "absent": absent})
    figure = asked(path).figure("branch_pct")
    assert (figure.reason, figure.remedy) == ("not counted there: the kernel knows no such event", "headway doctor")
    assert asked(path).figure("l1_mpki").reason == "not counted: L1-dcache-load-misses"


def test_misses_of_loads_alone_are_the_least_and_their_rates_are_not_compared(tmp_path: Path) -> None:
    groups = [("instructions", "L1-dcache-loads", "L1-dcache-load-misses")]
    threads = [Worker("main", 1, S, (1_000_000, 400_000, 20_000))]
    found = asked(memory_recording(tmp_path / "a.headway", threads, 4 * S, groups))
    assert found.figure("l1_mpki").value == pytest.approx(20)
    assert found.figure("l1_mpki").is_least
    assert found.figure("l1_miss_pct").value == pytest.approx(5)
    assert found.figure("l1_miss_pct").published is None


def test_counts_are_the_mean_of_the_last_iterations(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, n * S, S // 2, ((n + 1) * 1000, 1000)) for n in range(4)]
    pauses = [("gc_pause", n * S - 1000 if n else 0, 500, "System.gc()") for n in range(4)]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * S, [("cycles", "instructions")], ("app",), pauses)
    edit(path, iterations={"by": "gc"})
    found = memory(open_recording(path), last=2)
    assert found.steady_state is not None
    assert (found.steady_state.marks, found.steady_state.iterations) == ("gc", 2)
    assert found.figure("cpi").value == pytest.approx(3.5)  # cycles of 3 and 4 thousand


def without_ebpf(path: Path, **facts: Any) -> Path:
    """Write a recording whose threads were counted as a whole: 900 cycles of 300 instructions, and 100 of 100."""
    totals = [[[count, S, S] for count in counts] for counts in ((900, 300), (100, 100))]
    rows = [
        {"pid": PID, "tid": PID + n, "name": f"w{n}", "kind": "app", "uncounted_ns": 0, "totals": each}
        for n, each in enumerate(totals)
    ]
    counted = {"step": "CPI", "groups": [{"events": ["cycles", "instructions"]}], "absent": [], "threads": rows}
    nothing = {"step": "none", "groups": [], "absent": [{"event": "cycles", "reason": "recorded in mode perf-switch"}]}
    memory_recording(path, WORKERS[:2], 4 * S, (), allocations=False)
    usage = {"user_ns": 2 * S, "system_ns": 0}  # of the whole program: none ran unseen
    counted |= {"others": [], **facts}
    edit(path, mode="perf-switch", counters=nothing, thread_counters=counted, rusage=usage, ended_by="exit")
    return path


def test_totals_of_whole_threads_are_figures_too_but_not_of_iterations(tmp_path: Path) -> None:
    path = without_ebpf(tmp_path / "a.headway")
    found = asked(path)
    figure = found.figure("cpi")
    assert (figure.value, figure.low, figure.high) == (2.5, 2.5, 2.5)
    assert (found.steady_state, found.notices) == (None, ())
    assert found.figure("branch_pct").reason == "not counted: branches"
    edit(path, iterations={"by": "gc"})
    assert [notice.id for notice in asked(path).notices] == ["HW123"]
    assert asked(path).figure("cpi").value == 2.5
    with pytest.raises(HeadwayError) as error:
        memory(open_recording(path), IterationMarks("gc"))
    assert error.value.notice.id == "HW123"


def test_totals_of_which_nothing_could_be_counted_are_no_figures(tmp_path: Path) -> None:
    path = without_ebpf(tmp_path / "a.headway", groups=[], threads=[])
    with pytest.raises(HeadwayError) as error:
        asked(path)
    assert error.value.notice.id == "HW810"
    assert "no event could be counted" in error.value.notice.message


def test_an_interval_of_which_nothing_is_known_is_not_shown_as_exact() -> None:
    known = [MemoryFigure("cpi", 2.5, 2.5, 2.5), MemoryFigure("bpu_mpki", 1.0), MemoryFigure("l1_mpki", 9.0, 8.0, None)]
    (table,) = tables(MemoryAnswer(S, None, None, tuple(known), ()))
    assert [row[2] for row in table.rows] == [None, "?", "8.00 to ?"]


def test_nothing_of_memory_is_an_error_that_names_both_ways(tmp_path: Path) -> None:
    path = memory_recording(tmp_path / "a.headway", WORKERS, 4 * S, (), allocations=False)
    with pytest.raises(HeadwayError) as error:
        asked(path)
    assert error.value.notice.id == "HW810"
    assert "allocations were not recorded; nothing was counted" in error.value.notice.message


def test_samples_have_intervals_and_no_imbalance(tmp_path: Path) -> None:
    path = memory_recording(tmp_path / "a.headway", WORKERS, 4 * S)
    rows = pq.read_table(path / "allocation.parquet").to_pydict()
    for error, value in (
        ("objects_error", "objects"),
        ("bytes_error", "bytes"),
        ("array_length_error", "array_length"),
    ):
        rows[error] = [each / 20 for each in rows[value]]
    rows["samples"] = [100] * len(rows["objects"])
    _replaced(path, "allocation", rows)
    asked_for = {"interval_bytes": 4096, "sites": True, "jvms": [{"pid": PID, "interval_bytes": 4096}]}
    edit(path, objects=asked_for)
    found = asked(path)
    for name in ("mb_per_s", "average_object_bytes", "array_rate_pct", "average_array_length"):
        figure = found.figure(name)
        assert figure.low is not None
        assert figure.high is not None
        assert figure.value is not None
        assert figure.low < figure.value < figure.high < math.inf, name
    assert "of a sample" in found.figure("imbalance_objects_pct").reason


@pytest.mark.parametrize("notice", ["HW802", "HW804", "HW808"])
def test_where_some_allocations_are_not_counted_none_is_said_to_be_absent(notice: str, tmp_path: Path) -> None:
    plain = [replace(each, arrays=0, array_length=0) for each in WORKERS]
    noted = [{"id": notice, "message": "JVM 1", "remedy": ""}]
    found = asked(memory_recording(tmp_path / "a.headway", plain, 4 * S, notices=noted))
    assert found.figure("average_array_length").reason.startswith("no array was seen")
    assert found.figure("mb_per_s").is_least
    whole = asked(memory_recording(tmp_path / "b.headway", plain, 4 * S))
    assert whole.figure("average_array_length").reason == "the program allocated no arrays"
    assert not whole.figure("mb_per_s").is_least


def test_of_workers_whose_first_megabyte_is_unseen_no_imbalance_is_said(tmp_path: Path) -> None:
    """One worker below a megabyte would count as one that allocates nothing."""
    noted = [{"id": "HW802", "message": "JVM 1 ran already", "remedy": ""}]
    unseen = [*WORKERS[:2], replace(WORKERS[2], objects=0, bytes=0)]
    figure = asked(memory_recording(tmp_path / "a.headway", unseen, 4 * S, notices=noted)).figure("imbalance_bytes_pct")
    assert figure.value is None
    assert "first megabyte" in figure.reason


def test_of_a_jvm_that_was_attached_to_rates_are_the_least_and_nothing_seen_is_nothing_known(tmp_path: Path) -> None:
    noted = [{"id": "HW802", "message": "JVM 1 ran already", "remedy": ""}]
    found = asked(memory_recording(tmp_path / "a.headway", WORKERS, 4 * S, notices=noted)).figure("mb_per_s")
    assert found.value == pytest.approx(13)
    assert found.is_least
    idle = [Worker("main", 1, S // 10)]
    for figure in asked(memory_recording(tmp_path / "b.headway", idle, 4 * S, notices=noted)).figures[:9]:
        assert figure.value is None
        assert "no allocation was seen" in figure.reason


def test_every_figure_has_words_for_people_and_each_gap_its_reason(tmp_path: Path, run: Run) -> None:
    path = memory_recording(tmp_path / "a.headway", WORKERS, 4 * S)
    found = asked(path)
    assert [each.name for each in found.figures] == [*dict.fromkeys(LABELS)]
    code, text, _ = run("memory", path)
    assert code == 0
    assert "MiB allocated a second" in text
    assert "million accesses a second" in " ".join(text.split())
    said = json.loads(run("memory", path, "--json")[1])
    assert all((each["value"] is None) == (each["reason"] is not None) for each in said["figures"].values())
    section = MEMORY.section(found)
    assert len(section.tables[0].rows) == sum(1 for each in found.figures if each.value is not None)


def test_the_report_draws_what_is_known_of_the_program_beside_the_published_ones(tmp_path: Path) -> None:
    found = asked(memory_recording(tmp_path / "a.headway", WORKERS, 4 * S))
    drawn = MEMORY.section(found).scatter
    assert drawn is not None
    (own,) = [figures for name, figures in drawn.points if name == drawn.own]
    assert list(own) == [found.figure(name).value for name in names_of(drawn.axes)]
    assert None not in own
    others = {name: figures for name, figures in drawn.points if name != drawn.own}
    assert others == {each.name: tuple(each.figures.get(name) for name in names_of(drawn.axes)) for each in published()}
    (payload,) = [
        each for each in build_payload(open_recording(tmp_path / "a.headway"))["sections"] if each["name"] == "memory"
    ]
    assert payload["scatter"]["has_own"]
    assert payload["scatter"]["points"][0]["name"] == drawn.own


def names_of(labels: Sequence[str]) -> list[str]:
    by_label = {label: name for name, label in LABELS.items()}
    return [by_label[label] for label in labels]


def test_what_would_have_several_figures_is_said_once(tmp_path: Path) -> None:
    sentences = MEMORY.section(asked(memory_recording(tmp_path / "a.headway", WORKERS, 4 * S))).sentences
    nexts = [each.partition(" Next: ")[2] for each in sentences if " Next: " in each]
    assert len(nexts) == len({*nexts})


def test_points_that_can_not_be_drawn_are_refused() -> None:
    for figures in ((1.0,), (1.0, math.inf), (math.nan, 1.0)):
        with pytest.raises(ValueError, match="scatter"):
            Scatter("t", ("a", "b"), (("p", figures),), "p")
    assert Scatter("t", ("a", "b"), (("p", (1.0, None)),), "p").own == "p"


def test_classes_are_in_the_report_of_a_program_whose_objects_were_counted_and_whose_threads_are_known(
    tmp_path: Path,
) -> None:
    path = memory_recording(tmp_path / "a.headway", WORKERS, 4 * S)
    names = [each["name"] for each in build_payload(open_recording(path))["sections"]]
    assert "numa" in names
    without = build_payload(open_recording(allocation_recording(tmp_path / "b.headway")))
    assert "numa" not in [each["name"] for each in without["sections"]]
    assert "HW400" not in [each["id"] for each in without["notices"]]


def test_shares_of_others_objects_are_of_the_accesses_whose_owner_is_known_and_bounded_by_the_rest(
    tmp_path: Path,
) -> None:
    """24 of 888 reads, and 23 of 666 writes, have a known owner: 22 and 21 of them are of others' objects."""
    path = access_recording(tmp_path / "a.headway", with_owners=True)
    reads, writes = (asked(path).figure(name) for name in ("shared_reads_pct", "shared_writes_pct"))
    assert (reads.value, reads.low, reads.high) == pytest.approx((100 * 22 / 24, 100 * 22 / 888, 100 * 886 / 888))
    assert (writes.value, writes.low, writes.high) == pytest.approx((100 * 21 / 23, 100 * 21 / 666, 100 * 664 / 666))
    without = asked(access_recording(tmp_path / "b.headway")).figure("shared_reads_pct")
    assert without.value is None
    assert "is not recorded" in without.reason
    assert "accesses,owners" in without.remedy
