"""`headway counters`: scaling of groups that took turns, what is withheld, what is absent, JSON and the terminal."""

from __future__ import annotations

import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from headway.analyses.counters.analysis import counters
from headway.analyses.counters.estimate import BLOCKS, LEAST_EVENTS, Counted, count, ratio
from headway.analyses.counters.layout import Layout, layout
from headway.analyses.counters.metrics import METRICS
from headway.analyses.counters.parts.division import Division
from headway.analyses.counters.parts.slices import Slices
from headway.analyses.counters.parts.slices import slices as slices_of
from headway.analyses.counters.rows import Columns
from headway.analyses.counters.sums import Sums
from headway.analyses.counters.types import CountedGroup, Figure
from headway.errors import HeadwayError
from headway.errors.message import NOTE, WARNING
from headway.record.counters.usable import Absent, absent_notice
from headway.report.json.counters import counters_json
from headway.report.terminal.counters import render_counters
from headway.report.terminal.printing.console import make_console
from headway.store import open_recording
from headway.store.packing import COUNTER_GROUPS, COUNTERS
from support.builders.counted_builder import ORIGIN_NS, CountedSlice, counted_recording
from support.drivers.recording_cli import headway

MS = 1_000_000


def asked_json(*words: object) -> Any:
    """Return what `headway WORDS --json` says."""
    done = headway(*words, "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


EVENTS = ("cycles", "instructions")


def rotated(random: np.random.Generator, groups: int, seconds: float) -> tuple[list[CountedSlice], int]:
    """Return slices of one thread whose group has every n-th spell of 4 ms of the counters, and how many cycles there were."""
    slices, at, cycles = [], 0, 0
    phase = float(random.uniform(0, groups * 4))
    rate = 1.0
    while at < seconds * 1e9:
        length = int(random.exponential(1.5 * MS)) + 1000
        rate = rate * 0.5 + 0.5 * float(random.uniform(0.4, 1.6))  # of a program whose work varies, cycles a ns
        begin, end = at / MS + phase, (at + length) / MS + phase
        turn = 4.0 * groups
        first = int(begin // turn)
        on = sum(
            max(0.0, min(end, spell * turn + 4) - max(begin, spell * turn))
            for spell in range(first, int(end // turn) + 1)
        )
        on_ns = min(length, round(on * MS))
        cycles += round(rate * length)
        counts = (round(rate * on_ns), round(2 * rate * on_ns))
        slices.append(CountedSlice(0, 0, at, length, counts, (length - on_ns,)))
        at += length + int(random.exponential(0.3 * MS))
    return slices, cycles


@pytest.mark.parametrize("groups", [2, 4])
def test_scaled_counts_are_right_and_their_intervals_cover_the_truth(tmp_path: Path, groups: int) -> None:
    random = np.random.default_rng(2816 + groups)
    one_of_groups = Layout("CPI", (CountedGroup(EVENTS, groups, 1),), ())
    errors, covered = [], 0
    runs = 60
    for run in range(runs):
        slices, cycles = rotated(random, groups, 2.0)
        sums = Sums(1, BLOCKS, one_of_groups)
        nobody = np.zeros(len(slices), np.int64)
        start, ran = (np.array([getattr(each, name) for each in slices]) for name in ("start_ns", "running_ns"))
        counts = np.array([each.counts for each in slices])
        missed = np.array([each.uncounted_ns for each in slices])
        part = Slices(nobody, nobody, start, ran, counts, missed, np.ones(len(slices), bool))
        sums.add(part, nobody, ran, np.minimum(start * BLOCKS // 2_000_000_000, BLOCKS - 1))
        figure = Columns(sums, one_of_groups, None, np.zeros(1)).row(0, {}).counts["cycles"]
        assert figure.value is not None, run
        assert figure.low is not None
        assert figure.high is not None
        errors.append(abs(figure.value / cycles - 1))
        covered += figure.low <= cycles <= figure.high
    assert np.mean(errors) <= 0.02
    assert covered >= 0.9 * runs


def test_the_command_scales_a_group_that_took_turns_and_forms_its_ratio_of_what_was_counted(tmp_path: Path) -> None:
    slices, cycles = rotated(np.random.default_rng(5), 2, 2.0)
    path = counted_recording(tmp_path / "a.headway", slices, 2_000 * MS, (EVENTS,))
    found = asked_json("counters", path)
    assert found["step"] == "CPI"
    assert found["groups"][0]["running_ns"] < 0.6 * found["groups"][0]["enabled_ns"]
    thread = found["threads"][0]
    assert thread["counts"]["cycles"]["value"] == pytest.approx(cycles, rel=0.05)
    assert thread["counts"]["cycles"]["low"] < thread["counts"]["cycles"]["value"] < thread["counts"]["cycles"]["high"]
    assert thread["metrics"]["CPI"]["value"] == pytest.approx(0.5, rel=1e-3)


def test_a_small_count_of_a_group_that_took_turns_is_withheld_and_never_zero(tmp_path: Path) -> None:
    figure = count(Counted(LEAST_EVENTS / 4, 1e9, 5e8, blocks=1))
    assert figure.value is None
    assert "3 million" in figure.withheld
    assert count(Counted(LEAST_EVENTS / 4, 1e9, 0.0)).value is None
    # Counted all the time: exact, however small.
    assert count(Counted(LEAST_EVENTS / 4, 1e9, 1e9)).value == LEAST_EVENTS / 4
    never = [CountedSlice(0, 0, 0, 5 * MS, (0, 0), (5 * MS,))]
    path = counted_recording(tmp_path / "a.headway", never, 10 * MS, (EVENTS,))
    row = asked_json("counters", path)["threads"][0]
    assert row["counts"]["cycles"]["value"] is None
    assert "never counted" in row["counts"]["cycles"]["withheld"]
    assert row["metrics"]["CPI"]["value"] is None


def test_running_time_without_counts_is_told(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 0, MS, (5, 5)), CountedSlice(0, 0, 2 * MS, MS, None)]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,))
    found = asked_json("counters", path)
    assert [each["id"] for each in found["warnings"]] == ["HW110"]
    assert "50.0%" in found["warnings"][0]["message"]
    assert found["total"]["cycles"] == {"value": 5, "low": 5, "high": None}
    assert found["threads"][0]["counts"]["cycles"] == {"value": 5, "low": 5, "high": None}
    assert found["threads"][0]["metrics"]["CPI"] == {"value": 1, "low": None, "high": None}
    shown = headway("counters", path).stdout
    assert ">=5" in shown
    assert "the least that there was" in shown


def test_slices_that_the_borders_of_the_recording_cut_have_room_for_what_they_counted_outside(tmp_path: Path) -> None:
    """Of 2 ms in the recording and 1 ms before it, of 1 ms in it and 1 ms behind: their counts are shares, rounded down."""
    first, whole, last = (
        CountedSlice(0, 0, 0, 2 * MS, (200, 0)),
        CountedSlice(1, 1, 3 * MS, MS, (7, 3)),
        CountedSlice(2, 2, 8 * MS, MS, (50, 10), is_open=True),
    )
    span = {"from_ns": ORIGIN_NS - MS, "until_ns": ORIGIN_NS + 10 * MS}
    path = counted_recording(tmp_path / "a.headway", [first, whole, last], 9 * MS, (EVENTS,), ("app",) * 3, **span)
    found = {row["name"]: row["counts"] for row in asked_json("counters", path)["threads"]}
    assert found["thread-0"]["cycles"] == pytest.approx({"value": 200, "low": 0, "high": 201 * 1.5})
    assert found["thread-0"]["instructions"] == pytest.approx({"value": 0, "low": 0, "high": 1.5})
    assert found["thread-1"]["cycles"] == {"value": 7, "low": 7, "high": 7}
    assert found["thread-2"]["cycles"] == pytest.approx({"value": 50, "low": 0, "high": 51 * 2})
    total = asked_json("counters", path)["total"]["cycles"]
    assert total == pytest.approx({"value": 257, "low": 7, "high": 7 + 201 * 1.5 + 51 * 2})


def test_a_thread_that_spins_from_before_the_recording_on_is_bounded_by_what_a_processor_counts(tmp_path: Path) -> None:
    """3 cycles a ns for 10 ms; in 1 ms before it no processor has more than 6.5 million."""
    spins = [CountedSlice(0, 0, 0, 10 * MS, (30_000_000, 1))]
    path = counted_recording(tmp_path / "a.headway", spins, 10 * MS, (EVENTS,), from_ns=ORIGIN_NS - MS)
    cycles = asked_json("counters", path)["threads"][0]["counts"]["cycles"]
    assert cycles == pytest.approx({"value": 30e6, "low": 33e6 - 6.5e6, "high": 33e6}, rel=1e-6)


@pytest.mark.parametrize("lie", [-1, 0, 1 << 62, -(1 << 62), "x", None, True, [], {}, 1e300])
def test_times_of_counting_that_no_recording_has_make_counts_wide_at_most(lie: object, tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 0, 4 * MS, (7, 9), is_open=True)]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,), from_ns=lie, until_ns=lie)
    cycles = counters(open_recording(path)).rows[0].counts["cycles"]
    assert cycles.value == 7
    assert cycles.low in (0, 7)
    assert cycles.high is not None
    assert 7 <= cycles.high <= 6.5 * 4 * MS


