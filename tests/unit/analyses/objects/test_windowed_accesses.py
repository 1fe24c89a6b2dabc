"""Accesses that were counted in windows: the agent's records, the tables they become, and what `headway objects` says of them."""

from __future__ import annotations

import io
from pathlib import Path

import pytest

from headway.analyses.objects.analysis import objects
from headway.analyses.objects.types import Grouping
from headway.analyses.objects.window_types import WHY_UNKNOWN, WhyUnknown, WindowAnswer
from headway.report.analyses.objects import OBJECTS
from headway.report.analysis import Shown
from headway.report.json.objects import objects_json
from headway.report.terminal import make_console
from headway.store import Recording
from support.builders.access_agent import finished
from support.builders.allocation_spool_builder import AllocatingAgent
from support.builders.window_agent import WINDOWED, steady, windowed_agent, worked

VIRTUAL = 0x7FFFFFFFFFFFFFFE


def answered(recording: Recording, by: Grouping = "thread") -> WindowAnswer:
    found = objects(recording, by)
    assert found.accesses is None
    assert found.windows is not None
    return found.windows


def ids(recording: Recording) -> set[str]:
    return {notice.id for notice in objects(recording, "thread").notices}


def printed(recording: Recording, by: Grouping) -> str:
    out = io.StringIO()
    OBJECTS.render(Shown(objects(recording, by), False), make_console(out), "a.headway")
    return " ".join(out.getvalue().split())


def test_a_steady_thread_is_estimated_as_what_it_did(tmp_path: Path) -> None:
    agent = windowed_agent()
    true = steady(agent, 21, 1)
    recording = finished(tmp_path, agent)
    found = answered(recording)
    (row,) = found.groups
    figure = row.figures.tuple_reads
    assert (row.thread, row.is_known, row.why_unknown, figure.counted) == ("w1", True, None, 500 * 11)
    assert "not known because" not in printed(recording, "thread")
    assert (figure.value, figure.low, figure.high) == (true, true, true)
    assert found.total.of_objects.value == true
    assert (found.window_ms, found.period_ms, found.windows, found.unknown_share) == (300, 60_000, 11, 0)
    assert found.slower_in_windows == pytest.approx((10 * 400 + 300) / (10 * 100 + 300))
    assert found.overhead == pytest.approx(24_300 / (24_300 - 3000))
    assert ids(recording) >= {"HW897"}
    assert ids(recording).isdisjoint({"HW896", "HW843", "HW844", "HW806"})
    assert not recording.has("access")


def test_windows_over_the_whole_run_are_exact(tmp_path: Path) -> None:
    agent = windowed_agent()
    agent.accessed(21, 1, 1, (7, 6, 5, 4, 3, 2))
    worked(agent, 21, 1, 0, **{"in": 1000, "own": 1000})
    figures = answered(finished(tmp_path, agent)).groups[0].figures
    assert [(each.value, each.low, each.high) for each in (figures.tuple_reads, figures.static_writes)] == [
        (7, 7, 7),
        (2, 2, 2),
    ]
    assert figures.of_objects.value == 22


def wrong_marks(agent: AllocatingAgent) -> None:
    steady(agent, 21, 1, wrong=101)


def one_mark(agent: AllocatingAgent) -> None:
    steady(agent, 21, 1, largest=1000)


def few_windows(agent: AllocatingAgent) -> None:
    steady(agent, 21, 1, groups=range(1, 6), largest=250)


def unseen_spells(agent: AllocatingAgent) -> None:
    steady(agent, 21, 1)
    worked(agent, 21, 2, 1, between=1, unseen=112)


def no_marks(agent: AllocatingAgent) -> None:
    agent.accessed(21, 1, 1, (5500, 0, 0, 0, 0, 0))
    worked(agent, 21, 1, 1, **{"in": 1000, "own": 1000, "between": 9000, "unseen": 1000})


def little_cpu(agent: AllocatingAgent) -> None:
    steady(agent, 21, 1, times=2)  # in 11 minutes 25 s of CPU time, where 33 s is the least


@pytest.mark.parametrize(
    ("add", "why"),
    [
        (little_cpu, "little-cpu"),
        (wrong_marks, "unlike-windows"),
        (one_mark, "one-mark"),
        (few_windows, "few-windows"),
        (unseen_spells, "unseen-spells"),
        (no_marks, "few-marks"),
    ],
)
def test_what_windows_can_t_tell_is_unknown_and_not_too_low_and_says_why(
    add: object, why: WhyUnknown, tmp_path: Path
) -> None:
    agent = windowed_agent()
    add(agent)  # type: ignore[operator]
    recording = finished(tmp_path, agent)
    found = answered(recording)
    (row,) = found.groups
    figure = row.figures.tuple_reads
    assert (row.is_known, figure.value, figure.low, figure.high) == (False, None, None, None)
    assert figure.counted > 0
    assert found.unknown_share == 1
    assert (row.why_unknown, found.unknown_because) == (why, ((why, 1),))
    said = objects_json(objects(recording, "thread"))["windows"]
    assert (said["groups"][0]["why_unknown"], said["unknown_because"]) == (why, [{"why": why, "share": 1}])
    (notice,) = [each for each in objects(recording, "thread").notices if each.id == "HW896"]
    assert notice.message.endswith(f"{WHY_UNKNOWN[why]} (100%)")
    text = printed(recording, "thread")
    assert f"- {WHY_UNKNOWN[why]}" in text
    assert f"{figure.counted:,} or more" in text
    assert "by thread, counted in windows" in text
    assert "estimated" not in text


