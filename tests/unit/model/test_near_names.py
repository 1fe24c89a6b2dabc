"""Names that may have been meant where one is not there."""

from __future__ import annotations

import pytest

from headway.model.near_names import nearest_first

THREADS = ["main", "http-worker-1", "worker-1", "Signal Dispatcher"]
FRAMES = ["java.lang.Thread.run", "org.example.Server.handle", "org.example.Store.put"]


@pytest.mark.parametrize(
    ("wanted", "names", "first"),
    [
        ("wroker-1", THREADS, "worker-1"),
        ("MIAN", THREADS, "main"),
        ("Stor.put", FRAMES, "org.example.Store.put"),
        ("org.exmaple.Server.handle", FRAMES, "org.example.Server.handle"),
        ("Main.jav:42", ["Main.java:7", "Main.java:42"], "Main.java:42"),
    ],
)
def test_the_name_that_was_mistyped_comes_first(wanted: str, names: list[str], first: str) -> None:
    assert nearest_first(wanted, names, 3)[0] == first


def test_names_unlike_what_is_wanted_keep_their_order_and_none_comes_twice() -> None:
    assert nearest_first("zzz", ["main", "worker", "main", "reader"], 3) == ["main", "worker", "reader"]
    assert nearest_first("zzz", [], 3) == []
    assert nearest_first("", ["main"], 3) == ["main"]


def test_of_a_strangers_names_only_some_are_compared() -> None:
    many = (f"{'a.b' * 50}{number}" for number in range(10**9))
    assert len(nearest_first("a.b" * 50, many, 3)) == 3
