"""Waits of an imported file, per object: how many threads waited at most and for how long at least one did, by brute force."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from headway.record.imports.waits import COLUMNS, WaitTables

Wait = tuple[str, str, int, int, int, int]
WAITS = st.lists(
    st.tuples(
        st.sampled_from(["park", "monitor", "wait"]),
        st.sampled_from(["A", "B"]),
        st.sampled_from([0, 8, 16]),
        st.integers(0, 30),
        st.integers(0, 12),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=25,
)


class Three:
    """The threads of the file: place n has thread_id n and Java id 10 * n."""

    def numbers(self, places: NDArray[Any]) -> tuple[NDArray[np.int32], NDArray[np.int64], NDArray[np.bool_]]:
        return places.astype(np.int32), np.where(places < 0, 0, 10 * places), np.zeros(len(places), dtype=bool)


def most_at_a_time(waits: list[Wait]) -> int:
    return max(sum(start <= ns < start + length for *_, start, length, _ in waits) for ns in range(50))


def told_apart(waits: list[Wait], most_objects: int) -> tuple[Counter[tuple[str, str, int]], int]:
    """Return the waits of each object that is kept, and how many name one that is not: these count for their class."""
    kept: Counter[tuple[str, str, int]] = Counter()
    lost = 0
    for kind, name, address, *_ in waits:
        is_kept = not address or (kind, name, address) in kept or len(kept) < most_objects
        kept[kind, name, address if is_kept else 0] += 1
        lost += not is_kept
    return kept, lost


def stored(
    directory: Path, waits: list[Wait], in_memory: int, most_open: int = 100, most_objects: int = 100
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return the rows of `blocker` and `block`; with more bytes of them than `in_memory`, they were sorted on disk."""
    threads = pa.table({"thread_id": pa.array([0, 1, 2], pa.int32()), "name": ["a", "b", "c"]})
    with tempfile.TemporaryDirectory() as folder:
        tables = WaitTables(Path(folder), Three(), in_memory, most_open=most_open, most_objects=most_objects)
        for kind, name, address, start, length, thread in waits:
            columns = dict.fromkeys(COLUMNS, np.array([-1], np.int32)) | {"is_timed": np.zeros(1, dtype=bool)}
            columns |= {"start_ns": np.array([start]), "dur_ns": np.array([length])}
            columns |= {"thread": np.array([thread], np.int32), "other": np.array([(thread + 1) % 3], np.int32)}
            tables.add_rows(kind, np.array([tables.class_number(name)]), np.array([address]), columns)
        assert tables.rows == len(waits)
        assert tables.known_by_class_only == told_apart(waits, most_objects)[1]
        tables.write(directory, 7, threads)
        assert (tables.not_followed > 0) == (most_at_a_time(waits) > most_open)
    assert [each.name for each in sorted(directory.iterdir())] == ["block.parquet", "blocker.parquet"]
    return tuple(pq.read_table(directory / f"{name}.parquet").to_pylist() for name in ("blocker", "block"))


@settings(max_examples=60)
@given(WAITS, st.sampled_from([0, 400, 100_000]))
def test_each_object_s_waits_are_summed_as_brute_force_does(waits: list[Wait], in_memory: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        blockers, blocks = stored(Path(directory), waits, in_memory)
    found = {(row["kind"], row["class_name"], row["identity_hash"]): row for row in blockers}
    assert len(found) == len(blockers) == len({wait[:3] for wait in waits})
    for kind, name, address in {wait[:3] for wait in waits}:
        own = [wait for wait in waits if wait[:3] == (kind, name, address)]
        at = [sum(start <= ns < start + length for *_, start, length, _ in own) for ns in range(50)]
        row = found[kind, name, max(address >> 3, 1) if address else 0]
        assert row["times_parked"] == len(own)
        assert row["thread_time_ns"] == sum(wait[4] for wait in own) == sum(at)
        assert row["real_time_ns"] == sum(count > 0 for count in at)
        assert row["peak_parked"] == max(1, *at)
        assert row["first_thread"] in {"abc"[w[5]] for w in own if w[3] == row["first_ns"]}
        assert (row["first_ns"], row["last_ns"]) == (min(w[3] for w in own), max(w[3] + w[4] for w in own))
        mine = [each for each in blocks if each["blocker_id"] == row["blocker_id"]]
        assert sorted((each["start_ns"], each["dur_ns"], each["thread_id"]) for each in mine) == sorted(
            w[3:] for w in own
        )
        for each in mine:
            other = (each["thread_id"] + 1) % 3
            known, none = (other, 10 * other or None), (None, None)
            assert (each["owner_thread_id"], each["owner_java_id"]) == (known if kind == "monitor" else none)
            assert (each["waker_thread_id"], each["waker_java_id"]) == (known if kind == "wait" else none)
            assert each["java_id"] == 10 * each["thread_id"]
    assert [row["start_ns"] for row in blocks] == sorted(wait[3] for wait in waits)
    order = [(row["first_ns"], row["kind"], row["class_name"], row["identity_hash"]) for row in blockers]
    assert order == sorted(order)
    assert [row["blocker_id"] for row in blockers] == list(range(len(blockers)))


@settings(max_examples=60)
@given(WAITS, st.sampled_from([1, 2, 3]))
def test_with_more_objects_than_are_kept_the_others_count_for_their_class(waits: list[Wait], most_objects: int) -> None:
    with tempfile.TemporaryDirectory() as directory:
        blockers, blocks = stored(Path(directory), waits, 100_000, most_objects=most_objects)
    kept, _ = told_apart(waits, most_objects)
    found = {(row["kind"], row["class_name"], row["identity_hash"]): row["times_parked"] for row in blockers}
    assert found == {(kind, name, max(at >> 3, 1) if at else 0): times for (kind, name, at), times in kept.items()}
    assert len(blocks) == len(waits)


@settings(max_examples=60)
@given(WAITS, st.sampled_from([1, 2, 3]))
def test_with_more_waits_at_a_time_than_are_followed_no_level_is_above_the_true_one_and_it_is_said(
    waits: list[Wait], most_open: int
) -> None:
    with tempfile.TemporaryDirectory() as first, tempfile.TemporaryDirectory() as second:
        whole, blocks = stored(Path(first), waits, 100_000)
        part, same = stored(Path(second), waits, 100_000, most_open)
    assert blocks == same
    exact = most_at_a_time(waits) <= most_open
    for true, found in zip(whole, part, strict=True):
        assert found["peak_parked"] <= true["peak_parked"]
        assert found["real_time_ns"] <= true["real_time_ns"]
        assert not exact or found == true
