"""What samples of a JFR file stand for, where its settings change."""

from __future__ import annotations

import numpy as np
import pytest

from headway.record.imports.programs import Programs
from headway.record.jfr.intervals import (
    EXECUTION_SAMPLE,
    MOST_INTERVAL,
    NATIVE_SAMPLE,
    WALL_SAMPLE,
    ChunkIntervals,
    FileIntervals,
    Setting,
    intervals_of,
    parse_ns,
    sampler_setting,
)
from headway.record.jfr.reader import EventBatch, EventColumn

MS = 1_000_000


def period(ns: int, value: str, event: str = EXECUTION_SAMPLE) -> Setting:
    return Setting(ns, event, "period", value)


def of_profiler(ns: int, event: str, **values: str) -> list[Setting]:
    return [
        Setting(ns, "", "event", event),
        *(Setting(ns, EXECUTION_SAMPLE, name, value) for name, value in values.items()),
    ]


def one_program(chunk: int) -> int:
    return 0


def test_a_period_holds_from_when_it_was_told_and_the_first_from_the_beginning() -> None:
    found = ChunkIntervals.from_settings([period(100, "20 ms"), period(200, "10000000"), period(300, "5 ms")])
    at = np.array([0, 99, 100, 199, 200, 299, 300, 1000])
    assert found.of(EXECUTION_SAMPLE, at).tolist() == [each * MS for each in (20, 20, 20, 20, 10, 10, 5, 5)]


def test_settings_of_a_chunk_may_come_in_any_order() -> None:
    found = ChunkIntervals.from_settings([period(300, "5 ms"), period(100, "20 ms"), period(200, "5 ms")])
    assert found.of(EXECUTION_SAMPLE, np.array([150, 250, 350])).tolist() == [20 * MS, 5 * MS, 5 * MS]
    assert len(found.each) == 2


def test_another_event_s_period_changes_nothing_but_its_own() -> None:
    found = ChunkIntervals.from_settings(
        [period(0, "20 ms"), period(50, "1 s", NATIVE_SAMPLE), period(60, "2 s", NATIVE_SAMPLE)]
    )
    assert found.of(EXECUTION_SAMPLE, np.array([0, 70])).tolist() == [20 * MS, 20 * MS]
    assert found.of(NATIVE_SAMPLE, np.array([0, 70])).tolist() == [1000 * MS, 2000 * MS]


def test_without_a_word_of_it_the_writers_own_periods_hold() -> None:
    found = FileIntervals({}, one_program).of_chunk(7)
    expected = {EXECUTION_SAMPLE: 20 * MS, NATIVE_SAMPLE: 20 * MS, WALL_SAMPLE: 50 * MS, "jdk.CPUTimeSample": 1}
    assert {source: found.of(source, np.array([0])).tolist() for source in expected} == {
        source: [value] for source, value in expected.items()
    }


def test_chunks_of_two_writers_have_each_their_own_and_one_that_says_nothing_that_of_the_one_before() -> None:
    settings = {
        2: of_profiler(5, event="cycles", interval="1000000"),
        4: [period(0, "5 ms")],
        7: of_profiler(1, event="wall", wall="2000000"),
    }
    found = FileIntervals(settings, one_program)
    of = [found.of_chunk(chunk).each[0] for chunk in (1, 2, 3, 4, 6, 7, 9)]
    assert [each.event for each in of] == ["cycles", "cycles", "cycles", "cpu", "cpu", "wall", "wall"]
    assert [each.execution for each in of] == [MS, MS, MS, 5 * MS, 5 * MS, 2 * MS, 2 * MS]
    assert of[-1].wall == 2 * MS
    assert [each.is_estimate for each in of] == [False, False, False, True, True, False, False]


def test_a_chunk_that_says_nothing_goes_on_as_the_one_before_ended() -> None:
    found = FileIntervals({1: [period(0, "20 ms"), period(50, "5 ms")]}, one_program)
    assert found.of_chunk(2).of(EXECUTION_SAMPLE, np.array([0, 100])).tolist() == [5 * MS, 5 * MS]


