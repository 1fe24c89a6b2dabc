"""Where the cores went, as a person and as a program reads it."""

from __future__ import annotations

import dataclasses
import io
import json

import pytest

from headway.analyses.common.causes import TITLES
from headway.analyses.common.units import core_time
from headway.analyses.lost_cores.text import place_text, sentence
from headway.analyses.lost_cores.types import TOGETHER, Account, Place
from headway.report.html.lost_cores import why_values
from headway.report.json.lost_cores import why_json
from headway.report.terminal import make_console
from headway.report.terminal.lost_cores import LINES, largest, render_account, render_why, shortened
from support.builders.account_builder import SECOND, account, why_result


def shown(rows: int = 3, phases: int = 2) -> str:
    out = io.StringIO()
    render_why(why_result(rows, phases), make_console(out))
    return out.getvalue()


def test_the_sentence_comes_first_then_causes_evidence_phases_and_warnings() -> None:
    text = " ".join(shown().split())
    assert text.startswith(
        "* 2 cores x 10.0 s = 20.0 core-s: 12.0 s used by the application, 1.00 s by GC, 0.40 s by the JIT, "
        "0.20 s by headway, 0.60 s stolen by the host, 1.00 s used by other processes, 4.80 s (24%) lost."
    )
    parts = ("Where the lost cores went", "lock contention", "serial section", "was there for", "Phases", "A bound is")
    places = [text.index(part) for part in (*parts, "Warnings", "HW100")]
    assert places == sorted(places)


@pytest.mark.parametrize("rows", [1, 3, 40])
def test_it_fits_80_columns_and_holds_nothing_that_a_terminal_obeys(rows: int) -> None:
    text = shown(rows, 12)
    assert max(map(len, text.splitlines())) <= 80
    assert all(char.isprintable() or char == "\n" for char in text)


def test_no_more_than_ten_causes_are_shown_and_the_rest_is_told_with_its_sum() -> None:
    lines = shown(40).splitlines()
    head = next(i for i, line in enumerate(lines) if line.startswith("lost to"))
    table = lines[head + 1 : lines.index("", head) if "" in lines[head:] else len(lines)]
    rows = [line for line in table if any(line.startswith(title) for title in TITLES.values())]
    assert len(rows) == LINES
    assert "30 more, 3.60 s in all: headway why NAME.headway --json" in " ".join(lines)


def test_what_would_gain_much_is_shown_however_little_it_lost_where_others_had_the_cores() -> None:
    result = why_result(2)
    lost = tuple(
        dataclasses.replace(loss, core_ns=1, share=0.0, likely_speedup=likely)
        for loss, likely in zip(result.account.lost, (1.5, 1.001), strict=True)
    )
    account = dataclasses.replace(result.account, lost=lost)
    assert [loss.likely_speedup for loss in largest(account)] == [1.5]


def test_without_losses_there_is_no_table() -> None:
    out = io.StringIO()
    whole = Account(0, SECOND, 1.0, {"app": SECOND}, None, None, (), 0.0)
    render_account(whole, make_console(out))
    said = " ".join(out.getvalue().split())
    assert said == "* 1 core x 1.00 s = 1.00 core-s: 1.00 s used by the application, 0 s (0%) lost."


