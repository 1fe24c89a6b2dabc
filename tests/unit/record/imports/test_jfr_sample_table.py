"""Samples of an imported file are weighed when it has been read, whether they were held in memory or not."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from headway.record.imports import sample_table
from headway.record.imports.sample_table import ProgramOf, SampleTable
from headway.record.jfr.intervals import EXECUTION_SAMPLE, WALL_SAMPLE, FileIntervals, Setting
from headway.record.jfr.samples import SampleBatch

ROWS = 1000


class Threads:
    """Threads whose places are their ids."""

    def thread_ids(self, places: Any) -> Any:
        return places.copy()


def batch(
    source: str, chunks: list[tuple[int, int]], first_ns: int, count: int = 1, states: tuple[int, ...] = (-1,)
) -> SampleBatch:
    """Samples of `states` in turn: -1 for none, 0 running, 1 sleeping."""
    rows = sum(each for _, each in chunks)
    zeros = np.zeros(rows, dtype=np.int32)
    ns = np.arange(first_ns, first_ns + rows, dtype=np.int64)
    counts = np.full(rows, count, dtype=np.int64)
    state = np.resize(np.array(states, dtype=np.int8), rows)
    return SampleBatch(source, chunks, ns, zeros, counts, state, zeros)


def one_program(chunk: int) -> int:
    return 0


def written(
    folder: Path, table: SampleTable, settings: dict[int, list[Setting]], program_of: ProgramOf = one_program
) -> list[tuple[int, str, int]]:
    table.write(folder, FileIntervals(settings, program_of), program_of)
    rows = pq.read_table(folder / "sample.parquet").to_pylist()
    return [(row["ns"], row["event"], row["weight"]) for row in rows]


def setting(ns: int, name: str, value: str) -> Setting:
    return Setting(ns, EXECUTION_SAMPLE, name, value)


@pytest.mark.parametrize("in_memory", [1, 20_000, 1 << 30])
def test_every_sample_has_the_weight_of_its_chunk_and_time(tmp_path: Path, in_memory: int) -> None:
    (tmp_path / "runs").mkdir()
    table = SampleTable(tmp_path / "runs", in_memory)
    threads: Any = Threads()
    table.add(batch(EXECUTION_SAMPLE, [(1, ROWS), (2, ROWS)], 0), threads)
    table.add(batch(WALL_SAMPLE, [(2, ROWS)], 0, count=4), threads)
    table.add(batch("jdk.CPUTimeSample", [(3, 10)], 5 * ROWS, count=123), threads)
    settings = {
        1: [setting(0, "period", "20 ns"), setting(ROWS // 2, "period", "10 ns")],
        2: [Setting(0, "", "event", "cycles"), setting(0, "interval", "7"), setting(0, "wall", "3")],
    }
    found = written(tmp_path, table, settings)
    execution = [(ns, "execution", 20 if ns < ROWS // 2 else 10) for ns in range(ROWS)]
    expected = execution + [(ns, "cycles", 7) for ns in range(ROWS, 2 * ROWS)]
    expected += [(ns, "wall", 12) for ns in range(ROWS)] + [(5 * ROWS + ns, "cpu", 123) for ns in range(10)]
    assert sorted(found) == sorted(expected)
    assert table.intervals(EXECUTION_SAMPLE, FileIntervals(settings, one_program)) == [20, 10, 7]


def test_more_chunks_than_two_bytes_count_have_each_their_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sample_table, "_NARROW", 3)
    (tmp_path / "runs").mkdir()
    table = SampleTable(tmp_path / "runs", 100)
    threads: Any = Threads()
    settings = {}
    for chunk in range(10):
        table.add(batch(EXECUTION_SAMPLE, [(chunk, 4)], 10 * chunk), threads)
        settings[chunk] = [setting(0, "period", f"{chunk + 1} ns")]
    expected = [(10 * chunk + ns, "cpu", chunk + 1) for chunk in range(10) for ns in range(4)]
    assert written(tmp_path, table, settings) == expected


def test_an_absurd_count_of_an_absurd_interval_is_no_negative_time(tmp_path: Path) -> None:
    table = SampleTable(tmp_path)
    threads: Any = Threads()
    table.add(batch(WALL_SAMPLE, [(1, 1)], 0, count=1 << 40), threads)
    table.add(batch(WALL_SAMPLE, [(1, 1)], 1, count=2), threads)
    (_, _, large), (_, _, small) = written(tmp_path, table, {1: [setting(0, "wall", "1 h")]})
    assert large > 1 << 61
    assert small == 2 * 3600 * 10**9
    assert table.out_of_range == 0


def test_absurd_counts_together_are_no_negative_time(tmp_path: Path) -> None:
    table = SampleTable(tmp_path)
    threads: Any = Threads()
    table.add(batch(WALL_SAMPLE, [(1, 5)], 0, count=1 << 40), threads)
    table.add(batch(WALL_SAMPLE, [(1, 3)], 5, count=1), threads)
    weights = [weight for _, _, weight in written(tmp_path, table, {1: [setting(0, "wall", "1 h")]})]
    assert sum(weights) < 1 << 63
    assert table.out_of_range == sum(weight == 0 for weight in weights) > 0


def test_what_one_jvm_tells_twice_is_dropped_for_it_alone(tmp_path: Path) -> None:
    table = SampleTable(tmp_path)
    threads: Any = Threads()
    in_tlab, outside, sampled = (f"jdk.ObjectAllocation{each}" for each in ("InNewTLAB", "OutsideTLAB", "Sample"))
    for source in (in_tlab, outside, sampled, "jdk.CPUTimeSample", EXECUTION_SAMPLE):
        table.add(batch(source, [(1, 3)], 0, count=1), threads)
    for source in (in_tlab, EXECUTION_SAMPLE):
        table.add(batch(source, [(2, 5)], 100, count=1), threads)
    for source in (sampled, EXECUTION_SAMPLE):
        table.add(batch(source, [(3, 7)], 200, count=1), threads)
    settings = {1: [setting(0, "period", "9 ns")], 2: [Setting(0, "", "event", "ctimer"), setting(0, "interval", "4")]}
    found = Counter(written(tmp_path, table, settings, lambda chunk: chunk))
    events = Counter((event, ns // 100) for ns, event, _ in found.elements())
    assert events == {
        **{("alloc", 0): 6, ("cpu", 0): 3, ("execution", 0): 3},
        **{("alloc", 1): 5, ("cpu", 1): 5},
        **{("alloc", 2): 7, ("cpu", 2): 7},
    }
    assert list(table.estimates_ns) == [20_000_000], (
        "of the third JVM; the first has a clock, the second is no estimate"
    )


NONE, RUNNING, SLEEPING = -1, 0, 1


def of_profiler(event: str, version: str, **values: str) -> list[Setting]:
    said = [Setting(0, "", "event", event), Setting(0, "", "version", version)]
    return said + [setting(0, name, value) for name, value in values.items()]


@pytest.mark.parametrize(
    ("settings", "states", "expected"),
    [
        # From version 3 on samples of the main event have no state.
        (of_profiler("cpu", "3.0", interval="5", wall="20"), (NONE, RUNNING, SLEEPING),
         {("cpu", 5): 4, ("wall", 20): 8}),
        (of_profiler("ctimer", "4.5", interval="0", wall="20"), (NONE, RUNNING), {("cpu", 10_000_000): 6, ("wall", 20): 6}),
        (of_profiler("page-faults", "4.5", interval="0", wall="20"), (NONE, SLEEPING), {("page-faults", 1): 6, ("wall", 20): 6}),
        (of_profiler("", "4.5", wall="20"), (RUNNING, SLEEPING), {("wall", 20): 12}),
        # Before, they are those of a running thread, as half of the wall samples are.
        (of_profiler("cpu", "2.9", interval="5"), (RUNNING,), {("cpu", 5): 12}),
        (of_profiler("cpu", "2.9", interval="5"), (RUNNING, SLEEPING), {("cpu-or-wall", 1): 6, ("wall", 50_000_000): 6}),
        (of_profiler("wall", "2.9", interval="20"), (RUNNING, SLEEPING), {("wall", 20): 12}),
        (of_profiler("wall", "2.9", interval="0"), (RUNNING, SLEEPING), {("wall", 50_000_000): 12}),
        # The JDK's own sampler gives states, too, and is of one event.
        ([setting(0, "period", "20")], (RUNNING, SLEEPING, NONE), {("cpu", 20): 12}),
        # Each event has a default of its own; what has none is counted.
        (of_profiler("cache-misses", "3.0", interval="0"), (NONE,), {("cache-misses", 1000): 12}),
        (of_profiler("java.util.HashMap.put", "3.0", interval="0"), (NONE,), {("java.util.HashMap.put", 1): 12}),
        (of_profiler("sched:sched_switch", "3.0", interval="7"), (NONE,), {("sched:sched_switch", 7): 12}),
        (of_profiler("of-tomorrow", "9.0", interval="0"), (NONE,), {("of-tomorrow", 1): 12}),
    ],
)  # fmt: skip
def test_samples_of_cpu_and_wall_time_are_told_apart_by_state_and_settings(
    tmp_path: Path, settings: list[Setting], states: tuple[int, ...], expected: dict[tuple[str, int], int]
) -> None:
    table = SampleTable(tmp_path)
    threads: Any = Threads()
    table.add(batch(EXECUTION_SAMPLE, [(1, 12)], 0, states=states), threads)
    found = written(tmp_path, table, {1: settings})
    assert Counter((event, weight) for _, event, weight in found) == expected
    assert table.either == (("cpu-or-wall", 1) in expected)
    assert list(table.not_known) == [event for event, _ in expected if event == "of-tomorrow"]
