"""What a likely gain is compared with: two runs whose times others may have changed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.drivers import busy_machine
from support.drivers.busy_machine import Pair

WALL_NS = 1_000
SAID = {"wall_ns": WALL_NS}


@pytest.fixture(autouse=True)
def gains(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "logs" / "gains.jsonl"
    monkeypatch.setattr(busy_machine, "GAINS", path)
    return path


def pair(disturbed: float) -> Pair[None]:
    """Return runs of which the one without the cause is twice as fast, both disturbed alike."""
    return Pair(None, WALL_NS // 2, disturbed, disturbed)


def kept(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.mark.parametrize(
    ("disturbed", "least", "most"),
    [(0.0, 2 * 0.8, 2 * 1.2), (0.05, 1.9 * 0.8, 2 / 0.95 * 1.2), (0.12, 1.76 * 0.8, 2 / 0.88 * 1.2)],
)
def test_the_less_others_disturb_the_narrower_is_what_a_gain_may_be(
    disturbed: float, least: float, most: float, gains: Path
) -> None:
    compared = pair(disturbed)
    for likely in (least + 0.02, most - 0.02):
        compared.compare(likely, SAID, WALL_NS)
    for likely in (least - 0.02, most + 0.02):
        with pytest.raises(AssertionError):
            compared.compare(likely, SAID, WALL_NS)
    rows = kept(gains)
    assert len(rows) == 4
    assert all(row["tells"] and "test_the_less_others_disturb" in row["test"] for row in rows)


def test_runs_that_were_disturbed_too_much_leave_a_row_and_still_refute_what_cannot_be(gains: Path) -> None:
    with pytest.raises(pytest.skip.Exception, match="20% of the recorded run"):
        pair(0.2).compare(2.0, SAID, WALL_NS)
    with pytest.raises(AssertionError):
        pair(0.2).compare(4.0, SAID, WALL_NS)
    assert [row["tells"] for row in kept(gains)] == [False, False]


def test_what_is_slower_without_the_cause_is_no_gain() -> None:
    slower = Pair(None, 2 * WALL_NS, 0.0, 0.0)
    assert slower.gained(SAID, WALL_NS) == (1.0, 1.0)
    with pytest.raises(AssertionError):
        slower.compare(1.3, SAID, WALL_NS)
