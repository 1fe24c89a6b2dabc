"""What the benchmark of locks computes from its blocks, on figures whose answer is known."""

from __future__ import annotations

import pytest

import lock_overhead
from lib import driven, harness, results


def block(cpu_ns: float, recorder_ns: float = 0, jit_ns: float = 0) -> driven.Block:
    run = {"cpu_ns": cpu_ns, "recorder_ns": recorder_ns, "jit_ns": jit_ns, "wall_ns": 1, "corrected_wall_ns": 1}
    return {"recorded": recorder_ns > 0, "runs": [run, run]}


def drifting_session(recorded: float, locks: float) -> results.Session:
    """Return what is taken in turn on a machine that slows down all the time."""

    def in_turn(factor: float) -> tuple[list[driven.Block], list[driven.Block]]:
        taken = [block(1e6 * 1.01**place * (factor if place % 2 else 1)) for place in range(21)]
        return taken[::2], taken[1::2]

    plain, recording = in_turn(recorded)
    off, on = in_turn(locks)
    return {"plain": plain, "recorded": recording, "off": off, "on": on, "waits": {}}


def test_each_part_is_compared_with_what_was_taken_right_before_and_after() -> None:
    of = lock_overhead.of_program([drifting_session(recorded=1.02, locks=1.05)])["cpu"]
    assert of["recorded"].median == pytest.approx(1.02, abs=2e-4)
    assert of["locks_to_recorded"].median == pytest.approx(1.05, abs=2e-4)
    assert of["recorded"].aa_median == pytest.approx(1.0, abs=2e-4)


def test_a_recording_with_locks_costs_both_parts() -> None:
    of = lock_overhead.of_program([drifting_session(recorded=1.02, locks=1.05)])["cpu"]
    assert of["locks"].median == pytest.approx(1.02 * 1.05, abs=4e-4)


def test_the_interval_of_the_product_is_that_of_both_parts() -> None:
    wide, narrow = [0.98, 1.0, 1.02] * 5, [1.01] * 15
    parts = [harness.ratio_of(ratios, [1.0]) for ratios in (wide, narrow)]
    both = lock_overhead.product(parts[0], wide, parts[1], narrow)
    assert both.low == pytest.approx(parts[0].low * 1.01, abs=2e-3)
    assert both.high == pytest.approx(parts[0].high * 1.01, abs=2e-3)


def test_the_recorder_counts_and_the_compilers_do_not() -> None:
    session = drifting_session(recorded=1.0, locks=1.0)
    work_ns = [each["runs"][0]["cpu_ns"] for each in session["recorded"]]
    session["recorded"] = [block(cpu + 50_000, recorder_ns=0.03 * cpu, jit_ns=50_000) for cpu in work_ns]
    of = lock_overhead.of_program([session])
    assert of["cpu"]["recorded"].median == pytest.approx(1.0, abs=1e-3)
    assert of["cpu_with_recorder"]["recorded"].median == pytest.approx(1.03, abs=1e-3)


def ratio(median: float, low: float, high: float) -> dict[str, dict[str, harness.Ratio]]:
    dear = harness.Ratio(1.5, 1.4, 1.6, 1, 1, 1, 16)
    return {"cpu_with_recorder": {"locks_to_recorded": harness.Ratio(median, low, high, 1, 1, 1, 16), "locks": dear}}


@pytest.mark.parametrize(
    ("low", "median", "high", "reached", "says"),
    [
        (0.995, 1.004, 1.013, True, "not distinguishable from 0"),
        (1.002, 1.005, 1.009, True, "target"),
        (0.98, 1.004, 1.03, False, "undecided"),
        (1.02, 1.03, 1.04, False, "target"),
    ],
)
def test_a_cost_counts_as_none_only_where_the_interval_is_narrow(
    low: float, median: float, high: float, reached: bool, says: str
) -> None:
    (text, is_reached), (whole, is_whole_reached) = lock_overhead.verdicts_on("queue", ratio(median, low, high))
    assert is_reached is reached
    assert says in text
    assert "the recording with locks +50.00 %" in whole
    assert not is_whole_reached
