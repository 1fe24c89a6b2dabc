"""What a program can have done is kept as it is, and the rest is left out and told."""

from __future__ import annotations

import pyarrow as pa

from headway.store.checks.ranges import LARGEST, YEAR_NS, RangeFacts, range_of
from headway.store.possible import ImpossibleValueFilter
from headway.store.schemas import causal
from headway.store.tables import TABLES
from headway.store.writer import conform

WINDOW = (5_000, 9_000)


def phases(*spans: tuple[int, int]) -> pa.Table:
    starts, lengths = zip(*spans, strict=True)
    columns = {"pid": [1] * len(spans), "start_ns": starts, "dur_ns": lengths, "kind": ["gc_pause"] * len(spans)}
    return conform(TABLES["jvm_phase"], pa.table(columns))


def test_rows_that_can_be_are_kept_as_they_are() -> None:
    possible = ImpossibleValueFilter(WINDOW)
    rows = phases((0, 5_000), (6_000, 0), (9_000 + YEAR_NS, 1))
    assert possible.rows(TABLES["jvm_phase"], rows) is rows
    assert possible.notices() == []


def test_a_row_that_can_not_be_is_left_out_and_told() -> None:
    possible = ImpossibleValueFilter(WINDOW)
    rows = phases((6_000, 100), (6_000, -1), (9_001 + YEAR_NS, 1), (-2 * YEAR_NS, 1), (7_000, LARGEST))
    assert possible.rows(TABLES["jvm_phase"], rows).to_pylist() == rows.slice(0, 1).to_pylist()
    (notice,) = possible.notices()
    assert (notice.id, "4 of table jvm_phase" in notice.message) == ("HW324", True)


def test_lengths_add_up_to_what_64_bits_hold_over_all_that_is_written() -> None:
    possible = ImpossibleValueFilter((0, LARGEST // 4))
    one = phases((0, LARGEST // 5))
    assert [possible.rows(TABLES["jvm_phase"], one).num_rows for _ in range(4)] == [1, 1, 0, 0]


def test_threads_keep_their_places() -> None:
    possible = ImpossibleValueFilter(WINDOW)
    columns = {
        **{"thread_id": [0, 1], "pid": [1, 1], "tid": [1, 2], "start_ns": [-5 * YEAR_NS, 10], "exec_ns": [LARGEST, 7]},
        **{"name": ["a", "b"], "comm": ["a", "b"], "kind": ["app", "app"], "from_snapshot": [False, False]},
    }
    rows = possible.rows(TABLES["thread"], conform(TABLES["thread"], pa.table(columns)))
    assert rows["start_ns"].to_pylist() == [5_000 - YEAR_NS, 10]
    assert rows["exec_ns"].to_pylist() == [None, 7]


def test_more_requests_may_end_than_begin_where_some_began_before_the_recording() -> None:
    schema = causal.EXPERIMENT_LATENCY
    facts = RangeFacts((0, 10**9), {})
    in_flight = [column for column in schema.columns if column.name.startswith("in_flight")]
    assert in_flight
    assert all(range_of(schema, column, facts).least < -(10**12) for column in in_flight)