def test_the_least_that_is_shown_of_a_count_is_its_lower_end_and_not_its_estimate(tmp_path: Path) -> None:
    """Of a slice that a window cuts in half all 100 cycles may lie outside of it; a scaled count may be less than estimated."""
    slices = [CountedSlice(0, 0, 0, 2 * MS, (100, 40)), CountedSlice(0, 0, 3 * MS, MS, None)]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,))
    window = ("--from", "1ms")
    figure = asked_json("counters", path, *window)["threads"][0]["counts"]["cycles"]
    assert figure == {"value": 50, "low": 0, "high": None}
    words = row_of(headway("counters", path, *window).stdout, "thread-0")
    assert words[-2:] == [">=0", ">=0"]

    slices, cycles = rotated(np.random.default_rng(5), 2, 2.0)
    unknown = CountedSlice(0, 0, 3_000 * MS, 100 * MS, None)
    path = counted_recording(tmp_path / "b.headway", [*slices, unknown], 3_100 * MS, (EVENTS,))
    figure = asked_json("counters", path)["threads"][0]["counts"]["cycles"]
    assert figure["high"] is None
    assert figure["low"] < 0.99 * figure["value"]
    assert figure["low"] <= cycles
    words = row_of(headway("counters", path).stdout, "thread-0")
    least = float(words[words.index("G") - 1].removeprefix(">=")) * 1e9
    assert least == pytest.approx(figure["low"], rel=0.005)


