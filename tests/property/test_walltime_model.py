"""The properties that the paper's three cases imply, on any levels and any numbers of cores."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.scheduling.walltime_model import critical, ideal, predict, predict_levels

# To 10^18 ns (30 years): beyond what a float counts exactly.
levels = st.lists(st.integers(0, 10**18), min_size=1, max_size=40)
cores = st.integers(1, 64)


@given(levels, cores)
def test_on_the_recorded_cores_the_prediction_is_the_measurement(times: list[int], k1: int) -> None:
    assert predict(times, k1, k1) == sum(times)


@given(levels, cores, cores, cores)
def test_more_cores_never_take_longer(times: list[int], k1: int, a: int, b: int) -> None:
    assert predict(times, k1, max(a, b)) <= predict(times, k1, min(a, b))


@given(levels, cores, cores)
def test_no_number_of_cores_goes_below_the_critical_time(times: list[int], k1: int, k2: int) -> None:
    assert predict(times, k1, k2) >= critical(times) == sum(times[:2])


@given(levels, cores, cores)
def test_going_to_other_cores_and_back_returns_the_same_levels(times: list[int], k1: int, k2: int) -> None:
    assert list(predict_levels(predict_levels(times, k1, k2), k2, k1)) == times


@given(levels, cores, cores, cores)
def test_a_detour_over_other_cores_changes_nothing(times: list[int], k1: int, k2: int, k3: int) -> None:
    assert predict(predict_levels(times, k1, k2), k2, k3) == predict(times, k1, k3)


@given(levels, cores, cores)
def test_the_work_done_is_the_same_on_any_number_of_cores(times: list[int], k1: int, k2: int) -> None:
    there = predict_levels(times, k1, k2)
    work = [Fraction(time) * min(j, k1) for j, time in enumerate(times)]
    assert [time * min(j, k2) for j, time in enumerate(there)] == work


@given(levels, cores, cores)
def test_each_level_follows_the_case_of_the_paper(times: list[int], k1: int, k2: int) -> None:
    for j, (before, after) in enumerate(zip(times, predict_levels(times, k1, k2), strict=True)):
        if j <= min(k1, k2):
            assert after == before
        if k1 <= k2 and k1 <= j:
            assert after * min(j, k2) == before * k1
        if k2 <= k1 and k2 <= j:
            assert after * k2 == before * min(j, k1)


@given(levels, cores, cores)
def test_the_ideal_is_never_above_the_prediction(times: list[int], k1: int, k2: int) -> None:
    assert ideal(times, k1, k2) <= predict(times, k1, k2)


@given(st.integers(1, 20), cores, cores, st.integers(1, 10**12))
def test_a_program_at_one_level_only_scales_by_the_cores_it_can_use(j: int, k1: int, k2: int, time: int) -> None:
    times = [0] * j + [time]
    assert predict(times, k1, k2) == Fraction(time * min(j, k1), min(j, k2))


@given(levels, st.integers(-5, 0))
def test_a_machine_without_cores_is_refused(times: list[int], nothing: int) -> None:
    with pytest.raises(ValueError, match="at least 1 core"):
        predict(times, nothing, 1)
    with pytest.raises(ValueError, match="at least 1 core"):
        predict(times, 1, nothing)


@given(levels)
def test_a_negative_time_is_refused(times: list[int]) -> None:
    with pytest.raises(ValueError, match="never negative"):
        predict([*times, -1], 1, 2)
