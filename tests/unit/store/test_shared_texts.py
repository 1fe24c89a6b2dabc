"""Names that many rows share are spelled out in each, as far as there is room."""

from __future__ import annotations

import numpy as np
import pytest

from headway.store import shared_texts
from headway.store.shared_texts import spelled_out


def test_each_row_gets_the_text_of_its_number() -> None:
    column, cut = spelled_out(["", "a", "ä" * 300, "unused"], np.array([1, 2, 2, 0, 1]))
    assert column.to_pylist() == ["a", "ä" * 300, "ä" * 300, "", "a"]
    assert cut == 0


def test_rows_come_in_parts_and_none_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_texts, "_BATCH", 3)
    numbers = np.arange(10) % 4
    assert spelled_out(["a", "b", "c", "d"], numbers)[0].to_pylist() == [*"abcdabcdab"]
    assert spelled_out(["a"], numbers[:0])[0].to_pylist() == []


def test_a_long_text_that_is_named_again_and_again_is_cut_and_no_other() -> None:
    """A stranger's agent names 64 KiB in eight bytes: 40,000 of these rows would be 2.6 GB, and more than Arrow takes."""
    honest = ["org.example.Main", "x" * 200]
    column, cut = spelled_out([*honest, "ä" * 32_000], np.array([0, 1] + [2] * 40_000))
    assert column.nbytes < shared_texts.MOST_BYTES
    assert column.slice(0, 2).to_pylist() == honest
    assert column[2].as_py() == "ä" * 126 + "..."
    assert cut == 40_000


def test_texts_of_usual_length_are_cut_where_there_are_far_too_many() -> None:
    column, cut = spelled_out(["y" * 200, "short"], np.array([0] * 100 + [1]), 10_000)
    assert column[0].as_py() == "y" * 61 + "..."
    assert column[100].as_py() == "short"
    assert cut == 100
