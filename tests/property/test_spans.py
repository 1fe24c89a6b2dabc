"""Sets of moments against Python's own sets of numbers."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headway.analyses.common.intervals import Measure, Spans, cells, union

PAIRS = st.lists(st.tuples(st.integers(0, 60), st.integers(0, 9)), max_size=8)


def spans_of(pairs: list[tuple[int, int]]) -> Spans:
    start = np.array([start for start, _ in pairs], np.int64)
    return Spans.of(start, start + np.array([length for _, length in pairs], np.int64))


def moments(spans: Spans) -> set[int]:
    return {each for a, b in zip(spans.start.tolist(), spans.end.tolist(), strict=True) for each in range(a, b)}


@given(PAIRS, PAIRS)
def test_sets_of_moments_are_cut_and_joined_as_sets_are(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    a, b = spans_of(first), spans_of(second)
    assert moments(a & b) == moments(a) & moments(b)
    assert moments(a | b) == moments(a) | moments(b) == moments(union([a, b]))
    assert moments(a - b) == moments(a) - moments(b)
    assert a.total == len(moments(a))
    assert all((a.end > a.start).tolist())
    assert all((a.start[1:] > a.end[:-1]).tolist())


@given(PAIRS, PAIRS)
def test_time_inside_intervals_is_counted_moment_by_moment(
    first: list[tuple[int, int]], second: list[tuple[int, int]]
) -> None:
    a, b = spans_of(first), spans_of(second)
    inside = Measure.length(a).within(b)
    expected = [len(moments(a) & set(range(x, y))) for x, y in zip(b.start.tolist(), b.end.tolist(), strict=True)]
    assert inside.tolist() == expected


@given(PAIRS, st.lists(st.integers(0, 1 << 40), min_size=8, max_size=8), st.lists(st.integers(0, 70), max_size=6))
def test_no_part_of_an_amount_is_lost_or_counted_twice(
    pairs: list[tuple[int, int]], amounts: list[int], cuts: list[int]
) -> None:
    spans = spans_of(pairs)
    measure = Measure.of(spans.start, spans.end, np.array(amounts[: len(spans)], np.int64))
    edges = np.array(sorted({-1, 100, *cuts}), np.int64)
    parts = measure.until(edges[1:]) - measure.until(edges[:-1])
    assert int(parts.sum()) == measure.total
    assert all((parts >= 0).tolist())


@given(PAIRS, st.lists(st.tuples(st.integers(0, 60), st.integers(0, 2)), max_size=6))
def test_every_moment_has_the_label_of_the_nearest_one_known_in_its_interval(
    pairs: list[tuple[int, int]], known: list[tuple[int, int]]
) -> None:
    spans = spans_of(pairs)
    known = sorted(dict(known).items())
    time = np.array([moment for moment, _ in known], np.int64)
    start, end, label = cells(spans, time, np.array([each for _, each in known], np.int64), 7)
    given_labels = {m: int(x) for a, b, x in zip(start, end, label, strict=True) for m in range(int(a), int(b))}
    assert set(given_labels) == moments(spans)
    for a, b in zip(spans.start.tolist(), spans.end.tolist(), strict=True):
        here = [(moment, each) for moment, each in known if a <= moment < b]
        for moment in range(a, b):
            least = min((abs(moment - at) for at, _ in here), default=0)
            nearest = {each for at, each in here if abs(moment - at) <= least + 1} or {7}
            assert given_labels[moment] in nearest
