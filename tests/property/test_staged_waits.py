"""Waits of an imported file, per object: how many threads waited at most and for how long at least one did, by brute force."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st

from headway.record.jfr.staging import Staging

Wait = tuple[str, str, int, int, int, int]
WAITS = st.lists(
    st.tuples(
        st.sampled_from(["park", "monitor"]),
        st.sampled_from(["A", "B"]),
        st.sampled_from([0, 8, 16]),
        st.integers(0, 30),
        st.integers(0, 12),
        st.integers(0, 2),
    ),
    min_size=1,
    max_size=25,
)


def stored(directory: Path, waits: list[Wait]) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Return the rows of `blocker` and `block`."""
    kinds, classes, addresses, starts, lengths, threads = zip(*waits, strict=True)
    columns: dict[str, object] = {"kind": kinds, "class_name": classes, "address": addresses, "start_ns": starts}
    columns |= {"dur_ns": lengths, "thread_id": threads, "java_id": threads}
    flags = [False] * len(waits)
    with Staging(directory) as staging:
        staging.add("wait", pa.table({**columns, "is_virtual": flags, "is_timed": flags}))
        staging.write_blocks(7, pa.table({"thread_id": pa.array([0, 1, 2], pa.int32()), "name": ["a", "b", "c"]}))
    return tuple(pq.read_table(directory / f"{name}.parquet").to_pylist() for name in ("blocker", "block"))


@settings(max_examples=60, deadline=None)
@given(WAITS)
def test_each_object_s_waits_are_summed_as_brute_force_does(waits: list[Wait]) -> None:
    with tempfile.TemporaryDirectory() as directory:
        blockers, blocks = stored(Path(directory), waits)
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
        assert (row["first_ns"], row["last_ns"]) == (min(w[3] for w in own), max(w[3] + w[4] for w in own))
        mine = [each for each in blocks if each["blocker_id"] == row["blocker_id"]]
        assert sorted((each["start_ns"], each["dur_ns"], each["thread_id"]) for each in mine) == sorted(
            w[3:] for w in own
        )
    assert [row["start_ns"] for row in blocks] == sorted(wait[3] for wait in waits)