def test_what_one_jvm_set_does_not_hold_for_another() -> None:
    settings = {2: of_profiler(0, event="page-faults", interval="7")}
    found = FileIntervals(settings, lambda chunk: int(chunk in (2, 3)))
    assert [found.of_chunk(chunk).each[0].event for chunk in (1, 2, 3, 4)] == [
        "cpu",
        "page-faults",
        "page-faults",
        "cpu",
    ]
    assert [found.of_chunk(chunk).each[0].execution for chunk in (1, 3, 4)] == [20 * MS, 7, 20 * MS]


def test_settings_that_say_nothing_of_intervals_are_not_kept_and_others_are_short() -> None:
    assert sampler_setting(0, "jdk.CPULoad", "period", "1 s") is None
    assert sampler_setting(0, EXECUTION_SAMPLE, "stackTrace", "true") is None
    assert sampler_setting(3, EXECUTION_SAMPLE, "period", None) == Setting(3, EXECUTION_SAMPLE, "period", "")
    kept = sampler_setting(0, "profiler.Anything", "event", "x" * 1_000_000)
    assert kept is not None
    assert len(kept.value) < 1000


def information(pids: list[int], starts_ms: list[int], chunks: list[tuple[int, int]]) -> EventBatch:
    columns = {
        name: EventColumn(name, "integer", False, np.array(values, dtype=np.int64))
        for name, values in (("pid", pids), ("jvmStartTime", [1_000_000 * each for each in starts_ms]))
    }
    return EventBatch("jdk.JVMInformation", len(pids), columns, [], chunks)


def test_chunks_are_told_apart_by_process_and_start_and_those_without_are_of_the_one_before() -> None:
    programs = Programs()
    assert programs.of_chunks()(5) == 0
    # In containers every JVM may be process 1; two writers in one JVM need not agree on its start to the millisecond.
    programs.note(information([1, 1, 1, 8, 1], [5000, 5400, 90_000, 90_000, 5000], [(2, 1), (4, 2), (7, 1), (9, 1)]))
    of = programs.of_chunks()
    assert [of(chunk) for chunk in (1, 2, 3, 4, 6, 7, 8, 9, 99)] == [0, 0, 0, 0, 0, 1, 1, 0, 0]


def test_chunks_of_another_layout_are_noted_later_and_lie_between() -> None:
    programs = Programs()
    programs.note(information([1, 1], [0, 0], [(1, 1), (3, 1)]))
    programs.note(information([2], [0], [(2, 1)]))
    of = programs.of_chunks()
    assert [of(chunk) for chunk in (1, 2, 3, 4)] == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("value", "ns"),
    [
        ("20 ms", 20 * MS),
        ("5ms", 5 * MS),  # as a .jfc file may have it: the JVM passes it on
        ("10000000", 10 * MS),
        ("1.5 s", 1500 * MS),
        ("2 m", 120_000 * MS),
        ("1 h", 3_600_000 * MS),
        ("30 h", 108_000_000 * MS),  # a threshold may be as long
        ("everyChunk", 0),
        ("beginChunk", 0),
        ("", 0),
        ("-5 ms", 0),
        ("9e999999 s", 0),
        ("inf", 0),
        ("nan ms", 0),
        ("9" * 400 + " s", 0),
        ("1000000 d", 86_400_000_000 * 1000 * MS),
        ("20 fortnights", 0),
    ],
)
def test_a_setting_s_time_is_read_as_the_jvm_writes_it_and_what_can_not_be_one_is_none(value: str, ns: int) -> None:
    assert parse_ns(value) == ns
    found = intervals_of({(EXECUTION_SAMPLE, "period"): value})
    assert found.execution == (ns if 0 < ns <= MOST_INTERVAL else 20 * MS)
