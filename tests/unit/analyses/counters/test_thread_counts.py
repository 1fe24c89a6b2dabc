"""Differences of two readings of a running program's threads become the same figures as those of a recording."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.counters.totals.live import live_counters
from headway.analyses.counters.types import Counters, Figure
from headway.model.thread_counts import ProcessCounts, ThreadCounts, Totals
from headway.report.json.counters import counters_json
from headway.report.terminal import make_console
from headway.report.terminal.counters import render_counters

GROUPS = [["cycles", "instructions"], ["page-faults"]]
SECOND = 1_000_000_000
START = 7 * SECOND


def thread(totals: Totals | None, uncounted_ns: int = 0, name: str = "worker", kind: str = "app") -> ThreadCounts:
    return ThreadCounts(name, kind, totals, uncounted_ns)


def process(
    threads: dict[int, ThreadCounts], at_s: float = 0, cpu_ns: int | None = None, left_out: int = 0
) -> ProcessCounts:
    """Return a reading; threads began at tick 5. By default the process used what they ran."""
    keyed = {(tid, 5): each for tid, each in threads.items()}
    why = "each takes 3 descriptors, and ulimit -n allows 100" if left_out else ""
    ran = sum((each.totals[0][1] if each.totals else 0) + each.uncounted_ns for each in threads.values())
    used = ran if cpu_ns is None else cpu_ns
    return ProcessCounts(4000, START + round(at_s * SECOND), (used, used), keyed, left_out, why)


def all_the_time(cycles: int, instructions: int, faults: int, ran_ns: int) -> Totals:
    return ((cycles, ran_ns, ran_ns), (instructions, ran_ns, ran_ns), (faults, ran_ns, ran_ns))


def asked(before: ProcessCounts, now: ProcessCounts) -> Counters:
    return live_counters(before, now, GROUPS, "CPI", since_ns=START)


def test_what_was_counted_is_the_difference_of_two_readings() -> None:
    before = process({1: thread(all_the_time(100, 200, 3, 50)), 2: thread(all_the_time(0, 0, 0, 0))}, 1)
    now = process({1: thread(all_the_time(1100, 4200, 10, 1050)), 2: thread(all_the_time(70, 35, 1, 90))}, 2)
    found = asked(before, now)
    assert found.window_ns == (SECOND, 2 * SECOND)
    assert [(row.key["tid"], row.cpu_ns, row.counted_ns) for row in found.rows] == [(1, 1000, 1000), (2, 90, 90)]
    first, second = found.rows
    assert [first.counts[name].value for name in ("cycles", "instructions", "page-faults")] == [1000, 4000, 7]
    assert first.metrics["CPI"] == Figure(0.25, 0.25, 0.25)
    assert second.metrics["CPI"].value == 2
    assert found.total.counts["cycles"] == Figure(1070, 1070, 1070)
    assert not found.notices


def test_a_thread_that_did_not_run_has_no_row() -> None:
    reading = {1: thread(all_the_time(100, 200, 3, 50))}
    found = asked(process(reading), process(reading, 1))
    assert not found.rows
    assert found.total.counts["cycles"] == Figure(0, 0, 0)


def test_a_thread_that_had_run_before_it_was_first_seen_has_the_least_that_there_was() -> None:
    late = thread(all_the_time(100, 200, 3, 50), uncounted_ns=30)
    found = asked(process({}), process({1: late}, 1))
    (row,) = found.rows
    assert (row.cpu_ns, row.counted_ns) == (80, 50)
    assert row.counts["cycles"] == Figure(100, 100, None)
    assert row.metrics["CPI"] == Figure(0.5, None, None)
    again = asked(process({1: late}), process({1: thread(all_the_time(150, 300, 3, 80), uncounted_ns=30)}, 1))
    assert again.rows[0].counts["cycles"] == Figure(50, 50, 50)


def test_the_number_of_an_ended_thread_that_another_has_now_is_another_thread() -> None:
    ended, new = thread(all_the_time(1000, 1000, 9, 100)), thread(all_the_time(10, 10, 1, 20))
    before = process({1: ended})
    now = ProcessCounts(4000, START + SECOND, None, {(1, 5): ended, (1, 99): new})
    assert [row.counts["cycles"].value for row in asked(before, now).rows] == [10]


def test_threads_that_are_not_counted_are_told_and_have_no_zeros() -> None:
    before = process({1: thread(None), 2: thread(all_the_time(0, 0, 0, 0))}, left_out=1)
    now = process({1: thread(None, uncounted_ns=500), 2: thread(all_the_time(8, 4, 1, 100))}, 1, left_out=1)
    found = asked(before, now)
    assert found.rows[0].key["tid"] == 1
    assert found.rows[0].counts["cycles"].value is None
    assert found.total.counts["cycles"] == Figure(8, 8, None)
    assert [notice.id for notice in found.notices] == ["HW115"]
    assert "ulimit -n allows 100" in found.notices[0].message


def test_groups_in_turn_are_scaled_and_one_that_had_no_turn_is_withheld() -> None:
    ran = 2 * SECOND
    half = ((40_000_000, ran, ran // 2), (80_000_000, ran, ran // 2), (0, ran - 70, 0))
    found = asked(process({1: thread(((0, 0, 0),) * 3)}), process({1: thread(half)}, 3))
    cycles = found.rows[0].counts["cycles"]
    assert cycles.value == 80_000_000
    assert cycles.low is not None
    assert cycles.high is not None
    assert cycles.low < 80_000_000 < cycles.high
    assert found.rows[0].metrics["CPI"].value == 0.5
    assert found.rows[0].counts["page-faults"].withheld == "its group never counted while this ran"
    assert [group.is_multiplexed for group in found.groups] == [True, True]


def test_time_of_threads_that_nobody_saw_is_a_row_without_counts_where_it_is_much() -> None:
    before = process({1: thread(all_the_time(0, 0, 0, 0))}, cpu_ns=10_000)
    seen = {1: thread(all_the_time(100, 100, 1, 1000))}
    much = asked(before, process(seen, 1, cpu_ns=12_000))
    assert [(row.key["name"], row.cpu_ns) for row in much.rows] == [("worker", 1000), ("(threads between looks)", 1000)]
    assert much.total.counts["cycles"] == Figure(100, 100, None)
    little = asked(before, process(seen, 1, cpu_ns=11_100))
    assert [row.key["name"] for row in little.rows] == ["worker"]
    assert little.total.counts["cycles"] == Figure(100, 100, 100)


def test_the_total_is_the_least_that_there_was_where_threads_may_have_come_and_gone_between_two_looks() -> None:
    """A fiftieth of what the process used is no row of its own, and is more than two clocks differ by."""
    before = process({1: thread(all_the_time(0, 0, 0, 0))})
    ran = {1: thread(all_the_time(100, 200, 1, 2 * SECOND))}
    found = asked(before, process(ran, 1, cpu_ns=2 * SECOND + 40_000_000))
    assert [row.key["name"] for row in found.rows] == ["worker"]
    assert found.rows[0].counts["cycles"] == Figure(100, 100, 100)
    assert found.total.counts["cycles"] == Figure(100, 100, None)
    assert found.total.metrics["CPI"] == Figure(0.5, None, None)
    clocks_differ = asked(before, process(ran, 1, cpu_ns=2 * SECOND + 9_000_000))
    assert clocks_differ.total.counts["cycles"] == Figure(100, 100, 100)


def test_the_total_of_a_process_that_has_ended_is_the_least_that_there_was() -> None:
    before = process({1: thread(all_the_time(0, 0, 0, 0))})
    ended = ProcessCounts(4000, START + SECOND, None, {(1, 5): thread(all_the_time(100, 200, 1, SECOND))})
    found = asked(before, ended)
    assert found.rows[0].counts["cycles"] == Figure(100, 100, 100)
    assert found.total.counts["cycles"] == Figure(100, 100, None)


def test_the_answer_is_that_of_a_recording_as_json_and_on_the_terminal() -> None:
    found = asked(process({}), process({1: thread(all_the_time(100, 200, 3, 50))}, 1))
    parsed = json.loads(json.dumps(counters_json(found), allow_nan=False))
    assert parsed["threads"][0]["tid"] == 1
    assert parsed["total"]["cycles"] == {"value": 100, "low": 100, "high": 100}
    console = make_console()
    with console.capture() as capture:
        render_counters(found, console, None)
    assert "Counts by thread" in capture.get()
    assert "worker" in capture.get()


def test_what_ran_while_very_many_threads_were_read_is_not_taken_for_others() -> None:
    """The first reading took until the process had used 11,000, so that its threads may have been read then."""
    before = ProcessCounts(4000, START, (10_000, 11_000), {(1, 5): thread(all_the_time(0, 0, 0, 900))})
    now = ProcessCounts(4000, START + SECOND, (12_000, 12_500), {(1, 5): thread(all_the_time(100, 100, 1, 1_900))})
    assert [row.key["name"] for row in asked(before, now).rows] == ["worker"]


def test_the_name_that_a_thread_gives_itself_does_nothing_to_the_terminal() -> None:
    found = asked(process({}), process({1: thread(all_the_time(1, 2, 3, 50), name="\x1b[2J\x07 bad")}, 1))
    console = make_console()
    with console.capture() as capture:
        render_counters(found, console, None)
    assert "\x1b" not in capture.get()
    assert "bad" in capture.get()


TOTALS = st.tuples(*[st.integers(0, 10**12)] * 3, st.integers(0, 10**12))


@given(st.lists(st.tuples(TOTALS, TOTALS), max_size=5))
def test_totals_are_the_sums_of_all_threads(readings: list[tuple[tuple[int, ...], tuple[int, ...]]]) -> None:
    before = {tid: thread(all_the_time(*first)) for tid, (first, _) in enumerate(readings)}
    now = {
        tid: thread(all_the_time(*(a + b for a, b in zip(first, more, strict=True))))
        for tid, (first, more) in enumerate(readings)
    }
    found = asked(process(before), process(now, 1))
    ran = [more for _, more in readings if more[3]]
    for place, event in enumerate(("cycles", "instructions", "page-faults")):
        assert found.total.counts[event].value == sum(more[place] for more in ran)
    assert found.total.cpu_ns == sum(more[3] for more in ran)
