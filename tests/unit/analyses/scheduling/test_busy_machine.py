"""What keeps tests of real programs true on a busy machine: the quietest of some tries, and gains by a program's own clocks."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest

from support.drivers import busy_machine
from support.drivers.real_servers import OwnClocks, check_refused

SAID: dict[str, Any] = {"wall_ns": 1500, "lost": []}
OWN = OwnClocks(part_ns=1000, waited_ns=500, least_ns=250)
"""Of 1500 ns a part of 1000; 1.5 times as fast without the waits, twice where each thread takes the least that it can."""


@pytest.mark.parametrize(
    ("parts", "tries"), [((0.02, 0.0), 1), ((0.3, 0.05), 2), ((0.5, 0.2, 0.4, 0.0), 3)], ids=["quiet", "again", "never"]
)
def test_what_others_disturb_is_measured_again_and_the_quietest_try_counts(
    parts: tuple[float, ...], tries: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = iter(parts)
    monkeypatch.setattr(busy_machine, "disturbed", lambda measure: (measure(), next(left)))
    found = busy_machine.quietly(lambda folder: folder, tmp_path)
    assert len(list(tmp_path.iterdir())) == tries
    assert parts[int(found.name)] == min(parts[:tries])


@pytest.mark.parametrize("likely", [1.36, 1.5, 1.99])
def test_a_gain_is_between_that_without_the_waits_and_that_with_the_least_that_a_thread_takes(likely: float) -> None:
    OWN.check_gain(likely, SAID)


@pytest.mark.parametrize("likely", [1.0, 1.34, 2.01])
def test_a_gain_that_the_own_clocks_of_a_program_forbid_is_refused(likely: float) -> None:
    with pytest.raises(AssertionError):
        OWN.check_gain(likely, SAID)


@pytest.mark.parametrize(("likely", "is_possible"), [(2.49, True), (2.51, False)])
def test_where_others_had_the_core_of_the_main_thread_a_gain_is_that_of_a_machine_without_them(
    likely: float, is_possible: bool
) -> None:
    """Of the rest of 500 ns 250 were without a core: 1250 ns, and 500 at least."""
    with contextlib.nullcontext() if is_possible else pytest.raises(AssertionError):
        OWN.check_gain(likely, SAID, ready_ns=250)


@pytest.mark.parametrize(
    ("others_ns", "refused", "is_right"),
    [(101, "HW822", True), (100, "HW822", False), (900, None, False)],
    ids=["busy", "quiet", "no reason"],
)
def test_that_a_gain_is_unknown_is_right_only_where_others_had_the_cores(
    others_ns: int, refused: str | None, is_right: bool
) -> None:
    said = {"other_processes_ns": others_ns, "stolen_ns": None, "core_ns": 1000}
    with contextlib.nullcontext() if is_right else pytest.raises(AssertionError):
        check_refused({"likely_refused": refused}, said)