def row_of(shown: str, name: str) -> list[str]:
    """Return the words of the first row of a table that is about a name."""
    return next(line for line in shown.splitlines() if name in line).replace("│", " ").split()


def test_a_thread_none_of_whose_counts_are_known_is_not_one_that_counted_nothing(tmp_path: Path) -> None:
    slices = [CountedSlice(0, 0, 0, 9 * MS, (8, 4)), CountedSlice(1, 1, 0, 10_000, None)]
    path = counted_recording(tmp_path / "a.headway", slices, 10 * MS, (EVENTS,), ("app", "app"))
    known, unknown = asked_json("counters", path)["threads"]
    assert known["counts"]["cycles"] == {"value": 8, "low": 8, "high": 8}
    assert unknown["counts"]["cycles"]["value"] is None
    assert "not known" in unknown["counts"]["cycles"]["withheld"]
    assert unknown["metrics"]["CPI"]["value"] is None


def test_nothing_that_ran_counted_nothing(tmp_path: Path) -> None:
    path = counted_recording(tmp_path / "a.headway", [CountedSlice(0, 0, 0, MS, (5, 5))], 4 * MS, (EVENTS,))
    found = asked_json("counters", path, "--from", "2ms", "--to", "3ms")
    assert found["threads"] == []
    assert found["total"]["cycles"] == {"value": 0, "low": 0, "high": 0}


