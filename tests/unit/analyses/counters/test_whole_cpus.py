"""`headway counters --by cpu` of what CPUs counted as a whole, on recordings made by hand: exact totals, turns, lost CPUs."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from headway.record.counters.groups import parse
from support.builders.counted_builder import ORIGIN_NS, CountedSlice, counted_recording
from support.builders.edited_manifest import edit
from support.drivers.recording_cli import headway

MS = 1_000_000
LENGTH_NS = 100_000 * MS
EVENTS = ("cycles", "instructions")
Totals = tuple[int, int, int]


def counted(
    path: Path, totals_of: Mapping[int, tuple[Totals | None, ...]], /, *, by_thread: bool = False, **facts: Any
) -> Path:
    """Write a recording in which each CPU's counters had these values, and were enabled and counting for so long."""
    names = ("value", "enabled_ns", "running_ns")
    rows = [
        {"cpu": cpu, "counter": counter, **dict(zip(names, totals, strict=True))}
        for cpu, counters in totals_of.items()
        for counter, totals in enumerate(counters)
        if totals is not None
    ]
    whole = {
        "step": "CPI",
        "groups": [{"events": [*EVENTS]}],
        "absent": [{"event": "LLC-loads", "reason": "none"}],
        "from_ns": ORIGIN_NS,
        "to_ns": ORIGIN_NS + LENGTH_NS,
        "cpus": [*totals_of],
        "rows": rows,
        **facts,
    }
    counted_recording(path, [CountedSlice(0, 0, 0, 4 * MS, (40, 20))], LENGTH_NS, (EVENTS,))
    manifest = edit(path, cpu_counters=whole)
    if not by_thread:
        del manifest["counters"]
        from headway.store.manifest import write_manifest

        write_manifest(path, manifest)
    return path


