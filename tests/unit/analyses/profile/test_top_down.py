"""Top-down levels 1 and 2, on recordings made by hand: shares of the pipeline's slots, and of level 2 that add up to level 1."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.builders.counted_builder import CountedSlice, counted_recording
from support.drivers.recording_cli import headway

LEVEL_1 = {"retiring": 400, "bad-spec": 100, "fe-bound": 200, "be-bound": 300}
LEVEL_2 = {"heavy-ops": 40, "br-mispredict": 90, "fetch-lat": 150, "mem-bound": 210}
PARTS = {
    "retiring": ("heavy operations", "light operations"),
    "bad speculation": ("branch mispredicts", "machine clears"),
    "front-end bound": ("fetch latency", "fetch bandwidth"),
    "back-end bound": ("memory bound", "core bound"),
}


def asked(path: Path, slots: dict[str, int]) -> Any:
    events = ["cpu/slots/", *(f"cpu/topdown-{name}/" for name in slots)]
    counts = (1000, *slots.values())
    counted_recording(path, [CountedSlice(0, 0, 0, 1000, counts)], 2000, (events,), ("app",), step="top-down")
    done = headway("counters", path, "--metrics", "topdown", "--json")
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)["total_metrics"]


def test_level_1_is_the_share_of_the_slots(tmp_path: Path) -> None:
    found = asked(tmp_path / "a.headway", LEVEL_1)
    assert {name: each["value"] for name, each in found.items()} == {
        "retiring": 0.4,
        "bad speculation": 0.1,
        "front-end bound": 0.2,
        "back-end bound": 0.3,
    }


def test_level_2_adds_up_to_level_1_where_the_processor_has_it(tmp_path: Path) -> None:
    found = {name: each["value"] for name, each in asked(tmp_path / "a.headway", LEVEL_1 | LEVEL_2).items()}
    assert found["heavy operations"] == pytest.approx(0.04)
    assert found["core bound"] == pytest.approx(0.3 - 0.21)
    assert {*found} == {*PARTS, *(part for parts in PARTS.values() for part in parts)}
    for whole, parts in PARTS.items():
        assert sum(found[part] for part in parts) == pytest.approx(found[whole])
    assert sum(found[whole] for whole in PARTS) == pytest.approx(1)


def test_a_part_without_its_whole_is_no_metric(tmp_path: Path) -> None:
    assert asked(tmp_path / "a.headway", LEVEL_2) == {}