def test_ratios_of_slices_that_are_cut_have_room_for_every_event_that_they_are_made_of(tmp_path: Path) -> None:
    """A slice of 2 ms is cut in the middle: of its 100 cycles and 40 instructions all or none may lie in the window."""
    slices = [CountedSlice(0, 0, 0, MS, (300, 200)), CountedSlice(0, 0, MS, 2 * MS, (100, 40))]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,))
    thread = asked_json("counters", path, "--to", "2ms")["threads"][0]
    assert thread["counts"]["cycles"] == {"value": 350, "low": 300, "high": 400}
    assert thread["counts"]["instructions"] == {"value": 220, "low": 200, "high": 240}
    assert thread["metrics"]["CPI"] == {"value": 350 / 220, "low": 300 / 240, "high": 400 / 200}


def test_a_ratio_that_may_be_divided_by_nothing_has_no_upper_end(tmp_path: Path) -> None:
    path = counted_recording(tmp_path / "a.headway", [CountedSlice(0, 0, 0, 2 * MS, (100, 40))], 4 * MS, (EVENTS,))
    thread = asked_json("counters", path, "--to", "1ms")["threads"][0]
    assert thread["metrics"]["CPI"] == {"value": 2.5, "low": 0, "high": None}


def test_a_difference_of_events_is_bounded_by_the_opposite_ends_of_what_is_taken_away() -> None:
    metric = next(each for each in METRICS if each.name == "arithmetic instructions")
    ends = {
        "instructions": (900, 1000, 1100),
        "L1-dcache-loads": (180, 200, 260),
        "L1-dcache-stores": (100, 100, 100),
        "branches": (0, 100, 150),
    }
    figures = {name: Figure(value, low, high) for name, (low, value, high) in ends.items()}
    found = ratio(metric, {name: value for name, (_, value, _) in ends.items()}, figures)
    assert (found.low, found.value, found.high) == ((900 - 510) / 1100, 600 / 1000, (1100 - 280) / 900)


def test_imbalance_is_of_the_threads_that_have_counts_and_says_of_which(tmp_path: Path) -> None:
    """Threads that counted 30 and 10: mean 20, deviation 10. A third ran briefly, and nothing is known of what it counted."""
    known = [CountedSlice(0, 0, 0, 9 * MS, (30, 30)), CountedSlice(1, 1, 0, 9 * MS, (10, 30))]
    kinds = ("app", "app", "app", "gc")
    collector = CountedSlice(3, 3, 0, 9 * MS, (99, 99))
    path = counted_recording(tmp_path / "a.headway", [*known, collector], 10 * MS, (EVENTS,), kinds)
    exact = {"low": 0.5, "high": 0.5, "left_out": 0}
    assert asked_json("counters", path)["imbalance"]["cycles"] == {"value": 0.5, "threads": 2, **exact}
    for by in ("kind", "cpu", "phase"):
        assert asked_json("counters", path, "--by", by)["imbalance"]["cycles"]["value"] == 0.5
    assert asked_json("counters", path)["imbalance"]["instructions"]["value"] == 0

    brief = CountedSlice(2, 2, 0, 10_000, None)
    path = counted_recording(tmp_path / "b.headway", [*known, brief], 10 * MS, (EVENTS,), kinds)
    found = asked_json("counters", path)["imbalance"]["cycles"]
    assert found == {"value": 0.5, "low": None, "high": None, "threads": 2, "left_out": 1}
    shown = " ".join(headway("counters", path).stdout.split())
    assert "cycles ~50% (without 1 that have no counts)" in shown

    long = CountedSlice(2, 2, 0, 9 * MS, None)
    path = counted_recording(tmp_path / "c.headway", [*known, long], 10 * MS, (EVENTS,), kinds)
    found = asked_json("counters", path)["imbalance"]["cycles"]
    assert found["value"] is None
    assert found["withheld"].startswith("of 33.3% of the running time")