@pytest.mark.parametrize(
    "facts",
    [
        {b"accesses_end": b""},
        {
            b"accesses_coverage": WINDOWED[b"accesses_coverage"].replace(
                b"windows_incomplete=0", b"windows_incomplete=1"
            )
        },
    ],
)
def test_of_a_jvm_whose_counts_are_not_all_on_record_nothing_is_estimated(
    facts: dict[bytes, bytes], tmp_path: Path
) -> None:
    agent = windowed_agent(WINDOWED | facts)
    steady(agent, 21, 1)
    (row,) = answered(finished(tmp_path, agent)).groups
    assert (row.is_known, row.why_unknown) == (False, "incomplete")


def test_threads_that_were_there_in_few_windows_are_known_together(tmp_path: Path) -> None:
    agent = windowed_agent()
    true = sum(steady(agent, 100 + n, n, groups=(2 * n + 1, 2 * n + 2), largest=100) for n in range(5))
    recording = finished(tmp_path, agent)
    (row,) = answered(recording).groups
    assert (row.java_id, row.thread, row.figures.tuple_reads.value) == (-1, None, true)
    assert "(many" in printed(recording, "thread")


def test_virtual_threads_are_one_row(tmp_path: Path) -> None:
    agent = windowed_agent()
    true = steady(agent, VIRTUAL, 1) + steady(agent, VIRTUAL, 2)
    (row,) = answered(finished(tmp_path, agent)).groups
    assert (row.java_id, row.figures.tuple_reads.value) == (-2, true)


def test_a_thread_that_is_unknown_is_in_no_estimate_and_its_share_is_said(tmp_path: Path) -> None:
    agent = windowed_agent()
    true = steady(agent, 21, 1)
    no_marks_of_main = {"in": 1000, "own": 1000, "between": 23_300}
    worked(agent, 1, 2, 1, **no_marks_of_main)
    agent.accessed(1, 1, 2, (9, 0, 0, 0, 0, 0))
    recording = finished(tmp_path, agent)
    found = answered(recording, "class")
    figure = found.groups[0].figures.tuple_reads
    assert (figure.value, figure.counted) == (true, 500 * 11 + 9)
    assert found.unknown_share == 0.5
    assert "50%" in printed(recording, "class")


def test_where_windows_counted_more_than_is_estimated_of_known_threads_there_is_no_estimate(tmp_path: Path) -> None:
    agent = windowed_agent()
    true = steady(agent, 21, 1)
    worked(agent, 1, 2, 1, **{"in": 1000, "own": 1000, "between": 23_300})
    agent.accessed(1, 1, 2, (10 * true, 0, 0, 0, 0, 0))
    recording = finished(tmp_path, agent)
    counted = 500 * 11 + 10 * true
    for figure in (answered(recording, "class").groups[0].figures.tuple_reads, answered(recording).total.of_objects):
        assert (figure.counted, figure.value, figure.low, figure.high) == (counted, None, None, None)
    assert f"{counted:,} times; how often in all is not known" in printed(recording, "class")


def test_json_has_the_estimates_of_each_group(tmp_path: Path) -> None:
    agent = windowed_agent()
    true = steady(agent, 21, 1)
    said = objects_json(objects(finished(tmp_path, agent), "thread-class"))
    assert said["accesses"] is None
    windows = said["windows"]
    assert windows["tuple"]["read"] == {"counted": 5500, "value": true, "low": true, "high": true}
    (group,) = windows["groups"]
    assert (group["thread"], group["class"], group["of_objects"]["value"]) == ("w1", "com.acme.Order", true)


@pytest.mark.parametrize("group", [12, 31])
def test_groups_that_no_agent_has_are_left_out(group: int, tmp_path: Path) -> None:
    agent = windowed_agent()
    true = steady(agent, 21, 1)
    worked(agent, 21, 1, group, between=10**9)
    agent.accessed(21, 1, 1 | group << 27, (10**9, 0, 0, 0, 0, 0))
    assert answered(finished(tmp_path, agent)).groups[0].figures.tuple_reads.value == true