def test_all_times_of_the_sentence_have_one_unit_and_what_is_too_small_for_it_is_said_so() -> None:
    whole = Account(0, SECOND // 2, 4.0, {"app": SECOND, "gc": 99_500_000}, None, 895_000_000, (), 0.0)
    (loss, *_) = why_result(1).account.lost
    said = sentence(dataclasses.replace(whole, lost=(dataclasses.replace(loss, core_ns=583_000),)))
    assert said == (
        "4 cores x 0.50 s = 2.00 core-s: 1.00 s used by the application, 0.10 s by GC, 0.90 s used by other processes, "
        "<0.01 s (<0.1%) lost."
    )


def test_fractional_cores_and_a_sum_that_is_not_told_apart_are_said_so() -> None:
    whole = Account(0, SECOND, 1.5, {TOGETHER: SECOND}, None, None, (), 0.0)
    assert sentence(whole).startswith("1.50 cores x 1.00 s = 1.50 core-s: 1.00 s used by the program")


@pytest.mark.parametrize(
    ("place", "text"),
    [
        (Place(), ""),
        (Place(thread="main"), "main"),
        (Place("a.B.run", 7, None, "main"), "a.B.run:7 (main)"),
        (Place("a.B.run", None, "Lock@1"), "a.B.run, Lock@1"),
    ],
)
def test_a_place_is_named_by_method_lock_and_thread(place: Place, text: str) -> None:
    assert place_text(place) == text


def test_long_places_lose_their_packages_first() -> None:
    assert shortened("org.example.storage.Store.put:41 (worker-1)", 33) == "Store.put:41 (worker-1)"
    long = shortened("x" * 30 + "y" * 30, 33)
    assert len(long) == 33
    assert long.startswith("xxx")
    assert long.endswith("yyy")


def test_json_has_the_promised_keys_and_its_sums_are_those_of_the_account() -> None:
    said = json.loads(json.dumps(why_json(why_result()), allow_nan=False))
    promised = {"cores", "wall_ns", "core_ns", "used", "stolen_ns", "other_processes_ns", "lost", "phases"}
    assert promised | {"invariant_error", "warnings"} <= set(said)
    assert set(said["used"]) == {"app", "gc", "jit", "vm", "headway"}
    assert {"cause", "core_ns", "share", "place", "bound_speedup", "evidence"} <= set(said["lost"][0])
    assert {"method", "line", "lock", "thread"} <= set(said["lost"][0]["place"])
    for part in (said, *said["phases"]):
        lost = sum(row["core_ns"] for row in part["lost"])
        used = sum(part["used"].values())
        assert used + part["stolen_ns"] + part["other_processes_ns"] + lost == part["core_ns"]
        assert lost == part["lost_ns"]
    assert sum(said["by_cause"].values()) == said["lost_ns"]


def test_json_of_sums_that_are_not_told_apart_has_nulls_for_the_parts() -> None:
    whole = account()
    merged = Account(0, SECOND, 2.0, {TOGETHER: 5}, None, None, whole.lost, 0.0)
    why = why_result()
    said = why_json(type(why)(merged, (), (), 1, {}, "agent", ()))
    assert said["used"] == {"app": None, "gc": None, "jit": None, "vm": None, "headway": None, TOGETHER: 5}


def printed_with(likely: float | None, *, cause: str | None = None) -> str:
    """Return what `why` prints where each loss took a millionth of the core time."""
    result = why_result(2, phases=1)
    tiny = result.account.core_ns // 1_000_000
    lost = tuple(
        dataclasses.replace(each, core_ns=tiny, share=1e-6, likely_speedup=likely, cause=cause or each.cause)
        for each in result.account.lost
    )
    out = io.StringIO()
    account = dataclasses.replace(result.account, lost=lost)
    render_why(dataclasses.replace(result, account=account), make_console(out))
    return out.getvalue()


def test_no_sentence_speaks_of_a_table_that_is_not_there() -> None:
    text = printed_with(1.001)
    assert "2 small losses, 40.0 us in all: headway why NAME.headway --json" in text
    assert not any(
        each in text for each in ("Where the lost cores went", "more,", "The order is", "A bound is", "share is")
    )


def test_below_the_table_is_said_what_its_columns_are_of_and_that_the_jvms_own_start_comes_later() -> None:
    text = printed_with(1.19)
    assert "Where the lost cores went" in text
    assert "share is of core time; likely and bound are of wall time." in text
    assert "The order is that of what would likely be gained." in text
    of_the_jvm = "The JVM's own start and end come below all that likely gains 1.05x or more."
    assert of_the_jvm not in text
    assert of_the_jvm in printed_with(1.19, cause="jvm_start")


def test_the_page_leads_with_what_would_gain_much_and_not_with_what_lost_a_little_core_time() -> None:
    result = why_result(3)
    start, lock, other = result.account.lost
    lost = (
        dataclasses.replace(start, cause="jvm_start", share=0.0005, likely_speedup=1.001),
        dataclasses.replace(lock, cause="lock_contention", share=0.0001, likely_speedup=1.19),
        dataclasses.replace(other, cause="io", share=0.2, likely_speedup=None),
    )
    account = dataclasses.replace(result.account, lost=lost)
    values = why_values(dataclasses.replace(result, account=account))
    assert [each["cause"] for each in values["account"]["losses"]] == ["lock_contention", "io", "jvm_start"]


def test_lost_core_time_below_a_microsecond_is_told_as_such() -> None:
    assert [core_time(ns) for ns in (0, 5, 999, 1000)] == ["0 ns", "<1 us", "<1 us", "1.00 us"]
