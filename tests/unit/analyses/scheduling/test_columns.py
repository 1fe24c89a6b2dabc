"""Different values of long columns are found with their places; of texts each takes memory once, however long one is."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from headway.analyses.common.columns import numbered_texts, places_of


def test_texts_are_numbered_in_order() -> None:
    found, place = numbered_texts(["b", "", "b", "a"])
    assert found == ["", "a", "b"]
    assert place.tolist() == [2, 0, 2, 1]
    assert numbered_texts([])[0] == []


def test_one_long_text_costs_the_others_nothing() -> None:
    texts = ["java.lang.Object"] * 100_000 + ["a" * 60_000]
    tracemalloc.start()
    numbered_texts(texts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4 << 20  # 8 bytes each; as an array of texts all together would take 24 GB


@pytest.mark.parametrize("values", [[], [7], [3, -1, 3, 3, -1, 900], [5] * 4])
def test_values_have_the_places_where_they_are(values: list[int]) -> None:
    found = {value: places.tolist() for value, places in places_of(np.array(values, np.int64))}
    assert found == {value: [at for at, each in enumerate(values) if each == value] for value in sorted({*values})}
    assert [*found] == sorted({*values})