def asked(path: Path) -> Any:
    done = headway("counters", path, "--by", "cpu", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def always(value: int) -> Totals:
    return value, LENGTH_NS, LENGTH_NS


def test_what_each_cpu_counted_is_exact_where_it_counted_all_the_time(tmp_path: Path) -> None:
    path = counted(tmp_path / "a.headway", {1: (always(30), always(10)), 0: (always(500), always(1000))})
    found = asked(path)
    whole = found["whole_cpus"]
    assert [(row["cpu"], row["counts"]["cycles"]) for row in whole["cpus"]] == [
        (0, {"value": 500, "low": 500, "high": 500}),
        (1, {"value": 30, "low": 30, "high": 30}),
    ]
    assert [row["metrics"]["CPI"]["value"] for row in whole["cpus"]] == [0.5, 3]
    assert whole["total"]["instructions"] == {"value": 1010, "low": 1010, "high": 1010}
    assert (whole["from_ns"], whole["to_ns"]) == (0, LENGTH_NS)
    assert whole["absent"] == [{"event": "LLC-loads", "reason": "none"}]
    assert (found["cpus"], found["total"]) == ([], {})
    shown = " ".join(headway("counters", path, "--by", "cpu").stdout.split())
    assert "Counts of whole CPUs, whatever ran there" in shown
    assert "all 3 min 20 s 530 1010" in shown


def test_a_group_that_took_turns_is_scaled_and_its_ratio_is_of_what_it_counted(tmp_path: Path) -> None:
    half = LENGTH_NS // 2
    path = counted(tmp_path / "a.headway", {0: ((50_000_000, LENGTH_NS, half), (25_000_000, LENGTH_NS, half))})
    row = asked(path)["whole_cpus"]["cpus"][0]
    cycles = row["counts"]["cycles"]
    assert cycles["value"] == 100_000_000
    assert cycles["low"] < cycles["value"] < cycles["high"]
    assert row["metrics"]["CPI"]["value"] == 2
    few = counted(tmp_path / "b.headway", {0: ((5, LENGTH_NS, half), (5, LENGTH_NS, half))})
    assert asked(few)["whole_cpus"]["cpus"][0]["counts"]["cycles"]["value"] is None


def test_of_a_cpu_that_went_offline_the_count_is_the_least_that_there_was(tmp_path: Path) -> None:
    early = 60_000 * MS
    lost: dict[int, tuple[Totals | None, ...]] = {
        0: (always(7), always(7)),
        1: ((30, early, early), (10, early, early)),
        2: (None, always(5)),
    }
    lost |= {3: (None, None)}
    whole = asked(counted(tmp_path / "a.headway", lost))["whole_cpus"]
    first, second, third, fourth = whole["cpus"]
    assert whole["total"]["cycles"] == {"value": 37, "low": 37, "high": None}
    assert first["counts"]["cycles"]["high"] == 7
    assert second["counts"]["cycles"] == {"value": 30, "low": 30, "high": None}
    assert (second["cpu_ns"], second["counted_ns"]) == (LENGTH_NS, early)
    assert (third["counts"]["cycles"]["value"], third["counted_ns"]) == (None, 0)
    assert (fourth["counts"]["cycles"]["value"], fourth["counted_ns"]) == (None, 0)


def test_beside_counts_of_threads_both_are_told_and_only_of_the_whole_recording(tmp_path: Path) -> None:
    path = counted(tmp_path / "a.headway", {0: (always(500), always(1000))}, by_thread=True)
    found = asked(path)
    assert found["cpus"][0]["counts"]["cycles"]["value"] == 40
    assert found["whole_cpus"]["total"]["cycles"]["value"] == 500
    for words in (("--by", "thread"), ("--by", "cpu", "--to", "2ms")):
        done = headway("counters", path, "--json", *words)
        assert "whole_cpus" not in json.loads(done.stdout)
    without = counted(tmp_path / "b.headway", {}, by_thread=True, groups=[], step="none")
    assert "whole_cpus" not in asked(without)


@pytest.mark.parametrize(
    ("words", "why"),
    [((), "not by thread"), (("--by", "phase"), "not by phase"), (("--by", "cpu", "--to", "2ms"), "not of a part")],
)
def test_totals_of_cpus_are_not_divided_any_further(tmp_path: Path, words: tuple[str, ...], why: str) -> None:
    path = counted(tmp_path / "a.headway", {0: (always(500), always(1000))})
    done = headway("counters", path, *words)
    assert done.returncode == 1
    assert done.stderr.startswith("HW116")
    assert why in " ".join(done.stderr.split())


@pytest.mark.parametrize(
    "bad",
    [
        {"rows": 5},
        {"rows": [5, {}, {"cpu": -1, "counter": 0}, {"cpu": 1 << 40, "counter": 0}, {"cpu": 0, "counter": 9}]},
        {"rows": [{"cpu": 0, "counter": 0, "value": "x", "enabled_ns": -1, "running_ns": 1 << 61}]},
        {"cpus": [-1, "x", True], "rows": []},
        {"cpus": 5},
        {"from_ns": "x"},
        {"to_ns": -5},
        {"groups": [5], "step": "highest"},
    ],
)
def test_a_manifest_of_anybody_is_an_answer_or_a_message(tmp_path: Path, bad: dict[str, Any]) -> None:
    path = counted(tmp_path / "a.headway", {0: (always(500), always(1000))}, **bad)
    done = headway("counters", path, "--by", "cpu", "--json")
    assert done.returncode == 0 or (done.returncode == 1 and done.stderr.startswith(("HW109", "HW303")))


def test_a_scope_says_what_is_counted(tmp_path: Path) -> None:
    for scope, by in (("thread", (True, False)), ("cpu", (False, True)), ("thread+cpu", (True, True))):
        asked_for = parse("page-faults", scope)
        assert (asked_for.by_thread, asked_for.by_cpu) == by
    for words, message in (
        (("--counter-scope", "cpu"), "add --counters"),
        (("--counters", "page-faults", "--counter-scope", "socket"), "'socket' is not one of"),
        (("--counters", "page-faults", "--counter-scope", "cpu", "--iterations", "gc"), "no --counter-scope cpu"),
    ):
        done = headway("record", *words, "-o", tmp_path / "a.headway", "--", "touch", tmp_path / "started")
        assert done.returncode == 2
        assert message in " ".join(done.stderr.split())
    assert not (tmp_path / "started").exists()
