"""Counters that another tool takes in the middle: what ran meanwhile is not known, whatever was counted before and after."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from headway.analyses.counters.work import growth_between
from headway.errors import Notice
from headway.store import open_recording
from support.builders.counted_builder import CountedSlice, counted_recording
from support.builders.edited_manifest import edit
from support.drivers.recording_cli import headway

PAIR, FAULTS = ("cycles", "instructions"), ("page-faults",)
MS = 1_000_000
WALL_NS = 2_000 * MS
STOLEN_NS = (500 * MS, 1_250 * MS)
"""Of CPU 0: from when until when. Meanwhile its thread has four cycles a ns in place of two."""
LENGTH_NS = 5 * MS


def slices() -> list[CountedSlice]:
    """One thread on each CPU, switched every 5 ms; the second group goes on counting."""
    found = []
    for cpu in range(2):
        for start in range(0, WALL_NS, LENGTH_NS):
            is_stolen = not cpu and STOLEN_NS[0] <= start < STOLEN_NS[1]
            counts = (0, 0) if is_stolen else (2 * LENGTH_NS, LENGTH_NS)
            found.append(CountedSlice(cpu, cpu, start, LENGTH_NS, (*counts, 3), (LENGTH_NS if is_stolen else 0, 0)))
    return found


def asked(path: Path, *words: str) -> Any:
    done = headway("counters", path, "--json", *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stolen")
    return counted_recording(folder / "a.headway", slices(), WALL_NS, (PAIR, FAULTS), ("app", "app"))


def test_counts_that_were_stolen_are_the_least_and_no_estimate(path: Path) -> None:
    seen = 2 * (WALL_NS - (STOLEN_NS[1] - STOLEN_NS[0]))
    of_others = 2 * WALL_NS
    for by, key in (("thread", "tid"), ("cpu", "cpu")):
        found = asked(path, "--by", by)
        first, second = sorted(found[f"{by}s"], key=lambda row: int(row[key]))
        assert first["counts"]["cycles"] == {"value": seen, "low": seen, "high": None}
        assert second["counts"]["cycles"] == {"value": of_others, "low": of_others, "high": of_others}
        assert first["counts"]["page-faults"]["low"] == first["counts"]["page-faults"]["high"] == 3 * 400
        assert first["counted_ns"] == first["cpu_ns"] == WALL_NS  # by the other group
        assert first["metrics"]["CPI"] == {"value": 2, "low": None, "high": None}
    for by in ("kind", "phase"):
        (row,) = asked(path, "--by", by)[f"{by}s"]
        assert row["counts"]["cycles"] == {"value": seen + of_others, "low": seen + of_others, "high": None}


def test_who_lacks_which_events_and_since_when_is_told(path: Path) -> None:
    (warning,) = asked(path)["warnings"]
    assert warning["id"] == "HW121"
    assert "for 18.8% of the running time cycles, instructions are not known" in warning["message"]
    assert "from 500 ms to 1.25 s" in warning["message"]
    after = asked(path, "--from", "1300ms")
    assert after["warnings"] == []
    assert after["total"]["cycles"]["low"] == after["total"]["cycles"]["high"] == 4 * (WALL_NS - 1_300 * MS)


def test_imbalance_is_withheld_where_a_thread_lacks_much_of_its_counts(path: Path) -> None:
    found = asked(path)["imbalance"]
    assert found["cycles"]["value"] is None
    assert (found["page-faults"]["value"], found["page-faults"]["low"]) == (0, 0)


def test_the_work_of_a_run_has_room_for_all_that_ran_without_counts(path: Path, tmp_path: Path) -> None:
    """No CPU has more than 6.5 cycles a ns, and 65 instructions."""
    other = counted_recording(tmp_path / "b.headway", slices(), WALL_NS, (PAIR, FAULTS), ("app", "app"))
    for each, cores in ((path, 2), (other, 4)):
        edit(each, recorded_cores=cores, ended_by="exit")
    found = growth_between(open_recording(path), open_recording(other))
    assert not isinstance(found, Notice), found
    seen, stolen_ns = 2 * WALL_NS - (STOLEN_NS[1] - STOLEN_NS[0]), STOLEN_NS[1] - STOLEN_NS[0]
    assert found.instructions.value == 1
    assert found.instructions.high == pytest.approx((seen + 65 * stolen_ns) / seen)
    assert found.cycles is not None
    assert found.cycles.low == pytest.approx(2 * seen / (2 * seen + 6.5 * stolen_ns))


def test_groups_that_take_turns_are_not_taken_for_stolen_ones(tmp_path: Path) -> None:
    """Each of two groups counts every other 4 ms; the slices of a thread are 1 ms long."""
    turns = []
    for start in range(0, WALL_NS, MS):
        is_first = bool(start // (4 * MS) % 2)
        counts, uncounted_ns = ((2 * MS, MS, 0), (0, MS)) if is_first else ((0, 0, 3), (MS, 0))
        turns.append(CountedSlice(0, 0, start, MS, counts, uncounted_ns))
    found = asked(counted_recording(tmp_path / "a.headway", turns, WALL_NS, (PAIR, FAULTS)))
    assert found["warnings"] == []
    cycles = found["total"]["cycles"]
    assert cycles["value"] == pytest.approx(2 * WALL_NS, rel=1e-3)
    assert cycles["high"] is not None


def test_the_table_says_that_it_is_the_least_and_why(path: Path) -> None:
    shown = " ".join(headway("counters", path).stdout.split())
    assert ">=2.50 G" in shown
    assert "from 500 ms to 1.25 s" in shown
    assert "is the least that there was" in shown