def test_a_million_slices_of_ten_thousand_threads_take_no_room_for_each(tmp_path: Path) -> None:
    """Of most threads most blocks of time are empty: kept are those that have something."""
    threads, blocks = 10_000, 48
    sums = Sums(threads, blocks, Layout("CPI", (CountedGroup(EVENTS, 2, 1),), ()))
    random = np.random.default_rng(28)
    truth = np.zeros(threads)
    for block in range(blocks):
        key = random.integers(block * 200, block * 200 + 400, 20_000)
        counts = random.integers(0, 1000, (len(key), 2))
        ran = np.full(len(key), 1000)
        each = Slices(key, key, ran, ran, counts, np.full((len(key), 1), 500), np.ones(len(key), bool))
        sums.add(each, key, ran, np.full(len(key), block))
        truth += np.bincount(key, counts[:, 0], threads)
    cells = sums.cells()
    assert (cells.seen[:, 0] == truth).all()
    assert cells.cells <= 400 * blocks
    assert (cells.did_ns[:, 0] == cells.could_ns / 2).all()


def test_more_rows_are_told_by_what_they_are_sorted_by(tmp_path: Path) -> None:
    slices = [CountedSlice(number, number, 0, (30 - number) * MS, (1, 1)) for number in range(25)]
    path = counted_recording(tmp_path / "a.headway", slices, 40 * MS, (EVENTS,), ("app",) * 25)
    assert "5 more that ran less: --all" in headway("counters", path).stdout
    assert "5 more: --all" in headway("counters", path, "--by", "cpu").stdout


@pytest.mark.parametrize("id", ["HW107", "HW125"])
def test_what_is_absent_is_said_once(tmp_path: Path, id: str) -> None:
    absent = [{"event": "LLC-loads", "reason": "this processor or kernel has no such event"}]
    slices = [CountedSlice(0, 0, 0, MS, (1000, 2000), (0,))]
    recording = open_recording(counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,), absent=absent))
    notice = absent_notice([Absent(**each) for each in absent], is_default=id == "HW125")
    assert (notice.id, notice.level) == (id, WARNING if id == "HW107" else NOTE)
    found = replace(counters(recording), notices=(notice,))
    printed = io.StringIO()
    render_counters(found, make_console(printed), None)
    assert printed.getvalue().count("LLC-loads") == 1
    assert id not in printed.getvalue()
    assert id in {each["id"] for each in counters_json(found)["warnings"]}


def test_what_is_absent_is_listed_with_its_reason_and_a_recording_without_counters_says_so(tmp_path: Path) -> None:
    absent = [{"event": "LLC-loads", "reason": "this processor or kernel has no such event"}]
    slices = [CountedSlice(0, 0, 0, MS, (5, 5))]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,), absent=absent)
    assert asked_json("counters", path)["absent"] == absent
    without = counted_recording(
        tmp_path / "b.headway", slices, 4 * MS, (EVENTS,), groups=[], absent=absent, step="none"
    )
    with pytest.raises(HeadwayError) as found:
        counters(open_recording(without))
    assert found.value.notice.id == "HW109"
    assert "no such event" in found.value.notice.message


