"""JSON is written as Python's own writer with indentation writes it, to the byte."""

from __future__ import annotations

import enum
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headway
from headway.report.json.text import Mapped, json_text

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
        | st.dictionaries(st.text() | st.integers(0, 9), inner, max_size=4)
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


@given(st.lists(values, max_size=5), st.integers(0, 2))
def test_what_is_built_while_it_is_written_is_written_as_a_list_is(items: list[Any], depth: int) -> None:
    found = json_text({"a": Mapped(lambda each: [each], items), "b": 1}, depth)
    assert found == json_text({"a": [[each] for each in items], "b": 1}, depth)


def test_items_are_there_only_while_they_are_written() -> None:
    """Of a million classes the groups of accesses were half a gigabyte of dictionaries before the first was written."""
    there, most = 0, 0

    class Item(dict[str, int]):
        def __init__(self, number: int) -> None:
            nonlocal there, most
            super().__init__(number=number)
            there += 1
            most = max(most, there)

        def __del__(self) -> None:
            nonlocal there
            there -= 1

    assert json.loads(json_text(Mapped(Item, range(1000)))) == [{"number": number} for number in range(1000)]
    assert most <= 2


class Colour(enum.StrEnum):
    RED = "r"


class Level(enum.IntEnum):
    HIGH = 3


@pytest.mark.parametrize("value", [np.float64(0.1), Colour.RED, Level.HIGH])
def test_what_is_text_or_a_number_by_its_class_is_written_as_such(value: Any) -> None:
    assert json_text({"a": [value, (value,)]}) == json.dumps({"a": [value, (value,)]}, indent=1)


@pytest.mark.parametrize("key", [None, True, 1.5, (1,)])
def test_a_key_of_another_kind_is_refused(key: Any) -> None:
    with pytest.raises(TypeError):
        json_text({key: 7, "other": key})


def test_the_commands_write_json_by_this_writer_alone() -> None:
    """But files that headway reads again, and what goes into a page."""
    by_json = {path.name for path in Path(headway.__file__).parent.glob("cli/*.py") if "json.dumps" in path.read_text()}
    assert by_json == set()
