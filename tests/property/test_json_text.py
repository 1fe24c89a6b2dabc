"""JSON is written as Python's own writer with indentation writes it, to the byte."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headway.report.json_text import json_text

plain = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
# Small numbers beside equal ones of other types: 1, 1.0 and True are one key of a cache.
alike = st.sampled_from([0, 1, 0.0, 1.0, -0.0, True, False, "a", "b", ""])
values = st.recursive(
    plain | alike,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.lists(inner, max_size=4).map(tuple)
        | st.lists(st.text(max_size=3), max_size=4).map(tuple)
        | st.lists(alike, max_size=3).map(tuple)
        | st.dictionaries(st.text(), inner, max_size=4)
    ),
    max_leaves=30,
)


@given(values, st.integers(0, 3))
def test_every_value_is_written_as_python_writes_it(value: Any, depth: int) -> None:
    expected = json.dumps(value, indent=1, allow_nan=False).replace("\n", "\n" + " " * depth)
    assert json_text(value, depth) == expected


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_json_has_no_number_for_is_refused(value: float) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        json_text({"a": [value]})


def test_what_json_has_no_word_for_is_refused() -> None:
    with pytest.raises(TypeError, match="complex"):
        json_text([1j])