@pytest.mark.parametrize(
    "bad",
    [
        {"groups": "x"},
        {"groups": [{"events": ["e"] * (COUNTERS + 1)}]},
        {"groups": [{"events": ["e"]}] * (COUNTER_GROUPS + 1)},
        {"groups": [{"events": []}]},
        {"step": "highest"},
        {"cpus": [{"group": -1}, {"group": 7, "enabled_ns": 1, "running_ns": "1"}, 5]},
        {"absent": [{}, 3]},
    ],
)
def test_a_manifest_of_anybody_is_an_answer_or_a_message(tmp_path: Path, bad: dict[str, object]) -> None:
    slices = [CountedSlice(0, 0, 0, MS, (5, 5))]
    path = counted_recording(tmp_path / "a.headway", slices, 4 * MS, (EVENTS,), **bad)
    found = headway("counters", path, "--json")
    if found.returncode == 0:
        assert json.loads(found.stdout)["total"]["cycles"]["value"] == 5
    else:
        assert found.returncode == 1
        assert found.stderr.startswith("HW109")


def test_files_without_counts_read_as_not_known(tmp_path: Path) -> None:
    path = counted_recording(tmp_path / "a.headway", [CountedSlice(0, 0, 0, MS, (7, 9))], 4 * MS, (EVENTS,))
    row = open_recording(path).query("SELECT count_0, count_1, count_2, uncounted_0, uncounted_1 FROM slice").fetchone()
    assert row == (7, 9, None, 0, None)


def test_the_json_is_plain(tmp_path: Path) -> None:
    path = counted_recording(tmp_path / "a.headway", [CountedSlice(0, 0, 0, MS, (7, 9))], 4 * MS, (EVENTS,))
    found = asked_json("counters", path, "--by", "kind")
    assert json.loads(json.dumps(found))["kinds"] == [
        {
            "kind": "app",
            "cpu_ns": MS,
            "counted_ns": MS,
            "counts": {
                "cycles": {"value": 7.0, "low": 7.0, "high": 7.0},
                "instructions": {"value": 9.0, "low": 9.0, "high": 9.0},
            },
            "metrics": {"CPI": {"value": 7 / 9, "low": 7 / 9, "high": 7 / 9}},
        }
    ]


def test_metrics_can_be_left_out_chosen_or_asked_for_without_saying_which(tmp_path: Path) -> None:
    path = counted_recording(tmp_path / "a.headway", [CountedSlice(0, 0, 0, MS, (7, 9))], 4 * MS, (EVENTS,))
    whole = asked_json("counters", path)
    assert asked_json("counters", path, "--metrics") == whole
    assert asked_json("counters", path, "--metrics", "all") == whole
    assert asked_json("counters", path, "--metrics", "memory") == whole
    assert asked_json("counters", path, "--metrics", "mix")["threads"][0]["metrics"] == {}
    wrong = headway("counters", "--metrics", path)
    assert wrong.returncode == 2
    assert "'memory', 'topdown', 'mix', 'all'" in wrong.stderr


def test_by_lock_tells_what_holders_counted_and_that_no_locks_are_recorded(tmp_path: Path) -> None:
    """The first slice lies in one hold, the second half of another in two that overlap."""
    slices = [CountedSlice(0, 0, 0, MS, (30, 10)), CountedSlice(1, 1, 0, 2 * MS, (100, 100))]
    holds = [(0, 0, 0, MS), (1, 0, MS, MS), (1, 1, 0, 5 * MS), (1, 0, MS + 10, MS)]
    path = counted_recording(tmp_path / "a.headway", slices, 9 * MS, (EVENTS,), ("app", "app"), (), holds)
    found = asked_json("counters", path, "--by", "lock")
    first, both = found["locks"]
    assert (first["name"], first["identity_hash"], first["cpu_ns"]) == ("Lock@1000", 0x1000, 2 * MS)
    assert first["counts"]["cycles"] == {"value": 80, "low": 30, "high": 130}
    assert (both["name"], both["counts"]["cycles"]) == ("Lock@1001", {"value": 100, "low": 100, "high": 100})
    assert found["total"]["cycles"]["value"] == 130
    assert "Lock@1001" in headway("counters", path, "--by", "lock").stdout
    without = counted_recording(tmp_path / "b.headway", slices, 9 * MS, (EVENTS,), ("app", "app"))
    refused = headway("counters", without, "--by", "lock")
    assert refused.returncode == 1
    assert refused.stderr.startswith("HW430")


