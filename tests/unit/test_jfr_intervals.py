"""What samples of a JFR file stand for, where its settings change."""

from __future__ import annotations

import numpy as np

from headway.record.jfr.intervals import EXECUTION_SAMPLE, NATIVE_SAMPLE, WALL_SAMPLE, Change, IntervalsOverTime

MS = 1_000_000
PERIOD = (EXECUTION_SAMPLE, "period")


def change(ns: int, value: str, event: str = EXECUTION_SAMPLE) -> Change:
    return Change(ns, event, "period", value)


def test_a_period_holds_from_when_it_was_told_and_the_first_from_the_beginning() -> None:
    found = IntervalsOverTime({PERIOD: "5 ms"}, [change(100, "20 ms"), change(200, "10000000"), change(300, "5 ms")])
    at = np.array([0, 99, 100, 199, 200, 299, 300, 1000])
    assert found.of(EXECUTION_SAMPLE, at).tolist() == [each * MS for each in (20, 20, 20, 20, 10, 10, 5, 5)]
    assert found.texts(EXECUTION_SAMPLE) == ["20 ms", "10 ms", "5 ms"]


def test_chunks_may_lie_in_any_order() -> None:
    """Files of one JVM put together: the last in the file is not the last in time."""
    told = [change(200, "10 ms"), change(0, "20 ms"), change(300, "10 ms"), change(100, "20 ms")]
    found = IntervalsOverTime({PERIOD: "20 ms"}, told)
    assert found.of(EXECUTION_SAMPLE, np.array([150, 250, 350])).tolist() == [20 * MS, 10 * MS, 10 * MS]


def test_another_event_s_period_changes_nothing_but_its_own() -> None:
    found = IntervalsOverTime({PERIOD: "20 ms"}, [change(0, "20 ms"), change(50, "1 s", NATIVE_SAMPLE)])
    assert found.of(EXECUTION_SAMPLE, np.array([0, 60])).tolist() == [20 * MS, 20 * MS]
    # What was told first of it holds from the beginning on.
    assert found.of(NATIVE_SAMPLE, np.array([0, 60])).tolist() == [1000 * MS, 1000 * MS]


def test_without_a_word_of_it_the_writers_own_periods_hold() -> None:
    found = IntervalsOverTime({}, [])
    assert found.of(EXECUTION_SAMPLE, np.array([0])).tolist() == [20 * MS]
    assert found.of(WALL_SAMPLE, np.array([0])).tolist() == [50 * MS]
    assert found.of("jdk.CPUTimeSample", np.array([0])).tolist() == [1], "its rows say it themselves"
