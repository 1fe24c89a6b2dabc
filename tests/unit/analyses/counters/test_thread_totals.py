"""`headway counters` of a recording without eBPF: totals of whole threads, which the recorder read from outside."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from headway.report.html.counters import counters_view
from headway.store import open_recording
from support.builders.counted_builder import PID, CountedSlice, counted_recording
from support.builders.edited_manifest import edit

Run = Callable[..., tuple[int, str, str]]
MS = 1_000_000
GROUPS = [{"events": ["cycles", "instructions"]}, {"events": ["page-faults"]}]
KINDS = ("app", "app", "gc", "headway")


def all_the_time(cycles: int, instructions: int, faults: int, ran_ns: int) -> list[list[int]]:
    return [[value, ran_ns, ran_ns] for value in (cycles, instructions, faults)]


def thread(number: int, totals: object, uncounted_ns: int = 0) -> dict[str, Any]:
    """Return what the manifest keeps of a thread, under the name that the kernel had for it."""
    return {
        "pid": PID,
        "tid": PID + number,
        "name": "comm",
        "kind": "app",
        "uncounted_ns": uncounted_ns,
        "totals": totals,
    }


THREADS = [
    thread(0, all_the_time(900, 300, 7, 30 * MS)),
    thread(1, all_the_time(100, 100, 0, 10 * MS)),
    thread(2, all_the_time(50, 25, 1, 5 * MS)),
    thread(3, all_the_time(70, 70, 70, 5 * MS)),
]


def recording(path: Path, threads: object = THREADS, others: object = (), **facts: Any) -> Path:
    counted_recording(path, [CountedSlice(0, 0, 0, MS, None)], 100 * MS, (("cycles",),), KINDS)
    counted = {"step": "CPI", "groups": GROUPS, "absent": [], "threads": threads, "others": [*others]}  # type: ignore[misc]
    nothing = {
        "step": "none",
        "groups": [],
        "absent": [{"event": "cycles", "reason": "the recording is made in mode agent"}],
    }
    edit(path, mode="agent", counters=nothing, thread_counters={**counted, **facts.pop("counted", {})}, **facts)
    return path


def asked(run: Run, path: Path, *words: str) -> Any:
    code, out, err = run("counters", path, "--json", *words)
    assert code == 0, err
    return json.loads(out)


def test_threads_have_their_totals_by_the_names_that_the_recording_has_for_them(run: Run, tmp_path: Path) -> None:
    found = asked(run, recording(tmp_path / "a.headway"))
    assert [(row["name"], row["kind"], row["cpu_ns"]) for row in found["threads"]] == [
        ("thread-0", "app", 30 * MS),
        ("thread-1", "app", 10 * MS),
        ("thread-2", "gc", 5 * MS),
    ]
    first = found["threads"][0]
    assert first["counts"]["cycles"] == {"value": 900, "low": 900, "high": 900}
    assert first["metrics"]["CPI"]["value"] == 3
    assert found["total"]["cycles"]["value"] == 1050
    assert found["imbalance"]["cycles"]["value"] == 0.8  # of 900 and 100: the deviation 400 by the mean 500
    assert not found["warnings"]


def test_by_kind_the_threads_of_each_kind_are_added_up(run: Run, tmp_path: Path) -> None:
    others = [
        {"kind": kind, "threads": 5, "uncounted_ns": 0, "totals": all_the_time(10, 5, 2, MS)}
        for kind in ("app", "headway")
    ]
    path = recording(tmp_path / "a.headway", others=others)
    kinds = {row["kind"]: row["counts"] for row in asked(run, path, "--by", "kind")["kinds"]}
    assert {kind: counts["page-faults"]["value"] for kind, counts in kinds.items()} == {"app": 9, "gc": 1}
    assert asked(run, path)["threads"][-1]["name"] == "(5 more, app)"


def test_what_ran_before_it_was_seen_leaves_the_least_that_there_was(run: Run, tmp_path: Path) -> None:
    threads = [thread(0, all_the_time(900, 300, 7, 30 * MS), uncounted_ns=10 * MS), thread(1, None, 10 * MS)]
    found = asked(run, recording(tmp_path / "a.headway", threads))
    late, never = found["threads"]
    assert (late["counts"]["cycles"], late["counted_ns"]) == ({"value": 900, "low": 900, "high": None}, 30 * MS)
    assert never["counts"]["cycles"]["value"] is None
    assert [each["id"] for each in found["warnings"]] == ["HW110"]
    assert "40.0%" in found["warnings"][0]["message"]


def test_cpu_time_of_threads_that_nobody_saw_is_a_row_where_it_is_much(run: Run, tmp_path: Path) -> None:
    usage = {"user_ns": 60 * MS, "system_ns": 0}
    path = recording(tmp_path / "a.headway", THREADS[:2], rusage=usage, ended_by="exit")
    unseen = asked(run, path)["threads"][1]
    assert (unseen["name"], unseen["cpu_ns"], unseen["counted_ns"]) == ("(threads between looks)", 20 * MS, 0)
    little = recording(tmp_path / "b.headway", THREADS[:2], rusage={**usage, "user_ns": 44 * MS}, ended_by="exit")
    assert len(asked(run, little)["threads"]) == 2


@pytest.mark.parametrize(
    ("used_ms", "facts", "is_whole"),
    [
        (50, {}, True),  # 45 ms of the threads, and 5 ms of headway's own
        (60, {}, True),
        (61, {}, False),
        (50, {"attached": True}, False),
        (50, {"ended_by": "duration"}, False),
    ],
)
def test_several_threads_together_have_the_least_that_there_was_where_others_may_have_run(
    run: Run, tmp_path: Path, used_ms: int, facts: dict[str, Any], is_whole: bool
) -> None:
    """Of each thread its counts are its own, whoever else ran."""
    usage = {"user_ns": used_ms * MS, "system_ns": 0}
    path = recording(tmp_path / "a.headway", **{"rusage": usage, "ended_by": "exit", **facts})
    found, kinds = asked(run, path), asked(run, path, "--by", "kind")["kinds"]
    assert found["total"]["cycles"] == {"value": 1050, "low": 1050, "high": 1050 if is_whole else None}
    ratio = found["total_metrics"]["CPI"]
    assert [ratio["value"] == ratio[end] for end in ("low", "high")] == [is_whole] * 2
    assert [row["counts"]["page-faults"]["high"] for row in kinds] == ([7, 1] if is_whole else [None] * 2)
    assert found["threads"][0]["counts"]["cycles"] == {"value": 900, "low": 900, "high": 900}
    uneven = found["imbalance"]["cycles"]
    assert (uneven["value"], uneven["high"]) == (0.8, 0.8 if is_whole else None)


@pytest.mark.parametrize("value", [None, -1, 1 << 62])
def test_a_total_that_is_no_number_is_not_a_zero(run: Run, tmp_path: Path, value: object) -> None:
    totals = [[value, 30 * MS, 30 * MS], *all_the_time(900, 300, 7, 30 * MS)[1:]]
    found = asked(run, recording(tmp_path / "a.headway", [thread(0, totals, uncounted_ns=30 * MS), THREADS[1]]))
    assert found["threads"][0]["counts"]["cycles"]["value"] is None
    assert found["total"]["cycles"] == {"value": 100, "low": 100, "high": None}


@pytest.mark.parametrize("words", [("--by", "phase"), ("--by", "cpu"), ("--by", "region"), ("--from", "1ms")])
def test_what_totals_do_not_say_is_refused(run: Run, tmp_path: Path, words: tuple[str, ...]) -> None:
    code, _, err = run("counters", recording(tmp_path / "a.headway"), *words)
    assert (code, err[:5]) == (1, "HW123")


def test_events_none_of_which_counted_are_told_with_their_reason(run: Run, tmp_path: Path) -> None:
    absent = {"groups": [], "step": "none", "absent": [{"event": "cycles", "reason": "paranoid"}]}
    code, _, err = run("counters", recording(tmp_path / "a.headway", counted=absent))
    assert (code, err[:5]) == (1, "HW109")
    assert "cycles: paranoid" in " ".join(err.split())


def test_the_report_shows_the_same_rows_and_nothing_over_time(run: Run, tmp_path: Path) -> None:
    path = recording(tmp_path / "a.headway")
    view = counters_view(open_recording(path)).values
    assert view is not None
    rows = [(row["name"], [each["value"] for each in row["counts"]]) for row in view["rows"]]
    assert rows == [
        (row["name"], [each["value"] for each in row["counts"].values()]) for row in asked(run, path)["threads"]
    ]
    assert view["rates"] == []


@pytest.mark.parametrize(
    "bad",
    [
        "x",
        [7, None, {}],
        [thread(0, "x")],
        [thread(0, [[1, 2, 3]])],
        [thread(0, [[1, 2]] * 3)],
        [thread(0, [[-1, None, 1 << 62]] * 3)],
        [thread(0, [[1 << 61, 1 << 61, 1 << 61]] * 3, 1 << 61)] * 20,
        [{**THREADS[0], "kind": "\x1b[31m", "name": ["x"], "pid": "1"}],
    ],
)
def test_a_manifest_of_anybody_gives_an_answer_or_a_message(run: Run, tmp_path: Path, bad: object) -> None:
    path = recording(tmp_path / "a.headway", bad)
    assert asked(run, path)["groups"][0]["events"] == ["cycles", "instructions"]
    code, out, _ = run("counters", path)
    assert code == 0
    assert "\x1b[31m" not in out