def test_a_lock_that_virtual_threads_held_as_well_has_counts_without_an_upper_end(tmp_path: Path) -> None:
    """Lock 0 is held by a thread and a virtual one, lock 1 by a virtual one alone, lock 2 by a thread alone."""
    slices = [CountedSlice(0, 0, 0, MS, (30, 10)), CountedSlice(0, 0, 4 * MS, MS, (7, 7))]
    holds = [(0, 0, 0, MS), (None, 0, 2 * MS, MS), (None, 1, 2 * MS, 3 * MS), (0, 2, 4 * MS, MS)]
    path = counted_recording(tmp_path / "a.headway", slices, 9 * MS, (EVENTS,), ("app",), (), holds)
    found = asked_json("counters", path, "--by", "lock")
    both, threads, virtual = found["locks"]
    assert [each["identity_hash"] for each in found["locks"]] == [0x1000, 0x1002, 0x1001]
    assert [each["unassigned_hold_ns"] for each in found["locks"]] == [MS, 0, 3 * MS]
    assert [each["cpu_ns"] for each in found["locks"]] == [MS, MS, 0]
    assert [each["counted_ns"] for each in found["locks"]] == [MS, MS, 0]
    assert both["counts"]["cycles"] == {"value": 30, "low": 30, "high": None}
    assert both["metrics"]["CPI"] == {"value": 3, "low": None, "high": None}
    assert threads["counts"]["cycles"] == {"value": 7, "low": 7, "high": 7}
    assert virtual["counts"]["cycles"]["value"] is None
    assert "not known" in virtual["counts"]["cycles"]["withheld"]
    assert found["total"]["cycles"] == {"value": 37, "low": 37, "high": 37}
    shown = headway("counters", path, "--by", "lock").stdout
    assert row_of(shown, "Lock@1000")[-4:] == [">=1.00", "ms", ">=30", ">=10"]
    assert row_of(shown, "Lock@1001")[-3:] == ["-", "-", "-"]
    assert "what virtual threads, or ones that are not known, ran while they held a lock" in " ".join(shown.split())
    before = asked_json("counters", path, "--by", "lock", "--to", "2ms")["locks"]
    assert [(each["identity_hash"], each["counts"]["cycles"]["high"]) for each in before] == [(0x1000, 30)]


def test_locks_of_a_day_and_of_hundreds_of_thousands_of_holders_keep_their_rows(tmp_path: Path) -> None:
    """A day in ns times the number of pairs of thread and lock is more than 64 bits have: every lock is held by one thread."""
    day_ns, locks = 86_400 * 1_000_000_000, 110_000
    ends = [CountedSlice(0, 0, 0, MS, (1, 1)), CountedSlice(1, 1, day_ns - MS, MS, (7, 9))]
    holds = [(0, lock, 0, 10) for lock in range(locks - 1)] + [(1, locks - 1, day_ns - MS, MS)]
    path = counted_recording(tmp_path / "a.headway", ends, day_ns, (EVENTS,), ("app", "app"), (), holds)
    recording = open_recording(path)
    division = Division(recording, "lock", ORIGIN_NS, ORIGIN_NS + day_ns)
    (each,) = slices_of(recording, layout(recording), ORIGIN_NS, ORIGIN_NS + day_ns)
    ((parts, lock, inside_ns),) = division.parts(each)
    assert lock.tolist() == [*range(locks)]
    assert inside_ns.tolist() == [10] * (locks - 1) + [MS]
    assert parts.counts[-1].tolist() == [7, 9]
